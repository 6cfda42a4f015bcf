"""Pairs of fields that a server takes for one another, as data.

A server keeps both fields of such a pair equal, or reads only one of them. So a patch
that changes one field, and finds the other one in the live object, does not do what the
manifest says.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

# ``equal``: both are the same value. ``first``: the other one is a list, and begins
# with it.
Likeness: TypeAlias = Literal["equal", "first"]


class Pair(msgspec.Struct, frozen=True):
    """Two fields of a type.

    ``field`` is the one that counts where both are set, ``other`` the one that is
    filled in from it, and is read where ``field`` is absent: then it ``restores`` it.
    """

    field: str
    other: str
    likeness: Likeness
    rule: str
    restores: bool = True


# By the name of the type.
PAIRS: Final[dict[str, tuple[Pair, ...]]] = {
    "PodSpec": (
        Pair(
            "serviceAccountName",
            "serviceAccount",
            "equal",
            "Go: core/v1, Convert_v1_PodSpec_To_core_PodSpec",
        ),
    ),
    "ServiceSpec": (
        Pair(
            "clusterIP",
            "clusterIPs",
            "first",
            "Go: registry/core/service/storage, normalizeClusterIPs",
            restores=False,
        ),
    ),
    "NodeSpec": (
        Pair(
            "podCIDR",
            "podCIDRs",
            "first",
            "Go: core/v1, Convert_v1_NodeSpec_To_core_NodeSpec",
        ),
    ),
    "PersistentVolumeClaimSpec": (
        Pair(
            "dataSourceRef",
            "dataSource",
            "equal",
            "Go: api/persistentvolumeclaim, NormalizeDataSources",
        ),
    ),
}


class AnnotationPair(msgspec.Struct, frozen=True):
    """An annotation that counts instead of a field of the spec, or excludes it."""

    annotation: str
    field: str
    sentence: str
    rule: str


_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_COUNTS: Final = "the annotation counts, and the field is not looked at"

# By the kind of the object.
ANNOTATION_PAIRS: Final[dict[str, AnnotationPair]] = {
    "PersistentVolume": AnnotationPair(
        _CLASS, "storageClassName", _COUNTS, "Go: core/helper, GetPersistentVolumeClass"
    ),
    "PersistentVolumeClaim": AnnotationPair(
        _CLASS,
        "storageClassName",
        _COUNTS,
        "Go: core/helper, GetPersistentVolumeClaimClass",
    ),
    "Ingress": AnnotationPair(
        "kubernetes.io/ingress.class",
        "ingressClassName",
        "a server refuses to create an object that has both with different values",
        "Go: networking/validation, ValidateIngressCreate",
    ),
}

# What tells an element of a list beside its patch merge key, by the type of the
# element: several fields together, the first choice first. An element with another
# merge key and the same of these is likely to be the same one.
SECOND_KEYS: Final[dict[str, tuple[tuple[str, ...], ...]]] = {
    "Container": (("image",),),
    "ContainerPort": (("name",), ("hostPort", "protocol")),
    "HostAlias": (("hostnames",),),
    "OwnerReference": (("apiVersion", "kind", "name"),),
    "ServicePort": (("name",), ("nodePort",), ("targetPort",)),
    "TopologySpreadConstraint": (("labelSelector",),),
    "VolumeDevice": (("name",),),
    "VolumeMount": (("name", "subPath"), ("name",)),
}

# Of these a server takes no two elements with the same in one list (Go:
# core/validation, validateContainerPorts, AccumulateUniqueHostPorts, ValidateService).
# Of all else it takes both: a volume may be mounted at two paths.
UNIQUE_KEYS: Final[dict[str, tuple[tuple[str, ...], ...]]] = {
    "ContainerPort": (("name",), ("hostPort", "hostIP", "protocol")),
    "ServicePort": (("name",), ("nodePort", "protocol")),
}
