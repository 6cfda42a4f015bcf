"""A stored object is decoded only where a patch goes, with the same outcome."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import Any
from unittest import mock

import pytest
from hypothesis import given

from benchmarks.inputs import Row, rows
from smp import handler, kubernetes
from smp._values.values import JSONObject, same
from smp.handler import _pipeline
from smp.schema.model import Schema
from smp.wire import _lazy as lazy
from smp.wire import partial
from tests.support.engines import THRESHOLDS, compact
from tests.support.makers import Maker
from tests.support.strategies import makers

DEPLOYMENT = kubernetes().schema("apps/v1", "Deployment")
VARIABLE: JSONObject = {"name": "A", "value": "1"}
LIVE: JSONObject = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "resourceVersion": "7", "labels": {"app": "web"}},
    "spec": {
        "replicas": 3,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
        "template": {
            "spec": {
                "containers": [
                    {
                        "name": "app",
                        "image": "a:1",
                        "env": [{"name": "A", "value": "1"}],
                    },
                    {"name": "log", "image": "l:1"},
                ]
            }
        },
    },
}
PATCHES: list[JSONObject] = [
    {},
    {"spec": {"replicas": 3}},
    {"spec": {"replicas": 4}},
    {"kind": "Deployment", "metadata": {"name": "web"}},
    {"kind": "Job"},
    {"metadata": {"labels": {"app": None, "tier": "x"}, "resourceVersion": "6"}},
    {"metadata": {"annotations": {"a": "b"}, "uid": "u"}},
    {"spec": {"strategy": {"type": "Recreate"}}},
    {"spec": {"strategy": {"type": "Bogus"}}},
    {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}},
    {"spec": {"template": {"spec": {"containers": [{"name": "app", "image": "a:1"}]}}}},
    {"spec": {"template": {"spec": {"containers": [{"name": "app", "image": 2}]}}}},
    {"spec": {"template": {"spec": {"containers": [{"image": "x"}]}}}},
    {"spec": {"bogus": 1}, "more": {}},
    # Errors that name the type of what the object has.
    {"$setElementOrder/kind": ["a"]},
    {"spec": {"$setElementOrder/strategy": [], "strategy": []}},
    {"metadata": {"$setElementOrder/finalizers": [], "finalizers": {}}},
    {"spec": {"strategy": {"$retainKeys": ["type"], "rollingUpdate": {}}}},
    {"spec": {"paused": {"$retainKeys": ["type"], "rollingUpdate": {}}}},
    {
        "spec": {
            "template": {
                "spec": {
                    "$setElementOrder/containers": [{"name": "log"}, {"name": "app"}],
                    "containers": [
                        {"name": "app", "env": [{"name": "A", "valueFrom": {}}]}
                    ],
                }
            }
        }
    },
]


def seen(outcome: handler.Outcome) -> dict[str, Any]:
    if isinstance(outcome, handler.Refused):
        return {"status": outcome.status, "warnings": [*outcome.warnings]}
    return {
        "object": outcome.object,
        "body": json.loads(outcome.body),
        "changed": outcome.changed,
        "warnings": [*outcome.warnings],
        "changes": [str(change) for change in outcome.changes],
    }


def require_one_outcome(
    live: JSONObject, patch: JSONObject, schema: Schema, options: handler.Options
) -> None:
    stored, body = compact(live), compact(patch)
    whole = seen(handler.patch(live, body, handler.STRATEGIC, schema, options))
    with ExitStack() as patched:
        for name in THRESHOLDS:
            patched.enter_context(mock.patch.object(lazy, name, 0))
        patched.enter_context(mock.patch.object(_pipeline, "_MIN_STORED", 0))
        undecoded = handler.patch(stored, body, handler.STRATEGIC, schema, options)
        assert same(seen(undecoded), whole)


@pytest.mark.parametrize("patch", PATCHES, ids=json.dumps)
@pytest.mark.parametrize("validation", ["Ignore", "Warn", "Strict"])
def test_bytes_and_dicts_have_one_outcome(patch: JSONObject, validation: Any) -> None:
    options = handler.Options(field_validation=validation)
    require_one_outcome(LIVE, patch, DEPLOYMENT, options)


@given(makers())
def test_bytes_and_dicts_have_one_outcome_for_any_schema(maker: Maker) -> None:
    schema = maker.subject().schema
    live = maker.object(schema)
    options = handler.Options(prune=False)
    require_one_outcome(live, maker.patch(live, schema), schema, options)
    # An object that was never computed as a patch is a patch with few directives.
    require_one_outcome(live, maker.changed(live, schema), schema, options)
    broken = maker.spoiled(maker.patch(live, schema), schema, patch=True)
    require_one_outcome(live, broken, schema, options)


@pytest.mark.parametrize(
    "row", [row for row in rows() if row.operation == "apply"], ids=str
)
def test_a_small_patch_leaves_most_of_a_long_object_undecoded(row: Row) -> None:
    live, patch = row.texts
    schema = kubernetes().schema(row.api_version, row.kind)
    # The volumes of a Pod are immutable, and a refusal decodes all of the object.
    options = handler.Options(immutable_fields=False)
    decoder = partial._decode  # noqa: SLF001  (what is counted)
    with mock.patch.object(partial, "_decode", wraps=decoder) as decode:
        outcome = handler.patch(live, patch, handler.STRATEGIC, schema, options)
    assert isinstance(outcome, handler.Accepted)
    decoded = sum(len(bytes(call.args[0])) for call in decode.call_args_list)
    assert decoded <= 4 * len(patch) + 4096
    expected = handler.patch(
        json.loads(live), patch, handler.STRATEGIC, schema, options
    )
    assert isinstance(expected, handler.Accepted)
    assert same(outcome.object, expected.object)


def test_the_values_of_changes_are_decoded() -> None:
    selected: JSONObject = {"value": "B", "optional": True}
    union: JSONObject = {"discriminator": "d", "members": {"a": "A", "b": selected}}
    map_: JSONObject = {"values": "string"}
    fields: JSONObject = {"d": "string", "a": map_, "b": map_, "more": map_}
    schema = Schema.inline({"fields": fields, "unions": [union], "any": True})
    for text in ("short", "long" * 2000):
        stored: JSONObject = {"d": "A", "a": {"k": text}, "more": {"k": "x" * 20_000}}
        outcome = handler.patch(
            json.dumps(stored).encode(), b'{"d": "B"}', handler.STRATEGIC, schema
        )
        assert isinstance(outcome, handler.Accepted)
        (change,) = outcome.changes
        assert change.old == {"k": text}


def test_a_long_text_that_stays_as_it_is_changes_nothing() -> None:
    stored: JSONObject = {
        **LIVE,
        "metadata": {"name": "web", "annotations": {"a": "x" * 5000, "b": "y" * 40000}},
    }
    patch: JSONObject = {"metadata": {"annotations": {"a": "x" * 5000}}}
    outcome = handler.patch(
        json.dumps(stored).encode(),
        json.dumps(patch).encode(),
        handler.STRATEGIC,
        DEPLOYMENT,
    )
    assert isinstance(outcome, handler.Accepted)
    assert not outcome.changed
