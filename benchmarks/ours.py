"""This library over a row's bytes and over its dicts, timed in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias

import smp
from benchmarks.inputs import Operation, Row
from benchmarks.timing import Run, Turn, timed
from smp._values.values import JSONObject

Prepare: TypeAlias = Callable[[Row], Turn | None]

OVER_DICTS: Final[dict[Operation, Callable[..., JSONObject]]] = {
    "apply": smp.apply_patch,
    "two_way": smp.two_way_patch,
    "three_way": smp.three_way_patch,
}
OVER_BYTES: Final[dict[Operation, Callable[..., bytes]]] = {
    "apply": smp.wire.apply_patch,
    "two_way": smp.wire.two_way_patch,
    "three_way": smp.wire.three_way_patch,
}


def in_process(prepare: Callable[[Row], Run | None]) -> Prepare:
    """Make a contender of a function that prepares a call in this process."""

    def prepared(row: Row) -> Turn | None:
        run = prepare(row)
        return None if run is None else timed(run)

    return prepared


def over_dicts(row: Row) -> Run:
    """Prepare smp over dicts."""
    # Parsed one by one, so that no two of them share a subtree.
    documents = [json.loads(text) for text in row.texts]
    return partial(OVER_DICTS[row.operation], *documents, schema_of(row))


def over_bytes(row: Row) -> Run:
    """Prepare smp.wire."""
    return partial(OVER_BYTES[row.operation], *row.texts, schema_of(row))


def result_of(row: Row) -> JSONObject:
    """Return the result of this library for a row."""
    return OVER_DICTS[row.operation](*row.documents.values(), schema_of(row))


def schema_of(row: Row) -> smp.Schema:
    """Return the schema of the row's kind."""
    return smp.kubernetes().schema(row.api_version, row.kind)
