"""The reference implementation: Go's ``k8s.io/apimachinery/pkg/util/strategicpatch``.

It runs behind the program in benchmarks/reference, whose first comment describes the
requests and the answers. Go prints ``1.0`` as ``1``: compare its answers with
``as_go_prints`` of ours.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from decimal import Decimal
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import pytest

from smp._values.values import JSON, JSONObject
from tests.support.paths import GO_MODULE

# A string condition is evaluated when a marked test is about to run, not when it is
# collected, so only a run that needs the program pays for its build.
needs_go = pytest.mark.skipif(
    f"__import__('sys').modules[{__name__!r}].reference() is None",
    reason="benchmarks/reference was not built (SMP_GO=build), or cannot be",
)


class UnavailableError(Exception):
    """The reference cannot be built on this machine."""


class Reference:
    """The Go program, built once for each state of its sources and kept running.

    Another program that answers a JSON line with a JSON line is named by the folder of
    its Go module. Raises UnavailableError where Go or the modules are absent.
    """

    def __init__(self, module: Path = GO_MODULE) -> None:
        self._process = subprocess.Popen(
            [_program(module)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._lock = threading.Lock()

    def run(self, requests: Sequence[JSONObject]) -> list[JSONObject]:
        """Answer requests in order; all are written before the first answer is read.

        Raises ValueError for a malformed request, RuntimeError if the program ends.
        """
        lines = [encoded(request) + b"\n" for request in requests]
        with self._lock:
            writer = threading.Thread(target=self._write, args=(lines,))
            writer.start()
            try:
                answers = [self._read(line) for line in lines]
            finally:
                writer.join()
        return [
            _checked(json.loads(answer), line)
            for answer, line in zip(answers, lines, strict=True)
        ]

    def ask(self, op: str, **request: JSON) -> JSONObject:
        """Answer one request."""
        return self.run([{"op": op, **request}])[0]

    def define(self, name: str, definitions: JSONObject) -> None:
        """Store OpenAPI v3 definitions that later requests name as
        ``definitions_name``.
        """
        self.ask("define", name=name, definitions=definitions)

    def close(self) -> None:
        """End the program."""
        with contextlib.suppress(BrokenPipeError):
            _pipe(self._process.stdin).close()
        self._process.wait()
        _pipe(self._process.stdout).close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _write(self, lines: Sequence[bytes]) -> None:
        # ``_read`` reports the end of the program together with the request.
        with contextlib.suppress(BrokenPipeError):
            _pipe(self._process.stdin).writelines(lines)
            _pipe(self._process.stdin).flush()

    def _read(self, request: bytes) -> bytes:
        answer = _pipe(self._process.stdout).readline()
        if not answer:
            raise RuntimeError(
                f"the reference ended ({self._process.wait()}) on {request[:500]!r}"
            )
        return answer


@cache
def reference(module: Path = GO_MODULE) -> Reference | None:
    """Return the shared program of a Go module, or None where it cannot be built."""
    try:
        shared = Reference(module)
    except UnavailableError:
        return None
    atexit.register(shared.close)
    return shared


def as_go_prints(value: JSON) -> JSON:
    """Return a value as it is after Go has read and printed it.

    An integer beyond 64 bit becomes a float, and a float without a fraction becomes an
    integer."""
    match value:
        case dict():
            return {name: as_go_prints(member) for name, member in value.items()}
        case list():
            return [as_go_prints(element) for element in value]
        case float() if value.is_integer() and abs(value) < 1e21:
            # the shortest digits and then zeros; from 1e21 an exponent
            return int(Decimal(repr(value)))
        case int() if not -(2**63) <= value < 2**63:
            return as_go_prints(float(value))
    return value


def _checked(answer: JSONObject, request: bytes) -> JSONObject:
    if "bad_request" in answer:
        raise ValueError(f"{answer['bad_request']}: {request[:500]!r}")
    return answer


def encoded(value: JSON) -> bytes:
    """Print a value as JSON without spaces."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise RuntimeError("the process was started without this pipe")
    return pipe


def _program(module: Path) -> Path:
    """Build the program unless this state of its sources has been built.

    With SMP_GO=built, which is what tests have where nothing else is said, only what
    was built before is used: a first build takes minutes.
    The rename at the end lets other processes see a complete program or none.
    """
    go = shutil.which("go")
    if go is None:
        raise UnavailableError("no go command")
    program = _cache_directory() / _fingerprint(module)
    if not program.exists():
        if os.environ.get("SMP_GO") == "built":
            raise UnavailableError("it was not built; SMP_GO=build builds it")
        program.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=program.parent) as scratch:
            fresh = Path(scratch) / "reference"
            _build(go, module, fresh)
            fresh.replace(program)
    return program


def _build(go: str, module: Path, target: Path) -> None:
    built = _run([go, "build", "-o", str(target), "."], cwd=module)
    if built.returncode == 0:
        return
    if _run([go, "list", "-deps", "."], cwd=module).returncode != 0:
        raise UnavailableError(built.stderr)
    raise RuntimeError(f"{module} does not compile:\n{built.stderr}")


def _run(command: Sequence[str], *, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def _cache_directory() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (
        (Path(base) if base else Path.home() / ".cache")
        / "strategic-merge-patch"
        / "reference"
    )


def _fingerprint(module: Path) -> str:
    digest = hashlib.sha256()
    for source in sorted(module.iterdir()):
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
