"""The selector that a Job gets, by which only its own Pods are selected.

Go: pkg/registry/batch/job/strategy.go, generateSelector.
"""

from __future__ import annotations

from typing import Final

from smp._values.values import JSONObject, as_object, same
from smp.server.objects.metadata import metadata_of, set_metadata

# In both forms, with and without a prefix: the former is the older one.
_NAMES: Final = ("job-name", "batch.kubernetes.io/job-name")
_UIDS: Final = ("controller-uid", "batch.kubernetes.io/controller-uid")


def set_selector(job: JSONObject) -> JSONObject:
    """Return a new Job with a selector and labels of its own, unless it has some."""
    spec = as_object(job.get("spec"))
    # The client answers for the selector then.
    if spec.get("manualSelector") is True:
        return job
    metadata = metadata_of(job)
    template = as_object(spec.get("template"))
    former = as_object(metadata_of(template).get("labels"))
    generated: JSONObject = {
        **dict.fromkeys(_NAMES, metadata.get("name")),
        **dict.fromkeys(_UIDS, metadata.get("uid")),
    }
    # Labels that the client set are not overruled: they make the Job invalid.
    labels: JSONObject = {**generated, **former}
    selector = as_object(spec.get("selector"))
    selected: JSONObject = {
        _UIDS[1]: metadata.get("uid"),
        **as_object(selector.get("matchLabels")),
    }
    # A Job without labels shares those of its template, these included.
    own = as_object(metadata.get("labels"))
    if not own or same(own, former):
        job = set_metadata(job, labels=labels)
    changed: JSONObject = {
        **spec,
        "selector": {**selector, "matchLabels": selected},
        "template": set_metadata(template, labels=labels),
    }
    return {**job, "spec": changed}
