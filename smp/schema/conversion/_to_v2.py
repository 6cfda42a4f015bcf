"""From OpenAPI v3 to v2: the way back from what Go's openapiconv does."""

from __future__ import annotations

from functools import partial
from typing import ClassVar, Final

from smp._values.values import ABSENT, JSON, JSONArray, JSONObject, same
from smp.errors import SchemaError
from smp.paths import Path
from smp.schema.conversion._direction import (
    BODY_KEYWORDS,
    DOCUMENT_KEYWORDS,
    OPERATION_KEYWORDS,
    PARAMETER_KEYWORDS,
    STRUCTURE_KEYWORDS,
    VALUE_KEYWORDS,
    Direction,
    drop_empty,
    expect_object,
)
from smp.schema.conversion._to_v3 import ToV3

_COMPONENTS: Final = Path(("components",))
_RESPONSES: Final = _COMPONENTS / "responses"
_BODIES: Final = _COMPONENTS / "requestBodies"


class ToV2(Direction):
    """From v3 to v2."""

    references: ClassVar = {v3: v2 for v2, v3 in ToV3.references.items()}

    def document(self) -> JSONObject:
        """Convert the whole document."""
        converted = ("openapi", "paths", "components")
        kept = self.kept(self.source, Path(), DOCUMENT_KEYWORDS, converted)
        components = (
            "schemas",
            "parameters",
            "securitySchemes",
            "responses",
            "requestBodies",
        )
        for keyword in self.section(_COMPONENTS):
            if keyword not in components:
                self.lose(_COMPONENTS / keyword)
        sections: JSONObject = {
            "definitions": self.schemas(_COMPONENTS / "schemas"),
            "parameters": self.section_members(
                _COMPONENTS / "parameters", self.parameter
            ),
            "securityDefinitions": self.section_members(
                _COMPONENTS / "securitySchemes", self.security_scheme
            ),
        }
        document = {"swagger": "2.0", **kept, **self.paths(), **drop_empty(sections)}

        # Shared responses and bodies have been written out in the operations that refer
        # to them.
        self.lose_unused(_RESPONSES, self.section(_RESPONSES))
        self.lose_unused(_BODIES, self.section(_BODIES))
        return document

    def schema_node(self, node: JSONObject) -> JSONObject:
        """Unwrap a reference that was wrapped because of the keywords beside it."""
        discriminator = node.get("discriminator")
        if isinstance(discriminator, dict):
            name = discriminator.get("propertyName")
            # v2 has the name of the property alone, and no mapping of its values.
            if not isinstance(name, str) or len(discriminator) > 1:
                raise SchemaError(
                    "OpenAPI v2 has no discriminator with a mapping",
                    path=Path(("discriminator",)),
                )
            node = {**node, "discriminator": name}
        # v2 as Kubernetes writes it has $ref among other keywords, so they can stay.
        if "$ref" in node:
            return {**node, "$ref": self.moved(node["$ref"])}
        others = {
            keyword: value for keyword, value in node.items() if keyword != "allOf"
        }
        match node.get("allOf"):
            # One reference alone, beside keywords that are not a structure.
            case [{"$ref": reference, **rest}] if (
                not rest and others and STRUCTURE_KEYWORDS.isdisjoint(others)
            ):
                return {**others, "$ref": reference}
        return node

    def operation(self, node: JSONObject, path: Path) -> JSONObject:
        """Convert an operation.

        Its request body becomes a parameter, and its media types those of the whole
        operation.
        """
        converted = ("requestBody", "parameters", "responses")
        operation = self.kept(node, path, OPERATION_KEYWORDS, converted)
        consumes: JSONArray = []
        parameters: JSONArray = []
        if "requestBody" in node:
            consumes, body = self.body(node["requestBody"], path / "requestBody")
            parameters.append(body)
        if "parameters" in node:
            parameters += self.parameters(node, path)
        if parameters or "parameters" in node:
            operation["parameters"] = parameters
        if consumes:
            operation["consumes"] = consumes
        return operation | self.responses(node, path)

    def body(self, value: JSON, path: Path) -> tuple[JSONArray, JSONObject]:
        """Convert a request body to the media types that it has, and a parameter."""
        body = expect_object(value, path)
        self.lose_beside_reference(body, path)
        body, path = self.resolved(body, path, _BODIES)
        kept = self.kept(body, path, BODY_KEYWORDS, ("content",))
        media_types, schema = self.content(body, path / "content")
        # OpenAPI v2: a body needs a name, which has no effect, and a schema.
        parameter = {"name": "body", "in": "body", "schema": {}, **kept, **schema}
        return media_types, parameter

    def parameter(self, node: JSONObject, path: Path) -> JSONObject | None:
        """Convert a parameter; None for a cookie, which is lost."""
        # v2 has no cookies.
        if node.get("in") == "cookie":
            self.lose(path)
            return None
        return self.without_schema(node, path)

    def without_schema(self, node: JSONObject, path: Path) -> JSONObject:
        """Move what the schema of a parameter or a header says to the part itself.

        A schema with keywords that v2 does not allow there is lost.
        """
        kept = self.kept(node, path, PARAMETER_KEYWORDS, ("schema",))
        schema = node.get("schema", {})
        # v2 describes only plain values and lists of them outside of a body.
        if not isinstance(schema, dict) or not _has_only_value_keywords(schema):
            self.lose(path / "schema")
            return kept
        return kept | schema

    def responses(self, node: JSONObject, path: Path) -> JSONObject:
        """Convert the responses of an operation, and gather what it produces."""
        if "responses" not in node:
            return {}
        contents: dict[Path, JSONArray] = {}
        convert = partial(self.response, contents=contents)
        at = path / "responses"
        responses = self.members_and_extensions(node["responses"], at, convert)
        produces: JSONArray = []
        for media_types in contents.values():
            produces += [
                media_type for media_type in media_types if media_type not in produces
            ]
        # v2 has one list of media types for all responses of an operation.
        for content_at, media_types in contents.items():
            if len(media_types) < len(produces):
                self.lose(content_at)
        if not produces:
            return {"responses": responses}
        return {"responses": responses, "produces": produces}

    def response(
        self, node: JSONObject, path: Path, contents: dict[Path, JSONArray]
    ) -> JSONObject:
        """Convert a response, and note the media types of its content."""
        self.lose_beside_reference(node, path)
        node, path = self.resolved(node, path, _RESPONSES)
        # A shared response is written out, because in v2 the operation states the media
        # types.
        response = self.kept(node, path, ("description",), ("content", "headers"))
        if "headers" in node:
            at = path / "headers"
            response["headers"] = self.members(node["headers"], at, self.without_schema)
        if "content" in node:
            at = path / "content"
            contents[at], schema = self.content(node, at)
            response |= schema
        return response

    def content(self, node: JSONObject, path: Path) -> tuple[JSONArray, JSONObject]:
        """Return the media types of a content, and ``schema``, that of the first.

        v2 has one schema for all media types; a different one is lost.
        """
        schemas = {}
        for name, value in expect_object(node.get("content", {}), path).items():
            media_type = expect_object(value, path / name)
            schemas[name] = media_type.get("schema", ABSENT)
            for keyword in media_type:
                if keyword != "schema":
                    self.lose(path / name / keyword)
        first_name = next(iter(schemas), "")
        first = schemas.get(first_name, ABSENT)
        for name, schema in schemas.items():
            if not same(schema, first):
                self.lose(path / name)
        if first is ABSENT:
            return [*schemas], {}
        converted = self.schema(first, path / first_name / "schema")
        return [*schemas], {"schema": converted}


def _has_only_value_keywords(schema: JSONObject) -> bool:
    """Tell whether v2 can say in a parameter or a header what a schema says."""
    if not schema.keys() <= set(VALUE_KEYWORDS):
        return False
    if "items" not in schema:
        return True
    items = schema["items"]
    return isinstance(items, dict) and _has_only_value_keywords(items)
