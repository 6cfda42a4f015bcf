"""Random objects of built-in kinds, and what an API server makes of them.

The objects are those of tests.support.typed_objects, with the values that defaulting
functions distinguish. The Go program in tests/apiserver/defaulting decodes them, which
calls these functions, and prints them, converted to the internal version and back.
"""

from __future__ import annotations

from random import Random
from typing import Final

import pytest

from smp._values.values import JSON, JSONObject
from tests.support.apiserver import GO_MODULE, binary
from tests.support.reference import Reference, reference
from tests.support.typed_objects import objects

_DIGEST: Final = f"sha256:{'0' * 64}"
# The values of fields that have an effect on defaults.
_VALUES: Final[dict[str, tuple[JSON, ...]]] = {
    "allocationMode": ("ExactCount", "All", ""),
    "deviceClassName": ("", "gpu"),
    "hostNetwork": (True, False, None),
    "image": (
        *("a", "a:latest", "a:1", "a:latest-1", f"a@{_DIGEST}", "A B", "", "a:"),
        *(f"x/y:latest@{_DIGEST}", "localhost:5000/a", "localhost:5000/a:latest"),
    ),
    "kind": ("User", "Group", "ServiceAccount", "Deployment"),
    "reference": ("a", "a:1"),
    "restartPolicy": ("Always", ""),
    "sessionAffinity": ("None", "ClientIP", ""),
    "type": (
        *("RollingUpdate", "RollingUpdate", "OnDelete", "Recreate"),
        *("Container", "Pod", "Opaque", ""),
        *("LoadBalancer", "NodePort", "ExternalName", "ClusterIP"),
    ),
}


def oracle() -> Reference | None:
    """Return the Go program, or None where it cannot be built.

    It is a large part of kube-apiserver, so it is built only where that was.
    """
    if binary() is None:
        return None
    return reference(GO_MODULE / "defaulting")


needs_oracle: Final = pytest.mark.skipif(
    f"__import__('sys').modules[{__name__!r}].oracle() is None",
    reason="tests/apiserver/defaulting cannot be built, or no kube-apiserver was",
)


def undefaulted(seed: int, count: int) -> list[JSONObject]:
    """Return random objects."""
    random = Random(f"defaults {seed}")
    made = objects(seed, count)
    for obj in made:
        kind = obj["kind"]
        _choose_values(random, obj)
        obj["kind"] = kind
    return made


def _choose_values(random: Random, value: JSON) -> None:
    if isinstance(value, list):
        for element in value:
            _choose_values(random, element)
    elif isinstance(value, dict):
        for name, member in value.items():
            if name in _VALUES and not isinstance(member, (dict, list)):
                value[name] = random.choice(_VALUES[name])
            else:
                _choose_values(random, member)
