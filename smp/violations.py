"""What an API server would reject, as data: returned by validators, never raised by
them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec

from smp.paths import Element, Path, Step
from smp.values import ABSENT, JSON, Absent, JSONObject, printed

Reason: TypeAlias = Literal[
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueNotSupported",
    "FieldValueRequired",
    "FieldValueTooLong",
    "FieldValueTooMany",
    "FieldValueTypeInvalid",
]


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

    @property
    def cause(self) -> JSONObject:
        """The violation as a cause of a Status, which names an element of a list by its
        index.
        """
        field = str(Path(tuple(map(_indexed, self.path.steps))))
        return {"reason": self.reason, "message": self.message, "field": field}


def unsupported(
    path: Path, value: JSON, supported: Iterable[JSON], *, warning: bool = False
) -> Violation:
    """Make the violation of a value that is none of those supported (Go:
    field.NotSupported).
    """
    listing = ", ".join(_quoted(printed(one)) for one in supported)
    message = f"Unsupported value: {_shown(value)}" + (
        f": supported values: {listing}" if listing else ""
    )
    return Violation(
        "unsupported-value", path, "FieldValueNotSupported", message, value, warning
    )


def _indexed(step: Step) -> Step:
    return step.index if isinstance(step, Element) else step


def _shown(value: JSON) -> str:
    return _quoted(value) if isinstance(value, str | dict | list) else printed(value)


def _quoted(value: JSON) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)
