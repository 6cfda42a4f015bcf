"""Nulls that an apply leaves in a custom resource.

The merge makes null what an apply empties, whoever has it empty (Go:
typed.RemoveItems), and takes a null of the configuration. Other requests are decoded
afterwards, which drops nulls; what an apply has merged is not, so that the validation
of the definition refuses each where it is not nullable.
"""

from __future__ import annotations

from collections.abc import Iterator

from smp._values.values import JSON, JSONObject, as_object, as_text
from smp.paths import Path
from smp.violations import Violation


def find_null_violations(
    merged: JSON, structural: JSONObject, path: Path
) -> Iterator[Violation]:
    """Yield what a server refuses of the nulls in a merged object.

    ``structural`` is the schema of the definition at its place.
    """
    if isinstance(merged, dict):
        properties = as_object(structural.get("properties"))
        others = structural.get("additionalProperties")
        for name, value in merged.items():
            below = as_object(properties.get(name, others))
            yield from find_null_violations(value, below, path / name)
    elif isinstance(merged, list):
        items = as_object(structural.get("items"))
        for index, element in enumerate(merged):
            yield from find_null_violations(element, items, path / index)
    elif merged is None and "type" in structural:
        # A null is what has no type, and a default takes the place of one.
        if structural.get("nullable") is True or "default" in structural:
            return
        # Go: kube-openapi, validation/errors.InvalidType.
        message = (
            f'Invalid value: "null": {path.by_index} in body must be of type'
            f' {as_text(structural["type"])}: "null"'
        )
        yield Violation("wrong-type", path, "FieldValueTypeInvalid", message)
