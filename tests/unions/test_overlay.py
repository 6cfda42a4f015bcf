"""The bundled overlay: what it says of Kubernetes, and that it never harms a valid
object.
"""

from __future__ import annotations

import copy
import re
from functools import cache

import pytest
import yaml
from hypothesis import given

from smp.errors import DepthError, SchemaError, SmpError, UnionError
from smp.schema.catalog import Catalog, bundled_overlay, kubernetes, versions
from smp.schema.model import ListType, ObjectType, Schema
from smp.schema.union_groups import UnionGroup
from smp.unions import PROFILES, normalize_unions, validate_unions
from smp.values import JSON, JSONObject, same
from tests.support.paths import DOCS
from tests.support.schema_documents import schema_documents

CORE = "io.k8s.api.core.v1."
CLEARING = ("kep1027", "kep1027-draft", "kep2019", "smd")


def schema_of(name: str, version: str | None = None) -> Schema:
    """Return the schema of a type that is no kind."""
    return Schema(f"#{name}", kubernetes(version).schema("v1", "Pod").types)


def unions_of(name: str, version: str | None = None) -> tuple[UnionGroup, ...]:
    known = schema_of(name, version).type
    assert isinstance(known, ObjectType)
    return known.unions


# --- the published maps that are wrong ---


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("kind", ["SeccompProfile", "AppArmorProfile"])
def test_the_echo_of_a_localhost_profile_is_unchanged(profile: str, kind: str) -> None:
    """The published map says LocalhostProfile, which no server accepts."""
    confined: JSONObject = {
        "type": "Localhost",
        "localhostProfile": "profiles/audit.json",
    }
    schema = schema_of(CORE + kind)
    result = normalize_unions(
        confined, copy.deepcopy(confined), schema, profile=profile
    )
    assert (result.object, result.changes, result.warnings) == (confined, (), ())
    assert validate_unions(confined, confined, schema, profile=profile) == ()


@pytest.mark.parametrize("profile", PROFILES)
def test_the_echo_of_a_pod_with_a_seccomp_profile_is_unchanged(profile: str) -> None:
    confined: JSONObject = {
        "seccompProfile": {
            "type": "Localhost",
            "localhostProfile": "profiles/audit.json",
        }
    }
    container: JSONObject = {"name": "app", "securityContext": confined}
    pod: JSONObject = {"spec": {"securityContext": confined, "containers": [container]}}
    schema = kubernetes().schema("v1", "Pod")
    assert (
        normalize_unions(pod, copy.deepcopy(pod), schema, profile=profile).object == pod
    )
    assert validate_unions(pod, pod, schema, profile=profile) == ()


@pytest.mark.parametrize("profile", PROFILES)
def test_the_echo_of_a_queuing_limit_response_is_unchanged(profile: str) -> None:
    queue: JSONObject = {"type": "Queue", "queuing": {"queues": 64}}
    schema = schema_of("io.k8s.api.flowcontrol.v1.LimitResponse")
    assert (
        normalize_unions(queue, copy.deepcopy(queue), schema, profile=profile).object
        == queue
    )
    assert validate_unions(queue, queue, schema, profile=profile) == ()


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("kind", ["SeccompProfile", "AppArmorProfile"])
def test_a_profile_that_becomes_local_keeps_its_file(profile: str, kind: str) -> None:
    local: JSONObject = {"type": "Localhost", "localhostProfile": "a"}
    schema = schema_of(CORE + kind)
    assert (
        normalize_unions(
            {"type": "RuntimeDefault"}, local, schema, profile=profile
        ).object
        == local
    )


@pytest.mark.parametrize("profile", CLEARING)
def test_a_profile_that_is_local_no_more_loses_its_file(profile: str) -> None:
    old: JSONObject = {"type": "Localhost", "localhostProfile": "a"}
    result = normalize_unions(
        old,
        {**old, "type": "RuntimeDefault"},
        schema_of(CORE + "SeccompProfile"),
        profile=profile,
    )
    assert result.object == {"type": "RuntimeDefault"}


def test_without_the_overlay_the_landmine_is_there() -> None:
    """Else the tests above would show nothing."""
    published = Schema(
        f"#{CORE}SeccompProfile", kubernetes(overlay=None).schema("v1", "Pod").types
    )
    confined: JSONObject = {"type": "Localhost", "localhostProfile": "a"}
    result = normalize_unions(confined, confined, published, profile="kep2019")
    assert result.object == {"type": "LocalhostProfile", "localhostProfile": "a"}


# --- every row against every bundled version ---


def rows() -> list[JSONObject]:
    document = bundled_overlay()
    assert isinstance(document, dict)
    unions = document["unions"]
    assert isinstance(unions, list)
    return [union for union in unions if isinstance(union, dict)]


def names_in(value: JSON) -> list[str]:
    assert isinstance(value, dict | list)
    return [str(name) for name in value]


ROWS = rows()
TYPES = sorted({name for row in ROWS for name in names_in(row["types"])})

# The fields of each type that exclude none: what is neither here nor in the overlay
# would be new and overlooked.
OTHER_FIELDS = {
    "admissionregistration.v1.WebhookClientConfig": {"caBundle"},
    "apiextensions.v1.WebhookClientConfig": {"caBundle"},
    "authorization.v1.SubjectAccessReviewSpec": {"extra", "groups", "uid", "user"},
    "core.v1.DownwardAPIVolumeFile": {"mode", "path", "user"},
    "core.v1.EnvFromSource": {"prefix"},
    "core.v1.EnvVar": {"name"},
    "core.v1.PersistentVolumeSpec": {
        *(
            "accessModes",
            "capacity",
            "claimRef",
            "mountOptions",
            "nodeAffinity",
            "persistentVolumeReclaimPolicy",
        ),
        *("storageClassName", "volumeAttributesClassName", "volumeMode"),
    },
    "core.v1.PodResourceClaim": {"name"},
    "core.v1.Probe": {
        *(
            "failureThreshold",
            "initialDelaySeconds",
            "periodSeconds",
            "successThreshold",
        ),
        *("terminationGracePeriodSeconds", "timeoutSeconds"),
    },
    "core.v1.Volume": {"name"},
    "policy.v1.PodDisruptionBudgetSpec": {"selector", "unhealthyPodEvictionPolicy"},
    **{
        f"scheduling.{version}.PodGroupResourceClaim": {"name"}
        for version in ("v1alpha2", "v1alpha3", "v1beta1")
    },
}


def claimed(versions_of_row: str) -> set[str]:
    """Return the bundled versions that a row claims, worked out anew."""
    minors = [int(minor.partition(".")[2]) for minor in versions()]
    first = int(versions_of_row[2:4])
    last = max(minors) if versions_of_row.endswith("+") else int(versions_of_row[-2:])
    return {f"1.{minor}" for minor in minors if first <= minor <= last}


@pytest.mark.parametrize("name", TYPES)
def test_a_type_has_its_unions_in_the_versions_that_the_rows_claim(name: str) -> None:
    """PodResourceClaim aside, whose members came in 1.31, a type has its unions as long
    as it exists.
    """
    exists = {
        version for version in versions() if kubernetes(version).load(name) is not None
    }
    said: set[str] = set()
    for row in ROWS:
        types = row["types"]
        assert isinstance(types, dict)
        said |= claimed(str(types[name])) if name in types else set()
    missing = (
        {version for version in versions() if "1.26" <= version < "1.31"}
        if name == f"{CORE}PodResourceClaim"
        else set()
    )
    assert said == exists - missing
    for version in exists:
        own = [
            union
            for union in unions_of(name, version)
            if union.source != "x-kubernetes-unions"
        ]
        assert bool(own) is (version in said)


@pytest.mark.parametrize("name", TYPES)
def test_every_field_is_in_a_union_or_known_to_exclude_none(name: str) -> None:
    others = next(
        (fields for suffix, fields in OTHER_FIELDS.items() if name.endswith(suffix)),
        set(),
    )
    for version in versions():
        document = kubernetes(version).load(name)
        if not isinstance(document, dict) or not (unions := unions_of(name, version)):
            continue
        in_unions = {
            field for union in unions for field in (*union.names, union.discriminator)
        } - {""}
        assert in_unions == set(names_in(document["fields"])) - others


def test_every_member_is_a_field_of_some_version() -> None:
    for row in ROWS:
        for name in names_in(row["types"]):
            documents = [kubernetes(version).load(name) for version in versions()]
            fields = {
                field
                for one in documents
                if isinstance(one, dict)
                for field in names_in(one["fields"])
            }
            # gone before its exempt came
            common = name.startswith("io.k8s.api.flowcontrol.v1beta1.")
            assert (
                set(names_in(row["members"])) - ({"exempt"} if common else set())
                <= fields
            )


@cache
def object_types(version: str) -> dict[str, ObjectType]:
    """Return every named object that a kind leads to."""
    catalog = kubernetes(version)
    found: dict[str, ObjectType] = {}
    queue = [catalog.schema(*kind).type for kind in catalog.kinds()]
    while queue:
        known = queue.pop()
        if isinstance(known, ListType):
            queue.append(known.items)
        elif isinstance(known, ObjectType) and known.name not in found:
            found |= {known.name: known} if known.name else {}
            queue += [field.type for field in known]
    return found


def keys_of_elements(version: str) -> dict[str, set[str]]:
    """Return the keys by which lists know the elements of each type: merge keys and map
    keys.
    """
    found: dict[str, set[str]] = {}
    for known in object_types(version).values():
        for field in known:
            listed = field.type
            if isinstance(listed, ListType) and isinstance(listed.items, ObjectType):
                found.setdefault(listed.items.name, set()).update(
                    {field.merge_key, *listed.map_keys} - {""}
                )
    return found


@pytest.mark.parametrize("version", versions())
def test_no_merge_key_is_in_a_union(version: str) -> None:
    keys = keys_of_elements(version)
    assert keys[f"{CORE}EnvVar"] == keys[f"{CORE}Volume"] == {"name"}
    for name in TYPES:
        if kubernetes(version).load(name) is not None:
            fields = {
                field
                for union in unions_of(name, version)
                for field in (*union.names, union.discriminator)
            }
            assert not fields & keys.get(name, set())


@pytest.mark.parametrize("version", versions())
def test_the_unions_of_every_type_can_be_read(version: str) -> None:
    sources = [
        union.source
        for known in object_types(version).values()
        for union in known.unions
    ]
    published = sources.count("x-kubernetes-unions")
    assert published >= 1  # the Subject of a FlowSchema, in every version
    assert len(sources) - published >= 25


def test_every_row_says_all_that_a_reviewer_asks_for() -> None:
    for row in ROWS:
        words = {"types", "members", "exactly_one", "source"}
        words |= {"discriminator", "empty"} if "discriminator" in row else {"profile"}
        assert words <= row.keys()
        assert str(row["source"]).startswith(("Go: ", "API: ", "as before 1.37"))


def test_what_was_published_right_stays_and_what_was_wrong_is_replaced() -> None:
    (subject,) = unions_of("io.k8s.api.flowcontrol.v1.Subject")
    (response,) = unions_of("io.k8s.api.flowcontrol.v1.LimitResponse")
    assert (subject.source, subject.required, subject.generation) == (
        "x-kubernetes-unions",
        True,
        "fields-to-discriminateBy",
    )
    assert ([*response.by_value], [*response.empty], response.generation) == (
        ["Queue"],
        ["Reject"],
        "members",
    )


def test_a_member_that_came_later_leaves_its_value_to_the_earlier_versions() -> None:
    name = "io.k8s.api.flowcontrol.v1beta3.PriorityLevelConfigurationSpec"
    (before,), (after,) = unions_of(name, "1.27"), unions_of(name, "1.28")
    assert (before.names, before.empty) == (("limited",), frozenset({"Exempt"}))
    assert (after.names, after.empty) == (("exempt", "limited"), frozenset())
    assert before.allowed == after.allowed == frozenset({"Exempt", "Limited"})


def test_a_value_that_came_later_is_unknown_to_the_earlier_versions() -> None:
    strategy: JSONObject = {"type": "Recreate"}
    name = "io.k8s.api.apps.v1.StatefulSetUpdateStrategy"
    assert validate_unions(None, strategy, schema_of(name, "1.37")) == ()
    (violation,) = validate_unions(None, strategy, schema_of(name, "1.36"))
    assert violation.code == "unsupported-value"


# --- what the rows do ---


NEWEST = {
    name: next(
        version
        for version in reversed(versions())
        if kubernetes(version).load(name) is not None
    )
    for name in TYPES
}
UNIONS = [
    (name, union)
    for name, version in NEWEST.items()
    for union in unions_of(name, version)
]
PLAIN = [(name, union) for name, union in UNIONS if not union.discriminator]
CHOSEN = [(name, union) for name, union in UNIONS if union.discriminator]


def described(value: object) -> str:
    return value if isinstance(value, str) else ""


@pytest.mark.parametrize("profile", CLEARING[:3])
@pytest.mark.parametrize(("name", "union"), PLAIN, ids=described)
def test_a_new_member_clears_the_others(
    name: str, union: UnionGroup, profile: str
) -> None:
    schema = schema_of(name, NEWEST[name])
    for before in union.names:
        for after in {*union.names} - {before}:
            result = normalize_unions(
                {before: "x"}, {before: "x", after: "y"}, schema, profile=profile
            )
            assert result.object == {after: "y"}
            assert [str(change.path) for change in result.changes] == [before]


@pytest.mark.parametrize("profile", CLEARING[:3])
@pytest.mark.parametrize(("name", "union"), PLAIN, ids=described)
def test_two_new_members_are_an_error_that_names_both(
    name: str, union: UnionGroup, profile: str
) -> None:
    first, second = union.names[:2]
    olds: list[JSONObject | None] = [None, {}]
    for old in olds:
        with pytest.raises(UnionError) as caught:
            normalize_unions(
                old,
                {first: "x", second: "y"},
                schema_of(name, NEWEST[name]),
                profile=profile,
            )
        assert f"{first}, {second}" in str(caught.value)


@pytest.mark.parametrize(("name", "union"), PLAIN, ids=described)
def test_the_rule_of_the_union_counts_more_than_structured_merge_diff(
    name: str, union: UnionGroup
) -> None:
    first, second = union.names[:2]
    both: JSONObject = {first: "x", second: "y"}
    result = normalize_unions(
        {first: "x"}, both, schema_of(name, NEWEST[name]), profile="smd"
    )
    assert result.object == {second: "y"}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(("name", "union"), PLAIN, ids=described)
def test_plain_members_are_validated(
    name: str, union: UnionGroup, profile: str
) -> None:
    schema = schema_of(name, NEWEST[name])
    for member in union.names:
        assert validate_unions(None, {member: "x"}, schema, profile=profile) == ()
    first, second = union.names[:2]
    found = {
        "none": [
            violation.code
            for violation in validate_unions(None, {}, schema, profile=profile)
        ],
        "two": [
            violation.code
            for violation in validate_unions(
                None, {first: 1, second: 1}, schema, profile=profile
            )
        ],
    }
    none, two = (["union-none"] if union.required else []), ["union-several"]
    assert found == (
        {"none": [], "two": []} if profile == "off" else {"none": none, "two": two}
    )


@pytest.mark.parametrize(("name", "union"), CHOSEN, ids=described)
def test_a_new_choice_clears_what_it_does_not_select(
    name: str, union: UnionGroup
) -> None:
    schema = schema_of(name, NEWEST[name])
    values = [*union.by_value, *union.empty, *union.none]
    for member in union.members:
        old: JSONObject = {union.discriminator: member.value, member.name: "x"}
        assert validate_unions(None, old, schema) == ()
        for value in set(values) - {member.value}:
            result = normalize_unions(old, {**old, union.discriminator: value}, schema)
            assert result.object == {union.discriminator: value}


@pytest.mark.parametrize(("name", "union"), CHOSEN, ids=described)
def test_choices_are_validated(name: str, union: UnionGroup) -> None:
    schema = schema_of(name, NEWEST[name])

    def codes(obj: JSONObject) -> list[str]:
        return [violation.code for violation in validate_unions(None, obj, schema)]

    assert codes({union.discriminator: "Lost"}) == ["unsupported-value"]
    for value in union.empty | union.none:
        assert codes({union.discriminator: value}) == []
        assert codes({union.discriminator: value, union.names[0]: "x"}) == [
            "member-forbidden"
        ]
    for member in union.members:
        assert codes({union.discriminator: member.value}) == (
            [] if member.optional else ["member-required"]
        )
    assert codes({}) == (
        ["discriminator-required"] if union.required and not union.default else []
    )


def test_an_empty_value_beside_its_source_is_no_second_member() -> None:
    """Go writes an empty string for an unset one; servers accept it."""
    schema = schema_of(f"{CORE}EnvVar")
    source: JSONObject = {"valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    both: JSONObject = {"name": "POD", "value": "", **source}
    olds: list[JSONObject | None] = [
        None,
        both,
        {"name": "POD", **source},
        {"name": "POD"},
    ]
    for old in olds:
        assert normalize_unions(old, both, schema).object == both
    assert normalize_unions(
        {"name": "POD", "value": "a"}, {"name": "POD", "value": "a", **source}, schema
    ).object == {
        "name": "POD",
        **source,
    }


def test_the_selectors_of_a_peer_go_together_and_an_ip_block_excludes_both() -> None:
    schema = schema_of("io.k8s.api.networking.v1.NetworkPolicyPeer")
    selectors: JSONObject = {
        "namespaceSelector": {},
        "podSelector": {"matchLabels": {"app": "web"}},
    }
    block: JSONObject = {"ipBlock": {"cidr": "10.0.0.0/8"}}
    assert normalize_unions(None, selectors, schema).object == selectors
    assert normalize_unions(block, {**block, **selectors}, schema).object == selectors
    assert normalize_unions(selectors, {**block, **selectors}, schema).object == block
    with pytest.raises(UnionError):
        normalize_unions(None, {**block, **selectors}, schema)


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet"])
@pytest.mark.parametrize(
    "profile", ["kep1027", "kep1027-draft", "validate-only", "off"]
)
def test_a_strategy_without_its_type_is_a_rolling_update(
    kind: str, profile: str
) -> None:
    field = "strategy" if kind == "Deployment" else "updateStrategy"
    manifest: JSONObject = {"spec": {field: {"rollingUpdate": {}}}}
    schema = kubernetes().schema("apps/v1", kind)
    stored: JSONObject = {
        "spec": {field: {"type": "RollingUpdate", "rollingUpdate": {}}}
    }
    for old in (None, manifest, stored):
        assert (
            normalize_unions(old, manifest, schema, profile=profile).object == manifest
        )
    assert validate_unions(None, manifest, schema, profile=profile) == ()


# --- valid objects ---

EVERYWHERE = """
apiVersion: v1
kind: Pod
metadata: {name: all}
spec:
  volumes:
  - {name: a01, awsElasticBlockStore: {volumeID: vol-1}}
  - {name: a02, azureDisk: {diskName: d, diskURI: u}}
  - {name: a03, azureFile: {secretName: s, shareName: n}}
  - {name: a04, cephfs: {monitors: ["10.16.154.78:6789"]}}
  - {name: a05, cinder: {volumeID: v}}
  - {name: a06, configMap: {name: c}}
  - {name: a07, csi: {driver: d.example.com}}
  - {name: a08, downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: metadata.labels}},
      {path: cpu, resourceFieldRef: {containerName: app, resource: limits.cpu}}]}}
  - {name: a09, emptyDir: {}}
  - {name: a10, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce]}}}}
  - {name: a11, fc: {targetWWNs: ["500a0982991b8dc5"], lun: 2}}
  - {name: a12, flexVolume: {driver: example.com/lvm}}
  - {name: a13, flocker: {datasetName: d}}
  - {name: a14, gcePersistentDisk: {pdName: d}}
  - {name: a15, gitRepo: {repository: "https://example.com/a.git"}}
  - {name: a16, glusterfs: {endpoints: e, path: p}}
  - {name: a17, hostPath: {path: /var/log, type: ""}}
  - {name: a18, iscsi: {targetPortal: "10.0.0.1:3260", iqn: iqn.2001-04.com.example, lun: 0}}
  - {name: a19, nfs: {server: s, path: /}}
  - {name: a20, persistentVolumeClaim: {claimName: c}}
  - {name: a21, photonPersistentDisk: {pdID: p}}
  - {name: a22, portworxVolume: {volumeID: v}}
  - {name: a23, projected: {sources: [{configMap: {name: c}}, {secret: {name: s}}, {serviceAccountToken: {path: t}},
      {downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: metadata.labels}}]}}]}}
  - {name: a24, quobyte: {registry: r, volume: v}}
  - {name: a25, rbd: {monitors: [m], image: i}}
  - {name: a26, scaleIO: {gateway: g, system: s, secretRef: {name: n}}}
  - {name: a27, secret: {secretName: s, optional: false}}
  - {name: a28, storageos: {volumeName: v}}
  - {name: a29, vsphereVolume: {volumePath: p}}
  - {name: a30}
  securityContext: {seccompProfile: {type: RuntimeDefault}}
  initContainers:
  - {name: init, image: i, env: [{name: EMPTY}, {name: BLANK, value: ""}]}
  containers:
  - name: app
    image: registry.example/app:1
    securityContext: {seccompProfile: {type: Localhost, localhostProfile: profiles/audit.json}}
    env:
    - {name: A, value: a}
    - {name: B, value: "", valueFrom: {fieldRef: {apiVersion: v1, fieldPath: metadata.name}}}
    - {name: C, valueFrom: {configMapKeyRef: {name: c, key: k}}}
    - {name: D, valueFrom: {secretKeyRef: {name: s, key: k}}}
    - {name: E, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: "0"}}}
    envFrom: [{prefix: A_, configMapRef: {name: c}}, {secretRef: {name: s}}]
    livenessProbe: {httpGet: {path: /, port: 80}, periodSeconds: 10}
    readinessProbe: {tcpSocket: {port: 80}}
    startupProbe: {exec: {command: ["true"]}}
    lifecycle: {preStop: {exec: {command: ["true"]}}, postStart: {httpGet: {port: 80}}}
  - {name: side, image: s, livenessProbe: {grpc: {port: 9000, service: ""}}}
status:
  containerStatuses:
  - {name: app, state: {running: {}}, lastState: {terminated: {exitCode: 0}}}
  - {name: side, state: {waiting: {reason: ContainerCreating}}, lastState: {}}
---
{apiVersion: apps/v1, kind: Deployment, spec: {strategy: {type: Recreate}}}
---
{apiVersion: apps/v1, kind: Deployment, spec: {strategy: {}}}
---
{apiVersion: apps/v1, kind: StatefulSet, spec: {updateStrategy: {type: OnDelete}}}
---
{apiVersion: apps/v1, kind: StatefulSet,
 spec: {updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 1}}}}
---
{apiVersion: apps/v1, kind: DaemonSet, spec: {updateStrategy: {type: OnDelete}}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
spec:
  metrics:
  - {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 60}}}
  - {type: Pods, pods: {metric: {name: m}, target: {type: AverageValue, averageValue: 1k}}}
  - type: Object
    object: {metric: {name: m}, describedObject: {kind: Ingress, name: i}, target: {type: Value, value: 10k}}
  - {type: External, external: {metric: {name: m}, target: {type: Value, value: "1", averageValue: "2"}}}
  - type: ContainerResource
    containerResource: {name: cpu, container: app, target: {type: Utilization, averageUtilization: 60}}
status:
  currentMetrics:
  - {type: Resource, resource: {name: cpu, current: {averageUtilization: 0, averageValue: "0"}}}
  - {type: ""}
---
{apiVersion: v1, kind: PersistentVolume, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce],
  local: {path: /mnt}, nodeAffinity: {}, claimRef: {name: c}, storageClassName: "", volumeMode: Filesystem}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
spec:
  defaultBackend: {resource: {apiGroup: example.com, kind: Bucket, name: b}}
  rules:
  - http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: s, port: {number: 80}}}}
      - {path: /a, pathType: Prefix, backend: {service: {name: s, port: {name: http, number: 0}}}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
spec:
  podSelector: {}
  ingress:
  - from:
    - {podSelector: {matchLabels: {app: web}}, namespaceSelector: {}}
    - {namespaceSelector: {}}
    - {ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}
  egress: [{to: [{podSelector: {}}]}, {}]
---
{apiVersion: authorization.k8s.io/v1, kind: SubjectAccessReview,
 spec: {user: a, nonResourceAttributes: {path: /}}}
---
{apiVersion: authorization.k8s.io/v1, kind: SelfSubjectAccessReview, spec: {resourceAttributes: {}}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, spec: {minAvailable: 0, selector: {}}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, spec: {selector: {}}}
---
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, webhooks: [
  {name: a.example.com, clientConfig: {url: "https://example.com/a", caBundle: QQ==}},
  {name: b.example.com, clientConfig: {service: {namespace: n, name: s}}}]}
---
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {conversion: {strategy: Webhook,
  webhook: {conversionReviewVersions: [v1], clientConfig: {service: {namespace: n, name: s}}}}}}
"""
NEWER = """
apiVersion: v1
kind: Pod
spec:
  securityContext: {appArmorProfile: {type: Localhost, localhostProfile: p}}
  resourceClaims: [{name: a, resourceClaimName: c}, {name: b, resourceClaimTemplateName: t}]
  volumes:
  - {name: image, image: {reference: registry.example/a, pullPolicy: Always}}
  - {name: projected, projected: {sources: [{clusterTrustBundle: {path: p, name: n}},
      {podCertificate: {signerName: example.com/s, keyType: ED25519}}]}}
  containers:
  - name: app
    env: [{name: A, valueFrom: {fileKeyRef: {volumeName: v, path: p, key: k}}}]
    lifecycle: {preStop: {sleep: {seconds: 5}}}
---
{apiVersion: apps/v1, kind: StatefulSet, spec: {updateStrategy: {type: Recreate}}}
---
{apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: PriorityLevelConfiguration, spec: {type: Exempt}}
---
{apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: PriorityLevelConfiguration,
 spec: {type: Limited, limited: {limitResponse: {type: Queue, queuing: {queues: 64}}}}}
---
{apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: PriorityLevelConfiguration,
 spec: {type: Limited, limited: {limitResponse: {type: Reject}}}}
---
{apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: FlowSchema, spec: {rules: [{subjects: [
  {kind: Group, group: {name: g}}, {kind: User, user: {name: u}},
  {kind: ServiceAccount, serviceAccount: {namespace: n, name: s}}]}]}}
"""


def objects(text: str) -> list[JSONObject]:
    return [
        document for document in yaml.safe_load_all(text) if isinstance(document, dict)
    ]


POD = objects(EVERYWHERE)[0]
STRATEGY: JSONObject = {
    "type": "RollingUpdate",
    "rollingUpdate": {"maxSurge": 1, "maxUnavailable": "25%"},
}
DEPLOYMENT: JSONObject = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "spec": {"strategy": STRATEGY, "template": {"spec": POD["spec"]}},
}
VALID = [
    *(
        (version, obj)
        for version in (versions()[0], versions()[-1])
        for obj in (DEPLOYMENT, *objects(EVERYWHERE))
    ),
    *((versions()[-1], obj) for obj in objects(NEWER)),
]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    ("version", "obj"),
    VALID,
    ids=lambda value: value if isinstance(value, str) else value["kind"],
)
def test_a_valid_object_is_valid_and_neither_its_create_nor_its_echo_changes(
    version: str, obj: JSONObject, profile: str
) -> None:
    schema = kubernetes(version).schema_of(obj)
    assert validate_unions(None, obj, schema, profile=profile) == ()
    for old in (None, copy.deepcopy(obj)):
        result = normalize_unions(old, obj, schema, profile=profile)
        assert same(result.object, obj)
        assert (result.changes, result.warnings) == ((), ())


def test_every_kind_of_volume_is_among_the_valid_objects() -> None:
    volumes = [
        volume
        for obj in objects(EVERYWHERE + "---" + NEWER)
        for volume in volumes_of(obj)
    ]
    (union,) = unions_of(f"{CORE}Volume")
    assert {name for volume in volumes for name in volume} == {"name", *union.names}


def volumes_of(obj: JSONObject) -> list[JSONObject]:
    spec = obj.get("spec")
    volumes = spec.get("volumes", []) if isinstance(spec, dict) else []
    return (
        [volume for volume in volumes if isinstance(volume, dict)]
        if isinstance(volumes, list)
        else []
    )


def test_switching_deep_inside_a_pod_clears_what_was_there() -> None:
    """Elements are known by their keys, so it does not matter that they moved."""

    def pod(probe: JSONObject, env: JSONObject, volume: JSONObject) -> JSONObject:
        app: JSONObject = {
            "name": "app",
            "livenessProbe": probe,
            "env": [{"name": "A", **env}],
        }
        return {"spec": {"containers": [app], "volumes": [{"name": "v", **volume}]}}

    old = pod({"httpGet": {"port": 80}}, {"value": "a"}, {"emptyDir": {}})
    source: JSONObject = {"valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    new = pod(
        {"httpGet": {"port": 80}, "exec": {"command": ["true"]}, "periodSeconds": 5},
        {"value": "a", **source},
        {"emptyDir": {}, "hostPath": {"path": "/"}},
    )
    result = normalize_unions(old, new, kubernetes().schema("v1", "Pod"))
    assert result.object == pod(
        {"exec": {"command": ["true"]}, "periodSeconds": 5},
        source,
        {"hostPath": {"path": "/"}},
    )
    assert sorted(str(change.path) for change in result.changes) == [
        "spec.containers[name=app].env[name=A].value",
        "spec.containers[name=app].livenessProbe.httpGet",
        "spec.volumes[name=v].emptyDir",
    ]


# --- turning it off, replacing it, overlays of one's own ---

SHAPE: JSONObject = {
    "definitions": {
        "Shape": {
            "properties": {
                name: {"type": "string"}
                for name in ("type", "circle", "square", "color")
            },
            "required": ["type"],
            "x-kubernetes-unions": [
                {
                    "discriminator": "type",
                    "fields-to-discriminateBy": {
                        "circle": "Circle",
                        "square": "Square",
                    },
                }
            ],
            "x-kubernetes-group-version-kind": [
                {"group": "example.com", "version": "v1", "kind": "Shape"}
            ],
        },
        "Words": {"type": "array", "items": {"type": "string"}},
    }
}


def shape(*unions: JSON, catalog: Catalog | None = None) -> tuple[UnionGroup, ...]:
    own = catalog or Catalog.from_openapi(SHAPE)
    known = (
        own.with_overlay({"unions": [*unions]}).schema("example.com/v1", "Shape").type
    )
    assert isinstance(known, ObjectType)
    return known.unions


def versioned(version: str) -> Catalog:
    own = Catalog.from_openapi(SHAPE)
    return Catalog(
        {("example.com/v1", "Shape"): "Shape"},
        own.load,
        source="tests",
        version=version,
    )


def test_the_overlay_can_be_turned_off_and_replaced() -> None:
    row: JSONObject = {
        "types": {f"{CORE}Probe": ""},
        "members": ["exec", "httpGet"],
        "source": "ours",
    }

    def sources(catalog: Catalog, name: str) -> list[str]:
        known = catalog.schema("v1", "Pod").types.named(CORE + name)
        assert isinstance(known, ObjectType)
        return [union.source for union in known.unions]

    assert sources(kubernetes(overlay=None), "Probe") == []
    replaced = kubernetes("1.30", overlay={"unions": [row]})
    assert (sources(replaced, "Probe"), sources(replaced, "EnvVar")) == (["ours"], [])
    extended = kubernetes("1.30").with_overlay({"unions": [row]})
    assert sources(extended, "Probe") == ["ours"]
    assert sources(extended, "EnvVar") == [
        "API: EnvVar.valueFrom (not while value is not empty)"
    ]
    assert (
        kubernetes("1.30").source
        == kubernetes("1.30", overlay=None).source
        == "Kubernetes 1.30"
    )
    assert replaced.source == "Kubernetes 1.30 + overlay"


def test_the_bundled_overlay_serves_the_schemas_of_a_cluster() -> None:
    """They have no version: of the rows that differ by version the newest counts."""
    cluster = Catalog(
        {("v1", "Pod"): f"{CORE}Pod"},
        kubernetes("1.29", overlay=None).load,
        source="cluster",
    )
    types = cluster.with_overlay(bundled_overlay()).schema("v1", "Pod").types
    strategy, claim = (
        types.named(name)
        for name in (
            "io.k8s.api.apps.v1.StatefulSetUpdateStrategy",
            f"{CORE}PodResourceClaim",
        )
    )
    assert isinstance(strategy, ObjectType)
    assert isinstance(claim, ObjectType)
    assert [union.empty for union in strategy.unions] == [
        frozenset({"OnDelete", "Recreate"})
    ]
    assert claim.unions == ()


def test_a_caller_may_change_the_overlay_that_it_got() -> None:
    document = bundled_overlay()
    assert isinstance(document, dict)
    document.clear()
    assert bundled_overlay() != {}


def test_a_union_replaces_those_that_share_a_field_and_leaves_the_others() -> None:
    published, own = (
        shape(),
        shape(
            {
                "types": {"Shape": ""},
                "members": {"square": "Square"},
                "discriminator": "type",
            }
        ),
    )
    assert [union.names for union in published] == [("circle", "square")]
    assert [(union.names, union.source) for union in own] == [
        (("square",), "x-kubernetes-unions")
    ]
    plain: JSONObject = {"types": {"Shape": ""}, "members": ["color"]}
    assert [union.names for union in shape(plain)] == [("circle", "square"), ("color",)]
    both = Catalog.from_openapi(SHAPE).with_overlay(
        {"types": {"Shape": {"unions": None}}, "unions": [plain]}
    )
    assert [union.names for union in shape(catalog=both)] == [("color",)]


@pytest.mark.parametrize(
    ("versions_of_row", "version", "holds"),
    [
        *(
            ("1.30+", "1.29", False),
            ("1.30+", "1.30", True),
            ("1.30+", "1.31", True),
            ("1.30+", "", True),
        ),
        *(
            ("1.9-1.10", "1.8", False),
            ("1.9-1.10", "1.9", True),
            ("1.9-1.10", "1.10", True),
        ),
        *(
            ("1.9-1.10", "1.11", False),
            ("1.9-1.10", "2.9", False),
            ("1.9-1.10", "", True),
        ),
        *(
            ("1.30", "1.30", True),
            ("1.30", "1.31", False),
            ("1.30", "mine", True),
            ("", "1.30", True),
        ),
    ],
)
def test_a_union_holds_for_its_versions(
    versions_of_row: str, version: str, holds: bool
) -> None:
    row: JSONObject = {"types": {"Shape": versions_of_row}, "members": ["color"]}
    assert [union.names for union in shape(row, catalog=versioned(version))][1:] == (
        [("color",)] if holds else []
    )


def test_of_one_union_the_last_row_counts() -> None:
    rows: list[JSON] = [
        {"types": {"Shape": ""}, "members": ["color"], "source": source}
        for source in ("a", "b")
    ]
    assert [union.source for union in shape(*rows)][1:] == ["b"]


def test_members_that_a_type_lacks_are_left_out_and_types_that_a_catalog_lacks_are_skipped() -> (
    None
):
    some: JSONObject = {
        "types": {"Shape": "", "Lost": ""},
        "members": ["color", "lost"],
    }
    none: JSONObject = {"types": {"Shape": ""}, "members": ["lost"]}
    assert [union.names for union in shape(some, none)] == [
        ("circle", "square"),
        ("color",),
    ]


@pytest.mark.parametrize(
    ("unions", "path"),
    [
        ({}, "unions"),
        ([None], "unions[0]"),
        ([{"types": {}}], "unions[0].members"),
        ([{"types": {}, "members": []}], "unions[0].members"),
        (
            [{"types": {}, "members": ["a"], "discriminator": "type"}],
            "unions[0].members",
        ),
        ([{"members": ["a"]}], "unions[0].types"),
        ([{"types": ["Shape"], "members": ["a"]}], "unions[0].types"),
        ([{"types": {"Shape": "newest"}, "members": ["a"]}], "unions[0].types.Shape"),
        ([{"types": {"Shape": 1.3}, "members": ["a"]}], "unions[0].types.Shape"),
        (
            [{"types": {"Shape": "1." + "9" * 5000}, "members": ["a"]}],
            "unions[0].types.Shape",
        ),
        (
            [
                {
                    "types": {"Shape": ""},
                    "members": {"color": "C"},
                    "discriminator": "kind",
                }
            ],
            "unions.Shape.discriminator",
        ),
        (
            [{"types": {"Shape": ""}, "members": {"color": 1}}],
            "unions.Shape.x-kubernetes-unions",
        ),
        (
            [
                {
                    "types": {"Shape": ""},
                    "members": {"type": "T"},
                    "discriminator": "type",
                }
            ],
            "unions.Shape.x-kubernetes-unions",
        ),
        ([{"types": {"Words": ""}, "members": ["a"]}], "unions.Words"),
    ],
)
def test_an_unusable_union_is_an_error_with_its_path(unions: JSON, path: str) -> None:
    def link() -> None:
        types = (
            Catalog.from_openapi(SHAPE)
            .with_overlay({"unions": unions})
            .schema("example.com/v1", "Shape")
            .types
        )
        _ = [types.named(name) for name in ("Shape", "Words")]

    with pytest.raises(SchemaError) as caught:
        link()
    assert str(caught.value.path) == path


@given(schema_documents)
def test_any_json_is_a_list_of_unions_or_refused(document: JSON) -> None:
    rows: list[JSON] = [
        document,
        {"types": document, "members": ["color"]},
        {"types": {"Shape": ""}, "members": document},
        {"types": {"Shape": ""}, "members": {"color": document}},
        {"types": {"Shape": ""}, "members": {"color": "C"}, "discriminator": document},
        {"types": {"Shape": ""}, "members": {"color": "C"}, "empty": document},
    ]
    for row in rows:
        try:
            assert isinstance(shape(row), tuple)
        except SmpError as error:
            assert error.code


def test_deep_nesting_is_no_other_error() -> None:
    deep: JSON = {}
    for _ in range(100_000):
        deep = {"types": deep}
    row: JSONObject = {
        "types": {"Shape": ""},
        "members": {"color": "C"},
        "discriminator": "type",
    }
    changes: list[JSONObject] = [
        {"types": deep},
        {"types": {"Shape": deep}},
        {"discriminator": deep},
        {"empty": deep},
    ]
    for change in changes:
        with pytest.raises((SchemaError, DepthError)):
            shape({**row, **change})


# --- the documentation ---

DOCUMENT = (DOCS / "unions.md").read_text()


def table() -> str:
    """Make the table of the document from the rows."""
    head = ["| type and versions | union | source |", "|---|---|---|"]
    return "\n".join(
        [
            *head,
            *(
                f"| {types_in(row)} | {union_in(row)} | {row['source']} |"
                for row in ROWS
            ),
        ]
    )


def types_in(row: JSONObject) -> str:
    types = row["types"]
    assert isinstance(types, dict)
    return "<br>".join(
        f"{'/'.join(name.split('.')[-3:-1])} `{name.split('.')[-1]}` {types[name]}"
        for name in types
    )


def union_in(row: JSONObject) -> str:
    many = "exactly one" if row["exactly_one"] else "at most one"
    if "discriminator" not in row:
        return (
            f"{many} of {', '.join(f'`{name}`' for name in names_in(row['members']))}"
        )
    members, default = row["members"], row.get("default")
    assert isinstance(members, dict)
    choices = [choice_in(name, facets) for name, facets in members.items()]
    choices += [f"`{value}`" for value in names_in(row["empty"])]
    choices += ['"" for none'] if row.get("none") else []
    return f"`{row['discriminator']}`: {', '.join(choices)}" + (
        f"; default `{default}`" if default else ""
    )


def choice_in(name: str, facets: JSON) -> str:
    if not isinstance(facets, dict):
        return f"`{facets}` → `{name}`"
    return f"`{facets['value']}` → `{name}`" + (
        " (optional)" if facets.get("optional") else ""
    )


def test_the_document_has_every_row() -> None:
    assert table() in DOCUMENT


@pytest.mark.parametrize(
    "code", re.findall(r"^```python\n(.*?)^```", DOCUMENT, re.MULTILINE | re.DOTALL)
)
def test_the_examples_of_the_document_run(code: str) -> None:
    exec(compile(code, "unions.md", "exec"), {})
