"""Print the entry of CHANGELOG.md for a tag, which is the text of its release.

``python tools/release/notes.py v1.2.3``. It fails where the tag, the version of the
package and the changelog do not agree, or where the entry has no date, so that nothing
of a tag that was set by mistake is published. For what is no tag, such as a branch, it
prints the newest entry.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
_TAG: Final = re.compile(r"(?:refs/tags/)?v(\d.*)")
_HEADING: Final = re.compile(r"^## \[?([^\s\]]+)\]?(?: - (\S+))?$", re.MULTILINE)
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


class NotesError(Exception):
    """The changelog does not say what is released."""


def notes_of(ref: str, changelog: str, version: str) -> str:
    """Return the entry of a tag, without its heading. Raises NotesError."""
    headings = [*_HEADING.finditer(changelog)]
    tag = _TAG.fullmatch(ref)
    for index, heading in enumerate(headings):
        if heading[1] == "Unreleased" or (tag and heading[1] != tag[1]):
            continue
        if tag and tag[1] != version:
            raise NotesError(f"the tag is of {tag[1]}, and the version is {version}")
        if tag and not _DATE.fullmatch(heading[2] or ""):
            raise NotesError(f"the entry of {tag[1]} has no date: {heading[2]}")
        end = headings[index + 1].start() if headings[index + 1 :] else None
        text = changelog[heading.end() : end].strip()
        if not text:
            raise NotesError(f"the entry of {heading[1]} is empty")
        return text + "\n"
    raise NotesError(f"CHANGELOG.md has no entry for {ref}")


def version_of(source: str) -> str:
    """Return the version that smp/__init__.py has."""
    found = re.search(r'^__version__ = "(.+)"$', source, re.MULTILINE)
    if found is None:
        raise NotesError("smp/__init__.py has no version")
    return found[1]


def main() -> int:
    """Print the notes."""
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    source = (ROOT / "smp" / "__init__.py").read_text(encoding="utf-8")
    try:
        text = notes_of(sys.argv[1], changelog, version_of(source))
    except NotesError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
