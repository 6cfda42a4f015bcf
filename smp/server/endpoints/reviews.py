"""Resources whose objects are answered and not stored: reviews, component statuses.

Every client that is answered at all may do everything: it is one user, with the rights
of the group system:masters.
"""

from __future__ import annotations

import secrets
from datetime import UTC, datetime, timedelta
from hmac import compare_digest
from typing import Final

from starlette.responses import Response

from smp import handler
from smp._values import codec
from smp._values.api_objects import metadata_of
from smp._values.times import timestamp
from smp._values.values import JSONObject, as_object, as_text, value_at
from smp.errors import SmpError
from smp.handler import AnsweredError, NotFoundError, Refused, StatusError
from smp.paths import Path
from smp.server.admission import USER
from smp.server.endpoints.bodies import read_object
from smp.server.endpoints.call import Call
from smp.server.endpoints.lists import Selected, answer_list, object_response
from smp.server.errors import InvalidError, invalid
from smp.server.registry.envelope import unpack
from smp.server.registry.objects import find
from smp.server.store import Stored

_CREATED: Final = 201
_AUDIENCE: Final = "https://kubernetes.default.svc"
_EVERYTHING: Final[JSONObject] = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    "incomplete": False,
}
# What a kube-apiserver calls its first store.
_COMPONENT: Final = "etcd-0"
_DEFAULT_SECONDS: Final = 3600
_MIN_SECONDS: Final = 600


async def self_subject(call: Call) -> Response:
    """Answer who the client is."""
    review = await _read(call)
    metadata: JSONObject = {"creationTimestamp": timestamp(datetime.now(UTC))}
    status: JSONObject = {"userInfo": USER}
    return await _answer(call, {**review, "metadata": metadata, "status": status})


async def access(call: Call) -> Response:
    """Answer that something may be done.

    Go: pkg/apis/authorization/validation.
    """
    review = await _read(call)
    if call.target.namespace:
        spec, path = as_object(review.get("spec")), Path(("spec",))
        asked = as_object(spec.get("resourceAttributes"))
        if asked.get("namespace", "") != call.target.namespace:
            path = path / "resourceAttributes" / "namespace"
            text = as_text(asked.get("namespace"))
            raise InvalidError([invalid(path, text, "must match metadata.namespace")])
    return await _answer(call, {**review, "status": {"allowed": True}})


async def rules(call: Call) -> Response:
    """Answer what may be done: everything."""
    review = await _read(call)
    if not value_at(review, ("spec", "namespace")):
        raise StatusError("no namespace on request")
    return await _answer(call, {**review, "status": _EVERYTHING})


async def token(call: Call) -> Response:
    """Answer whose token something is."""
    review = await _read(call)
    # compare_digest takes the same time for every wrong token.
    asked = as_text(value_at(review, ("spec", "token")))
    if not asked:
        raise StatusError("token is required for TokenReview in authentication")
    known = call.state.settings.token
    status: JSONObject = {"user": {}, "error": "invalid bearer token"}
    if known and compare_digest(asked.encode(), known.encode()):
        status = {"authenticated": True, "user": USER, "audiences": [_AUDIENCE]}
    return await _answer(call, {**review, "status": status})


async def service_account_token(call: Call) -> Response:
    """Answer a token of a service account, which opens nothing here."""
    account = unpack(await find(call.state, call.target), call.target.resource)
    review = await _read(call)
    spec = as_object(review.get("spec"))
    seconds = spec.get("expirationSeconds") or _DEFAULT_SECONDS
    # Go: pkg/apis/authentication/validation, ValidateTokenRequest.
    if not isinstance(seconds, int) or seconds < _MIN_SECONDS:
        path = Path(("spec", "expirationSeconds"))
        detail = "may not specify a duration less than 10 minutes"
        raise InvalidError([invalid(path, seconds, detail)])
    bound = as_object(spec.get("boundObjectRef"))
    kind = as_text(bound.get("apiVersion")), as_text(bound.get("kind"))
    if bound and kind not in (("v1", "Pod"), ("v1", "Node"), ("v1", "Secret")):
        named = f"{kind[0]}, Kind={kind[1]}"
        raise StatusError(f"cannot bind token to object of type {named}")
    metadata = metadata_of(account)
    now = datetime.now(UTC)
    expires = now + timedelta(seconds=seconds)
    audiences = spec.get("audiences") or [_AUDIENCE]
    # The metadata of the answer are those of the account (Go: TokenREST.Create).
    names = ("name", "namespace", "uid")
    answer: JSONObject = {
        **review,
        "metadata": {
            **{name: metadata[name] for name in names if name in metadata},
            "creationTimestamp": timestamp(now),
        },
        "spec": {
            "audiences": audiences,
            "expirationSeconds": seconds,
            "boundObjectRef": spec.get("boundObjectRef"),
        },
        "status": {
            "token": secrets.token_urlsafe(),
            "expirationTimestamp": timestamp(expires),
        },
    }
    return await _answer(call, answer)


async def component_statuses(call: Call) -> Response:
    """Answer whether the store can be read: the one component, or all of them."""
    component = codec.encode(await _component(call))
    if not call.target.name:
        listed = (Stored(_COMPONENT, component, 0),)
        return await answer_list(call, Selected(listed, {}))
    if call.target.name != _COMPONENT:
        raise NotFoundError("object not found")
    return await object_response(call, component)


async def _component(call: Call) -> JSONObject:
    condition: JSONObject = {"type": "Healthy", "status": "True", "message": "ok"}
    # The revision is read from the store itself, as for /readyz.
    try:
        await call.state.store.revision()
    except SmpError as error:
        condition = {"type": "Healthy", "status": "False", "message": str(error)}
    return {
        "apiVersion": "v1",
        "kind": "ComponentStatus",
        "metadata": {"name": _COMPONENT},
        "conditions": [condition],
    }


async def _read(call: Call) -> JSONObject:
    """Read what is asked; unions of the request are checked, as in any object.

    Raises AnsweredError where it is refused.
    """
    body = await read_object(call)
    # A TokenRequest is a kind of its own, below a ServiceAccount.
    resource = call.target.resource
    reviewed = resource.subresources.get(call.target.subresource, resource)
    schema = call.state.kinds.catalog.schema(reviewed.api_version, reviewed.kind)
    # The fields of what is not stored have no owners, and it has no defaults.
    options = handler.Options(
        profile=call.options.profile,
        validation=True,
        field_validation=call.options.field_validation,
        limits=call.options.limits,
    )
    seconds = call.seconds_to_write(len(body))
    outcome = await call.work(seconds, handler.create, body, schema, options)
    if isinstance(outcome, Refused):
        raise AnsweredError(as_object(codec.decode(outcome.body)))
    return outcome.object


async def _answer(call: Call, review: JSONObject) -> Response:
    review = {"metadata": {}, **review}
    return await object_response(call, codec.encode(review), code=_CREATED)
