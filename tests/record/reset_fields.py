"""Record what managers own that write everything through every subresource.

``SMP_KUBE_APISERVER=build python -m tests.record.reset_fields`` writes
tests/data/managed_fields/reset_fields.jsonl again. Each of the OBJECTS below, with its
status and with metadata, is applied to a real kube-apiserver through the main resource
and, with force, through its subresources. A line has the configuration, the
subresource, and the fieldsV1 that the server stored for the manager.
"""

from __future__ import annotations

import json
import time
from typing import Final

import httpx

from smp._values.values import JSON, JSONObject, as_list, as_object
from tests.support.apiserver import ApiServer, running
from tests.support.paths import DATA

RECORD: Final = DATA / "managed_fields" / "reset_fields.jsonl"
_PATIENCE: Final = 30.0  # seconds
_CONDITION: Final[JSONObject] = {
    "type": "Tested",
    "status": "True",
    "reason": "Recorded",
    "message": "recorded",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}
_APPROVAL: Final[JSONObject] = {
    name: value for name, value in _CONDITION.items() if name != "lastTransitionTime"
}
_CONDITIONS: Final[JSONObject] = {"conditions": [_CONDITION]}
_LABELS: Final[JSONObject] = {"app": "web"}
_POD_SPEC: Final[JSONObject] = {
    "containers": [{"name": "app", "image": "web"}],
    "restartPolicy": "Always",
}
_TEMPLATE: Final[JSONObject] = {"metadata": {"labels": _LABELS}, "spec": _POD_SPEC}
_WORKLOAD: Final[JSONObject] = {
    "selector": {"matchLabels": _LABELS},
    "template": _TEMPLATE,
}
_JOB: Final[JSONObject] = {
    "template": {"spec": {**_POD_SPEC, "restartPolicy": "Never"}},
}
# openssl req -new -subj "/CN=web", in base64.
_REQUEST: Final = (
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlISU1IQUNBUUF3RGpFTU1Bb0dB"
    "MVVFQXd3RGQyVmlNRmt3RXdZSEtvWkl6ajBDQVFZSUtvWkl6ajBEQVFjRApRZ0FFTkVZb0tuUmMx"
    "b3NCa0JyWG9EekhrbEc2UVV3bUFneFRYQXpOeGtLMmsyVTBWcnpyNVAxRmZ4L0hTMGZNCnNqRTJt"
    "YlBBSW5McVdmT0ZOdGcrQnBYNUo2QUFNQW9HQ0NxR1NNNDlCQU1DQTBnQU1FVUNJQ0NwN3FOS0du"
    "TzUKblpDZEhpSTAyZVdvaTVLK3F2NFE3dnBEajlwcHFxZEhBaUVBOHhkLzhtNFpVRnRoRCtVRlpI"
    "UnJ0dGN6TGZtSApuanM4UHhzN0J0VEYrM009Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1Qt"
    "LS0tLQo="
)


def custom_definition(kind: str, *, with_status: bool) -> JSONObject:
    """Return the definition of a custom resource."""
    plural = f"{kind.lower()}s"
    free: JSONObject = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    root: JSONObject = {"type": "object", "properties": {"spec": free, "status": free}}
    version: JSONObject = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": root},
    }
    if with_status:
        version["subresources"] = {"status": {}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
            "versions": [version],
        },
    }


WITH_STATUS: Final = "Widget"
WITHOUT_STATUS: Final = "Gadget"
DEFINITIONS: Final = (
    custom_definition(WITH_STATUS, with_status=True),
    custom_definition(WITHOUT_STATUS, with_status=False),
)

# apiVersion, kind, resource (with its namespace), subresources, spec, status.
OBJECTS: Final[tuple[tuple[str, str, str, str, JSONObject, JSONObject], ...]] = (
    ("apps/v1", "Deployment", "n/deployments", "status", _WORKLOAD, _CONDITIONS),
    ("apps/v1", "ReplicaSet", "n/replicasets", "status", _WORKLOAD, _CONDITIONS),
    ("apps/v1", "DaemonSet", "n/daemonsets", "status", _WORKLOAD, _CONDITIONS),
    ("apps/v1", "StatefulSet", "n/statefulsets", "status", _WORKLOAD, _CONDITIONS),
    ("batch/v1", "Job", "n/jobs", "status", _JOB, {"active": 1}),
    (
        *("batch/v1", "CronJob", "n/cronjobs", "status"),
        {"schedule": "* * * * *", "jobTemplate": {"spec": _JOB}},
        {"lastScheduleTime": "2026-01-01T00:00:00Z"},
    ),
    ("v1", "Pod", "n/pods", "status", _POD_SPEC, {"message": "hello"}),
    (
        *("v1", "Service", "n/services", "status"),
        {"ports": [{"port": 80, "protocol": "TCP"}], "type": "LoadBalancer"},
        {"loadBalancer": {"ingress": [{"ip": "127.0.0.1"}]}},
    ),
    ("v1", "Node", "nodes", "status", {"unschedulable": True}, _CONDITIONS),
    (
        *("v1", "Namespace", "namespaces", "status"),
        {"finalizers": ["kubernetes"]},
        _CONDITIONS,
    ),
    (
        *("v1", "PersistentVolume", "persistentvolumes", "status"),
        {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/data"},
        },
        {"message": "hello"},
    ),
    (
        *("v1", "PersistentVolumeClaim", "n/persistentvolumeclaims", "status"),
        {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
        _CONDITIONS,
    ),
    (
        *("v1", "ResourceQuota", "n/resourcequotas", "status"),
        {"hard": {"cpu": "1"}},
        {"used": {"cpu": "1"}},
    ),
    (
        *("v1", "ReplicationController", "n/replicationcontrollers", "status"),
        {"selector": _LABELS, "template": _TEMPLATE},
        _CONDITIONS,
    ),
    (
        *("autoscaling/v2", "HorizontalPodAutoscaler"),
        *("n/horizontalpodautoscalers", "status"),
        {
            "maxReplicas": 3,
            "scaleTargetRef": {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "name": "web",
            },
        },
        {"currentReplicas": 5, "desiredReplicas": 5},
    ),
    (
        *("policy/v1", "PodDisruptionBudget", "n/poddisruptionbudgets", "status"),
        {"minAvailable": 1, "selector": {"matchLabels": _LABELS}},
        {"currentHealthy": 5},
    ),
    (
        *("networking.k8s.io/v1", "Ingress", "n/ingresses", "status"),
        {"defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}},
        {"loadBalancer": {"ingress": [{"ip": "127.0.0.1"}]}},
    ),
    (
        *("networking.k8s.io/v1", "ServiceCIDR", "servicecidrs", "status"),
        {"cidrs": ["192.168.0.0/24"]},
        _CONDITIONS,
    ),
    (
        *("storage.k8s.io/v1", "VolumeAttachment", "volumeattachments", "status"),
        {
            "attacher": "disk",
            "nodeName": "a",
            "source": {"persistentVolumeName": "data"},
        },
        {"attached": True},
    ),
    (
        *("apiregistration.k8s.io/v1", "APIService", "apiservices", "status"),
        {
            "group": "other.example.com",
            "version": "v1",
            "groupPriorityMinimum": 100,
            "versionPriority": 10,
            "service": {"name": "api", "namespace": "default"},
            "insecureSkipTLSVerify": True,
        },
        _CONDITIONS,
    ),
    (
        *("flowcontrol.apiserver.k8s.io/v1", "FlowSchema", "flowschemas", "status"),
        {"priorityLevelConfiguration": {"name": "exempt"}},
        _CONDITIONS,
    ),
    (
        *("flowcontrol.apiserver.k8s.io/v1", "PriorityLevelConfiguration"),
        *("prioritylevelconfigurations", "status"),
        {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}},
        _CONDITIONS,
    ),
    (
        *("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"),
        *("validatingadmissionpolicies", "status"),
        {
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": ["other.example.com"],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": ["others"],
                    }
                ]
            },
            "validations": [{"expression": "true"}],
        },
        _CONDITIONS,
    ),
    (
        *("resource.k8s.io/v1", "ResourceClaim", "n/resourceclaims", "status"),
        {"devices": {}},
        {"allocation": {}},
    ),
    (
        *("certificates.k8s.io/v1", "CertificateSigningRequest"),
        *("certificatesigningrequests", "approval"),
        {"request": _REQUEST, "signerName": "example.com/a", "usages": ["client auth"]},
        {"conditions": [{**_APPROVAL, "type": "Approved"}]},
    ),
    (
        *("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
        *("customresourcedefinitions", "status"),
        as_object(custom_definition("web", with_status=True)["spec"]),
        _CONDITIONS,
    ),
    ("example.com/v1", WITH_STATUS, "n/widgets", "status", {"a": 1}, {"b": 1}),
    ("example.com/v1", WITHOUT_STATUS, "n/gadgets", "", {"a": 1}, {"b": 1}),
    ("v1", "ConfigMap", "n/configmaps", "", {}, {}),
)


def _apply(
    server: ApiServer, path: str, subresource: str, configuration: JSONObject
) -> JSONObject | None:
    manager = f"manager-{subresource or 'main'}"
    suffix = f"/{subresource}" if subresource else ""
    answer = server.request(
        "PATCH",
        f"{path}{suffix}?fieldManager={manager}&force=true",
        configuration,
        content_type="application/apply-patch+yaml",
    )
    if answer.code not in (httpx.codes.OK, httpx.codes.CREATED):
        print(path, subresource, answer.body.get("message"))  # noqa: T201  # a command
        return None
    entries = as_list(as_object(answer.body["metadata"]).get("managedFields"))
    owned: JSON = {}
    for entry in map(as_object, entries):
        if entry["manager"] == manager and entry["operation"] == "Apply":
            owned = entry["fieldsV1"]
    return {
        "configuration": configuration,
        "subresource": subresource,
        "fieldsV1": owned,
    }


def _record() -> None:
    lines = []
    with running() as server:
        group = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        for definition in DEFINITIONS:
            assert server.request("POST", group, definition).code == httpx.codes.CREATED
        deadline = time.monotonic() + _PATIENCE
        # The group is served as soon as it has one kind.
        for path, name in (
            ("/apis", "example.com"),
            ("/apis/example.com/v1", "widgets"),
            ("/apis/example.com/v1", "gadgets"),
        ):
            while name not in str(server.request("GET", path).body):
                assert time.monotonic() < deadline
                time.sleep(0.2)
        for api_version, kind, resource, subresources, spec, status in OBJECTS:
            name = "webs.example.com" if "Definition" in kind else "web"
            if kind == "APIService":
                name = "v1.other.example.com"
            metadata: JSONObject = {"name": name, "labels": _LABELS}
            root = "apis" if "/" in api_version else "api"
            place = resource.replace("n/", "namespaces/default/")
            path = f"/{root}/{api_version}/{place}/{name}"
            configuration: JSONObject = {
                "apiVersion": api_version,
                "kind": kind,
                "metadata": metadata,
                **({"spec": spec} if spec else {}),
                **({"status": status} if status else {}),
            }
            for subresource in ("", *subresources.split()):
                line = _apply(server, path, subresource, configuration)
                if line is not None:
                    lines.append(json.dumps(line, separators=(",", ":")) + "\n")
    RECORD.write_text("".join(lines))


if __name__ == "__main__":
    _record()
