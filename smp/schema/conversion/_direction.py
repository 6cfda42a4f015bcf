"""What both directions of a conversion share: common keywords, references and paths.

A direction walks the document from the top. Each method converts one kind of part and
returns the new part; what has no counterpart goes to ``lost``, as a path in the
original. A part is passed along with its path.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import ClassVar, Final, TypeAlias

from smp._values.values import JSON, JSONArray, JSONObject, type_name
from smp.errors import SchemaError, SmpError
from smp.paths import Path, unescape_pointer
from smp.schema.rewrite import rewrite

Convert: TypeAlias = Callable[[JSONObject, Path], JSONObject | None]
Located: TypeAlias = tuple[JSONObject, Path]

# The keywords that mean the same in both versions, by the part that they belong to.
DOCUMENT_KEYWORDS: Final = ("info", "tags", "externalDocs", "security")
OPERATION_KEYWORDS: Final = (
    "tags",
    "summary",
    "description",
    "externalDocs",
    "operationId",
    "deprecated",
    "security",
)
PARAMETER_KEYWORDS: Final = ("name", "in", "description", "required", "allowEmptyValue")
BODY_KEYWORDS: Final = ("description", "required")

# What v2 says in a parameter or a header itself, and v3 in its schema.
VALUE_KEYWORDS: Final = (
    *("type", "format", "items", "default", "maximum", "exclusiveMaximum", "minimum"),
    *("exclusiveMinimum", "maxLength", "minLength", "pattern", "maxItems", "minItems"),
    *("uniqueItems", "enum", "multipleOf"),
)

# The keywords of a schema that describe a structure.
STRUCTURE_KEYWORDS: Final = frozenset(
    {"properties", "additionalProperties", "items", "allOf", "anyOf", "oneOf", "not"}
)
_VERBS: Final = ("get", "put", "post", "delete", "options", "head", "patch")


class Direction(ABC):
    """One conversion of one document, ``source``; ``lost`` grows as it goes.

    ``references`` maps the prefixes of references to those of the other version.
    """

    references: ClassVar[dict[str, str]]

    def __init__(self, source: JSONObject) -> None:
        self.source = source
        self.lost: list[Path] = []
        self._written_out: set[Path] = set()

    @abstractmethod
    def document(self) -> JSONObject:
        """Convert the whole document."""

    @abstractmethod
    def operation(self, node: JSONObject, path: Path) -> JSONObject:
        """Convert an operation."""

    @abstractmethod
    def parameter(self, node: JSONObject, path: Path) -> JSONObject | None:
        """Convert a parameter; None where it has no counterpart as a parameter."""

    @abstractmethod
    def schema_node(self, node: JSONObject) -> JSONObject:
        """Convert a schema whose inner schemas are converted already."""

    def kept(
        self,
        node: JSONObject,
        path: Path,
        keywords: Iterable[str],
        converted: Iterable[str] = (),
    ) -> JSONObject:
        """Return the keywords that both versions have, and extensions.

        A keyword that is not ``converted`` elsewhere either is lost.
        """
        # Both versions allow extensions (x-..) in every part.
        kept: JSONObject = {}
        for keyword, value in node.items():
            if keyword in keywords or keyword.startswith("x-"):
                kept[keyword] = value
            elif keyword not in converted:
                self.lost.append(path / keyword)
        return kept

    def lose(self, path: Path) -> None:
        """Note a part that has no counterpart."""
        self.lost.append(path)

    def section(self, path: Path) -> JSONObject:
        """Return a section of the source; an absent one is empty."""
        section = self.source
        for depth, step in enumerate(path.steps, start=1):
            value = section.get(str(step), {})
            section = expect_object(value, Path(path.steps[:depth]))
        return section

    def members(self, nodes: JSON, path: Path, convert: Convert) -> JSONObject:
        """Convert the members of an object."""
        converted: JSONObject = {}
        for name, value in expect_object(nodes, path).items():
            node = convert(expect_object(value, path / name), path / name)
            if node is not None:
                converted[name] = node
        return converted

    def section_members(self, path: Path, convert: Convert) -> JSONObject:
        """Convert the members of a section of the source."""
        return self.members(self.section(path), path, convert)

    def members_and_extensions(
        self, nodes: JSON, path: Path, convert: Convert
    ) -> JSONObject:
        """Convert the members of an object, and keep its extensions (``x-..``)."""
        extensions: JSONObject = {}
        others: JSONObject = {}
        for name, value in expect_object(nodes, path).items():
            if name.startswith("x-"):
                extensions[name] = value
            else:
                others[name] = value
        return extensions | self.members(others, path, convert)

    def resolved(self, node: JSONObject, path: Path, section: Path) -> Located:
        """Follow a reference into a section of the source.

        Any other node is returned as it is. Raises SchemaError (code
        dangling-reference).
        """
        reference = node.get("$ref")
        prefix = f"#{section.pointer}/"
        if not isinstance(reference, str) or not reference.startswith(prefix):
            return node, path
        name = unescape_pointer(reference.removeprefix(prefix))
        shared = self.section(section)
        if name not in shared:
            raise SchemaError(
                f"{reference:.80} is referenced but not defined",
                code="dangling-reference",
                path=path / "$ref",
            )
        self._written_out.add(section / name)
        return expect_object(shared[name], section / name), section / name

    def lose_unused(self, section: Path, names: Iterable[str]) -> None:
        """Note the shared parts of a section that nothing refers to.

        The other version has no such section: its parts are written out where they are
        used.
        """
        for name in names:
            if section / name not in self._written_out:
                self.lose(section / name)

    def lose_beside_reference(self, node: JSONObject, path: Path) -> None:
        """Note the keywords beside a reference outside of schemas: they are ignored."""
        if "$ref" in node:
            for keyword in node:
                if keyword != "$ref":
                    self.lose(path / keyword)

    def moved(self, reference: JSON) -> JSON:
        """Convert a reference.

        Raises SchemaError (code invalid-reference) for one that leads out of the
        document.
        """
        if isinstance(reference, str):
            for prefix, other in self.references.items():
                if reference.startswith(prefix):
                    return other + reference.removeprefix(prefix)
        shown = reference if isinstance(reference, str) else type_name(reference)
        raise SchemaError(
            f"{shown:.80} is not a reference to a part of this document",
            code="invalid-reference",
            path=Path(("$ref",)),
        )

    def schema(self, node: JSON, path: Path) -> JSON:
        """Convert a schema at any path."""
        try:
            return rewrite(node, self.schema_node)
        except SmpError as error:
            raise error.at(path) from None

    def schemas(self, path: Path) -> JSONObject:
        """Convert the schemas that the document names."""
        schemas: JSONObject = {}
        for name, node in self.section(path).items():
            schemas[name] = self.schema(node, path / name)
        return schemas

    def security_scheme(self, node: JSONObject, path: Path) -> JSONObject | None:
        """Convert a security scheme.

        A key in a header or a query is the one scheme that Kubernetes has, and both
        versions write it in the same way.
        """
        if node.get("type") == "apiKey" and node.get("in") != "cookie":
            return node
        self.lose(path)
        return None

    def paths(self) -> JSONObject:
        """Convert the paths, where there are any."""
        paths = self.source.get("paths")
        if paths is None:
            return {}
        at = Path(("paths",))
        return {"paths": self.members_and_extensions(paths, at, self.path_item)}

    def path_item(self, node: JSONObject, path: Path) -> JSONObject:
        """Convert a path: its verbs, and the parameters of all of them."""
        # What v3 adds to a path (summary, description, servers, trace) v2 lacks.
        item = self.kept(node, path, (), (*_VERBS, "parameters"))
        parameters: JSONObject = {}
        if "parameters" in node:
            parameters["parameters"] = self.parameters(node, path)
        verbs: JSONObject = {verb: node[verb] for verb in _VERBS if verb in node}
        return item | self.members(verbs, path, self.operation) | parameters

    def parameters(self, node: JSONObject, path: Path) -> JSONArray:
        """Convert the parameters of a path or of an operation."""
        parameters: JSONArray = []
        for parameter, at in parameters_of(node, path):
            converted = self.parameter_or_reference(parameter, at)
            if converted is not None:
                parameters.append(converted)
        return parameters

    def parameter_or_reference(self, node: JSONObject, path: Path) -> JSONObject | None:
        """Convert a parameter where it is used."""
        # A shared parameter stays shared: both versions have a section for them.
        if "$ref" not in node:
            return self.parameter(node, path)
        self.lose_beside_reference(node, path)
        try:
            return {"$ref": self.moved(node["$ref"])}
        except SchemaError as error:
            raise error.at(path) from None


def parameters_of(node: JSONObject, path: Path) -> list[Located]:
    """Return the parameters of a path or of an operation, each with its path."""
    path /= "parameters"
    nodes = expect_list(node.get("parameters", []), path)
    return [
        (expect_object(parameter, path / index), path / index)
        for index, parameter in enumerate(nodes)
    ]


def drop_empty(sections: JSONObject) -> JSONObject:
    """Return the sections that have something in them."""
    return {name: section for name, section in sections.items() if section}


def expect_object(value: JSON, path: Path) -> JSONObject:
    """Return an object. Raises SchemaError for any other value."""
    if not isinstance(value, dict):
        raise SchemaError(f"an object is expected, not {type_name(value)}", path=path)
    return value


def expect_list(value: JSON, path: Path) -> JSONArray:
    """Return a list. Raises SchemaError for any other value."""
    if not isinstance(value, list):
        raise SchemaError(f"a list is expected, not {type_name(value)}", path=path)
    return value
