"""What normalizing unions returns."""

from __future__ import annotations

import msgspec

from smp.errors import ApplyWarning
from smp.paths import Path
from smp.values import JSON, Absent, JSONObject


class Change(msgspec.Struct, frozen=True):
    """One field that the normalization wrote or cleared.

    ``rule`` is the row of the profile's table, ``why`` a sentence that stands alone.
    """

    path: Path
    rule: str
    why: str
    old: JSON | Absent
    new: JSON | Absent


class Normalization(msgspec.Struct, frozen=True, gc=False):
    """The normalized object, what was changed in it, and what to warn of."""

    object: JSONObject
    changes: tuple[Change, ...] = ()
    warnings: tuple[ApplyWarning, ...] = ()
