"""The laws of creations: their fields are found in a walk of their own."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random

from hypothesis import given
from hypothesis import strategies as st

import smp
from smp._storage.typed_storage import stored
from smp._values.values import JSON, JSONArray, JSONObject, as_object, same
from smp.managed_fields import Serving, track
from smp.managed_fields._elements import in_order, key_element
from smp.managed_fields._typed import type_problems
from smp.schema.model import Schema
from tests.record.field_sets import every_schema
from tests.support.field_sets import random_value
from tests.support.rows import each_row

CATALOG = smp.kubernetes()
SCHEMAS = [CATALOG.schema(*kind) for kind in CATALOG.kinds()]
EVERY_TYPE = every_schema()
NOW = datetime(2026, 1, 1, tzinfo=UTC)
SUBRESOURCES = ("", "", "", "status", "finalize", "approval")


def spoiled(random: Random, value: JSON) -> JSON:
    """Return a value with nulls, values of other types and elements that come twice."""
    if random.random() < 0.05:
        other: tuple[JSON, ...] = (None, {}, [], "text", 1, True, {"a": None}, ["a"])
        return random.choice(other)
    if isinstance(value, dict):
        return {name: spoiled(random, member) for name, member in value.items()}
    if isinstance(value, list):
        elements: JSONArray = []
        for element in value:
            elements += [spoiled(random, element)] * (2 if random.random() < 0.1 else 1)
        return elements
    return value


def drawn(seed: int) -> tuple[JSONObject, Schema]:
    """Return a new object, most of which are of the types of their schema."""
    random = Random(f"creations {seed}")
    schema = EVERY_TYPE if random.random() < 0.25 else random.choice(SCHEMAS)
    content = as_object(random_value(random, schema.type, 0))
    if random.random() < 0.5:
        content = as_object(spoiled(random, content))
    metadata = {**as_object(content.get("metadata")), "name": "web"}
    metadata.pop("managedFields", None)
    obj: JSONObject = {
        **content,
        "apiVersion": schema.api_version,
        "kind": schema.kind,
        "metadata": metadata,
    }
    return obj, schema


@given(st.integers(0, 2**32))
def test_a_creation_is_an_update_of_nothing(seed: int) -> None:
    obj, schema = drawn(seed)
    random = Random(seed)
    subresource = random.choice(SUBRESOURCES)
    serving = Serving(has_status=random.random() < 0.8, custom=schema is EVERY_TYPE)
    # An entry that owns nothing is not written, but it is compared with: the fields are
    # found as those of an update are.
    entry: JSONObject = {
        "manager": "another",
        "operation": "Update",
        "apiVersion": obj["apiVersion"],
        "fieldsType": "FieldsV1",
        "fieldsV1": {},
    }
    entries: JSONArray = [entry]
    metadata = {**as_object(obj["metadata"]), "managedFields": entries}

    def tracked(new: JSONObject) -> JSONObject:
        return track(
            None,
            new,
            schema,
            manager="me",
            subresource=subresource,
            serving=serving,
            now=NOW,
        )

    assert same(tracked(obj), tracked({**obj, "metadata": metadata}))


@each_row("schema", SCHEMAS, ids=lambda schema: schema.kind)
def test_the_zero_value_of_a_kind_is_of_its_types(schema: Schema) -> None:
    assert not type_problems(stored({}, schema), schema)


NAMES = st.text(alphabet='aB0-. !"#\\<é\u2028\n', max_size=4)


@given(st.lists(NAMES, max_size=8, unique=True), st.booleans(), st.integers(0, 9))
def test_named_elements_are_in_the_order_of_their_names(
    names: list[str],
    is_mixed: bool,  # drawn by hypothesis
    place: int,
) -> None:
    elements = [key_element({"name": name}) for name in names]
    assert in_order(elements) == [key_element({"name": name}) for name in sorted(names)]
    if is_mixed and names:
        longer = key_element({"name": names[place % len(names)], "port": 1})
        ordered = in_order([*elements, longer])
        # An element that has more keys comes after the one with the same name.
        shorter = elements[place % len(names)]
        assert ordered.index(longer) == ordered.index(shorter) + 1
