"""Objects as a server stores them: with defaults, managed fields and a status."""

from __future__ import annotations

from random import Random
from typing import Final

from benchmarks.manifests import compact
from smp._values.last_applied import (
    LAST_APPLIED,
    configuration_text,
    drop_last_applied,
)
from smp._values.values import JSON, JSONObject, as_list, as_object

SEED: Final = 1309

_CONTAINER_DEFAULTS: Final[JSONObject] = {
    "imagePullPolicy": "IfNotPresent",
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_PROBE_DEFAULTS: Final[JSONObject] = {
    "timeoutSeconds": 1,
    "successThreshold": 1,
    "failureThreshold": 3,
}
_POD_DEFAULTS: Final[JSONObject] = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "schedulerName": "default-scheduler",
}
_DEPLOYMENT_DEFAULTS: Final[JSONObject] = {
    "strategy": {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
    },
    "revisionHistoryLimit": 10,
    "progressDeadlineSeconds": 600,
}
_SERVICE_DEFAULTS: Final[JSONObject] = {
    "clusterIP": "10.96.14.7",
    "clusterIPs": ["10.96.14.7"],
    "ipFamilies": ["IPv4"],
    "ipFamilyPolicy": "SingleStack",
    "internalTrafficPolicy": "Cluster",
    "externalTrafficPolicy": "Cluster",
    "sessionAffinity": "None",
    "allocateLoadBalancerNodePorts": True,
}


def _condition(type_: str, reason: str, message: str) -> JSONObject:
    return {
        "type": type_,
        "status": "True",
        "lastUpdateTime": "2026-03-01T09:31:00Z",
        "lastTransitionTime": "2026-03-01T09:31:00Z",
        "reason": reason,
        "message": message,
    }


DEPLOYMENT_STATUS: Final[JSONObject] = {
    "observedGeneration": 7,
    "replicas": 3,
    "updatedReplicas": 3,
    "readyReplicas": 3,
    "availableReplicas": 3,
    "conditions": [
        _condition(
            "Available",
            "MinimumReplicasAvailable",
            "Deployment has minimum availability.",
        ),
        _condition(
            "Progressing",
            "NewReplicaSetAvailable",
            'ReplicaSet "shop-6c9f7" has successfully progressed.',
        ),
    ],
}


def _in_template(**fields: JSON) -> JSONObject:
    return {"spec": {"template": fields}}


# The managers of a Deployment's fields, each with an object of the fields that it owns.
# An empty object stands for the whole configuration.
DEPLOYMENT_MANAGERS: Final[dict[str, JSONObject]] = {
    "kubectl-client-side-apply": {},
    "kubectl-set": _in_template(
        spec={
            "containers": [
                {"name": f"app-{index:03}", "image": ""} for index in range(5)
            ]
        }
    ),
    "kubectl-rollout": _in_template(
        metadata={
            "annotations": {"kubectl.kubernetes.io/restartedAt": "2026-03-01T09:30:00Z"}
        }
    ),
    "kube-controller-manager": {
        "metadata": {"annotations": {"deployment.kubernetes.io/revision": "7"}},
        "status": DEPLOYMENT_STATUS,
    },
}


def stored(
    config: JSONObject,
    *,
    managers: dict[str, JSONObject] | None = None,
    status: JSONObject | None = None,
) -> JSONObject:
    """Return a configuration with the metadata of a server, and its status.

    ``managers`` are the names of field managers, each with the fields that it owns.
    """
    metadata: JSONObject = {
        "uid": _uid(Random(SEED)),
        "resourceVersion": "48213377",
        "generation": 7,
        "creationTimestamp": "2026-03-01T09:30:00Z",
    }
    if managers:
        metadata["managedFields"] = [
            _managed_fields(name, owned or config) for name, owned in managers.items()
        ]
    live = _with_metadata(config, metadata)
    return live if status is None else {**live, "status": status}


def annotated(live: JSONObject, config: JSONObject) -> JSONObject:
    """Return a live object with the last-applied annotation of a configuration."""
    text = configuration_text(drop_last_applied(config))
    annotation: JSONObject = {LAST_APPLIED: text}
    return _with_metadata(live, {"annotations": annotation})


def with_spec(obj: JSONObject, fields: JSONObject) -> JSONObject:
    """Return an object with other fields in its spec."""
    return {**obj, "spec": {**as_object(obj["spec"]), **fields}}


def defaulted_pod(pod: JSONObject) -> JSONObject:
    """Return a Pod, or the template of one, with the defaults of a server."""
    spec = as_object(pod["spec"])
    containers: list[JSON] = [
        _defaulted_container(as_object(container))
        for container in as_list(spec["containers"])
    ]
    return with_spec(pod, {**_POD_DEFAULTS, "containers": containers})


def defaulted_deployment(deployment: JSONObject) -> JSONObject:
    """Return a Deployment with the defaults of a server."""
    template = as_object(as_object(deployment["spec"])["template"])
    fields = {**_DEPLOYMENT_DEFAULTS, "template": defaulted_pod(template)}
    return with_spec(deployment, fields)


def defaulted_service(service: JSONObject) -> JSONObject:
    """Return a Service with the ports and addresses that a server allocates."""
    ports: list[JSON] = []
    for index, port in enumerate(as_list(as_object(service["spec"])["ports"])):
        ports.append({**as_object(port), "nodePort": 30000 + index})
    return with_spec(service, {"ports": ports, **_SERVICE_DEFAULTS})


def load_balancer_status(count: int) -> JSONObject:
    """Return the status of a Service with a load balancer for so many ports."""
    ports: list[JSON] = [
        {"port": 8000 + index, "protocol": "TCP"} for index in range(count)
    ]
    return {"loadBalancer": {"ingress": [{"ip": "192.0.2.10", "ports": ports}]}}


def _with_metadata(obj: JSONObject, fields: JSONObject) -> JSONObject:
    return {**obj, "metadata": {**as_object(obj["metadata"]), **fields}}


def _defaulted_container(container: JSONObject) -> JSONObject:
    defaulted = {**container, **_CONTAINER_DEFAULTS}
    for name, field in container.items():
        if isinstance(field, dict) and "httpGet" in field:
            defaulted[name] = {**field, **_PROBE_DEFAULTS}
    defaulted["ports"] = [
        {**as_object(port), "protocol": "TCP"} for port in as_list(container["ports"])
    ]
    return defaulted


def _uid(random: Random) -> str:
    digits = f"{random.getrandbits(128):032x}"
    parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
    return "-".join(parts)


def _managed_fields(manager: str, owned: JSONObject) -> JSONObject:
    """Return an entry of managedFields."""
    fields = {**owned}
    fields.pop("apiVersion", None)
    fields.pop("kind", None)
    return {
        "manager": manager,
        "operation": "Update",
        "apiVersion": owned.get("apiVersion", "apps/v1"),
        "time": "2026-03-01T09:30:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": _field_set(fields),
    }


def _field_set(value: JSON) -> JSONObject:
    """Return the set of fields in a value in the form of FieldsV1.

    ``f:NAME`` is a member of an object, ``k:KEYS`` an element of a list, ``.`` the
    element itself.
    """
    if isinstance(value, dict):
        return {f"f:{name}": _field_set(member) for name, member in value.items()}
    fields: JSONObject = {}
    for element in as_list(value):
        if isinstance(element, dict):
            fields[f"k:{compact(_keys(element))}"] = {".": {}, **_field_set(element)}
    return fields


def _keys(element: JSONObject) -> JSONObject:
    names = ("mountPath", "containerPort", "name", "type")
    return {name: element[name] for name in names if name in element}
