"""Lists in which a patch merge key stands for several elements: 53/TCP and 53/UDP.

``SMP_FUZZ_CASES`` sets the number of random cases, ``SMP_FUZZ_SEED`` the first seed.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import Final

import pytest

import smp
from smp import _strategic as strategic
from smp._strategic import KUBECTL_PRECONDITIONS, apply_patch, three_way_patch
from smp._values.values import ABSENT, JSON, JSONObject, as_list, as_object, same
from smp.errors import SmpError
from smp.paths import Element
from smp.schema.catalog import kubernetes
from tests.record.repeated_keys import recorded, sent_by_kubectl
from tests.support.differential import (
    Case,
    Verdict,
    agree,
    answer_of,
    contradicts_itself,
    describe,
)
from tests.support.kubectl import needs_kubectl
from tests.support.makers import Triple
from tests.support.reference import needs_go, reference
from tests.support.repeated_keys import random_case, random_ports

CASES: Final = int(os.environ.get("SMP_FUZZ_CASES", "3000"))
FIRST_SEED: Final = int(os.environ.get("SMP_FUZZ_SEED", "0"))
LOSS_CASES: Final = int(os.environ.get("SMP_FUZZ_CASES", "2000"))
SHOWN: Final = 3


def patch_of(triple: Triple) -> JSONObject:
    schema = kubernetes().schema_of(triple.live)
    return three_way_patch(*triple, schema, preconditions=KUBECTL_PRECONDITIONS)


def is_usable(case: Case, answer: JSONObject) -> bool:
    """Tell whether our answer is a patch that applies to the live object."""
    live = case.documents.get("current") or case.document("original")
    patch = answer.get("result")
    if not isinstance(patch, dict):
        return False
    try:
        apply_patch(live, patch, case.subject.schema)
    except SmpError:
        return False
    return True


@pytest.mark.slow
@needs_go
def test_lists_that_repeat_a_key_are_compared_as_by_the_reference() -> None:
    go = reference()
    assert go is not None
    cases = [random_case(seed) for seed in range(FIRST_SEED, FIRST_SEED + CASES)]
    counts: Counter[str] = Counter()
    failures: list[str] = []
    answers = go.run([case.request for case in cases])
    for case, theirs in zip(cases, answers, strict=True):
        ours = answer_of(case)
        if agree(case, ours, theirs):
            counts["equal"] += 1
        elif "error" in theirs and is_usable(case, ours):
            counts["the reference fails"] += 1
        elif contradicts_itself(theirs.get("result")) and is_usable(case, ours):
            counts["the reference contradicts itself"] += 1
        else:
            failures.append(describe(Verdict(case, ours, theirs, None)))
    print(f"\n{dict(counts)}")  # noqa: T201  # ``pytest -s`` shows the counts
    assert not failures, "\n".join(sorted(failures, key=len)[:SHOWN])
    assert counts["equal"] > 0.8 * CASES


def test_an_apply_sends_what_kubectl_was_seen_to_send() -> None:
    applies = [*recorded()]
    assert len(applies) > 200
    for (name, triple), sent in applies:
        assert same(patch_of(triple), sent), name


def test_an_unchanged_manifest_sends_what_kubectl_was_seen_to_send() -> None:
    unchanged = [
        (triple, sent)
        for (_, triple), sent in recorded()
        if same(triple.modified, triple.last_applied or {})
    ]
    assert len(unchanged) > 20
    for triple, sent in unchanged:
        assert same(patch_of(triple), sent)


@pytest.mark.slow
@needs_kubectl
def test_what_was_recorded_is_what_kubectl_sends() -> None:
    for (name, triple), sent in [*recorded()][::16]:
        assert same(sent_by_kubectl(triple), sent), name


def ports_of(obj: JSONObject) -> dict[tuple[str, str], JSONObject]:
    """Return the ports of a Service or Pod by number and protocol."""
    spec = as_object(obj["spec"])
    for container in as_list(spec.get("containers")):
        spec = as_object(container)
    ports = [as_object(port) for port in as_list(spec["ports"])]
    return {port_identity(port): port for port in ports}


def port_identity(port: JSONObject) -> tuple[str, str]:
    number = port["port"] if "port" in port else port["containerPort"]
    return str(number), str(port.get("protocol", "TCP"))


def lost_ports(triple: Triple, result: JSONObject) -> set[tuple[str, str]]:
    """Find the ports of live of which something is lost that the user never set.

    What others added to a port that the user removes goes with it.
    """
    base, modified = ports_of(triple.last_applied or {}), ports_of(triple.modified)
    stored = ports_of(result)
    lost = set()
    for identity, port in ports_of(triple.live).items():
        if identity in base and identity not in modified:
            continue
        known = {"protocol", *base.get(identity, {}), *modified.get(identity, {})}
        for name in port.keys() - known:
            if not same(port[name], stored.get(identity, {}).get(name, ABSENT)):
                lost.add(identity)
    return lost


def test_what_an_apply_loses_for_an_ambiguous_merge_key_is_a_hazard() -> None:
    applies_with_losses = 0
    needless = 0
    for seed in range(FIRST_SEED, FIRST_SEED + LOSS_CASES):
        triple = random_ports(seed)
        schema = kubernetes().schema_of(triple.live)
        result = smp.three_way_apply(*triple, schema)
        warned = set()
        assert result.warnings == ()
        for hazard in result.hazards:
            if hazard.code != "lost-by-ambiguous-key":
                continue
            steps = [s for s in hazard.path.steps if isinstance(s, Element)]
            # The last one is the port; before it there may be a container.
            step = steps[-1]
            live = [*ports_of(triple.live)]
            warned.add(live[step.index])
        lost = lost_ports(triple, result.object)
        assert lost <= warned, (seed, lost, warned)
        applies_with_losses += bool(lost)
        needless += not lost and bool(warned)
    assert applies_with_losses > 0.1 * LOSS_CASES
    # Where the result has two ports of one number and protocol, which a server refuses.
    assert needless < 0.01 * LOSS_CASES


def service(*ports: JSON) -> JSONObject:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "dns"},
        "spec": {"ports": [*ports]},
    }


TCP: Final[JSONObject] = {"name": "tcp", "port": 53, "protocol": "TCP"}
UDP: Final[JSONObject] = {"name": "udp", "port": 53, "protocol": "UDP"}
WEB: Final[JSONObject] = {"name": "web", "port": 80, "protocol": "TCP"}


LOST: Final = "lost-by-ambiguous-key"


def what_is_lost(last: JSONObject, new: JSONObject, live: JSONObject) -> list[str]:
    result = smp.three_way_apply(last, new, live, kubernetes().schema_of(live))
    assert result.warnings == ()
    return [
        f"{hazard.path}: {hazard.sentence.rpartition(': ')[2]}"
        for hazard in result.hazards
        if hazard.code == LOST
    ]


def test_an_injected_port_that_a_new_one_overwrites_is_named() -> None:
    assert what_is_lost(service(), service(TCP), service(UDP)) == [
        "spec.ports[port=53]: the element port=53, protocol=UDP, name=udp"
    ]


def test_an_injected_port_that_goes_with_a_removed_one_is_named() -> None:
    live = service(TCP, UDP, WEB)
    assert what_is_lost(service(TCP, WEB), service(WEB), live) == [
        "spec.ports[port=53]: the element port=53, protocol=UDP, name=udp"
    ]


def test_a_port_whose_namesake_is_removed_loses_what_the_server_set() -> None:
    live = service({**TCP, "nodePort": 30053}, {**UDP, "nodePort": 30053})
    assert what_is_lost(service(TCP, UDP), service(UDP), live) == [
        "spec.ports[port=53]: nodePort"
    ]


def test_an_unchanged_manifest_keeps_what_another_actor_put_before_it() -> None:
    manifest, live = service(UDP), service(TCP, UDP)
    result = smp.three_way_apply(manifest, manifest, live, kubernetes().schema_of(live))
    # As kubectl: the order, and nothing else.
    assert result.patch == {"spec": {"$setElementOrder/ports": [{"port": 53}]}}
    assert result.object == live
    assert result.warnings == ()
    assert result.converged


def test_a_port_that_the_user_replaces_by_another_protocol_is_no_loss() -> None:
    live = service({**TCP, "nodePort": 30053})
    assert what_is_lost(service(TCP), service(UDP), live) == []


def test_configurations_that_hold_in_another_order_have_converged() -> None:
    last, modified, live = service(TCP, UDP), service(UDP, TCP), service(TCP, UDP)
    schema = kubernetes().schema_of(live)
    assert strategic.unmet_paths(last, modified, live, schema) == ()


def test_a_removed_port_whose_namesake_others_added_is_still_there() -> None:
    # The patch has nothing but an order, as that of kubectl.
    live = service(TCP, UDP)
    schema = kubernetes().schema_of(live)
    result = smp.three_way_apply(service(TCP), service(UDP), live, schema)
    assert same(result.object, live)
    assert [str(path) for path in result.unmet] == ["spec.ports[port=53]"]


def test_what_a_patch_does_to_another_element_of_the_key_is_unmet() -> None:
    """Kubectl deletes and adds in two passes, and sends both for the first element."""
    schema = kubernetes().schema("v1", "Pod")

    def pod(*variables: JSONObject) -> JSONObject:
        env: list[JSON] = [{"name": "A", **each} for each in variables]
        container: JSONObject = {"name": "app", "env": env}
        return {"metadata": {"name": "a"}, "spec": {"containers": [container]}}

    field: list[JSONObject] = [
        {"valueFrom": {"fieldRef": {"fieldPath": path}}} for path in ("a", "b")
    ]
    secret: JSONObject = {"valueFrom": {"secretKeyRef": {"key": "c"}}}
    former = pod(field[0], secret)
    manifest = pod(field[1], {"valueFrom": {}, "value": "d"})
    result = smp.three_way_apply(former, manifest, former, schema)
    second = as_object(as_list(containers(result.object)[0]["env"])[1])
    assert second == {"name": "A", **secret}
    assert sorted(str(path).rpartition(".")[2] for path in result.unmet) == [
        "value",
        "valueFrom",
    ]
    # A patch that changes the first of two elements in place of the second one.
    manifest = pod(field[0], {"valueFrom": {}})
    result = smp.three_way_apply(former, manifest, former, schema)
    assert result.unmet


def containers(obj: JSONObject) -> list[JSONObject]:
    return [*map(as_object, as_list(as_object(obj["spec"])["containers"]))]
