"""Types whose schema does not come from their source: Go's own, and those that marshal
themselves.
"""

from __future__ import annotations

from typing import Final

from smp.values import JSON, JSONObject

# As published OpenAPI says it (Go: kube-openapi schemaTypeFormatMap).
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
ZERO: Final[dict[str, JSON]] = {
    "string": "",
    "boolean": False,
    "integer": 0,
    "number": 0,
}

KUBERNETES: Final = ("k8s.io/api/", "k8s.io/apimachinery/")
META: Final = "k8s.io/apimachinery/pkg/apis/meta/v1"

_TYPES: Final = "k8s.io/apimachinery/pkg/types"
_CORE: Final = "k8s.io/api/core/v1"
_CORE_STRINGS: Final = (
    *(
        "ConditionStatus",
        "DNSPolicy",
        "IPFamily",
        "IPFamilyPolicy",
        "NodeSelectorOperator",
        "PersistentVolumeMode",
    ),
    *(
        "PersistentVolumeAccessMode",
        "PersistentVolumeReclaimPolicy",
        "PodPhase",
        "PreemptionPolicy",
        "Protocol",
    ),
    *(
        "PullPolicy",
        "ResourceName",
        "RestartPolicy",
        "SecretType",
        "ServiceAffinity",
        "ServiceType",
        "StorageMedium",
    ),
    *("TaintEffect", "TerminationMessagePolicy", "TolerationOperator", "URIScheme"),
)

_TIME: Final[JSONObject] = {"type": "string", "format": "date-time"}
_ANYTHING: Final[JSONObject] = {"x-kubernetes-preserve-unknown-fields": True}

# Named types that are a basic type in JSON, for when their source is not given.
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
# Types that marshal themselves: none of them has a zero value to default to.
TYPES: Final[dict[tuple[str, str], JSONObject]] = {
    ("time", "Time"): _TIME,
    ("encoding/json", "RawMessage"): _ANYTHING,
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
    ("k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1", "JSON"): _ANYTHING,
}
# A map of them, as widely used; its own source comes first.
MAPS: Final[dict[tuple[str, str], JSONObject]] = {
    (_CORE, "ResourceList"): {"type": "object", "additionalProperties": _QUANTITY},
}
