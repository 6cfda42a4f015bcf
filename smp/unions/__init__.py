"""Unions (oneOf): normalizing and validating fields that exclude each other.

Profiles are the generations of the documents: ``kep1027`` (the final KEP-1027, the
default), ``kep1027-draft`` (its first draft), ``kep2019`` (the KEP of 2019), ``smd``
(structured-merge-diff up to v4.3), ``validate-only`` (as API servers of today do:
nothing is cleared) and ``off``.
"""

from __future__ import annotations

from smp.unions._normalize import Change, Normalization, NormalizationRule
from smp.unions._normalize import raise_problems as raise_problems
from smp.unions._operations import (
    CONTRADICTION_INTEREST,
    NORMALIZATION_INTERESTS,
    VALIDATION_INTERESTS,
    OnConflict,
    normalize_unions,
    validate_unions,
)
from smp.unions._operations import acts_unasked as acts_unasked
from smp.unions._operations import contradictions as contradictions
from smp.unions._operations import drop_unchosen_defaults as drop_unchosen_defaults
from smp.unions._profiles import MANY, OFF, PROFILES, Rule
from smp.unions._profiles import profile_named as profile_named
from smp.unions._servers import stock_server_warnings as stock_server_warnings
from smp.unions._validate import ContradictionRule, ValidationRule

__all__ = [
    "CONTRADICTION_INTEREST",
    "MANY",
    "NORMALIZATION_INTERESTS",
    "OFF",
    "PROFILES",
    "VALIDATION_INTERESTS",
    "Change",
    "ContradictionRule",
    "Normalization",
    "NormalizationRule",
    "OnConflict",
    "Rule",
    "ValidationRule",
    "normalize_unions",
    "validate_unions",
]
