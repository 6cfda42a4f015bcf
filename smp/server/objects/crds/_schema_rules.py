"""The rules for the schema of a custom resource: structural, and no forbidden keywords.

A schema is structural if it states all types outside of ``allOf``, ``anyOf``, ``oneOf``
and ``not``, so that the fields of an object are known without evaluating conditions.
Inside of these four, a schema only restricts what is stated outside:

    type: object                         # structure
    properties:
      port: {type: integer}              # structure
    anyOf:
    - properties:
        port: {minimum: 1024}            # a condition; "type" would be forbidden here

Source: "Extend the Kubernetes API with CustomResourceDefinitions" in the Kubernetes
documentation ("Specifying a structural schema", "Validation"). Go: the functions named
below, in k8s.io/apiextensions-apiserver, pkg/apiserver/schema.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec
from msgspec.structs import replace

from smp.errors import SchemaError
from smp.paths import Key, Path
from smp.schema.sources.extensions import facets
from smp.server.errors import forbidden, invalid, required
from smp.server.objects.crds._patterns import compiled_pattern
from smp.server.objects.crds.validation import violations
from smp.values import JSON, JSONObject, as_list, as_object
from smp.violations import Violation, unsupported

_FORBIDDEN: Final = ("$ref", "definitions", "dependencies", "id", "patternProperties")
_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_INT_OR_STRING: Final = "x-kubernetes-int-or-string"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
UNIONS: Final = "x-kubernetes-unions"
# Checked elsewhere: by jsonschema, and in _union_rules.py.
_CHECKED_ELSEWHERE: Final = ("enum", UNIONS)
# Keywords that state the structure of an object, so they are forbidden in conditions.
_STRUCTURE: Final = (
    "additionalProperties",
    "default",
    "description",
    "nullable",
    "title",
    "type",
)


class Inner(msgspec.Struct, frozen=True):
    """A schema inside of another one; a condition is one below allOf, anyOf .."""

    schema: JSON
    path: Path
    is_condition: bool


def schema_problems(schema: JSONObject, path: Path) -> Iterator[Violation]:
    """Yield what is wrong with the schema of a version, and with those inside of it."""
    # An object of Kubernetes has apiVersion, kind and metadata.
    if schema.get("type") not in {None, "", "object"}:
        yield invalid(path / "type", schema.get("type"), "must be object at the root")
    if "additionalProperties" in schema:
        yield forbidden(path / "additionalProperties", "must not be used at the root")
    yield from _problems(schema, path, structural=True)


def unevaluated(schema: JSON, path: Path) -> Iterator[Path]:
    """Yield the places of the rules that this server does not evaluate.

    These are rules in the Common Expression Language.
    """
    if not isinstance(schema, dict):
        return
    if "x-kubernetes-validations" in schema:
        yield path / "x-kubernetes-validations"
    for inner in inner_schemas(schema, path):
        yield from unevaluated(inner.schema, inner.path)


def _problems(schema: JSON, path: Path, *, structural: bool) -> Iterator[Violation]:
    """Yield what is wrong with a schema, which is a condition if not ``structural``."""
    if not isinstance(schema, dict):
        return
    yield from _keyword_problems(schema, path)
    if structural:
        yield from _type_problems(schema, path)
        # A default must fit its own schema. A null default counts as absent.
        default = schema.get("default")
        if default is not None:
            for violation in violations(default, schema):
                steps = (*path.steps, "default", *violation.path.steps)
                yield replace(violation, path=Path(steps))
    for inner in inner_schemas(schema, path):
        is_structural = structural and not inner.is_condition
        yield from _problems(inner.schema, inner.path, structural=is_structural)
        # At the outermost condition; the walk below goes on to those inside of it.
        if structural and inner.is_condition:
            yield from _condition_problems(
                inner, int_or_string=schema.get(_INT_OR_STRING) is True
            )


def inner_schemas(schema: JSONObject, path: Path) -> Iterator[Inner]:
    """Yield the schemas directly inside of a schema."""
    for name, node in as_object(schema.get("properties")).items():
        yield Inner(node, path / "properties" / Key(name), is_condition=False)
    for keyword in ("additionalProperties", "items"):
        yield Inner(schema.get(keyword), path / keyword, is_condition=False)
    yield Inner(schema.get("not"), path / "not", is_condition=True)
    for keyword in ("allOf", "anyOf", "oneOf"):
        for index, node in enumerate(as_list(schema.get(keyword))):
            yield Inner(node, path / keyword / index, is_condition=True)


def _keyword_problems(schema: JSONObject, path: Path) -> Iterator[Violation]:
    """Yield the keywords that are forbidden or malformed, in any schema.

    Go: ValidateCustomResourceDefinitionOpenAPISchema, in pkg/apis/apiextensions.
    """
    for keyword in _FORBIDDEN:
        if keyword in schema:
            yield forbidden(path / keyword, f"{keyword} is not supported")
    # Its cost is quadratic; a list of the type "set" is the replacement.
    if schema.get("uniqueItems") is True:
        yield forbidden(path / "uniqueItems", "uniqueItems cannot be set to true")
    # "additionalProperties: true" is the default, so it may stand beside properties.
    others = schema.get("additionalProperties", True)
    if schema.get("properties") and others is not True:
        yield forbidden(
            path / "additionalProperties",
            "additionalProperties and properties are mutual exclusive",
        )
    if schema.get(_PRESERVE) is False:
        yield invalid(path / _PRESERVE, schema[_PRESERVE], "must be true or undefined")
    pattern = schema.get("pattern")
    if isinstance(pattern, str) and compiled_pattern(pattern) is None:
        yield invalid(path / "pattern", pattern, "must be a valid regular expression")
    # List types, map keys and the like are read as for any other schema.
    try:
        facets(
            {
                keyword: value
                for keyword, value in schema.items()
                if keyword not in _CHECKED_ELSEWHERE
            }
        )
    except SchemaError as error:
        yield invalid(
            Path((*path.steps, *error.path.steps)),
            schema.get(str(error.path)),
            error.problem,
        )


def _type_problems(schema: JSONObject, path: Path) -> Iterator[Violation]:
    """Yield what is wrong with the type that a structural schema states.

    Go: validateStructuralInvariants.
    """
    type_name = schema.get("type")
    preserves = schema.get(_PRESERVE) is True
    if not type_name:
        # Values of several types are allowed by these two keywords only.
        if not preserves and schema.get(_INT_OR_STRING) is not True:
            yield required(
                path / "type", "must not be empty for specified object fields"
            )
    elif type_name not in _TYPES:
        yield unsupported(path / "type", type_name, _TYPES)
    # The elements are part of the structure.
    if type_name == "array" and not isinstance(schema.get("items"), dict):
        yield required(path / "items", "must be specified")
    if schema.get(_EMBEDDED) is True:
        if type_name != "object":
            yield invalid(
                path / "type", type_name, f"must be object if {_EMBEDDED} is true"
            )
        # Otherwise all fields of the embedded object would be pruned.
        if not preserves and not schema.get("properties"):
            yield required(
                path / "properties",
                f"must not be empty if {_EMBEDDED} is true without {_PRESERVE}",
            )


def _condition_problems(
    condition: Inner, *, int_or_string: bool
) -> Iterator[Violation]:
    """Yield the keywords of a condition, and of those in it, that state structure.

    ``int_or_string`` is true below a schema of that kind. Go:
    validateNestedValueValidation.
    """
    schema = condition.schema
    if not isinstance(schema, dict):
        return
    for keyword in _STRUCTURE:
        # "anyOf: [{type: integer}, {type: string}]" is how int-or-string is published.
        if (
            keyword == "type"
            and int_or_string
            and schema.get("type") in ("integer", "string")
        ):
            continue
        if keyword in schema:
            yield forbidden(
                condition.path / keyword, "must be undefined to be structural"
            )
    for inner in inner_schemas(schema, condition.path):
        yield from _condition_problems(inner, int_or_string=int_or_string)
