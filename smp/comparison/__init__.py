"""Comparing two objects for a verdict: which of their differences matter.

A manifest and the object that a server stores for it always differ. ``compare`` tells
the differences that count from those that were set aside, each with its reason: a
normalizer (_normalizers.py), which takes values for equal that are written differently,
or a rule (_rules.py), which a user writes. Nothing is set aside without being counted.

A comparison decides a verdict. No patch is ever computed from what a normalizer takes
for equal.

The modules: _compare.py and _walk.py (theory of operation), _meanings.py (which
normalizer a type asks for), _comparison.py (what is found), _rules_file.py (rules from
YAML; rules.schema.json is the JSON Schema of such a file).
"""

from __future__ import annotations

from smp.comparison._compare import NO_RULES, compare, compared, is_stored
from smp.comparison._comparison import Comparison, Difference, SetAside
from smp.comparison._normalizers import NORMALIZERS, key_of_value
from smp.comparison._rules import Rule, Rules
from smp.comparison._rules_file import SCHEMA_NAME, read_rules

__all__ = [
    "NORMALIZERS",
    "NO_RULES",
    "SCHEMA_NAME",
    "Comparison",
    "Difference",
    "Rule",
    "Rules",
    "SetAside",
    "compare",
    "compared",
    "is_stored",
    "key_of_value",
    "read_rules",
]
