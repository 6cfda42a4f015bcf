"""Spec cases as items of pytest; smp.pytest_plugin collects them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from smp.cases._case import SpecCase, parse
from smp.cases._run import CaseOutcome, run
from smp.cases._update import corrected, updated_text
from smp.errors import SmpError


class CaseFile(pytest.File):
    """A file of spec cases; ``updated`` gets the ids of those that were rewritten."""

    def __init__(self, *, updated: list[str], **options: Any) -> None:
        super().__init__(**options)
        self._updated = updated

    def collect(self) -> Iterable[CaseItem]:
        """Collect each case."""
        try:
            cases = parse(self.path.read_text(encoding="utf-8"), source=str(self.path))
        except (SmpError, UnicodeError) as error:
            raise self.CollectError(str(error)) from None
        for case in cases:
            yield CaseItem.from_parent(
                self, name=case.name, case=case, updated=self._updated
            )


class CaseItem(pytest.Item):
    """A spec case."""

    def __init__(self, *, case: SpecCase, updated: list[str], **options: Any) -> None:
        super().__init__(**options)
        self.case = case
        self._updated = updated

    def runtest(self) -> None:
        """Run the case, and update what it expects if that is asked for.

        Raises DifferentError.
        """
        outcome = run(self.case)
        if outcome.passed:
            return
        if not self.config.getoption("--smp-update"):
            raise DifferentError(outcome)
        text = self.path.read_text(encoding="utf-8")
        changes = {self.case.index: corrected(outcome)}
        updated = updated_text(text, changes, source=str(self.path))
        self.path.write_text(updated, encoding="utf-8")
        self._updated.append(self.nodeid)

    def repr_failure(
        self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None
    ) -> Any:
        """Show the differences, or what is wrong with the case.

        A traceback is shown only for a defect of this library.
        """
        error = excinfo.value
        if isinstance(error, SmpError):
            return str(error)
        if not isinstance(error, DifferentError):
            return super().repr_failure(excinfo, style)
        differences = error.outcome.differences
        names = ", ".join(difference.operation for difference in differences)
        lines = [f"not as expected: {names} (from: {self.case.document['source']})"]
        lines += [difference.text for difference in differences]
        reference = self.case.document.get("reference")
        if reference:
            lines.append(f"the reference does: {json.dumps(reference)}")
        return "\n".join(lines)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the file, the line from zero, and the description of the case."""
        return self.path, self.case.line - 1, self.case.description


class DifferentError(Exception):
    """A case has another result than it expects."""

    def __init__(self, outcome: CaseOutcome) -> None:
        texts = [difference.text for difference in outcome.differences]
        super().__init__("\n".join(texts))
        self.outcome = outcome
