"""The Python examples of a document, and how to run one."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def python_examples(document: Path) -> list[str]:
    """Return the code blocks that are marked as Python."""
    text = document.read_text()
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


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
