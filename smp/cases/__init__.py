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
    expectations,
    last_applied,
    parse,
    patches,
)
from smp.cases._run import CaseOutcome, Difference, run, schema_of
from smp.cases._servers import changed_by, refused_by
from smp.cases._steps import in_order, step_time, with_results
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
    "changed_by",
    "corrected",
    "expectations",
    "in_order",
    "last_applied",
    "parse",
    "patches",
    "refused_by",
    "run",
    "schema_of",
    "step_time",
    "updated_text",
    "with_results",
]
