"""The Python examples of a document, and how to run one."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.support.paths import DOCS, ROOT, SPEC_CASES

PAGES: Final = {
    **{str(path.relative_to(DOCS)): path for path in sorted(DOCS.rglob("*.md"))},
    "README.md": ROOT / "README.md",
    ".github/CONTRIBUTING.md": ROOT / ".github" / "CONTRIBUTING.md",
    ".github/SECURITY.md": ROOT / ".github" / "SECURITY.md",
    "spec_cases/README.md": SPEC_CASES / "README.md",
}
_PYTHON: Final = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def python_examples(document: Path) -> list[str]:
    """Return the code blocks that are marked as Python."""
    return _PYTHON.findall(document.read_text())


def python_program(document: Path) -> str:
    """Return all blocks as one program, each line where it is in the document."""
    text = document.read_text()
    program = ""
    for block in _PYTHON.finditer(text):
        skipped = text.count("\n", 0, block.start(1)) - program.count("\n")
        program += "\n" * skipped + block[1]
    return program


def run_example(code: str, document: str) -> dict[str, object]:
    """Run an example, assertions and all, and return the names that it defines."""
    names: dict[str, object] = {}
    with logging_as_it_was():
        exec(compile(code, document, "exec"), names)  # noqa: S102  # our own documents
    return names


@contextmanager
def logging_as_it_was() -> Iterator[None]:
    """Undo at the end what frameworks do to the logging of the process."""
    root = logging.getLogger()
    level, handlers, hook = root.level, [*root.handlers], sys.excepthook
    try:
        yield
    finally:
        root.setLevel(level)
        root.handlers[:] = handlers
        sys.excepthook = hook
