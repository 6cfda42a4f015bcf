"""Unions (oneOf): normalizing and validating fields that exclude each other.

Profiles are the generations of the documents: ``kep1027`` (the final KEP-1027, the
default), ``kep1027-draft`` (its first draft), ``kep2019`` (the KEP of 2019), ``smd``
(structured-merge-diff up to v4.3), ``validate-only`` (Kubernetes' declarative
validation: nothing is cleared) and ``off``.
"""

from __future__ import annotations

from smp.unions._operations import (
    OnConflict,
    acts_unasked,
    contradictions,
    normalize_applied,
    normalize_unions,
    validate_unions,
    validation,
)
from smp.unions._profiles import OFF, PROFILES
from smp.unions._results import Change, Normalization

__all__ = [
    "OFF",
    "PROFILES",
    "Change",
    "Normalization",
    "OnConflict",
    "acts_unasked",
    "contradictions",
    "normalize_applied",
    "normalize_unions",
    "validate_unions",
    "validation",
]
