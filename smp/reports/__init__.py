"""What an apply or a diff does to objects and why, in formats for people and programs.

One data model: an ``ObjectReport`` for each object, with its versions, its verdict and
its findings, each a ``Finding`` with a path and the place of that path in a file. One
printer for each format: text, JSON, SARIF 2.1.0, JUnit, Markdown and HTML. ``printed``
goes through the objects once, and writes as it goes where the format allows.

The modules: _model.py (the data), _printing.py (which printer has which name), and
a module for each format. Secrets are masked before, by ``Masks``.
"""

from __future__ import annotations

from smp._values.findings import Failure, Finding, Place
from smp.reports._model import ObjectReport, Verdict, finding_of_cause
from smp.reports._printing import (
    FORMATS,
    Brief,
    BriefTable,
    Composition,
    Format,
    Layout,
    Printer,
    printed,
    printer_of,
)
from smp.reports._totals import Totals
from smp.reports._totals import list_counts as list_counts
from smp.reports._totals import number as number
from smp.reports._totals import sort_counts as sort_counts

__all__ = [
    "FORMATS",
    "Brief",
    "BriefTable",
    "Composition",
    "Failure",
    "Finding",
    "Format",
    "Layout",
    "ObjectReport",
    "Place",
    "Printer",
    "Totals",
    "Verdict",
    "finding_of_cause",
    "printed",
    "printer_of",
]
