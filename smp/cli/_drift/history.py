"""Which commit last set what a manifest says at a path: git blame, by position.

``git`` is asked once for each file that has drifted objects, and the position of each
path in the text says which line counts. Of a path that the manifest does not have, it
is the line of the innermost value around it.
"""

from __future__ import annotations

import os
import re
import subprocess
from datetime import UTC, datetime
from typing import Final

import msgspec

from smp._values.path_patterns import pattern_of
from smp._values.times import timestamp
from smp._values.values import JSON, as_list, as_object
from smp.cli._errors import CommandFailure
from smp.cli._inputs import Inputs
from smp.cli._objects import TextPart
from smp.errors import DocumentError, SmpError
from smp.paths import KeyedElement, Path, SetElement, Step

# git blame --porcelain: a commit, and the lines that it last set.
_HEADER: Final = re.compile(r"([0-9a-f]{40,64}) \d+ (\d+)(?: \d+)?")
_NOT_COMMITTED: Final = "0" * 7
_SHOWN: Final = 10


class Commit(msgspec.Struct):
    """A commit: who made it, when, and its first line."""

    id: str
    author: str = ""
    time: str = ""
    summary: str = ""

    def __str__(self) -> str:
        if self.id.startswith(_NOT_COMMITTED):
            return "not committed yet"
        return f"{self.id[:_SHOWN]} {self.time} {self.author}: {self.summary}"


class History:
    """The history of the files of one repository."""

    def __init__(self, repository: str, inputs: Inputs) -> None:
        self._repository = repository
        self._inputs = inputs
        self._blamed: dict[str, dict[int, Commit]] = {}
        # A repository without commits has nothing to blame.
        self._git("rev-parse", "--git-dir")

    @property
    def head(self) -> str:
        """The commit that is checked out; "" where there is none yet."""
        try:
            return self._git("rev-parse", "HEAD").strip()
        except SmpError:
            return ""

    def commits(self, part: TextPart, paths: list[str]) -> list[str]:
        """Return the commit for each path of a manifest, "" where there is none.

        Raises DocumentError for a repository that cannot be read.
        """
        positions = self._inputs.positions(part)
        blamed = self._lines_of(part.source)
        if positions is None or not blamed:
            return [""] * len(paths)
        try:
            value = self._inputs.value_of(part)
        except CommandFailure:
            value = None
        found: list[str] = []
        for path in paths:
            position = positions.of(path_of(path, value))
            commit = blamed.get(position.line)
            found.append("" if commit is None else str(commit))
        return found

    def _lines_of(self, file: str) -> dict[int, Commit]:
        """Return the commit of each line of a file; none for one outside."""
        if file not in self._blamed:
            try:
                real = os.path.realpath(file)
                text = self._git("blame", "--porcelain", "--", real)
            except SmpError:
                # It is in no commit, or in another repository.
                text = ""
            self._blamed[file] = _commits_of_lines(text)
        return self._blamed[file]

    def _git(self, *arguments: str) -> str:
        try:
            ran = subprocess.run(  # noqa: S603  # a command of git, on a path of the user
                ["git", "-C", self._repository, *arguments],  # noqa: S607  # as installed
                capture_output=True,
                check=True,
            )
        except FileNotFoundError:
            raise DocumentError(
                "the command git is not installed", code="missing-program"
            ) from None
        except subprocess.CalledProcessError as error:
            reason = error.stderr.decode(errors="replace").strip()
            raise DocumentError(
                f"git: {reason}", code="invalid-repository", source=self._repository
            ) from None
        return ran.stdout.decode(errors="replace")


def _commits_of_lines(text: str) -> dict[int, Commit]:
    commits: dict[str, Commit] = {}
    lines: dict[int, Commit] = {}
    current = Commit("")
    for line in text.split("\n"):
        # A commit is described where it comes for the first time only.
        header = _HEADER.fullmatch(line)
        if header is not None:
            current = commits.setdefault(header[1], Commit(header[1]))
            lines[int(header[2])] = current
            continue
        name, _, value = line.partition(" ")
        if name == "author":
            current.author = value
        elif name == "author-time":
            moment = datetime.fromtimestamp(int(value), UTC)
            current.time = timestamp(moment)
        elif name == "summary":
            current.summary = value
    return lines


def path_of(text: str, value: JSON = None) -> Path:
    """Return the path that was printed as a text.

    The elements of lists are found in the value that it is a path of, where that is
    known; otherwise they have the keys of the text.
    """
    steps: list[Step] = []
    try:
        pattern = pattern_of(text)
    except ValueError:
        return Path((text,))
    for step in pattern:
        index: int | None = None
        elements = as_list(value)
        for number, element in enumerate(elements):
            if index is None and step.selects(number, element):
                index = number
        if index is not None:
            steps.append(index)
            value = elements[index]
            continue
        value = as_object(value).get(step.text)
        key, equals, of_key = step.text.partition("=")
        if not step.is_in_brackets or not equals or "/" in key:
            steps.append(step.text)
        elif key:
            steps.append(KeyedElement(((key, of_key),)))
        else:
            steps.append(SetElement(of_key))
    return Path(tuple(steps))
