"""The table of the rules: smp/schema/bundled/validation.json.

It is a list of blocks, each with the ``types`` that its ``rules`` hold for, and the Go
function that it follows (``source``). The rules of a type are in the order in which
that function finds what is wrong, which is the order of the causes of a Status. A rule
without a name only says when the objects in its field are judged::

    {"types": ["io.k8s.api.core.v1.Container"],
     "source": "Go: pkg/apis/core/validation/validation.go, validateContainerCommon",
     "rules": [
       {"field": "name", "rule": "required"},
       {"field": "name", "rule": "format", "format": "dns-label"},
       {"field": "image", "rule": "required"},
       {"field": "ports"}]}

``field`` is a path to the value that is judged, empty for the object itself. ``rule``
names a function of ``smp.validation._checks``, which says what the other members mean.
``message`` are the words of the cause after its reason. ``reads`` are other fields that
decide: a rule is asked where one of these, or the value, changed. ``when`` are the
values that a field of the object must have, ``unless`` those that it must not have; an
absent field has the value "". ``reported`` is the field of the cause where it is
another one, ``clusterIPs.0`` for the first element of a list. An update has to leave
the fields in ``same`` as they were, for where they change a server drops what depended
on them. ``outside`` are beginnings of the names of types: nothing that these hold is
judged by the rule. With ``top`` the object is judged only as a member of the whole
object: its own metadata, not that of a template. With ``core`` the rule is one of
kube-apiserver's own kinds, and custom resources have none. A text has to match the
``pattern``, in place of a ``format``. With ``forbidden`` the cause of a value that is
not valid is Forbidden. ``since`` is the minor version of Kubernetes in which the
feature of the rule is on.
"""

from __future__ import annotations

from functools import cache
from typing import Literal, TypeAlias

import msgspec

from smp.schema.bundle import read_bundled_table

Scalar: TypeAlias = str | int | bool


class ValidationRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One rule of the table."""

    field: str
    rule: str = ""
    message: str = ""
    reads: tuple[str, ...] = ()
    when: dict[str, tuple[Scalar, ...]] = {}
    unless: dict[str, tuple[Scalar, ...]] = {}
    reported: str = ""
    same: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    top: bool = False
    core: bool = False
    since: str = ""
    minimum: int | None = None
    maximum: int | None = None
    zero: Literal["", "unset", "judged", "pointer"] = ""
    values: tuple[str, ...] = ()
    format: str = ""
    pattern: str = ""
    each: bool = False
    forbidden: bool = False
    key: str = ""


class Block(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rules of some types."""

    types: tuple[str, ...]
    source: str
    rules: tuple[ValidationRow, ...]


@cache
def rows_by_type() -> dict[str, tuple[ValidationRow, ...]]:
    """Return the rules of each type, in their order."""
    rows: dict[str, tuple[ValidationRow, ...]] = {}
    for block in read_bundled_table("validation.json", tuple[Block, ...]):
        for name in block.types:
            rows[name] = (*rows.get(name, ()), *block.rules)
    return rows
