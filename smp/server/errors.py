"""Errors of the server itself, and the violations that make an object invalid."""

from __future__ import annotations

from collections.abc import Iterable

from smp.errors import SmpError
from smp.handler import InvalidError, StatusError
from smp.violations import Violation, forbidden, invalid, require

__all__ = [
    "InvalidError",
    "StatusError",
    "UnknownResourceError",
    "forbidden",
    "invalid",
    "raise_invalid",
    "require",
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
