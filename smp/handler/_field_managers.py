"""Names of field managers: which are allowed, and the one that a request has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from smp._values.values import quote
from smp.paths import Path
from smp.violations import Violation, too_long

# Go: k8s.io/apimachinery, meta/v1/validation, FieldManagerMaxLength.
_MOST_BYTES: Final = 128
_UNKNOWN: Final = "unknown"


def manager_of(user_agent: str) -> str:
    """Return the field manager of a request that does not name one.

    It is the first part of its User-Agent, up to a slash (Go: prefixFromUserAgent in
    k8s.io/apiserver, endpoints/handlers/create.go).
    """
    first = user_agent.partition("/")[0]
    if len(first) <= _MOST_BYTES and first.isascii() and first.isprintable():
        return first or _UNKNOWN
    name, size = "", 0
    for character in first:
        if not character.isprintable():
            continue
        size += len(character.encode(errors="replace"))
        if size > _MOST_BYTES:
            break
        name += character
    # Go: apimachinery, util/managedfields, buildManagerInfo.
    return name or _UNKNOWN


def manager_problems(manager: str, path: Path) -> Iterator[Violation]:
    """Yield what is wrong with the name of a manager (Go: ValidateFieldManager)."""
    if len(manager.encode(errors="replace")) > _MOST_BYTES:
        yield too_long(path, _MOST_BYTES)
    if manager.isprintable():
        return
    position = 0
    for character in manager:
        if not character.isprintable():
            yield Violation(
                "invalid-value",
                path,
                "FieldValueInvalid",
                f"Invalid value: {quote(manager)}: invalid character"
                f" U+{ord(character):04X} (at position {position})",
                manager,
            )
        position += len(character.encode(errors="replace"))
