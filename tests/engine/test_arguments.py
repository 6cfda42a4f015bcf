"""Arguments of a wrong type are errors of the library, compiled or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

import smp
from smp import handler

POD = smp.kubernetes().schema("v1", "Pod")
WRONG: Final[tuple[Any, ...]] = ([], "text", 1, None, True)
# Each operation, with the argument that is to be an object.
OPERATIONS: Final[dict[str, Callable[[Any], object]]] = {
    "apply_patch, original": lambda value: smp.apply_patch(value, {}, POD),
    "apply_patch, patch": lambda value: smp.apply_patch({}, value, POD),
    "two_way_patch, original": lambda value: smp.two_way_patch(value, {}, POD),
    "two_way_patch, modified": lambda value: smp.two_way_patch({}, value, POD),
    "three_way_patch, modified": lambda value: smp.three_way_patch({}, value, {}, POD),
    "three_way_patch, live": lambda value: smp.three_way_patch({}, {}, value, POD),
    "three_way_apply, modified": lambda value: smp.three_way_apply({}, value, {}, POD),
    "three_way_apply, live": lambda value: smp.three_way_apply({}, {}, value, POD),
    "compose_patches": lambda value: smp.compose_patches([{}, value], POD),
    "find_conflicts, left": lambda value: smp.find_conflicts(value, {}, POD),
    "find_conflicts, right": lambda value: smp.find_conflicts({}, value, POD),
    "normalize_unions": lambda value: smp.normalize_unions({}, value, POD),
    "validate_unions": lambda value: smp.validate_unions({}, value, POD),
    "handler.patch": lambda value: handler.patch(value, b"{}", handler.MERGE, POD),
    "handler.replace": lambda value: handler.replace(value, b"{}", POD),
}


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("value", WRONG, ids=repr)
def test_what_is_not_an_object_is_named(name: str, value: object) -> None:
    with pytest.raises(smp.ObjectError) as caught:
        OPERATIONS[name](value)
    assert caught.value.code == "not-an-object"


@pytest.mark.parametrize("value", [[], "text", 1, True], ids=repr)
def test_a_last_applied_configuration_is_an_object_or_none(value: Any) -> None:
    with pytest.raises(smp.ObjectError):
        smp.three_way_apply(value, {}, {}, POD)
    assert smp.three_way_apply(None, {}, {}, POD).object == {}


@pytest.mark.parametrize("value", WRONG, ids=repr)
def test_an_old_value_that_is_not_an_object_is_as_if_there_was_none(value: Any) -> None:
    new: dict[str, Any] = {"spec": {"volumes": [{"name": "a", "emptyDir": {}}]}}
    assert smp.normalize_unions(value, new, POD).object is new
    assert smp.validate_unions(value, new, POD) == ()


@pytest.mark.parametrize("value", WRONG, ids=repr)
def test_any_value_has_enums(value: Any) -> None:
    assert smp.validate_enums(value, POD) == ()


CIRCLES: Final[dict[str, tuple[Any, dict[str, Any]]]] = {
    "the root": ("#", {}),
    "one type": ("#A", {"A": "#A"}),
    "two types below a field": ({"fields": {"a": "#A"}}, {"A": "#B", "B": "#A"}),
}


@pytest.mark.parametrize("name", CIRCLES)
def test_a_type_that_only_refers_to_itself_is_an_error(name: str) -> None:
    schema = smp.Schema.inline(*CIRCLES[name])
    with pytest.raises(smp.SchemaError) as caught:
        smp.two_way_patch({"a": {}}, {"a": {"b": 1}}, schema)
    assert caught.value.code == "circular-reference"


def test_a_chain_of_a_hundred_thousand_aliases_is_followed() -> None:
    last = 100_000
    definitions: dict[str, Any] = {f"T{n}": f"#T{n + 1}" for n in range(last)}
    definitions[f"T{last}"] = {"fields": {"b": "integer"}}
    schema = smp.Schema.inline({"fields": {"a": "#T0"}}, definitions)
    patch = smp.two_way_patch({"a": {"b": 1}}, {"a": {}}, schema)
    assert patch == {"a": {"b": None}}


@pytest.mark.parametrize("junk", [1, None, [], 1.5, {1}], ids=repr)
def test_what_is_not_a_type_document_is_a_schema_error(junk: Any) -> None:
    for arguments in [(junk,), ({"fields": {}}, {"A": junk}), ("any", junk)]:
        if arguments == ("any", None):
            continue  # there need not be definitions
        with pytest.raises(smp.SchemaError):
            smp.Schema.inline(*arguments)
