"""What kubectl sent, and what an API server stored or refused, as it was recorded.

tests/record/applies.py recorded it, and tests/data/apiserver/fields.json describes it.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import Any, Final, NamedTuple

import pytest

import smp
from smp._storage.immutable import find_changed_immutable_fields
from smp._values.last_applied import LAST_APPLIED, with_last_applied
from smp._values.values import JSON, JSONObject, as_object, same
from smp.schema.model import Schema
from smp.unions import validate_unions
from tests.record.applies import ANNOTATION, CASES, FILE, read
from tests.support.differences import Difference, differences
from tests.support.kubectl import without_last_applied
from tests.support.paths import DOCS

HEADING, RECORDS = read(FILE)
CATALOG: Final = smp.kubernetes(HEADING["kube-apiserver"])


class Case(NamedTuple):
    """A recorded apply, with the last-applied annotation in the live object."""

    number: int
    record: dict[str, Any]
    schema: Schema
    live: JSONObject

    @property
    def modified(self) -> JSONObject:
        """The configuration as kubectl applies it."""
        return with_last_applied(self.record["modified"])

    @property
    def patch(self) -> JSONObject:
        """The patch of three_way_patch, written as kubectl's is recorded."""
        patch = smp.three_way_patch(
            self.record["last_applied"], self.modified, self.live, self.schema
        )
        return self.as_recorded(patch)

    def as_recorded(self, patch: JSONObject) -> JSONObject:
        """Return a patch with its annotation as a recorded one has it."""
        written = as_object(self.modified["metadata"])["annotations"]
        metadata = as_object(patch.get("metadata"))
        annotations = as_object(metadata.get("annotations"))
        sent = annotations.get(LAST_APPLIED)
        if sent is None or sent != as_object(written)[LAST_APPLIED]:
            return patch
        return {
            **patch,
            "metadata": {
                **metadata,
                "annotations": {**annotations, LAST_APPLIED: ANNOTATION},
            },
        }

    @property
    def causes(self) -> list[dict[str, Any]]:
        """The causes of a refusal."""
        causes: list[dict[str, Any]] = self.record.get("refused", {}).get("causes", [])
        return causes


@cache
def cases() -> list[Case]:
    found = []
    for number, record in enumerate(RECORDS):
        live = record["live"]
        if record["last_applied"] is not None:
            applied = as_object(with_last_applied(record["last_applied"])["metadata"])
            text = as_object(applied["annotations"])[LAST_APPLIED]
            annotations = {
                **live["metadata"].get("annotations", {}),
                LAST_APPLIED: text,
            }
            live = {
                **live,
                "metadata": {**live["metadata"], "annotations": annotations},
            }
        schema = CATALOG.schema(live["apiVersion"], record["kind"])
        found.append(Case(number, record, schema, live))
    return found


def sent_cases() -> list[Case]:
    """Return the cases in which kubectl did not fail."""
    return [case for case in cases() if "failed" not in case.record]


def test_the_recording_is_of_many_kinds_and_outcomes() -> None:
    assert len(cases()) == CASES
    outcomes = Counter(
        outcome
        for case in cases()
        for outcome in ("stored", "refused", "failed")
        if outcome in case.record
    )
    assert outcomes["stored"] > 1200
    assert outcomes["refused"] > 200
    assert len({case.record["kind"] for case in cases()}) >= 18


# What kubectl sends.


def has_repeated_keys(value: JSON) -> bool:
    """Tell whether elements of a list share what merges or identifies them."""
    if isinstance(value, dict):
        return any(has_repeated_keys(member) for member in value.values())
    if not isinstance(value, list):
        return False
    for key in ("name", "containerPort", "port", "mountPath", "topologyKey"):
        values = [str(e[key]) for e in value if isinstance(e, dict) and key in e]
        if len(set(values)) < len(values):
            return True
    return any(has_repeated_keys(element) for element in value)


def deviation_of(case: Case, patch: JSONObject) -> int | None:
    """Return the row of docs/deviations.md that explains another patch."""
    sent = as_object(case.record["sent"])
    # Row 5: the selector has the strategy "replace", and is sent unchanged.
    if case.record["kind"] == "PodDisruptionBudget":
        spec = {**as_object(sent.get("spec"))}
        spec.pop("selector", None)
        without = {**sent, "spec": spec}
        if not spec:
            del without["spec"]
        if same(without, patch):
            return 5
    record = case.record
    documents = [record["last_applied"], record["modified"], record["live"]]
    if any(has_repeated_keys(document) for document in documents):
        return 11
    return None


def test_the_patch_is_what_kubectl_sent() -> None:
    deviations: Counter[int | None] = Counter()
    unexplained = []
    for case in sent_cases():
        patch = case.patch
        if same(patch, case.record["sent"] or {}):
            deviations[0] += 1
            continue
        row = deviation_of(case, patch)
        deviations[row] += 1
        if row is None:
            unexplained.append((case.number, case.record["sent"], patch))
    assert unexplained == []
    assert deviations[0] > 0.96 * len(sent_cases())
    assert deviations[11] <= 2


def test_the_patch_for_kubectl_of_an_apply_is_what_it_sends() -> None:
    compared = 0
    kinds = set()
    for case in sent_cases():
        try:
            result = smp.three_way_apply(
                case.record["last_applied"], case.modified, case.live, case.schema
            )
        except smp.UnionError:
            # The configuration contradicts itself, and is not applied.
            continue
        sent = case.record["sent"] or {}
        patch = case.as_recorded(result.kubectl_patch)
        # Row 5 of docs/deviations.md is about other patches than this one.
        assert same(patch, sent) or deviation_of(case, patch) == 11
        kinds.add(case.record["kind"])
        assert same(
            smp.apply_patch(case.live, as_object(result.patch), case.schema),
            result.object,
        )
        compared += 1
    assert compared > 0.9 * len(sent_cases())
    assert "PodDisruptionBudget" in kinds


def test_kubectl_fails_where_three_way_patch_does() -> None:
    failed = [case for case in cases() if "failed" in case.record]
    assert failed
    for case in failed:
        # Row 10 of docs/deviations.md: the reference sorts repeated values, and then
        # refuses its own order directive.
        if "The order in patch list" in case.record["failed"]:
            continue
        with pytest.raises(smp.SmpError):
            _ = case.patch


# What an API server refuses.

IMMUTABLE: Final = re.compile(
    r"is immutable|may not change once set|may not be changed in an update"
    r"|cannot change roleRef|pod updates may not|updates to statefulset spec"
    r"|existing toleration can not be modified"
)


def test_immutable_fields_are_refused_as_by_the_server() -> None:
    refused = 0
    for case in sent_cases():
        patched = patched_by_kubectl(case)
        if patched is None:
            continue
        ours = find_changed_immutable_fields(case.live, patched, case.schema)
        theirs = {
            (cause["field"], cause["reason"])
            for cause in case.causes
            if IMMUTABLE.search(cause["message"])
        }
        causes = [as_object(violation.cause) for violation in ours]
        found = {(cause["field"], cause["reason"]) for cause in causes}
        assert found == theirs, case.number
        refused += bool(theirs)
        texts = {str(cause["field"]): str(cause["message"]) for cause in causes}
        for cause in case.causes:
            if IMMUTABLE.search(cause["message"]):
                # The value is printed as Go's internal type is, the sentence is one.
                sentence = cause["message"].rpartition("}: ")[2]
                assert texts[cause["field"]].endswith(sentence.rpartition(": ")[2])
    assert refused > 100


def patched_by_kubectl(case: Case) -> JSONObject | None:
    """Return what a server judges: the live object with kubectl's patch."""
    if case.record["sent"] is None:
        return None
    try:
        return smp.apply_patch(case.live, sent_patch(case), case.schema)
    except smp.SmpError:
        # The server could not apply it either: BadRequest, or an internal error.
        assert case.record["refused"]["code"] in {400, 500}
        return None


def sent_patch(case: Case) -> JSONObject:
    patch = as_object(case.record["sent"])
    metadata = as_object(patch.get("metadata"))
    annotations = {**as_object(metadata.get("annotations"))}
    if annotations.get(LAST_APPLIED) != ANNOTATION:
        return patch
    written = as_object(as_object(case.modified["metadata"])["annotations"])
    annotations[LAST_APPLIED] = written[LAST_APPLIED]
    return {**patch, "metadata": {**metadata, "annotations": annotations}}


UNION: Final = re.compile(
    r"may not specify more than 1 |must specify a handler type"
    r"|may not be specified when `value` is not empty"
    r"|may not have more than one field specified at a time"
    r"|cannot set both|cannot be both set|only allowed for updateStrategy"
    r"|may not be specified when strategy `type` is"
    r"|must populate |must specify a volume type|exactly one of url or service"
    r"|may not specify both ipBlock|must specify a peer"
    r"|can only be set when (seccomp|AppArmor) type|must be set when (seccomp|AppArmor)"
    r"|limitResponse.type is not Limited|must specify one of|port name or number"
    r"|can not be specified simultaneously|resource or service backend is required"
)


def test_unions_are_refused_as_by_the_server() -> None:
    refused = 0
    for case in sent_cases():
        patched = patched_by_kubectl(case)
        if patched is None:
            continue
        ours = validate_unions(case.live, patched, case.schema, ratchet=True)
        theirs = [c for c in case.causes if UNION.search(c["message"])]
        assert bool(ours) == bool(theirs), (case.number, ours, case.causes)
        refused += bool(theirs)
    assert refused > 30


def test_nothing_that_the_server_accepts_is_refused() -> None:
    for case in sent_cases():
        if "refused" in case.record:
            continue
        result = smp.three_way_apply(
            case.record["last_applied"], case.modified, case.live, case.schema
        )
        assert result.violations == (), case.number


# What an API server stores.


ALLOCATED: Final = frozenset(
    {
        "allocateLoadBalancerNodePorts",
        "clusterIP",
        "clusterIPs",
        "externalTrafficPolicy",
        "healthCheckNodePort",
        "nodePort",
    }
)


def class_of(case: Case, found: Difference) -> str:
    """Return the class of a difference, a row of docs/deviations.md."""
    name = next(step for step in reversed(found.path) if not step.isdigit())
    kind = case.record["kind"]
    if kind == "Service" and name in ALLOCATED:
        return "allocated values"
    if kind == "Pod" and name == "tolerations":
        return "admission"
    # Released servers normalize no unions.
    if kind == "DaemonSet" and found.path == (
        "spec",
        "updateStrategy",
        "rollingUpdate",
    ):
        return "unions"
    return ""


def test_every_difference_of_what_is_stored_has_a_class() -> None:
    classes: Counter[str] = Counter()
    equal = 0
    unexplained = []
    for case in cases():
        if "stored" not in case.record:
            continue
        result = smp.three_way_apply(
            case.record["last_applied"],
            case.modified,
            case.live,
            case.schema,
            defaults=True,
        )
        predicted = without_last_applied(result.object)
        found: set[str] = set()
        for each in differences(predicted, case.record["stored"]):
            name = class_of(case, each)
            if not name:
                unexplained.append((case.number, case.record["kind"], each))
            found.add(name)
        equal += not found
        classes.update(found)
    assert unexplained == []
    assert equal > 1450
    text = (DOCS / "deviations.md").read_text()
    for name in classes:
        assert f"| {name} |" in text
