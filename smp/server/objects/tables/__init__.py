"""Tables: what ``kubectl get`` prints, as ``meta.k8s.io/v1`` Table. Pure: the time is
an argument.

Source: "Kubernetes API Concepts" ("Receiving resources as Tables").
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final, Literal, TypeAlias

from smp.server.errors import StatusError
from smp.server.objects.metadata import metadata_of
from smp.server.objects.tables._builtin import columns_of
from smp.server.objects.tables.columns import Column
from smp.values import JSON, JSONObject

__all__ = ["Column", "Include", "columns_of", "parse_include", "table"]

Include: TypeAlias = Literal["None", "Metadata", "Object"]

_INCLUDES: Final[dict[str, Include]] = {
    "": "Metadata",
    "None": "None",
    "Metadata": "Metadata",
    "Object": "Object",
}


def parse_include(text: str) -> Include:
    """Read the query parameter ``includeObject``; without it, rows carry metadata.
    Raises StatusError.
    """
    found = _INCLUDES.get(text)
    if found is None:
        raise StatusError(f"includeObject is None, Metadata or Object, not {text!r}")
    return found


def table(
    objects: Iterable[JSONObject],
    columns: Iterable[Column],
    *,
    now: datetime,
    include: Include = "Metadata",
    metadata: JSONObject | None = None,
) -> JSONObject:
    """Return the Table of objects; ``metadata`` is that of the list (resourceVersion,
    continue).
    """
    columns = tuple(columns)
    rows: list[JSON] = [
        {
            "cells": [column.cell(obj, now) for column in columns],
            **_carried(obj, include),
        }
        for obj in objects
    ]
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata or {},
        "columnDefinitions": [column.definition() for column in columns],
        "rows": rows,
    }


def _carried(obj: JSONObject, include: Include) -> JSONObject:
    if include == "Metadata":
        about: JSONObject = {
            "kind": "PartialObjectMetadata",
            "apiVersion": "meta.k8s.io/v1",
        }
        return {"object": {**about, "metadata": metadata_of(obj)}}
    return {"object": obj} if include == "Object" else {}
