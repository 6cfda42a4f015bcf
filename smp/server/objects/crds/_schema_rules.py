"""What the schema of a custom resource has to be: structural, and without the words
that are forbidden in it.

Source: "Extend the Kubernetes API with CustomResourceDefinitions" in the Kubernetes
documentation ("Specifying a structural schema", "Validation").
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from smp.errors import SchemaError
from smp.paths import Path
from smp.schema.sources.extensions import facets
from smp.server.errors import forbidden, invalid, required
from smp.server.objects.crds.validation import is_readable, violations
from smp.values import JSON, JSONObject, as_list
from smp.violations import Violation, unsupported

_FORBIDDEN: Final = ("$ref", "definitions", "dependencies", "id", "patternProperties")
_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_FREE: Final = "x-kubernetes-preserve-unknown-fields"
_INT_OR_STRING: Final = "x-kubernetes-int-or-string"
_EITHER: Final = ("integer", "string")
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_STRUCTURE: Final = (
    "additionalProperties",
    "default",
    "description",
    "nullable",
    "title",
    "type",
)


def schema_problems(schema: JSONObject, path: Path) -> Iterator[Violation]:
    """Yield what is wrong with the schema of a version, and with the schemas inside it."""
    if schema.get("type") not in {None, "", "object"}:
        yield invalid(path / "type", schema.get("type"), "must be object at the root")
    if "additionalProperties" in schema:
        yield forbidden(path / "additionalProperties", "must not be used at the root")
    yield from _problems(schema, path, structural=True)


def unevaluated(schema: JSON, path: Path) -> Iterator[Path]:
    """Yield the places of a schema whose rules nobody here evaluates: those in the
    Common Expression Language.
    """
    if not isinstance(schema, dict):
        return
    if "x-kubernetes-validations" in schema:
        yield path / "x-kubernetes-validations"
    for node, place, _ in _inner(schema, path):
        yield from unevaluated(node, place)


def _problems(schema: JSON, path: Path, *, structural: bool) -> Iterator[Violation]:
    if not isinstance(schema, dict):
        return
    yield from _word_problems(schema, path)
    if structural:
        yield from _type_problems(schema, path)
        yield from _default_problems(schema, path)
    for node, place, is_structural in _inner(schema, path):
        yield from _problems(node, place, structural=structural and is_structural)
        if structural and not is_structural:
            yield from _combined_problems(
                node, place, typed=schema.get(_INT_OR_STRING) is True
            )


def _inner(schema: JSONObject, path: Path) -> Iterator[tuple[JSON, Path, bool]]:
    """Yield the schemas inside a schema, where they are, and whether they say what an
    object consists of.
    """
    properties = schema.get("properties")
    for name, node in properties.items() if isinstance(properties, dict) else ():
        yield node, path / "properties" / name, True
    for word in ("additionalProperties", "items", "not"):
        yield schema.get(word), path / word, word != "not"
    for word in ("allOf", "anyOf", "oneOf"):
        for index, node in enumerate(as_list(schema.get(word))):
            yield node, path / word / index, False


def _word_problems(schema: JSONObject, path: Path) -> Iterator[Violation]:
    for word in _FORBIDDEN:
        if word in schema:
            yield forbidden(path / word, f"{word} is not supported")
    if schema.get("uniqueItems") is True:
        yield forbidden(path / "uniqueItems", "uniqueItems cannot be set to true")
    if (
        schema.get("properties")
        and schema.get("additionalProperties", True) is not True
    ):
        yield forbidden(
            path / "additionalProperties",
            "additionalProperties and properties are mutual exclusive",
        )
    if schema.get(_FREE) is False:
        yield invalid(path / _FREE, schema[_FREE], "must be true or undefined")
    pattern = schema.get("pattern")
    if isinstance(pattern, str) and not is_readable(pattern):
        yield invalid(path / "pattern", pattern, "must be a valid regular expression")
    try:
        facets({word: value for word, value in schema.items() if word != "enum"})
    except SchemaError as error:
        yield invalid(
            Path((*path.steps, *error.path.steps)),
            schema.get(str(error.path)),
            error.problem,
        )


def _type_problems(schema: JSONObject, path: Path) -> Iterator[Violation]:
    """Yield what is wrong with the type: it is stated, unless values of several types
    are allowed.
    """
    kind = schema.get("type")
    if (
        not kind
        and schema.get(_FREE) is not True
        and schema.get(_INT_OR_STRING) is not True
    ):
        yield required(path / "type", "must not be empty for specified object fields")
    elif kind and kind not in _TYPES:
        yield unsupported(path / "type", kind, _TYPES)
    if kind == "array" and not isinstance(schema.get("items"), dict):
        yield required(path / "items", "must be specified")
    if schema.get(_EMBEDDED) is True and kind != "object":
        yield invalid(path / "type", kind, f"must be object if {_EMBEDDED} is true")
    if (
        schema.get(_EMBEDDED) is True
        and schema.get(_FREE) is not True
        and not schema.get("properties")
    ):
        yield required(
            path / "properties",
            f"must not be empty if {_EMBEDDED} is true without {_FREE}",
        )


def _combined_problems(schema: JSON, path: Path, *, typed: bool) -> Iterator[Violation]:
    """Yield what a schema below allOf, anyOf, oneOf or not states beside conditions:
    types are for int-or-string.
    """
    if not isinstance(schema, dict):
        return
    for word in _STRUCTURE:
        if word in schema and not (
            typed and word == "type" and schema[word] in _EITHER
        ):
            yield forbidden(path / word, "must be undefined to be structural")
    for node, place, _ in _inner(schema, path):
        yield from _combined_problems(node, place, typed=typed)


def _default_problems(schema: JSONObject, path: Path) -> Iterator[Violation]:
    default = schema.get("default")
    for violation in violations(default, schema) if default is not None else ():
        yield replace(
            violation, path=Path((*path.steps, "default", *violation.path.steps))
        )
