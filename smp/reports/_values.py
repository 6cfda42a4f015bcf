"""Values and texts as all formats show them."""

from __future__ import annotations

from typing import Final

from smp._values.codec import encode
from smp._values.findings import Finding
from smp._values.last_applied import LAST_APPLIED
from smp._values.values import ABSENT, JSON, Absent, sort_members
from smp.documents import dump_yaml
from smp.errors import SmpError
from smp.paths import Path
from smp.reports._model import ObjectReport

# It repeats the configuration, so its text would show every change twice.
ANNOTATION: Final = Path(("metadata", "annotations", LAST_APPLIED))
# So many characters of a value are shown on one line.
LONGEST: Final = 200
# So many characters before a change in a long value are shown with it.
_BEFORE_CHANGE: Final = 40
_LONGEST_SENTENCE: Final = 5 * LONGEST


def show(value: JSON | Absent, longest: int = LONGEST) -> str:
    """Return a value on one line as JSON, cut where it is long."""
    return cut(_line(value), longest)


def show_change(before: JSON | Absent, after: JSON | Absent) -> tuple[str, str]:
    """Return two values on one line each; long ones from where they differ."""
    old, new = _line(before), _line(after)
    cut_old, cut_new = cut(old, LONGEST), cut(new, LONGEST)
    if cut_old != cut_new or old == new:
        return cut_old, cut_new
    # Both are longer than what is shown, and equal there.
    start = LONGEST
    while old[start : start + 1] == new[start : start + 1]:
        start += 1
    start -= _BEFORE_CHANGE
    return f"... {cut(old[start:], LONGEST)}", f"... {cut(new[start:], LONGEST)}"


def _line(value: JSON | Absent) -> str:
    if value is ABSENT:
        return "absent"
    try:
        text = encode(sort_members(value)).decode()
    except SmpError:
        # What JSON does not have, such as half a surrogate pair.
        text = repr(value)
    return printable(text)


def yaml_text(value: JSON) -> str:
    """Return a value as YAML, or as it is shown on a line where YAML has no such."""
    try:
        return dump_yaml([sort_members(value)])
    except SmpError:
        return f"{show(value)}\n"


def sentence_of(report: ObjectReport, finding: Finding) -> str:
    """Return a finding with its object, path and remedy, for formats without these."""
    remedy = f" Remedy: {finding.remedy}." if finding.remedy else ""
    text = f"{report.label}: {finding}{remedy}"
    return cut(printable(text), _LONGEST_SENTENCE)


def cut(text: str, longest: int) -> str:
    """Cut a text, and say how much is missing."""
    if len(text) <= longest:
        return text
    return f"{text[:longest]}... ({len(text) - longest} more characters)"


def printable(text: str) -> str:
    """Escape control characters, half surrogate pairs and the like; keep line breaks.

    No format can take them all, and a terminal would take some for commands.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char
        if char.isprintable() or char in "\n\t"
        else char.encode("unicode_escape", "surrogatepass").decode()
        for char in text
    )
