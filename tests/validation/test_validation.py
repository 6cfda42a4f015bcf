"""The table of validation, and what becomes of objects that break its rules."""

from __future__ import annotations

import re
from base64 import b64encode
from copy import deepcopy
from typing import Any

import msgspec
from hypothesis import given

import smp
from smp import handler
from smp._values.values import JSON, JSONObject
from smp.schema.model import ObjectType, Schema
from smp.validation import validate_object
from smp.validation._checks import CHECKS
from smp.validation._formats import FORMATS, FORMER
from smp.validation._table import ValidationRow, rows_by_type
from tests.support.paths import ROOT
from tests.support.rows import each_row
from tests.support.strategies import json_values

TABLE: list[dict[str, Any]] = msgspec.json.decode(
    (ROOT / "smp" / "schema" / "bundled" / "validation.json").read_bytes()
)
CATALOG = smp.kubernetes("1.36")


@each_row("block", TABLE, ids=lambda block: block["source"][-40:])
def test_a_block_names_its_source(block: dict[str, Any]) -> None:
    assert re.match(r"Go: k8s\.io/[-a-z]+, pkg/(apis|api|util)/", block["source"])


def test_the_rules_of_types_are_in_one_block() -> None:
    types = [tuple(block["types"]) for block in TABLE]
    assert [each for each in {*types} if types.count(each) > 1] == []


def test_no_rule_is_there_twice_and_no_check_for_nothing() -> None:
    rules = [
        (type_, msgspec.json.encode(rule, order="sorted"))
        for block in TABLE
        for type_ in block["types"]
        for rule in block["rules"]
    ]
    assert [rule for rule in {*rules} if rules.count(rule) > 1] == []
    rows = [rule for block in TABLE for rule in block["rules"]]
    assert {*CHECKS} <= {row["rule"] for row in rows if "rule" in row}
    formats = {row["format"] for row in rows if "format" in row}
    assert {*FORMATS} <= formats | {*FORMER.values()}


@each_row("name", sorted(rows_by_type()))
def test_rules_are_of_existing_types_and_fields(name: str) -> None:
    type_ = Schema(f"#{name}", CATALOG.schema("v1", "Pod").types).type
    assert isinstance(type_, ObjectType)
    for row in rows_by_type()[name]:
        # A row without a rule may be the place of a cause with another field.
        if not row.rule:
            continue
        assert row.rule in CHECKS
        assert not row.format or row.format in FORMATS or row.format == "labels"
        for path in paths_of(row):
            assert has_field(type_, path), (name, path)


def paths_of(row: ValidationRow) -> list[str]:
    """Return the paths that a row names."""
    return [path for path in (row.field, *row.reads, *row.same) if path]


def has_field(type_: ObjectType, path: str) -> bool:
    current: Any = type_
    for step in path.split("."):
        field = current.field(step)
        if field is None:
            return False
        current = field.type
    return True


def deployment(**spec: Any) -> dict[str, Any]:
    container = {"name": "app", "image": "app:1"}
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [container], "restartPolicy": "Always"},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": template,
            **spec,
        },
    }


SCHEMA = CATALOG.schema("apps/v1", "Deployment")


def texts(obj: JSON, old: JSON = None) -> list[str]:
    return [str(violation) for violation in validate_object(obj, SCHEMA, old=old)]


def test_a_valid_object_has_no_violations() -> None:
    assert texts(deployment()) == []


def test_violations_are_in_the_words_and_the_order_of_a_server() -> None:
    # As kube-apiserver 1.36.3 answers it.
    wrong = deployment(replicas=-1, minReadySeconds=-1)
    wrong["spec"]["selector"]["matchLabels"]["app"] = "api"
    wrong["spec"]["template"]["spec"]["containers"].append({"name": "other"})
    wrong["metadata"]["labels"] = {"a": "x" * 64}
    mismatch = (
        'Invalid value: {"app":"web"}: `selector` does not match template `labels`'
    )
    assert texts(wrong) == [
        f'metadata.labels: Invalid value: "{"x" * 64}": must be no more than 63 bytes',
        "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
        f"spec.template.metadata.labels: {mismatch}",
        "spec.template.spec.containers[name=other].image: Required value",
        "spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0",
    ]


def test_what_an_update_leaves_without_its_partner_is_refused() -> None:
    # Seen of a kube-apiserver 1.36.3: a policy that is added to a Job, and a response
    # that null removes.
    said = []
    for api_version, kind, spec in (
        (
            "batch/v1",
            "Job",
            {"podReplacementPolicy": "TerminatingOrFailed", "podFailurePolicy": {}},
        ),
        (
            "flowcontrol.apiserver.k8s.io/v1",
            "PriorityLevelConfiguration",
            {"type": "Limited", "limited": {"limitResponse": {"type": ""}}},
        ),
    ):
        schema = CATALOG.schema(api_version, kind)
        said += [*map(str, validate_object({"spec": spec}, schema))]
    supported = '"TerminatingOrFailed": supported values: "Failed"'
    assert {
        f"spec.podReplacementPolicy: Unsupported value: {supported}",
        "spec.limited.limitResponse.type: Required value",
    } <= {*said}


def test_the_second_of_two_names_is_a_duplicate() -> None:
    wrong = deployment()
    containers = wrong["spec"]["template"]["spec"]["containers"]
    containers.append({**containers[0], "image": "other"})
    assert texts(wrong) == [
        'spec.template.spec.containers[1].name: Duplicate value: "app"'
    ]


def test_what_an_update_leaves_as_it_was_is_tolerated() -> None:
    stored = deployment(replicas=-1)
    changed = {**stored, "spec": {**stored["spec"], "paused": True}}
    assert texts(changed, stored) == []
    changed["spec"]["replicas"] = -2
    assert len(texts(changed, stored)) == 1


def test_a_mount_is_judged_where_the_volumes_change() -> None:
    stored = deployment()
    pod = stored["spec"]["template"]["spec"]
    pod["volumes"] = [{"name": "data"}]
    pod["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    assert texts(stored) == []
    changed = deepcopy(stored)
    del changed["spec"]["template"]["spec"]["volumes"]
    assert texts(changed, stored) == [
        'spec.template.spec.containers[0].volumeMounts[0].name: Not found: "data"'
    ]


def problems(api_version: str, kind: str, **fields: JSON) -> list[str]:
    obj: JSONObject = {"metadata": {"name": "a", "namespace": "b"}, **fields}
    return [
        str(each) for each in validate_object(obj, CATALOG.schema(api_version, kind))
    ]


def test_values_are_at_most_a_mebibyte_in_all() -> None:
    # As kube-apiserver 1.36.3 answers it, which counts the bytes that base64 means.
    most = "x" * (1 << 20)
    encoded = b64encode(most.encode()).decode()
    size = "Too long: may not be more than 1048576 bytes"
    assert problems("v1", "ConfigMap", data={"k": most}) == []
    assert problems("v1", "ConfigMap", data={"k": "\u00e9" * (1 << 19)}) == []
    assert problems("v1", "ConfigMap", data={"k": most, "l": "y"}) == [f"[]: {size}"]
    both: JSONObject = {"data": {"k": "y"}, "binaryData": {"l": encoded}}
    assert problems("v1", "ConfigMap", **both) == [f"[]: {size}"]
    assert problems("v1", "Secret", data={"k": encoded}) == []
    assert problems("v1", "Secret", data={"k": encoded, "l": "eQ=="}) == [
        f"data: {size}"
    ]


def test_half_a_surrogate_pair_is_judged() -> None:
    # A loader of JSON makes it of an escape, and Python cannot encode it.
    assert problems("v1", "ConfigMap", data={"k": "\ud800"}) == []
    wrong = deployment()
    options: JSONObject = {"runAsUserName": "a\\\ud800"}
    wrong["spec"]["template"]["spec"]["securityContext"] = {"windowsOptions": options}
    assert all("\ud800" in text or "windows" in text for text in texts(wrong))


def test_indexes_of_any_length_and_values_of_another_type_are_judged() -> None:
    digits = "1" * 5_000
    rule: JSONObject = {"succeededIndexes": digits, "succeededCount": 2}
    policy: JSONObject = {"successPolicy": {"rules": [rule]}, "completions": 3}
    job: JSONObject = {"spec": policy, "status": {"completedIndexes": digits}}
    schema = CATALOG.schema("batch/v1", "Job")
    found = {str(each.path) for each in validate_object(job, schema)}
    assert "spec.successPolicy.rules[0].succeededIndexes" in found
    assert "spec.successPolicy.rules[0].succeededCount" in found
    assert "status.completedIndexes" in found
    scopes: JSONObject = {"matchExpressions": [{"scopeName": {}}]}
    assert problems("v1", "ResourceQuota", spec={"scopeSelector": scopes})
    endpoints: JSONObject = {"addressType": [], "endpoints": [{"addresses": ["a"]}]}
    assert problems("discovery.k8s.io/v1", "EndpointSlice", **endpoints)


def test_rules_for_scaling_have_policies() -> None:
    # As kube-apiserver 1.36.3 answers it.
    target: JSONObject = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}
    wrong: JSONObject = {
        "scaleUp": {"policies": [], "selectPolicy": "X", "tolerance": "-1"},
        "scaleDown": {"policies": [{"type": "Q", "value": 1, "periodSeconds": 1}]},
    }
    spec: JSONObject = {"maxReplicas": 3, "scaleTargetRef": target, "behavior": wrong}
    found = problems("autoscaling/v2", "HorizontalPodAutoscaler", spec=spec)
    up = "spec.behavior.scaleUp"
    policies = "spec.behavior.scaleDown.policies"
    unsupported = "Unsupported value: {}: supported values: {}"
    assert sorted(found) == [
        f"{policies}[0].type: " + unsupported.format('"Q"', '"Percent", "Pods"'),
        f"{up}.policies: Required value: must specify at least one Policy",
        f"{up}.selectPolicy: " + unsupported.format('"X"', '"Disabled", "Max", "Min"'),
        f'{up}.tolerance: Invalid value: "-1": must be greater than or equal to 0',
    ]


# A specification of a kind, and the fields that kube-apiserver 1.36.3 refuses in it. In
# each of them Go has a pointer, to which the empty text is a value.
REFUSED: list[tuple[str, str, JSONObject, list[str]]] = [
    (
        "networking.k8s.io/v1",
        "IngressClass",
        {"controller": "a/b", "parameters": {"kind": "A", "name": "b", "scope": ""}},
        ["spec.parameters.scope"],
    ),
    (
        "networking.k8s.io/v1",
        "IngressClass",
        {
            "controller": "a/b",
            "parameters": {
                "apiGroup": "",
                "kind": "A/B",
                "name": "b",
                "scope": "Cluster",
                "namespace": "",
            },
        },
        [f"spec.parameters.{name}" for name in ("apiGroup", "kind", "namespace")],
    ),
    (
        "networking.k8s.io/v1",
        "Ingress",
        {
            "defaultBackend": {"resource": {"apiGroup": "", "kind": "A", "name": "b"}},
        },
        ["spec.defaultBackend.resource.apiGroup"],
    ),
    (
        "v1",
        "Service",
        {"ports": [{"port": 1}], "clusterIP": "10.0.0.1", "ipFamilies": [""]},
        ["spec.ipFamilies[0]"],
    ),
    (
        "autoscaling/v1",
        "HorizontalPodAutoscaler",
        {
            "maxReplicas": 1,
            "targetCPUUtilizationPercentage": 0,
            "scaleTargetRef": {"apiVersion": "a/v1", "kind": "B", "name": "c"},
        },
        # A server says it of the metric that it converts this to.
        ["spec.targetCPUUtilizationPercentage"],
    ),
    (
        "resource.k8s.io/v1",
        "ResourceClaim",
        {
            "devices": {
                "requests": [{"name": "", "exactly": {"deviceClassName": "a"}}],
                "constraints": [
                    {"requests": [""], "matchAttribute": ""},
                    {"requests": ["a/b/c"], "matchAttribute": "a.io/b"},
                ],
            }
        },
        [
            "spec.devices.constraints[0].matchAttribute",
            "spec.devices.constraints[0].requests[0]",
            "spec.devices.constraints[1].requests[0]",
            "spec.devices.requests[0].name",
        ],
    ),
]


@each_row(("api_version", "kind", "spec", "fields"), REFUSED)
def test_the_empty_value_of_a_pointer_is_judged(
    api_version: str, kind: str, spec: JSONObject, fields: list[str]
) -> None:
    found = problems(api_version, kind, spec=spec)
    assert sorted({text.partition(": ")[0] for text in found}) == fields


def test_the_empty_names_of_ports_and_initiators_are_judged() -> None:
    ports: list[JSON] = [{"name": "a", "port": 1, "appProtocol": ""}]
    found = problems(
        "discovery.k8s.io/v1", "EndpointSlice", addressType="IPv4", ports=ports
    )
    assert {text.partition(": ")[0] for text in found} == {"ports[0].appProtocol"}
    disk = {"targetPortal": "a", "iqn": "iqn.2001-04.com.a:b", "lun": 0}
    wrong = deployment()
    pod = wrong["spec"]["template"]["spec"]
    pod["volumes"] = [{"name": "a", "iscsi": {**disk, "initiatorName": ""}}]
    (found_in_pod,) = texts(wrong)
    assert found_in_pod.startswith(
        "spec.template.spec.volumes[name=a].iscsi.initiatorname: "
    )


def test_a_name_of_dns_may_end_with_a_dot() -> None:
    spec: JSONObject = {"type": "ExternalName", "externalName": "a.b.c."}
    assert problems("v1", "Service", spec=spec) == []
    assert len(problems("v1", "Service", spec={**spec, "externalName": "a..b"})) == 1


def test_a_service_that_becomes_no_name_of_dns_has_ports() -> None:
    schema = CATALOG.schema("v1", "Service")
    old = {"spec": {"type": "ExternalName", "externalName": "a.b"}}
    new = {"spec": {"type": "LoadBalancer", "externalName": "a.b"}}
    assert [*map(str, validate_object(new, schema, old=old))] == [
        "spec.ports: Required value"
    ]


def test_a_file_of_variables_is_in_a_volume_of_the_pod() -> None:
    # As kube-apiserver 1.36.3 answers it.
    wrong = deployment()
    pod = wrong["spec"]["template"]["spec"]
    pod["volumes"] = [{"name": "data", "configMap": {"name": "a"}}]
    pod["containers"][0]["env"] = [
        {
            "name": name.upper(),
            "valueFrom": {"fileKeyRef": {"volumeName": name, "path": "p", "key": "K"}},
        }
        for name in ("data", "other")
    ]
    place = "spec.template.spec.containers[0].env[{}].valueFrom.fileKeyRef.volumeName"
    wrong_kind = 'Invalid value: "data": referenced volume must be of type emptyDir'
    assert texts(wrong) == [
        f"{place.format(0)}: {wrong_kind}",
        f'{place.format(1)}: Not found: "other"',
    ]
    pod["volumes"] = [{"name": name, "emptyDir": {}} for name in ("data", "other")]
    assert texts(wrong) == []


def test_a_handler_validates_where_the_option_is_on() -> None:
    body = msgspec.json.encode(deployment(selector=None))
    options = handler.Options(typed=True, validation=True)
    refused = handler.create(body, SCHEMA, options)
    assert isinstance(refused, handler.Refused)
    assert refused.code == 422
    details = refused.status["details"]
    assert isinstance(details, dict)
    assert details["causes"] == [
        {
            "reason": "FieldValueRequired",
            "message": "Required value",
            "field": "spec.selector",
        },
        {
            "reason": "FieldValueInvalid",
            "message": 'Invalid value: {"app":"web"}: `selector` does not match'
            " template `labels`",
            "field": "spec.template.metadata.labels",
        },
    ]
    lenient = handler.create(body, SCHEMA, handler.Options(typed=True))
    assert isinstance(lenient, handler.Accepted)


def test_arguments_are_not_changed() -> None:
    wrong = deployment(replicas=-1)
    before = deepcopy(wrong)
    assert texts(wrong)
    assert wrong == before


@given(json_values(), json_values(), json_values())
def test_any_json_is_judged(spec: JSON, labels: JSON, container: JSON) -> None:
    template: JSONObject = {
        "metadata": {"labels": labels},
        "spec": {"containers": [container], "volumes": container, "tolerations": spec},
    }
    metadata: JSONObject = {"labels": labels, "finalizers": container}
    for given_spec in (spec, {"selector": labels, "template": template}):
        obj: JSONObject = {"metadata": metadata, "spec": given_spec}
        for kind in ("Deployment", "StatefulSet", "DaemonSet"):
            validate_object(obj, CATALOG.schema("apps/v1", kind))


def test_numbers_beyond_each_integer_of_go_are_judged_at_once() -> None:
    pod, job = CATALOG.schema("v1", "Pod"), CATALOG.schema("batch/v1", "Job")
    container: JSONObject = {"name": "c", "image": "i"}
    for name, amount in (
        ("hugepages-2Mi", "1e999999999"),
        ("hugepages-2Mi", "1" * 5_000),
        ("hugepages-1e999999999", "1"),
    ):
        limits: JSONObject = {"cpu": "1", name: amount}
        spec: JSONObject = {
            "containers": [{**container, "resources": {"limits": limits}}]
        }
        validate_object({"metadata": {"name": "a"}, "spec": spec}, pod)
    rules: JSON = [{"succeededIndexes": "1" * 5_000}]
    spec = {"completions": 2, "successPolicy": {"rules": rules}}
    obj: JSONObject = {"metadata": {"name": "a"}, "spec": spec}
    assert "spec.successPolicy.rules[0].succeededIndexes" in {
        str(each.path) for each in validate_object(obj, job)
    }


def test_addresses_are_strict_since_the_version_in_which_the_feature_is_on() -> None:
    """Go: kube_features.go, StrictIPCIDRValidation, which is on since 1.36."""
    ranges: JSON = ["10.0.0.1/8"]
    spec: JSONObject = {
        "ports": [{"port": 80}],
        "type": "LoadBalancer",
        "externalIPs": ["010.1.2.3", "::ffff:10.1.2.3"],
        "loadBalancerSourceRanges": ranges,
    }
    head: JSONObject = {"apiVersion": "v1", "kind": "Service"}
    service: JSONObject = {**head, "metadata": {"name": "a"}, "spec": spec}
    for version, count in (("1.30", 0), ("1.35", 0), ("1.36", 3), ("1.37", 3)):
        schema = smp.kubernetes(version).schema_of(service)
        assert len(validate_object(service, schema)) == count, version
        # What is no address is none in any version.
        odd: JSONObject = {**spec, "externalIPs": ["a"], "loadBalancerSourceRanges": []}
        assert len(validate_object({**service, "spec": odd}, schema)) == 1


def test_a_job_that_has_ended_is_judged_since_its_feature_is_on() -> None:
    """Go: kube_features.go, JobManagedBy; getStatusValidationOptions of a Job."""
    conditions: JSON = [
        {"type": name, "status": "True"} for name in ("SuccessCriteriaMet", "Complete")
    ]
    job: JSONObject = {"apiVersion": "batch/v1", "kind": "Job"}
    status: JSONObject = {
        "conditions": conditions,
        "completionTime": "2026-01-01T00:00:00Z",
    }
    idle: JSONObject = {"suspend": True, "completions": 0}
    rows: list[tuple[str, JSONObject, list[str]]] = [
        ("1.31", {}, []),
        ("1.32", {}, ["status.startTime"]),
        ("1.36", {"suspend": True, "completions": 1}, ["status.startTime"]),
        ("1.36", idle, []),
    ]
    for version, spec, expected in rows:
        schema = smp.kubernetes(version).schema_of(job)
        found = validate_object({**job, "spec": spec, "status": status}, schema)
        paths = [str(each.path) for each in found if "status" in str(each.path)]
        assert paths == expected, (version, spec)
