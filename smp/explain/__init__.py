"""Why a field of an object did (not) change by an apply, and what would change it.

``explain_apply`` runs a three-way apply and goes along five objects side by side: the
last-applied configuration, the manifest, the live object, the result, and what a server
would have made of the manifest alone. Each path at which they differ gets one
``Cause``. A cause may have a ``Remedy``, an edit of the inputs or another way to apply
them; it is only there if the engine, run again on the edited inputs or in that way,
makes the field what the remedy says.

The modules: _sides.py (one path in all objects, and the paths below it), _judgement.py
(which cause a path has), _ways.py (what each way to apply leads to), _remedies.py
(edits, and their proof), _explain.py and _explanation.py (the walk), _codes.py (the
codes of some paths).
"""

from __future__ import annotations

from smp.explain._causes import (
    ABOUT_LISTS,
    CAUSES,
    Cause,
    Edit,
    Evidence,
    Reason,
    Remedy,
    Way,
)
from smp.explain._codes import codes_at as codes_at
from smp.explain._explain import explain_apply
from smp.explain._sides import SideBySide
from smp.explain._sides import side_by_side as side_by_side

__all__ = [
    "ABOUT_LISTS",
    "CAUSES",
    "Cause",
    "Edit",
    "Evidence",
    "Reason",
    "Remedy",
    "SideBySide",
    "Way",
    "explain_apply",
]
