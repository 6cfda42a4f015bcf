"""The paths in a definition that lead to a field of its objects.

Go: ValidFieldPath in k8s.io/apiextensions-apiserver, pkg/apiserver/schema/cel.
"""

from __future__ import annotations

import re
from typing import Final

from smp._values.values import JSONObject, as_object

# ``.a.b['c']``, with quotes and backslashes escaped.
_STEP: Final = re.compile(
    r"\.(?P<name>[^.\[\]]+)|\['(?P<quoted>(?:[^'\\]|\\.)*)'\]", re.DOTALL
)


def read_field_path(text: str) -> tuple[str, ...]:
    """Return the names in a path; none where it is malformed."""
    names: list[str] = []
    at = 0
    while at < len(text):
        step = _STEP.match(text, at)
        if step is None:
            return ()
        names.append(step["name"] or re.sub(r"\\(['\\])", r"\1", step["quoted"]))
        at = step.end()
    return tuple(names)


def find_field(text: str, schema: JSONObject) -> JSONObject | None:
    """Return the schema of the field at a path; None where there is none."""
    names = read_field_path(text)
    for name in names:
        properties = as_object(schema.get("properties"))
        inner = properties.get(name)
        if not properties:
            inner = schema.get("additionalProperties")
        if not isinstance(inner, dict):
            return None
        schema = inner
    return schema if names else None
