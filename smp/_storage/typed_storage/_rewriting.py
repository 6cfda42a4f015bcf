"""Values that a server does not store, and takes for a change at each write."""

from __future__ import annotations

from typing import Final

from smp._storage.typed_storage._stored import stored
from smp._values.values import ABSENT, JSON, Absent, JSONObject, as_object
from smp.paths import Path
from smp.schema.model import Schema

# Kinds whose strategy takes nil and empty for different, and the field that it compares
# (Go: reflect.DeepEqual in PrepareForUpdate; all others use Semantic.DeepEqual).
_COMPARED_EXACTLY: Final = {
    ("networking.k8s.io/v1", "NetworkPolicy"): "spec",
    ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"): "webhooks",
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"): "webhooks",
}
# What is empty there has its default again, before it is compared.
_DEFAULTED: Final = frozenset({"policyTypes"})


def rewriting_paths(asked: JSONObject, schema: Schema) -> tuple[Path, ...]:
    """Return the empty lists and maps with which each update writes an object anew.

    Storage does not keep them, so that they differ from what is stored each time: the
    object gets a new generation, and an apply a new time. Raises DepthError.
    """
    name = _COMPARED_EXACTLY.get((schema.api_version, schema.kind))
    if name is None or name not in asked:
        return ()
    at_rest = stored({name: asked[name]}, schema, at_rest=True)
    found: list[Path] = []
    _add_dropped(asked[name], at_rest.get(name, ABSENT), Path((name,)), found)
    return tuple(found)


def _add_dropped(
    asked: JSON, kept: JSON | Absent, path: Path, found: list[Path]
) -> None:
    if isinstance(asked, (dict, list)) and not asked and kept is ABSENT:
        found.append(path)
    elif isinstance(asked, dict):
        members = as_object(None if isinstance(kept, Absent) else kept)
        for name, value in asked.items():
            if name in _DEFAULTED:
                continue
            _add_dropped(value, members.get(name, ABSENT), path / name, found)
    elif isinstance(asked, list) and isinstance(kept, list):
        for index, (value, other) in enumerate(zip(asked, kept, strict=False)):
            _add_dropped(value, other, path / index, found)
