"""Unions (oneOf): normalizing and validating objects whose fields exclude each other.

Profiles are the generations of the documents: ``kep1027`` (the final KEP-1027, the
default), ``kep1027-draft`` (its first draft), ``kep2019`` (the KEP of 2019), ``smd``
(structured-merge-diff up to v4.3), ``validate-only`` (Kubernetes' declarative
validation: nothing is cleared) and ``off``.
"""

from __future__ import annotations

from smp.errors import DepthError, ObjectError
from smp.paths import Path
from smp.schema.model import Schema
from smp.schema.reach import reach
from smp.unions._normalize import (
    Change,
    Normalization,
    OnConflict,
    has_unions,
    normalize,
)
from smp.unions._profiles import OFF, PROFILES, profile_named
from smp.unions._validate import DESIRED, Validation
from smp.values import ABSENT, JSONObject, type_name
from smp.violations import Violation

__all__ = [
    "OFF",
    "PROFILES",
    "Change",
    "Normalization",
    "contradictions",
    "normalize_unions",
    "validate_unions",
]


def normalize_unions(
    old: JSONObject | None,
    new: JSONObject,
    schema: Schema,
    *,
    profile: str = "kep1027",
    patch: JSONObject | None = None,
    on_conflict: OnConflict = "error",
) -> Normalization:
    """Clear the members of unions that an update left behind, as a profile decides.

    ``old`` is the object before the update, None for a create; ``new`` is it after
    patch and defaulting. With ``patch``, clearing what the patch itself sets or retains
    is a UnionConflictError, unless ``on_conflict`` is ``clear``. Raises UnionError for
    what a profile refuses (all at once), SchemaError for unions that contradict
    themselves. KEP-1027, Normalization.
    """
    _require_object(new)
    try:
        return normalize(
            old,
            new,
            schema,
            profile_named(profile),
            ABSENT if patch is None else patch,
            on_conflict,
        )
    except RecursionError:
        raise DepthError("the object is nested too deeply") from None


def validate_unions(
    old: JSONObject | None,
    new: JSONObject,
    schema: Schema,
    *,
    profile: str = "kep1027",
    ratchet: bool = False,
) -> tuple[Violation, ...]:
    """Return what a server would reject in the unions of a normalized object.

    With ``ratchet``, what was already wrong in ``old`` for the same reason is
    tolerated. KEP-1027, Validation.
    """
    _require_object(new)
    chosen = profile_named(profile)
    validation = Validation(chosen, ratchet, reach(schema.types, has_unions))
    if chosen is OFF or not validation.reaches(schema.type):
        return ()
    try:
        return tuple(
            validation.object(ABSENT if old is None else old, new, schema.type, Path())
        )
    except RecursionError:
        raise DepthError("the object is nested too deeply") from None


def contradictions(desired: JSONObject, schema: Schema) -> tuple[Violation, ...]:
    """Return where a desired configuration sets two members of a union, or one that its
    discriminator excludes.

    Unlike an object, a configuration may leave out what a server fills in. Go:
    structured-merge-diff v4.3, NormalizeUnionsApply.
    """
    _require_object(desired)
    validation = Validation(
        DESIRED, ratchet=False, reaches=reach(schema.types, has_unions)
    )
    if not validation.reaches(schema.type):
        return ()
    try:
        return tuple(validation.object(ABSENT, desired, schema.type, Path()))
    except RecursionError:
        raise DepthError("the object is nested too deeply") from None


def _require_object(value: object) -> None:
    if type(value) is not dict:
        raise ObjectError(
            f"an object is expected, not {type_name(value)}", code="not-an-object"
        )
