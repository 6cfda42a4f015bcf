"""What a request leads to: an object to store, or a refusal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from smp import codec
from smp.handler._refusals import Refused
from smp.unions import Change
from smp.values import JSONObject


@dataclass(frozen=True, slots=True)
class Accepted:
    """An accepted request.

    ``object`` is to be stored where it ``changed`` and this is no ``dry_run``; where
    nothing changed it is the stored object itself. ``changes`` are what the
    normalization of unions cleared, ``warnings`` texts for the client, ``code`` the
    HTTP status: 200, or 201 for a create.
    """

    object: JSONObject
    changed: bool
    warnings: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    dry_run: bool = False
    code: int = 200

    @property
    def body(self) -> bytes:
        """The object as JSON."""
        return codec.encode(self.object)


Outcome: TypeAlias = Accepted | Refused
