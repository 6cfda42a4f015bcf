"""Tables: what ``kubectl get`` prints, as ``meta.k8s.io/v1`` Table.

The time is an argument. Source: "Kubernetes API Concepts" ("Receiving resources as
Tables").
"""

from __future__ import annotations

from smp.server.objects.tables._bundled import (
    Include,
    columns_of,
    parse_include,
    scale_columns,
    table,
)
from smp.server.objects.tables.columns import Column

__all__ = ["Column", "Include", "columns_of", "parse_include", "scale_columns", "table"]
