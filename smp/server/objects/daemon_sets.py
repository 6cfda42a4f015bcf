"""The number of templates that a DaemonSet has had, in an annotation."""

from __future__ import annotations

import re
from typing import Final

from smp._values.values import JSONObject, as_object, as_text, same
from smp.server.objects.fields import value_at
from smp.server.objects.metadata import metadata_of, set_metadata

DAEMON_SETS: Final = ("apps", "daemonsets")
_COUNT: Final = "deprecated.daemonset.template.generation"
_NUMBER: Final = re.compile("[0-9]{1,18}")
_TEMPLATE: Final = ("spec", "template")


def count(old: JSONObject | None, new: JSONObject) -> JSONObject:
    """Return a DaemonSet with the count, which no client can change.

    Go: daemonSetStrategy in k8s.io/kubernetes/pkg/registry/apps/daemonset; the internal
    type has the count as a field, which apps/v1 prints as an annotation.
    """
    count = 1
    if old is not None:
        annotations = as_object(metadata_of(old).get("annotations"))
        written = as_text(annotations.get(_COUNT))
        count = int(written) if _NUMBER.fullmatch(written) else 0
        if not same(value_at(old, _TEMPLATE), value_at(new, _TEMPLATE)):
            count += 1
    annotations = as_object(metadata_of(new).get("annotations"))
    if annotations.get(_COUNT) == str(count):
        return new
    return set_metadata(new, annotations={**annotations, _COUNT: str(count)})
