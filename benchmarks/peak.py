"""Apply a patch, and print the peak of memory and the length of the result in bytes.

    python benchmarks/peak.py (traced | resident) API_VERSION KIND ORIGINAL PATCH

traced: what Python's allocators returned, also to msgspec. resident: what the process
took from the operating system, by the highest amount so far. The two files are read
before that, and not counted.
"""

from __future__ import annotations

import resource
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

# At the end of the path: an installed smp is measured rather than the source tree.
sys.path.append(str(Path(__file__).resolve().parent.parent))

import smp

Apply: TypeAlias = Callable[[], bytes]
_BLOCK: Final = 1 << 16
_UNIT: Final = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss


def main(measure: str, api_version: str, kind: str, original: str, patch: str) -> None:
    """Measure, and print."""
    schema = smp.kubernetes().schema(api_version, kind)
    live = Path(original).read_bytes()
    change = Path(patch).read_bytes()
    # A first call, because what it loads and links stays in memory.
    smp.wire.apply_patch(b"{}", change, schema)
    peak, length = _MEASURES[measure](
        lambda: smp.wire.apply_patch(live, change, schema)
    )
    print(peak, length)


def _traced(apply: Apply) -> tuple[int, int]:
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    result = apply()
    _, peak = tracemalloc.get_traced_memory()
    return peak - before, len(result)


def _resident(apply: Apply) -> tuple[int, int]:
    start = _high_water()
    taken: list[bytearray] = []
    # Memory that the process has already, and that is free, would hide what the call
    # takes: use it up first.
    while _high_water() == start:
        taken.append(bytearray(_BLOCK))
    before = _high_water()
    result = apply()
    return _high_water() - before, len(result)


def _high_water() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT


_MEASURES: Final = {"traced": _traced, "resident": _resident}


if __name__ == "__main__":
    main(*sys.argv[1:])
