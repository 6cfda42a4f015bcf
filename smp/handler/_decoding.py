"""A new object as a server decodes it: of the right kind and types, without unknown
fields, still the old one.
"""

from __future__ import annotations

from smp.errors import SmpError
from smp.handler._bodies import MAX_REPORTED
from smp.handler._conformance import Conformance, Misfit
from smp.handler._drafts import Draft
from smp.handler._identity import identified, of_kind
from smp.handler._options import Options
from smp.handler._refusals import InvalidError, StatusError
from smp.handler._sharing import shared_object
from smp.paths import Path
from smp.schema.model import Schema
from smp.values import ABSENT, JSONObject
from smp.violations import Violation


def decoded(
    draft: Draft,
    old: JSONObject | None,
    schema: Schema,
    options: Options,
    warnings: list[str],
) -> JSONObject:
    """Return the new object without what a server drops; what it warns of is added to
    the warnings.

    Raises StatusError, InvalidError and ModifiedError. Go: k8s.io/apiserver,
    endpoints/handlers, applyPatchToObject and transformDecodeError. A wrong field of a
    patched object is Invalid there, in a message that quotes the object, secrets
    included; here it is the BadRequest that it is there for a whole object.
    """
    walk = Conformance(prunes=options.prune, keeps_nulls=options.custom)
    fresh = shared_object(_of_its_kind(draft.new, old, schema), old or {})
    new = walk.object(fresh, old or {}, schema.type, Path())
    if walk.misfits:
        raise _mistyped(walk.misfits[:MAX_REPORTED], new, options)
    faults = (
        *draft.faults,
        *(f'unknown field "{path}"' for path in walk.unknown[:MAX_REPORTED]),
    )
    if faults and options.field_validation == "Strict":
        prefix = "" if draft.partial else _undecodable(new)
        raise StatusError(
            f"{prefix}strict decoding error: {', '.join(faults)}",
            code="strict-decoding",
        )
    warnings += faults if options.field_validation == "Warn" else ()
    return new if old is None else identified(new, old)


def _of_its_kind(new: JSONObject, old: JSONObject | None, schema: Schema) -> JSONObject:
    if old is not None:
        return of_kind(new, old.get("apiVersion", ABSENT), old.get("kind", ABSENT))
    return of_kind(new, schema.api_version, schema.kind) if schema.kind else new


def _undecodable(obj: JSONObject) -> str:
    kind, version = (
        obj.get("kind", ""),
        str(obj.get("apiVersion", "")).rpartition("/")[2],
    )
    return f'{kind} in version "{version}" cannot be handled as a {kind}: '


def _mistyped(misfits: list[Misfit], obj: JSONObject, options: Options) -> SmpError:
    """Word values of a wrong type: as Go's decoder, or as the validation of custom
    resources.
    """
    if options.custom:
        return InvalidError(map(_violation, misfits))
    texts = (
        f"cannot unmarshal {one.found} into field {one.path} of type {one.wanted}"
        for one in misfits
    )
    return StatusError(
        f"{_undecodable(obj)}json: {', '.join(texts)}", code="wrong-type"
    )


def _violation(misfit: Misfit) -> Violation:
    message = f'Invalid value: "{misfit.found}": {misfit.path} in body must be of type {misfit.wanted}: "{misfit.found}"'
    return Violation("wrong-type", misfit.path, "FieldValueInvalid", message)
