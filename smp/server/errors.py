"""Errors of the server itself, and the violations that make an object invalid."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from smp.errors import SmpError, UnknownResourceError
from smp.handler import InvalidError, StatusError
from smp.violations import Violation, forbidden, invalid, require

__all__ = [
    "NOT_ALLOWED",
    "InvalidError",
    "RefusalError",
    "StatusError",
    "UnknownResourceError",
    "forbidden",
    "invalid",
    "raise_invalid",
    "require",
]

NOT_ALLOWED: Final = "the server does not allow this method on the requested resource"


class RefusalError(SmpError):
    """A request that is answered with a status of HTTP, which says what it is."""

    default_code = "refused"

    def __init__(self, status: int, problem: str) -> None:
        super().__init__(problem)
        self.status = status


def raise_invalid(violations: Iterable[Violation]) -> None:
    """Raise InvalidError if there are violations."""
    all_violations = tuple(violations)
    if all_violations:
        raise InvalidError(all_violations)
