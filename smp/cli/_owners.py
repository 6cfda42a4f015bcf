"""An owner of fields, for a reader and for another program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smp._values.values import JSON
from smp.cli._errors import printable

if TYPE_CHECKING:
    from smp.managed_fields import ApplyConflict, Owner


def owner_text(owner: Owner | ApplyConflict) -> str:
    """Name an owner for a reader: ``kubelet (Update status)``."""
    how = f"{owner.operation} {owner.subresource}".rstrip()
    return printable(f"{owner.manager} ({how})")


def owner_record(owner: Owner | ApplyConflict) -> dict[str, JSON]:
    """Return an owner, for another program."""
    return {
        "manager": owner.manager,
        "operation": owner.operation,
        "apiVersion": owner.api_version,
        "subresource": owner.subresource,
        "time": owner.time,
    }
