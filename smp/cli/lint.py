"""``smp lint``: what is wrong with manifests, patches and live objects."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from typing import Final, cast

import msgspec

from smp.cli._commands import Command, CommandOption, repeatable, text_option
from smp.cli._errors import CommandFailure, UsageError, printable, report, say
from smp.cli._exit_codes import Tally
from smp.cli._inputs import NOT_AN_OBJECT, Inputs, name_of, without_object
from smp.cli._interrupts import Interruption
from smp.cli._linted import (
    FORM_NAMES,
    Linted,
    LintedPart,
    Linter,
    LintSettings,
    parts_of,
)
from smp.cli._live import in_place_of
from smp.cli._options import (
    DEEP_OPTION,
    FILENAME_OPTION,
    LIVE_CLUSTER_OPTIONS,
    PATHS,
    POLICIES_OPTION,
    REPORT_FORMATS,
    SCHEMA_OPTIONS,
    CommandSettings,
    Schemas,
    Sources,
    format_option,
    share_options,
)
from smp.cli._outputs import Line, has_colours, style_text, write
from smp.cli._workers import results_of
from smp.documents import Document
from smp.errors import DocumentError, did_you_mean
from smp.hazards import HAZARDS
from smp.lint import LINT
from smp.reports import Format, Layout, ObjectReport, Printer, number, printer_of
from smp.schema.model import Schema
from smp.schema.resource_names import find_kind, names_of_definitions

_SEVERITIES: Final = ("note", "warning", "error")
_STYLES: Final = {"note": "cyan", "warning": "yellow", "error": "red"}


def run_lint(settings: LintSettings) -> int:
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
    paths = settings.paths
    if not paths:
        raise UsageError("give manifests: smp lint FILE, or -f FILE")
    inputs = settings.open_inputs()
    sources = Sources()
    schemas = Schemas(settings, inputs, sources)
    kind = settings.kind
    schema = _schema_of(kind, schemas, sources) if kind else None
    policies = None
    if settings.policies:
        from smp.cli._policies import CommandPolicies  # noqa: PLC0415  # 60 ms, for one option

        policies = CommandPolicies(settings, inputs, schemas)
    linter = Linter(inputs, schemas, settings, schema, policies)
    inputs.read_definitions_of(paths)
    tally = _Tally(settings.severity)
    parts = parts_of(inputs, paths)
    if settings.live:
        entries = in_place_of(settings.live, inputs.listing(paths), inputs, settings)
        parts = (LintedPart(entry) for entry in entries)
    computed = closing(results_of(parts, linter, Linter.result, settings.jobs))
    layout = _layout_of(settings)
    composition = layout.begin()
    with Interruption() as interruption, computed as results:
        for linted in results:
            tally.add(linted)
            for problem in linted.problems:
                report(problem)
            for each in linted.reports:
                for text in composition.add(layout.piece(tally.as_shown(each))):
                    write(text)
            if interruption.is_requested:
                break
        inputs.close()
        for text in composition.end():
            write(text)
    # With --live the findings are of the cluster, and not of the files.
    files = () if settings.live else paths
    inputs.problems += [
        CommandFailure(error) for error in tally.find_missing_objects(files, inputs)
    ]
    for failure in inputs.new_problems():
        tally.failed += 1
        failure.show()
    inputs.skipped += tally.skipped
    tally.report_unchecked(is_strict=settings.strict)
    if not settings.quiet:
        inputs.report_skipped()
        tally.report_kinds()
        say(tally.summary())
    # What a linter finds is what it looks for, whatever a server does with it.
    found = sum(tally.levels[name] for name in tally.shown)
    return Tally(tally.forms.total(), tally.failed, found=found).exit_code()


def _read_code(code: str) -> str:
    if code not in LINT and code not in HAZARDS:
        hint = did_you_mean(code, [*LINT, *HAZARDS])
        raise ValueError(f"there is no code {code!r}; {hint}")
    return code


def _schema_of(kind: str, schemas: Schemas, sources: Sources) -> Schema:
    custom = names_of_definitions(sources.definitions)
    named = find_kind(kind, schemas.catalog, custom)
    if named.path:
        raise UsageError(
            f"Invalid value for '--kind': {named.path!r} is behind the kind "
            f"{named.kind}"
        )
    return schemas.catalog.schema(named.api_version, named.kind)


COMMAND: Final = Command(
    run_lint,
    settings=LintSettings,
    options=(
        FILENAME_OPTION,
        DEEP_OPTION,
        # The name of --as says what documents are.
        *[each for each in LIVE_CLUSTER_OPTIONS if each.name != "as_user"],
        CommandOption(
            "--as",
            "What the documents are. [default: what their content tells]",
            parameter="as_",
            choices=("manifest", "patch", "live"),
        ),
        CommandOption(
            "--type",
            "The type of patches. [default: what their content and their kind tell]",
            parameter="patch_type",
            choices=("strategic", "merge"),
        ),
        text_option(
            "--kind",
            "What patches without apiVersion and kind are of: deploy, "
            "deployments.apps, Deployment.",
            metavar="KIND",
        ),
        CommandOption(
            "--severity",
            "The lowest severity that is shown, and that leads to the exit code 1.",
            choices=_SEVERITIES,
            default="warning",
        ),
        repeatable(
            "--ignore",
            "Leave out what is found under a code. Repeatable.",
            parameter="codes",
            metavar="CODE",
            convert=_read_code,
        ),
        format_option(*REPORT_FORMATS),
        *SCHEMA_OPTIONS,
        POLICIES_OPTION,
        *share_options("quiet", "strict", "exclude", "max_bytes", "jobs", "color"),
    ),
    arguments=(PATHS,),
    example="lint new.yaml live.yaml --severity error",
    exit_codes="0 nothing found, 1 something is, 2 an error,\n"
    "3 something could not be read",
)


class _Tally:
    def __init__(self, severity: str) -> None:
        self.failed = 0
        self.skipped: list[tuple[Document, str]] = []
        self.shown = frozenset(_SEVERITIES[_SEVERITIES.index(severity) :])
        self.forms: Counter[str] = Counter()
        self.levels: Counter[str] = Counter()
        self._kinds: Counter[str] = Counter()
        self._files: set[str] = set()
        self._unchecked: dict[str, None] = {}

    def add(self, linted: Linted) -> None:
        self.failed += len(linted.problems)
        self.skipped += linted.skipped
        self._kinds.update(linted.kinds)
        self._unchecked |= dict.fromkeys(linted.unchecked)
        self.forms.update(FORM_NAMES[form] for form in linted.forms)
        for checked in linted.reports:
            self._files.add(checked.place.file)
            self.levels.update(
                finding.severity
                for finding in checked.findings
                if finding.origin != "failure"
            )

    def find_missing_objects(
        self, paths: tuple[str, ...], inputs: Inputs
    ) -> Iterator[DocumentError]:
        """Yield an error for each file that is named, and has nothing to look at.

        What other tools read, and a patch of which the kind is not known, is skipped.
        """
        skipped = {
            document.source
            for document, reason in (*self.skipped, *inputs.skipped)
            if reason != NOT_AN_OBJECT
        }
        failed = {
            name_of(problem.error.source)
            for problem in inputs.problems
            if isinstance(problem.error, DocumentError)
        }
        for path in dict.fromkeys(paths):
            is_known = name_of(path) in self._files | skipped | failed
            if not is_known and not os.path.isdir(path):  # noqa: PTH112  # without pathlib
                yield without_object(path)

    def as_shown(self, checked: ObjectReport) -> ObjectReport:
        findings = [each for each in checked.findings if each.severity in self.shown]
        return msgspec.structs.replace(checked, findings=tuple(findings))

    def report_unchecked(self, *, is_strict: bool) -> None:
        """Name the definitions with rules that were not checked: once for each."""
        for text in self._unchecked:
            say(f"warning: {text}")
            self.failed += is_strict

    def report_kinds(self) -> None:
        if not self._kinds:
            return
        total = self._kinds.total()
        named = ", ".join(
            f"{kind} ({count})" for kind, count in sorted(self._kinds.items())
        )
        say(
            f"note: {number(total, 'document')} without a schema: {named}; "
            "--crd FILE or --openapi FILE describes more kinds"
        )

    def summary(self) -> str:
        forms = [number(count, name) for name, count in self.forms.items()]
        found = [number(self.levels[name], name) for name in reversed(_SEVERITIES)]
        hidden = sum(
            count
            for severity, count in self.levels.items()
            if severity not in self.shown
        )
        text = f"{', '.join(forms) or 'no document'}: {', '.join(found)}"
        if hidden:
            text += f" ({hidden} not shown, --severity note shows all)"
        if self.failed:
            text += f", {self.failed} failed"
        return text


def _layout_of(settings: CommandSettings) -> Printer:
    """Return how reports are printed: as compilers do, or for other programs."""
    if settings.quiet:
        return Layout(lambda _report: "")
    if settings.report_format is not None:
        return printer_of(cast("Format", settings.report_format), title="smp lint")
    is_coloured = has_colours(settings.color)
    return Layout(
        lambda checked: style_text(_lines_of(checked), is_coloured=is_coloured)
    )


def _lines_of(checked: ObjectReport) -> Iterator[Line]:
    """Yield a line for each finding, in the form that editors and compilers use."""
    for finding in checked.findings:
        if finding.origin != "failure":
            place = printable(str(finding.place))
            remedy = f" ({finding.remedy})" if finding.remedy else ""
            yield [
                (f"{place}: ", "bold"),
                (finding.severity, _STYLES[finding.severity]),
                (printable(f": {finding.code}: {finding}{remedy}"), ""),
            ]
