"""OpenAPI v2 and v3 documents, and JSON Schema ``$defs``, compiled to type documents.

The rule: say what the document says. What it leaves open stays unknown, which an engine
refuses to descend into; what it contradicts is an error. Nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, TypeAlias, TypeVar

import msgspec

from smp.errors import DepthError, SchemaError, SmpError
from smp.paths import Path
from smp.schema.model import SCALARS, Loader, Schema, TypeDocument, Types
from smp.schema.sources.extensions import OF_FIELD, OF_LIST, OF_OBJECT, facets, pick
from smp.values import JSON, JSONObject, same, type_name

T = TypeVar("T")
Kind: TypeAlias = tuple[str, str]

_CONTAINERS: Final = (("definitions",), ("components", "schemas"), ("$defs",))
_REFERENCE: Final = re.compile(r"#/(?:definitions|components/schemas|\$defs)/([^/]+)")
_COMBINATIONS: Final = ("allOf", "oneOf", "anyOf")
_STRUCTURE: Final = ("properties", "additionalProperties", "items")
_KIND_LIST: Final = "x-kubernetes-group-version-kind"


class Compiled(msgspec.Struct, frozen=True):
    """Type documents by name, and which of them describes an (apiVersion, kind)."""

    types: dict[str, TypeDocument]
    kinds: dict[Kind, str]


def compile_documents(documents: JSON) -> Compiled:
    """Compile one OpenAPI document, or a list of them, to type documents.

    ``definitions`` (v2), ``components.schemas`` (v3) and ``$defs`` are read; the last
    description of a name counts. Raises SchemaError, with the path, for what is not a
    schema or contradicts itself, and DepthError for nesting beyond the interpreter's
    stack.
    """
    compiled = Compiled({}, {})
    try:
        for document in documents if isinstance(documents, list) else [documents]:
            for path, name, node in _named_schemas(
                _object(document, "an OpenAPI document")
            ):
                _add(compiled, path, name, node)
    except RecursionError:
        raise DepthError("the OpenAPI document is nested too deeply") from None
    if not compiled.types:
        raise SchemaError(
            "the document describes no schemas",
            hint="definitions, components.schemas or $defs",
        )
    return compiled


def inline(document: JSON) -> Schema:
    """Make a schema of one OpenAPI v3 schema object, which may bring ``components`` or
    ``definitions``.

    Raises SchemaError and DepthError as ``compile_documents`` does.
    """
    compiled = Compiled({}, {})
    try:
        for path, name, node in _named_schemas(_object(document, "a schema")):
            _add(compiled, path, name, node)
        compiled.types[""] = _type(document)
    except RecursionError:
        raise DepthError("the schema is nested too deeply") from None
    return Schema("#", Types(partial(resolve_alias, compiled.types.get)))


def resolve_alias(load: Loader, name: str) -> TypeDocument | None:
    """Load a type document, through any names that stand for another name. Raises
    SchemaError for a circle.
    """
    seen = {name}
    document = load(name)
    while isinstance(document, str) and document[:1] == "#":
        target = document[1:]
        if target in seen:
            raise SchemaError(
                f"type {name!r} refers to nothing but itself", code="circular-reference"
            )
        seen.add(target)
        document = load(target)
        if document is None:
            raise SchemaError(
                f"type {target!r} is referred to but nowhere defined",
                code="dangling-reference",
            )
    return document


def _named_schemas(document: JSONObject) -> Iterator[tuple[Path, str, JSON]]:
    for steps in _CONTAINERS:
        container: JSON = document
        for step in steps:
            container = container.get(step) if isinstance(container, dict) else None
        if container is None:
            continue
        path = Path(steps)
        for name, node in _below(path, _object, container).items():
            yield path / name, name, node


def _add(compiled: Compiled, path: Path, name: str, node: JSON) -> None:
    compiled.types[name] = document = _below(path, _type, node)
    if not isinstance(node, dict) or _KIND_LIST not in node:
        return
    for kind in _below(path / _KIND_LIST, _kinds, node[_KIND_LIST]):
        compiled.kinds.setdefault(kind, name)
    if isinstance(document, dict):
        _drop_restated_kinds(document)


def _drop_restated_kinds(document: JSONObject) -> None:
    """Drop the enums of apiVersion and kind that converters add: they restate the index
    of kinds.
    """
    fields = document.get("fields")
    for name in ("apiVersion", "kind"):
        field = fields.get(name) if isinstance(fields, dict) else None
        if isinstance(fields, dict) and isinstance(field, dict) and "enum" in field:
            fields[name] = str(field["type"])


def _kinds(entries: JSON) -> list[Kind]:
    if not isinstance(entries, list):
        raise SchemaError(f"a list of kinds is expected, not {type_name(entries)}")
    return [_kind(entry) for entry in entries]


def _kind(entry: JSON) -> Kind:
    names = (
        [entry.get(word) for word in ("group", "version", "kind")]
        if isinstance(entry, dict)
        else []
    )
    match names:
        case [str(group), str(version), str(kind)]:
            return (f"{group}/{version}" if group else version, kind)
    raise SchemaError("a kind has a group, a version and a kind, all of them strings")


def _field(node: JSON) -> TypeDocument:
    """Compile a property: its type, and what stands beside a reference or concerns
    patches.
    """
    if not isinstance(node, dict):
        return _type(node)
    found, document = facets(node), _type(node)
    reference = isinstance(document, str) and document[:1] == "#"
    beside = pick(found, OF_FIELD + OF_LIST + OF_OBJECT if reference else OF_FIELD)
    if isinstance(beside.get("unions"), dict):
        del beside["unions"]  # on a discriminator; its object carries them
    return {"is": document, **beside} if beside else document


def _type(node: JSON) -> TypeDocument:
    node = {} if node is True else _object(node)
    if "$ref" in node:
        return _below(Path(("$ref",)), _reference, node["$ref"])
    found = facets(node)
    word = _word(node, found)
    if found.get("embedded") and word not in ("object", ""):
        raise SchemaError(
            "an embedded resource is of type object",
            path=Path(("x-kubernetes-embedded-resource",)),
        )
    if word == "array":
        return _list(node, found)
    if word in SCALARS:
        return {"type": word, "enum": found["enum"]} if found.get("enum") else word
    return _combined(node) if _only_combines(node, found) else _structured(node, found)


def _word(node: JSONObject, found: JSONObject) -> str:
    """Name the type of a node in one word; the empty word where it says none."""
    if found.get("int_or_string") or node.get("format") == "int-or-string":
        return "int-or-string"
    stated = node.get("type", _implied(node, found))
    words = {
        _shown(word) for word in (stated if isinstance(stated, list) else [stated])
    } - {"null", ""}
    if not words <= SCALARS | {"array", "object"}:
        raise SchemaError(
            f"{', '.join(sorted(words)):.40} is not a type", path=Path(("type",))
        )
    return _single(words) if words else ""


def _implied(node: JSONObject, found: JSONObject) -> JSON:
    if "items" in node:
        return "array"
    if "properties" in node or "additionalProperties" in node:
        return "object"
    values = found.get("enum")
    return [type_name(value) for value in values] if isinstance(values, list) else ""


def _single(words: set[str]) -> str:
    """Find the one word for several: only scalars have one (IntOrString, Quantity)."""
    if len(words) == 1:
        return next(iter(words))
    if words == {"integer", "number"}:
        return "number"
    if words <= {"string", "integer", "number", "int-or-string"}:
        return "int-or-string"
    raise _unresolvable(", ".join(sorted(words)))


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
            f"{_shown(value):.80} is no reference to a schema of this document",
            code="invalid-reference",
        )
    return "#" + match[1].replace("~1", "/").replace("~0", "~")


def _list(node: JSONObject, found: JSONObject) -> TypeDocument:
    return {
        "items": _below(Path(("items",)), _type, node.get("items", True)),
        **pick(found, OF_LIST),
    }


def _structured(node: JSONObject, found: JSONObject) -> TypeDocument:
    if any(
        isinstance(branch, dict) and "$ref" in branch
        for branch in _branches(node, "allOf")
    ):
        raise _unresolvable("a structure of its own and one that it refers to")
    if found.get("preserve") and not any(word in node for word in _STRUCTURE):
        return "any"
    properties = _object(node.get("properties", {}))
    path = Path(("properties",))
    fields: JSONObject = {
        name: _below(path / name, _field, properties[name]) for name in properties
    }
    others = pick(
        {**found, "unions": _all_unions(found, properties, node.get("required"))},
        OF_OBJECT,
    )
    return {"fields": fields, **_undeclared(node, found), **others}


def _undeclared(node: JSONObject, found: JSONObject) -> JSONObject:
    others = node.get("additionalProperties", False)
    if others is True or others == {} or (others is False and found.get("preserve")):
        return {"any": True}
    return (
        {}
        if others is False
        else {"values": _below(Path(("additionalProperties",)), _type, others)}
    )


def _all_unions(found: JSONObject, properties: JSONObject, required: JSON) -> JSON:
    """Gather the unions published on an object and those published on its
    discriminators.

    A union is required where its discriminator is; on the discriminator, its values say
    so (KEP-1027).
    """
    own, names = found.get("unions"), required if isinstance(required, list) else []
    unions = (
        [_with_requirement(union, names) for union in own]
        if isinstance(own, list)
        else []
    )
    for name, node in properties.items():
        union = node.get("x-kubernetes-unions") if isinstance(node, dict) else None
        if isinstance(union, dict):
            unions.append({"discriminator": name, **union})
    return unions


def _with_requirement(union: JSON, required: list[JSON]) -> JSON:
    if not isinstance(union, dict) or union.get("discriminator") not in [
        *filter(None, required)
    ]:
        return union
    return {"required": True, **union}


def _only_combines(node: JSONObject, found: JSONObject) -> bool:
    """Beside a structure of its own, what a node combines only validates (structural
    schemas).
    """
    combines = any(word in node for word in _COMBINATIONS)
    return (
        combines
        and not found.get("preserve")
        and not any(word in node for word in _STRUCTURE)
    )


def _combined(node: JSONObject) -> TypeDocument:
    types: list[TypeDocument] = []
    for word in _COMBINATIONS:
        for index, branch in enumerate(_branches(node, word)):
            document = _below(Path((word, index)), _type, branch)
            if _says_a_type(branch) and not any(
                same(document, known) for known in types
            ):
                types.append(document)
    if len(types) < 2:
        return types[0] if types else {"fields": {}}
    if all(isinstance(document, str) and document in SCALARS for document in types):
        return _single({str(document) for document in types})
    raise _unresolvable("alternatives that are not all scalars")


def _branches(node: JSONObject, word: str) -> list[JSON]:
    branches = node.get(word, [])
    if not isinstance(branches, list):
        raise SchemaError(
            f"a list of schemas is expected, not {type_name(branches)}",
            path=Path((word,)),
        )
    return branches


def _says_a_type(branch: JSON) -> bool:
    words = ("$ref", "type", "enum", *_STRUCTURE, *_COMBINATIONS)
    return (
        isinstance(branch, dict)
        and branch.get("type") != "null"
        and any(word in branch for word in words)
    )


def _shown(value: JSON) -> str:
    return value if isinstance(value, str) else f"<{type_name(value)}>"


def _object(value: JSON, what: str = "a schema") -> JSONObject:
    if not isinstance(value, dict):
        raise SchemaError(f"{what} is an object, not {type_name(value)}")
    return value


def _below(path: Path, compile_node: Callable[[JSON], T], node: JSON) -> T:
    try:
        return compile_node(node)
    except SmpError as error:
        error.at(path)
        raise
