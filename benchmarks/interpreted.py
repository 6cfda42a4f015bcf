"""This library as its source reads, interpreted, in a process of its own: for a machine
on which it is compiled.

    python -m benchmarks.interpreted bytes

A line is a request, {"row": "ConfigMap, small: apply", "runs": 10}, and is answered by
a line: the nanoseconds of each run, in an array.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Final

from benchmarks.inputs import Row, rows
from benchmarks.ours import Prepare, over_bytes, over_dicts
from benchmarks.timing import Run, Turn, timed
from smp.values import COMPILED

_ROOT: Final = Path(__file__).resolve().parent.parent
_FORMS: Final[dict[str, Callable[[Row], Run]]] = {
    "bytes": over_bytes,
    "dicts": over_dicts,
}


class Interpreted:
    """The process, from this side. Raises ImportError where this one interprets as
    well.
    """

    def __init__(self, form: str) -> None:
        """Start it."""
        if not COMPILED:
            raise ImportError("the engine of this process is interpreted, too")
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, form],
            env=of_source(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def prepare(self, row: Row) -> Turn:
        """Prepare a row."""

        def turn(runs: int) -> Sequence[int]:
            request = {"row": str(row), "runs": runs}
            print(json.dumps(request), file=_pipe(self._process.stdin), flush=True)
            nanoseconds: Sequence[int] = json.loads(
                _pipe(self._process.stdout).readline()
            )
            return nanoseconds

        return turn


def of_source() -> dict[str, str]:
    """Return the environment of a Python that imports the source tree, whatever is
    installed.
    """
    return {**os.environ, "PYTHONPATH": str(_ROOT)}


def interpreted(form: str) -> Callable[[], Prepare]:
    """Return what enters this library as a contender of a form."""
    return lambda: Interpreted(form).prepare


def _pipe(pipe: IO[str] | None) -> IO[str]:
    if pipe is None:
        raise RuntimeError("the process was started without this pipe")
    return pipe


def serve(form: str, requests: IO[str], answers: IO[str]) -> None:
    """Answer until there are no more requests."""
    named = {str(row): row for row in rows()}
    turns: dict[str, Turn] = {}
    for line in requests:
        asked = json.loads(line)
        name = asked["row"]
        if name not in turns:
            turns[name] = timed(_FORMS[form](named[name]))
            gc.collect()
            gc.freeze()
        gc.collect()
        print(json.dumps([*turns[name](asked["runs"])]), file=answers, flush=True)


if __name__ == "__main__":
    serve(sys.argv[1], sys.stdin, sys.stdout)
