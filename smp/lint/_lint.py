"""All that is found in one text."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final, Literal, TypeAlias, get_args

from msgspec.structs import replace

from smp import custom_resources
from smp._storage.defaults import with_defaults
from smp._storage.enums import validate_enums
from smp._storage.typed_storage import find_decoding_problem
from smp._storage.update import STOCK_PROFILE, drop_status, predict_refusals
from smp._strategic import DELETE, is_directive
from smp._values.last_applied import last_applied_configuration
from smp._values.plain import over_json, plain
from smp._values.values import ABSENT, JSON, JSONObject, as_list, as_object, same
from smp.errors import SmpError
from smp.hazards import Hazard, Input
from smp.lint._codes import finding
from smp.lint._json_patch import lint_json_patch
from smp.lint._rules import INTERESTS, DocumentRule, PatchRule, similar_directive
from smp.paths import Path, value_at
from smp.schema.model import OPAQUE, RAW, Schema, Type
from smp.schema.plan import plan_of
from smp.schema.walk import Walk
from smp.three_way import find_hazards
from smp.unions import validate_unions
from smp.validation import in_order, violations_of
from smp.violations import Violation

Form: TypeAlias = Literal["manifest", "live", "strategic", "merge", "json"]
FORMS: Final[tuple[Form, ...]] = get_args(Form)
# The types of a patch, as in kubectl patch --type.
PATCH_FORMS: Final[tuple[Form, ...]] = ("strategic", "merge", "json")

# An API server sets these when it creates an object, and a manifest has none of them
# but by mistake (API conventions, Metadata).
_SET_BY_SERVERS: Final = ("uid", "managedFields", "resourceVersion")
# A manifest that lacks it is no patch.
_NAME: Final = Path(("metadata", "name"))


@over_json("the document", "value")
def form_of(value: Any, schema: Schema | None, *, custom: bool) -> Form | None:
    """Tell by its content what a text is; None for no object and no patch.

    A list of operations is a JSON Patch. An object with managed fields, or two others
    of the fields that a server sets, is live. One with a directive, without apiVersion
    and kind, or without a name and fields that a server requires is a patch: a
    strategic merge patch, and for a ``custom`` resource a JSON merge patch. All else is
    a manifest, also where much of it is missing.
    """
    # An object of a Python client.
    if not isinstance(value, (dict, list)):
        value = plain(value)
    if isinstance(value, list):
        operations = [as_object(operation) for operation in value]
        has_operation = any("op" in operation for operation in operations)
        return "json" if has_operation else None
    if not isinstance(value, dict):
        return None
    # One of them alone may be a guard in a patch or a manifest: an update is refused
    # where the stored object has another uid or resourceVersion.
    metadata = as_object(value.get("metadata"))
    set_by_server = [name for name in _SET_BY_SERVERS if metadata.get(name)]
    if "managedFields" in set_by_server or len(set_by_server) > 1:
        return "live"
    is_patch = "kind" not in value or "apiVersion" not in value
    is_named = bool(metadata.get("name") or metadata.get("generateName"))
    lacks_much = not is_named and bool(find_missing_fields(value, schema))
    if is_patch or has_directive(value, schema) or lacks_much:
        return "merge" if custom else "strategic"
    return "manifest"


def find_missing_fields(obj: JSONObject, schema: Schema | None) -> list[str]:
    """Return the paths of the fields that only a patch can leave out.

    These are fields that a server requires: of the object, of what is in it, and the
    image of a container. What an element of another list lacks was forgotten.
    """
    missing: list[str] = []
    if schema is None:
        return missing
    # What is wrong with the object otherwise is found elsewhere.
    with suppress(SmpError):
        whole = with_defaults(obj, schema)
        violations = violations_of(None, whole, schema, ratchet=False)
        for violation in in_order(violations, schema.type):
            path = violation.path
            # One that is there, and empty, was written.
            is_there = path == _NAME or value_at(obj, path) is not ABSENT
            if violation.reason != "FieldValueRequired" or is_there:
                continue
            is_of_element = any(not isinstance(step, str) for step in path.steps)
            if not is_of_element or path.steps[-1] == "image":
                missing.append(str(path))
    return missing


@over_json("the document", "value")
def has_directive(value: Any, schema: Schema | None) -> bool:
    """Tell whether an object has a directive anywhere, or what looks like one.

    In opaque JSON there is none.
    """
    return _has_directive(value, OPAQUE if schema is None else schema.type)


def _has_directive(value: Any, type_: Type) -> bool:
    if type_.stored is RAW:
        return False
    if isinstance(value, dict):
        for name, member in value.items():
            if name[:1] == "$" and (is_directive(name) or similar_directive(name)):
                return True
            if isinstance(member, (dict, list)):
                below = type_.stored_member(name)
                if _has_directive(member, below):
                    return True
        return False
    return any(
        _has_directive(element, type_.stored_element())
        for element in as_list(value)
        if isinstance(element, (dict, list))
    )


# So many missing fields are named.
_MOST_LISTED: Final = 3
# The section of base64 by apiVersion and kind, and the one that takes text.
_BASE64: Final = {
    ("v1", "Secret"): ("data", "stringData"),
    ("v1", "ConfigMap"): ("binaryData", "data"),
}


@over_json("the document", "value")
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
        type_ = OPAQUE if schema is None else schema.type
        directives = list(_directives_in(value, type_, Path(), custom=custom))
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
        lacks = find_missing_fields(value, schema)
        # A directive alone makes it a patch, and so does a missing kind.
        if guessed and lacks and not has_directive(value, schema) and "kind" in value:
            fields = ", ".join(lacks[:_MOST_LISTED])
            found.append(finding("partial-object", Path(), "patch", fields=fields))
        return tuple(found)
    if form == "live":
        return tuple(_lint_live(value, schema))
    return tuple(_lint_manifest(value, schema))


def _lint_live(value: JSONObject, schema: Schema) -> Iterator[Hazard]:
    """Yield the hazards of applying again what was applied last."""
    # Without managers it may be a manifest that somebody made of a live object.
    if not as_object(value.get("metadata")).get("managedFields"):
        yield from _misfits(value, schema, "live")
    # An annotation that cannot be read is a hazard of its own.
    last_applied = None
    with suppress(SmpError):
        last_applied = last_applied_configuration(value)
    manifest = last_applied
    if manifest is None:
        names = ("apiVersion", "kind")
        manifest = {name: value[name] for name in names if name in value}
    for hazard in find_hazards(last_applied, manifest, value, schema):
        # The manifest is the last-applied configuration here.
        is_said = hazard.input == "manifest"
        yield replace(hazard, input="last-applied") if is_said else hazard


def _not_base64(value: JSONObject, schema: Schema, source: Input) -> Iterator[Hazard]:
    section, other = _BASE64.get((schema.api_version, schema.kind), ("", ""))
    for name, text in as_object(value.get(section)).items():
        if isinstance(text, str) and not is_directive(name):
            try:
                # Go: base64.StdEncoding ignores line breaks, and nothing else.
                b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
            except ValueError:
                path = Path((section, name))
                yield finding("invalid-base64", path, source, section=other)


def _lint_manifest(value: JSONObject, schema: Schema) -> Iterator[Hazard]:
    misfits = _misfits(value, schema, "manifest")
    enums = _enums(value, schema, "manifest")
    by_definition: list[Hazard] = []
    if schema.structural is not None:
        of_types, by_definition = _lint_definition(value, schema, [*misfits, *enums])
        # By identity: there may be as many as the document has values.
        kept = {id(hazard) for hazard in of_types}
        misfits = [hazard for hazard in misfits if id(hazard) in kept]
        enums = [hazard for hazard in enums if id(hazard) in kept]
    yield from misfits
    yield from enums
    yield from by_definition
    kept_value = drop_status(value, value, schema)
    if kept_value is not value:
        yield finding("ignored-status", Path(("status",)), "manifest")
    # A server validates what it has decoded, with the defaults that it fills in.
    if all(misfit.code == "unknown-field" for misfit in misfits):
        refused = [hazard.path for hazard in (*enums, *by_definition)]
        # Of an element that its enum does not have, a rule of the kind names the list.
        lists = {Path(hazard.path.by_index.steps[:-1]) for hazard in enums}
        whole = value
        with suppress(SmpError):
            whole = with_defaults(value, schema)
        for union in validate_unions(None, whole, schema, profile=STOCK_PROFILE):
            refused.append(union.path)
            yield finding(
                "union-members", union.path, "manifest", message=union.message
            )
        for violation in predict_refusals(
            None, kept_value, schema, profile=STOCK_PROFILE
        ):
            is_enum = violation.code == "unsupported-value"
            is_said = is_enum and violation.path.by_index in lists
            if not is_said and violation.path not in refused:
                yield _make_finding(violation)
        # Go: Time.UnmarshalJSON; what else is no text of its type has a finding.
        problem = "" if schema.is_custom else find_decoding_problem(value, schema)
        if problem.startswith("parsing time"):
            yield finding("invalid-value", Path(), "manifest", message=problem)
    for hazard in find_hazards(None, value, None, schema):
        # A server takes the object itself: only client-side apply is refused.
        if hazard.code == "oversized-last-applied":
            yield replace(hazard, severity="warning")
        else:
            yield hazard


def _lint_definition(
    value: JSONObject, schema: Schema, of_types: list[Hazard]
) -> tuple[list[Hazard], list[Hazard]]:
    """Return what a definition refuses: of what its types say, and beside that.

    The types know less than the definition: 1.0 is an integer, and an enum of numbers
    goes by their values.
    """
    # What is larger than a server takes is refused by its size.
    violations: tuple[Violation, ...] = ()
    with suppress(SmpError):
        violations = custom_resources.validate(value, schema)
    refused = {violation.path.by_index for violation in violations}
    kept = [
        hazard
        for hazard in of_types
        if hazard.code == "unknown-field" or hazard.path.by_index in refused
    ]
    known = {hazard.path.by_index for hazard in kept}
    beside = [
        _make_finding(violation)
        for violation in violations
        if violation.path.by_index not in known
    ]
    return kept, beside


def _make_finding(violation: Violation) -> Hazard:
    code = violation.code if violation.warning else "invalid-value"
    return finding(code, violation.path, "manifest", message=violation.message)


def _misfits(value: JSONObject, schema: Schema | None, source: Input) -> list[Hazard]:
    if schema is None:
        return []
    rule = DocumentRule(source, shows_values=schema.kind != "Secret")
    Walk(plan_of(schema.types, INTERESTS), [rule]).run(ABSENT, value, schema.type)
    return [*rule.all_found(), *_not_base64(value, schema, source)]


def _enums(value: JSONObject, schema: Schema, source: Input) -> list[Hazard]:
    return [
        finding("unsupported-value", violation.path, source, message=violation.message)
        for violation in validate_enums(value, schema)
        if not is_directive(str(violation.path.steps[-1]))
    ]


def _directives_in(
    value: JSON, type_: Type, path: Path, *, custom: bool
) -> Iterator[Hazard]:
    """Yield the directives of a JSON merge patch, which has none."""
    if type_.stored is RAW:
        return
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
                below = type_.stored_member(name)
                yield from _directives_in(member, below, here, custom=custom)
    elif isinstance(value, list):
        for index, element in enumerate(value):
            below = type_.stored_element()
            yield from _directives_in(element, below, path / index, custom=custom)
