"""Applies of custom resources as a real kube-apiserver and the real kubectl did them.

tests/record/custom_resources.py recorded both, and describes the lines.
"""

from __future__ import annotations

import json
import lzma
from collections import Counter
from functools import cache
from typing import Any

import pytest

import smp
from smp import json_patch, merge_patch
from smp._values.values import JSON, JSONObject, as_object, same
from smp.schema.catalog import Catalog
from smp.schema.model import Schema
from tests.record.custom_resources import FILE, TRIPLES
from tests.support.makers.custom_resources import SHAPES, definition, triple


@cache
def rows() -> list[dict[str, Any]]:
    _header, *lines = lzma.decompress(FILE.read_bytes()).splitlines()
    return [json.loads(line) for line in lines]


@cache
def schema_of(kind: str) -> Schema:
    return Catalog.from_crd(definition(kind)).schema("crs.example.com/v1", kind)


def applied(row: dict[str, Any], *, defaults: bool = False) -> smp.ApplyResult:
    return smp.three_way_apply(
        row["last_applied"],
        row["modified"],
        row["live"],
        schema_of(row["kind"]),
        defaults=defaults,
    )


def patched(live: JSON, patch: Any) -> Any:
    """Apply a patch of either form."""
    if isinstance(patch, list):
        return json_patch.apply(live, patch)
    return merge_patch.apply(live, patch)


def content(obj: JSONObject) -> JSONObject:
    """Return what a server does not set in an object itself."""
    metadata = as_object(obj["metadata"])
    kept = {name: metadata[name] for name in metadata if name != "resourceVersion"}
    return {**obj, "metadata": kept}


def test_every_patch_was_accepted_and_led_to_the_object() -> None:
    for row in rows():
        result = applied(row)
        assert row["answer"] == 200
        sent = (row["patch"], row["media_type"], row["guard"])
        assert (result.patch, result.media_type, result.guard) == sent
        assert same(patched(row["live"], result.patch), result.object)
        stored = applied(row, defaults=True).object
        assert same(content(row["stored"]), content(stored)), row["kind"]
        assert result.converged


def test_no_change_of_another_client_was_lost() -> None:
    """The patch was refused where it was guarded; elsewhere the change is still there.

    409 is the answer to another resourceVersion, 422 to a failed test.
    """
    counts: Counter[tuple[str, str, int]] = Counter()
    for row in rows():
        media_type, _, _ = row["media_type"].partition("+")
        if "refused" in row:
            expected = 409 if media_type == "application/merge-patch" else 422
            assert row["refused"] == expected
        else:
            assert row["kept"] is True
        counts[media_type, row["guard"], row.get("refused", 0)] += 1
    assert counts["application/merge-patch", "none", 0] > 50
    assert counts["application/merge-patch", "resourceVersion", 409] > 50
    assert counts["application/json-patch", "test", 422] > 20
    assert counts["application/json-patch", "resourceVersion", 422] > 10


def test_the_patch_of_kubectl_is_what_kubectl_sent() -> None:
    for row in rows():
        assert same(applied(row).kubectl_patch, row["kubectl"] or {}), row["kind"]


def test_the_triples_are_those_of_the_maker() -> None:
    assert len(rows()) == TRIPLES
    assert {row["kind"] for row in rows()} == set(SHAPES)
    made = triple(1, 7)
    assert same(rows()[7]["modified"], made.modified)


@pytest.mark.parametrize("kind", SHAPES)
def test_every_shape_has_applies_that_change_something(kind: str) -> None:
    changed = [row for row in rows() if row["kind"] == kind and row["patch"]]
    assert len(changed) > 10
