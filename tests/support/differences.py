"""The places where two documents differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from smp._values.values import ABSENT, JSON, Absent, same


class Difference(NamedTuple):
    """A place where the object that was stored is not the predicted one."""

    path: tuple[str, ...]
    predicted: JSON | Absent
    stored: JSON | Absent


def differences(
    predicted: JSON | Absent, stored: JSON | Absent, path: tuple[str, ...] = ()
) -> Iterator[Difference]:
    if isinstance(predicted, dict) and isinstance(stored, dict):
        for name in {**predicted, **stored}:
            yield from differences(
                predicted.get(name, ABSENT), stored.get(name, ABSENT), (*path, name)
            )
    elif (
        isinstance(predicted, list)
        and isinstance(stored, list)
        and len(predicted) == len(stored)
    ):
        for at, (one, other) in enumerate(zip(predicted, stored, strict=True)):
            yield from differences(one, other, (*path, str(at)))
    elif not same(predicted, stored):
        yield Difference(path, predicted, stored)
