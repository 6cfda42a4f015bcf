"""Three-way apply: compute the patch, apply it, and say what it did not achieve.

This is what ``kubectl apply`` and an API server do together, on three objects and
without either.
"""

from __future__ import annotations

from smp._values.last_applied import ApplyInputs as ApplyInputs
from smp.three_way._operations import apply_inputs as apply_inputs  # of plain JSON
from smp.three_way._operations import find_hazards, three_way_apply
from smp.three_way._phases import ApplyResult
from smp.three_way._phases import ThreeWayOptions as ThreeWayOptions

__all__ = ["ApplyResult", "find_hazards", "three_way_apply"]
