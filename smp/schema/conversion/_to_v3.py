"""From OpenAPI v2 to v3, as Go's openapiconv does.

What openapiconv drops without an error is kept here where v3 has a place for it, and
listed as lost where it has none.
"""

from __future__ import annotations

from functools import partial
from typing import ClassVar, Final

from smp._values.values import JSONObject
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
    Located,
    drop_empty,
    expect_list,
    parameters_of,
)

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
        converted = (
            "swagger",
            "paths",
            "definitions",
            "parameters",
            "responses",
            "securityDefinitions",
            "consumes",
            "produces",
        )
        kept = self.kept(self.source, Path(), DOCUMENT_KEYWORDS, converted)
        parameters = self.section_members(_PARAMETERS, self.parameter)
        components: JSONObject = {
            "schemas": self.schemas(Path(("definitions",))),
            "parameters": parameters,
            "securitySchemes": self.section_members(
                Path(("securityDefinitions",)), self.security_scheme
            ),
        }
        # 3.0.0 is the version that Kubernetes publishes.
        document: JSONObject = {"openapi": "3.0.0", **kept, **self.paths()}
        document |= drop_empty({"components": drop_empty(components)})

        # Shared responses, and shared parameters that are bodies, have been written out
        # in the operations that refer to them.
        self.lose_unused(_RESPONSES, self.section(_RESPONSES))
        bodies = self.section(_PARAMETERS).keys() - parameters.keys()
        self.lose_unused(_PARAMETERS, bodies)
        return document

    def schema_node(self, node: JSONObject) -> JSONObject:
        """Wrap a reference that has keywords beside it (Go: builder3/util.WrapRefs)."""
        if isinstance(node.get("discriminator"), str):
            node = {**node, "discriminator": {"propertyName": node["discriminator"]}}
        if "$ref" not in node:
            return node
        # OpenAPI v3.0 ignores the keywords beside $ref; Kubernetes v2 documents have
        # descriptions, defaults and patch strategies there.
        reference: JSONObject = {"$ref": self.moved(node["$ref"])}
        others = {
            keyword: value for keyword, value in node.items() if keyword != "$ref"
        }
        if not STRUCTURE_KEYWORDS.isdisjoint(others):
            raise SchemaError(
                "a schema has both a reference and a structure",
                code="structure-beside-reference",
            )
        return {**others, "allOf": [reference]} if others else reference

    def path_item(self, node: JSONObject, path: Path) -> JSONObject:
        """Convert a path; a body that all its operations share is lost."""
        # In v3 only an operation has a body.
        for _, at in self.bodies(node, path):
            self.lose(at)
        return super().path_item(node, path)

    def operation(self, node: JSONObject, path: Path) -> JSONObject:
        """Convert an operation.

        The parameter that is its body becomes the request body, and its media types go
        where there is content.
        """
        converted = ("consumes", "produces", "parameters", "responses")
        operation = self.kept(node, path, OPERATION_KEYWORDS, converted)
        bodies = self.bodies(node, path)
        parameters = self.parameters(node, path)
        # A list that had nothing but the body goes with it; an empty list stays.
        if parameters or ("parameters" in node and not bodies):
            operation["parameters"] = parameters
        if bodies:
            media_types = self.media_types(node, path, "consumes")
            body, at = bodies[0]
            operation["requestBody"] = self.body(body, at, media_types)
            # OpenAPI v2: there can be only one body.
            for _, other in bodies[1:]:
                self.lose(other)
        elif "consumes" in node:
            # v3 states media types as keys of the content, which is missing here.
            self.lose(path / "consumes")
        return operation | self.responses(node, path)

    def bodies(self, node: JSONObject, path: Path) -> list[Located]:
        """Return the parameters of a path or of an operation that are bodies."""
        bodies = []
        for reference, at in parameters_of(node, path):
            parameter, shared_at = self.resolved(reference, at, _PARAMETERS)
            if parameter.get("in") == "body":
                bodies.append((parameter, shared_at))
        return bodies

    def parameter_or_reference(self, node: JSONObject, path: Path) -> JSONObject | None:
        """Convert a parameter where it is used; None for a body."""
        parameter, _ = self.resolved(node, path, _PARAMETERS)
        if parameter.get("in") != "body":
            return super().parameter_or_reference(node, path)
        self.lose_beside_reference(node, path)
        return None

    def parameter(self, node: JSONObject, path: Path) -> JSONObject | None:
        """Convert a parameter; None for a body, and for a form, which is lost."""
        if node.get("in") == "body":
            return None
        if node.get("in") == "formData":
            # Fields of a form would become one request body; Kubernetes has no forms.
            self.lose(path)
            return None
        return self.with_schema(node, path)

    def with_schema(self, node: JSONObject, path: Path) -> JSONObject:
        """Move what a parameter or a header says of its values to a schema."""
        converted = self.kept(node, path, PARAMETER_KEYWORDS, VALUE_KEYWORDS)
        schema: JSONObject = {}
        for keyword in VALUE_KEYWORDS:
            if keyword in node:
                schema[keyword] = node[keyword]
        converted["schema"] = schema
        return converted

    def body(self, node: JSONObject, path: Path, media_types: list[str]) -> JSONObject:
        """Convert the parameter that is a body to a request body."""
        converted = ["in", "schema"]
        if node.get("name") == "body":
            # A request body has no name. This one gets back in ToV2.
            converted.append("name")
        body = self.kept(node, path, BODY_KEYWORDS, converted)
        return body | self.content(node, path, media_types)

    def responses(self, node: JSONObject, path: Path) -> JSONObject:
        """Convert the responses of an operation."""
        if "responses" not in node:
            return {}
        media_types = self.media_types(node, path, "produces")
        convert = partial(self.response, media_types=media_types)
        at = path / "responses"
        responses = self.members_and_extensions(node["responses"], at, convert)
        has_content = any(
            isinstance(response, dict) and "content" in response
            for response in responses.values()
        )
        # As with consumes: v3 states media types only as keys of the content.
        if "produces" in node and not has_content:
            self.lose(path / "produces")
        return {"responses": responses}

    def response(
        self, node: JSONObject, path: Path, media_types: list[str]
    ) -> JSONObject:
        """Convert a response."""
        self.lose_beside_reference(node, path)
        node, path = self.resolved(node, path, _RESPONSES)
        response = self.kept(node, path, ("description",), ("schema", "headers"))
        if "headers" in node:
            at = path / "headers"
            response["headers"] = self.members(node["headers"], at, self.with_schema)
        if "schema" in node:
            response |= self.content(node, path, media_types)
        return response

    def content(
        self, node: JSONObject, path: Path, media_types: list[str]
    ) -> JSONObject:
        """Return the content of a body or a response, by media type."""
        schema = self.schema(node.get("schema", {}), path / "schema")
        content: JSONObject = {}
        for media_type in media_types:
            content[media_type] = {"schema": schema}
        return {"content": content}

    def media_types(self, node: JSONObject, path: Path, keyword: str) -> list[str]:
        """Return what an operation consumes or produces.

        By default it is what the document states for all operations, and else ``*/*``.
        """
        # What an operation states replaces the default, even with an empty list.
        default = self.source.get(keyword, [])
        media_types = expect_list(node.get(keyword, default), path / keyword)
        if not media_types:
            return ["*/*"]
        return [str(media_type) for media_type in media_types]
