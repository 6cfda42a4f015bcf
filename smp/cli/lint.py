"""``smp lint``: what is wrong with manifests, patches and live objects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Final, cast

import msgspec

from smp.cli._commands import (
    DONE,
    ERROR,
    FOUND,
    PARTLY,
    Argument,
    Command,
    CommandOption,
)
from smp.cli._errors import UsageError, printable, report
from smp.cli._formats import Span, text_of
from smp.cli._inputs import Inputs
from smp.cli._interrupts import Interruption
from smp.cli._linted import Asked, Linted, Linter, parts_of
from smp.cli._options import (
    SCHEMA_OPTIONS,
    Schemas,
    Settings,
    Sources,
    declared,
    output_option,
    shared_options,
)
from smp.cli._outputs import has_colours, write
from smp.cli._run import results_of
from smp.documents import Document
from smp.errors import did_you_mean
from smp.hazards import HAZARDS
from smp.lint import LINT
from smp.paths import Path
from smp.schema.model import Schema

if TYPE_CHECKING:
    from smp.reports import Format, ObjectReport, Printer

_SEVERITIES: Final = ("note", "warning", "error")
_STYLES: Final = {"note": "cyan", "warning": "yellow", "error": "red"}
# What a document is, in the words of the summary.
_NAMES: Final = {
    "manifest": "manifest",
    "live": "live object",
    "strategic": "strategic merge patch",
    "merge": "JSON merge patch",
    "json": "JSON Patch",
}


def run_lint(  # the options of the command
    *,
    paths: tuple[str, ...],
    as_: str | None,
    patch_type: str | None,
    kind: str,
    severity: str,
    codes: tuple[str, ...],
    settings: Settings,
) -> int:
    """Find what is wrong with manifests, patches and live objects, before it is sent.

    What a document is, its content tells: an object with managedFields, or with uid and
    resourceVersion, is live; a list of operations is a JSON Patch; an object with
    directives, or without fields that a server requires, is a strategic merge patch,
    and of a custom resource a JSON merge patch; all else is a manifest. --as says it
    for all documents.

    Each finding is a line with its place, severity and code; docs/lint.md has all
    codes. A comment `# smp-lint: ignore=CODE` takes back what is found on its line or
    on the one below it. Values of Secrets are never shown.
    """
    for code in codes:
        if code not in LINT and code not in HAZARDS:
            hint = did_you_mean(code, [*LINT, *HAZARDS])
            raise UsageError(
                f"Invalid value for '--ignore': there is no code {code!r}; {hint}"
            )
    inputs = Inputs(settings.max_bytes)
    sources = Sources()
    schemas = Schemas(settings, inputs, sources)
    schema: Schema | None = None
    if kind:
        # Few runs name a kind.
        from smp.schema.resource_names import (  # noqa: PLC0415  # see above
            find_kind,
            names_of_definitions,
        )

        custom = names_of_definitions(sources.definitions)
        named = find_kind(kind, schemas.catalog, custom)
        if named.path:
            raise UsageError(
                f"Invalid value for '--kind': {named.path!r} is behind the kind "
                f"{named.kind}"
            )
        schema = schemas.catalog.schema(named.api_version, named.kind)
    asked = Asked(
        as_ or "",
        patch_type or "",
        schema,
        frozenset(codes),
    )
    linter = Linter(inputs, schemas, asked)
    inputs.read_definitions_of(paths)
    tally = _Tally(severity)
    parts = parts_of(inputs, paths)
    computed = closing(results_of(parts, linter, settings.jobs))
    output = _Output(settings, tally)
    with Interruption() as interruption, computed as results:
        for result in results:
            tally.add(result)
            output.show(result)
            if interruption.is_requested:
                break
        inputs.close()
        output.end()
    for failure in inputs.new_problems():
        tally.failed += 1
        failure.show()
    inputs.skipped += tally.skipped
    if not settings.quiet:
        inputs.report_skipped()
        tally.report_kinds()
        report(f"smp: {tally.summary()}")
    return tally.exit_code()


COMMAND: Final[Command] = declared(
    run_lint,
    (
        CommandOption(
            ("--as",),
            "What the documents are. [default: what their content tells]",
            parameter="as_",
            choices=("manifest", "patch", "live"),
        ),
        CommandOption(
            ("--type",),
            "The type of patches. [default: what their content and their kind tell]",
            parameter="patch_type",
            choices=("strategic", "merge"),
        ),
        CommandOption(
            ("--kind",),
            "What patches without apiVersion and kind are of: deploy, "
            "deployments.apps, Deployment.",
            metavar="KIND",
            default="",
        ),
        CommandOption(
            ("--severity",),
            "The lowest severity that is shown, and that leads to the exit code 1.",
            choices=_SEVERITIES,
            default="warning",
        ),
        CommandOption(
            ("--ignore",),
            "Leave out what is found under a code. Repeatable.",
            parameter="codes",
            metavar="CODE",
            is_repeatable=True,
        ),
        output_option("text", "json", "sarif", "junit", "gitlab", "markdown", "html"),
        *SCHEMA_OPTIONS,
        *shared_options("quiet", "max_bytes", "jobs", "color"),
    ),
    arguments=(Argument("paths", metavar="PATH...", is_repeatable=True),),
    example="lint new.yaml live.yaml --severity error",
    exit_codes="0 nothing found, 1 something is, 2 an error,\n"
    "3 something could not be read",
)


class _Tally:
    """What was found so far, and what takes no part."""

    def __init__(self, severity: str) -> None:
        self.failed = 0
        self.skipped: list[tuple[Document, str]] = []
        self.shown = frozenset(_SEVERITIES[_SEVERITIES.index(severity) :])
        self._forms: Counter[str] = Counter()
        self._severities: Counter[str] = Counter()
        self._kinds: Counter[str] = Counter()

    def add(self, linted: Linted) -> None:
        """Count what was found in a part of a file."""
        self.failed += len(linted.problems)
        self.skipped += linted.skipped
        self._kinds.update(linted.kinds)
        for document in linted.documents:
            self._forms[_NAMES[document.form]] += 1
            for hazard, _position in document.findings:
                self._severities[hazard.severity] += 1

    def report_kinds(self) -> None:
        """Name the kinds without a schema."""
        if not self._kinds:
            return
        total = self._kinds.total()
        named = ", ".join(
            f"{kind} ({count})" for kind, count in sorted(self._kinds.items())
        )
        report(
            printable(
                f"smp: note: {_counted(total, 'document')} without a schema: {named}; "
                "--crd FILE or --openapi FILE describes more kinds"
            )
        )

    def summary(self) -> str:
        """Return what was looked at and what was found, as a line."""
        forms = [_counted(count, name) for name, count in self._forms.items()]
        found = [
            _counted(self._severities[severity], severity)
            for severity in reversed(_SEVERITIES)
        ]
        hidden = sum(
            count
            for severity, count in self._severities.items()
            if severity not in self.shown
        )
        text = f"{', '.join(forms) or 'no document'}: {', '.join(found)}"
        if hidden:
            text += f" ({hidden} not shown, --severity note shows all)"
        if self.failed:
            text += f", {self.failed} failed"
        return text

    def exit_code(self) -> int:
        """Return the exit code; what could not be read counts more than what is."""
        # As for all commands, 2 is for a run that could read nothing.
        if self.failed:
            return PARTLY if self._forms else ERROR
        return FOUND if any(self._severities[name] for name in self.shown) else DONE


def _counted(count: int, name: str) -> str:
    if count == 1:
        return f"1 {name}"
    ending = "es" if name.lower().endswith("patch") else "s"
    return f"{count} {name}{ending}"


class _Output:
    """What was found, written as it comes where the format allows."""

    def __init__(self, settings: Settings, tally: _Tally) -> None:
        self._tally = tally
        self._is_quiet = settings.quiet
        self._is_coloured = has_colours(settings.color)
        self._printer: Printer | None = None
        if settings.output != "text":
            # Few runs need it, and what it imports.
            from smp.reports import printer_of  # noqa: PLC0415  # see above

            self._printer = printer_of(
                cast("Format", settings.output), title="smp lint"
            )
            self._composition = self._printer.begin()

    def show(self, linted: Linted) -> None:
        """Write what was found in a part of a file."""
        for problem in linted.problems:
            report(problem)
        if self._is_quiet:
            return
        if self._printer is None:
            lines: list[list[Span]] = []
            for document in linted.documents:
                for hazard, position in document.findings:
                    if hazard.severity not in self._tally.shown:
                        continue
                    # The form that editors and compilers use.
                    place = f"{document.source}:{position.line}:{position.column}"
                    remedy = f" ({hazard.remedy})" if hazard.remedy else ""
                    text = printable(f": {hazard.code}: {hazard}{remedy}")
                    severity = (hazard.severity, _STYLES[hazard.severity])
                    lines.append(
                        [(f"{printable(place)}: ", "bold"), severity, (text, "")]
                    )
            write(text_of(lines, is_coloured=self._is_coloured))
            return
        for object_report in reports_of(linted, self._tally.shown):
            piece = self._printer.piece(object_report)
            write("".join(self._composition.add(piece)))

    def end(self) -> None:
        """Write the end of the text."""
        if self._printer is not None and not self._is_quiet:
            write("".join(self._composition.end()))


def reports_of(linted: Linted, shown: Collection[str]) -> Iterator[ObjectReport]:
    """Yield a report on each document, and on what could not be read."""
    # As above.
    from smp.reports import (  # noqa: PLC0415  # see above
        Finding,
        ObjectReport,
        Place,
        finding_of_hazard,
    )

    for document in linted.documents:
        identity = document.identity
        findings = []
        for hazard, position in document.findings:
            if hazard.severity in shown:
                place = Place(document.source, position.line, position.column)
                finding = finding_of_hazard(hazard)
                findings.append(msgspec.structs.replace(finding, place=place))
        yield ObjectReport(
            identity.api_version,
            identity.kind,
            identity.namespace,
            identity.name,
            Place(document.source, document.line),
            "checked",
            findings=tuple(findings),
            notes=(f"read as a {_NAMES[document.form]}",),
        )
    for problem in linted.problems:
        place = Place(linted.source, linted.line)
        headline = problem.partition("\n")[0].removeprefix("smp: error: ")
        finding = Finding("failed", "failure", "error", Path(), headline, place=place)
        yield ObjectReport(
            "", "", "", "", place, "failed", findings=(finding,), error=problem
        )
