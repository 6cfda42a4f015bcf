"""What a claim is filled from: two fields say it, of which one is newer."""

from __future__ import annotations

from typing import Final

from smp._values.values import ABSENT, JSONObject, as_object, as_text, same

_OLD: Final = "dataSource"
_NEW: Final = "dataSourceRef"
# What an older server knew as a source: (API group, kind).
_KNOWN: Final = (
    ("", "PersistentVolumeClaim"),
    ("snapshot.storage.k8s.io", "VolumeSnapshot"),
)


def fill_data_sources(old: JSONObject, new: JSONObject) -> JSONObject:
    """Return a claim whose two sources are one, without what a server takes for none.

    Go: pkg/api/persistentvolumeclaim, EnforceDataSourceBackwardsCompatibility,
    DropDisabledFields and NormalizeDataSources.
    """
    spec = as_object(new.get("spec"))
    if _OLD not in spec and _NEW not in spec:
        return new
    former = as_object(old.get("spec"))
    filled = dict(spec)
    if not former.get(_OLD) and not former.get(_NEW):
        source = as_object(spec.get(_OLD))
        named = (as_text(source.get("apiGroup")), as_text(source.get("kind")))
        if named not in _KNOWN:
            filled.pop(_OLD, None)
        # Sources of other namespaces are a feature that is off.
        if as_object(spec.get(_NEW)).get("namespace"):
            filled.pop(_NEW, None)
    for name, other in ((_OLD, _NEW), (_NEW, _OLD)):
        source = as_object(filled.get(name))
        if name in filled and not filled.get(other) and not source.get("namespace"):
            copied: JSONObject = {}
            for key in ("apiGroup", "kind", "name"):
                if source.get(key, ABSENT) is not ABSENT:
                    copied[key] = source[key]
            filled[other] = copied
    return new if same(filled, spec) else {**new, "spec": filled}
