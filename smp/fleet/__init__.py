"""Drift of a fleet: which objects are not what they should be, and who changed them.

``compare`` is one pure function over Arrow batches: pairs of objects in, a verdict for
each out. ``smp drift`` runs it on one machine; ``smp.fleet.engines`` runs it on engines
for more than one. Needs the extra ``fleet``.

The modules: _rows.py (one pair; theory of operation), _equality.py (the fast
comparison), _memory.py (what is remembered of pairs), _usual.py (the usual form of
objects, decoded in one pass), _managers.py (who owns a path), _additions.py (what was
added by hand), _objects.py (texts), _compare.py (a batch), engines.py (adapters).
"""

from __future__ import annotations

from smp.fleet._compare import INPUT_COLUMNS, OUTPUT_SCHEMA, by_bytes, compare
from smp.fleet._compare import json_column as json_column
from smp.fleet._compare import text_column as text_column
from smp.fleet._rows import VERDICTS, Outcome, Verdict

__all__ = [
    "INPUT_COLUMNS",
    "OUTPUT_SCHEMA",
    "VERDICTS",
    "Outcome",
    "Verdict",
    "by_bytes",
    "compare",
]
