"""Who is timed: this library, the reference, the cost of JSON alone, and what people use instead.

A contender prepares a row, untimed, and answers with the call to be timed, or with None where it does
nothing comparable. A contender that cannot be imported is absent, and the report says so.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import smp
from benchmarks.inputs import LAST_APPLIED, Operation, Row, compact
from benchmarks.timing import Effort, Run, Sample, measure
from smp.values import JSON, JSONObject, same

Form: TypeAlias = Literal["bytes", "dicts"]
Measure: TypeAlias = Callable[[Row, Effort], Sample | None]


@dataclass(frozen=True, slots=True)
class Contender:
    """One column of a table: its name, its form of input and output, what it computes, and how it is measured."""

    name: str
    form: Form
    computes: str
    version: str
    measure: Measure


@dataclass(frozen=True, slots=True)
class Absent:
    """A contender that cannot take part, and why."""

    name: str
    reason: str


def in_process(prepare: Callable[[Row], Run | None]) -> Measure:
    """Measure what a function prepares, in this process."""

    def measured(row: Row, effort: Effort) -> Sample | None:
        run = prepare(row)
        return None if run is None else measure(run, effort)

    return measured


# --- this library ----------------------------------------------------------------------------------------------------

_OURS: Final = "strategic-merge-patch"
_OVER_DICTS: Final[dict[Operation, Callable[..., JSONObject]]] = {
    "apply": smp.apply_patch,
    "two_way": smp.two_way_patch,
    "three_way": smp.three_way_patch,
}
_OVER_BYTES: Final[dict[Operation, Callable[..., bytes]]] = {
    "apply": smp.wire.apply_patch,
    "two_way": smp.wire.two_way_patch,
    "three_way": smp.wire.three_way_patch,
}


def _schema(row: Row) -> smp.Schema:
    return smp.kubernetes().schema(row.api_version, row.kind)


def over_dicts(row: Row) -> Run:
    """Prepare smp over dicts."""
    documents = map(json.loads, row.texts)  # no two share a subtree, as when they arrive from outside
    return partial(_OVER_DICTS[row.operation], *documents, _schema(row))


def over_bytes(row: Row) -> Run:
    """Prepare smp.wire."""
    return partial(_OVER_BYTES[row.operation], *row.texts, _schema(row))


def result_of(row: Row) -> JSONObject:
    """Return what this library makes of a row."""
    arguments = row.documents.values()
    return _OVER_DICTS[row.operation](*arguments, _schema(row))


# --- the reference ---------------------------------------------------------------------------------------------------


class Go:
    """The reference program, which times itself: from bytes to bytes."""

    def __init__(self) -> None:
        """Start it. Raises ImportError where it cannot be built."""
        oracles = import_module("tests.oracles")
        reference = oracles.reference()
        if reference is None:
            raise ImportError("benchmarks/reference cannot be built: no go, or no way to get its modules")
        self._reference = reference
        self._as_go_prints: Callable[[JSON], JSON] = oracles.as_go_prints

    def measure(self, row: Row, effort: Effort) -> Sample:
        """Measure a row. Raises RuntimeError where it does not come to the result that this library comes to."""
        first = self._ask(row, time=2)
        if not same(first.get("result"), self._as_go_prints(result_of(row))):
            raise RuntimeError(f"{row}: the reference comes to another result")
        enough = effort.count(first["nanoseconds"][-1])
        return effort.sample(self._ask(row, time=enough)["nanoseconds"])

    def _ask(self, row: Row, *, time: int) -> dict[str, Any]:
        kind = f"{row.api_version} {row.kind}"
        answer: dict[str, Any] = self._reference.ask(row.operation, kind=kind, time=time, **row.documents)
        return answer


# --- the cost of JSON alone ------------------------------------------------------------------------------------------


def _codec(name: str) -> Measure:
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


# --- what people use instead -----------------------------------------------------------------------------------------


def _openshift() -> Measure:
    apply_patch = import_module("openshift.dynamic.apply").apply_patch

    def prepare(row: Row) -> Run | None:
        if row.operation != "three_way":
            return None
        last_applied, modified, live = map(json.loads, row.texts)
        live["metadata"].setdefault("annotations", {})[LAST_APPLIED] = compact(last_applied)
        return partial(apply_patch, live, modified)

    return in_process(prepare)


def _jsonpatch() -> Measure:
    jsonpatch = import_module("jsonpatch")

    def prepare(row: Row) -> Run:
        before, after, *_ = map(json.loads, row.texts)
        if row.operation != "apply":
            return partial(jsonpatch.make_patch, before, after)
        return partial(jsonpatch.make_patch(before, result_of(row)).apply, before)

    return in_process(prepare)


def _deepdiff() -> Measure:
    deepdiff = import_module("deepdiff")

    def prepare(row: Row) -> Run | None:
        before, after, *_ = map(json.loads, row.texts)
        return None if row.operation == "apply" else partial(deepdiff.DeepDiff, before, after)

    return in_process(prepare)


# --- all of them -----------------------------------------------------------------------------------------------------


class _Entry(NamedTuple):
    name: str
    form: Form
    package: str
    computes: str
    enter: Callable[[], Measure]


# The first of each form is the one that the others are compared with.
_ENTRIES: Final = (
    _Entry("smp.wire", "bytes", _OURS, "parses, computes, prints", lambda: in_process(over_bytes)),
    _Entry("Go", "bytes", "", "parses, computes, prints", lambda: Go().measure),
    _Entry(
        "orjson", "bytes", "orjson", "parses all inputs, prints the result, computes nothing", partial(_codec, "orjson")
    ),
    _Entry("msgspec", "bytes", "msgspec", "the same, with the JSON library of smp.wire", partial(_codec, "msgspec")),
    _Entry("smp", "dicts", _OURS, "computes", lambda: in_process(over_dicts)),
    _Entry("openshift", "dicts", "openshift", "three-way alone, as the body of a JSON merge patch", _openshift),
    _Entry("jsonpatch", "dicts", "jsonpatch", "diffs two configurations, or applies; lists by position", _jsonpatch),
    _Entry("deepdiff", "dicts", "deepdiff", "diffs two configurations, not as a patch; lists by position", _deepdiff),
)
NAMES: Final = tuple(entry.name for entry in _ENTRIES)


def contender(name: str) -> Contender | Absent:
    """Return the contender of that name, or why it is absent."""
    entry = next(entry for entry in _ENTRIES if entry.name == name)
    try:
        return Contender(name, entry.form, entry.computes, _version(entry.package), entry.enter())
    except ImportError as error:
        return Absent(name, str(error))


def _version(package: str) -> str:
    try:
        return version(package) if package else ""
    except PackageNotFoundError:
        return "source tree"
