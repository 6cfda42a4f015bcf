"""What an API server would reject, as data that validators return."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Final, Literal, TypeAlias

import msgspec

from smp.paths import Element, Path
from smp.values import ABSENT, JSON, Absent, JSONObject, printed, shown

Reason: TypeAlias = Literal[
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueNotFound",
    "FieldValueNotSupported",
    "FieldValueRequired",
    "FieldValueTooLong",
    "FieldValueTooMany",
    "FieldValueTypeInvalid",
]


_MOST_LISTED: Final = 256


class Violation(msgspec.Struct, frozen=True):
    """One value that breaks a rule of its schema.

    ``code`` is stable and kebab-case; ``reason`` and ``message`` are what a server puts
    into the causes of a Status (Go: field.Error). ``warning`` marks what the caller
    asked to have tolerated. ``value`` is ``ABSENT`` where a value is missing.
    """

    code: str
    path: Path
    reason: Reason
    message: str
    value: JSON | Absent = ABSENT
    warning: bool = False

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path.steps else ""
        return f"{where}{self.message}"

    def below(self, path: Path) -> Violation:
        """Return the violation of a value that stands below a path."""
        whole = Path((*path.steps, *self.path.steps))
        return msgspec.structs.replace(self, path=whole)

    @property
    def cause(self) -> JSONObject:
        """The violation as a cause of a Status."""
        # A cause names an element of a list by its index (Go: field.Path.Index).
        steps = [
            step.index if isinstance(step, Element) else step
            for step in self.path.steps
        ]
        field = str(Path(tuple(steps)))
        return {"reason": self.reason, "message": self.message, "field": field}


def unsupported(
    path: Path,
    value: JSON,
    supported: Iterable[JSON],
    *,
    or_any: Iterable[str] = (),
    warning: bool = False,
) -> Violation:
    """Make the violation of a value that is not supported (Go: field.NotSupported).

    All values of the JSON types ``or_any`` are supported as well. Of very many values
    the first ones are listed: a list may have as many wrong elements.
    """
    is_scalar = not isinstance(value, str | dict | list)
    message = (
        f"Unsupported value: {printed(value) if is_scalar else quoted_json(value)}"
    )
    listed = islice(supported, _MOST_LISTED)
    names = [quoted_json(printed(allowed)) for allowed in listed]
    names += [f"any {json_type}" for json_type in or_any]
    listing = ", ".join(names)
    if listing:
        message += f": supported values: {listing}"
    return Violation(
        "unsupported-value", path, "FieldValueNotSupported", message, value, warning
    )


def quoted_json(value: JSON) -> str:
    """Print a value as JSON; one that is none is shown for a human."""
    import json  # noqa: PLC0415  # most objects have no violation to print

    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (RecursionError, TypeError, ValueError):
        # An integer of thousands of digits, a set.
        return shown(value)
