"""How much memory an apply takes at its peak, beyond its inputs.

It is measured in two ways, each in several new processes.
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
    """Measure the peaks: medians of the processes, and the larger of the two ways."""
    row = next(row for row in rows() if str(row) == _ROW)
    peaks, output = _peaks(row, min(effort.rounds, _PROCESSES))
    size = sum(len(text) for text in row.texts)
    largest = max(median(of_way) for of_way in peaks.values())
    of_bound = largest / (2 * size + output)
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
        *(f"{median(peaks[way]):,.0f}" for way in _WAYS),
        times(of_bound),
    ]
    data = {
        "row": _ROW,
        "input_bytes": size,
        "output_bytes": output,
        "peak_bytes": peaks,
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
        peaks: dict[str, list[int]] = {way: [] for way in _WAYS}
        for way in _WAYS:
            for _ in range(processes):
                peak, output = _peak_and_output(way, row, files)
                peaks[way].append(peak)
    return peaks, output


def _peak_and_output(way: str, row: Row, files: Sequence[Path]) -> tuple[int, int]:
    arguments = [way, row.api_version, row.kind, *(str(file) for file in files)]
    completed = subprocess.run(
        [sys.executable, str(_PROGRAM), *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    peak, output = completed.stdout.split()
    return int(peak), int(output)
