"""What published schemas say to a reader: descriptions, defaults, required fields.

The engine needs none of it, so the types in the bundle do not have it. For built-in
kinds it is in a file of its own, of the newest bundled Kubernetes, which is read when
the first type is asked for: lines of text, compressed with zlib, each the name of a
type, a tab, and the part of its OpenAPI schema that is read here. OpenAPI documents and
CustomResourceDefinitions have it in their schemas.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

import msgspec

from smp._values.values import (
    ABSENT,
    JSON,
    Absent,
    JSONObject,
    as_list,
    as_object,
    as_text,
)
from smp.schema.bundle import read_bundled_file

FILE: Final = "descriptions"


class TypeDescription(msgspec.Struct, frozen=True):
    """What a schema says of a field, or of a kind.

    ``text`` is about the field, ``type_text`` about its type. ``schemas`` are those
    that describe the value, each of them valid at once.
    """

    text: str = ""
    type_text: str = ""
    is_required: bool = False
    default: JSON | Absent = ABSENT
    schemas: tuple[JSONObject, ...] = ()


class Descriptions:
    """The descriptions of the types in OpenAPI documents, and of the built-in types.

    For a type in several documents the last one counts.
    """

    def __init__(self, documents: Iterable[JSON] = ()) -> None:
        self._schemas: JSONObject = {}
        for document in documents:
            sections = as_object(document)
            components = as_object(sections.get("components"))
            self._schemas |= as_object(sections.get("definitions"))
            self._schemas |= as_object(components.get("schemas"))

    def of_type(self, name: str) -> TypeDescription:
        """Describe a type by its name; one that is not known has an empty text."""
        return self._describe({"$ref": f"/{name}"}, is_required=False)

    def of_field(self, parent: TypeDescription, name: str) -> TypeDescription:
        """Describe a field of an object, of a list's elements, or of a map (``*``)."""
        followed: set[str] = set()
        schemas = [*parent.schemas]
        while schemas:
            required = [as_list(schema.get("required")) for schema in schemas]
            for schema in schemas:
                properties = as_object(schema.get("properties"))
                if name in properties:
                    is_required = any(name in names for names in required)
                    return self._describe(properties[name], is_required=is_required)
            # The keys of a map are free: any name is that of a value.
            for schema in schemas:
                if isinstance(schema.get("additionalProperties"), dict):
                    values = schema["additionalProperties"]
                    return self._describe(values, is_required=False)
            schemas = self._inner(schemas, "items", followed)
        return TypeDescription()

    def _describe(self, schema: JSON, *, is_required: bool) -> TypeDescription:
        own = as_object(schema)
        # Types may refer to themselves: each is followed once.
        followed: set[str] = set()
        schemas = tuple(self._all_of(own, followed))
        default: JSON | Absent = ABSENT
        for branch in reversed(schemas):
            default = branch.get("default", default)

        # The description of a list is that of its elements, and so for a map.
        texts = [branch.get("description") for branch in schemas if branch is not own]
        inner = [*schemas]
        while inner:
            inner = [
                *self._inner(inner, "items", followed),
                *self._inner(inner, "additionalProperties", followed),
            ]
            texts += [schema.get("description") for schema in inner]
        return TypeDescription(
            text=as_text(own.get("description")),
            type_text="\n\n".join(as_text(text) for text in texts if text),
            is_required=is_required,
            default=default,
            schemas=schemas,
        )

    def _inner(
        self, schemas: Iterable[JSONObject], keyword: str, followed: set[str]
    ) -> list[JSONObject]:
        """Return the schemas of a list's elements, or of a map's values."""
        found: list[JSONObject] = []
        for schema in schemas:
            inner = schema.get(keyword)
            if isinstance(inner, dict):
                found += self._all_of(inner, followed)
        return found

    def _all_of(self, schema: JSONObject, followed: set[str]) -> Iterator[JSONObject]:
        """Yield a schema, and those that hold beside it: by reference, or in allOf."""
        yield schema
        name = as_text(schema.get("$ref")).rpartition("/")[2]
        if name and name not in followed:
            followed.add(name)
            if name not in self._schemas and name in _load_bundled():
                self._schemas[name] = msgspec.json.decode(_load_bundled()[name])
            yield from self._all_of(as_object(self._schemas.get(name)), followed)
        for part in as_list(schema.get("allOf")):
            yield from self._all_of(as_object(part), followed)


def describe(name: str) -> JSONObject:
    """Return what is bundled of the schema of a built-in type, or an empty object."""
    text = _load_bundled().get(name)
    return msgspec.json.decode(text) if text else {}


@cache
def _load_bundled() -> dict[str, str]:
    lines = zlib.decompress(read_bundled_file(FILE)).decode().split("\n")
    return dict(line.split("\t", 1) for line in lines)


def compile_descriptions(schemas: JSONObject) -> bytes:
    """Write the file of the bundle; ``schemas`` are OpenAPI v3, by name.

    Equal schemas give equal bytes.
    """
    lines = []
    for name, schema in sorted(schemas.items()):
        text = msgspec.json.encode(_readable(as_object(schema)), order="sorted")
        lines.append(f"{name}\t{text.decode()}")
    return zlib.compress("\n".join(lines).encode(), level=9)


def _readable(schema: JSONObject) -> JSONObject:
    """Return the part of a schema that is for readers, or leads to another such."""
    kept: JSONObject = {}
    for keyword in ("$ref", "description", "required"):
        if keyword in schema:
            kept[keyword] = schema[keyword]
    # The generator of the documents writes the zero value of a Go type as the default
    # of a field that is always encoded (kube-openapi, generators.mustEnforceDefault).
    # Such a default is left out.
    if schema.get("default") not in (None, "", 0, {}):
        kept["default"] = schema["default"]
    for keyword in ("items", "additionalProperties"):
        inner = schema.get(keyword)
        if isinstance(inner, dict):
            kept[keyword] = _readable(inner)
    if "allOf" in schema:
        kept["allOf"] = [
            _readable(as_object(part)) for part in as_list(schema["allOf"])
        ]
    if "properties" in schema:
        properties: JSONObject = {}
        for name, inner in as_object(schema["properties"]).items():
            properties[name] = _readable(as_object(inner))
        kept["properties"] = properties
    return kept
