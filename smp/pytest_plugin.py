"""Runs spec cases as tests: one item a case, in every directory that holds
case.schema.json.

Other directories count when the option ``smp_cases`` of the configuration or
``--smp-cases DIR`` names them. ``--smp-update`` rewrites what failing cases expect,
except where the variable CI is set. Nothing but pytest is imported until a case file is
there, since every run of pytest imports this module.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from smp.cases import Outcome, SpecCase

_DIRECTORIES: Final = pytest.StashKey[tuple[Path, ...]]()
_UPDATED: Final = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("smp", "strategic merge patch: spec cases")
    group.addoption(
        "--smp-cases",
        metavar="DIR",
        action="append",
        default=[],
        help="run the spec cases in DIR (repeatable)",
    )
    group.addoption(
        "--smp-update",
        action="store_true",
        help="make failing spec cases expect what happens",
    )
    parser.addini(
        "smp_cases",
        "directories of spec cases, beside those that hold a case.schema.json",
        type="paths",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Note which directories hold spec cases; those of the command line are collected,
    too.
    """
    here = config.invocation_params.dir
    named = [
        Path(os.path.abspath(here / name)) for name in config.getoption("--smp-cases")
    ]
    for missing in (directory for directory in named if not directory.is_dir()):
        raise pytest.UsageError(f"--smp-cases: {missing} is not a directory")
    visited = [
        Path(os.path.abspath(here / arg.partition("::")[0])) for arg in config.args
    ]
    config.args += [
        str(path)
        for path in named
        if not any(path.is_relative_to(other) for other in visited)
    ]
    config.stash[_DIRECTORIES] = (*config.getini("smp_cases"), *named)
    config.stash[_UPDATED] = []
    if config.getoption("--smp-update"):
        _require_update_possible(config)


def _require_update_possible(config: pytest.Config) -> None:
    if os.environ.get("CI"):
        raise pytest.UsageError(
            "--smp-update changes what is expected, and the variable CI is set"
        )
    if config.getoption("numprocesses", None):
        raise pytest.UsageError(
            "--smp-update rewrites files, so it does not go with several processes (-n 0)"
        )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> CaseFile | None:
    """Collect a file of spec cases."""
    if (
        file_path.suffix not in (".yaml", ".json")
        or file_path.name == "case.schema.json"
    ):
        return None
    named = parent.config.stash[_DIRECTORIES]
    if not any(
        file_path.is_relative_to(directory) for directory in named
    ) and not _is_marked(file_path.parent):
        return None
    return CaseFile.from_parent(parent, path=file_path)


@cache
def _is_marked(directory: Path) -> bool:
    """Tell whether a directory, or one that it is in, holds the schema of spec cases,
    known by its identifier.
    """
    try:
        marker = json.loads((directory / "case.schema.json").read_bytes())
    except (OSError, ValueError):
        return directory.parent != directory and _is_marked(directory.parent)
    return (
        isinstance(marker, dict)
        and marker.get("$id") == "urn:strategic-merge-patch:spec-case:1"
    )


class CaseFile(pytest.File):
    """A file of spec cases."""

    def collect(self) -> Iterable[CaseItem]:
        """Collect each case."""
        from smp.cases import parse
        from smp.errors import SmpError

        try:
            cases = parse(self.path.read_text(encoding="utf-8"), source=str(self.path))
        except (SmpError, UnicodeError) as error:
            raise self.CollectError(str(error)) from None
        for case in cases:
            yield CaseItem.from_parent(self, name=case.name, case=case)


class CaseItem(pytest.Item):
    """A spec case."""

    def __init__(self, *, case: SpecCase, **options: Any) -> None:
        super().__init__(**options)
        self.case = case

    def runtest(self) -> None:
        """Run the case. Raises DifferentError."""
        from smp.cases import run

        outcome = run(self.case)
        if outcome.passed:
            return
        if not self.config.getoption("--smp-update"):
            raise DifferentError(outcome)
        self._update(outcome)
        self.config.stash[_UPDATED].append(self.nodeid)

    def _update(self, outcome: Outcome) -> None:
        from smp.cases import corrected, updated_text

        text = self.path.read_text(encoding="utf-8")
        updated = updated_text(
            text, {self.case.index: corrected(outcome)}, source=str(self.path)
        )
        self.path.write_text(updated, encoding="utf-8")

    def repr_failure(
        self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None
    ) -> Any:
        """Show the differences, or what is wrong with the case; a traceback only for a
        defect.
        """
        from smp.errors import SmpError

        if isinstance(excinfo.value, DifferentError):
            return "\n".join(self._explained(excinfo.value.outcome))
        return (
            str(excinfo.value)
            if isinstance(excinfo.value, SmpError)
            else super().repr_failure(excinfo, style)
        )

    def _explained(self, outcome: Outcome) -> Iterator[str]:
        names = ", ".join(difference.operation for difference in outcome.differences)
        yield f"not as expected: {names} (from: {self.case.document['source']})"
        yield from (difference.text for difference in outcome.differences)
        if reference := self.case.document.get("reference"):
            yield f"the reference does: {json.dumps(reference)}"

    def reportinfo(self) -> tuple[Path, int, str]:
        """Say where the case stands."""
        return self.path, self.case.line - 1, self.case.description


class DifferentError(Exception):
    """A case did something else than it expects."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(
            "\n".join(difference.text for difference in outcome.differences)
        )
        self.outcome = outcome


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """List the cases that were updated."""
    updated = config.stash[_UPDATED]
    if updated:
        terminalreporter.section("spec cases updated: read them before you commit them")
        terminalreporter.write("".join(f"{nodeid}\n" for nodeid in updated))
