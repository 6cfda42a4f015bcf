"""The formats that outcomes are printed in, one object after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

import msgspec

from smp.cli._changes import ValueChange
from smp.cli._identity import Identity
from smp.cli._inputs import Inputs
from smp.cli._object_outcomes import ObjectOutcome, differences
from smp.cli._options import Settings
from smp.cli._outputs import YAML_SEPARATOR, has_colours, yaml_text
from smp.documents import dump_json
from smp.values import ABSENT, JSON, JSONObject

OutcomeT = TypeVar("OutcomeT")
# A text and its style.
Span: TypeAlias = tuple[str, str]


class Composition(Protocol):
    """A text that is made of the texts of outcomes."""

    def add(self, text: str) -> Iterator[str]:
        """Take the text of an outcome, and yield what can be written."""

    def end(self) -> Iterator[str]:
        """Yield the rest."""


class Problem(msgspec.Struct, frozen=True):
    """An object that could not be computed, or a document that cannot be read."""

    text: str
    code: str
    source: str
    line: int
    identity: Identity = Identity()


class Format(msgspec.Struct, Generic[OutcomeT], frozen=True):
    """How the texts of outcomes become one text.

    ``render`` returns the text of an outcome; the empty text is left out.
    """

    render: Callable[[OutcomeT], str]
    opening: str = ""
    separator: str = ""
    closing: str = ""
    # The whole text where there is no outcome to print.
    empty: str = ""
    # Warnings are part of the text; otherwise they go to standard error.
    has_warnings: bool = False
    has_summary: bool = False
    # An outcome that failed is part of the text; otherwise it is only an error.
    has_failures: bool = False
    # Returns the text of an object that could not be computed.
    render_problem: Callable[[Problem], str] | None = None
    # Begins a text that does more than to join the texts of outcomes.
    begin: Callable[[], Composition] | None = None

    def composition(self) -> Composition:
        """Begin the text of a run."""
        return _Joined(self) if self.begin is None else self.begin()


class _Joined:
    """The texts of outcomes, one after the other."""

    def __init__(self, format_: Format[Any]) -> None:
        self._format = format_
        self._is_first = True

    def add(self, text: str) -> Iterator[str]:
        """Yield a text and what stands before it."""
        yield (
            self._format.opening if self._is_first else self._format.separator
        ) + text
        self._is_first = False

    def end(self) -> Iterator[str]:
        """Yield the end of the text, or all of it where no outcome has one."""
        yield self._format.empty if self._is_first else self._format.closing


def report_format(
    settings: Settings, inputs: Inputs, title: str
) -> Format[ObjectOutcome]:
    """Return the format for a report with the causes of what happens to objects."""
    # Only these formats need the library of reports.
    from smp.cli import _reports  # noqa: PLC0415  # see above

    return _reports.format_of(settings, inputs, title)


def patch_format(settings: Settings) -> Format[ObjectOutcome]:
    """Return the format for a command whose result are patches."""
    if settings.is_for_a_reader:
        return _for_a_reader(settings)
    match settings.output:
        case "yaml":
            return Format(_yaml_patch, separator=YAML_SEPARATOR)
        case "json":
            return _RECORDS
        case _:
            return _OPERATIONS


def object_format(settings: Settings) -> Format[ObjectOutcome]:
    """Return the format for a command whose result are objects."""
    if settings.is_for_a_reader:
        return _for_a_reader(settings)
    match settings.output:
        case "yaml":
            return Format(
                lambda outcome: yaml_text("", outcome.after), separator=YAML_SEPARATOR
            )
        case "json":
            return Format(lambda outcome: dump_json(outcome.after) + "\n")
        case "patch":
            return Format(_yaml_patch, separator=YAML_SEPARATOR)
        case _:
            return _OPERATIONS


def applied_format(settings: Settings) -> Format[ObjectOutcome]:
    """Return the format for a command whose result are applied objects."""
    if settings.output == "json" and not settings.is_for_a_reader:
        return _RECORDS
    return object_format(settings)


def _for_a_reader(settings: Settings) -> Format[ObjectOutcome]:
    """Return a format that shows the same for a patch and for an object."""
    if settings.quiet:
        return Format(lambda _outcome: "")
    # These are the only formats that compare texts by line.
    from smp.cli import _report, _text_diffs  # noqa: PLC0415  # load difflib

    is_coloured = has_colours(settings.color)

    def formatted(
        lines: Callable[[ObjectOutcome], Iterable[_report.Line]],
    ) -> Callable[[ObjectOutcome], str]:
        return lambda outcome: text_of(lines(outcome), is_coloured=is_coloured)

    if settings.summary:
        return Format(formatted(_report.summary), has_summary=True)
    if settings.output == "unified":
        return Format(formatted(_text_diffs.unified))
    if settings.output == "side-by-side":
        from shutil import get_terminal_size  # noqa: PLC0415  # loads compression

        width = get_terminal_size((_WIDTH, 0)).columns
        return Format(
            formatted(partial(_text_diffs.side_by_side, width=width)), has_summary=True
        )
    return Format(
        formatted(_report.report),
        has_warnings=True,
        has_summary=True,
        has_failures=True,
    )


# What diff --side-by-side takes for the width of a file.
_WIDTH: Final = 130


# ECMA-48, SGR: select graphic rendition.
_RENDITIONS: Final = {
    "bold": 1,
    "dim": 2,
    "red": 31,
    "green": 32,
    "yellow": 33,
    "cyan": 36,
}


def text_of(lines: Iterable[Iterable[Span]], *, is_coloured: bool) -> str:
    """Return lines of styled text as one text."""
    text: list[str] = []
    for line in lines:
        for span, style in line:
            is_styled = is_coloured and span and style
            text.append(
                f"\x1b[{_RENDITIONS[style]}m{span}\x1b[0m" if is_styled else span
            )
        text.append("\n")
    return "".join(text)


_OPERATIONS: Final[Format[ObjectOutcome]] = Format(
    lambda outcome: dump_json(outcome.operations) + "\n"
)


def _yaml_patch(outcome: ObjectOutcome) -> str:
    # The text of an empty patch would be {}, with a comment that names the object.
    if not outcome.is_patched:
        return ""
    suffix = ""
    if outcome.creates:
        suffix = " (to be created)"
    elif outcome.removes:
        suffix = " (removed)"
    elif outcome.has_other_form:
        suffix = f" ({outcome.media_type}: {outcome.reason})"
    return yaml_text(f"{outcome.label}{suffix}", outcome.patch)


def _record(outcome: ObjectOutcome) -> str:
    """Return what is known of an outcome as an object of a JSON list."""
    identity = outcome.identity
    record: JSONObject = {
        "apiVersion": identity.api_version,
        "kind": identity.kind,
        "namespace": identity.namespace,
        "name": identity.name,
        "file": outcome.place,
        "action": outcome.action,
        "patch": outcome.patch,
        "changes": [_change(change) for change in differences(outcome)],
        "warnings": [*outcome.warnings],
    }
    if outcome.has_other_form:
        record["mediaType"] = outcome.media_type
        record["reason"] = outcome.reason
        if outcome.kubectl_patch is not None:
            record["kubectlPatch"] = outcome.kubectl_patch
    if outcome.set_aside:
        record["setAside"] = [
            {"path": str(entry.path), "by": entry.by, "reason": entry.reason}
            for entry in outcome.set_aside
        ]
    if outcome.is_applied:
        record["object"] = outcome.after
    ownership = outcome.ownership
    if ownership is not None:
        conflicts = ownership.conflict_records(outcome.before, outcome.patch)
        record |= {"conflicts": conflicts, "managers": ownership.manager_records()}
    return dump_json(record)


def _change(change: ValueChange) -> JSON:
    shown: JSONObject = {"path": str(change.path)}
    if change.old is not ABSENT:
        shown["old"] = change.old
    if change.new is not ABSENT:
        shown["new"] = change.new
    if change.is_order:
        shown["order"] = True
    if change.is_rename:
        shown["renamed"] = True
    return shown


_RECORDS: Final = Format(
    _record,
    "[\n",
    ",\n",
    "\n]\n",
    empty="[]\n",
    has_warnings=True,
    has_failures=True,
)
