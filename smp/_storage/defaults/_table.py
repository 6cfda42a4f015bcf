"""The table of the defaults of built-in kinds: smp/schema/bundled/defaults.json.

``published`` has defaults in kube-apiserver's OpenAPI schemas, by type and field: the
empty object of a struct, and the zero value of a field without omitempty, which Go
always writes. (The others, of ``+default`` markers, are what generated functions do.)

``functions`` are the rows of its defaulting functions, in the order in which they act
on a type::

    {"types": ["io.k8s.api.core.v1.Secret"], "zero": {"type": "Opaque"},
     "source": "core/v1 SetDefaults_Secret"}

``absent`` are the values of fields that are absent or null, ``zero`` those of fields
that are absent, null or the zero value of their type, which Go does not distinguish in
a field that is no pointer. ``milli`` are fields whose quantities are rounded up to
thousandths, ``rule`` names a function of ``smp._storage.defaults._rules``. ``when`` are
the values that other fields of the object must have. With ``inside`` all this is about
the object in that field: that of a Job, but not that of the template of a CronJob. A
row holds from the minor version ``since`` up to the minor version ``until``.

``source`` is the API group and version, and the Go functions: SetDefaults_* are in
pkg/apis/GROUP/VERSION/defaults.go of k8s.io/kubernetes (of k8s.io/kube-aggregator and
k8s.io/apiextensions-apiserver for their groups), Convert_* in conversion.go beside it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from smp.schema import bundle


class DefaultsRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What defaulting functions do with objects of some types."""

    types: tuple[str, ...]
    source: str
    inside: str = ""
    when: dict[str, str] = {}
    absent: dict[str, Any] = {}
    zero: dict[str, Any] = {}
    rule: str = ""
    milli: tuple[str, ...] = ()
    since: str = ""
    until: str = ""

    def holds_in(self, version: str) -> bool:
        """Tell whether the row holds in a minor version; empty: in the newest."""
        if not version:
            return not self.until
        return bundle.holds_in(version, self.since, self.until)


class DefaultTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    source: str
    published: dict[str, dict[str, Any]]
    functions: tuple[DefaultsRow, ...]


def default_table() -> DefaultTable:
    """Return the table."""
    return bundle.read_bundled_table("defaults.json", DefaultTable)


@cache
def rows_by_type() -> dict[str, list[DefaultsRow]]:
    """Return the rows of each type, in their order."""
    rows: dict[str, list[DefaultsRow]] = {}
    for row in default_table().functions:
        for name in row.types:
            rows.setdefault(name, []).append(row)
    return rows
