"""What a user is told: findings, of which all that is found here is a kind.

Violations, hazards, causes, warnings and conflicts have fields of their own, and these
in common. Whoever prints, counts or judges them goes by these alone.
"""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

import msgspec

from smp.paths import Path

# "none" is what is as expected, and said where somebody asks why.
Severity: TypeAlias = Literal["error", "warning", "note", "none"]
# What found it: the rule of a finding is known by this and its code.
Origin: TypeAlias = Literal["cause", "hazard", "violation", "warning", "failure"]
Input: TypeAlias = Literal["manifest", "last-applied", "live", "patch"]


class Place(msgspec.Struct, frozen=True):
    """A file, and a line and a column of it; these count from one, 0 is not known."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        if not self.line:
            return self.file
        column = f":{self.column}" if self.column else ""
        return f"{self.file}:{self.line}{column}"


class Meaning(msgspec.Struct, frozen=True):
    """What the findings of a code have in common, and where the rule is from."""

    sentence: str
    remedy: str = ""
    source: str = ""
    severity: Severity = "error"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing about one path of an object that a user should be told.

    Each kind has these as fields or properties. ``place`` is where the path stands in
    the file of ``input``; None where that is not known.
    """

    origin: ClassVar[Origin] = "failure"
    place: Place | None = None

    @property
    def code(self) -> str:
        """What was found: stable and kebab-case."""
        raise NotImplementedError

    @property
    def path(self) -> Path:
        """Where in the input it was found."""
        raise NotImplementedError

    @property
    def input(self) -> Input:
        """The document that the path leads into."""
        return "manifest"

    @property
    def severity(self) -> Severity:
        """An error: the object is not what was asked for, or a server refuses it."""
        return "error"

    @property
    def sentence(self) -> str:
        """What was found; the sentence stands alone."""
        raise NotImplementedError

    @property
    def remedy(self) -> object:
        """What would help, which reads as an imperative sentence; false: unknown."""
        return ""

    @property
    def source(self) -> str:
        """Where the semantics are from, such as a function of Go; may be empty."""
        return ""

    def __str__(self) -> str:
        return f"{self.path}: {self.sentence}" if self.path.steps else self.sentence


class Failure(Finding, frozen=True):
    """Why an object could not be read, or an operation on it failed."""

    code: str
    path: Path
    sentence: str
    remedy: str = ""
