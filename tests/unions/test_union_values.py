"""Unlisted values, defaults and empty values of unions, and what violations say."""

from __future__ import annotations

import pytest

from smp import (
    DepthError,
    ObjectError,
    normalize_unions,
    validate_unions,
)
from smp._values.values import JSON, JSONObject
from smp.schema.model import Schema
from tests.support.union_schemas import (
    CLOSED,
    D2019,
    MAP,
    A,
    cleared,
    schema_with,
    struct,
)


def test_an_unlisted_value_beside_a_member_that_was_there_before_is_refused() -> None:
    # KEP-1027, cases 34 and 39. A value without a member may be one that needs none.
    open_ = Schema.inline(struct())
    assert cleared(A, {**A, "d": "Z"}, open_) == []
    (violation,) = validate_unions(A, {**A, "d": "Z"}, open_, ratchet=True)
    assert str(violation) == "a: Forbidden: may not be specified when `d` is 'Z'"
    accepted: list[JSONObject] = [{"d": "Z"}, {"d": "Z", "a": "2"}]
    for new in accepted:
        assert validate_unions(A, new, open_) == ()
    assert validate_unions(None, {**A, "d": "Z"}, open_) == ()


def test_listed_values_are_no_warning() -> None:
    listed = Schema.inline(struct(enum=("A", "B", "E")))
    assert normalize_unions(A, {"d": "E", "a": "1"}, listed).warnings == ()
    assert normalize_unions(A, {"d": "Z", "a": "1"}, listed).object == {
        "d": "Z",
        "a": "1",
    }


def test_an_absent_discriminator_has_its_default() -> None:
    union: JSONObject = {
        "discriminator": "d",
        "members": MAP,
        "empty": ["E"],
        "default": "A",
    }
    schema = Schema.inline(struct(union))
    assert cleared({"a": "1"}, {"d": "A", "a": "1", "b": "1"}, schema) == []
    assert cleared({"d": "B", "b": "1"}, {"a": "1", "b": "1"}, schema) == ["b"]
    assert validate_unions(None, {"a": "1"}, schema) == ()


def test_an_empty_value_may_mean_that_a_member_is_not_set() -> None:
    union: JSONObject = {
        "members": {"a": {"value": "A", "empty_is_unset": True}, "b": "B"}
    }
    schema = Schema.inline(struct(union))
    assert validate_unions(None, {"a": "", "b": "1"}, schema) == ()
    assert len(validate_unions(None, {"a": "x", "b": ""}, schema)) == 1
    assert cleared({"b": "1"}, {"a": "", "b": "1"}, schema, "kep2019") == []


@pytest.mark.parametrize(
    ("obj", "code", "path", "reason", "message"),
    [
        (
            {"d": "Z"},
            "unsupported-value",
            "u.d",
            "FieldValueNotSupported",
            'Unsupported value: "Z": supported values: "A", "B"',
        ),
        ({}, "discriminator-required", "u.d", "FieldValueRequired", "Required value"),
        (
            {"d": "A"},
            "member-required",
            "u.a",
            "FieldValueRequired",
            "Required value: must be specified when `d` is 'A'",
        ),
        (
            {"d": "A", "a": "1", "b": "1"},
            "union-several",
            "u.b",
            "FieldValueForbidden",
            "Forbidden: may not be specified when `d` is 'A'",
        ),
    ],
)
def test_a_violation_is_a_cause_of_a_status(
    obj: JSONObject, code: str, path: str, reason: str, message: str
) -> None:
    schema = schema_with(u=struct(D2019, enum=("A", "B")))
    (wrong,) = validate_unions(None, {"u": obj}, schema)
    assert (wrong.code, str(wrong.path), wrong.reason, wrong.message) == (
        code,
        path,
        reason,
        message,
    )
    assert wrong.cause == {"reason": reason, "message": message, "field": path}
    assert str(wrong) == f"{path}: {message}"


def test_a_member_added_under_an_unmodified_discriminator_asks_for_its_change() -> None:
    # KEP-1027, Validation: "error loudly that the client must change the discriminator
    # if it changes any union member fields". A create changes nothing.
    (wrong,) = validate_unions({"u": A}, {"u": {**A, "b": "1"}}, CLOSED)
    assert wrong.message == (
        "Forbidden: may not be specified when `d` is 'A'; `d` must change to 'B' with"
        " it"
    )
    (wrong,) = validate_unions(
        {"u": {"d": "B", "b": "1"}}, {"u": {**A, "b": "1"}}, CLOSED
    )
    assert wrong.message == "Forbidden: may not be specified when `d` is 'A'"


def test_violations_stand_in_the_order_of_the_rules() -> None:
    schema = Schema.inline(struct(D2019, enum=("A", "B")))
    codes = [
        violation.code
        for violation in validate_unions(None, {"d": "A", "b": "1"}, schema)
    ]
    assert codes == ["member-required", "member-forbidden"]


@pytest.mark.parametrize("value", [None, [], "x", 1, True])
def test_what_is_not_an_object_is_an_error(value: JSON) -> None:
    for operation in (normalize_unions, validate_unions):
        with pytest.raises(ObjectError) as caught:
            operation({}, value, CLOSED)  # type: ignore[arg-type]  # wrong on purpose
        assert caught.value.code == "not-an-object"


def test_nothing_is_copied_where_there_are_no_unions() -> None:
    new: JSONObject = {"x": {"y": [1]}}
    result = normalize_unions(
        None, new, schema_with(x={"fields": {"y": {"items": "integer"}}})
    )
    assert result.object is new
    assert (result.changes, result.warnings) == ((), ())


def test_nesting_beyond_the_stack_is_an_error() -> None:
    itself: JSONObject = {
        **struct(),
        "fields": {"d": "string", "a": "string", "b": "string", "child": "#it"},
    }
    schema = Schema.inline("#it", {"it": itself})
    deep: JSONObject = {}
    for _ in range(5000):
        deep = {"child": deep}
    for operation in (normalize_unions, validate_unions):
        with pytest.raises(DepthError):
            operation(None, deep, schema)
