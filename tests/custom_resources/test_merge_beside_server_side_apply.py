"""The local merge beside server-side apply, where both mean the same.

The manager has applied the last-applied configuration; all else in the live object
belongs to another one. The recorded answers of structured-merge-diff and of
kube-apiserver are what server_side_apply is compared with (tests/managed_fields).
"""

from __future__ import annotations

import os
from typing import Final

import smp
from smp._values.values import JSON, JSONObject, as_object, same
from smp.managed_fields import FieldSet, fieldset_of, local_merge, server_side_apply
from smp.schema.catalog import Catalog
from smp.schema.model import Schema
from tests.support.makers.custom_resources import SHAPES, Triple, definition, triple

CASES: Final = int(os.environ.get("SMP_CUSTOM_RESOURCES", "200"))
SEED: Final = int(os.environ.get("SMP_FUZZ_SEED", "1"))
CATALOG: Final = Catalog.from_crd([definition(kind) for kind in SHAPES])


def entry(manager: str, operation: str, fields: FieldSet) -> JSONObject:
    return {
        "apiVersion": "crs.example.com/v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields.to_v1(),
        "manager": manager,
        "operation": operation,
        "time": "2026-01-01T00:00:00Z",
    }


def owned(obj: JSONObject, schema: Schema) -> FieldSet:
    """Return the fields of the spec: the rest is never owned."""
    return fieldset_of({"spec": obj["spec"]}, schema)


def is_comparable(*values: JSON) -> bool:
    """Tell whether no value is null, and none an object or a list that is empty.

    A null removes nothing in server-side apply, and what it empties it stores as null.
    """
    for value in values:
        if value is None or value in ({}, []):
            return False
        inner = [*value.values()] if isinstance(value, dict) else value
        if isinstance(inner, list) and not is_comparable(*inner):
            return False
    return True


def drops_entry(made: Triple) -> bool:
    """Tell whether the configuration drops an entry of a map that others wrote to.

    Server-side apply drops all of it, even what others own there (Go:
    fieldpath.Set.EnsureNamedFieldsAreMembers is about declared fields only). Here only
    what was last applied goes.
    """
    base, live, modified = (
        as_object(as_object(obj["spec"]).get("structures"))
        for obj in (made.last_applied, made.changed, made.modified)
    )
    return any(
        name in live and name not in modified and not same(live[name], content)
        for name, content in base.items()
    )


def test_the_merge_is_that_of_an_apply_with_two_managers() -> None:
    compared = 0
    for number in range(CASES):
        made = triple(SEED, number)
        schema = CATALOG.schema_of(made.modified)
        specs = [made.last_applied["spec"], made.changed["spec"], made.modified["spec"]]
        if not is_comparable(*specs) or drops_entry(made):
            continue
        former = owned(made.last_applied, schema)
        others = owned(made.changed, schema).difference(former)
        managed: JSON = [
            entry("kubectl", "Apply", former),
            entry("others", "Update", others),
        ]
        metadata = as_object(made.changed["metadata"])
        live: JSONObject = {
            **made.changed,
            "metadata": {**metadata, "managedFields": managed},
        }
        merged = local_merge(made.last_applied, made.modified, live, schema).object
        # Server-side apply fills in the defaults as well.
        ours = smp.with_defaults(merged, schema)
        applied = server_side_apply(
            live, made.modified, schema, manager="kubectl", force=True, profile="off"
        ).object
        if not is_comparable(ours["spec"], applied["spec"]):
            continue
        # Server-side apply leaves a rest that the server refuses: it lacks its kind.
        template = as_object(as_object(applied["spec"]).get("template"))
        if template and "kind" not in template:
            continue
        assert same(ours["spec"], applied["spec"]), (number, made, ours, applied)
        compared += 1
    assert compared > CASES / 10


def test_the_order_of_a_merged_list_is_that_of_server_side_apply() -> None:
    schema = CATALOG.schema("crs.example.com/v1", "Named")

    def named(*names: str) -> JSONObject:
        items: JSON = [{"name": name} for name in names]
        return {
            "apiVersion": "crs.example.com/v1",
            "kind": "Named",
            "metadata": {"name": "a"},
            "spec": {"items": items},
        }

    live, modified = named("x", "a", "y", "b", "z"), named("b", "n", "a")
    applied = smp.server_side_apply(live, modified, schema, manager="m", force=True)
    ours = local_merge({}, modified, live, schema).object
    assert ours["spec"] == applied.object["spec"]
