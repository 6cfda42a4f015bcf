"""A schema that nothing uses any more is freed, whatever was done with it.

A server has another one with each change of a CustomResourceDefinition.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from typing import Final

import pytest

import smp
from smp._values.values import JSONObject
from smp.handler import Options, create
from smp.managed_fields import fieldset_of, server_side_apply, track
from smp.schema.catalog import Catalog
from smp.schema.model import Schema, Types
from smp.unions import validate_unions
from tests.support.server_definitions import CRON_TABS

LIVE: Final[JSONObject] = {
    "apiVersion": "stable.example.com/v1",
    "kind": "CronTab",
    "metadata": {"name": "mine", "namespace": "default"},
    "spec": {"cronSpec": "* * * * *", "replicas": 1},
}
MODIFIED: Final[JSONObject] = {**LIVE, "spec": {"cronSpec": "1 * * * *"}}
BODY: Final = b'{"metadata":{"name":"mine"},"spec":{"replicas":2}}'

OPERATIONS: Final[Mapping[str, Callable[[Schema], object]]] = {
    "field set": lambda schema: fieldset_of(LIVE, schema),
    "track": lambda schema: track(None, LIVE, schema, manager="test"),
    "server-side apply": lambda schema: server_side_apply(
        LIVE, MODIFIED, schema, manager="test", force=True
    ),
    "three-way apply": lambda schema: smp.three_way_apply(LIVE, MODIFIED, LIVE, schema),
    "explain": lambda schema: smp.explain_apply(LIVE, MODIFIED, LIVE, schema),
    "compare": lambda schema: smp.compare(MODIFIED, LIVE, schema),
    "unions": lambda schema: validate_unions(None, LIVE, schema),
    "handler": lambda schema: create(
        BODY, schema, Options(custom=True, validation=True, manager="test")
    ),
}


def types_in_memory() -> int:
    gc.collect()
    return sum(isinstance(each, Types) for each in gc.get_objects())


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=[*OPERATIONS])
def test_a_schema_is_freed(operation: Callable[[Schema], object]) -> None:
    def use() -> None:
        schema = Catalog.from_crd(CRON_TABS).schema("stable.example.com/v1", "CronTab")
        operation(schema)

    # What other tests left is not looked at again and again: it takes seconds.
    gc.freeze()
    # What the first one loads stays.
    use()
    before = types_in_memory()
    for _ in range(3):
        use()
    assert types_in_memory() == before
