"""The rows of the bundled overlay of unions, and the types that they are about."""

from __future__ import annotations

from typing import Final

import yaml

from smp._values.values import JSON, JSONObject
from smp.schema.catalog import bundled_overlay, kubernetes
from smp.schema.model import ObjectType, Schema
from smp.schema.union_groups import UnionGroup
from tests.support.paths import DATA

CORE: Final = "io.k8s.api.core.v1."
CLEARING: Final = ("kep1027", "kep1027-draft", "kep2019", "smd")
"""The profiles that clear fields; the others only validate."""


def schema_of(name: str, version: str | None = None) -> Schema:
    """Return the schema of a type by name; it need not be a kind."""
    return Schema(f"#{name}", kubernetes(version).schema("v1", "Pod").types)


def unions_of(name: str, version: str | None = None) -> tuple[UnionGroup, ...]:
    """Return the unions of a type."""
    type_ = schema_of(name, version).type
    assert isinstance(type_, ObjectType)
    return type_.unions


def names_in(value: JSON) -> list[str]:
    """Return the names of an object, or the names that a list holds."""
    assert isinstance(value, dict | list)
    return [str(name) for name in value]


def valid_objects(*, newest: bool = False) -> list[JSONObject]:
    """Read valid objects: those of all versions, or those of the newest one only."""
    path = DATA / "unions" / ("valid_newest.yaml" if newest else "valid.yaml")
    documents = yaml.safe_load_all(path.read_text())
    return [document for document in documents if isinstance(document, dict)]


def _rows() -> list[JSONObject]:
    document = bundled_overlay()
    assert isinstance(document, dict)
    unions = document["unions"]
    assert isinstance(unions, list)
    return [union for union in unions if isinstance(union, dict)]


ROWS: Final = _rows()
TYPES: Final = sorted({name for row in ROWS for name in names_in(row["types"])})
