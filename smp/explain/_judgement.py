"""Which cause a path has: the rules, one after the other.

Each function looks at one ``Sides``, at which the objects differ, and returns the code
of a cause. The order of the rules matters; each says what holds when it is reached.
"""

from __future__ import annotations

from typing import Final

from smp._values.api_objects import SERVER_METADATA
from smp._values.last_applied import LAST_APPLIED
from smp._values.values import (
    ABSENT,
    JSON,
    Absent,
    as_object,
    drop_nulls,
    same,
    value_key,
    value_keys,
)
from smp.explain._sides import is_pruned, retains
from smp.schema.sides import Sides

_SCALED: Final = "a HorizontalPodAutoscaler or kubectl scale"
_ALLOCATED: Final = "the allocator of the API server"
_INJECTED: Final = "the certificate injector"
_CA_BUNDLE: Final = ("clientConfig", "caBundle")
# What else sets a field of an object that a user writes: by kind, and by the names of
# the fields on the way.
CONTROLLERS: Final[dict[tuple[str, tuple[str, ...]], str]] = {
    ("Deployment", ("spec", "replicas")): _SCALED,
    ("ReplicaSet", ("spec", "replicas")): _SCALED,
    ("StatefulSet", ("spec", "replicas")): _SCALED,
    ("ReplicationController", ("spec", "replicas")): _SCALED,
    ("Deployment", ("metadata", "annotations", "deployment.kubernetes.io/revision")): (
        "the deployment controller"
    ),
    ("Service", ("spec", "clusterIP")): _ALLOCATED,
    ("Service", ("spec", "clusterIPs")): _ALLOCATED,
    ("Service", ("spec", "ipFamilies")): _ALLOCATED,
    ("Service", ("spec", "ipFamilyPolicy")): _ALLOCATED,
    ("Service", ("spec", "healthCheckNodePort")): _ALLOCATED,
    ("Service", ("spec", "ports", "nodePort")): _ALLOCATED,
    ("PersistentVolumeClaim", ("spec", "volumeName")): "the volume binder",
    ("PersistentVolume", ("spec", "claimRef")): "the volume binder",
    ("Pod", ("spec", "nodeName")): "the scheduler",
    ("Namespace", ("spec", "finalizers")): "the API server",
    ("Namespace", ("metadata", "labels", "kubernetes.io/metadata.name")): (
        "the API server"
    ),
    ("MutatingWebhookConfiguration", ("webhooks", *_CA_BUNDLE)): _INJECTED,
    ("ValidatingWebhookConfiguration", ("webhooks", *_CA_BUNDLE)): _INJECTED,
    (
        "CustomResourceDefinition",
        ("spec", "conversion", "webhook", *_CA_BUNDLE),
    ): _INJECTED,
}
_KINDS: Final = {kind for kind, _names in CONTROLLERS}


def controller_of(kind: str, sides: Sides) -> str:
    """Return what is known to set a field beside the user; the empty string if none."""
    if kind not in _KINDS:
        return ""
    names = tuple([step for step in sides.path.steps if isinstance(step, str)])
    return CONTROLLERS.get((kind, names), "")


def code_of(sides: Sides, kind: str) -> str:
    """Return the code of the cause of a path."""
    if is_server_set(sides):
        # A server keeps what it has set, whatever an apply sends.
        return "server-set"
    if same(sides.live, sides.result):
        return _judge_unchanged(sides, kind)
    return _judge_changed(sides, kind)


def is_server_set(sides: Sides) -> bool:
    """Tell whether a server sets a value and takes it from no apply."""
    steps = sides.path.steps
    if steps[:1] == ("status",):
        return True
    return steps[:1] == ("metadata",) and len(steps) > 1 and steps[1] in SERVER_METADATA


def _judge_changed(sides: Sides, kind: str) -> str:
    """Return the code where the result is not what live is."""
    manifest, result = sides.manifest, sides.result
    if manifest is None and result is ABSENT:
        return "deleted-by-null"
    if manifest is not ABSENT:
        return _judge_manifest(sides, kind)
    if result is not ABSENT:
        return (
            "filled-in" if same(result, sides.default) else "changed-by-ambiguous-key"
        )
    if sides.last_applied is not ABSENT:
        return "pruned"
    # No one asked for this loss.
    if retains(sides):
        return "retain-keys"
    if is_pruned(sides):
        return "lost-with-parent"
    return "lost-by-ambiguous-key"


def _judge_manifest(sides: Sides, kind: str) -> str:
    """Return the code where the manifest has a value, and live had another."""
    if not same(sides.manifest, sides.result):
        return _other_than_asked(sides)
    # What a server makes of the manifest is what live has.
    if sides.live is not ABSENT and same(sides.live, sides.default):
        return "canonical"
    # What typed storage drops is false, 0, "" or empty, and all these are false.
    if sides.live is ABSENT and sides.default is ABSENT and not sides.manifest:
        return "zero-value"
    was_changed = (
        sides.live is not ABSENT
        and sides.last_applied is not ABSENT
        and not same(sides.last_applied, sides.live)
    )
    # The manifest wants what it wanted before, or something new; either way the
    # change of another is undone (Go: diffMaps compares live with modified only).
    if not was_changed:
        return "set"
    return "overwrites-controller" if controller_of(kind, sides) else "overwritten"


def _other_than_asked(sides: Sides) -> str:
    """Return the code where the manifest has a value, and the result has another."""
    manifest = sides.manifest
    if not sides.is_known and sides.result is ABSENT:
        return "unknown-field"
    if not isinstance(manifest, Absent) and same(drop_nulls(manifest), sides.result):
        return "nulls"
    if same(sides.result, sides.default) and sides.result is not ABSENT:
        return "canonical"
    # What typed storage drops is false, 0, "" or empty, and all these are false.
    if sides.result is ABSENT and sides.default is ABSENT and not manifest:
        return "zero-value"
    if sides.is_repeated:
        is_deleted = sides.result is ABSENT and sides.live is not ABSENT
        return "deleted-by-repeated-key" if is_deleted else "repeated-key"
    return "not-as-asked"


def _judge_unchanged(sides: Sides, kind: str) -> str:
    """Return the code where the result is what live is."""
    if sides.manifest is ABSENT:
        return _not_in_manifest(sides, kind)
    if same(sides.manifest, sides.live):
        return "equal"
    if sides.manifest is None and sides.live is ABSENT:
        return "nothing-to-delete"
    return _other_than_asked(sides)


def _not_in_manifest(sides: Sides, kind: str) -> str:
    if sides.last_applied is not ABSENT:
        return "already-gone" if sides.live is ABSENT else "not-pruned"
    if sides.path.steps == ("metadata", "annotations", LAST_APPLIED):
        return "last-applied-annotation"
    if controller_of(kind, sides):
        return "allocated"
    if sides.default is not ABSENT and same(sides.default, sides.live):
        return "server-default"
    return "live-only"


def lost_elements(sides: Sides) -> list[JSON]:
    """Return the elements of live that an atomic list loses without being asked to.

    These are those that neither configuration has, and that the result lacks.
    """
    others = value_keys((sides.result, sides.manifest, sides.last_applied))
    live = sides.live if isinstance(sides.live, list) else []
    return [element for element in live if value_key(element) not in others]


def is_merged_by_key(sides: Sides) -> bool:
    """Tell whether an element of the manifest meets another one in live."""
    live, manifest = as_object(sides.live), as_object(sides.manifest)
    return bool(live and manifest) and not live.keys() <= manifest.keys()
