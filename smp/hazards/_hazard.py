"""Hazards as data, and the table of their codes."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from smp.paths import Path

Input: TypeAlias = Literal["manifest", "last-applied", "live", "patch"]
Severity: TypeAlias = Literal["error", "warning", "note"]


class Hazard(msgspec.Struct, frozen=True):
    """A place in an input of an apply at which something else may happen than expected.

    ``code`` is stable, see HAZARDS; ``path`` leads to the place in ``input``.
    ``severity`` is "error" where this apply does harm, "warning" where this one or a
    later one may, and "note" for what is good to know. ``sentence`` stands alone,
    ``remedy`` is an imperative sentence, empty where there is none, and ``rule`` names
    the source of the semantics.
    """

    code: str
    path: Path
    input: Input
    severity: Severity
    sentence: str
    remedy: str
    rule: str

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path.steps else ""
        return f"{where}{self.sentence}"


class Description(msgspec.Struct, frozen=True):
    """What a hazard of a code says, with blanks in braces, and its source."""

    severity: Severity
    sentence: str
    remedy: str
    rule: str


_MERGE_LIST: Final = "Go: strategicpatch.mergeSliceWithoutSpecialElements"

# By code.
HAZARDS: Final[dict[str, Description]] = {
    "duplicate-key": Description(
        "warning",
        "{count} elements have the same key {key}: a patch changes one of them, or "
        "deletes all",
        "give each element a key of its own",
        _MERGE_LIST,
    ),
    "ambiguous-key": Description(
        "warning",
        "{count} elements have the same patch merge key {key} and differ in "
        "{other_keys}, which a patch does not look at",
        "apply with server-side apply, which identifies elements by all keys",
        _MERGE_LIST,
    ),
}


def hazard(code: str, path: Path, source: Input, **blanks: str) -> Hazard:
    """Return a hazard of the table, with its blanks filled in."""
    described = HAZARDS[code]
    return Hazard(
        code,
        path,
        source,
        described.severity,
        described.sentence.format(**blanks),
        described.remedy.format(**blanks),
        described.rule,
    )
