"""Spec cases: what an engine does with its inputs, as data.

The format is described in spec_cases/README.md. This package turns text into outcomes
and text; the pytest plugin and the command read and write the files.
"""

from smp.cases._case import (
    APPLY_OPERATIONS,
    SCHEMA_NAME,
    SERVER_OPERATIONS,
    STEPS,
    SUFFIXES,
    UNION_OPERATIONS,
    Failure,
    Result,
    SpecCase,
    parse,
)
from smp.cases._case import expectations as expectations
from smp.cases._case import in_order as in_order
from smp.cases._case import last_applied as last_applied
from smp.cases._case import patches as patches
from smp.cases._case import step_time as step_time
from smp.cases._case import with_results as with_results
from smp.cases._run import CaseOutcome, Difference, run
from smp.cases._run import find_changes_of as find_changes_of
from smp.cases._run import schema_of as schema_of
from smp.cases._run import word_refusal as word_refusal
from smp.cases._update import corrected, updated_text

__all__ = [
    "APPLY_OPERATIONS",
    "SCHEMA_NAME",
    "SERVER_OPERATIONS",
    "STEPS",
    "SUFFIXES",
    "UNION_OPERATIONS",
    "CaseOutcome",
    "Difference",
    "Failure",
    "Result",
    "SpecCase",
    "corrected",
    "parse",
    "run",
    "updated_text",
]
