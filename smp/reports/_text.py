"""Plain text: for each object its verdict, its findings, and the causes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from smp.explain import ABOUT_LISTS
from smp.reports._model import ObjectReport
from smp.reports._printing import Printer
from smp.reports._values import ANNOTATION, printable, show_change, yaml_text

if TYPE_CHECKING:
    from smp.explain import Cause


def make_printer(_title: str) -> Printer:
    """Return the printer of objects as lines for a reader."""
    return Printer(
        lambda report: "".join(f"{printable(line)}\n" for line in _lines(report)),
        separator="\n",
    )


def _lines(report: ObjectReport) -> Iterator[str]:
    yield f"{report.label}: {report.verdict} ({report.place})"
    if report.error:
        yield from (f"  {line}" for line in report.error.splitlines())
    for note in report.notes:
        yield f"  {note}"
    # A finding that is a cause is shown once, with its values.
    in_causes = {
        (finding.path, finding.code)
        for finding in report.findings
        if finding.origin == "cause"
    }
    for finding in report.findings:
        if finding.origin not in ("cause", "failure"):
            yield f"  {finding.severity}: {finding} [{finding.code}]"
            if finding.remedy:
                yield f"      remedy: {finding.remedy}"
    has_news = report.verdict in ("new", "changed", "renamed")
    if has_news and report.patch and not report.causes:
        yield from (f"  {line}" for line in yaml_text(report.patch).splitlines())
    for cause in report.causes:
        mark = "! " if (cause.path, cause.code) in in_causes else ""
        yield from _cause_lines(cause, mark)


def _cause_lines(cause: Cause, mark: str) -> Iterator[str]:
    where = str(cause.path) or "the whole object"
    before, after = show_change(cause.before, cause.after)
    if cause.path == ANNOTATION:
        change = ": unchanged" if before == after else ": updated"
    elif cause.code in ABOUT_LISTS:
        change = ""
    else:
        change = f": {before}" if before == after else f": {before} -> {after}"
    yield f"  {mark}{where}{change}"
    yield f"      {cause.sentence} [{cause.code}]"
    if cause.remedy is not None:
        yield f"      remedy: {cause.remedy.sentence}"
