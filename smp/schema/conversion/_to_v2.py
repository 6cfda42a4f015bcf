"""From OpenAPI v3 to v2, the way back from what Go's openapiconv does."""

from __future__ import annotations

from functools import partial
from typing import ClassVar, Final

from smp.errors import SchemaError
from smp.paths import Path
from smp.schema.conversion._direction import (
    BODY,
    DOCUMENT,
    OPERATION,
    PARAMETER,
    PLAIN,
    STRUCTURE,
    Direction,
    as_object,
    filled,
)
from smp.schema.conversion._to_v3 import ToV3
from smp.values import ABSENT, JSON, JSONArray, JSONObject, same

_COMPONENTS: Final = Path(("components",))
_RESPONSES: Final = _COMPONENTS / "responses"
_BODIES: Final = _COMPONENTS / "requestBodies"


class ToV2(Direction):
    """From v3 to v2."""

    references: ClassVar = {other: prefix for prefix, other in ToV3.references.items()}

    def document(self) -> JSONObject:
        """Convert the whole document."""
        kept = self.kept(
            self.source, Path(), DOCUMENT, ("openapi", "paths", "components")
        )
        known = (
            "schemas",
            "parameters",
            "securitySchemes",
            "responses",
            "requestBodies",
        )
        self.lost += [
            _COMPONENTS / word
            for word in self.section(_COMPONENTS)
            if word not in known
        ]
        sections: JSONObject = {
            "definitions": self.schemas(_COMPONENTS / "schemas"),
            "parameters": self.each_of_section(
                _COMPONENTS / "parameters", self.parameter
            ),
            "securityDefinitions": self.each_of_section(
                _COMPONENTS / "securitySchemes", self.security_scheme
            ),
        }
        converted = {"swagger": "2.0", **kept, **self.paths(), **filled(sections)}
        for section in (_RESPONSES, _BODIES):
            self.lose_unused(section, self.section(section))
        return converted

    def schema_node(self, node: JSONObject) -> JSONObject:
        """Unwrap a reference that was wrapped for the words beside it."""
        if isinstance(node.get("discriminator"), dict):
            node = {**node, "discriminator": _property_name(node["discriminator"])}
        if "$ref" in node:
            return {**node, "$ref": self.moved(node["$ref"])}
        match node.get("allOf"):
            case [{"$ref": reference, **others}] if (
                not others and len(node) > 1 and node.keys() & STRUCTURE == {"allOf"}
            ):
                return {
                    **{word: value for word, value in node.items() if word != "allOf"},
                    "$ref": reference,
                }
        return node

    def operation(self, node: JSONObject, path: Path) -> JSONObject:
        """Convert an operation: its body is a parameter, and media types are its own."""
        kept = self.kept(
            node, path, OPERATION, ("requestBody", "parameters", "responses")
        )
        consumes, bodies = self.body(node, path / "requestBody")
        if bodies or "parameters" in node:
            kept["parameters"] = [*bodies, *self.parameters(node, path)]
        if consumes:
            kept["consumes"] = consumes
        return kept | self.responses(node, path)

    def body(self, node: JSONObject, path: Path) -> tuple[JSONArray, JSONArray]:
        """Convert the body of an operation to what it consumes and to a parameter; none
        to nothing.
        """
        if "requestBody" not in node:
            return [], []
        body = as_object(node["requestBody"], path)
        self.lose_beside_reference(body, path)
        body, path = self.resolved(body, path, _BODIES)
        kept = self.kept(body, path, BODY, ("content",))
        media_types, schema = self.content(body, path / "content")
        return media_types, [
            {"name": "body", "in": "body", "schema": {}, **kept, **schema}
        ]

    def parameter(self, node: JSONObject, path: Path) -> JSONObject | None:
        """Convert a parameter; a cookie has no counterpart."""
        if node.get("in") != "cookie":
            return self.without_schema(node, path)
        self.lose(path)
        return None

    def without_schema(self, node: JSONObject, path: Path) -> JSONObject:
        """Say of a parameter or a header itself what its schema says, if that is plain."""
        kept, schema = (
            self.kept(node, path, PARAMETER, ("schema",)),
            node.get("schema", {}),
        )
        if isinstance(schema, dict) and _is_plain(schema):
            return kept | schema
        self.lose(path / "schema")
        return kept

    def responses(self, node: JSONObject, path: Path) -> JSONObject:
        """Convert the responses of an operation, and gather what it produces."""
        if "responses" not in node:
            return {}
        contents: dict[Path, JSONArray] = {}
        convert = partial(self.response, contents=contents)
        responses = self.each_but_extensions(
            node["responses"], path / "responses", convert
        )
        produces = list(
            dict.fromkeys(
                str(media_type)
                for content in contents.values()
                for media_type in content
            )
        )
        self.lost += [
            where for where, content in contents.items() if len(content) < len(produces)
        ]
        return {
            "responses": responses,
            **({"produces": [*produces]} if produces else {}),
        }

    def response(
        self, node: JSONObject, path: Path, contents: dict[Path, JSONArray]
    ) -> JSONObject:
        """Convert a response."""
        self.lose_beside_reference(node, path)
        node, path = self.resolved(node, path, _RESPONSES)
        kept = self.kept(node, path, ("description",), ("content", "headers"))
        if "headers" in node:
            kept["headers"] = self.each(
                node["headers"], path / "headers", self.without_schema
            )
        if "content" not in node:
            return kept
        contents[path / "content"], schema = self.content(node, path / "content")
        return kept | schema

    def content(self, node: JSONObject, path: Path) -> tuple[JSONArray, JSONObject]:
        """Return the media types of a content, and the schema of the first; a different
        one is lost.
        """
        content = {
            name: as_object(one, path / name)
            for name, one in as_object(node.get("content", {}), path).items()
        }
        self.lost += [
            path / name / word
            for name, one in content.items()
            for word in one
            if word != "schema"
        ]
        schemas = {name: one.get("schema", ABSENT) for name, one in content.items()}
        first = next(iter(schemas.values()), ABSENT)
        self.lost += [
            path / name for name, schema in schemas.items() if not same(schema, first)
        ]
        name = next(iter(schemas), "")
        return [*content], {} if first is ABSENT else {
            "schema": self.schema(first, path / name / "schema")
        }


def _is_plain(schema: JSONObject) -> bool:
    items = schema.get("items", {})
    return (
        all(word in PLAIN for word in schema)
        and isinstance(items, dict)
        and (not items or _is_plain(items))
    )


def _property_name(discriminator: JSON) -> JSON:
    match discriminator:
        case {"propertyName": str(name), **others} if not others:
            return name
    raise SchemaError(
        "a discriminator with a mapping is not for v2", path=Path(("discriminator",))
    )
