"""What is timed: this library, the reference in Go, JSON alone, and other libraries.

A contender prepares a row, untimed, and returns turns of the call to be timed, or None
where it has no comparable operation. A contender that cannot be imported is absent, and
the report has the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from benchmarks import peers
from benchmarks.inputs import Row
from benchmarks.interpreted import interpreted
from benchmarks.ours import Prepare, in_process, over_bytes, over_dicts, result_of
from benchmarks.timing import Run, Turn
from smp._values.values import JSON, same

Form: TypeAlias = Literal["bytes", "dicts"]
FORMS: Final[tuple[Form, ...]] = ("bytes", "dicts")


@dataclass(frozen=True, slots=True)
class Contender:
    """One column of a table: what it computes, and the function that prepares a row.

    ``form`` is that of its input and output.
    """

    name: str
    form: Form
    computes: str
    version: str
    prepare: Prepare


@dataclass(frozen=True, slots=True)
class Absent:
    """A contender that cannot take part, and why."""

    name: str
    reason: str


class Go:
    """The reference program, which times itself: from bytes to bytes."""

    def __init__(self) -> None:
        """Start it. Raises ImportError where it cannot be built."""
        go = import_module("tests.support.reference")
        reference = go.reference()
        if reference is None:
            raise ImportError(
                "benchmarks/reference cannot be built: "
                "there is no go, or its modules cannot be downloaded"
            )
        self._reference = reference
        self._as_go_prints: Callable[[JSON], JSON] = go.as_go_prints

    def prepare(self, row: Row) -> Turn:
        """Prepare a row.

        Raises RuntimeError where the result differs from that of this library.
        """
        return self.prepare_operation(row.operation, row, result_of(row))

    def prepare_operation(self, operation: str, row: Row, expected: JSON) -> Turn:
        """Prepare an operation of the program on the documents of a row.

        Raises RuntimeError where the result differs from the expected one.
        """
        expected = self._as_go_prints(expected)
        if not same(self._ask(operation, row, runs=1).get("result"), expected):
            raise RuntimeError(f"{row}: the reference has another result")

        def turn(runs: int) -> Sequence[int]:
            answer = self._ask(operation, row, runs=runs)
            nanoseconds: Sequence[int] = answer["nanoseconds"]
            return nanoseconds

        return turn

    def _ask(self, operation: str, row: Row, *, runs: int) -> dict[str, Any]:
        kind = f"{row.api_version} {row.kind}"
        answer: dict[str, Any] = self._reference.ask(
            operation, kind=kind, time=runs, **row.documents
        )
        return answer


def _codec(name: str) -> Prepare:
    loads, dumps = _CODECS[name](import_module(name))

    def prepare(row: Row) -> Run:
        result = result_of(row)

        def run() -> bytes:
            for text in row.texts:
                loads(text)
            return dumps(result)

        return run

    return in_process(prepare)


Codec: TypeAlias = tuple[Callable[[bytes], JSON], Callable[[JSON], bytes]]
_CODECS: Final[dict[str, Callable[[Any], Codec]]] = {
    "orjson": lambda orjson: (orjson.loads, orjson.dumps),
    "msgspec": lambda msgspec: (msgspec.json.decode, msgspec.json.encode),
}


class _Entry(NamedTuple):
    """A contender by name, with the function that imports and starts it."""

    name: str
    form: Form
    package: str
    computes: str
    start: Callable[[], Prepare]


# The others of a form are compared with its first one.
_OURS: Final = "strategic-merge-patch"
_ENTRIES: Final = (
    _Entry(
        "smp.wire",
        "bytes",
        _OURS,
        "parses, computes, prints",
        lambda: in_process(over_bytes),
    ),
    _Entry(
        "smp.wire, interpreted",
        "bytes",
        "",
        "the same, not compiled",
        interpreted("bytes"),
    ),
    _Entry("Go", "bytes", "", "parses, computes, prints", lambda: Go().prepare),
    _Entry(
        "orjson",
        "bytes",
        "orjson",
        "parses all inputs, prints the result, computes nothing",
        partial(_codec, "orjson"),
    ),
    _Entry(
        "msgspec",
        "bytes",
        "msgspec",
        "the same, with the JSON library of smp.wire",
        partial(_codec, "msgspec"),
    ),
    _Entry("smp", "dicts", _OURS, "computes", lambda: in_process(over_dicts)),
    _Entry(
        "smp, interpreted", "dicts", "", "the same, not compiled", interpreted("dicts")
    ),
    _Entry(
        "openshift",
        "dicts",
        "openshift",
        "three-way alone, as the body of a JSON merge patch",
        peers.openshift,
    ),
    _Entry(
        "kubesdk",
        "dicts",
        "kubesdk",
        "two-way alone, from its own model of the objects",
        peers.kubesdk,
    ),
    _Entry(
        "oper8",
        "dicts",
        "oper8",
        "apply alone, some directives stay in the result",
        peers.oper8,
    ),
    _Entry(
        "jsonpatch",
        "dicts",
        "jsonpatch",
        "diffs two configurations, or applies; lists by position",
        peers.jsonpatch,
    ),
    _Entry(
        "deepdiff",
        "dicts",
        "deepdiff",
        "diffs two configurations, not as a patch; lists by position",
        peers.deepdiff,
    ),
)
NAMES: Final = tuple(entry.name for entry in _ENTRIES)


def contender(name: str) -> Contender | Absent:
    """Return the contender of that name, or why it is absent."""
    entry = next(entry for entry in _ENTRIES if entry.name == name)
    try:
        prepare = entry.start()
    except ImportError as error:
        return Absent(name, str(error))
    return Contender(name, entry.form, entry.computes, _version(entry.package), prepare)


def _version(package: str) -> str:
    if not package:
        return ""
    try:
        return version(package)
    except PackageNotFoundError:
        return "source tree"
