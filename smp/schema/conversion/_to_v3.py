"""From OpenAPI v2 to v3, as Go's openapiconv does, but that what it drops is kept or
listed as lost.
"""

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
    Located,
    as_list,
    filled,
    parameters_of,
)
from smp.values import JSONObject

_PARAMETERS: Final = Path(("parameters",))
_RESPONSES: Final = Path(("responses",))


class ToV3(Direction):
    """From v2 to v3."""

    references: ClassVar = {
        "#/definitions/": "#/components/schemas/",
        "#/parameters/": "#/components/parameters/",
    }

    def document(self) -> JSONObject:
        """Convert the whole document."""
        sections = (
            "definitions",
            "parameters",
            "responses",
            "securityDefinitions",
            "consumes",
            "produces",
        )
        kept = self.kept(self.source, Path(), DOCUMENT, ("swagger", "paths", *sections))
        shared = self.each_of_section(_PARAMETERS, self.parameter)
        components: JSONObject = {
            "schemas": self.schemas(Path(("definitions",))),
            "parameters": shared,
            "securitySchemes": self.each_of_section(
                Path(("securityDefinitions",)), self.security_scheme
            ),
        }
        converted = {
            "openapi": "3.0.0",
            **kept,
            **self.paths(),
            **filled({"components": filled(components)}),
        }
        self.lose_unused(_RESPONSES, self.section(_RESPONSES))
        self.lose_unused(_PARAMETERS, self.section(_PARAMETERS).keys() - shared.keys())
        return converted

    def schema_node(self, node: JSONObject) -> JSONObject:
        """Wrap a reference that has words beside it (Go: builder3/util.WrapRefs)."""
        if isinstance(node.get("discriminator"), str):
            node = {**node, "discriminator": {"propertyName": node["discriminator"]}}
        if "$ref" not in node:
            return node
        reference: JSONObject = {"$ref": self.moved(node["$ref"])}
        beside = {word: value for word, value in node.items() if word != "$ref"}
        if beside.keys() & STRUCTURE:
            raise SchemaError(
                "a structure beside a reference means nothing",
                code="structure-beside-reference",
            )
        return {**beside, "allOf": [reference]} if beside else reference

    def path_item(self, node: JSONObject, path: Path) -> JSONObject:
        """Convert a path; bodies belong to operations."""
        self.lost += [where for _, where in self.bodies(node, path)]
        return super().path_item(node, path)

    def operation(self, node: JSONObject, path: Path) -> JSONObject:
        """Convert an operation: its body is no parameter, and media types go where
        there is content.
        """
        kept = self.kept(
            node, path, OPERATION, ("consumes", "produces", "parameters", "responses")
        )
        bodies, parameters = self.bodies(node, path), self.parameters(node, path)
        self.lost += [where for _, where in bodies[1:]]
        if parameters or ("parameters" in node and not bodies):
            kept["parameters"] = parameters
        if bodies:
            kept["requestBody"] = self.body(
                *bodies[0], self.media_types(node, path / "consumes")
            )
        elif "consumes" in node:
            self.lose(path / "consumes")
        return kept | self.responses(node, path)

    def bodies(self, node: JSONObject, path: Path) -> list[Located]:
        """Find the parameters that are bodies."""
        resolved = [
            self.resolved(*one, _PARAMETERS) for one in parameters_of(node, path)
        ]
        return [
            (parameter, where)
            for parameter, where in resolved
            if parameter.get("in") == "body"
        ]

    def parameter_or_reference(self, node: JSONObject, path: Path) -> JSONObject | None:
        """Convert a parameter where it is used; a body is none."""
        if self.resolved(node, path, _PARAMETERS)[0].get("in") != "body":
            return super().parameter_or_reference(node, path)
        self.lose_beside_reference(node, path)
        return None

    def parameter(self, node: JSONObject, path: Path) -> JSONObject | None:
        """Convert a parameter; a body is none, and a form has no counterpart."""
        if node.get("in") not in ("body", "formData"):
            return self.with_schema(node, path)
        if node["in"] == "formData":
            self.lose(path)
        return None

    def with_schema(self, node: JSONObject, path: Path) -> JSONObject:
        """Gather in a schema what a parameter or a header says of its values."""
        schema: JSONObject = {word: node[word] for word in PLAIN if word in node}
        return {**self.kept(node, path, PARAMETER, PLAIN), "schema": schema}

    def body(self, node: JSONObject, path: Path, media_types: list[str]) -> JSONObject:
        """Convert a body, whose name has no counterpart unless it is the one that every
        body gets.
        """
        named = ("name",) if node.get("name") == "body" else ()
        kept = self.kept(node, path, BODY, ("in", "schema", *named))
        return kept | self.content(node, path, media_types)

    def responses(self, node: JSONObject, path: Path) -> JSONObject:
        """Convert the responses of an operation."""
        if "responses" not in node:
            return {}
        convert = partial(
            self.response, media_types=self.media_types(node, path / "produces")
        )
        responses = self.each_but_extensions(
            node["responses"], path / "responses", convert
        )
        if "produces" in node and not any(
            isinstance(one, dict) and "content" in one for one in responses.values()
        ):
            self.lose(path / "produces")
        return {"responses": responses}

    def response(
        self, node: JSONObject, path: Path, media_types: list[str]
    ) -> JSONObject:
        """Convert a response."""
        self.lose_beside_reference(node, path)
        node, path = self.resolved(node, path, _RESPONSES)
        kept = self.kept(node, path, ("description",), ("schema", "headers"))
        if "headers" in node:
            kept["headers"] = self.each(
                node["headers"], path / "headers", self.with_schema
            )
        return kept | (
            self.content(node, path, media_types) if "schema" in node else {}
        )

    def content(
        self, node: JSONObject, path: Path, media_types: list[str]
    ) -> JSONObject:
        """Say of each media type that its content has the schema."""
        schema = self.schema(node.get("schema", {}), path / "schema")
        return {
            "content": {media_type: {"schema": schema} for media_type in media_types}
        }

    def media_types(self, node: JSONObject, path: Path) -> list[str]:
        """Return what an operation consumes or produces; by default, what the document
        says of all of them.
        """
        word = str(path.steps[-1])
        stated = as_list(node.get(word, self.source.get(word, [])), path)
        return list(map(str, stated)) or ["*/*"]
