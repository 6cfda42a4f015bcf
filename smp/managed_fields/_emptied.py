"""Structs, maps and lists of a custom resource that an apply empties.

An apply removes all that an object or a list has, and its configuration has it empty:
the merge makes it null (Go: typed.RemoveItems), which the validation of the definition
refuses where it is not nullable.
"""

from __future__ import annotations

from collections.abc import Iterator

from smp._values.values import ABSENT, JSONObject, as_object, as_text
from smp.paths import Path
from smp.violations import Violation


def find_emptied_violations(
    applied: JSONObject, merged: JSONObject, structural: JSONObject, path: Path
) -> Iterator[Violation]:
    """Yield what a server refuses of what an apply has emptied.

    ``structural`` is the schema of the definition at the place of both objects, which
    are the configuration and what the merge made of it.
    """
    properties = as_object(structural.get("properties"))
    others = structural.get("additionalProperties")
    for name, value in applied.items():
        after = merged.get(name, ABSENT)
        schema = as_object(properties.get(name, others))
        if isinstance(value, dict) and isinstance(after, dict):
            yield from find_emptied_violations(value, after, schema, path / name)
            continue
        is_empty = isinstance(value, dict | list) and not value
        # A null is what has no type, and a default takes the place of one.
        is_allowed = schema.get("nullable") is True or "default" in schema
        if is_empty and after is None and "type" in schema and not is_allowed:
            here = path / name
            # Go: kube-openapi, validation/errors.InvalidType.
            message = (
                f'Invalid value: "null": {here.by_index} in body must be of type'
                f' {as_text(schema["type"])}: "null"'
            )
            yield Violation("wrong-type", here, "FieldValueTypeInvalid", message)
