"""Objects that the tests of the handler patch, and what every Status looks like."""

from __future__ import annotations

import json
from typing import Any, Final

import jsonschema

from smp import handler
from smp._values.values import JSON, JSONObject, as_object
from smp.handler import STRATEGIC, Accepted, Options, Outcome, Refused
from smp.schema.catalog import kubernetes
from smp.schema.model import Schema

DEPLOYMENT: Final[Schema] = kubernetes().schema("apps/v1", "Deployment")

WEB: Final[JSONObject] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {
        "name": "web",
        "namespace": "shop",
        "uid": "0a1b",
        "resourceVersion": "7",
        "generation": 3,
        "creationTimestamp": "2026-03-02T09:30:00Z",
        "managedFields": [
            {
                "manager": "kubectl",
                "operation": "Update",
                "fieldsV1": {"f:spec": {"f:replicas": {}}},
            }
        ],
    },
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "web"}},
        "strategy": {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1},
        },
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {
                "containers": [
                    {
                        "name": "app",
                        "image": "nginx:1.26",
                        "resources": {"limits": {"cpu": "1"}},
                    }
                ],
                "volumes": [{"name": "data", "emptyDir": {}}],
            },
        },
    },
}

REPLICAS: Final[JSONObject] = {"spec": {"replicas": 5}}  # a patch
STRICT: Final = Options(field_validation="Strict")

DECODING_ERROR: Final = 'Deployment in version "v1" cannot be handled as a Deployment: '
UNDECODABLE: Final = 'Deployment.apps "web" is invalid: patch: '
MODIFIED: Final = (
    'Operation cannot be fulfilled on deployments.apps "web": '
    "the object has been modified; "
    "please apply your changes to the latest version and try again"
)

# metav1.Status, as far as clients rely on it; additional members would be typing
# errors.
STATUS: Final[JSONObject] = {
    "type": "object",
    "required": [
        "kind",
        "apiVersion",
        "metadata",
        "status",
        "message",
        "code",
    ],
    "additionalProperties": False,
    "properties": {
        "kind": {"const": "Status"},
        "apiVersion": {"const": "v1"},
        "metadata": {"const": {}},
        "status": {"const": "Failure"},
        "message": {"type": "string", "minLength": 1},
        "reason": {
            "enum": [
                "BadRequest",
                "Conflict",
                "Invalid",
                "NotFound",
                "RequestEntityTooLarge",
                "UnsupportedMediaType",
            ]
        },
        "code": {"enum": [400, 404, 409, 413, 415, 422, 500]},
        "details": {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": False,
            "properties": {
                **{
                    name: {"type": "string", "minLength": 1}
                    for name in ("name", "group", "kind")
                },
                "causes": {
                    "type": "array",
                    "minItems": 1,
                    "items": {
                        "type": "object",
                        "required": ["reason", "message", "field"],
                        "additionalProperties": False,
                        "properties": {
                            "reason": {"pattern": "^Field(Value|ManagerConflict)"},
                            "message": {"type": "string", "minLength": 1},
                            "field": {"type": "string", "minLength": 1},
                        },
                    },
                },
            },
        },
    },
    # kubectl prints of an Invalid its causes, and nothing else.
    "if": {"properties": {"code": {"const": 422}}},
    "then": {
        "required": ["details"],
        "properties": {"details": {"required": ["causes"]}},
    },
}
_STATUS: Final = jsonschema.Draft202012Validator(STATUS)


def dump(value: object) -> bytes:
    """Write a body."""
    return json.dumps(value).encode()


def accepted(outcome: Outcome) -> Accepted:
    """Return an outcome that has to be an acceptance."""
    assert isinstance(outcome, Accepted), outcome
    return outcome


def refused(outcome: Outcome) -> Refused:
    """Return an outcome that has to be a refusal, of the shape that clients know."""
    assert isinstance(outcome, Refused), outcome
    _STATUS.validate(json.loads(outcome.body))
    assert outcome.status["code"] == outcome.code
    return outcome


def message_of(outcome: Outcome) -> str:
    """Return the message of a refusal."""
    return str(refused(outcome).status["message"])


def causes(outcome: Outcome) -> list[tuple[str, str, str]]:
    """Return reason, field and message of the causes of a refusal."""
    details = refused(outcome).status["details"]
    assert isinstance(details, dict)
    listed = details["causes"]
    assert isinstance(listed, list)
    return [
        (str(c["reason"]), str(c["field"]), str(c["message"]))
        for c in listed
        if isinstance(c, dict)
    ]


def patch_web(
    body: object, media_type: str = STRATEGIC, options: Options | None = None
) -> Outcome:
    """Patch the deployment with bytes, or with an object to be written as JSON."""
    data = body if isinstance(body, bytes) else dump(body)
    return handler.patch(WEB, data, media_type, DEPLOYMENT, options or Options())


def web_with(**fields: JSON) -> JSONObject:
    """Return the deployment with other fields in its spec."""
    return {**WEB, "spec": {**as_object(WEB["spec"]), **fields}}


def in_pod(**fields: JSON) -> JSONObject:
    """Return a patch that sets fields of the pod template's spec."""
    return {"spec": {"template": {"spec": fields}}}


def in_container(**fields: JSON) -> JSONObject:
    """Return a patch that sets fields of the container ``app``."""
    return in_pod(containers=[{"name": "app", **fields}])


def value_at(value: Any, *path: str | int) -> Any:
    """Return the value at a path; KeyError or IndexError where there is none."""
    for step in path:
        value = value[step]
    return value
