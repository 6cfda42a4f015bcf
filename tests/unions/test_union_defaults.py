"""Members of unions that have a default."""

from __future__ import annotations

from collections import OrderedDict
from typing import cast

import pytest

from smp import handler
from smp._values.values import JSONObject, as_list, as_object, same
from smp.handler import MERGE, Options
from smp.schema.model import Schema
from smp.schema.sources.openapi import inline
from smp.unions import drop_unchosen_defaults
from tests.support.handler_objects import accepted, causes, dump

MEMBER: JSONObject = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
UNION: JSONObject = {
    "type": "object",
    "properties": {
        "type": {
            "type": "string",
            "enum": ["A", "B", "None"],
            "x-kubernetes-unions": {
                "fieldMembers": {"A": {"name": "a"}, "B": {"name": "b"}, "None": None}
            },
        },
        "a": MEMBER,
        "b": MEMBER,
    },
}
PLAIN: JSONObject = {
    "type": "object",
    "properties": {"a": MEMBER, "b": MEMBER},
    "x-kubernetes-unions": [{"fields-to-discriminateBy": {"a": "a", "b": "b"}}],
}
SCHEMA: Schema = inline(
    {
        "type": "object",
        "properties": {
            "metadata": MEMBER,
            "spec": UNION,
            "plain": PLAIN,
            "list": {"type": "array", "items": UNION},
        },
    }
)


def with_defaults(obj: JSONObject) -> JSONObject:
    """Add the default of the member b to each union, as an API server does."""
    result = dict(obj)
    for name in ("spec", "plain"):
        if name in obj:
            result[name] = {"b": {}, **as_object(obj[name])}
    if "list" in obj:
        result["list"] = [{"b": {}, **as_object(each)} for each in as_list(obj["list"])]
    return result


OPTIONS = Options(custom=True, default=with_defaults)


@pytest.mark.parametrize("profile", ["kep1027", "kep1027-draft", "kep2019"])
def test_after_another_member_was_chosen_writes_succeed(profile: str) -> None:
    options = Options(custom=True, default=with_defaults, profile=profile)
    body = dump({"spec": {"type": "A", "a": {}}, "list": [{"type": "A", "a": {}}]})
    created = accepted(handler.create(body, SCHEMA, options)).object
    label = dump({"metadata": {"labels": {"x": "y"}}})
    labelled = accepted(handler.patch(created, label, MERGE, SCHEMA, options)).object
    for obj in (created, labelled):
        assert same(obj["spec"], {"type": "A", "a": {}})
        assert same(obj["list"], [{"type": "A", "a": {}}])
    # The default is back where its member is chosen.
    back = dump({"spec": {"type": "B", "a": None}})
    outcome = accepted(handler.patch(labelled, back, MERGE, SCHEMA, options))
    assert same(outcome.object["spec"], {"type": "B", "b": {}})


def test_a_hook_may_return_other_mappings_and_sequences() -> None:
    def ordered(obj: JSONObject) -> JSONObject:
        result = with_defaults(obj)
        spec = OrderedDict(as_object(result["spec"]))
        return cast("JSONObject", {**result, "spec": spec, "list": (spec,)})

    body = dump({"spec": {"type": "A", "a": {}}, "list": [{"type": "A", "a": {}}]})
    options = Options(custom=True, default=ordered)
    created = accepted(handler.create(body, SCHEMA, options)).object
    assert same(created["spec"], {"type": "A", "a": {}})
    assert same(created["list"], [{"type": "A", "a": {}}])


def test_a_member_that_the_request_sets_is_no_default() -> None:
    body = dump({"spec": {"type": "A", "a": {}, "b": {"x": 1}}})
    outcome = handler.create(body, SCHEMA, OPTIONS)
    assert [field for _, field, _ in causes(outcome)] == ["spec.b"]


GIVEN: list[tuple[str, JSONObject, JSONObject]] = [
    ("a member was given", {"plain": {"a": {}}}, {"plain": {"a": {}}}),
    ("nothing was given", {"plain": {}}, {"plain": {"b": {}}}),
    ("the value selects it", {"spec": {"type": "B"}}, {"spec": {"type": "B", "b": {}}}),
    ("the value selects none", {"spec": {"type": "None"}}, {"spec": {"type": "None"}}),
    ("no value", {"spec": {"a": {}}}, {"spec": {"a": {}}}),
    ("no union", {"other": {}}, {"other": {}}),
]


@pytest.mark.parametrize(
    ("given", "expected"), [row[1:] for row in GIVEN], ids=[row[0] for row in GIVEN]
)
def test_a_default_is_no_choice(given: JSONObject, expected: JSONObject) -> None:
    defaulted = with_defaults(given)
    result = drop_unchosen_defaults(given, defaulted, SCHEMA, profile="kep1027")
    assert same(result, expected)


def test_a_published_default_is_the_value_of_an_absent_discriminator() -> None:
    type_: JSONObject = {
        "type": "string",
        "enum": ["A", "B"],
        "default": "A",
        "x-kubernetes-unions": {"fieldMembers": {"A": {"name": "a"}, "B": None}},
    }
    spec: JSONObject = {"type": "object", "properties": {"type": type_, "a": MEMBER}}
    schema = inline({"properties": {"metadata": MEMBER, "spec": spec}})
    # Without the defaults of a server: KEP-1027, Go Markers, has them in the schema.
    options = Options(custom=True)
    created = accepted(handler.create(dump({"spec": {"a": {}}}), schema, options))
    assert same(created.object["spec"], {"a": {}})
    # The default selects a member that has to be set.
    assert causes(handler.create(dump({"spec": {}}), schema, options)) == [
        (
            "FieldValueRequired",
            "spec.a",
            "Required value: must be specified when `type` is 'A'",
        )
    ]


@pytest.mark.parametrize("profile", ["validate-only", "off"])
def test_a_profile_that_clears_nothing_keeps_defaults(profile: str) -> None:
    given: JSONObject = {"spec": {"type": "A", "a": {}}}
    defaulted = with_defaults(given)
    result = drop_unchosen_defaults(given, defaulted, SCHEMA, profile=profile)
    assert result is defaulted


def test_what_defaults_add_as_a_whole_stays() -> None:
    added: JSONObject = {"spec": {"type": "A", "a": {}, "b": {}}}
    result = drop_unchosen_defaults({}, added, SCHEMA, profile="kep1027")
    assert same(result, added)
