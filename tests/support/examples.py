"""The Python examples of a document, and how to run one."""

from __future__ import annotations

import re
from pathlib import Path


def python_examples(document: Path) -> list[str]:
    """Return the code blocks that are marked as Python."""
    text = document.read_text()
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def run_example(code: str, document: str) -> dict[str, object]:
    """Run an example, assertions and all, and return the names that it defines."""
    names: dict[str, object] = {}
    exec(compile(code, document, "exec"), names)  # noqa: S102  # our own documents
    return names
