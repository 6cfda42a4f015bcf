"""The Table of a list of objects."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final, Literal, TypeAlias

from smp._values.values import JSON, JSONObject
from smp.server.errors import StatusError
from smp.server.objects.metadata import metadata_of
from smp.server.objects.tables.columns import Column

Include: TypeAlias = Literal["None", "Metadata", "Object"]

# What of each object a table has beside the cells; "" is an absent parameter.
_INCLUDES: Final[dict[str, Include]] = {
    "": "Metadata",
    "None": "None",
    "Metadata": "Metadata",
    "Object": "Object",
}


def parse_include(text: str) -> Include:
    """Read the query parameter ``includeObject``; the default is Metadata.

    Raises StatusError.
    """
    include = _INCLUDES.get(text)
    if include is None:
        raise StatusError(
            f"includeObject must be None, Metadata or Object, not {text!r}"
        )
    return include


def table(
    objects: Iterable[JSONObject],
    columns: Iterable[Column],
    *,
    now: datetime,
    include: Include = "Metadata",
    metadata: JSONObject | None = None,
) -> JSONObject:
    """Return the Table of objects.

    ``metadata`` is that of the list (resourceVersion, continue).
    """
    columns = tuple(columns)
    rows: list[JSON] = []
    for obj in objects:
        row: JSONObject = {"cells": [column.cell(obj, now) for column in columns]}
        # kubectl sorts rows by the metadata, and shows labels and namespaces of it.
        if include == "Object":
            row["object"] = obj
        elif include == "Metadata":
            row["object"] = {
                "kind": "PartialObjectMetadata",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": metadata_of(obj),
            }
        rows.append(row)
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata or {},
        "columnDefinitions": [column.definition() for column in columns],
        "rows": rows,
    }
