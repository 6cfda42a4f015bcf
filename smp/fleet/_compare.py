"""The comparison of a batch: equality of bytes in Arrow, the rest row by row."""

from __future__ import annotations

from collections import deque
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from smp.comparison import NO_RULES, Rules
from smp.fleet._columns import (
    IDENTITY,
    OUTPUT_SCHEMA,
    json_column,
    require_columns,
    text_column,
)
from smp.fleet._rows import SAME, Outcome, Rows
from smp.schema.catalog import Catalog, kubernetes

# Most processes use one catalog and one set of rules.
_recent: Final[deque[Rows]] = deque(maxlen=8)


def compare(
    batch: pa.RecordBatch,
    *,
    catalog: Catalog | None = None,
    rules: Rules = NO_RULES,
    show_secrets: bool = False,
    additions: bool = False,
) -> pa.RecordBatch:
    """Compare the pairs of objects of a batch, and return a row for each, in order.

    The columns are ``cluster``, ``group``, ``version``, ``kind``, ``namespace``,
    ``name``, ``desired``, ``live`` and, if it is there, ``last_applied``; the last
    three are JSON, null where there is no such object. Without a last-applied
    configuration that of live's annotation counts. The result has the columns of
    OUTPUT_SCHEMA; see Outcome. A row that cannot be read is "unreadable" and leaves the
    others alone. ``catalog`` is by default the newest bundled Kubernetes; a kind that
    it does not have is compared by RFC 7396. The values of Secrets are masked in
    patches, unless ``show_secrets``. With ``additions`` an object that is the same but
    for fields that no manifest has, and that a manager has set who neither applies
    manifests nor is a part of Kubernetes, is "extra-fields". Raises SmpError for a
    batch without these columns.
    """
    require_columns(batch)
    known = kubernetes() if catalog is None else catalog
    rows = _rows_for(known, rules, show_secrets=show_secrets, additions=additions)
    columns = [text_column(batch, name) for name in IDENTITY]
    desired, live = json_column(batch, "desired"), json_column(batch, "live")
    # Rows with the same bytes on both sides never become Python objects; where one is
    # null, the equality is null.
    is_same = pc.fill_null(pc.equal(desired, live), fill_value=False)
    others = pc.indices_nonzero(pc.invert(is_same))
    outcomes: list[Outcome] = [SAME] * batch.num_rows
    sides = [
        column.take(others).to_pylist()
        for column in (desired, live, json_column(batch, "last_applied"))
    ]
    clusters = pc.fill_null(columns[0], "").take(others).to_pylist()
    for index, cluster, *texts in zip(
        others.to_pylist(), clusters, *sides, strict=True
    ):
        outcomes[index] = rows.outcome(*texts, cluster=cluster)
    for name in OUTPUT_SCHEMA.names[len(IDENTITY) :]:
        type_ = OUTPUT_SCHEMA.field(name).type
        values = [getattr(outcome, name) for outcome in outcomes]
        columns.append(pa.array(values, type_))
    return pa.RecordBatch.from_arrays(columns, schema=OUTPUT_SCHEMA)


def _rows_for(
    catalog: Catalog, rules: Rules, *, show_secrets: bool, additions: bool
) -> Rows:
    """Return what judges rows; with it the schemas are kept from batch to batch."""
    for rows in [*_recent]:
        if rows.is_for(catalog, rules, show_secrets=show_secrets, additions=additions):
            return rows
    rows = Rows(catalog, rules, show_secrets=show_secrets, additions=additions)
    # An engine may call this in several threads.
    _recent.append(rows)
    return rows
