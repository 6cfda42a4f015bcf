"""Arguments that are JSON, but not of Python's own types, and what is not JSON."""

from __future__ import annotations

import subprocess
import sys
from collections import OrderedDict, UserDict, defaultdict
from collections.abc import Callable
from enum import Enum, IntEnum
from types import MappingProxyType
from typing import Any, Final

import msgspec
import pytest

import smp
from smp import handler, json_patch, merge_patch, wire
from smp._values.values import JSON, JSONObject, same
from smp.errors import Conflict
from smp.handler import Accepted, Options

KUBERNETES: Final = smp.kubernetes()
POD: Final = KUBERNETES.schema("v1", "Pod")
SERVICE: Final = KUBERNETES.schema("v1", "Service")
CONFIG_MAP: Final = KUBERNETES.schema("v1", "ConfigMap")


class Text(str):
    """A subclass, as the scalar strings of ruamel.yaml are."""

    __slots__ = ()


class Integer(int):
    """A subclass, as the hexadecimal integers of ruamel.yaml are."""


class Port(IntEnum):
    HTTP = 80


class Name(str, Enum):  # noqa: UP042  # its str() is not its text
    APP = "app"


class CommentedMap(OrderedDict[str, Any]):
    """A dictionary with attributes, as ruamel.yaml makes them."""

    comments = ("# a comment",)


class CommentedSeq(list[Any]):
    """A list with attributes, as ruamel.yaml makes them."""

    comments = ("# a comment",)


def default_dict(value: JSONObject) -> Any:
    return defaultdict(dict, value)


def undecoded(value: JSONObject) -> Any:
    return msgspec.Raw(msgspec.json.encode(value))


MAPPINGS: Final[dict[str, Callable[[JSONObject], Any]]] = {
    "OrderedDict": OrderedDict,
    "defaultdict": default_dict,
    "CommentedMap": CommentedMap,
    "MappingProxyType": MappingProxyType,
    "UserDict": UserDict,
    "msgspec.Raw": undecoded,
}
every_mapping = pytest.mark.parametrize("mapping", MAPPINGS.values(), ids=MAPPINGS)
every_list = pytest.mark.parametrize("sequence", [tuple, CommentedSeq])


def everywhere(value: JSON, mapping: Callable[[JSONObject], Any]) -> Any:
    """Make every object of a value one of another type."""
    if isinstance(value, dict):
        members = {name: everywhere(each, mapping) for name, each in value.items()}
        # Its content is decoded as a whole.
        return mapping(value if mapping is undecoded else members)
    if isinstance(value, list):
        return [everywhere(each, mapping) for each in value]
    return value


LAST: Final[JSONObject] = {
    "metadata": {"labels": {"a": "1", "gone": "1"}},
    "spec": {
        "containers": [
            {"name": "app", "env": [{"name": "A", "value": "1"}]},
            {"name": "old"},
        ],
        "volumes": [{"name": "v", "emptyDir": {}}],
    },
}
MODIFIED: Final[JSONObject] = {
    "metadata": {"labels": {"a": "2"}},
    "spec": {
        "containers": [{"name": "app", "env": [{"name": "B", "value": "1"}]}],
        "volumes": [{"name": "v", "hostPath": {"path": "/"}}],
    },
}
LIVE: Final[JSONObject] = {
    "metadata": {"name": "n", "labels": {"a": "1", "gone": "1", "server": "1"}},
    "spec": {
        "containers": [
            {"name": "app", "tty": True, "env": [{"name": "A", "value": "1"}]},
            {"name": "old"},
        ],
        "volumes": [{"name": "v", "emptyDir": {}}],
    },
}


def applied(documents: list[Any]) -> smp.ApplyResult:
    last_applied, modified, live = documents
    return smp.three_way_apply(last_applied, modified, live, POD)


@every_mapping
@pytest.mark.parametrize("argument", range(3))
def test_any_mapping_is_an_object_in_every_argument_of_an_apply(
    mapping: Callable[[JSONObject], Any], argument: int
) -> None:
    expected = smp.three_way_apply(LAST, MODIFIED, LIVE, POD)
    documents: list[Any] = [LAST, MODIFIED, LIVE]
    documents[argument] = everywhere(documents[argument], mapping)
    result = applied(documents)
    assert result.object == expected.object
    assert result.patch == expected.patch
    assert (result.changes, result.unmet) == (expected.changes, expected.unmet)


# The place of one object in the three documents, from the outside to the inside.
PLACES: Final = [
    ("metadata",),
    ("metadata", "labels"),
    ("spec",),
    ("spec", "containers", 0),
    ("spec", "containers", 0, "env", 0),
    ("spec", "volumes", 0),
]


def with_one(value: Any, place: tuple[str | int, ...], change: Any) -> Any:
    """Return a document with the value at one place changed."""
    if not place:
        return change(value)
    step, *rest = place
    copied = value.copy()
    copied[step] = with_one(value[step], tuple(rest), change)
    return copied


@every_mapping
@pytest.mark.parametrize("place", PLACES, ids=repr)
def test_a_mapping_at_one_place_is_an_object(
    mapping: Callable[[JSONObject], Any], place: tuple[str | int, ...]
) -> None:
    expected = smp.three_way_apply(LAST, MODIFIED, LIVE, POD).object
    documents = (LAST, MODIFIED, LIVE)
    for argument in range(3):
        arguments: list[Any] = [*documents]
        arguments[argument] = with_one(documents[argument], place, mapping)
        assert applied(arguments).object == expected
        # Two of the three are such, so that their types are equal.
        for other in range(3):
            pair = [*arguments]
            pair[other] = with_one(documents[other], place, mapping)
            assert applied(pair).object == expected


@every_list
@pytest.mark.parametrize(
    "place", [("spec", "containers"), ("spec", "containers", 0, "env")], ids=repr
)
def test_a_tuple_and_a_subclass_of_list_are_lists(
    sequence: Callable[[list[Any]], Any], place: tuple[str | int, ...]
) -> None:
    expected = smp.three_way_apply(LAST, MODIFIED, LIVE, POD).object
    for argument in range(3):
        arguments: list[Any] = [LAST, MODIFIED, LIVE]
        arguments[argument] = with_one(arguments[argument], place, sequence)
        assert applied(arguments).object == expected


@pytest.mark.parametrize("port", [Port.HTTP, Integer(80)], ids=repr)
def test_an_integer_of_another_type_is_the_merge_key_that_it_is(port: int) -> None:
    live: JSONObject = {"spec": {"ports": [{"port": 80, "name": "a"}]}}
    change: JSONObject = {"spec": {"ports": [{"port": port, "name": "b"}]}}
    expected: JSONObject = {"spec": {"ports": [{"port": 80, "name": "b"}]}}
    assert same(smp.apply_patch(live, change, SERVICE), expected)
    assert same(smp.apply_patch(change, live, SERVICE), live)
    assert smp.two_way_patch(live, change, SERVICE)["spec"] == {
        "$setElementOrder/ports": [{"port": 80}],
        "ports": [{"port": 80, "name": "b"}],
    }
    assert smp.three_way_apply(live, change, live, SERVICE).object == expected


@pytest.mark.parametrize("name", [Name.APP, Text("app")], ids=repr)
def test_a_string_of_another_type_is_the_name_and_the_merge_key_that_it_is(
    name: str,
) -> None:
    live: JSONObject = {"spec": {"containers": [{"name": "app", "image": "1"}]}}
    change: JSONObject = {"spec": {"containers": [{"name": name, "image": "2"}]}}
    expected = {"spec": {"containers": [{"name": "app", "image": "2"}]}}
    assert smp.apply_patch(live, change, POD) == expected
    assert smp.three_way_apply(live, change, live, POD).object == expected
    labels = smp.apply_patch({"data": {"app": "1"}}, {"data": {name: "2"}}, CONFIG_MAP)
    assert wire.encode(labels) == b'{"data":{"app":"2"}}'


def test_a_scalar_that_equals_is_no_change() -> None:
    live: JSONObject = {"spec": {"replicas": 1, "paused": False}}
    deployment = KUBERNETES.schema("apps/v1", "Deployment")
    modified: JSONObject = {"spec": {"replicas": Integer(1), "paused": False}}
    assert smp.two_way_patch(live, modified, deployment) == {}
    assert smp.two_way_patch(modified, live, deployment) == {}


@every_mapping
def test_every_operation_takes_any_mapping(
    mapping: Callable[[JSONObject], Any],
) -> None:
    change: JSONObject = {"metadata": {"labels": {"b": "2"}}}
    live: JSONObject = {"metadata": {"labels": {"a": "1"}}}
    both: JSONObject = {"metadata": {"labels": {"a": "1", "b": "2"}}}
    other_change, other_live = everywhere(change, mapping), everywhere(live, mapping)
    for first, second in [(other_live, change), (live, other_change)]:
        assert smp.apply_patch(first, second, POD) == both
        assert merge_patch.apply(first, second) == both
        assert smp.compose_patches([first, second], POD) == both
        assert smp.find_conflicts(first, second, POD) == ()
        assert smp.two_way_patch(first, second, POD) == {
            "metadata": {"labels": {"a": None, "b": "2"}}
        }
        assert merge_patch.diff(first, second) == {
            "metadata": {"labels": {"a": None, "b": "2"}}
        }
    operations: Any = [{"op": "add", "path": "/metadata/labels/b", "value": "2"}]
    assert json_patch.apply(everywhere(live, mapping), operations) == both
    assert json_patch.apply(live, everywhere(operations, mapping)) == both
    assert smp.with_last_applied(other_live) == smp.with_last_applied(live)
    annotated = smp.with_last_applied(live)
    expected = smp.last_applied_configuration(annotated)
    assert smp.last_applied_configuration(everywhere(annotated, mapping)) == expected


# What unions and enums are in is not decoded: smp.wire leaves undecoded what is not
# concerned.
every_decoded_mapping = pytest.mark.parametrize(
    "mapping", [MAPPINGS[name] for name in MAPPINGS if name != "msgspec.Raw"]
)


@every_decoded_mapping
def test_unions_and_enums_of_any_mapping_are_normalized_and_validated(
    mapping: Callable[[JSONObject], Any],
) -> None:
    broken: JSONObject = {
        "spec": {"volumes": [{"name": "v", "emptyDir": {}, "hostPath": {"path": "/"}}]}
    }
    expected = smp.validate_unions(None, broken, POD)
    assert expected
    found = smp.validate_unions(None, everywhere(broken, mapping), POD)
    assert [str(each) for each in found] == [str(each) for each in expected]
    old: JSONObject = {"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}}
    normalized = smp.normalize_unions(old, broken, POD)
    again = smp.normalize_unions(everywhere(old, mapping), broken, POD)
    assert again.object == normalized.object
    again = smp.normalize_unions(old, everywhere(broken, mapping), POD)
    assert again.object == normalized.object


@every_mapping
def test_the_handler_takes_any_mapping_and_so_do_its_hooks(
    mapping: Callable[[JSONObject], Any],
) -> None:
    stored: JSONObject = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "n", "labels": {"a": "1"}},
    }
    labels: JSONObject = {"a": "1", "b": "2"}
    expected: JSONObject = {**stored, "metadata": {"name": "n", "labels": labels}}
    body = b'{"metadata":{"labels":{"b":"2"}}}'
    other = everywhere(stored, mapping)
    for media_type in (handler.STRATEGIC, handler.MERGE):
        outcome = handler.patch(other, body, media_type, POD)
        assert isinstance(outcome, Accepted)
        assert outcome.object == expected
    options = Options(default=lambda new: everywhere(new, mapping))
    outcome = handler.patch(stored, body, handler.STRATEGIC, POD, options)
    assert isinstance(outcome, Accepted)
    assert wire.decode(outcome.body) == expected


def test_schemas_are_made_of_any_mapping() -> None:
    document: JSONObject = {
        "fields": {"l": {"is": {"items": "#E"}, "strategy": "merge", "key": "k"}}
    }
    definitions: Any = {"E": {"fields": {"k": "string", "v": "string"}}}
    for mapping in (CommentedMap, MappingProxyType):
        schema = smp.Schema.inline(
            everywhere(document, mapping), everywhere(definitions, mapping)
        )
        patch = smp.two_way_patch({"l": [{"k": "a"}]}, {"l": []}, schema)
        assert patch == {"l": [{"$patch": "delete", "k": "a"}]}


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({1: 2}, ""),
        ({"data": {"a": {1: 2}}}, "data.a"),
        ({"data": {"a": {"set"}}}, "data.a"),
        ({"data": {"a": [2j]}}, "data.a[0]"),
        ({"data": {"a": b"bytes"}}, "data.a"),
        ({"data": {"a": ({1},)}}, "data.a[0]"),
    ],
    ids=repr,
)
def test_what_is_not_json_is_named_by_its_path(value: Any, path: str) -> None:
    operations: dict[str, Callable[[], object]] = {
        "apply": lambda: smp.apply_patch({"data": {}}, value, CONFIG_MAP),
        "compose": lambda: smp.compose_patches([value], CONFIG_MAP),
        "with_last_applied": lambda: smp.with_last_applied(value),
    }
    for operation in operations.values():
        with pytest.raises(smp.ObjectError) as caught:
            operation()
        assert (caught.value.code, str(caught.value.path)) == ("not-json", path)


def cyclic() -> JSONObject:
    value: JSONObject = {}
    value["metadata"] = value
    return value


def deep(levels: int) -> JSONObject:
    value: JSONObject = {}
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ({"a": float("nan")}, "not-json"),
        ({"a": [float("inf")]}, "not-json"),
        ({"a": "\ud800"}, "not-json"),
        ({"\ud800": "a"}, "not-json"),
        ({"a": 10**5_000}, "not-json"),
        (cyclic(), "too-deep"),
        (deep(5_000), "too-deep"),
        ([], "not-an-object"),
        (None, "not-an-object"),
    ],
    ids=lambda value: str(value)[:20] if isinstance(value, str) else "value",
)
def test_a_configuration_that_no_annotation_can_hold_is_an_error(
    value: Any, code: str
) -> None:
    with pytest.raises(smp.SmpError) as caught:
        smp.with_last_applied(value)
    assert caught.value.code == code


def test_integers_of_any_length_are_compared_and_can_be_printed() -> None:
    long = 10**5_000
    live: JSONObject = {"spec": {"ports": [{"port": long}, {"port": 1}]}}
    patch = smp.two_way_patch(live, {"spec": {"ports": []}}, SERVICE)
    assert smp.apply_patch(live, patch, SERVICE) == {"spec": {"ports": []}}
    with pytest.raises(smp.ConflictError) as caught:
        smp.three_way_patch(
            {}, {"kind": {"a": long}}, {"kind": long}, CONFIG_MAP, overwrite=False
        )
    assert "cannot be printed" in str(caught.value)
    broken: JSONObject = {"spec": {"ports": [{"port": long, "$patch": long}]}}
    with pytest.raises(smp.PatchError) as refused:
        smp.apply_patch(live, broken, SERVICE)
    assert str(refused.value)
    assert str(Conflict(smp.Path((long,)), long, deep(5_000)))


OPTIONS: Final[dict[str, Callable[[], object]]] = {
    "normalize_unions, profile": lambda: smp.normalize_unions(
        {}, {}, POD, profile=unhashable()
    ),
    "validate_unions, profile": lambda: smp.validate_unions(
        {}, {}, POD, profile=unhashable(), ratchet=True
    ),
    "three_way_apply, profile": lambda: smp.three_way_apply(
        {}, {}, {}, POD, profile=unhashable()
    ),
    "three_way_apply, unknown_fields": lambda: smp.three_way_apply(
        {}, {}, {}, POD, unknown_fields=misspelled()
    ),
    "with_unknown_fields": lambda: POD.with_unknown_fields(misspelled()),
    "normalize_unions, on_conflict": lambda: smp.normalize_unions(
        {}, {}, POD, on_conflict=misspelled()
    ),
    "schema": lambda: KUBERNETES.schema(unhashable(), unhashable()),
    "kubernetes": lambda: smp.kubernetes(unhashable()),
}


def unhashable() -> Any:
    return []


def misspelled() -> Any:
    return "zzz"


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_of_a_wrong_value_is_an_error_of_the_library(name: str) -> None:
    with pytest.raises(smp.SmpError):
        OPTIONS[name]()


DOCUMENT: Final = b'{"metadata":{"name":"n"}}'


@pytest.mark.parametrize("text", [bytes, bytearray, memoryview, bytes.decode])
def test_operations_over_bytes_take_text_and_buffers(
    text: Callable[[bytes], Any],
) -> None:
    data, nothing = text(DOCUMENT), text(b"{}")
    assert wire.decode(data) == {"metadata": {"name": "n"}}
    assert wire.two_way_patch(nothing, data, POD) == DOCUMENT
    assert wire.three_way_patch(nothing, data, nothing, POD) == DOCUMENT
    assert wire.apply_patch(nothing, data, POD) == DOCUMENT
    assert wire.three_way_apply(nothing, data, data, POD).object == DOCUMENT


@pytest.mark.parametrize("junk", [None, 1, [], {}, "\ud800"], ids=ascii)
def test_what_is_no_text_is_an_error_of_the_library(junk: Any) -> None:
    operations: list[Callable[[], object]] = [
        lambda: wire.decode(junk),
        lambda: wire.two_way_patch(junk, b"{}", POD),
        lambda: wire.three_way_patch(b"{}", junk, b"{}", POD),
        lambda: wire.apply_patch(b"{}", junk, POD),
        lambda: wire.three_way_apply(b"{}", b"{}", junk, POD),
        lambda: handler.patch({}, junk, handler.MERGE, POD),
        lambda: handler.create(junk, POD),
    ]
    for operation in operations:
        with pytest.raises(smp.DocumentError) as caught:
            operation()
        assert caught.value.code == "invalid-json"


# What a thread with a small stack does with deep values: in a process of its own, which
# a stack that is too small would end.
IN_A_THREAD: Final = """
import sys, threading
import smp
from smp import documents, handler, merge_patch, wire

def deep(levels, innermost):
    value = innermost
    for _ in range(levels):
        value = {"a": [{"k": "x", **value}]}
    return value

E = {"fields": {"k": "string", "v": "string", "a": "#L"}}
L = {"is": {"items": "#E"}, "strategy": "merge", "key": "k"}
E["fields"]["a"] = L
schema = smp.Schema.inline(E, {"E": E})
ended = []

def attempt(operation):
    try:
        operation()
        ended.append("done")
    except smp.SmpError as error:
        ended.append(error.code)

def attempt_all(levels):
    a, b = deep(levels, {"v": "1"}), deep(levels, {"v": "2"})
    attempt(lambda: smp.two_way_patch(a, b, schema))
    attempt(lambda: smp.three_way_patch(a, b, a, schema, overwrite=False))
    attempt(lambda: smp.apply_patch(a, b, schema))
    attempt(lambda: smp.three_way_apply(a, b, a, schema))
    attempt(lambda: smp.compose_patches([a, b], schema))
    attempt(lambda: smp.find_conflicts(a, b, schema))
    attempt(lambda: smp.normalize_unions(a, b, schema))
    attempt(lambda: merge_patch.diff(a, b))
    attempt(lambda: smp.with_last_applied(a))
    attempt(lambda: wire.encode(a))
    text = b'{"k":"x","a":[' * levels + b"]}" * levels
    attempt(lambda: wire.decode(text))
    attempt(lambda: wire.apply_patch(text, text, schema))
    attempt(lambda: handler.create(text, schema))
    attempt(lambda: handler.patch(text, text, handler.STRATEGIC, schema))

def main():
    for levels in (5, 30, 149, 400):
        attempt_all(levels)
    attempt(lambda: wire.decode(b"[" * 100_000))
    attempt(lambda: wire.decode(b"[" * 990 + b"]" * 990))
    attempt(lambda: documents.read_one(b"[" * 990 + b"]" * 990))

# Python needs up to 128 KB to import a module: what is imported at first use is here.
attempt_all(1)
documents.read_one(b"[]")
assert set(ended) == {"done"}, ended
ended.clear()
threading.stack_size(int(sys.argv[1]) * 1024)
thread = threading.Thread(target=main)
thread.start()
thread.join()
assert len(ended) == 4 * 14 + 3, ended
if int(sys.argv[1]) >= 128:
    assert set(ended[:14]) == {"done"}, ended[:14]
assert set(ended) <= {"done", "too-deep", "invalid-json"}, ended
"""


def smallest_stack() -> int:
    """Return how many kilobytes Python itself needs for the thread above."""
    if sys.version_info >= (3, 14):
        return 52  # threading.stack_size takes no less
    if sys.version_info >= (3, 13):
        return 48  # deallocating 400 levels needs more than 32
    return 32


STACKS: Final = (32, 48, 52, 64, 96, 128, 192, 256, 512, 1024)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kilobytes", [size for size in STACKS if size >= smallest_stack()]
)
def test_a_thread_with_a_small_stack_refuses_what_is_too_deep_for_it(
    kilobytes: int,
) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", IN_A_THREAD, str(kilobytes)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, (ran.returncode, ran.stderr)
