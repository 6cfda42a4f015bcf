"""From a request to the object to store, or to why there is none.

The order is that of a Kubernetes API server: decode, patch, check types and fields,
default, admit, normalize unions, validate (k8s.io/apiserver,
endpoints/handlers/patch.go; KEP-1027, Normalization and Validation).
"""

from __future__ import annotations

from collections.abc import Callable

from smp import codec
from smp.errors import ObjectError, SmpError
from smp.handler._bodies import bounded
from smp.handler._decoding import decoded
from smp.handler._drafts import COMMON, Draft, patched, whole
from smp.handler._identity import about
from smp.handler._options import DEFAULT, Admission, Options
from smp.handler._outcomes import Accepted, Outcome
from smp.handler._refusals import to_status
from smp.handler._validation import valid
from smp.schema.model import Schema
from smp.unions import Normalization
from smp.values import JSONObject, same, type_name


def patch(
    stored: bytes | JSONObject,
    body: bytes,
    media_type: str,
    schema: Schema | None,
    options: Options = DEFAULT,
) -> Outcome:
    """Patch a stored object: ``media_type`` is the Content-Type of the body, ``schema``
    that of the stored object.

    Without a schema (None: a kind that nobody described) strategic patches are not
    accepted, and only what all objects share is checked. Raises DocumentError and
    ObjectError where the stored object is none, and what a hook raises that is no
    SmpError; everything else is an outcome.
    """
    old, known = _stored(stored), schema or COMMON
    return _outcome(
        old, lambda: patched(old, body, media_type, known, options), known, options
    )


def replace(
    stored: bytes | JSONObject,
    body: bytes,
    schema: Schema | None,
    options: Options = DEFAULT,
) -> Outcome:
    """Replace a stored object (PUT). Raises as ``patch`` does."""
    return _outcome(
        _stored(stored), lambda: whole(body, options), schema or COMMON, options
    )


def create(body: bytes, schema: Schema | None, options: Options = DEFAULT) -> Outcome:
    """Create an object (POST); its name, and what a server adds to it, are the
    caller's. Raises as ``patch`` does.
    """
    return _outcome(None, lambda: whole(body, options), schema or COMMON, options)


def _stored(stored: bytes | JSONObject) -> JSONObject:
    old = codec.decode(stored) if isinstance(stored, bytes) else stored
    if not isinstance(old, dict):
        raise ObjectError(
            f"the stored object is an object, not {type_name(old)}",
            code="not-an-object",
        )
    return old


def _outcome(
    old: JSONObject | None, make: Callable[[], Draft], schema: Schema, options: Options
) -> Outcome:
    warnings: list[str] = []
    subject = old or {}
    try:
        draft = bounded(make)()
        subject = old or draft.new
        new = bounded(decoded)(draft, old, schema, options, warnings)
        # Hooks are called here, where nothing of what they raise is taken for ours.
        if options.default:
            new = options.default(new)
        if options.admit:
            new = options.admit(
                Admission(
                    "CREATE" if old is None else "UPDATE", old, new, options.dry_run
                )
            )
        normalized = bounded(valid)(new, old, draft.patch, schema, options)
        return bounded(_accepted)(normalized, old, warnings, options)
    except SmpError as error:
        return to_status(error, **about(subject, options.resource), warnings=warnings)


def _accepted(
    normalized: Normalization,
    old: JSONObject | None,
    warnings: list[str],
    options: Options,
) -> Accepted:
    changed = old is None or not same(normalized.object, old)
    return Accepted(
        normalized.object if old is None or changed else old,
        changed=changed,
        warnings=(*warnings, *map(str, normalized.warnings)),
        changes=normalized.changes,
        dry_run=options.dry_run,
        code=201 if old is None else 200,
    )
