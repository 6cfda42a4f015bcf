"""What API servers of today answer to two members of a union.

They normalize no union. A client that sets one member and leaves another one in the
object gets this text, from the validation of each type (Go: k8s.io/kubernetes v1.36.3,
pkg/apis).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from smp.errors import ApplyWarning
from smp.paths import Path
from smp.schema.model import ObjectType, Schema, Type
from smp.unions._results import Change
from smp.values import ABSENT

_ONE_VOLUME: Final = "may not specify more than 1 volume type"
_ONE_HANDLER: Final = "may not specify more than 1 handler type"
_ONE_FIELD: Final = "may not have more than one field specified at a time"
_EITHER_CLAIM: Final = (
    "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
)
_TOLERATED: Final = ""
# A group, a version and a name are the end of the name of a type.
_NAME_PARTS: Final = 3

# By the group and the name of the type that has the union.
_REASONS: Final = {
    ("admissionregistration", "WebhookClientConfig"): (
        "exactly one of url or service is required"
    ),
    # ValidateDaemonSetUpdateStrategy does not look at it.
    ("apps", "DaemonSetUpdateStrategy"): _TOLERATED,
    ("apps", "DeploymentStrategy"): (
        "may not be specified when strategy `type` is 'Recreate'"
    ),
    ("apps", "StatefulSetUpdateStrategy"): (
        "only allowed for updateStrategy 'RollingUpdate'"
    ),
    ("autoscaling", "MetricSpec"): "must populate the given metric source only",
    ("core", "AppArmorProfile"): "can only be set when AppArmor type is Localhost",
    ("core", "EnvFromSource"): _ONE_FIELD,
    ("core", "EnvVar"): "may not be specified when `value` is not empty",
    ("core", "EnvVarSource"): _ONE_FIELD,
    ("core", "LifecycleHandler"): _ONE_HANDLER,
    ("core", "PersistentVolumeSpec"): _ONE_VOLUME,
    ("core", "PodResourceClaim"): _EITHER_CLAIM,
    ("core", "Probe"): _ONE_HANDLER,
    ("core", "SeccompProfile"): "can only be set when seccomp type is Localhost",
    ("core", "Volume"): _ONE_VOLUME,
    ("networking", "IngressBackend"): "cannot set both resource and service backends",
    ("networking", "ServiceBackendPort"): "cannot set both port name & port number",
    ("policy", "PodDisruptionBudgetSpec"): (
        "minAvailable and maxUnavailable cannot be both set"
    ),
}


def stock_server_warnings(
    changes: Iterable[Change], schema: Schema
) -> list[ApplyWarning]:
    """Warn of what a server makes of an object in which unions are not normalized."""
    warnings: list[ApplyWarning] = []
    for change in changes:
        message = "kubectl's patch leaves this member of a union in the object"
        reason = _REASONS.get(type_of_member(change.path, schema))
        if change.new is not ABSENT:
            # A discriminator that was written, or a member that was restored.
            message = (
                "kubectl's patch leaves this field as it is, and so does a server that"
                " does not normalize unions"
            )
        elif reason is None:
            message += (
                ", and a server that does not normalize unions keeps it, or refuses"
                " the object"
            )
        elif reason == _TOLERATED:
            message += ", and a server keeps it"
        else:
            message += f", which a server refuses: {reason}"
        warnings.append(ApplyWarning("not-normalized", change.path, message))
    return warnings


def type_of_member(path: Path, schema: Schema) -> tuple[str, str]:
    """Return the group and the name of the type that has the field at a path."""
    type_: Type = schema.type
    for step in path.steps[:-1]:
        if not isinstance(step, str):
            type_ = type_.items
            continue
        field = type_.field(step)
        if field is None:
            return "", ""
        type_ = field.type
    # io.k8s.api.apps.v1.StatefulSetUpdateStrategy
    name = type_.name if isinstance(type_, ObjectType) else ""
    parts = name.split(".")
    if not name.startswith("io.k8s.api") or len(parts) < _NAME_PARTS:
        return "", ""
    return parts[-3], parts[-1]
