"""JSON objects have no order: nothing that is said of an apply depends on one.

kubectl sorts keys, an API server prints them in the order of the fields of Go structs,
and users write them in any order.
"""

from __future__ import annotations

import copy
import random
from functools import partial
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import smp
from smp._values.values import JSON, JSONObject, as_object, same, value_key
from tests.support.makers.triples import Triple
from tests.support.shuffling import shuffled

LAW: Final = settings(max_examples=40, deadline=None)
TRIPLES: Final = st.builds(Triple, st.integers(0, 2**32)).filter(Triple.is_applicable)


class Others:
    """A triple with the keys of its objects in another order."""

    def __init__(self, triple: Triple, seed: int) -> None:
        draw = random.Random(seed)
        base = triple.last_applied
        self.base = None if base is None else as_object(shuffled(base, draw))
        self.manifest = as_object(shuffled(triple.manifest, draw))
        self.live = as_object(shuffled(triple.live, draw))


def hazards_of(result: smp.ApplyResult) -> list[str]:
    return [
        f"{each.code} {each.input} {each.severity} {each}"
        for each in result.hazards
        # Its subject is the order in which a text was written.
        if each.code != "rewritten-last-applied"
    ]


def causes_of(causes: tuple[smp.Cause, ...]) -> list[object]:
    return [(each.code, str(each.path), value_key([*_values(each)])) for each in causes]


def _values(cause: smp.Cause) -> list[JSON]:
    return [value for value in (cause.before, cause.after) if value is not smp.ABSENT]


@LAW
@given(TRIPLES, st.integers(0, 2**32))
def test_what_an_apply_says_does_not_depend_on_it(triple: Triple, seed: int) -> None:
    others = Others(triple, seed)
    base, manifest, live = triple.last_applied, triple.manifest, triple.live
    one = smp.three_way_apply(base, manifest, live, triple.schema)
    two = smp.three_way_apply(others.base, others.manifest, others.live, triple.schema)
    assert same(one.object, two.object)
    assert same(one.patch, two.patch)
    assert one.unmet == two.unmet
    assert [*map(str, one.violations)] == [*map(str, two.violations)]
    assert [change.path for change in one.changes] == [
        change.path for change in two.changes
    ]
    assert one.warnings == two.warnings
    assert hazards_of(one) == hazards_of(two)


@LAW
@given(TRIPLES, st.integers(0, 2**32))
def test_causes_do_not_depend_on_it(triple: Triple, seed: int) -> None:
    others = Others(triple, seed)
    one = smp.explain_apply(
        triple.last_applied, triple.manifest, triple.live, triple.schema
    )
    two = smp.explain_apply(others.base, others.manifest, others.live, triple.schema)
    assert causes_of(one) == causes_of(two)


@LAW
@given(TRIPLES, st.integers(0, 2**32))
def test_a_comparison_does_not_depend_on_it(triple: Triple, seed: int) -> None:
    others = Others(triple, seed)
    one = smp.compare(triple.manifest, triple.live, triple.schema)
    two = smp.compare(others.manifest, others.live, triple.schema)
    assert paths_of(one) == paths_of(two)
    assert same(one.aligned, two.aligned)


def test_values_and_unions_that_are_refused_do_not_depend_on_it() -> None:
    source: JSONObject = {
        "name": "A",
        "valueFrom": {"secretKeyRef": {}, "configMapKeyRef": {}},
    }
    spec: JSONObject = {
        "containers": [{"name": "c", "imagePullPolicy": "x", "env": [source]}],
        "volumes": [{"name": "v", "configMap": {}, "secret": {}}],
        "restartPolicy": "x",
    }
    schema = smp.kubernetes().schema("v1", "Pod")
    answers = []
    for members in (spec, dict(reversed(spec.items()))):
        pod: JSONObject = {"spec": members}
        found = smp.validate_enums(pod, schema) + smp.validate_unions(None, pod, schema)
        with pytest.raises(smp.UnionError) as caught:
            smp.three_way_apply(None, pod, {"spec": {}}, schema)
        answers.append([str(caught.value), *map(str, found)])
    assert answers[0] == answers[1]
    assert str(caught.value.path).startswith("spec.containers")


def paths_of(comparison: smp.Comparison) -> list[str]:
    paths = [each.path for each in comparison.differences]
    paths += [each.path for each in comparison.set_aside]
    return [str(path) for path in paths]


def test_what_two_inputs_share_is_looked_at_in_both() -> None:
    """A list of the former configuration is that of another container now."""
    schema = smp.kubernetes().schema("v1", "Pod")
    ports = [{"containerPort": 80, "name": "a"}, {"containerPort": 80, "name": "b"}]
    base, live = (
        {"spec": {"containers": [{"name": name, "image": image, "ports": ports}]}}
        for name, image in (("old", "i:1"), ("new", "i:2"))
    )
    manifest = copy.deepcopy(live)
    manifest["spec"]["containers"][0]["image"] = "i:3"
    found = smp.find_hazards(base, manifest, live, schema)
    again = smp.find_hazards(copy.deepcopy(base), manifest, live, schema)
    assert [*map(str, found)] == [*map(str, again)]
    assert {each.input for each in found} >= {"manifest", "last-applied"}


def test_what_an_error_says_does_not_depend_on_it() -> None:
    """Two unions of one configuration contradict themselves."""
    schema = smp.kubernetes().schema("v1", "Pod")
    two: JSONObject = {"exec": {"command": ["a"]}, "sleep": {"seconds": 1}}
    errors: set[str] = set()
    for names in (("preStop", "postStart"), ("postStart", "preStop")):
        lifecycle: JSONObject = {"lifecycle": dict.fromkeys(names, two)}
        wanted, live = (
            {"spec": {"containers": [{"name": "c", **members}]}}
            for members in (lifecycle, {})
        )
        with pytest.raises(smp.UnionError) as caught:
            smp.three_way_apply(None, wanted, live, schema)
        errors.add(str(caught.value))
    assert len(errors) == 1


def test_which_error_is_raised_does_not_depend_on_it() -> None:
    """Elements of two lists lack their patch merge keys; a conflict prints a value;
    two fields are unknown, of the manifest or of what is live; two patches cannot be
    composed in two places.
    """
    schema = smp.kubernetes().schema("v1", "Pod")
    broken: JSONObject = {"containers": [{"image": "a"}], "volumes": [{"emptyDir": {}}]}
    whole: JSONObject = {"containers": [{"name": "a"}], "volumes": [{"name": "b"}]}
    labels: list[JSONObject] = [{"x": "1", "y": "2"}, {"x": "3", "y": "4"}]
    errors: set[str] = set()
    for names in (sorted, partial(sorted, reverse=True)):
        spec = {name: broken[name] for name in names(broken)}
        before: JSONObject = {"spec": whole}
        with pytest.raises(smp.SmpError) as caught:
            smp.three_way_apply(None, {"spec": spec}, before, schema)
        errors.add(str(caught.value))
        first, second = ({name: each[name] for name in names(each)} for each in labels)
        with pytest.raises(smp.ConflictError) as conflict:
            smp.three_way_patch(
                {"spec": {}},
                {"spec": {"nodeSelector": first}},
                {"spec": {"nodeSelector": second}},
                schema,
                overwrite=False,
            )
        errors.add(str(conflict.value))
        pod: JSONObject = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "a"},
            "spec": {**first, **whole},
        }
        with pytest.raises(smp.ObjectError) as unknown:
            smp.server_side_apply(None, pod, schema, manager="me")
        errors.add(unknown.value.problem)
        with pytest.raises(smp.ObjectError) as stored:
            smp.server_side_apply(pod, {**pod, "spec": {}}, schema, manager="me")
        errors.add(stored.value.problem)
        removed = {"status": dict.fromkeys(first)}
        with pytest.raises(smp.UnknownFieldError) as composed:
            smp.compose_patches(
                [removed, {"status": {name: {"a": 1} for name in first}}], schema
            )
        errors.add(str(composed.value))
        with pytest.raises(smp.SmpError) as compared:
            smp.find_conflicts({"spec": spec}, {"spec": whole}, schema)
        errors.add(f"compared: {compared.value}")
        [differing] = smp.find_conflicts({"spec": None}, {"spec": second}, schema)
        errors.add(str(differing))
    assert len(errors) == 7, errors


def test_an_element_of_an_atomic_list_is_known_by_its_value() -> None:
    """The order of a server is that of Go's rbacv1.PolicyRule."""
    schema = smp.kubernetes().schema("rbac.authorization.k8s.io/v1", "Role")
    rule: JSONObject = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
    stored: JSONObject = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
    more: JSONObject = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}
    last: JSONObject = {"rules": [rule]}
    manifest: JSONObject = {"rules": [rule, more]}
    live: JSONObject = {"rules": [stored]}
    result = smp.three_way_apply(last, manifest, live, schema)
    assert [each for each in result.hazards if each.severity != "note"] == []
