"""The kinds of CustomResourceDefinitions among the documents of a command.

A directory of definitions may have one that cannot be read. It matters only to the
objects of its kind, so its error is kept until such an object comes.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Final

import msgspec

from smp._values.values import JSON, JSONObject, as_list, as_object, as_text
from smp.cli._errors import CommandFailure, concerning
from smp.documents import Document
from smp.errors import UnknownKindError
from smp.schema.catalog import Catalog, CompiledDefinition
from smp.schema.model import Schema, TypeDocument
from smp.schema.sources.crd import StructuralVersion, structural_schemas
from smp.schema.structural import add_schema_defaults

_NOTHING: Final[dict[str, TypeDocument]] = {}


def is_definition(value: JSON) -> bool:
    """Tell whether a document is a CustomResourceDefinition, or a list of them."""
    obj = as_object(value)
    kinds = {as_text(obj.get("kind"))}
    kinds |= {as_text(as_object(i).get("kind")) for i in as_list(obj.get("items"))}
    return "CustomResourceDefinition" in kinds


class Definitions:
    """A catalog with the kinds of definitions, and the errors of the others.

    ``read`` are the definitions that could be read.
    """

    def __init__(self) -> None:
        self.read: list[JSON] = []
        self._failures: dict[tuple[str, str], CommandFailure] = {}
        self._structural: dict[tuple[str, str], StructuralVersion] = {}
        self._compiled: dict[tuple[str, str], CompiledDefinition] = {}

    def catalog_of(
        self, documents: Iterable[Document], problems: list[CommandFailure]
    ) -> Catalog:
        """Return a catalog of the kinds that documents define; the last one wins.

        A document that defines no kind is added to the problems. Raises Failure where
        there is no other.
        """
        defined: list[Catalog] = []
        without_kind: list[CommandFailure] = []
        for document in documents:
            try:
                with concerning(document):
                    defined.append(Catalog.from_crd(document.value))
            except CommandFailure as failure:
                spec = as_object(as_object(document.value).get("spec"))
                group = as_text(spec.get("group"))
                kind = as_text(as_object(spec.get("names")).get("kind"))
                if group and kind:
                    self._failures[group, kind] = failure
                else:
                    without_kind.append(failure)
            else:
                self._structural |= structural_schemas(document.value)
                self.read.append(document.value)
        if without_kind and not defined and not self._failures:
            raise without_kind[0]
        problems += without_kind
        # Joined in pairs, so that a type is looked for in few of them.
        while len(defined) > 1:
            pairs = [defined[index : index + 2] for index in range(0, len(defined), 2)]
            defined = [reduce(Catalog.merged, pair) for pair in pairs]
        return defined[0] if defined else Catalog({}, _NOTHING.get)

    def add_compiled(self, definitions: Iterable[CompiledDefinition]) -> None:
        """Add definitions whose types are in a catalog already."""
        for definition in definitions:
            self._compiled[definition.group, definition.kind] = definition

    def with_defaults(self, obj: JSONObject) -> JSONObject:
        """Return an object with the structural defaults of its definition, if any."""
        structural = self._structural_of(obj)
        if structural is None:
            return obj
        return add_schema_defaults(obj, structural.schema)

    def schema_of(self, catalog: Catalog, obj: JSONObject) -> Schema:
        """Return the schema of an object in a catalog with these definitions.

        Raises Failure where its definition cannot be read, and what Catalog.schema_of
        raises.
        """
        try:
            schema = catalog.schema_of(obj)
            if not schema.is_custom or schema.structural is not None:
                return schema
            # Compiled types do not say where a null is a value.
            structural = self._structural_of(obj)
            if structural is None:
                return schema
            return msgspec.structs.replace(
                schema,
                structural=structural.schema,
                subresources=structural.subresources,
            )
        except UnknownKindError:
            group = as_text(obj.get("apiVersion")).rpartition("/")[0]
            failure = self._failures.get((group, as_text(obj.get("kind"))))
            if failure is None:
                raise
            raise failure from None

    def _structural_of(self, obj: JSONObject) -> StructuralVersion | None:
        api_version, name = as_text(obj.get("apiVersion")), as_text(obj.get("kind"))
        if (api_version, name) not in self._structural:
            group = api_version.rpartition("/")[0]
            compiled = self._compiled.pop((group, name), None)
            if compiled is not None:
                # What is described as text counts, as it does for the types.
                described = structural_schemas(compiled.value())
                self._structural = described | self._structural
        return self._structural.get((api_version, name))
