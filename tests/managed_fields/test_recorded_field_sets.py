"""Field sets as structured-merge-diff and a real kube-apiserver made them.

tests/record/field_sets.py recorded both.
"""

from __future__ import annotations

import json
from collections import Counter

import smp
from smp._values.values import JSONObject
from smp.managed_fields import FieldSet, fieldset_of
from smp.paths import Path
from tests.record.field_sets import (
    ALGEBRA,
    APPLIED,
    MANAGER,
    REQUESTS,
    every_schema,
    read,
)
from tests.support.field_sets import ours

# What no manager owns. Go: managedfields, internal.stripSet.
NEVER_OWNED = FieldSet.of(
    *[Path((name,)) for name in ("apiVersion", "kind", "metadata")],
    *[
        Path(("metadata", name))
        for name in (
            "name",
            "namespace",
            "creationTimestamp",
            "selfLink",
            "uid",
            "clusterName",
            "generation",
            "managedFields",
            "resourceVersion",
        )
    ],
)


def test_operations_answer_what_structured_merge_diff_did() -> None:
    counts: Counter[str] = Counter()
    failures = []
    for request in read(ALGEBRA):
        expected = request.pop("answer")
        answer = ours(request)
        counts[request["op"]] += 1
        # Compared as text: the order of members counts, and 1 is not true.
        if json.dumps(answer, sort_keys=True) != json.dumps(expected, sort_keys=True):
            failures.append((request, expected, answer))
    assert failures == []
    assert counts.total() == REQUESTS
    assert min(counts.values()) > 100


def test_a_configuration_has_the_fields_that_an_api_server_stored_for_it() -> None:
    heading, *records = read(APPLIED)
    catalog = smp.kubernetes(heading["kube-apiserver"].removeprefix("v")[:4])
    kinds: Counter[str] = Counter()
    for record in records:
        applied = record["configuration"]
        kind = applied["kind"]
        if kind == "Every":
            schema = every_schema()
        else:
            schema = catalog.schema(applied["apiVersion"], kind)
        fields = fieldset_of(applied, schema).difference(NEVER_OWNED)
        stored = [
            entry["fieldsV1"]
            for entry in record["managedFields"]
            if entry["manager"] == MANAGER
        ]
        # A manager that owns nothing has no entry.
        expected = stored[0] if stored else {}
        assert fields.to_v1() == expected, applied
        # As text, the order of the members is the server's.
        if stored:
            assert [*fields.to_v1()] == [*expected]
        kinds[kind] += 1
    assert len(kinds) >= 20
    assert kinds.total() >= 500


def test_a_map_key_that_is_absent_has_its_default() -> None:
    """A kube-apiserver 1.36.3 stored these path elements for such a Pod."""
    pod: JSONObject = {
        "spec": {
            "containers": [{"name": "a", "ports": [{"containerPort": 80}]}],
            "imagePullSecrets": [{}],
        }
    }
    fields = fieldset_of(pod, smp.kubernetes().schema("v1", "Pod"))
    assert [str(path) for path in fields.paths()] == [
        "spec.containers[name=a]",
        "spec.containers[name=a].name",
        "spec.containers[name=a].ports[containerPort=80,protocol=TCP]",
        "spec.containers[name=a].ports[containerPort=80,protocol=TCP].containerPort",
        "spec.imagePullSecrets[name=]",
    ]
