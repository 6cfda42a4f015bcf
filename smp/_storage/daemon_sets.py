"""The count of the templates of a DaemonSet, which no client can change.

Go: daemonSetStrategy in k8s.io/kubernetes/pkg/registry/apps/daemonset; the internal
type has the count as a field, which apps/v1 prints as an annotation.
"""

from __future__ import annotations

import re
from typing import Final

from smp._values.api_objects import annotations_of, set_metadata
from smp._values.values import JSONObject, as_object, as_text, same

DAEMON_SETS: Final = ("apps", "daemonsets")
_COUNT: Final = "deprecated.daemonset.template.generation"
_NUMBER: Final = re.compile("[0-9]{1,18}")


def is_counted(obj: JSONObject) -> bool:
    """Tell whether an object is a DaemonSet that a server has stored."""
    is_built_in = (obj.get("apiVersion"), obj.get("kind")) == ("apps/v1", "DaemonSet")
    return is_built_in and _COUNT in annotations_of(obj)


def count_templates(old: JSONObject | None, new: JSONObject) -> JSONObject:
    """Return a DaemonSet with the count, one more where the template is another."""
    count = 1
    if old is not None:
        written = as_text(annotations_of(old).get(_COUNT))
        count = int(written) if _NUMBER.fullmatch(written) else 0
        if not same(_template(old), _template(new)):
            count += 1
    annotations = annotations_of(new)
    if annotations.get(_COUNT) == str(count):
        return new
    return set_metadata(new, annotations={**annotations, _COUNT: str(count)})


def _template(obj: JSONObject) -> JSONObject:
    return as_object(as_object(obj.get("spec")).get("template"))
