"""What normalizing unions returns."""

from __future__ import annotations

from typing import Any

import msgspec

from smp.errors import ApplyWarning
from smp.paths import Path


class Change(msgspec.Struct, frozen=True):
    """One field that the normalization wrote or cleared.

    ``rule`` is the row of the profile's table, ``why`` a sentence that stands alone.
    """

    path: Path
    rule: str
    why: str
    old: Any
    new: Any


class Normalization(msgspec.Struct, frozen=True, gc=False):
    """The normalized object, what was changed in it, and what to warn of."""

    object: dict[str, Any]
    changes: tuple[Change, ...] = ()
    warnings: tuple[ApplyWarning, ...] = ()
