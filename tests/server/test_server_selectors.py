"""Label and field selectors, compared with what Kubernetes answers.

The answers are recorded by tests.record.facts.
"""

from __future__ import annotations

from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smp._values.field_selectors import FieldSelector, parse_field_selector
from smp._values.label_selectors import (
    LabelSelector,
    SelectorError,
    parse_label_selector,
    selector_text,
)
from smp._values.values import JSON, JSONObject
from smp.schema.resources import Resources
from smp.server.endpoints.list_options import resolve_fields
from smp.server.errors import StatusError
from tests.record.facts import facts
from tests.support.rows import each_row
from tests.support.strategies import json_values


def read(op: str, text: str) -> LabelSelector | FieldSelector | None:
    """Parse a selector; None where it is invalid."""
    try:
        if op == "labels":
            return parse_label_selector(text)
        return parse_field_selector(text)
    except SelectorError:
        return None


def nested(values: dict[str, str]) -> JSONObject:
    """Make the object whose fields, by path, have these values."""
    obj: JSONObject = {}
    for path, value in values.items():
        *parents, name = path.split(".")
        parent: Any = obj
        for parent_name in parents:
            parent = parent.setdefault(parent_name, {})
        parent[name] = value
    return obj


def cases(op: str) -> list[Any]:
    return [
        pytest.param(asked, answer, id=repr(asked["text"]))
        for asked, answer in facts(op)
    ]


@each_row(("asked", "answer"), cases("labels"))
def test_labels_are_selected_as_kubernetes_does(
    asked: Any, answer: list[bool] | None
) -> None:
    selector = read("labels", asked["text"])
    if selector is None:
        assert answer is None
    else:
        assert answer == [
            selector.matches({"metadata": {"labels": labels}})
            for labels in asked["sets"]
        ]


@each_row(("asked", "answer"), cases("fields"))
def test_fields_are_selected_as_kubernetes_does(
    asked: Any, answer: list[bool] | None
) -> None:
    selector = read("fields", asked["text"])
    if selector is None:
        assert answer is None
    else:
        assert answer == [selector.matches(nested(values)) for values in asked["sets"]]


# "Labels and Selectors" in the Kubernetes documentation says what these select.
@pytest.mark.parametrize(
    ("text", "selected"),
    [
        ("environment=production", ["front", "back"]),
        ("tier!=frontend", ["back", "bare"]),
        ("environment=production,tier!=frontend", ["back"]),
        ("environment in (production, qa)", ["front", "back", "test"]),
        ("tier notin (frontend, backend)", ["bare"]),
        ("environment", ["front", "back", "test"]),
        ("!environment", ["bare"]),
        ("environment,environment notin (qa)", ["front", "back"]),
    ],
)
def test_labels_are_selected_as_documented(text: str, selected: list[str]) -> None:
    labels: dict[str, JSON] = {
        "front": {"environment": "production", "tier": "frontend"},
        "back": {"environment": "production", "tier": "backend"},
        "test": {"environment": "qa", "tier": "frontend"},
        "bare": None,
    }
    selector = parse_label_selector(text)
    matching = [
        name
        for name, own in labels.items()
        if selector.matches({"metadata": {"labels": own}})
    ]
    assert matching == selected


# Kubernetes compares fields as text; these have other JSON types, or are absent.
@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("spec.hostNetwork=true", True),
        ("spec.priority=5", True),
        ("spec.priority!=05", True),
        ("spec.nodeName=", True),
        ("spec.absent=", True),
        ("spec.absent.below!=x", True),
        ("spec.containers=[]", False),
        ("spec.hostNetwork.below=true", False),
    ],
)
def test_a_field_is_compared_as_it_is_printed(text: str, matches: bool) -> None:
    spec: JSONObject = {
        "hostNetwork": True,
        "priority": 5,
        "nodeName": None,
        "containers": [],
    }
    assert parse_field_selector(text).matches({"spec": spec}) is matches


@pytest.mark.parametrize("text", ["=b", "!=b", "a!!=b", "a!=b=c"])
def test_an_invalid_field_path_is_refused(text: str) -> None:
    """Kubernetes parses these selectors; its server refuses the unknown fields."""
    assert read("fields", text) is None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("metadata.name=web", "web"),
        ("status.phase=Running,metadata.name==web", "web"),
        ("metadata.name!=web", None),
        ("metadata.namespace=web", None),
        ("", None),
    ],
)
def test_a_field_selector_can_name_one_object(text: str, name: str | None) -> None:
    assert parse_field_selector(text).required_value("metadata.name") == name


def test_an_error_names_the_position() -> None:
    with pytest.raises(SelectorError) as caught:
        parse_label_selector("a=b,c d")
    assert (caught.value.status, caught.value.code) == (400, "invalid-selector")
    assert "at character 4" in str(caught.value)


@pytest.mark.parametrize(("asked", "answer"), facts("selector"))
def test_a_selector_is_printed_as_kubernetes_does(asked: Any, answer: str) -> None:
    """A selector without requirements is empty here, and ``<none>`` in Kubernetes."""
    assert (selector_text(asked["selector"]) or "<none>") == answer


def test_a_map_of_labels_and_a_string_are_selectors() -> None:
    assert selector_text({"b": "c", "matchLabels": "d"}) == "b=c,matchLabels=d"
    assert selector_text("app=web") == "app=web"


@given(st.text(alphabet="ab=!<>(), in\\.\t/1\x00é", max_size=30), json_values())
def test_any_selector_matches_any_object_or_is_refused(text: str, value: JSON) -> None:
    for op in ("labels", "fields"):
        selector = read(op, text)
        if selector is not None:
            obj: JSONObject = {"metadata": {"labels": value}, "a": value}
            assert selector.matches(obj) in (True, False)
    assert isinstance(selector_text(value), str)


# The texts are those of kube-apiserver 1.36.3.
UNKNOWN: Final = {
    ("", "v1", "pods"): "field label not supported: spec.foo",
    ("", "v1", "serviceaccounts"): (
        '"spec.foo" is not a known field selector: only "metadata.name",'
        ' "metadata.namespace"'
    ),
    ("batch", "v1", "jobs"): 'field label "spec.foo" not supported for Job',
    ("resource.k8s.io", "v1", "resourceslices"): (
        "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: spec.foo"
    ),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_field_that_a_kind_cannot_be_selected_by_is_refused(
    name: tuple[str, str, str],
) -> None:
    resource = Resources.builtin().find(*name)
    with pytest.raises(StatusError) as caught:
        resolve_fields(parse_field_selector("metadata.name=a,spec.foo=1"), resource)
    assert str(caught.value) == UNKNOWN[name]
    assert resolve_fields(parse_field_selector("metadata.name!=a"), resource).terms
