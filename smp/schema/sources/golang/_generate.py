"""Go sources to an OpenAPI document, as kube-openapi's generator writes it; nothing is
only logged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Final

from smp.errors import DepthError, DocumentError, SchemaError
from smp.schema.sources.golang import _known
from smp.schema.sources.golang._enums import Enums
from smp.schema.sources.golang._fields import Fields
from smp.schema.sources.golang._markers import NO_MARKERS, Markers
from smp.schema.sources.golang._packages import (
    Basic,
    Bundled,
    Declaration,
    Known,
    Package,
    Packages,
    Resolved,
    group_version,
)
from smp.schema.sources.golang._parse import parse
from smp.schema.sources.golang._problems import Problems
from smp.schema.sources.golang._structs import Member, Structs, Structure
from smp.schema.sources.golang._syntax import Comment, List, Map, Other, Struct, Type
from smp.schema.sources.golang._unions import PROFILES, Unions
from smp.values import ABSENT, JSON, JSONObject

_REFERENCES: Final = {2: "#/definitions/", 3: "#/components/schemas/"}
_LEFT_OUT: Final = ("k8s:openapi-gen", "kubebuilder:object:generate")


def generate(
    sources: Mapping[str, str], *, profile: str = "kep1027", version: int = 3
) -> JSONObject:
    """Generate an OpenAPI document from Go sources, by path.

    Every exported struct becomes a schema, and what it refers to;
    ``+k8s:openapi-gen=false`` and ``+kubebuilder:object:generate=false`` leave a struct
    out. A schema is called ``<package>.<Type>``, after ``+k8s:openapi-model-package``
    where the package has it. Types of the Kubernetes API whose source is not given are
    referred to by their published names
    (``io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta``) and not described: the reader
    of the document brings them. ``profile`` says which generation's union markers are
    read and in which shape unions are written; ``version`` is that of OpenAPI, 2 or 3.

    Raises DocumentError, with file and line, for what is not Go (go-syntax), a marker
    that is misused (marker-misuse), a type without a schema (unresolvable-type) and the
    like; several problems are one error that lists them. Raises SchemaError for an
    unknown profile or version, DepthError for nesting beyond the interpreter's stack.
    Sources: KEP-1027, KEP-2887, kube-openapi's generators.
    """
    if profile not in PROFILES:
        raise SchemaError(
            f"{profile!r} is no profile",
            code="unknown-profile",
            hint="one of " + ", ".join(PROFILES),
        )
    if version not in _REFERENCES:
        raise SchemaError(
            f"there is no OpenAPI {version}", code="unknown-version", hint="2 or 3"
        )
    try:
        return _generated(sources, profile, version)
    except RecursionError:
        raise DepthError("the Go source is nested too deeply") from None


def _generated(sources: Mapping[str, str], profile: str, version: int) -> JSONObject:
    problems = Problems()
    files = []
    for path in sorted(sources):
        try:
            files.append(parse(path, sources[path]))
        except DocumentError as error:
            problems.add(error)
    problems.check()
    schemas: JSONObject = {
        **_Generator(Packages(files), profile, version, problems).schemas()
    }
    problems.check()
    return (
        {"definitions": schemas}
        if version == 2
        else {"components": {"schemas": schemas}}
    )


class _Generator:
    def __init__(
        self, packages: Packages, profile: str, version: int, problems: Problems
    ) -> None:
        self._packages = packages
        self._version = version
        self._problems = problems
        self._enums = Enums(packages, problems)
        self._structs = Structs(packages, problems)
        self._fields = Fields(packages, problems)
        self._unions = Unions(PROFILES[profile], packages, self._enums, problems)
        self._wanted: dict[str, Declaration] = {}

    def schemas(self) -> dict[str, JSONObject]:
        """Write the schemas of all structs, and of those that they refer to."""
        for package in self._packages:
            self._wanted |= {
                each.name: each
                for each in package.types.values()
                if self._is_published(each)
            }
            self._check_unions_are_structs(package)
        written: dict[str, JSONObject] = {}
        while missing := [
            declared for name, declared in self._wanted.items() if name not in written
        ]:
            written |= {
                declared.name: self._definition(declared) for declared in missing
            }
        return dict(sorted(written.items()))

    def _is_published(self, declared: Declaration) -> bool:
        """Tell whether a type is an exported struct that nobody left out."""
        name, package = declared.syntax.name, declared.package
        left_out = any(
            marker.value == "false"
            for word in _LEFT_OUT
            for marker in declared.markers.get(word, ())
        )
        if left_out or name in package.known or not name[:1].isupper():
            return False
        try:
            return self._packages.struct(declared) is not None
        except DocumentError:
            # of another type that is unknown: an error only if a field has it
            return False

    def _check_unions_are_structs(self, package: Package) -> None:
        for declared in package.types.values():
            if "union" in declared.markers and not isinstance(
                declared.syntax.type, Struct
            ):
                self._problems.misuse(
                    declared.syntax.at,
                    declared.markers["union"][0],
                    "a union is a struct",
                )

    def _definition(self, declared: Declaration) -> JSONObject:
        structure = self._structs.declared(declared)
        typed = self._fields.typed(declared.syntax.at, declared.markers, declared)
        text = _description(declared.syntax.comment)
        kind = group_version(declared.package) if structure.is_object else None
        kinds: JSON = (
            [{"group": kind[0], "version": kind[1], "kind": declared.syntax.name}]
            if kind
            else None
        )
        return {
            **({"description": text} if text else {}),
            **self._object(structure),
            **typed,
            **({"x-kubernetes-group-version-kind": kinds} if kinds else {}),
        }

    def _object(self, structure: Structure) -> JSONObject:
        on_struct, on_property = self._unions.published(structure)
        properties: JSONObject = {}
        for member in structure.members():
            try:
                properties[member.name] = self._property(
                    member, on_property.get(member.name)
                )
            except DocumentError as error:
                self._problems.add(error)
        required: list[JSON] = [
            member.name for member in structure.members() if not member.optional
        ]
        parts: JSONObject = {
            "properties": properties,
            "required": required,
            "x-kubernetes-unions": on_struct,
        }
        return {
            "type": "object",
            **{key: value for key, value in parts.items() if value},
        }

    def _property(self, member: Member, union: JSONObject | None) -> JSONObject:
        enum = self._enums.of(member.field.type)
        text = _description(member.field.comment, enum.description() if enum else [])
        beside: JSONObject = {"description": text} if text else {}
        beside |= self._fields.extensions(member)
        if union is not None:
            beside["x-kubernetes-unions"] = union
        if member.json.as_string:
            return {"type": "string", **beside}
        default = self._fields.default(member)
        if default is not ABSENT and self._version != 2:
            beside["default"] = default
        schema = self._schema(member.field.type, member.markers)
        if "$ref" in schema and beside and self._version != 2:
            return {"allOf": [schema], **beside}
        return {**schema, **beside}

    def _schema(self, written: Type, marked: Markers = NO_MARKERS) -> JSONObject:
        resolved = self._packages.value_type(written)
        match resolved:
            case Basic(name):
                values = self._enums.values(written, marked)
                return {**_known.BASIC[name], **({"enum": values} if values else {})}
            case List():
                return self._list(resolved)
            case Map():
                return self._map(resolved)
            case Struct():
                return self._object(self._structs.of(resolved, resolved.at))
            case Other(at, what):
                raise at.error(
                    f"{what} has no form in JSON",
                    code="unresolvable-type",
                    hint='json:"-" leaves it out',
                )
        return self._named(resolved)

    def _named(self, resolved: Resolved) -> JSONObject:
        match resolved:
            case Declaration():
                self._wanted.setdefault(resolved.name, resolved)
                return {"$ref": _REFERENCES[self._version] + resolved.name}
            case Bundled(name):
                return {"$ref": _REFERENCES[self._version] + name}
            case Known(schema):
                return (
                    _without_one_of(schema) if self._version == 2 else deepcopy(schema)
                )
        return {"type": "object"}  # an interface

    def _list(self, written: List) -> JSONObject:
        element = self._packages.value_type(written.of)
        if element in (Basic("byte"), Basic("uint8")) and not written.fixed:
            return {"type": "string", "format": "byte"}
        return {"type": "array", "items": self._schema(written.of)}

    def _map(self, written: Map) -> JSONObject:
        if self._packages.value_type(written.key) != Basic("string"):
            raise written.at.error(
                "the keys of a map are strings in JSON", code="unresolvable-type"
            )
        return {"type": "object", "additionalProperties": self._schema(written.value)}


def _without_one_of(schema: JSONObject) -> JSONObject:
    """Write a known schema as OpenAPI v2 does, which has no oneOf."""
    found: JSONObject = {"type": "string"} if "oneOf" in schema else {}
    found |= {key: value for key, value in schema.items() if key != "oneOf"}
    values = found.get("additionalProperties")
    return (
        {**found, "additionalProperties": _without_one_of(values)}
        if isinstance(values, dict)
        else found
    )


def _description(comment: Comment, more: Sequence[str] = ()) -> str:
    """Make a description of a comment (Go: kube-openapi generateDescription).

    Lines flow together, but for indented ones; an empty line ends a paragraph; what
    follows ``---`` is left out, and so are markers and lines that begin with TODO.
    """
    text = ""
    for line in [*_collapsed(line.text for line in comment), *more]:
        if line == "---":
            break
        words = line.rstrip(" ")
        if not words:
            text = text[:-1] + "\n\n"
        elif words.lstrip(" ").startswith(("TODO", "+")):
            continue
        elif words.startswith((" ", "\t")):
            text = text[:-1] + "\n" + words + "\n"
        else:
            text += words + " "
    return text.strip()


def _collapsed(lines: Iterable[str]) -> Iterator[str]:
    """Leave out empty lines at both ends and all but one between (Go:
    ast.CommentGroup.Text).
    """
    pending = started = False
    for line in lines:
        if not line:
            pending = started
            continue
        if pending:
            yield ""
        yield line
        pending, started = False, True
