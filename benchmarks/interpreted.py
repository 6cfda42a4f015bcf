"""This library, interpreted from its source, for a machine on which it is compiled.

    python -m benchmarks.interpreted bytes

It runs in a process of its own. A request is a line, {"row": "ConfigMap, small: apply",
"runs": 10}, and so is the answer: an array of the nanoseconds of each run.
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
from smp._values.values import COMPILED

_ROOT: Final = Path(__file__).resolve().parent.parent
_FORMS: Final[dict[str, Callable[[Row], Run]]] = {
    "bytes": over_bytes,
    "dicts": over_dicts,
}


class Interpreted:
    """The client of that process."""

    def __init__(self, form: str) -> None:
        """Start it. Raises ImportError where this process interprets as well."""
        if not COMPILED:
            raise ImportError("the engine of this process is interpreted, too")
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, form],
            env=source_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def prepare(self, row: Row) -> Turn:
        """Prepare a row."""

        def turn(runs: int) -> Sequence[int]:
            request = {"row": str(row), "runs": runs}
            print(json.dumps(request), file=_pipe(self._process.stdin), flush=True)
            answer = _pipe(self._process.stdout).readline()
            nanoseconds: Sequence[int] = json.loads(answer)
            return nanoseconds

        return turn


def source_environment() -> dict[str, str]:
    """Return the environment of a Python that imports smp from the source tree."""
    return {**os.environ, "PYTHONPATH": str(_ROOT)}


def interpreted(form: str) -> Callable[[], Prepare]:
    """Return the function that starts this contender."""
    return lambda: Interpreted(form).prepare


def _pipe(pipe: IO[str] | None) -> IO[str]:
    if pipe is None:
        raise RuntimeError("the process was started without this pipe")
    return pipe


def serve(form: str, requests: IO[str], answers: IO[str]) -> None:
    """Answer until there are no more requests."""
    rows_by_name = {str(row): row for row in rows()}
    turns: dict[str, Turn] = {}
    for line in requests:
        request = json.loads(line)
        name = request["row"]
        if name not in turns:
            turns[name] = timed(_FORMS[form](rows_by_name[name]))
            gc.collect()
            gc.freeze()  # as timing.in_turns does: the collector leaves the inputs out
        gc.collect()
        nanoseconds = turns[name](request["runs"])
        print(json.dumps([*nanoseconds]), file=answers, flush=True)


if __name__ == "__main__":
    serve(sys.argv[1], sys.stdin, sys.stdout)
