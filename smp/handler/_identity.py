"""What an update may not change: the object's identity, and what a server sets.

Go: k8s.io/apiserver, registry/rest (BeforeUpdate,
EnsureObjectNamespaceMatchesRequestNamespace) and endpoints/handlers (checkName); where
PATCH and PUT differ there, PATCH counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from smp._values.api_objects import is_stated, metadata_of
from smp._values.values import (
    ABSENT,
    JSON,
    Absent,
    JSONObject,
    as_list,
    as_object,
    as_text,
    quote,
    same,
    show,
    type_name,
)
from smp.handler._field_managers import manager_problems
from smp.handler._status import (
    InvalidError,
    ModifiedError,
    StatusError,
    VersionRequiredError,
)
from smp.paths import Path
from smp.violations import Violation, violation_of

_INVALID: Final = "FieldValueInvalid"
# Go: registry.Store.Update, where AllowUnconditionalUpdate of the strategy is false.
VERSION_REQUIRED: Final = violation_of(
    _INVALID,
    Path(("metadata", "resourceVersion")),
    "must be specified for an update",
    0,
    code="required-value",
)
_KEPT_WHERE_ABSENT: Final = ("namespace", "uid", "resourceVersion", "managedFields")
_KEPT: Final = (
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
)


def of_kind(
    new: JSONObject, api_version: JSON | Absent, kind: JSON | Absent
) -> JSONObject:
    """Return a whole object of an apiVersion and kind: what it lacks is filled in.

    Raises StatusError for another apiVersion or kind.
    """
    kept: JSONObject = {}
    for name, expected in (("apiVersion", api_version), ("kind", kind)):
        if isinstance(expected, Absent):
            continue
        value = new.get(name)
        if value is None or value == "":
            kept[name] = expected
        elif not same(value, expected):
            raise StatusError(_other_kind(name, new, expected))
    return _add_first(kept, new)


def patch_of_kind(
    new: JSONObject, old: JSONObject, *, strategic: bool, custom: bool, strict: bool
) -> JSONObject:
    """Return a patched object of the stored apiVersion and kind.

    Raises StatusError, and InvalidError for another apiVersion or kind. Go:
    jsonPatcher.applyPatchToCurrentObject, which decodes the patched object anew, and
    strategicPatchObject, which writes into the Go type that is stored.
    """
    kept: JSONObject = {}
    for name in ("apiVersion", "kind"):
        expected = old.get(name, ABSENT)
        value = new.get(name)
        if isinstance(expected, Absent) or value is expected or same(value, expected):
            continue
        is_absent = value is None or value == ""
        if is_absent and not strategic and (custom or name == "apiVersion"):
            if custom or strict:
                raise undecodable(f"Object '{name}' is missing in the patched object")
            # Go decodes what has no version to an object without fields.
            raise StatusError(word_wrong_name("", metadata_of(old).get("name", "")))
        if not is_absent and not (strategic and isinstance(value, str)):
            if custom and isinstance(value, str):
                # Go: apiextensions-apiserver, customResourceValidator.
                message = f"Invalid value: {quote(value)}: must be {expected}"
                violation = Violation(
                    "field-immutable", Path((name,)), _INVALID, message, value
                )
                raise InvalidError([violation])
            raise undecodable(_other_kind(name, new, expected))
        kept[name] = expected
    return _add_first(kept, new)


def undecodable(problem: str, code: str = "bad-request") -> InvalidError:
    """Word that a patched object is none of its kind.

    A server quotes the object in the message, secrets included; here it says what is
    wrong only. Go: NewInvalid(schema.GroupKind{}, "", field.Invalid("patch", ...)).
    """
    return InvalidError([Violation(code, Path(("patch",)), _INVALID, problem)])


def _add_first(first: JSONObject, obj: JSONObject) -> JSONObject:
    """Return an object with other values of some members, which come first."""
    if not first:
        return obj
    others = {name: value for name, value in obj.items() if name not in first}
    return {**first, **others}


def _other_kind(name: str, new: JSONObject, expected: JSON) -> str:
    value = new[name]
    actual = value if isinstance(value, str) else type_name(value)
    wanted = expected if isinstance(expected, str) else type_name(expected)
    if name == "apiVersion":
        return (
            f"the API version in the data ({actual}) does not match the expected"
            f" API version ({wanted})"
        )
    version = as_text(new.get("apiVersion")).rpartition("/")[2]
    return f'{actual} in version "{version}" cannot be handled as a {wanted}'


def add_server_metadata(
    new: JSONObject,
    old: JSONObject,
    *,
    partial: bool = False,
    is_apply: bool = False,
    unconditional: bool = True,
) -> JSONObject:
    """Return the new object with the old one's identity, and what only a server sets.

    A name or a namespace that differ are a StatusError (400); a uid or a
    resourceVersion that differ mean another object, or another state of it:
    ModifiedError (409), but InvalidError for the uid of a patch (``partial``). Absent
    and empty, the last three are the old object's, and so are managedFields, unless an
    apply has written them. Without ``unconditional`` the resourceVersion must be there.
    """
    if new.get("metadata", ABSENT) is old.get("metadata", ABSENT):
        return new
    before, after = metadata_of(old), metadata_of(new)
    merged = dict(after)
    # What a client adds of these is not stored.
    for name in ("namespace", *_KEPT):
        if name not in before:
            merged.pop(name, None)
    # Go: rest.BeforeUpdate fills in what the client left out.
    for name in _KEPT_WHERE_ABSENT:
        is_kept = name in before and not is_stated(after, name)
        if is_kept and not (is_apply and name == "managedFields"):
            merged[name] = before[name]
    # Only the server sets these; the values of the client are ignored.
    for name in _KEPT:
        if name in before:
            merged[name] = before[name]
    _check(merged, before, partial=partial)
    violations: list[Violation] = []
    # Only a deletion says that an object is to be deleted (Go:
    # ValidateObjectMetaAccessorUpdate, behind rest.BeforeUpdate).
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds"):
        value = after.get(name)
        if value is not None and name not in before:
            shown = quote(value) if isinstance(value, str) else show(value)
            message = f"Invalid value: {shown}: field is immutable"
            path = Path(("metadata", name))
            violations.append(
                Violation("field-immutable", path, _INVALID, message, value)
            )
    has_version = is_stated(after, "resourceVersion")
    if not (has_version or unconditional or is_apply) and "resourceVersion" in before:
        raise VersionRequiredError([VERSION_REQUIRED])
    if violations:
        raise InvalidError(violations)
    return new if same(merged, after) else {**new, "metadata": merged}


def _check(new: JSONObject, old: JSONObject, *, partial: bool) -> None:
    # Go: endpoints/handlers/rest.go, checkName.
    name = old.get("name", "")
    if not same(new.get("name", ""), name):
        raise StatusError(word_wrong_name(new.get("name"), name))
    if not same(new.get("namespace", ABSENT), old.get("namespace", ABSENT)):
        raise StatusError(
            "the namespace of the provided object does not match the namespace sent on"
            " the request"
        )
    uid, former = new.get("uid", ""), old.get("uid", "")
    if partial and not same(uid, former):
        # A patch has no preconditions (Go: ValidateObjectMetaAccessorUpdate).
        message = f"Invalid value: {quote(_print_name(uid))}: field is immutable"
        path = Path(("metadata", "uid"))
        raise InvalidError([Violation("field-immutable", path, _INVALID, message, uid)])
    # Go: registry/rest, Preconditions.Check.
    if not same(uid, former):
        raise ModifiedError(
            f"Precondition failed: UID in precondition: {_print_name(uid)},"
            f" UID in object meta: {_print_name(former)}"
        )
    # Optimistic concurrency: the client read another state of the object.
    if not same(new.get("resourceVersion", ""), old.get("resourceVersion", "")):
        raise ModifiedError


def word_wrong_name(name: JSON, expected: JSON) -> str:
    """Word that an object has another name than the stored one, or none."""
    if not name:
        return (
            f"the name of the object ({_print_name(expected)} based on URL) was"
            " undeterminable: name must be provided"
        )
    return (
        f"the name of the object ({_print_name(name)}) does not match the name on the"
        f" URL ({_print_name(expected)})"
    )


def _print_name(value: JSON) -> str:
    """Print a name, which may be any JSON in what a client sends or a store has."""
    return value if isinstance(value, str) else show(value)


def find_managed_fields_violations(
    new: JSONObject, old: JSONObject | None
) -> Iterator[Violation]:
    """Yield what is wrong with the managers that a client wrote into managedFields.

    Go: k8s.io/apimachinery, meta/v1/validation, ValidateManagedFields. What else it
    checks cannot be read, and was left out before.
    """
    entries = metadata_of(new).get("managedFields")
    if old is not None and entries is metadata_of(old).get("managedFields"):
        return
    for index, entry in enumerate(as_list(entries)):
        path = Path(("metadata", "managedFields", index, "manager"))
        yield from manager_problems(as_text(as_object(entry).get("manager")), path)


def status_details(obj: JSONObject, resource: str = "") -> dict[str, str]:
    """Return the object of a request in the arguments of ``to_status``.

    ``resource`` is the plural name, with or without a group.
    """
    api_version, kind = as_text(obj.get("apiVersion")), as_text(obj.get("kind"))
    plural, _, group = resource.partition(".")
    if api_version:
        group = api_version.rpartition("/")[0]
    # Events are validated as they are stored, in the core group.
    if (group, kind) == ("events.k8s.io", "Event"):
        group = ""
    return {
        "name": as_text(metadata_of(obj).get("name")),
        "group": group,
        "kind": kind,
        "resource": plural or _plural(kind.lower()),
    }


def _plural(singular: str) -> str:
    """Guess a plural (Go: k8s.io/apimachinery, meta.UnsafeGuessKindToResource)."""
    if not singular or singular == "endpoints":
        return singular
    if singular.endswith("s"):
        return f"{singular}es"
    if singular.endswith("y"):
        return f"{singular.removesuffix('y')}ies"
    return f"{singular}s"
