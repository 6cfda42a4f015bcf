"""JSON patches, as the library of a Kubernetes API server reads them.

Go: gopkg.in/evanphx/json-patch.v4. What a kube-apiserver answered to such patches is
recorded as well (tests/server/test_server_requests_recorded.py).
"""

from __future__ import annotations

from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

import smp
import smp.handler
from smp.handler import JSON_PATCH, STRATEGIC, Options
from smp.schema.catalog import kubernetes
from tests.support.handler_objects import accepted, causes, dump, refused

CONFIG_MAP: Final[dict[str, Any]] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "x", "finalizers": ["a.b/a", "a.b/b"]},
    "data": {"a": "1", "b": "2"},
}
SCHEMA: Final = kubernetes().schema("v1", "ConfigMap")


def patched(*operations: Any) -> Any:
    body = dump([*operations])
    return smp.handler.patch(CONFIG_MAP, body, JSON_PATCH, SCHEMA, Options(prune=False))


TOLERATED: Final[dict[str, tuple[dict[str, Any], dict[str, Any]]]] = {
    "replace adds": (
        {"op": "replace", "path": "/data/c", "value": "3"},
        {"data": {"a": "1", "b": "2", "c": "3"}},
    ),
    "a test for null of an absent member": (
        {"op": "test", "path": "/data/c", "value": None},
        {},
    ),
    "a test without a value of an absent member": (
        {"op": "test", "path": "/data/c"},
        {},
    ),
    "an index from the end": (
        {"op": "remove", "path": "/metadata/finalizers/-1"},
        {"metadata": {"name": "x", "finalizers": ["a.b/a"]}},
    ),
    "an index behind the end": (
        {"op": "add", "path": "/metadata/finalizers/-1", "value": "a.b/c"},
        {"metadata": {"name": "x", "finalizers": ["a.b/a", "a.b/b", "a.b/c"]}},
    ),
    "an index with zeros": (
        {"op": "replace", "path": "/metadata/finalizers/00", "value": "a.b/c"},
        {"metadata": {"name": "x", "finalizers": ["a.b/c", "a.b/b"]}},
    ),
    "a pointer with a word in front": (
        {"op": "replace", "path": "word/data/a", "value": "3"},
        {"data": {"a": "3", "b": "2"}},
    ),
    "an escape that is none": (
        {"op": "add", "path": "/data/a~2", "value": "3"},
        {"data": {"a": "1", "b": "2", "a~2": "3"}},
    ),
}


@pytest.mark.parametrize(("operation", "changes"), TOLERATED.values(), ids=TOLERATED)
def test_a_server_tolerates_more_than_the_standard(
    operation: dict[str, Any], changes: dict[str, Any]
) -> None:
    assert accepted(patched(operation)).object == {**CONFIG_MAP, **changes}
    if operation["op"] != "test":
        with pytest.raises(smp.SmpError):
            smp.json_patch.apply(CONFIG_MAP, [operation])


REFUSED: Final = (
    {"op": "remove", "path": "/data/c"},
    {"op": "move", "from": "/data/c", "path": "/data/d"},
    {"op": "move", "from": "/data", "path": "/data/d"},
    {"op": "add", "path": "/data/c/d", "value": "3"},
    {"op": "add", "path": "/data/a/b", "value": "3"},
    {"op": "add", "path": "/metadata/finalizers/3", "value": "a.b/c"},
    {"op": "replace", "path": "/metadata/finalizers/2", "value": "a.b/c"},
    {"op": "remove", "path": "/metadata/finalizers/-3"},
    {"op": "remove", "path": "/metadata/finalizers/-"},
    {"op": "test", "path": "/data/a", "value": "2"},
    {"op": "remove", "path": ""},
)


@pytest.mark.parametrize("operation", REFUSED)
def test_what_does_not_apply_is_refused(operation: dict[str, Any]) -> None:
    assert refused(patched(operation)).code == 422


@pytest.mark.parametrize("media_type", [JSON_PATCH, STRATEGIC])
def test_a_null_instead_of_a_patch_changes_nothing(media_type: str) -> None:
    """Go decodes it to a patch without operations, or fields."""
    outcome = smp.handler.patch(CONFIG_MAP, b"null", media_type, SCHEMA)
    assert not accepted(outcome).changed


def test_what_is_copied_is_not_changed_with_its_copy() -> None:
    outcome = patched(
        {"op": "copy", "from": "/data", "path": "/metadata/labels"},
        {"op": "add", "path": "/data/c", "value": "3"},
        {"op": "add", "path": "/metadata/labels/d", "value": "4"},
    )
    obj: Any = accepted(outcome).object
    assert obj["data"] == {"a": "1", "b": "2", "c": "3"}
    assert obj["metadata"]["labels"] == {"a": "1", "b": "2", "d": "4"}
    assert CONFIG_MAP["data"] == {"a": "1", "b": "2"}


POINTERS: Final = st.sampled_from(
    ["/data/a", "/data/b", "/data/c", "/data", "/metadata/labels"]
    + [f"/metadata/finalizers/{step}" for step in ("0", "1", "2", "-")]
)
OPERATIONS: Final = st.lists(
    st.fixed_dictionaries(
        {
            "op": st.sampled_from(["add", "copy", "move", "remove", "replace", "test"]),
            "from": POINTERS,
            "path": POINTERS,
            "value": st.sampled_from(["1", "2", {"a": "1"}]),
        }
    ),
    max_size=5,
)


@given(OPERATIONS)
def test_what_the_standard_accepts_is_read_the_same(operations: list[Any]) -> None:
    try:
        expected: Any = smp.json_patch.apply(CONFIG_MAP, operations)
    except smp.SmpError:
        return
    outcome = patched(*operations)
    if isinstance(outcome, smp.handler.Refused):
        # The patched object is no ConfigMap.
        ((_, field, message),) = causes(outcome)
        assert field == "patch"
        assert message.startswith("json: ")
        return
    assert accepted(outcome).object == expected
