"""Situations of an apply: what there is, what others did, and what is applied."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec

from smp.documents import read_one
from tests.support.paths import DATA

SITUATIONS: Final = DATA / "cluster" / "situations.yaml"


class Situation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Manifests that are applied one after the other, with changes of others between.

    Each step has one member: ``apply`` (manifests, with the ``flags`` of kubectl and
    the ``options`` of Cluster.apply), ``patch`` (a strategic merge patch that another
    client sends to the object at a path), or ``post`` (an object that it creates).
    """

    name: str
    steps: list[dict[str, Any]]


def situations(path: Path = SITUATIONS) -> list[Situation]:
    """Read all situations of a file."""
    value = read_one(path.read_bytes(), source=str(path)).value
    return msgspec.convert(value, list[Situation])
