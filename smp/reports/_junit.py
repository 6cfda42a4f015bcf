"""JUnit XML: a test suite for each object, so that it can be written object by object.

The first test case of a suite is the object itself; each finding of level "error" is
a test case that failed. Other findings are the output of the first one: a test either
fails or it does not, and only an error makes the command fail. Where each object that
is not what it should be does, that is a failure of its own test case, with all its
findings. An object that could not be computed is an error of its test case.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final
from xml.sax.saxutils import escape

from smp._values.findings import Finding
from smp.reports._model import ObjectReport
from smp.reports._printing import Printer
from smp.reports._values import cut, printable

# XML processors have limits of their own on the length of an attribute.
_LONGEST: Final = 2_000


def make_printer(title: str) -> Printer:
    """Return the printer of objects as test suites."""
    opening = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f"<testsuites name={_quote(title or 'smp')}>\n"
    )
    closing = "</testsuites>\n"
    return Printer(_suite, opening, closing=closing, empty=opening + closing)


def _suite(report: ObjectReport) -> str:
    # What could not be computed is an error of the object itself, see below.
    failed = [
        finding
        for finding in report.findings
        if finding.severity == "error"
        and finding.origin != "failure"
        and not report.outcome
    ]
    label = _quote(report.label)
    class_name = _quote(report.place.file or report.kind)
    errors = 1 if report.error else 0
    failures = len(failed) + (1 if report.outcome and not errors else 0)
    counts = f'tests="{1 + len(failed)}" failures="{failures}" errors="{errors}"'
    lines = [
        f'<testsuite name={label} {counts} skipped="0" time="0">',
        f'  <testcase name={label} classname={class_name} time="0">',
        *_object_lines(report),
        "  </testcase>",
    ]
    # A consumer tells tests by their names.
    names: Counter[str] = Counter()
    for finding in failed:
        name = f"{report.label}: {finding.path} [{finding.code}]"
        names[name] += 1
        if names[name] > 1:
            name += f" ({names[name]})"
        lines += [
            f'  <testcase name={_quote(name)} classname={class_name} time="0">',
            _failure(finding),
            "  </testcase>",
        ]
    return "".join(f"{line}\n" for line in [*lines, "</testsuite>"])


def _object_lines(report: ObjectReport) -> Iterator[str]:
    if report.error:
        message = _quote(report.error.partition("\n")[0])
        text = _text(report.error)
        yield f'    <error message={message} type="failed">{text}</error>'
    elif report.outcome:
        paths = [str(each.path) for each in report.findings if each.path.steps]
        where = f": {', '.join(paths)}" if paths else ""
        message, type_ = _quote(report.outcome + where), _quote(report.outcome)
        text = _text("\n".join(map(_line, report.findings)))
        yield f"    <failure message={message} type={type_}>{text}</failure>"
    # Consumers show the output of a test below it, line by line.
    output = [f"{report.outcome or report.verdict} ({report.place})", *report.notes]
    if not report.outcome:
        others = [each for each in report.findings if each.severity != "error"]
        output += map(_line, others)
    yield f"    <system-out>{_text(chr(10).join(output))}</system-out>"


def _failure(finding: Finding) -> str:
    place = "" if finding.place is None else str(finding.place)
    details = _text("\n".join(filter(None, (_line(finding), place, finding.source))))
    message, type_ = _quote(finding.sentence), _quote(finding.code)
    return f"    <failure message={message} type={type_}>{details}</failure>"


def _line(finding: Finding) -> str:
    remedy = f"; remedy: {finding.remedy}" if finding.remedy else ""
    return f"{finding.severity}: {finding}{remedy} [{finding.code}]"


def _quote(text: str) -> str:
    """Return a text as the value of an attribute, in quotes."""
    # XML 1.0, section 3.3.3: a line break in an attribute is read as a space.
    escaped = _text(cut(text.replace("\n", " "), _LONGEST)).replace('"', "&quot;")
    return f'"{escaped}"'


def _text(text: str) -> str:
    """Return a text as XML, without the characters that XML 1.0 forbids.

    Section 2.2: control characters, half surrogate pairs, U+FFFE and U+FFFF. None of
    them is printable.
    """
    return escape(printable(text))
