"""Where the tests find the repository and their data."""

from __future__ import annotations

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
DATA: Final = ROOT / "tests" / "data"
DOCS: Final = ROOT / "docs"
SPEC_CASES: Final = ROOT / "spec_cases"
GO_MODULE: Final = ROOT / "benchmarks" / "reference"
"""The Go module with the reference program; it pins the versions of all Go code."""
