"""Situations with each hazard, and neighbours of them without it.

The rules are those of the sources that HAZARDS and PAIRS name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import msgspec
import pytest

import smp
from smp._values.last_applied import LAST_APPLIED, configuration_text
from smp._values.values import JSON, JSONObject, as_list, as_object
from smp.hazards import HAZARDS
from smp.testing import KubernetesApi

CATALOG = smp.kubernetes()
API_VERSIONS = {
    "Deployment": "apps/v1",
    "Ingress": "networking.k8s.io/v1",
    "NetworkPolicy": "networking.k8s.io/v1",
    "StatefulSet": "apps/v1",
}


class Objects(msgspec.Struct, frozen=True):
    """The contents of the three objects of an apply; live may be None."""

    last_applied: dict[str, Any] | None
    manifest: dict[str, Any]
    live: dict[str, Any] | None

    def hazards(self, kind: str) -> tuple[smp.Hazard, ...]:
        return smp.find_hazards(
            None if self.last_applied is None else full(self.last_applied, kind),
            full(self.manifest, kind),
            None if self.live is None else full(self.live, kind),
            CATALOG.schema(API_VERSIONS.get(kind, "v1"), kind),
        )


def full(content: dict[str, Any], kind: str) -> JSONObject:
    """Return an object of a kind with the content."""
    metadata = {"name": "web", **content.get("metadata", {})}
    api_version = API_VERSIONS.get(kind, "v1")
    return {"apiVersion": api_version, "kind": kind, **content, "metadata": metadata}


class Situation(msgspec.Struct, frozen=True):
    """Objects with a hazard, where it is, and neighbours that do not have it."""

    code: str
    path: str
    input: str
    severity: str
    objects: Objects
    neighbour: Objects
    kind: str = "Deployment"


def spec(**fields: Any) -> dict[str, Any]:
    return {"spec": fields}


def pod(**fields: Any) -> dict[str, Any]:
    return spec(template={"spec": fields})


def containers(*elements: dict[str, Any]) -> dict[str, Any]:
    return pod(containers=[*elements])


def ports(*elements: dict[str, Any]) -> dict[str, Any]:
    return spec(ports=[*elements])


def metadata(**fields: Any) -> dict[str, Any]:
    return {"metadata": fields}


def annotated(**annotations: str) -> dict[str, Any]:
    return metadata(annotations=annotations)


def alone(manifest: dict[str, Any]) -> Objects:
    return Objects(None, manifest, None)


def annotation(text: str, **fields: Any) -> dict[str, Any]:
    """Return a live object with the annotation of kubectl apply."""
    return metadata(annotations={LAST_APPLIED: text}, **fields)


APP = {"name": "app", "image": "web:1"}
TCP = {"name": "dns-tcp", "port": 53, "protocol": "TCP"}
UDP = {"name": "dns", "port": 53, "protocol": "UDP"}
HTTP = {"name": "http", "port": 80, "protocol": "TCP"}
LIMITS = {"cpu": "1", "memory": "1Gi"}
FINALIZER = "example.com/a"
CLAIM = {"kind": "PersistentVolumeClaim", "name": "a"}
# Go: GetModifiedConfiguration writes annotations, sorted keys and a line break.
KNOWN: dict[str, Any] = metadata(annotations={})
WRITTEN = configuration_text(full(KNOWN, "Deployment"))
EARLY, LATE = "2026-01-02T03:04:05Z", "2026-01-02T03:04:06Z"


def managed(applied: str, subresource: str = "") -> dict[str, Any]:
    """Return a live object with the annotation, applied server-side at a time."""
    client_side = {
        "manager": "kubectl-client-side-apply",
        "operation": "Update",
        "time": EARLY,
        "fieldsV1": {"f:metadata": {"f:annotations": {f"f:{LAST_APPLIED}": {}}}},
    }
    server_side = {"manager": "argocd", "operation": "Apply", "time": applied}
    if subresource:
        server_side["subresource"] = subresource
    return annotation(WRITTEN, managedFields=[client_side, server_side])


SITUATIONS = [
    Situation(
        "duplicate-key",
        "spec.template.spec.containers[name=app]",
        "manifest",
        "warning",
        alone(containers(APP, {**APP, "image": "web:2"})),
        alone(containers(APP, {**APP, "name": "b"})),
    ),
    Situation(
        "duplicate-value",
        "metadata.finalizers[0]",
        "manifest",
        "warning",
        alone(metadata(finalizers=[FINALIZER, FINALIZER])),
        alone(metadata(finalizers=[FINALIZER, "example.com/b"])),
    ),
    Situation(
        "ambiguous-key",
        "spec.ports[port=53]",
        "manifest",
        "warning",
        alone(ports(TCP, UDP)),
        alone(ports(TCP, HTTP)),
        kind="Service",
    ),
    Situation(
        "missing-key",
        "spec.ports[0]",
        "manifest",
        "error",
        alone(ports({"protocol": "UDP"})),
        alone(ports({"port": 53})),
        kind="Service",
    ),
    Situation(
        "key-changed",
        "spec.ports[port=80]",
        "live",
        "warning",
        Objects(ports(), ports({**HTTP, "port": 8080}), ports(HTTP)),
        # It is in the last-applied configuration, so the patch deletes it.
        Objects(ports(HTTP), ports({**HTTP, "port": 8080}), ports(HTTP)),
        kind="Service",
    ),
    Situation(
        "deleted-with-duplicate",
        "spec.ports[port=53]",
        "manifest",
        "error",
        Objects(ports(TCP, UDP), ports(TCP), ports(TCP, UDP)),
        Objects(ports(TCP, HTTP), ports(TCP), ports(TCP, HTTP)),
        kind="Service",
    ),
    Situation(
        "lost-with-list",
        "spec.ports",
        "live",
        "warning",
        Objects(ports(TCP), spec(), ports(TCP, HTTP)),
        Objects(ports(TCP), spec(), ports(TCP)),
        kind="Service",
    ),
    Situation(
        "lost-with-object",
        "spec.template.spec.nodeSelector",
        "live",
        "warning",
        Objects(
            pod(nodeSelector={"a": "1"}), pod(), pod(nodeSelector={"a": "1", "b": "2"})
        ),
        Objects(
            pod(nodeSelector={"a": "1"}),
            pod(nodeSelector={}),
            pod(nodeSelector={"a": "1", "b": "2"}),
        ),
    ),
    Situation(
        "lost-with-element",
        "spec.template.spec.containers[name=app]",
        "live",
        "note",
        Objects(containers(APP), containers(), containers({**APP, "tty": True})),
        Objects(containers(APP), containers(), containers(APP)),
    ),
    Situation(
        "lost-by-null",
        "spec.template.spec.nodeSelector",
        "live",
        "note",
        Objects(
            pod(nodeSelector={"a": "1"}),
            pod(nodeSelector=None),
            pod(nodeSelector={"a": "1", "b": "2"}),
        ),
        Objects(
            pod(nodeSelector={"a": "1"}),
            pod(nodeSelector=None),
            pod(nodeSelector={"a": "1"}),
        ),
    ),
    Situation(
        "lost-in-list",
        "spec.template.spec.containers[name=app].args",
        "live",
        "warning",
        Objects(
            containers({**APP, "args": ["a"]}),
            containers({**APP, "args": ["b"]}),
            containers({**APP, "args": ["a", "injected"]}),
        ),
        Objects(
            containers({**APP, "args": ["a"]}),
            containers({**APP, "args": ["b"]}),
            containers({**APP, "args": ["a"]}),
        ),
    ),
    Situation(
        "lost-by-replacement",
        "spec.selector",
        "live",
        "warning",
        # A JSON value of another type is replaced.
        Objects(spec(), spec(selector="a"), spec(selector={"b": "2"})),
        Objects(spec(), spec(selector={"a": "1"}), spec(selector={"b": "2"})),
        kind="Service",
    ),
    Situation(
        "lost-by-retain-keys",
        "spec.strategy.rollingUpdate",
        "live",
        "warning",
        Objects(
            spec(strategy={"type": "RollingUpdate"}),
            spec(strategy={"type": "Recreate"}),
            spec(strategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 7}}),
        ),
        Objects(
            spec(strategy={"type": "RollingUpdate"}),
            spec(strategy={"type": "RollingUpdate", "rollingUpdate": {}}),
            spec(strategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 7}}),
        ),
    ),
    Situation(
        "lost-by-union",
        "spec.updateStrategy.rollingUpdate",
        "live",
        "warning",
        Objects(
            spec(),
            spec(updateStrategy={"type": "OnDelete"}),
            spec(
                updateStrategy={
                    "type": "RollingUpdate",
                    "rollingUpdate": {"partition": 1},
                }
            ),
        ),
        Objects(
            spec(),
            spec(updateStrategy={"type": "OnDelete"}),
            spec(updateStrategy={"type": "RollingUpdate"}),
        ),
        kind="StatefulSet",
    ),
    Situation(
        "lost-by-ambiguous-key",
        "spec.ports[port=53]",
        "live",
        "error",
        Objects(ports(HTTP, TCP), ports(HTTP), ports(HTTP, TCP, UDP)),
        Objects(ports(HTTP, TCP), ports(HTTP), ports(HTTP, TCP)),
        kind="Service",
    ),
    Situation(
        "null",
        "spec.paused",
        "manifest",
        "note",
        alone(spec(paused=None)),
        alone(metadata(creationTimestamp=None)),
    ),
    Situation(
        "null-created-differently",
        "data.a",
        "manifest",
        "warning",
        alone({"data": {"a": None}}),
        alone({"data": None}),
        kind="ConfigMap",
    ),
    Situation(
        "directive-in-object",
        "spec.template.spec.$patch",
        "manifest",
        "error",
        alone(pod(**{"$patch": "replace"})),
        alone(annotated(**{"example.com/$patch": "replace"})),
    ),
    Situation(
        "pair-ignored",
        "spec.template.spec.serviceAccount",
        "manifest",
        "error",
        Objects(pod(), pod(serviceAccount="b"), pod(serviceAccountName="a")),
        Objects(pod(), pod(serviceAccountName="b"), pod(serviceAccount="a")),
    ),
    Situation(
        "pair-ignored",
        "spec.clusterIPs",
        "manifest",
        "error",
        Objects(spec(), spec(clusterIPs=["10.0.0.2"]), spec(clusterIP="10.0.0.1")),
        Objects(
            spec(),
            spec(clusterIPs=["10.0.0.1", "fd00::1"]),
            spec(clusterIP="10.0.0.1"),
        ),
        kind="Service",
    ),
    Situation(
        "pair-restored",
        "spec.template.spec.serviceAccountName",
        "live",
        "error",
        Objects(
            pod(serviceAccountName="a"),
            pod(),
            pod(serviceAccountName="a", serviceAccount="a"),
        ),
        Objects(
            pod(serviceAccountName="a"),
            pod(serviceAccount=None),
            pod(serviceAccountName="a", serviceAccount="a"),
        ),
    ),
    Situation(
        "annotation-and-field",
        "metadata.annotations[kubernetes.io/ingress.class]",
        "manifest",
        "warning",
        alone(
            {
                **annotated(**{"kubernetes.io/ingress.class": "a"}),
                **spec(ingressClassName="b"),
            }
        ),
        alone(
            {
                **annotated(**{"kubernetes.io/ingress.class": "a"}),
                **spec(ingressClassName="a"),
            }
        ),
        kind="Ingress",
    ),
    Situation(
        "write-only",
        "stringData.a",
        "last-applied",
        "error",
        Objects({"stringData": {"a": "1"}}, {}, {"data": {"a": "MQ=="}}),
        Objects(
            {"stringData": {"a": "1"}}, {"data": {"a": "Mg=="}}, {"data": {"a": "MQ=="}}
        ),
        kind="Secret",
    ),
    Situation(
        "no-last-applied",
        "",
        "last-applied",
        "warning",
        Objects(None, spec(), spec(paused=True)),
        # The object is created.
        alone(spec()),
    ),
    Situation(
        "foreign-last-applied",
        "metadata.namespace",
        "last-applied",
        "error",
        Objects(metadata(namespace="a"), metadata(namespace="b"), {}),
        Objects(metadata(namespace="a"), {}, {}),
    ),
    Situation(
        "invalid-last-applied",
        f"metadata.annotations[{LAST_APPLIED}]",
        "live",
        "error",
        Objects(KNOWN, KNOWN, annotation("{")),
        Objects(KNOWN, KNOWN, annotation(WRITTEN)),
    ),
    Situation(
        "rewritten-last-applied",
        f"metadata.annotations[{LAST_APPLIED}]",
        "live",
        "note",
        Objects(KNOWN, KNOWN, annotation(WRITTEN.strip())),
        Objects(KNOWN, KNOWN, annotation(WRITTEN)),
    ),
    Situation(
        "stale-last-applied",
        f"metadata.annotations[{LAST_APPLIED}]",
        "live",
        "warning",
        Objects(spec(paused=True), KNOWN, annotation(WRITTEN)),
        # It is the same without annotations: kubectl adds an empty map.
        Objects({}, KNOWN, annotation(WRITTEN)),
    ),
    Situation(
        "superseded-last-applied",
        "metadata.managedFields[1]",
        "live",
        "warning",
        Objects(KNOWN, KNOWN, managed(LATE)),
        Objects(KNOWN, KNOWN, managed(EARLY)),
    ),
    Situation(
        "superseded-last-applied",
        "metadata.managedFields[1]",
        "live",
        "warning",
        Objects(KNOWN, KNOWN, managed(LATE)),
        Objects(KNOWN, KNOWN, managed(LATE, subresource="status")),
    ),
    Situation(
        "hot-loop",
        "spec.ingress",
        "manifest",
        "warning",
        # Recorded: "empty values that are written again and again".
        alone({"spec": {"podSelector": {}, "ingress": []}}),
        alone({"spec": {"podSelector": {}, "ingress": [{}]}}),
        kind="NetworkPolicy",
    ),
    Situation(
        "oversized-last-applied",
        f"metadata.annotations[{LAST_APPLIED}]",
        "manifest",
        "error",
        # Go: ValidateAnnotationsSize takes 256 KiB.
        alone({"data": {"a": "x" * (256 << 10)}}),
        alone({"data": {"a": "x" * (255 << 10)}}),
        kind="ConfigMap",
    ),
]


@pytest.mark.parametrize(
    "situation",
    SITUATIONS,
    ids=[f"{number} {each.code}" for number, each in enumerate(SITUATIONS)],
)
class TestSituations:
    def test_a_situation_has_the_hazard(self, situation: Situation) -> None:
        hazards = situation.objects.hazards(situation.kind)
        found = [(h.code, str(h.path), h.input, h.severity) for h in hazards]
        path, source = situation.path, situation.input
        assert (situation.code, path, source, situation.severity) in found

    def test_it_says_something_and_names_a_source(self, situation: Situation) -> None:
        for each in situation.objects.hazards(situation.kind):
            assert each.sentence
            assert "{" not in each.sentence + each.remedy
            assert each.rule.startswith(("Go: ", "KEP-"))

    def test_its_neighbour_does_not_have_the_hazard(self, situation: Situation) -> None:
        hazards = situation.neighbour.hazards(situation.kind)
        assert situation.code not in [each.code for each in hazards]


def test_each_code_has_a_situation() -> None:
    assert {each.code for each in SITUATIONS} == {*HAZARDS}


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
    # A port without a protocol is one of TCP.
    assert found(service(tcp, {"port": 53})) == [
        ("duplicate-key", "spec.ports[port=53]")
    ]
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
    assert found_in == [("duplicate-key", "last-applied")]
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


def test_a_repair_adds_an_element_that_a_patch_takes_for_one_of_other_keys() -> None:
    tcp: JSON = {"port": 443}
    udp: JSON = {"port": 443, "protocol": "UDP"}
    live: JSONObject = {**service(udp), "metadata": {"resourceVersion": "7"}}
    # kubectl sends nothing, and 443/TCP is not there.
    warned = smp.three_way_apply(None, service(tcp), live, SCHEMA)
    assert warned.object["spec"] == {"ports": [udp]}
    assert [str(path) for path in warned.unmet] == ["spec.ports[port=443].protocol"]
    repaired = smp.three_way_apply(None, service(tcp), live, SCHEMA, hazards="repair")
    assert repaired.object["spec"] == {"ports": [tcp, udp]}
    assert repaired.converged


def test_a_repair_sends_a_list_as_it_is_to_an_object_that_lacks_it() -> None:
    schema = CATALOG.schema("apps/v1", "Deployment")
    tcp, udp = {"containerPort": 53}, {"containerPort": 53, "protocol": "UDP"}
    last = full(containers({**APP, "ports": [tcp, udp]}), "Deployment")
    manifest = full(containers({**APP, "ports": [udp]}), "Deployment")
    where = smp.Path(("spec", "template", "spec", "containers", 0, "ports"))
    # The container is there without ports, or another client has removed it.
    for live in (full(containers(APP), "Deployment"), full(containers(), "Deployment")):
        warned = smp.three_way_apply(last, manifest, live, schema)
        assert not warned.converged
        repaired = smp.three_way_apply(last, manifest, live, schema, hazards="repair")
        assert smp.paths.value_at(repaired.object, where) == [udp]
        assert repaired.converged


def test_a_repair_leaves_lists_alone_that_it_does_not_change() -> None:
    last = full(ports(TCP, UDP), "Service")
    live = full({**ports(TCP, UDP), **metadata(resourceVersion="7")}, "Service")
    result = smp.three_way_apply(last, last, live, SCHEMA, hazards="repair")
    assert "spec" not in as_object(result.patch)


def test_a_repair_is_guarded_where_a_version_was_applied_once() -> None:
    last = full({**ports(TCP), **metadata(resourceVersion="6")}, "Service")
    live = full({**ports(TCP, UDP), **metadata(resourceVersion="7")}, "Service")
    manifest = full(ports(), "Service")
    result = smp.three_way_apply(last, manifest, live, SCHEMA, hazards="repair")
    assert as_object(as_object(result.patch)["metadata"])["resourceVersion"] == "7"
    assert result.converged


def test_an_empty_list_of_a_pair_is_not_set() -> None:
    schema = CATALOG.schema("v1", "Node")
    live = full(spec(podCIDR="10.0.0.0/24", podCIDRs=["10.0.0.0/24"]), "Node")
    manifest = full(spec(podCIDR="10.0.1.0/24", podCIDRs=[]), "Node")
    assert "pair-ignored" not in [
        each.code for each in smp.find_hazards(None, manifest, live, schema)
    ]


def test_the_name_of_a_directive_is_found_in_each_input() -> None:
    schema = CATALOG.schema("apps/v1", "Deployment")
    clean = full(spec(replicas=1), "Deployment")
    marked = full(spec(replicas=1, template={"$patch": "replace"}), "Deployment")

    def inputs(
        last_applied: JSONObject, manifest: JSONObject, live: JSONObject
    ) -> list[tuple[str, str]]:
        hazards = smp.find_hazards(last_applied, manifest, live, schema)
        return [
            (each.input, str(each.path))
            for each in hazards
            if each.code == "directive-in-object"
        ]

    where = "spec.template.$patch"
    assert inputs(clean, clean, clean) == []
    assert inputs(clean, clean, marked) == [("live", where)]
    assert inputs(marked, clean, clean) == [("last-applied", where)]
    assert inputs(marked, marked, marked) == [("manifest", where)]
    # An apply looks at those of live where it changes something.
    more = full(spec(template={"$patch": "replace", "spec": {}}), "Deployment")
    named = full(pod(hostname="a"), "Deployment")
    found = smp.three_way_apply(named, named, more, schema).hazards
    assert "directive-in-object" in [each.code for each in found]


def test_the_annotations_of_others_count_for_what_is_oversized() -> None:
    schema = CATALOG.schema("v1", "ConfigMap")
    text = "<" * 30_000
    manifest: JSONObject = {**full({}, "ConfigMap"), "data": {"a": text}}

    def is_oversized(size: int, **data: JSON) -> bool:
        live = full(metadata(annotations={"a": "x" * size}), "ConfigMap")
        wanted = {**manifest, "data": {**as_object(manifest["data"]), **data}}
        hazards = smp.find_hazards(live, wanted, live, schema)
        return "oversized-last-applied" in [each.code for each in hazards]

    # Go escapes < with six bytes.
    size = len(configuration_text({**manifest, "metadata": KNOWN["metadata"]}))
    room = 262_144 - size - len(LAST_APPLIED) - len("a") - len('"name":"web",')
    assert not is_oversized(room)
    assert is_oversized(room + 1)
    # Go prints 1e20 with all its digits.
    assert is_oversized(room - 20, b=1e20)
    assert not is_oversized(room - 40, b=1e20)


SERVICES = "/api/v1/namespaces/default/services"
STRATEGIC = {"Content-Type": "application/strategic-merge-patch+json"}


@pytest.fixture
def web() -> Iterator[httpx.Client]:
    with KubernetesApi() as api:
        yield api.client("httpx")


def sent(web: httpx.Client, body: JSON) -> httpx.Response:
    """Send a strategic merge patch of the Service."""
    text = json.dumps(body)
    return web.patch(f"{SERVICES}/web", content=text, headers=STRATEGIC)


def test_a_server_refuses_a_repaired_patch_after_a_change_by_others(
    web: httpx.Client,
) -> None:
    last = full(ports(HTTP, TCP), "Service")
    manifest = full(ports(HTTP), "Service")
    live = full(ports(HTTP, TCP, UDP), "Service")
    web.post(SERVICES, json=live).raise_for_status()
    read = web.get(f"{SERVICES}/web").json()
    first = smp.three_way_apply(last, manifest, read, SCHEMA, hazards="repair")
    # Another client writes before the patch arrives.
    added: JSON = {"name": "a", "port": 81}
    sent(web, {"spec": {"ports": [added]}}).raise_for_status()
    refused = sent(web, first.patch)
    assert (refused.status_code, refused.json()["reason"]) == (409, "Conflict")
    stored = web.get(f"{SERVICES}/web").json()
    assert [port["port"] for port in stored["spec"]["ports"]] == [81, 80, 53, 53]
    # The apply of what is there now is taken, and keeps what others wrote.
    again = smp.three_way_apply(last, manifest, stored, SCHEMA, hazards="repair")
    taken = sent(web, again.patch)
    assert taken.status_code == 200
    kept = [(port["port"], port["protocol"]) for port in taken.json()["spec"]["ports"]]
    assert sorted(kept) == [(53, "UDP"), (80, "TCP"), (81, "TCP")]
    # It was made for the object before.
    assert sent(web, again.patch).status_code == 409


def test_a_repair_that_cannot_be_applied_is_left_out_and_its_hazard_stays() -> None:
    schema = CATALOG.schema("apps/v1", "Deployment")
    manifest: JSONObject = {"apiVersion": "apps/v1", "kind": "Deployment"}
    named: JSONObject = {**manifest, "metadata": {"name": "web"}}
    live: JSONObject = {**manifest, "metadata": {"name": "web", "labels": {"a": "1"}}}
    # Metadata that is there, and empty, has no name.
    result = smp.three_way_apply(named, manifest, live, schema, hazards="repair")
    warned = smp.three_way_apply(named, manifest, live, schema)
    assert "lost-with-object" in [each.code for each in result.hazards]
    assert result.hazards == warned.hazards
    assert result.object == warned.object


def test_a_repair_keeps_the_resource_version_that_the_manifest_asks_for() -> None:
    asked: JSON = {"name": "web", "resourceVersion": "6"}
    last = full(ports(TCP), "Service")
    manifest: JSONObject = {**full(ports(), "Service"), "metadata": asked}
    live = full({**ports(TCP, UDP), **metadata(resourceVersion="7")}, "Service")
    result = smp.three_way_apply(last, manifest, live, SCHEMA, hazards="repair")
    assert as_object(result.object["spec"]) == ports(UDP)["spec"]
    assert as_object(as_object(result.patch)["metadata"])["resourceVersion"] == "6"


def test_a_changed_key_that_others_have_as_well_is_not_repaired() -> None:
    new = {**UDP, "port": 5353}
    live = full(ports(TCP, UDP), "Service")
    manifest = full(ports(TCP, new), "Service")
    last = full(ports(TCP), "Service")
    result = smp.three_way_apply(last, manifest, live, SCHEMA, hazards="repair")
    # To delete the one of that name would delete the other one of its number.
    assert result.object["spec"] == ports(TCP, UDP, new)["spec"]
    assert "key-changed" in [each.code for each in result.hazards]


def test_a_repair_removes_what_no_server_takes_beside_the_new_element() -> None:
    live = full(ports({**HTTP, "port": 8080}), "Service")
    manifest = full(ports(HTTP), "Service")
    last = full(ports(), "Service")
    result = smp.three_way_apply(last, manifest, live, SCHEMA, hazards="repair")
    # Two ports of one name are refused.
    assert result.object["spec"] == ports(HTTP)["spec"]
    causes = smp.explain_apply(last, manifest, live, SCHEMA, hazards="repair")
    found = {str(each.path): (each.code, each.hazard) for each in causes}
    assert found["spec.ports[port=8080]"] == ("removed-by-repair", "key-changed")


def test_a_repair_keeps_what_a_server_takes_beside_the_new_element() -> None:
    # A volume may be mounted at two paths, and two containers may have one image.
    mounted = {**APP, "volumeMounts": [{"name": "v", "mountPath": "/a"}]}
    new = {**APP, "volumeMounts": [{"name": "v", "mountPath": "/b"}]}
    injected = {"name": "injected", "image": "proxy:1"}
    proxy = {"name": "proxy", "image": "proxy:1"}
    live = full(containers(mounted, injected), "Deployment")
    manifest = full(containers(new, proxy), "Deployment")
    last = full(containers(APP), "Deployment")
    schema = CATALOG.schema("apps/v1", "Deployment")
    result = smp.three_way_apply(last, manifest, live, schema, hazards="repair")
    assert [each.code for each in result.hazards] == ["key-changed"] * 2
    at = smp.Path(("spec", "template", "spec", "containers"))
    [app, *others] = as_list(smp.paths.value_at(result.object, at))
    mounts = as_list(as_object(app)["volumeMounts"])
    assert sorted(str(as_object(each)["mountPath"]) for each in mounts) == ["/a", "/b"]
    assert sorted(str(as_object(each)["name"]) for each in others) == [
        "injected",
        "proxy",
    ]


def test_what_cannot_be_repaired_leaves_the_repairs_of_all_else() -> None:
    """Each repair that fails is left out on its own."""
    schema = CATALOG.schema("apps/v1", "Deployment")
    both = [{"containerPort": 53, "protocol": "UDP"}, {"containerPort": 53}]
    # The volume has another source now, so the former one cannot be there and empty.
    projected = {"name": "a", "projected": {"sources": [{"secret": {"name": "b"}}]}}
    injected = {"name": "a", "projected": {"sources": [], "defaultMode": 292}}
    empty = {"name": "a", "emptyDir": {}}
    last = pod(containers=[{**APP, "ports": both}], volumes=[projected])
    manifest = pod(containers=[{**APP, "ports": both[1:]}], volumes=[empty])
    live = pod(containers=[{**APP, "ports": both[1:]}], volumes=[injected])
    result = smp.three_way_apply(
        full(last, "Deployment"),
        full(manifest, "Deployment"),
        full({**live, **metadata(resourceVersion="7")}, "Deployment"),
        schema,
        hazards="repair",
    )
    assert as_object(result.object["spec"]) == manifest["spec"]
    assert result.converged


def test_a_list_that_cannot_be_sent_as_a_whole_leaves_the_other_lists() -> None:
    schema = CATALOG.schema("apps/v1", "Deployment")
    # A server refuses the second volume as soon as a patch has it.
    volumes = [
        {"name": "cache", "emptyDir": {}},
        {"name": "data", "hostPath": {"path": "/"}, "emptyDir": {}},
    ]
    stored = [{"name": "cache", "hostPath": {"path": "/"}}, volumes[1], volumes[0]]
    tcp, udp = {"containerPort": 53}, {"containerPort": 53, "protocol": "UDP"}
    last = pod(containers=[{**APP, "ports": [tcp]}], volumes=volumes)
    manifest = pod(containers=[{**APP, "ports": [tcp, udp]}], volumes=volumes)
    live = pod(containers=[{**APP, "ports": [tcp]}], volumes=stored)
    result = smp.three_way_apply(
        full(last, "Deployment"),
        full(manifest, "Deployment"),
        full({**live, **metadata(resourceVersion="7")}, "Deployment"),
        schema,
        hazards="repair",
    )
    path = smp.Path(("spec", "template", "spec", "containers", 0, "ports"))
    assert smp.paths.value_at(result.object, path) == [tcp, udp]
    assert "duplicate-key" in [each.code for each in result.hazards]


def test_a_repair_never_fails_where_the_apply_does_not() -> None:
    schema = CATALOG.schema("v1", "Pod")
    # The patch deletes both containers, and leaves none to look for variables in.
    unnamed = {"name": None, "value": "a"}
    app = {"name": "app", "env": [unnamed]}
    last, manifest = spec(containers=[app, app]), spec(containers=[app])
    for policy in ("warn", "repair"):
        result = smp.three_way_apply(
            full(last, "Pod"),
            full(manifest, "Pod"),
            full(spec(containers=[]), "Pod"),
            schema,
            hazards=policy,
        )
        assert result.unmet


def test_a_patch_that_removes_the_metadata_has_no_guard() -> None:
    schema = CATALOG.schema("apps/v1", "Deployment")
    manifest: JSONObject = {"apiVersion": "apps/v1", "kind": "Deployment"}
    named: JSONObject = {**manifest, "metadata": {"name": "web"}}
    live = full({**metadata(labels={"a": "1"}, resourceVersion="7")}, "Deployment")
    result = smp.three_way_apply(named, manifest, live, schema, hazards="repair")
    assert smp.apply_patch(live, as_object(result.patch), schema) == result.object
    assert [warning.code for warning in result.warnings] == ["unguarded"]


def test_half_a_surrogate_pair_is_no_error() -> None:
    schema = CATALOG.schema("v1", "ConfigMap")
    half: JSONObject = {"data": {"k": "\ud800", "l": "x" * 200_000}}
    live = full(
        {**metadata(annotations={LAST_APPLIED: '{"a":"\\u003c"}\n'})}, "ConfigMap"
    )
    result = smp.three_way_apply(half, half, live, schema)
    assert [each.code for each in result.hazards] == ["stale-last-applied"]
