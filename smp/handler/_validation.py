"""What a server allows in an object: its unions, normalized, and its enums."""

from __future__ import annotations

from smp.enums import validate_enums
from smp.handler._options import Options
from smp.handler._refusals import InvalidError
from smp.schema.model import Schema
from smp.unions import Normalization, normalize_unions, validate_unions
from smp.values import JSONObject
from smp.violations import Violation


def valid(
    new: JSONObject,
    old: JSONObject | None,
    patch: JSONObject | None,
    schema: Schema,
    options: Options,
) -> Normalization:
    """Normalize the unions of an object, and refuse what is not allowed in it; what was
    wrong before may stay.

    Raises InvalidError, and UnionError for what a profile refuses. KEP-1027,
    Normalization and Validation: after admission. Go: k8s.io/apimachinery, api/validate
    (ratcheting).
    """
    if new is old:
        return Normalization(new)
    normalized = normalize_unions(
        old, new, schema, profile=options.profile, patch=patch
    )
    unions = validate_unions(
        old, normalized.object, schema, profile=options.profile, ratchet=True
    )
    violations = (*unions, *_enum_violations(old, normalized.object, schema))
    if violations:
        raise InvalidError(violations)
    return normalized


def _enum_violations(
    old: JSONObject | None, new: JSONObject, schema: Schema
) -> tuple[Violation, ...]:
    found = validate_enums(new, schema)
    if not found or old is None:
        return found
    tolerated = {str(violation) for violation in validate_enums(old, schema)}
    return tuple(violation for violation in found if str(violation) not in tolerated)
