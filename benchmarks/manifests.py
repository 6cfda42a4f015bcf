"""Configurations as users write them, and the patches that kubectl makes of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random

from smp._values.values import JSON, JSONObject


def compact(value: JSON) -> str:
    """Print a value as JSON without spaces."""
    return json.dumps(value, separators=(",", ":"))


def manifest(
    api_version: str, kind: str, name: str, labels: JSONObject, **members: JSON
) -> JSONObject:
    """Return an object in the namespace ``shop``."""
    metadata: JSONObject = {"name": name, "namespace": "shop", "labels": labels}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **members}


def properties(random: Random, length: int) -> str:
    """Return a configuration file of so many characters: names, and quoted values."""
    words = ("cache", "queue", "retry", "limit", "remote", "timeout", "pool", "region")
    text = ""
    while len(text) < length:
        name = f"{random.choice(words)}.{random.choice(words)}"
        text += f'{name} = "{random.getrandbits(64):016x}"\n'
    return text[: length - 1] + "\n"


def container_name(index: int) -> str:
    """Return the name of the container at a position."""
    return f"app-{index:03}"


def image(tag: str) -> str:
    """Return the name of an image."""
    return f"registry.example/shop/backend:{tag}"


def pod_spec(
    container: Callable[[int, str], JSONObject], count: int, tag: str
) -> JSONObject:
    """Return the spec of a pod; the container in the middle has the image of the tag.

    ``container`` makes a container of its position and its tag.
    """
    tags = ["1.4.2"] * count
    tags[count // 2] = tag
    containers: list[JSON] = [container(index, tags[index]) for index in range(count)]
    config: JSONObject = {"name": "config", "configMap": {"name": "settings"}}
    return {"serviceAccountName": "shop", "containers": containers, "volumes": [config]}


def image_patch(count: int, tag: str) -> JSONObject:
    """Return the patch of a pod's spec that changes the image in the middle.

    Like that of kubectl, it has the order of all containers.
    """
    changed: JSONObject = {"name": container_name(count // 2), "image": image(tag)}
    order: list[JSON] = [{"name": container_name(index)} for index in range(count)]
    return {"$setElementOrder/containers": order, "containers": [changed]}


def plain_container(index: int, tag: str, variables: int = 3) -> JSONObject:
    """Return a container with the fields that most of them have."""
    quantities: JSONObject = {"cpu": "250m", "memory": "128Mi"}
    env: list[JSON] = [
        {"name": f"SHOP_{number:03}", "value": f"value-{number:03}"}
        for number in range(variables)
    ]
    return {
        "name": container_name(index),
        "image": image(tag),
        "ports": [{"name": "http", "containerPort": 8080 + index}],
        "env": env,
        "resources": {"limits": quantities, "requests": quantities},
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/shop", "readOnly": True}
        ],
        "readinessProbe": _probe("/ready"),
    }


def full_container(index: int, tag: str, variables: int) -> JSONObject:
    """Return a container with nearly all fields that are in use."""
    volumes = ("data", "cache", "certificates", "scratch", "sockets", "plugins")
    mounts: list[JSON] = [
        {"name": name, "mountPath": f"/var/lib/shop/{name}"} for name in volumes
    ]
    return {
        **plain_container(index, tag, variables),
        "command": ["/usr/local/bin/backend"],
        "args": [
            "--config=/etc/shop/backend.yaml",
            "--log-format=json",
            "--log-level=info",
            f"--shard={index}",
        ],
        "volumeMounts": mounts,
        "livenessProbe": _probe("/healthz"),
        "workingDir": "/var/lib/shop",
        "envFrom": [
            {"configMapRef": {"name": "settings"}},
            {"secretRef": {"name": "credentials", "optional": True}},
        ],
        "lifecycle": {"preStop": {"exec": {"command": ["/bin/sh", "-c", "sleep 5"]}}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"},
            "capabilities": {"drop": ["ALL"]},
        },
    }


def _probe(path: str) -> JSONObject:
    return {"httpGet": {"path": path, "port": "http"}, "periodSeconds": 10}


def service_spec(count: int, first_target: int) -> JSONObject:
    """Return the spec of a Service with so many ports, and the target of the first."""
    ports: list[JSON] = []
    for index in range(count):
        port: JSONObject = {
            "name": f"port-{index:02}",
            "protocol": "TCP",
            "appProtocol": "kubernetes.io/h2c",
            "port": 8000 + index,
            "targetPort": first_target if index == 0 else 9000 + index,
        }
        ports.append(port)
    return {"type": "LoadBalancer", "selector": {"app": "gateway"}, "ports": ports}


def volume_name(index: int) -> str:
    """Return the name of the volume at a position."""
    return f"v-{index:04}"


def volume(index: int, prefix: str, **fields: JSON) -> JSONObject:
    """Return a volume, from a ConfigMap whose name begins with a prefix."""
    source: JSONObject = {"name": f"{prefix}-{index:04}", **fields}
    return {"name": volume_name(index), "configMap": source}


def section_schema(number: int, word: str) -> JSONObject:
    """Return the schema of an object with ten fields, as controller-gen writes it."""
    text = f"is what a {word} needs to know of its section {number:03}"
    fields: JSONObject = {}
    for index in range(8):
        fields[f"field{index}"] = {
            "type": "string",
            "description": f"Field{index} {text}. It is not changed while the {word} "
            "is open, and the next one has the same value unless stated otherwise.",
        }
    fields["count"] = {"type": "integer", "format": "int32", "minimum": 1}
    fields["labels"] = {
        "type": "object",
        "additionalProperties": {"type": "string"},
        "description": f"Labels {text}.",
    }
    required: list[JSON] = ["field0", "count"]
    return {"type": "object", "required": required, "properties": fields}
