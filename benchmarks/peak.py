"""Apply a patch in this process, and print how much memory that took at its peak, and
how long the result is; in bytes.

    python benchmarks/peak.py (traced | resident) API_VERSION KIND ORIGINAL PATCH

traced: what Python's allocators handed out, msgspec's calls among them. resident: what
the process took from the operating system, by its high-water mark. The two files are
read before, and not counted.
"""

from __future__ import annotations

import resource
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

# last: what is installed is what is measured
sys.path.append(str(Path(__file__).resolve().parent.parent))

import smp

Apply: TypeAlias = Callable[[], bytes]
_BLOCK: Final = 1 << 16
_UNIT: Final = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss


def main(measure: str, api_version: str, kind: str, original: str, patch: str) -> None:
    """Measure, and print."""
    schema = smp.kubernetes().schema(api_version, kind)
    live, change = Path(original).read_bytes(), Path(patch).read_bytes()
    # what is loaded on first use is not this object's
    smp.wire.apply_patch(b"{}", change, schema)
    print(*_MEASURES[measure](lambda: smp.wire.apply_patch(live, change, schema)))


def _traced(apply: Apply) -> tuple[int, int]:
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    result = apply()
    _, peak = tracemalloc.get_traced_memory()
    return peak - before, len(result)


def _resident(apply: Apply) -> tuple[int, int]:
    start = _high_water()
    taken: list[bytearray] = []
    # memory that is free already would hide what the call takes
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
