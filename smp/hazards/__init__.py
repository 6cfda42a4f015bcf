"""Hazards: what is dangerous in the objects of an apply, before anything is sent.

A ``Hazard`` is a place in the last-applied configuration, the manifest, the live object
or a patch at which an apply does something else than most people expect. Each has a
stable ``code``; the table of all of them is in _hazard.py.

The modules: _hazard.py (codes, sentences, sources), _objects.py (what one object has),
_find.py (all inputs of an apply).
"""

from __future__ import annotations

from smp.hazards._find import find_hazards
from smp.hazards._hazard import HAZARDS, Description, Hazard, Input, Severity

__all__ = [
    "HAZARDS",
    "Description",
    "Hazard",
    "Input",
    "Severity",
    "find_hazards",
]
