"""How much memory an apply takes at its peak, beyond its inputs: measured in two ways,
each in fresh processes.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.inputs import Row, rows
from benchmarks.report import Section, table, times
from benchmarks.timing import Effort, Ratio

INPUTS_AND_OUTPUT: Final = "(2 x input + output)"
_ROW: Final = "Pod, 100 containers x 200 env: apply"
_PROGRAM: Final = Path(__file__).parent / "peak.py"
_PROCESSES: Final = 5
_WAYS: Final = ("traced", "resident")


def section(effort: Effort) -> Section:
    """Measure the peak; of several processes the median counts, and the larger one of
    the two ways.
    """
    row = next(row for row in rows() if str(row) == _ROW)
    taken, output = _peaks(row, min(effort.rounds, _PROCESSES))
    size = sum(map(len, row.texts))
    of_bound = max(median(found) for found in taken.values()) / (2 * size + output)
    head = [
        "row",
        "input bytes",
        "output bytes",
        *(f"peak, {way}" for way in _WAYS),
        f"of {INPUTS_AND_OUTPUT}",
    ]
    cells = [
        _ROW,
        f"{size:,}",
        f"{output:,}",
        *(f"{median(taken[way]):,.0f}" for way in _WAYS),
        times(of_bound),
    ]
    data = {
        "row": _ROW,
        "input_bytes": size,
        "output_bytes": output,
        "peak_bytes": taken,
    }
    return Section(
        "memory",
        "Memory",
        table(head, [cells]),
        data,
        [Ratio(f"memory: {_ROW}", INPUTS_AND_OUTPUT, of_bound, of_bound)],
    )


def _peaks(row: Row, processes: int) -> tuple[dict[str, list[int]], int]:
    """Return the peaks by way, and the length of the result."""
    with tempfile.TemporaryDirectory() as name:
        files = [Path(name) / document for document in row.documents]
        for file, text in zip(files, row.texts, strict=True):
            file.write_bytes(text)
        answers = {
            way: [_ask(way, row, files) for _ in range(processes)] for way in _WAYS
        }
    _, output = answers[_WAYS[0]][0]
    return {way: [peak for peak, _ in found] for way, found in answers.items()}, output


def _ask(way: str, row: Row, files: Sequence[Path]) -> tuple[int, int]:
    command = [
        sys.executable,
        str(_PROGRAM),
        way,
        row.api_version,
        row.kind,
        *map(str, files),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    peak, length = map(int, done.stdout.split())
    return peak, length
