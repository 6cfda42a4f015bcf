"""Preconditions: what a computed patch must not change.

Go: mergepatch.PreconditionFunc, RequireKeyUnchanged and RequireMetadataKeyUnchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from smp._values.values import ABSENT, JSON, Absent, JSONObject
from smp.errors import PreconditionError

Precondition: TypeAlias = Callable[[JSONObject], bool]


def unchanged(*path: str) -> Precondition:
    """Make the precondition that a patch leaves the field at a path of names alone.

    Its docstring, such as ``metadata.name must not change``, becomes the message of
    the PreconditionError.
    """

    def holds(patch: JSONObject) -> bool:
        value: JSON | Absent = patch
        for name in path:
            value = value.get(name, ABSENT) if isinstance(value, dict) else ABSENT
        return value is ABSENT

    holds.__doc__ = f"{'.'.join(path)} must not change"
    return holds


# The three that kubectl apply passes to CreateThreeWayMergePatch.
KUBECTL_PRECONDITIONS: Final = (
    unchanged("apiVersion"),
    unchanged("kind"),
    unchanged("metadata", "name"),
)


def check_preconditions(
    patch: JSONObject, preconditions: Iterable[Precondition]
) -> None:
    """Raise PreconditionError for the first precondition that the patch breaks."""
    for holds in preconditions:
        if not holds(patch):
            message = getattr(holds, "__doc__", None)
            raise PreconditionError(message or "precondition failed for the patch")
