"""All that is found in one text."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

import msgspec

from smp.defaults import with_defaults
from smp.enums import validate_enums
from smp.errors import SmpError, bounded
from smp.hazards import Hazard, Input
from smp.last_applied import last_applied_configuration
from smp.lint._codes import finding
from smp.lint._forms import Form, has_directive, missing_fields
from smp.lint._json_patch import lint_json_patch
from smp.lint._rules import INTERESTS, DocumentRule, PatchRule
from smp.paths import Path
from smp.plain import plain
from smp.schema.model import Schema
from smp.schema.plan import plan_of
from smp.schema.walk import Walk
from smp.strategic import DELETE, is_directive
from smp.three_way import find_hazards
from smp.unions import validate_unions
from smp.validation import in_order, violations_of
from smp.values import ABSENT, JSON, JSONObject, as_list, as_object, same

# So many missing fields are named.
_MOST_LISTED: Final = 3
# The section of base64 by apiVersion and kind, and the one that takes text.
_BASE64: Final = {
    ("v1", "Secret"): ("data", "stringData"),
    ("v1", "ConfigMap"): ("binaryData", "data"),
}


@bounded("the document")
def lint(
    value: Any,
    schema: Schema | None,
    form: Form,
    *,
    custom: bool = False,
    guessed: bool = False,
) -> tuple[Hazard, ...]:
    """Return what is wrong with a text, and what is dangerous in it.

    ``form`` is what the text is. Without a schema only what needs none is found:
    directives in a JSON merge patch, malformed operations of a JSON Patch. ``custom``
    says that the object is a custom resource, ``guessed`` that the form was found by
    the content (``form_of``), so that what it rests on is worth a note. Raises
    SchemaError and DepthError.
    """
    # An object of a Python client.
    if not isinstance(value, (dict, list)):
        value = plain(value)
    # Paths are those of the list of operations.
    if form == "json":
        return tuple(lint_json_patch(as_list(value), schema))
    if not isinstance(value, dict):
        return ()
    if form == "merge":
        directives = list(_directives_in(value, Path(), custom=custom))
        return (*directives, *_misfits(value, schema, "patch"))
    if schema is None:
        return ()
    if form == "strategic":
        rule = PatchRule("patch", shows_values=schema.kind != "Secret")
        Walk(plan_of(schema.types, INTERESTS), [rule]).run(ABSENT, value, schema.type)
        found = [
            *rule.all_found(),
            *_enums(value, schema, "patch"),
            *_not_base64(value, schema, "patch"),
        ]
        lacks = missing_fields(value, schema)
        # A directive alone makes it a patch, and so does a missing kind.
        if guessed and lacks and not has_directive(value) and "kind" in value:
            fields = ", ".join(lacks[:_MOST_LISTED])
            found.append(finding("partial-object", Path(), "patch", fields=fields))
        return tuple(found)
    if form == "live":
        # Applying again what was applied last. An annotation that cannot be read is a
        # hazard of its own.
        last_applied = None
        with suppress(SmpError):
            last_applied = last_applied_configuration(value)
        manifest = last_applied
        if manifest is None:
            names = ("apiVersion", "kind")
            manifest = {name: value[name] for name in names if name in value}
        # The manifest is the last-applied configuration here.
        hazards = find_hazards(last_applied, manifest, value, schema)
        return tuple(
            [
                msgspec.structs.replace(hazard, input="last-applied")
                if hazard.input == "manifest"
                else hazard
                for hazard in hazards
            ]
        )
    return tuple(_of_manifest(value, schema))


def _not_base64(value: JSONObject, schema: Schema, source: Input) -> Iterator[Hazard]:
    """Yield the values of a Secret or a ConfigMap that a server cannot decode."""
    section, other = _BASE64.get((schema.api_version, schema.kind), ("", ""))
    for name, text in as_object(value.get(section)).items():
        if isinstance(text, str) and not is_directive(name):
            try:
                # Go: base64.StdEncoding ignores line breaks, and nothing else.
                b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
            except ValueError:
                path = Path((section, name))
                yield finding("invalid-base64", path, source, section=other)


def _of_manifest(value: JSONObject, schema: Schema) -> Iterator[Hazard]:
    """Yield what a server refuses in a manifest, and its hazards."""
    misfits = _misfits(value, schema, "manifest")
    yield from misfits
    enums = _enums(value, schema, "manifest")
    yield from enums
    # A server validates what it has decoded, with the defaults that it fills in.
    if all(misfit.code == "unknown-field" for misfit in misfits):
        whole = value
        with suppress(SmpError):
            whole = with_defaults(value, schema)
        refused = [hazard.path for hazard in enums]
        for union in validate_unions(None, whole, schema, profile="validate-only"):
            refused.append(union.path)
            yield finding(
                "union-members", union.path, "manifest", message=union.message
            )
        violations = violations_of(None, whole, schema, ratchet=False)
        for violation in in_order(violations, schema.type):
            if violation.path not in refused:
                yield finding(
                    "invalid-value",
                    violation.path,
                    "manifest",
                    message=violation.message,
                )
    yield from find_hazards(None, value, None, schema)


def _misfits(value: JSONObject, schema: Schema | None, source: Input) -> list[Hazard]:
    """Return the unknown fields of a document, and its values of a wrong type."""
    if schema is None:
        return []
    rule = DocumentRule(source, shows_values=schema.kind != "Secret")
    Walk(plan_of(schema.types, INTERESTS), [rule]).run(ABSENT, value, schema.type)
    return [*rule.all_found(), *_not_base64(value, schema, source)]


def _enums(value: JSONObject, schema: Schema, source: Input) -> list[Hazard]:
    """Return the values that the enum of their field does not have."""
    return [
        finding("unsupported-value", violation.path, source, message=violation.message)
        for violation in validate_enums(value, schema)
        if not is_directive(str(violation.path.steps[-1]))
    ]


def _directives_in(value: JSON, path: Path, *, custom: bool) -> Iterator[Hazard]:
    """Yield the directives of a JSON merge patch, which has none."""
    if isinstance(value, dict):
        for name, member in value.items():
            here = path / name
            if is_directive(name):
                # kustomize removes a whole object by it, also a custom resource.
                if custom and not path.steps and same(member, DELETE):
                    continue
                why, remedy = "", "write a strategic merge patch, or leave it out"
                if custom:
                    why = ", which is what a custom resource is patched with"
                    remedy = "write the whole list or object as it is to be"
                yield finding(
                    "directive-in-merge-patch",
                    here,
                    "patch",
                    name=name,
                    why=why,
                    remedy=remedy,
                )
            else:
                yield from _directives_in(member, here, custom=custom)
    elif isinstance(value, list):
        for index, element in enumerate(value):
            yield from _directives_in(element, path / index, custom=custom)
