"""A server-side apply that chooses another member of a union, which a server refuses.

kubectl and other clients stop at the refusal. Here a request is sent first with which
the server accepts the apply: it makes the former member one that this manager has
applied, so that the apply removes it (``smp.managed_fields.predict_refusal``).
"""

from __future__ import annotations

from typing import Final

from smp._values.values import JSONObject
from smp.cluster.plan.client_side import ApplyTarget
from smp.cluster.plan.exchange import Plan, PlannedRequest
from smp.cluster.plan.failures import ApiError
from smp.cluster.plan.options import ApplyOptions
from smp.cluster.plan.sending import body_of, send, send_for_object, write_request
from smp.errors import ApplyWarning
from smp.managed_fields import PatchRequest, Remark, Remedy, predict_refusal
from smp.schema.model import AnyType

_INVALID: Final = 422
_RETRIES: Final = 5
_NO_SCHEMA: Final = (
    "clearing unions has no effect: the server does not describe the kind"
)
_NO_REQUEST: Final = (
    "clearing unions has no effect: no request was found with which the server accepts"
    " the apply"
)
_OTHERS: Final = (
    "clearing unions has no effect: the server refuses it not for its unions alone"
)
_OWNED: Final = "{remedy}: --force-conflicts (force_conflicts=True) does that"
_SENT: Final = (
    "the request before the apply was sent, and only changed managedFields: {request}"
)


def is_refusal(error: ApiError, options: ApplyOptions) -> bool:
    """Tell whether a server refuses an object, and unions are to be cleared."""
    return error.status == _INVALID and options.unions == "clear"


def remark_on(
    target: ApplyTarget, live: JSONObject | None, options: ApplyOptions, error: ApiError
) -> Remark:
    """Return what is known of a refusal, with its remedy.

    Raises the error, with the reason as its advice, where unions are not what it is
    for, where there is no remedy, and where that takes what another one applies without
    being forced to.
    """
    schema = target.kind_schema.schema.with_unknown_fields("merge")
    if live is None or isinstance(schema.type, AnyType):
        error.advice = "" if live is None else _NO_SCHEMA
        raise error
    remark = predict_refusal(
        live,
        target.item.object,
        schema,
        manager=options.manager,
        force=options.force_conflicts,
    )
    if remark is None:
        raise error
    # Values are printed by Go, so that details are compared.
    details = [cause.message.rpartition(": ")[2] for cause in error.causes]
    if not all(detail in remark.answer for detail in details):
        error.advice = _OTHERS
    elif remark.remedy is None:
        error.advice = _NO_REQUEST
    elif remark.remedy.force and not options.force_conflicts:
        error.advice = _OWNED.format(remedy=remark.remedy)
    else:
        return remark
    raise error


def apply_cleared(
    target: ApplyTarget, options: ApplyOptions, request: PlannedRequest, error: ApiError
) -> Plan[tuple[JSONObject, tuple[PatchRequest, ...], ApplyWarning]]:
    """Send what makes an apply pass that was refused, and the apply again.

    Returns the object, the requests, and a warning that names them. In a dry run the
    object is the predicted one: nothing of the first request is stored. Raises
    the error of the refusal, and what ``send`` raises.
    """
    for attempt in range(_RETRIES):
        live = yield from target.read()
        remark = remark_on(target, live, options, error)
        remedy = remark.remedy
        if remedy is None:
            raise error
        requests = remedy.requests(target.path)
        first = requests[0]
        try:
            yield from send(
                write_request(
                    first.method,
                    first.path,
                    options.query(),
                    body_of(first.body),
                    first.media_type,
                )
            )
        except ApiError as refusal:
            # It replaces resourceVersion, so a write of another is a conflict.
            if refusal.reason == "Conflict" and attempt < _RETRIES - 1:
                continue
            raise
        warning = _warning(remark, remedy, options)
        if options.dry_run == "server":
            return remedy.object, requests, warning
        try:
            stored = yield from send_for_object(request)
        except ApiError as refusal:
            refusal.advice = _SENT.format(request=first)
            raise
        return stored, requests, warning
    raise AssertionError("the last attempt returns or raises")


def _warning(remark: Remark, remedy: Remedy, options: ApplyOptions) -> ApplyWarning:
    text = f"the server {remark.answer}; {remedy}"
    if options.dry_run == "server":
        text += "; the object is predicted, as nothing of that request is stored"
    return ApplyWarning("union-cleared", remark.path, text)
