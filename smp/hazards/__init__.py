"""Hazards: what is dangerous in the objects of an apply, before anything is sent.

A ``Hazard`` is a place in the last-applied configuration, the manifest, the live object
or a patch at which an apply does something else than most people expect. Each has a
stable ``code``; the table of all of them is in _hazard.py.

The modules: _hazard.py (codes, sentences, sources), _pairs.py (fields that a server
takes for one another), _objects.py (what one object has), _last_applied.py (the
last-applied configuration), _changes.py (what an apply takes away or leaves behind),
_find.py (all of it, also for kinds that are merged by list types), _repair.py (inputs
without hazards).
"""

from __future__ import annotations

from smp._values.findings import Input, Severity
from smp.hazards._find import all_directive_hazards as all_directive_hazards
from smp.hazards._find import change_hazards as change_hazards
from smp.hazards._find import custom_resource_hazards as custom_resource_hazards
from smp.hazards._find import input_hazards as input_hazards
from smp.hazards._find import patch_hazards as patch_hazards
from smp.hazards._hazard import HAZARDS, POLICIES, Hazard, HazardError, Policy
from smp.hazards._hazard import REPEATED_KEYS as REPEATED_KEYS
from smp.hazards._hazard import is_serious as is_serious
from smp.hazards._hazard import make_hazard as make_hazard
from smp.hazards._repair import MOST_ROUNDS, Repair

__all__ = [
    "HAZARDS",
    "MOST_ROUNDS",
    "POLICIES",
    "Hazard",
    "HazardError",
    "Input",
    "Policy",
    "Repair",
    "Severity",
]
