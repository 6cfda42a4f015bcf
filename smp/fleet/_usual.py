"""The usual form of objects, decoded in one pass as far as comparing them takes.

An object of another form, such as one with a member that is not named here, is decoded
member by member (_objects.py).
"""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from smp._values.raw import RawJSON

Part: TypeAlias = RawJSON | UnsetType
# The one of a Service has labels, others have labels and expressions.
_Selector: TypeAlias = dict[str, str | dict[str, str] | list[RawJSON]]


class UsualMetadata(msgspec.Struct, forbid_unknown_fields=True):
    """The metadata that manifests have."""

    name: Part = UNSET
    namespace: Part = UNSET
    labels: Part = UNSET
    annotations: dict[str, str] | UnsetType = UNSET
    ownerReferences: Part = UNSET  # noqa: N815  # as in JSON
    finalizers: Part = UNSET
    # controller-gen and kubectl create print it as null.
    creationTimestamp: Part = UNSET  # noqa: N815  # as in JSON


class LiveMetadata(UsualMetadata, forbid_unknown_fields=True):
    """The metadata of live objects: a server adds some."""

    deletionTimestamp: Part = UNSET  # noqa: N815  # as above
    deletionGracePeriodSeconds: Part = UNSET  # noqa: N815  # as above
    generateName: Part = UNSET  # noqa: N815  # as above
    generation: Part = UNSET
    managedFields: Part = UNSET  # noqa: N815  # as above
    resourceVersion: Part = UNSET  # noqa: N815  # as above
    selfLink: Part = UNSET  # noqa: N815  # as above
    uid: Part = UNSET


class _Members(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The members of most kinds."""

    apiVersion: RawJSON  # noqa: N815  # as above
    kind: RawJSON
    spec: Part = UNSET
    status: Part = UNSET
    # ConfigMap and Secret
    data: Part = UNSET
    binaryData: Part = UNSET  # noqa: N815  # as above
    stringData: Part = UNSET  # noqa: N815  # as above
    immutable: Part = UNSET
    type: Part = UNSET
    # Roles and their bindings
    rules: Part = UNSET
    aggregationRule: Part = UNSET  # noqa: N815  # as above
    roleRef: Part = UNSET  # noqa: N815  # as above
    subjects: Part = UNSET
    # ServiceAccount
    automountServiceAccountToken: Part = UNSET  # noqa: N815  # as above
    imagePullSecrets: Part = UNSET  # noqa: N815  # as above
    secrets: Part = UNSET
    # Webhook configurations
    webhooks: Part = UNSET


class Manifest(_Members, kw_only=True, forbid_unknown_fields=True):
    """A manifest, or a last-applied configuration."""

    metadata: UsualMetadata


class LiveObject(_Members, kw_only=True, forbid_unknown_fields=True):
    """A live object."""

    metadata: LiveMetadata


class _Labelled(msgspec.Struct):
    labels: dict[str, str] = {}


class _Variable(msgspec.Struct):
    value: str = ""


class _Container(msgspec.Struct):
    env: list[_Variable] = []


class _PodSpec(msgspec.Struct):
    containers: list[_Container] = []
    initContainers: list[_Container] = []  # noqa: N815  # as above


class _Template(msgspec.Struct):
    metadata: _Labelled = msgspec.field(default_factory=_Labelled)
    spec: _PodSpec = msgspec.field(default_factory=_PodSpec)


class _Spec(_PodSpec):
    """What has labels and variables in a spec of these versions."""

    selector: _Selector = {}
    podSelector: _Selector = {}  # noqa: N815  # as above
    template: _Template = msgspec.field(default_factory=_Template)


manifest_of: Final = msgspec.json.Decoder(Manifest).decode
live_object_of: Final = msgspec.json.Decoder(LiveObject).decode
_labels: Final = msgspec.json.Decoder(dict[str, str]).decode
_spec: Final = msgspec.json.Decoder(_Spec).decode
# The versions in which a selector has labels, and a template has metadata.
_WITH_LABELS: Final = frozenset(
    (b'"v1"', b'"apps/v1"', b'"batch/v1"', b'"networking.k8s.io/v1"', b'"policy/v1"')
)


def strings_of(members: RawJSON) -> list[str]:
    """Return the values of labels, or of other strings. Raises MsgspecError."""
    return [*_labels(members).values()]


def opaque_values_of_spec(spec: RawJSON, api_version: RawJSON) -> list[str]:
    """Return the values of labels that a spec has or selects, and of variables.

    Raises MsgspecError.

    Those in expressions, and in what only some kinds have, are not among them.
    """
    if bytes(api_version) not in _WITH_LABELS:
        return []
    parts = _spec(spec)
    found = [*parts.template.metadata.labels.values()]
    for selector in (parts.selector, parts.podSelector):
        for value in selector.values():
            if isinstance(value, str):
                found.append(value)
            elif isinstance(value, dict):
                found += value.values()
    for pod in (parts, parts.template.spec):
        for container in (*pod.containers, *pod.initContainers):
            found += [variable.value for variable in container.env]
    return found
