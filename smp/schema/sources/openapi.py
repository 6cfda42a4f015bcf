"""OpenAPI v2 and v3 documents, and JSON Schema ``$defs``, compiled to type documents.

The rule: say what the document says. What it leaves open stays unknown, and an engine
refuses to merge what is unknown; what contradicts itself is an error. Nothing is
guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from smp._values.values import (
    JSON,
    JSONArray,
    JSONObject,
    as_list,
    as_object,
    as_text,
    same,
    type_name,
)
from smp.errors import SchemaError, SmpError, bounded
from smp.paths import Path, unescape_pointer
from smp.schema.model import SCALARS, Schema, TypeDocument, Types
from smp.schema.rewrite import schema_object
from smp.schema.sources import extensions
from smp.schema.sources.extensions import OF_FIELD, OF_LIST, OF_OBJECT, pick
from smp.schema.sources.scalar_values import scalar_document

T = TypeVar("T")

# An apiVersion and a kind: ("apps/v1", "Deployment").
Kind: TypeAlias = tuple[str, str]

_SECTIONS: Final = (("definitions",), ("components", "schemas"), ("$defs",))
_REFERENCE: Final = re.compile(r"#/(?:definitions|components/schemas|\$defs)/([^/]+)")
_COMBINATIONS: Final = ("allOf", "oneOf", "anyOf")
_STRUCTURE: Final = ("properties", "additionalProperties", "items")
_TYPE_KEYWORDS: Final = ("$ref", "type", "enum", *_STRUCTURE, *_COMBINATIONS)
_KINDS: Final = "x-kubernetes-group-version-kind"
_UNIONS: Final = "x-kubernetes-unions"
# The names of the types of Kubernetes itself: io.k8s.api.core.v1.Pod.
_KUBERNETES: Final = "io.k8s.api."
_STRATEGIC: Final = "application/strategic-merge-patch+json"
_MERGE: Final = "application/merge-patch+json"


class Compiled(msgspec.Struct, frozen=True):
    """Type documents by name, and the name of the type that describes each kind."""

    types: dict[str, TypeDocument]
    kinds: dict[Kind, str]


@bounded("the OpenAPI document")
def compile_documents(documents: JSON) -> Compiled:
    """Compile one OpenAPI document, or a list of them, to type documents.

    ``definitions`` (v2), ``components.schemas`` (v3) and ``$defs`` are read. The last
    description of a name counts, and the first type that is said to be of a kind.
    Raises SchemaError, with the path, for what is not a schema or contradicts itself,
    and DepthError.
    """
    types: dict[str, TypeDocument] = {}
    kinds: dict[Kind, str] = {}
    for document in documents if isinstance(documents, list) else [documents]:
        compiled = _compile_names(schema_object(document, "an OpenAPI document"))
        types.update(compiled.types)
        for kind, name in compiled.kinds.items():
            kinds.setdefault(kind, name)
    if not types:
        raise SchemaError(
            "the document describes no schemas",
            hint="definitions, components.schemas or $defs",
        )
    return Compiled(types, kinds)


@bounded("the schema")
def inline(document: Any) -> Schema:
    """Make a schema of one OpenAPI v3 schema object.

    The object may have ``components`` or ``definitions`` that it refers to. Raises
    SchemaError and DepthError as ``compile_documents`` does.
    """
    named = _compile_names(schema_object(document, "a schema")).types
    # A reference to the empty name cannot be written, so it is free for the root.
    named[""] = _type(document)
    return Schema("#", Types(named.get))


def _compile_names(document: JSONObject) -> Compiled:
    types: dict[str, TypeDocument] = {}
    kinds: dict[Kind, str] = {}
    for steps in _SECTIONS:
        section: JSON = document
        for step in steps:
            section = section.get(step) if isinstance(section, dict) else None
        if section is None:
            continue
        for name, node in _compile_at(Path(steps), schema_object, section).items():
            path = Path(steps) / name
            type_document = _compile_at(path, _type, node)
            if name.startswith(_KUBERNETES):
                type_document = _drop_impossible_unions(type_document)
            if isinstance(node, dict) and node.get(_KINDS) is not None:
                type_document = _drop_enums_of_kind(type_document)
                for kind in _compile_at(path / _KINDS, _kinds, node[_KINDS]):
                    kinds.setdefault(kind, name)
            types[name] = type_document
    for kind in _drop_strategic_patch(document):
        type_document = types.get(kinds.get(kind, ""), "")
        if isinstance(type_document, dict):
            type_document["custom"] = True
    return Compiled(types, kinds)


def _drop_strategic_patch(document: JSONObject) -> Iterator[Kind]:
    """Yield the kinds whose PATCH takes no strategic merge patch.

    A document may have no paths, and says nothing of patches then. Go:
    kubectl's Patcher.gvkSupportsPatchOpenAPIV3, and getPatchTypeFromOpenAPI for v2.
    """
    for operations in as_object(document.get("paths")).values():
        patch = as_object(as_object(operations).get("patch"))
        content = as_object(as_object(patch.get("requestBody")).get("content"))
        media_types = [*content, *as_list(patch.get("consumes"))]
        # One that takes no patch of RFC 7396 either is not of a Kubernetes object.
        if _STRATEGIC in media_types or _MERGE not in media_types:
            continue
        kind = as_object(patch.get(_KINDS))
        group, version = as_text(kind.get("group")), as_text(kind.get("version"))
        yield f"{group}/{version}" if group else version, as_text(kind.get("kind"))


def _kinds(entries: JSON) -> list[Kind]:
    if not isinstance(entries, list):
        raise SchemaError(f"a list of kinds is expected, not {type_name(entries)}")
    kinds = []
    for entry in entries:
        match entry:
            case {"group": str(group), "version": str(version), "kind": str(kind)}:
                kinds.append((f"{group}/{version}" if group else version, kind))
            case _:
                raise SchemaError("a kind has a group, a version and a kind: strings")
    return kinds


def _drop_enums_of_kind(document: TypeDocument) -> TypeDocument:
    """Drop the enums of apiVersion and kind from the type of a kind.

    Converters add them to a published document. They restate the index of kinds, and
    API servers publish none.
    """
    fields = document.get("fields") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(fields, dict):
        return document
    changed = {}
    for name in ("apiVersion", "kind"):
        field = fields.get(name)
        if isinstance(field, dict) and "enum" in field:
            changed[name] = field["type"]
    return {**document, "fields": {**fields, **changed}}


def _drop_impossible_unions(document: TypeDocument) -> TypeDocument:
    """Drop the unions with a value that their discriminator cannot have.

    For a member without a value of its own, Kubernetes publishes the Go name of the
    field: LocalhostProfile for a SeccompProfile, whose enum has Localhost. No server
    validates by that, and the user of a cluster cannot mend it. An overlay can.
    """
    if not isinstance(document, dict) or "unions" not in document:
        return document
    fields = as_object(document.get("fields"))
    possible: JSONArray = []
    for union in as_list(document["unions"]):
        facets = as_object(union)
        discriminator = fields.get(as_text(facets.get("discriminator")))
        type_ = as_object(as_object(discriminator).get("is", discriminator))
        enum = as_list(type_.get("enum"))
        # The values of other shapes are written by hand.
        values = as_object(facets.get("fields-to-discriminateBy")).values()
        if not enum or all(value in enum for value in values):
            possible.append(union)
    kept = {name: value for name, value in document.items() if name != "unions"}
    return {**kept, "unions": possible} if possible else kept


def _field(node: JSON) -> TypeDocument:
    """Compile a property: its type, and the facets of the field itself."""
    # The schema true has no facets, and _type raises for any other value.
    if not isinstance(node, dict):
        return _type(node)
    node_facets = extensions.facets(node)
    document = _type(node)
    names = OF_FIELD
    if isinstance(document, str) and document.startswith("#"):
        # Beside a reference, the facets of lists and objects are the field's, too: the
        # type that it refers to is shared with other fields.
        names = OF_FIELD + OF_LIST + OF_OBJECT
    facets = pick(node_facets, names)
    if "unions" in facets and _is_discriminator(node):
        # _all_unions moves them to the object.
        del facets["unions"]
    # Managed fields need the default of a map key. Other types of defaults are no keys.
    default = node.get("default")
    stated = document.get("type") if isinstance(document, dict) else document
    if stated in SCALARS and isinstance(default, str | int | float):
        facets["default"] = default
    return {"is": document, **facets} if facets else document


def _type(node: JSON) -> TypeDocument:
    """Compile a schema node to the document of its type."""
    # JSON Schema: the schema true allows every value, as an empty one does.
    node = {} if node is True else schema_object(node)
    if None in node.values():
        # Go decodes a keyword that is null as absent.
        node = {name: value for name, value in node.items() if value is not None}
    # OpenAPI: the keywords beside a reference are ignored; _field reads those on a
    # property, where Kubernetes writes them.
    if "$ref" in node:
        return _compile_at(Path(("$ref",)), _reference, node["$ref"])
    facets = extensions.facets(node)
    stated = _find_stated_type(node, facets)
    # As an API server validates a CustomResourceDefinition.
    if facets.get("embedded") and stated not in ("object", ""):
        raise SchemaError(
            "an embedded resource is of type object",
            path=Path(("x-kubernetes-embedded-resource",)),
        )
    if stated == "array":
        items = _compile_at(Path(("items",)), _type, node.get("items", True))
        return {"items": items, **pick(facets, OF_LIST)}
    if stated in SCALARS:
        if any(keyword in node for keyword in _COMBINATIONS):
            for keyword in _COMBINATIONS:
                for index, branch in enumerate(_branches(node, keyword)):
                    # It has to be a schema, whatever it allows.
                    _compile_at(Path((keyword, index)), _type, branch)
            return scalar_document(node, stated)
        # An empty enum is none (Go: kube-openapi, basicCommonValidator).
        enum = facets.get("enum")
        return {"type": stated, "enum": enum} if enum else stated
    # Beside a structure of its own, what a node combines only validates (structural
    # schemas, as those of a CRD).
    has_structure = any(keyword in node for keyword in _STRUCTURE)
    combines = any(keyword in node for keyword in _COMBINATIONS)
    if combines and not has_structure and not facets.get("preserve"):
        return _combine_type(node)
    return _object_type(node, facets)


def _find_stated_type(node: JSONObject, facets: JSONObject) -> str:
    """Return the type that a node states or implies, or the empty string."""
    # The published types of Kubernetes have the format, CRDs have the extension.
    if facets.get("int_or_string") or node.get("format") == "int-or-string":
        return "int-or-string"
    names: JSONArray
    if "type" in node:
        # JSON Schema: a list of types allows each of them. Null is allowed everywhere.
        stated = node["type"]
        names = stated if isinstance(stated, list) else [stated]
    elif "items" in node:
        names = ["array"]
    elif "properties" in node or "additionalProperties" in node:
        names = ["object"]
    else:
        # An enum implies the types of its values.
        names = [type_name(value) for value in as_list(facets.get("enum"))]
    types = {_printable(name) for name in names} - {"null", ""}
    if not types <= SCALARS | {"array", "object"}:
        raise SchemaError(
            f"{', '.join(sorted(types)):.40} is not a type", path=Path(("type",))
        )
    return _single_type(types) if types else ""


def _single_type(types: set[str]) -> str:
    """Return the one type for several scalars (IntOrString, Quantity)."""
    if len(types) == 1:
        return next(iter(types))
    # JSON Schema: every integer is a number.
    if types == {"integer", "number"}:
        return "number"
    # A Quantity is a string or a number; for a merge it is the same as an IntOrString.
    if types <= {"string", "integer", "number", "int-or-string"}:
        return "int-or-string"
    raise _unresolvable(", ".join(sorted(types)))


def _unresolvable(alternatives: str) -> SchemaError:
    return SchemaError(
        f"no single type: {alternatives}",
        code="unresolvable-combination",
        hint="x-kubernetes-preserve-unknown-fields: true makes it free-form",
    )


def _reference(value: JSON) -> str:
    match = _REFERENCE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise SchemaError(
            f"{_printable(value):.80} is not a reference to a schema of this document",
            code="invalid-reference",
        )
    return f"#{unescape_pointer(match[1])}"


def _object_type(node: JSONObject, facets: JSONObject) -> TypeDocument:
    # The fields of both would have to be joined, and Kubernetes never publishes that.
    for branch in _branches(node, "allOf"):
        if isinstance(branch, dict) and "$ref" in branch:
            raise _unresolvable("a schema has both a reference and a structure")
    # Preserving unknown fields makes a node without a structure free-form; in a node
    # with one, the fields that it does not declare (below).
    if facets.get("preserve") and not any(keyword in node for keyword in _STRUCTURE):
        return "any"

    properties = _narrow(schema_object(node.get("properties", {})), node)
    fields: JSONObject = {}
    for name, property_ in properties.items():
        fields[name] = _compile_at(Path(("properties", name)), _field, property_)
    document: JSONObject = {"fields": fields}
    document.update(_undeclared(node, preserves=bool(facets.get("preserve"))))

    published = [*as_list(facets.get("unions"))]
    for branch in _branches(node, "allOf"):
        published += as_list(as_object(branch).get(_UNIONS))
    unions = _all_unions(published, properties, node.get("required"))
    if node.get("type") == "object" and isinstance(facets.get("unions"), dict):
        raise SchemaError(
            "the unions of an object are a list",
            path=Path((_UNIONS,)),
            hint="one union alone is written on the discriminator",
        )
    # What each union says of its discriminator, required or not, is in the union.
    discriminators = [as_object(union).get("discriminator") for union in unions]
    required: JSONArray = [
        name
        for name in as_list(node.get("required"))
        if as_text(name) in fields and name not in discriminators
    ]
    if unions and required:
        # A member of a union may not be required (smp.schema.union_groups).
        document["required"] = required
    return {**document, **pick({**facets, "unions": unions}, OF_OBJECT)}


def _undeclared(node: JSONObject, *, preserves: bool) -> JSONObject:
    """Return what an undeclared name is: free-form, of a type, or else unknown."""
    additional = node.get("additionalProperties", False)
    if additional is False:
        # JSON Schema allows undeclared names by default; Kubernetes prunes them.
        return {"any": True} if preserves else {}
    if additional is True or (isinstance(additional, dict) and not additional):
        return {"any": True}
    return {"values": _compile_at(Path(("additionalProperties",)), _type, additional)}


def _narrow(properties: JSONObject, node: JSONObject) -> JSONObject:
    """Return the properties of an object with what its ``allOf`` says of them.

    In a structural schema a branch of ``allOf`` declares nothing: it validates what the
    object declares (Go: k8s.io/apiextensions-apiserver, schema.NestedValueValidation).
    """
    narrowed = {**properties}
    for branch in _branches(node, "allOf"):
        for name, rule in as_object(as_object(branch).get("properties")).items():
            declared = as_object(narrowed.get(name))
            stated = declared.get("type")
            is_read = stated == "object" or stated in SCALARS
            if is_read and isinstance(rule, dict) and "$ref" not in rule:
                branches = [*as_list(declared.get("allOf")), rule]
                narrowed[name] = {**declared, "allOf": branches}
    return narrowed


def _all_unions(
    published: JSONArray, properties: JSONObject, required: JSON
) -> JSONArray:
    """Gather the unions published on an object, and those on its discriminators.

    KEP-1027 says that a union is required where its discriminator is. A union on its
    discriminator says it by its values (smp.schema.union_groups).
    """
    unions: JSONArray = []
    # The extension cannot say that a discriminator is required: the object says it.
    names = [name for name in as_list(required) if isinstance(name, str) and name]
    for union in published:
        if isinstance(union, dict) and union.get("discriminator") in names:
            unions.append({"required": True, **union})
        else:
            unions.append(union)
    for name, property_ in properties.items():
        if isinstance(property_, dict) and _is_discriminator(property_):
            own = property_[_UNIONS]
            for union in own if isinstance(own, list) else [own]:
                if isinstance(union, dict):
                    unions.append({"discriminator": name, **union})
    # KEP-1027, Go Markers: a discriminator is "optional and omitempty if a default
    # value is specified with the // +default marker".
    for index, union in enumerate(unions):
        discriminator = as_text(as_object(union).get("discriminator"))
        default = as_object(properties.get(discriminator)).get("default")
        # For each string without omitempty kube-openapi publishes an empty default,
        # Go's value of an unset field.
        if isinstance(union, dict) and isinstance(default, str) and default:
            unions[index] = {"default": default, **union}
    return unions


def _is_discriminator(property_: JSONObject) -> bool:
    """Tell whether the unions on a property are those of the object that has it.

    KEP-1027, OpenAPI: the extension is "attached to the discriminator's property". The
    text has "a list of unions" there, its Go type one union.
    """
    published = property_.get(_UNIONS)
    if isinstance(published, dict):
        return property_.get("type") != "object"
    if not isinstance(published, list):
        return False
    # A list on an object has the unions of that object.
    stated = property_.get("type")
    if isinstance(stated, str):
        return stated in SCALARS
    # The type is not stated here, as with a reference: on an object the form of the
    # final text needs the name of its discriminator.
    for union in published:
        if not isinstance(union, dict) or "fieldMembers" not in union:
            return False
        if "discriminator" in union:
            return False
    return bool(published)


def _combine_type(node: JSONObject) -> TypeDocument:
    """Return the one type that the branches of allOf, oneOf and anyOf agree on."""
    types: list[TypeDocument] = []
    for keyword in _COMBINATIONS:
        for index, branch in enumerate(_branches(node, keyword)):
            document = _compile_at(Path((keyword, index)), _type, branch)
            # A branch that states no type only validates, and null is allowed anyway.
            if not isinstance(branch, dict) or branch.get("type") == "null":
                continue
            if not any(branch.get(stated) is not None for stated in _TYPE_KEYWORDS):
                continue
            if not any(same(document, other) for other in types):
                types.append(document)
    if not types:
        # Branches that only validate leave the type unknown.
        return {"fields": {}}
    # Scalars, with an enum or without.
    scalars: set[str] = set()
    others = 0
    for document in types:
        name = document
        if isinstance(document, dict):
            name = as_text(document.get("type"))
        if isinstance(name, str) and name in SCALARS:
            scalars.add(name)
        else:
            others += 1
    if not others:
        return scalar_document(node, _single_type(scalars))
    if len(types) == 1:
        # A reference wrapped for the keywords beside it: {"allOf": [{"$ref": ..}]}.
        return types[0]
    raise _unresolvable("the alternatives are not all scalars")


def _branches(node: JSONObject, keyword: str) -> JSONArray:
    branches = node.get(keyword, [])
    if not isinstance(branches, list):
        raise SchemaError(
            f"a list of schemas is expected, not {type_name(branches)}",
            path=Path((keyword,)),
        )
    return branches


def _printable(value: JSON) -> str:
    return value if isinstance(value, str) else f"<{type_name(value)}>"


def _compile_at(path: Path, compile_node: Callable[[JSON], T], node: JSON) -> T:
    """Compile a node that is at a path, with the path in an error."""
    try:
        return compile_node(node)
    except SmpError as error:
        error.at(path)
        raise
