"""Types whose schema does not come from their source.

These are Go's own types, and types that encode themselves (they have MarshalJSON), so
that their JSON form does not follow from their fields.
"""

from __future__ import annotations

from typing import Final

from smp._values.values import JSON, JSONObject

# The type and format that published OpenAPI has for Go's own types (Go: kube-openapi's
# schemaTypeFormatMap).
BASIC: Final[dict[str, JSONObject]] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "byte": {"type": "integer", "format": "byte"},
    "rune": {"type": "integer", "format": "int32"},
    "int": {"type": "integer", "format": "int32"},
    "int8": {"type": "integer", "format": "byte"},
    "int16": {"type": "integer", "format": "int32"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "uint": {"type": "integer", "format": "int32"},
    "uint8": {"type": "integer", "format": "byte"},
    "uint16": {"type": "integer", "format": "int32"},
    "uint32": {"type": "integer", "format": "int64"},
    "uint64": {"type": "integer", "format": "int64"},
    "float32": {"type": "number", "format": "float"},
    "float64": {"type": "number", "format": "double"},
    "any": {"type": "object"},
}
# Go's zero value of each OpenAPI type (Go: kube-openapi's OpenAPIZeroValue).
ZERO: Final[dict[str, JSON]] = {
    "string": "",
    "boolean": False,
    "integer": 0,
    "number": 0,
}

# Packages whose types have published schemas, by the start of their import path.
KUBERNETES: Final = ("k8s.io/api/", "k8s.io/apimachinery/")
META: Final = "k8s.io/apimachinery/pkg/apis/meta/v1"

_TYPES: Final = "k8s.io/apimachinery/pkg/types"
_CORE: Final = "k8s.io/api/core/v1"
_CORE_STRINGS: Final = (
    "ConditionStatus",
    "DNSPolicy",
    "IPFamily",
    "IPFamilyPolicy",
    "NodeSelectorOperator",
    "PersistentVolumeAccessMode",
    "PersistentVolumeMode",
    "PersistentVolumeReclaimPolicy",
    "PodPhase",
    "PreemptionPolicy",
    "Protocol",
    "PullPolicy",
    "ResourceName",
    "RestartPolicy",
    "SecretType",
    "ServiceAffinity",
    "ServiceType",
    "StorageMedium",
    "TaintEffect",
    "TerminationMessagePolicy",
    "TolerationOperator",
    "URIScheme",
)

_TIME: Final[JSONObject] = {"type": "string", "format": "date-time"}
_ANY_VALUE: Final[JSONObject] = {"x-kubernetes-preserve-unknown-fields": True}

# Named types that are a basic type in JSON, by import path and name. They count only
# where their source is not among the sources.
NAMED: Final = {
    ("time", "Duration"): "int64",
    **{(_TYPES, name): "string" for name in ("UID", "NodeName", "PatchType")},
    **{
        (META, name): "string"
        for name in ("ConditionStatus", "StatusReason", "LabelSelectorOperator")
    },
    **{(_CORE, name): "string" for name in _CORE_STRINGS},
}
_QUANTITY: Final[JSONObject] = {"oneOf": [{"type": "string"}, {"type": "number"}]}
# Types that encode themselves: none of them has a zero value as its default.
TYPES: Final[dict[tuple[str, str], JSONObject]] = {
    ("time", "Time"): _TIME,
    ("encoding/json", "RawMessage"): _ANY_VALUE,
    (META, "Time"): _TIME,
    (META, "MicroTime"): _TIME,
    (META, "Duration"): {"type": "string"},
    (META, "FieldsV1"): {"type": "object"},
    ("k8s.io/apimachinery/pkg/api/resource", "Quantity"): _QUANTITY,
    ("k8s.io/apimachinery/pkg/util/intstr", "IntOrString"): {
        "format": "int-or-string",
        "oneOf": [{"type": "integer"}, {"type": "string"}],
    },
    ("k8s.io/apimachinery/pkg/runtime", "RawExtension"): {"type": "object"},
    ("k8s.io/apimachinery/pkg/runtime", "Object"): {},
    ("k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1", "JSON"): _ANY_VALUE,
}
# A map of them that many APIs use; it counts only where its source is not given.
MAPS: Final[dict[tuple[str, str], JSONObject]] = {
    (_CORE, "ResourceList"): {"type": "object", "additionalProperties": _QUANTITY},
}
