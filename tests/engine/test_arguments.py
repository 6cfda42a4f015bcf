"""Arguments of a wrong type are errors of the library, compiled or not."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, Final, get_args

import pytest

import smp
from smp import handler, managed_fields
from smp.managed_fields import FieldSet, Step, Verb
from tests.support.rows import each_row

POD = smp.kubernetes().schema("v1", "Pod")
BARE: Final[dict[str, Any]] = {"apiVersion": "v1", "kind": "Pod", "metadata": {}}
WRONG: Final[tuple[Any, ...]] = ([], "text", 1, None, True)


def server_side_apply(**options: Any) -> smp.ServerSideApplyResult:
    given = {"live": None, "applied": BARE, "manager": "a", **options}
    return smp.server_side_apply(given.pop("live"), given.pop("applied"), POD, **given)


def track(**options: Any) -> object:
    given = {"old": None, "new": BARE, "manager": "a", **options}
    return managed_fields.track(given.pop("old"), given.pop("new"), POD, **given)


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
    "server_side_apply, live": lambda value: server_side_apply(live=value),
    "server_side_apply, applied": lambda value: server_side_apply(applied=value),
    "track, old": lambda value: track(old=value),
    "track, new": lambda value: track(new=value),
    "simulate, live": lambda value: managed_fields.simulate(value, [], POD),
    "owners": managed_fields.owners,
    "owners_of": lambda value: managed_fields.owners_of(value, smp.Path()),
    "owners_of_fields": lambda value: managed_fields.owners_of_fields(
        value, FieldSet(), operation="Apply"
    ),
    "extract": lambda value: managed_fields.extract(value, POD, "a"),
    "release": lambda value: managed_fields.release(value, POD, "a"),
    "rename": lambda value: managed_fields.rename(value, "a", "b"),
    "upgrade": lambda value: managed_fields.upgrade(
        value, from_managers=["a"], to_manager="b"
    ),
    "blame": managed_fields.blame,
    "fieldset_of": lambda value: managed_fields.fieldset_of(value, POD),
    "removed": lambda value: managed_fields.removed(value, POD, FieldSet()),
    "extracted": lambda value: managed_fields.extracted(value, POD, FieldSet()),
    "handler.patch": lambda value: handler.patch(value, b"{}", handler.MERGE, POD),
    "handler.replace": lambda value: handler.replace(value, b"{}", POD),
}


# None is an object that does not exist.
MAY_BE_NONE: Final = {
    "server_side_apply, live",
    "track, old",
    "simulate, live",
    "handler.patch",
}


@each_row("name", OPERATIONS)
@each_row("value", WRONG, ids=repr)
def test_what_is_not_an_object_is_named(name: str, value: object) -> None:
    if value is None and name in MAY_BE_NONE:
        OPERATIONS[name](value)
        return
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


NAMED: Final[dict[str, Callable[[Any], object]]] = {
    "server_side_apply, manager": lambda name: server_side_apply(manager=name),
    "server_side_apply, subresource": lambda name: server_side_apply(subresource=name),
    "track, manager": lambda name: track(manager=name),
    "track, operation": lambda name: track(operation=name),
    "track, subresource": lambda name: track(subresource=name),
    "rename, old": lambda name: managed_fields.rename(BARE, name, "b"),
    "rename, new": lambda name: managed_fields.rename(BARE, "a", name),
    "upgrade": lambda name: managed_fields.upgrade(
        BARE, from_managers=["a"], to_manager=name
    ),
}


@each_row("name", NAMED)
@each_row("value", [[], {}, 1, None, True], ids=repr)
def test_a_name_is_a_string(name: str, value: object) -> None:
    with pytest.raises(smp.ObjectError) as caught:
        NAMED[name](value)
    assert caught.value.code == "not-a-string"


def test_a_time_without_a_zone_is_utc() -> None:
    naive = datetime(2024, 5, 1, 10)  # noqa: DTZ001  # what is tested
    applied = {**BARE, "spec": {"hostname": "a"}}
    for now in (naive, naive.replace(tzinfo=UTC)):
        result = server_side_apply(applied=applied, now=now)
        [owner] = managed_fields.owners(result.object)
        assert owner.time == "2024-05-01T10:00:00Z"


def test_a_time_that_does_not_exist_in_utc_is_an_error() -> None:
    east = timezone(timedelta(hours=1))
    first = datetime(1, 1, 1, tzinfo=east)
    with pytest.raises(smp.ObjectError) as caught:
        server_side_apply(now=first)
    assert caught.value.code == "invalid-time"


@pytest.mark.parametrize("body", [[], "text", None, True], ids=repr)
def test_the_body_of_a_write_is_an_object(body: Any) -> None:
    for verb in get_args(Verb):
        if verb == "release":
            continue  # it has no body
        run = managed_fields.simulate(BARE, [Step("a", body, verb)], POD)
        [state] = run.states
        assert state.object == BARE
        assert state.error is not None or (verb == "JSON patch" and not body)


@pytest.mark.parametrize("replicas", ["1", None, 1.5, True, {}], ids=repr)
def test_replicas_are_an_integer(replicas: Any) -> None:
    run = managed_fields.simulate(BARE, [Step("a", replicas, "scale")], POD)
    error = run.states[0].error
    assert error is not None
    assert error.code == "invalid-replicas"


def test_an_unknown_verb_is_an_error() -> None:
    verb: Any = "put"
    with pytest.raises(smp.ObjectError) as caught:
        managed_fields.simulate(BARE, [Step("a", BARE, verb)], POD)
    assert caught.value.code == "unknown-verb"


def test_a_path_element_is_a_string() -> None:
    document: Any = {"f:a": {1: {}}}
    with pytest.raises(smp.ObjectError) as caught:
        FieldSet.from_v1(document)
    assert str(caught.value.path) == "a"


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


PLAIN_POD: Final[dict[str, Any]] = {
    **BARE,
    "metadata": {"labels": {"a": "b"}, "finalizers": ["x.io/a"]},
    "spec": {
        "containers": [{"name": "a", "image": "i", "ports": [{"containerPort": 80}]}],
        "nodeSelector": {"a": "b"},
    },
}


def of_other_types(value: Any) -> Any:
    """Return a value with other mappings in place of dicts, and tuples of lists."""
    if isinstance(value, dict):
        return UserDict({name: of_other_types(inner) for name, inner in value.items()})
    if isinstance(value, list):
        return tuple(of_other_types(inner) for inner in value)
    return value


FIELDS: Final = managed_fields.fieldset_of(PLAIN_POD, POD)
NOW: Final = datetime(2024, 5, 1, tzinfo=UTC)
TAKEN: Final[dict[str, Callable[[Any], object]]] = {
    "fieldset_of": lambda pod: managed_fields.fieldset_of(pod, POD),
    "removed": lambda pod: managed_fields.removed(pod, POD, FIELDS),
    "extracted": lambda pod: managed_fields.extracted(pod, POD, FIELDS),
    "track": lambda pod: track(new=pod, now=NOW),
    "server_side_apply": lambda pod: server_side_apply(applied=pod, now=NOW),
    "server_side_apply, live": lambda pod: server_side_apply(live=pod, now=NOW),
    "blame": lambda pod: len(managed_fields.blame(pod).values),
}


@pytest.mark.parametrize("part", ["metadata", "spec"])
@pytest.mark.parametrize("name", TAKEN)
def test_other_mappings_and_tuples_are_owned_as_objects_and_lists(
    name: str, part: str
) -> None:
    pod = {**PLAIN_POD, part: of_other_types(PLAIN_POD[part])}
    assert TAKEN[name](pod) == TAKEN[name](PLAIN_POD)


def cyclic(**members: Any) -> dict[str, Any]:
    """Return an object that contains itself."""
    circle: dict[str, Any] = {**members}
    circle["spec"] = circle
    circle["items"] = [circle]
    return circle


# Compared, or explained: the walks along several objects side by side.
SIDE_BY_SIDE: Final[dict[str, Callable[[Any, Any, smp.Schema], object]]] = {
    "compare": smp.compare,
    "explain_apply": lambda a, b, schema: smp.explain_apply(a, b, a, schema),
    "find_hazards": lambda a, b, schema: smp.find_hazards(a, b, a, schema),
    "three_way_apply": lambda a, b, schema: smp.three_way_apply(a, b, a, schema),
}


@each_row("name", SIDE_BY_SIDE)
def test_objects_that_contain_themselves_are_too_deep(name: str) -> None:
    for schema in (POD, smp.Schema.inline("any")):
        for pair in (
            (cyclic(), cyclic(x=1)),
            (cyclic(x=1), cyclic(x=2)),
            ({}, cyclic()),
            (cyclic(), {}),
        ):
            with pytest.raises(smp.SmpError):
                SIDE_BY_SIDE[name](*pair, schema)


def test_a_type_of_nothing_but_itself_is_too_deep() -> None:
    for document in ({"items": "#a"}, {"values": "#a"}):
        schema = smp.Schema.inline("#a", {"a": document})
        live = {"kind": {"a": {"name": 1}}}
        with pytest.raises(smp.DepthError):
            smp.explain_apply({}, {}, live, schema)


def test_what_is_no_schema_is_an_error_that_says_so() -> None:
    wrong: tuple[Any, ...] = ("pod", {}, 1, POD.type)
    said = set()
    for schema in wrong:
        for operation in (
            lambda schema: smp.two_way_patch({}, {"a": {"b": 1}}, schema),
            lambda schema: smp.three_way_apply({}, {"a": 1}, {}, schema),
            lambda schema: smp.compare({}, {"a": 1}, schema),
            lambda schema: smp.with_defaults({}, schema),
            lambda schema: smp.compose_patches([{}, {}], schema),
            lambda schema: smp.wire.apply_patch(b"{}", b'{"a":{}}', schema),
            lambda schema: smp.normalize_unions({}, {"a": 1}, schema),
            lambda schema: handler.create(b"{}", schema),
            managed_fields.reset_fields,
        ):
            with pytest.raises(smp.SchemaError) as caught:
                operation(schema)
            said.add(caught.value.code)
    assert said == {"not-a-schema"}
