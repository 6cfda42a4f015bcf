"""A situation for each code of a hazard."""

from __future__ import annotations

import pytest

import smp
from smp.values import JSON, JSONObject, as_object

SCHEMA = smp.kubernetes().schema("v1", "Service")


def service(*ports: JSON) -> JSONObject:
    return {"apiVersion": "v1", "kind": "Service", "spec": {"ports": [*ports]}}


def found(manifest: JSONObject) -> list[tuple[str, str]]:
    hazards = smp.find_hazards(None, manifest, None, SCHEMA)
    return [(hazard.code, str(hazard.path)) for hazard in hazards]


def test_equal_keys_are_duplicates_and_other_protocols_make_them_ambiguous() -> None:
    tcp: JSON = {"port": 53, "protocol": "TCP"}
    udp: JSON = {"port": 53, "protocol": "UDP"}
    assert found(service(tcp, udp)) == [("ambiguous-key", "spec.ports[port=53]")]
    assert found(service(tcp, udp, tcp)) == [("duplicate-key", "spec.ports[port=53]")]
    assert found(service(tcp, {"port": 80})) == []
    assert found(service(tcp, {"protocol": "UDP"})) == [
        ("missing-key", "spec.ports[1]")
    ]


def test_keys_of_a_last_applied_configuration_are_told_from_equal_ones() -> None:
    # Python holds 1 and True equal, JSON does not.
    manifest = service({"port": 1}, {"port": True})
    last = service({"port": 1}, {"port": 1})
    hazards = smp.find_hazards(last, manifest, None, SCHEMA)
    found_in = [(hazard.code, hazard.input) for hazard in hazards]
    assert found_in == [("ambiguous-key", "last-applied")]
    assert smp.find_hazards(manifest, manifest, None, SCHEMA) == ()


def test_a_repaired_apply_keeps_what_a_merge_key_would_take_and_has_a_guard() -> None:
    tcp: JSON = {"name": "tcp", "port": 53, "protocol": "TCP"}
    udp: JSON = {"name": "udp", "port": 53, "protocol": "UDP"}
    web: JSON = {"name": "web", "port": 80, "protocol": "TCP"}
    metadata: JSON = {"resourceVersion": "7"}
    live: JSONObject = {**service(tcp, udp, web), "metadata": metadata}
    last, manifest = service(tcp, web), service(web)
    warned = smp.three_way_apply(last, manifest, live, SCHEMA)
    assert warned.object["spec"] == {"ports": [web]}
    codes = [hazard.code for hazard in warned.hazards]
    assert codes == ["ambiguous-key", "lost-by-ambiguous-key"]
    with pytest.raises(smp.HazardError) as caught:
        smp.three_way_apply(last, manifest, live, SCHEMA, hazards="error")
    assert caught.value.hazards == warned.hazards
    # A kube-apiserver 1.36.3 stores this for the patch, and answers 409 to it again.
    repaired = smp.three_way_apply(last, manifest, live, SCHEMA, hazards="repair")
    assert repaired.object["spec"] == {"ports": [udp, web]}
    patch = as_object(repaired.patch)
    assert patch["metadata"] == {"resourceVersion": "7"}
    assert repaired.converged
    assert smp.apply_patch(live, patch, SCHEMA) == repaired.object
