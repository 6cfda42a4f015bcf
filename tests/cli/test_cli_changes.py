"""The changes that a report lists."""

from __future__ import annotations

import json
from pathlib import Path

from smp._values.values import ABSENT
from smp.cli._changes import ValueChange, changes
from smp.paths import Path as Where
from smp.schema.catalog import kubernetes
from tests.support.command import config_map, run


def changes_of_spec(
    old: dict[str, object], new: dict[str, object]
) -> list[ValueChange]:
    schema = kubernetes().schema("v1", "Pod")
    before, after = json.loads(json.dumps(old)), json.loads(json.dumps(new))
    return list(changes({"spec": before}, {"spec": after}, schema.type))


def test_equal_numbers_of_different_json_types_differ() -> None:
    [change] = changes_of_spec({"priority": 1}, {"priority": True})
    assert (change.old, change.new) == (1, True)
    [change] = changes_of_spec({"x": [True]}, {"x": [1]})
    assert (change.old, change.new) == ([True], [1])


def test_a_different_order_of_elements_is_one_change() -> None:
    (change,) = changes_of_spec(
        {"containers": [{"name": "a"}, {"name": "b"}]},
        {"containers": [{"name": "b"}, {"name": "a"}]},
    )
    assert change == ValueChange(
        Where(("spec", "containers")), ["a", "b"], ["b", "a"], is_order=True
    )


def test_elements_are_paired_by_a_key_with_distinct_values() -> None:
    def ports(*ports: tuple[str, int]) -> dict[str, object]:
        listed = [
            {"containerPort": 53, "protocol": protocol, "hostPort": port}
            for protocol, port in ports
        ]
        return {"containers": [{"name": "a", "ports": listed}]}

    (change,) = changes_of_spec(
        ports(("TCP", 1), ("UDP", 2)), ports(("TCP", 1), ("UDP", 3))
    )
    assert str(change.path) == "spec.containers[name=a].ports[protocol=UDP].hostPort"
    (change,) = changes_of_spec(
        ports(("TCP", 1), ("TCP", 2)), ports(("TCP", 1), ("TCP", 3))
    )
    assert str(change.path) == "spec.containers[name=a].ports"


def test_unknown_fields_are_compared_as_free_form_data() -> None:
    nested, listed = changes_of_spec(
        {"more": {"a": {"b": 1}, "c": [1]}}, {"more": {"a": {"b": 2}, "c": [2]}}
    )
    assert str(nested.path) == "spec.more.a.b"
    assert str(listed.path) == "spec.more.c"
    [added] = changes_of_spec({}, {"more": {}})
    assert added.old is ABSENT


def test_long_texts_are_shown_as_a_line_diff() -> None:
    lines = [f"line {number}\n" for number in range(20)]
    Path("old.yaml").write_text(config_map(text="".join(lines)))
    Path("new.yaml").write_text(
        config_map(text="".join([*lines[:9], "new\n", *lines[10:], "end"]))
    )
    expected = """\
v1 ConfigMap a: changed (old.yaml:1 -> new.yaml:1)
  ~ data.text:
      ...
        line 7
        line 8
      - line 9
      + new
        line 10
        line 11
      ...
        line 18
        line 19
      + end

1 object: 1 changed
"""
    assert run("diff", "old.yaml", "new.yaml", "-o", "report").stdout == expected
