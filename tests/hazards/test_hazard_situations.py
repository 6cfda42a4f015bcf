"""A situation for each code of a hazard."""

from __future__ import annotations

import smp
from smp.values import JSON, JSONObject

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
