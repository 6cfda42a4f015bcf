"""The usual form of objects, decoded in one pass as far as comparing them takes.

An object of another form, such as one with a member that is not named here, is decoded
member by member (_objects.py).
"""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from smp.raw import RawJSON

Part: TypeAlias = RawJSON | UnsetType
# The one of a Service has labels, others have labels and expressions.
_Selector: TypeAlias = dict[str, str | dict[str, str] | list[RawJSON]]


class Metadata(msgspec.Struct, forbid_unknown_fields=True):
    """The metadata that manifests have."""

    name: Part = UNSET
    namespace: Part = UNSET
    labels: Part = UNSET
    annotations: dict[str, str] | UnsetType = UNSET
    ownerReferences: Part = UNSET  # noqa: N815  # as in JSON
    finalizers: Part = UNSET


class LiveMetadata(Metadata, forbid_unknown_fields=True):
    """The metadata of live objects: a server adds some."""

    creationTimestamp: Part = UNSET  # noqa: N815  # as above
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

    metadata: Metadata


class LiveObject(_Members, kw_only=True, forbid_unknown_fields=True):
    """A live object."""

    metadata: LiveMetadata


class _Labelled(msgspec.Struct):
    labels: dict[str, str] = {}


class _Template(msgspec.Struct):
    metadata: _Labelled = msgspec.field(default_factory=_Labelled)


class _Spec(msgspec.Struct):
    """What has labels in a spec of these versions; the rest is left out."""

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


def label_values(labels: RawJSON) -> list[str]:
    """Return the values of labels. Raises MsgspecError."""
    return [*_labels(labels).values()]


def label_values_of_spec(spec: RawJSON, api_version: RawJSON) -> list[str]:
    """Return the values of all labels that a spec has or selects. Raises MsgspecError.

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
    return found
