"""Errors of the server itself, and the violations that make an object invalid."""

from __future__ import annotations

from collections.abc import Iterable

from smp.errors import SmpError
from smp.handler import InvalidError, StatusError
from smp.paths import Path
from smp.values import JSON
from smp.violations import Violation, quoted_json

__all__ = [
    "InvalidError",
    "StatusError",
    "UnknownResourceError",
    "forbidden",
    "invalid",
    "raise_invalid",
    "required",
]


class UnknownResourceError(SmpError):
    """A path or a kind that the server does not serve."""

    default_code = "unknown-resource"
    status = 404


def raise_invalid(violations: Iterable[Violation]) -> None:
    """Raise InvalidError if there are violations."""
    all_violations = tuple(violations)
    if all_violations:
        raise InvalidError(all_violations)


def invalid(path: Path, value: JSON, detail: str) -> Violation:
    """Make the violation of a malformed value (Go: field.Invalid)."""
    return Violation(
        "invalid-value",
        path,
        "FieldValueInvalid",
        f"Invalid value: {quoted_json(value)}: {detail}",
        value,
    )


def required(path: Path, detail: str = "") -> Violation:
    """Make the violation of a missing value (Go: field.Required)."""
    message = f"Required value: {detail}" if detail else "Required value"
    return Violation("required-value", path, "FieldValueRequired", message)


def forbidden(path: Path, detail: str) -> Violation:
    """Make the violation of a value not allowed here (Go: field.Forbidden)."""
    return Violation(
        "forbidden-value", path, "FieldValueForbidden", f"Forbidden: {detail}"
    )
