"""What a claim is filled from: two fields say it, of which one is newer."""

from __future__ import annotations

from typing import Final

from smp._values.values import JSONObject, as_object, as_text, same

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
    former, filled = as_object(old.get("spec")), dict(spec)
    if former.get(_OLD) is None and former.get(_NEW) is None:
        # Sources of other namespaces are a feature that is off.
        if as_object(spec.get(_NEW)).get("namespace"):
            del filled[_NEW]
        asked = as_object(spec.get(_OLD))
        named = (as_text(asked.get("apiGroup")), as_text(asked.get("kind")))
        if filled.get(_NEW) is None and named not in _KNOWN:
            filled.pop(_OLD, None)
    for name, other in ((_OLD, _NEW), (_NEW, _OLD)):
        source = filled.get(name)
        if not isinstance(source, dict) or filled.get(other) is not None:
            continue
        if not source.get("namespace"):
            copied: JSONObject = {}
            for key in ("apiGroup", "kind", "name"):
                if source.get(key) is not None:
                    copied[key] = source[key]
            filled[other] = copied
    return new if same(filled, spec) else {**new, "spec": filled}
