"""Go sources to an OpenAPI document, as kube-openapi's generator writes it.

The sources become syntax values (``_parse``), packages in which names are resolved
(``_packages``), and structs as JSON sees them (``_structs``). Each struct becomes a
schema: its fields with types, descriptions, enums (``_enums``), extensions and defaults
(``_fields``), and unions (``_unions``). What the generator of kube-openapi only logs is
an error here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, Final

from smp._values.values import ABSENT, JSON, JSONObject
from smp.errors import DocumentError, SchemaError, bounded
from smp.schema.sources.golang import _well_known
from smp.schema.sources.golang._enums import Enums, list_values
from smp.schema.sources.golang._fields import FieldReader
from smp.schema.sources.golang._json_fields import JSONField
from smp.schema.sources.golang._markers import (
    KUBEBUILDER_ITEMS_ENUM,
    NO_MARKERS,
    Markers,
)
from smp.schema.sources.golang._packages import (
    BasicType,
    DeclaredType,
    Packages,
    PublishedType,
    WellKnownType,
    group_version,
)
from smp.schema.sources.golang._parse import parse
from smp.schema.sources.golang._problems import Problems
from smp.schema.sources.golang._structs import GoStruct, StructReader
from smp.schema.sources.golang._syntax import (
    Comment,
    GoType,
    MapType,
    SliceType,
    StructType,
    UnsupportedType,
)
from smp.schema.sources.golang._union_markers import PROFILES
from smp.schema.sources.golang._unions import UnionReader

OPENAPI_2: Final = 2
_REFERENCES: Final = {OPENAPI_2: "#/definitions/", 3: "#/components/schemas/"}
# Markers whose value "false" leaves a type out: of kube-openapi, and of controller-gen.
_LEFT_OUT: Final = ("k8s:openapi-gen", "kubebuilder:object:generate")


@bounded("the Go source")
def generate(
    sources: Mapping[str, str],
    *,
    profile: str = "kep1027",
    version: int = 3,
    unpublished: list[str] | None = None,
) -> dict[str, Any]:
    """Generate an OpenAPI document from Go sources, by path.

    Every exported struct becomes a schema, and so does each struct that it refers to.
    ``+k8s:openapi-gen=false`` and ``+kubebuilder:object:generate=false`` leave a struct
    out. A schema is called ``<package>.<Type>``, after ``+k8s:openapi-model-package``
    where the package has it. Types of the Kubernetes API whose source is not given are
    referred to by their published names
    (``io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta``) and not described: the reader
    of the document supplies them. ``profile`` selects which generation's union markers
    are read and in which shape unions are written; ``version`` is that of OpenAPI, 2
    or 3. ``unpublished`` receives the markers that are not published, with file and
    line: unions among the elements of a list, and what declarative validation and
    controller-gen say of values beside enums.

    Raises DocumentError, with file and line, for a syntax error (go-syntax), a misused
    marker (marker-misuse), a type without a schema (unresolvable-type) and the like;
    several problems are one error that lists them. Raises SchemaError for an unknown
    profile or version and for no sources at all, DepthError for nesting beyond the
    interpreter's stack. Sources: KEP-1027, KEP-2887, kube-openapi's generators.
    """
    if profile not in PROFILES:
        raise SchemaError(
            f"unknown profile {profile!r}",
            code="unknown-profile",
            hint="one of " + ", ".join(PROFILES),
        )
    if version not in _REFERENCES:
        raise SchemaError(
            f"unknown OpenAPI version {version}", code="unknown-version", hint="2 or 3"
        )
    if not sources:
        raise SchemaError(
            "there are no Go sources",
            code="missing-source",
            hint="the text of at least one Go file, by its path",
        )
    problems = Problems()
    files = []
    for path in sorted(sources):
        try:
            files.append(parse(path, sources[path]))
        except DocumentError as error:
            problems.add(error)
    # What is declared in a file with a syntax error is unknown to all others.
    problems.check()
    generator = _Generator(Packages(files), profile, version, problems)
    schemas: JSONObject = {**generator.schemas()}
    problems.check()
    if unpublished is not None:
        unpublished += problems.unpublished
    if version == OPENAPI_2:
        return {"definitions": schemas}
    return {"components": {"schemas": schemas}}


class _Generator:
    def __init__(
        self, packages: Packages, profile: str, version: int, problems: Problems
    ) -> None:
        self._packages = packages
        self._version = version
        self._problems = problems
        self._enums = Enums(packages, problems)
        self._structs = StructReader(packages, problems)
        self._fields = FieldReader(packages, self._enums, problems)
        self._unions = UnionReader(PROFILES[profile], packages, self._enums, problems)
        # The types that need a schema, by its name; it grows while schemas are written.
        self._wanted: dict[str, DeclaredType] = {}

    def schemas(self) -> dict[str, JSONObject]:
        """Write the schemas of all published structs, and of those they refer to."""
        for package in self._packages:
            for declared in package.types.values():
                if self._is_published(declared):
                    self._wanted[declared.name] = declared
                is_struct = isinstance(declared.syntax.type, StructType)
                if not is_struct:
                    self._fields.tell_unread(declared.syntax.at, declared.markers)
                if "union" in declared.markers and not is_struct:
                    self._problems.misuse(
                        declared.syntax.at,
                        declared.markers["union"][0],
                        "a union is a struct",
                    )
        # Writing a schema may add the structs that it refers to.
        written: dict[str, JSONObject] = {}
        while len(written) < len(self._wanted):
            for name, declared in list(self._wanted.items()):
                if name not in written:
                    written[name] = self._definition(declared)
        return dict(sorted(written.items()))

    def _is_published(self, declared: DeclaredType) -> bool:
        """Tell whether a type is an exported struct that no marker leaves out."""
        for name in _LEFT_OUT:
            for marker in declared.markers.get(name, ()):
                if marker.value == "false":
                    return False
        name = declared.syntax.name
        # A type that is not exported has a schema only where a field has it.
        if name in declared.package.well_known or not name[:1].isupper():
            return False
        try:
            return self._packages.struct(declared) is not None
        except DocumentError:
            # It is declared as a type that is unknown. That is an error only if the
            # field of a struct has it.
            return False

    def _definition(self, declared: DeclaredType) -> JSONObject:
        """Write the schema of a struct (Go: kube-openapi's openAPITypeWriter)."""
        struct = self._structs.declared(declared)
        schema: JSONObject = {}
        text = _description(declared.syntax.comment)
        if text:
            schema["description"] = text
        schema |= self._object(struct)
        self._fields.tell_unread(declared.syntax.at, declared.markers)
        schema |= self._fields.type_extensions(
            declared.syntax.at, declared.markers, declared
        )
        # An API server knows the kinds that are registered with it; here the package
        # tells the group and version of its objects.
        kind = group_version(declared.package) if struct.is_object else None
        if kind:
            group, version = kind
            schema["x-kubernetes-group-version-kind"] = [
                {"group": group, "version": version, "kind": declared.syntax.name}
            ]
        return schema

    def _object(self, struct: GoStruct) -> JSONObject:
        unions_of_struct, unions_of_fields = self._unions.published(struct)
        properties: JSONObject = {}
        required: list[JSON] = []
        for field in struct.fields():
            try:
                properties[field.name] = self._property(
                    field, unions_of_fields.get(field.name)
                )
            except DocumentError as error:
                self._problems.add(error)
            if not field.optional:
                required.append(field.name)
        schema: JSONObject = {"type": "object"}
        if properties:
            schema["properties"] = properties
        if required:
            schema["required"] = required
        if unions_of_struct:
            schema["x-kubernetes-unions"] = unions_of_struct
        return schema

    def _property(self, field: JSONField, union: JSONObject | None) -> JSONObject:
        """Write the schema of a field (Go: kube-openapi's generateProperty)."""
        enum = self._enums.of(field.field.type)
        lines: list[str] = []
        if enum:
            values = self._enums.values(field.field.type, field.markers)
            lines = enum.description(values)
        siblings: JSONObject = {}
        text = _description(field.field.comment, lines)
        if text:
            siblings["description"] = text
        siblings |= self._fields.extensions(field)
        # KEP-1027, final text: the union is on the property of its discriminator.
        if union is not None:
            siblings["x-kubernetes-unions"] = union
        # The option "string" of encoding/json writes a number as a string.
        if field.json.as_string:
            return {"type": "string", **siblings}
        schema = self._schema(field.field.type, field.markers)
        default = self._fields.default(field, schema)
        # The OpenAPI v2 that an API server publishes has no defaults (kube-openapi's
        # handler prunes them).
        if default is not ABSENT and self._version != OPENAPI_2:
            siblings["default"] = default
        # OpenAPI 3.0, "Reference Object": "This object cannot be extended with
        # additional properties and any properties added SHALL be ignored." In the
        # OpenAPI v2 of API servers they are siblings of $ref nevertheless.
        if "$ref" in schema and siblings and self._version != OPENAPI_2:
            return {"allOf": [schema], **siblings}
        return {**schema, **siblings}

    def _schema(self, type_: GoType, field_markers: Markers = NO_MARKERS) -> JSONObject:
        """Write the schema of a type (Go: kube-openapi's generateProperty)."""
        resolved = self._packages.value_type(type_)
        # An interface is an object of any form.
        schema: JSONObject = {"type": "object"}
        match resolved:
            case BasicType(name):
                schema = dict(_well_known.BASIC[name])
                values = self._enums.values(type_, field_markers)
                if values:
                    schema["enum"] = values
            case SliceType(element, fixed):
                # encoding/json writes a slice of bytes as a base64 string, and an array
                # of bytes as an array.
                element_type = self._packages.value_type(element)
                is_byte = element_type in (BasicType("byte"), BasicType("uint8"))
                if is_byte and not fixed:
                    schema = {"type": "string", "format": "byte"}
                else:
                    items = self._schema(element)
                    listed = list_values(field_markers, KUBEBUILDER_ITEMS_ENUM)
                    if listed:
                        items["enum"] = listed
                    schema = {"type": "array", "items": items}
            case MapType(key, value, at):
                if self._packages.value_type(key) != BasicType("string"):
                    problem = "the keys of a map are strings in JSON"
                    raise at.error(problem, code="unresolvable-type")
                schema = {"type": "object", "additionalProperties": self._schema(value)}
            case StructType():
                schema = self._object(self._structs.read(resolved, resolved.at))
            case UnsupportedType(at, description):
                problem = f"{description} cannot be encoded as JSON"
                hint = 'json:"-" leaves the field out'
                raise at.error(problem, code="unresolvable-type", hint=hint)
            case DeclaredType() | PublishedType():
                # A struct has a schema of its own, and so can refer to itself.
                if isinstance(resolved, DeclaredType):
                    self._wanted.setdefault(resolved.name, resolved)
                schema = {"$ref": _REFERENCES[self._version] + resolved.name}
            case WellKnownType(json_schema):
                # OpenAPI v2 has no oneOf.
                v2 = self._version == OPENAPI_2
                schema = _drop_one_of(json_schema) if v2 else deepcopy(json_schema)
        return schema


def _drop_one_of(schema: JSONObject) -> JSONObject:
    """Write the schema of a well-known type as OpenAPI v2 does: oneOf is a string."""
    rewritten: JSONObject = {"type": "string"} if "oneOf" in schema else {}
    rewritten |= {key: value for key, value in schema.items() if key != "oneOf"}
    values = rewritten.get("additionalProperties")
    if isinstance(values, dict):
        rewritten["additionalProperties"] = _drop_one_of(values)
    return rewritten


def _description(comment: Comment, more: Sequence[str] = ()) -> str:
    """Make a description of a comment (Go: kube-openapi's generateDescription).

    Lines are joined, except indented ones; an empty line ends a paragraph; what follows
    ``---`` is left out, and so are markers and lines that begin with TODO.
    """
    # Empty lines at both ends are left out, and all but one in between (Go:
    # ast.CommentGroup.Text).
    lines: list[str] = []
    for comment_line in comment:
        if comment_line.text or (lines and lines[-1]):
            lines.append(comment_line.text)
    if lines and not lines[-1]:
        lines.pop()

    text = ""
    for line in [*lines, *more]:
        if line == "---":
            break
        content = line.rstrip(" ")
        if not content:
            text = text[:-1] + "\n\n"
        elif content.lstrip(" ").startswith(("TODO", "+")):
            continue  # a note to developers, or a marker
        elif content.startswith((" ", "\t")):
            # An indented line, of an example, stays a line of its own.
            text = text[:-1] + "\n" + content + "\n"
        else:
            text += content + " "
    return text.strip()
