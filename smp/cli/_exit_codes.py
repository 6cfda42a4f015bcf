"""What is found decides the exit code: by its severity, and here alone.

docs/exit_codes.md has the table for users.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from smp._values.findings import Finding
from smp.cli._commands import DONE, ERROR, FOUND, PARTLY


class Tally(msgspec.Struct):
    """What became of the objects of a run: how many objects of each kind there are.

    ``failed`` could not be read or computed, ``refused`` would be refused by a server,
    ``warned`` have a warning, and ``found`` are what the command looks for, such as
    differences.
    """

    done: int = 0
    failed: int = 0
    refused: int = 0
    warned: int = 0
    found: int = 0

    def add_messages(self, messages: Iterable[Finding]) -> None:
        """Count what was said of an object."""
        of_object = [*messages]
        if any(map(is_refusal, of_object)):
            self.refused += 1
        elif of_object:
            self.warned += 1

    def exit_code(self, *, is_strict: bool = False) -> int:
        """Return the exit code; ``is_strict`` takes warnings for failures."""
        if self.failed:
            return PARTLY if self.done else ERROR
        if self.refused:
            return ERROR
        return FOUND if self.found or (is_strict and self.warned) else DONE


def is_refusal(finding: Finding) -> bool:
    """Tell whether a finding is that an API server would refuse the object.

    It refuses an apply whose last-applied annotation does not fit, too (Go:
    ValidateAnnotationsSize).
    """
    is_violation = finding.origin == "violation" and finding.severity == "error"
    return is_violation or finding.code == "oversized-last-applied"


def describe(finding: Finding) -> str:
    """Return a finding as a line for a reader; codes are for those who read of them."""
    return f"{finding} [{finding.code}]" if finding.origin == "hazard" else str(finding)
