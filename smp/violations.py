"""What an API server would reject, as data that validators return."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, ClassVar, Final, Literal, TypeAlias

import msgspec

from smp._values.findings import Finding, Meaning, Origin, Severity
from smp._values.values import ABSENT, JSON, Absent, printed, show
from smp.errors import QUOTE_BOOLEANS
from smp.paths import Element, Path

Reason: TypeAlias = Literal[
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueNotFound",
    "FieldValueNotSupported",
    "FieldValueRequired",
    "FieldValueTooLong",
    "FieldValueTooMany",
    "FieldValueTypeInvalid",
]


_MOST_LISTED: Final = 256


_FIELD: Final = "Go: apimachinery, util/validation/field"
_IN_UNION: Final = "KEP-1027, and the validation of each built-in union"

# By code. A hook of a program may find violations with codes of its own.
VIOLATIONS: Final[Mapping[str, Meaning]] = {
    "denied-by-policy": Meaning(
        "an admission policy refuses the object",
        "change what the policy refuses",
        "Go: k8s.io/apiserver, pkg/admission/plugin/policy",
    ),
    # Values.
    "duplicate-value": Meaning(
        "a list has a value, or an element with the same keys, twice",
        "keep one of them, or give each element keys of its own",
        f"{_FIELD}, Duplicate",
    ),
    "field-immutable": Meaning(
        "an update changes a field that may not change",
        "restore its value, or delete the object and create it again",
        f"{_FIELD}, Invalid and Forbidden: apimachinery, api/validation,"
        " ValidateImmutableField",
    ),
    "forbidden-value": Meaning(
        "a field is set that may not be set here",
        "remove the field, or change what the message names",
        f"{_FIELD}, Forbidden",
    ),
    "invalid-value": Meaning(
        "a value does not have the form, or is not in the range, of its field",
        "write a value as the message describes it",
        f"{_FIELD}, Invalid",
    ),
    "not-found-value": Meaning(
        "a value names something that the object does not have",
        "correct the name, or add what it names",
        f"{_FIELD}, NotFound",
    ),
    "other-version": Meaning(
        "the configuration has the resourceVersion of another state of the object",
        "remove metadata.resourceVersion, or begin with the object as it is now",
        "Go: k8s.io/apiserver, pkg/registry/generic/registry, Store.Update (409)",
    ),
    "required-value": Meaning(
        "a field is missing or empty that must be set",
        "set the field",
        f"{_FIELD}, Required",
    ),
    "too-long": Meaning(
        "a text has too many bytes",
        "shorten it to the length in the message",
        f"{_FIELD}, TooLong",
    ),
    "too-many": Meaning(
        "a list or a map has too many members",
        "remove members until there are as many as the message allows",
        f"{_FIELD}, TooMany",
    ),
    "unsupported-value": Meaning(
        "a value is not one of those that its field can have",
        "write one of the supported values",
        f"{_FIELD}, NotSupported; KEP-2887, enums",
    ),
    "wrong-type": Meaning(
        "a value is of another JSON type, or format, than its field",
        'write a value of the type in the message, such as 80 for "80"',
        f"{_FIELD}, TypeInvalid; Go: encoding/json, UnmarshalTypeError",
    ),
    "unchecked-rule": Meaning(
        "a rule of a definition takes more steps than are evaluated here",
        "ask a server: it evaluates the rule, or refuses it by its cost",
        "Go: apiextensions-apiserver, schema/cel, validateExpressions",
    ),
    # Unions.
    "discriminator-required": Meaning(
        "a union has members, or needs one, and its discriminator is not set",
        "set the discriminator to the value of the member that is meant",
        _IN_UNION,
    ),
    "member-forbidden": Meaning(
        "a member of a union is set that its discriminator does not select",
        "remove the member, or set the discriminator to its value",
        _IN_UNION,
    ),
    "member-required": Meaning(
        "the member of a union is missing that its discriminator selects",
        "set the member, or set the discriminator to the value of another one",
        _IN_UNION,
    ),
    "union-none": Meaning(
        "no member of a union is set that needs one",
        "set one of the members in the message",
        _IN_UNION,
    ),
    "union-several": Meaning(
        "several members of a union are set, where one may be",
        "keep the member that is meant, and remove the others",
        _IN_UNION,
    ),
    # A patch, or the object that it leads to.
    "bad-request": Meaning(
        "the patched object is none of its kind",
        "leave apiVersion and kind as they are",
        "Go: apiserver, endpoints/handlers, jsonPatcher.applyPatchToCurrentObject",
    ),
    "not-an-object": Meaning(
        "a patch, or what it leads to, is no object",
        "send a JSON object",
        "Go: apiserver, endpoints/handlers, jsonPatcher.applyPatchToCurrentObject",
    ),
    "strict-decoding": Meaning(
        "a field is not known, or is written twice, and the request asks for an error",
        "correct the name of the field, or remove it",
        "KEP-2885, server-side field validation",
    ),
}


# The code of a hook of a program.
REFUSED: Final = Meaning(
    "an API server would refuse the object", "", "the validation of an API server"
)


class Violation(Finding, frozen=True):
    """One value that breaks a rule of its schema.

    ``code`` is stable and kebab-case, one of ``VIOLATIONS``; ``reason`` and ``message``
    are what a server puts into the causes of a Status (Go: field.Error). ``warning``
    marks what the caller asked to have tolerated. ``value`` is ``ABSENT`` where a value
    is missing.
    """

    origin: ClassVar[Origin] = "violation"
    code: str
    path: Path
    reason: Reason
    message: str
    value: Any = ABSENT
    warning: bool = False

    @property
    def severity(self) -> Severity:
        """An error, unless the caller asked to have it tolerated."""
        return "warning" if self.warning else "error"

    @property
    def sentence(self) -> str:
        """The message of a server."""
        return self.message

    @property
    def remedy(self) -> str:
        """What helps against all violations of the code."""
        return VIOLATIONS.get(self.code, REFUSED).remedy

    @property
    def source(self) -> str:
        """Where the rule is from."""
        return VIOLATIONS.get(self.code, REFUSED).source

    def below(self, path: Path) -> Violation:
        """Return the violation of a value that stands below a path."""
        whole = Path((*path.steps, *self.path.steps))
        return msgspec.structs.replace(self, path=whole)

    @property
    def cause(self) -> dict[str, Any]:
        """The violation as a cause of a Status."""
        # A cause names an element of a list by its index (Go: field.Path.Index).
        steps = [
            step.index if isinstance(step, Element) else step
            for step in self.path.steps
        ]
        # Go prints a path without steps so.
        field = str(Path(tuple(steps))) or "<nil>"
        return {"reason": self.reason, "message": self.message, "field": field}


def warn_of_unchecked_rules(message: str) -> Violation:
    """Make the warning that it is not known what a server says of some rules."""
    path = Path()
    return Violation("unchecked-rule", path, "FieldValueInvalid", message, warning=True)


def refusal_of(violation: Violation) -> Violation:
    """Return a violation that says what a server would do, unless it is a warning."""
    if violation.warning:
        return violation
    why = "a server would reject this"
    if isinstance(violation, Misfit):
        is_word = (violation.actual, violation.expected) == ("boolean", "string")
        why += f"; {QUOTE_BOOLEANS}" * is_word
    message = f"{violation.message} ({why})"
    return msgspec.structs.replace(violation, message=message)


class Misfit(Violation, frozen=True, kw_only=True):
    """A value of another type than the schema's.

    ``actual`` is what a decoder calls it: a number with its value.
    """

    actual: str
    expected: str
    json_type: str

    @classmethod
    def of(cls, path: Path, actual: str, expected: str, json_type: str = "") -> Misfit:
        """Word it as a server's decoder does (Go: encoding/json)."""
        return cls(
            "wrong-type",
            path,
            "FieldValueTypeInvalid",
            f"cannot unmarshal {actual} into field {path.by_index} of type {expected}",
            actual=actual,
            expected=expected,
            json_type=json_type or actual,
        )


# By reason: the code, and what a server says (Go: field.ErrorType.String).
NAMES: Final[Mapping[Reason, tuple[str, str]]] = {
    "FieldValueDuplicate": ("duplicate-value", "Duplicate value"),
    "FieldValueForbidden": ("forbidden-value", "Forbidden"),
    "FieldValueInvalid": ("invalid-value", "Invalid value"),
    "FieldValueNotFound": ("not-found-value", "Not found"),
    "FieldValueRequired": ("required-value", "Required value"),
    "FieldValueTooLong": ("too-long", "Too long"),
}
_WITH_VALUE: Final = (
    "FieldValueDuplicate",
    "FieldValueInvalid",
    "FieldValueNotFound",
)


def violation_of(
    reason: Reason,
    path: Path,
    detail: str = "",
    value: JSON | Absent = ABSENT,
    *,
    code: str = "",
) -> Violation:
    """Make the violation of a value (Go: field.Error), with a code of its own or not.

    The reason is one of those in ``NAMES``.
    """
    usual_code, message = NAMES[reason]
    if reason in _WITH_VALUE:
        message += f": {quote_json(value)}"
    if detail:
        message += f": {detail}"
    return Violation(code or usual_code, path, reason, message, value)


def invalid(path: Path, value: JSON, detail: str) -> Violation:
    """Make the violation of a malformed value (Go: field.Invalid)."""
    return violation_of("FieldValueInvalid", path, detail, value)


def require(path: Path, detail: str = "") -> Violation:
    """Make the violation of a missing value (Go: field.Required)."""
    return violation_of("FieldValueRequired", path, detail)


def forbidden(path: Path, detail: str) -> Violation:
    """Make the violation of a value not allowed here (Go: field.Forbidden)."""
    return violation_of("FieldValueForbidden", path, detail)


def too_long(path: Path, most: int) -> Violation:
    """Make the violation of a text that is too long (Go: field.TooLong)."""
    detail = f"may not be more than {most} bytes"
    return violation_of("FieldValueTooLong", path, detail)


def too_many(path: Path, count: int, most: int) -> Violation:
    """Make the violation of too many elements or members (Go: field.TooMany)."""
    items = "item" if most == 1 else "items"
    message = f"Too many: {count}: must have at most {most} {items}"
    return Violation("too-many", path, "FieldValueTooMany", message, count)


def duplicate(path: Path, value: JSON) -> Violation:
    """Make the violation of a value that is there already (Go: field.Duplicate)."""
    return violation_of("FieldValueDuplicate", path, value=value)


def unsupported(
    path: Path,
    value: JSON,
    supported: Iterable[JSON],
    *,
    or_any: Iterable[str] = (),
    warning: bool = False,
) -> Violation:
    """Make the violation of a value that is not supported (Go: field.NotSupported).

    All values of the JSON types ``or_any`` are supported as well. Of very many values
    the first ones are listed: a list may have as many wrong elements.
    """
    is_scalar = not isinstance(value, str | dict | list)
    if value is None:
        is_scalar = False
    message = f"Unsupported value: {printed(value) if is_scalar else quote_json(value)}"
    listed = islice(supported, _MOST_LISTED)
    names = [quote_json(printed(allowed)) for allowed in listed]
    names += [f"any {json_type}" for json_type in or_any]
    listing = ", ".join(names)
    if listing:
        message += f": supported values: {listing}"
    return Violation(
        "unsupported-value", path, "FieldValueNotSupported", message, value, warning
    )


def quote_json(value: JSON | Absent) -> str:
    """Print a value as the message of a cause has it (Go: field.Error.ErrorBody).

    The members of an object are sorted, whatever their order in the input. What is no
    JSON is shown for a human.
    """
    if isinstance(value, Absent):
        return "null"
    # Go prints a number by %v.
    if isinstance(value, float):
        return printed(value)
    import json  # noqa: PLC0415  # most objects have no violation to print

    try:
        return json.dumps(
            value, ensure_ascii=False, separators=(",", ":"), sort_keys=True
        )
    except (RecursionError, TypeError, ValueError):
        # An integer of thousands of digits, a set.
        return show(value)
