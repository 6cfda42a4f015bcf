"""What a request leads to: an accepted object, or a Status that says why not.

Words and shapes are those of Go's k8s.io/apimachinery, pkg/api/errors and
pkg/util/validation/field, because kubectl prints some of them by their reason: an
Invalid by its causes only, never by its message.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Final, TypeAlias

import msgspec

from smp._values import codec
from smp._values.api_objects import make_status
from smp._values.values import JSONObject, as_object, as_text
from smp.errors import SmpError, UnionError
from smp.managed_fields import ApplyConflictError
from smp.unions import Change
from smp.violations import Violation


class StatusError(SmpError):
    """A request that is refused: a BadRequest, unless a subclass says otherwise.

    ``reason`` is that of the Status, ``form`` its message.
    """

    default_code = "bad-request"
    reason: ClassVar[str] = "BadRequest"
    form: ClassVar[str] = "{problem}"


class ForbiddenError(StatusError):
    """A request that is not allowed."""

    default_code = "forbidden"
    status = 403
    reason = "Forbidden"
    form = "{resource} {name} is forbidden: {problem}"


class NotFoundError(StatusError):
    """An object, or a kind, that does not exist."""

    default_code = "not-found"
    status = 404
    reason = "NotFound"
    form = "{resource} {name} not found"


class MethodNotAllowedError(StatusError):
    """A method that an endpoint does not support."""

    default_code = "method-not-allowed"
    status = 405
    reason = "MethodNotAllowed"


class AlreadyExistsError(StatusError):
    """An object of a name that exists."""

    default_code = "already-exists"
    status = 409
    reason = "AlreadyExists"
    form = "{resource} {name} already exists"


# Go: k8s.io/apiserver, registry/generic/registry, OptimisticLockErrorMsg.
_MODIFIED: Final = (
    "the object has been modified; please apply your changes to the latest version and"
    " try again"
)


class ModifiedError(StatusError):
    """An object that was changed, or replaced by another, since it was read."""

    default_code = "modified"
    status = 409
    reason = "Conflict"
    form = "Operation cannot be fulfilled on {resource} {name}: {problem}"

    def __init__(self, problem: str = "") -> None:
        super().__init__(problem or _MODIFIED)


class TooLargeError(StatusError):
    """A body, or a patch, over the limits."""

    default_code = "too-large"
    status = 413
    reason = "RequestEntityTooLarge"
    form = "Request entity too large: {problem}"


class UnsupportedMediaTypeError(StatusError):
    """A patch of a type that is not accepted."""

    default_code = "unsupported-media-type"
    status = 415
    reason = "UnsupportedMediaType"


class InvalidError(StatusError):
    """An object with values that are not allowed.

    ``violations`` become the causes of its Status.
    """

    default_code = "invalid"
    status = 422
    reason = "Invalid"
    form = "{kind} {name} is invalid: {problem}"

    def __init__(self, violations: Iterable[Violation]) -> None:
        self.violations: tuple[Violation, ...] = tuple(violations)
        super().__init__("; ".join([str(violation) for violation in self.violations]))


class VersionRequiredError(InvalidError):
    """An update without a resourceVersion, of a resource that needs one.

    Its message names the resource, and not the kind (Go: registry.Store.Update).
    """

    form = "{resource} {name} is invalid: {problem}"


class InvalidOptionsError(InvalidError):
    """A request whose query has values that are not allowed.

    ``options`` is what its Status calls them: ``PatchOptions``.
    """

    def __init__(self, violations: Iterable[Violation], options: str) -> None:
        super().__init__(violations)
        self.options = options


class InternalFailureError(StatusError):
    """A failure that is none of the client (Go: apierrors.NewInternalError)."""

    default_code = "internal-error"
    status = 500
    reason = "InternalError"
    form = "Internal error occurred: {problem}"


class UnclassifiedError(StatusError):
    """A failure that an API server has no Status for, and answers without a reason."""

    default_code = "unclassified"
    status = 500
    reason = ""


class NotTypedError(UnclassifiedError):
    """A configuration to apply that is not what its schema says."""

    default_code = "not-typed"


class AnsweredError(StatusError):
    """A request that is refused with a Status that is given, as by a webhook."""

    default_code = "denied"

    def __init__(self, answer: JSONObject) -> None:
        super().__init__(as_text(answer.get("message")))
        self.answer = answer
        code = answer.get("code")
        self.status: int = code if isinstance(code, int) else 500


class Refused(msgspec.Struct, frozen=True):
    """A refused request: the Status to answer, with its HTTP code, and warnings."""

    status: dict[str, Any]
    code: int
    warnings: tuple[str, ...] = ()

    @property
    def body(self) -> bytes:
        """The Status as JSON."""
        return codec.encode(self.status)


class Accepted:
    """An accepted request.

    ``object`` is to be stored where it ``changed`` and this is no ``dry_run``; where
    nothing changed it is the stored object itself. ``body`` is the object as JSON.
    ``changes`` are what the normalization of unions cleared, ``warnings`` texts for the
    client, ``code`` the HTTP status: 200, or 201 for a create. It ``rewrites`` what a
    server takes for a change, although the stored object does not show it.
    """

    __slots__ = (
        "_object",
        "_tree",
        "changed",
        "changes",
        "code",
        "dry_run",
        "rewrites",
        "warnings",
    )

    def __init__(
        self,
        object: dict[str, Any],  # noqa: A002  (the attribute's name)
        *,
        changed: bool,
        warnings: tuple[str, ...] = (),
        changes: tuple[Change, ...] = (),
        dry_run: bool = False,
        code: int = 200,
    ) -> None:
        self._object: JSONObject | None = object
        self._tree = object
        self.changed: bool = changed
        self.warnings: tuple[str, ...] = warnings
        self.changes: tuple[Change, ...] = changes
        self.dry_run: bool = dry_run
        self.rewrites: bool = False
        self.code: int = code

    def leave_undecoded(self) -> None:
        """Note that the object is decoded only where the request looked at it."""
        self._object = None

    def with_object(self, stored: dict[str, Any]) -> Accepted:
        """Return the outcome with the object as it was stored."""
        return Accepted(
            stored,
            changed=self.changed,
            warnings=self.warnings,
            changes=self.changes,
            dry_run=self.dry_run,
            code=self.code,
        )

    @property
    def object(self) -> dict[str, Any]:
        """The object to store."""
        if self._object is None:
            self._object = as_object(codec.decode(self.body))
        return self._object

    @property
    def body(self) -> bytes:
        """The object as JSON."""
        return codec.encode(self._tree)

    def __repr__(self) -> str:
        return (
            f"Accepted(changed={self.changed}, code={self.code},"
            f" dry_run={self.dry_run}, warnings={self.warnings!r},"
            f" object={self.object!r})"
        )


Outcome: TypeAlias = Accepted | Refused


# The reason of an error that is not a StatusError (Go: metav1.StatusReason).
_REASONS: Final = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    408: "Timeout",
    409: "Conflict",
    410: "Expired",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}
_FORMS: Final = {409: ModifiedError.form, 422: InvalidError.form}
_NAMES_A_RESOURCE: Final = frozenset(
    {"Forbidden", "NotFound", "MethodNotAllowed", "AlreadyExists", "Conflict"}
)


def to_status(
    problem: SmpError | Iterable[Violation],
    *,
    name: str = "",
    group: str = "",
    kind: str = "",
    resource: str = "",
    warnings: Iterable[str] = (),
) -> Refused:
    """Word an error, or violations, as the Status that an API server would answer.

    ``resource`` is the plural name without its group. A StatusError has its ``reason``
    and the ``form`` of its message; another error is worded by its status. A Status
    with the reason Invalid always has causes.
    """
    error = problem if isinstance(problem, SmpError) else InvalidError(problem)
    if isinstance(error, ApplyConflictError):
        return _apply_conflict(error, warnings)
    if isinstance(error, AnsweredError):
        return Refused(error.answer, error.status, tuple(warnings))
    reason, form = _form_of(error)
    if isinstance(error, InvalidOptionsError):
        # What is invalid is not the object (Go: metav1.GroupName).
        name, group, kind = "", "meta.k8s.io", error.options
    names_resource = reason in _NAMES_A_RESOURCE
    causes = _causes(error) if reason == "Invalid" else []
    if form == InternalFailureError.form:
        # Go: apierrors.NewInternalError, whose details name no object.
        name, group = "", ""
        causes = [{"message": error.problem}]
        text = error.problem
    elif causes:
        text = _join_causes(causes)
    else:
        text = error.problem if names_resource else str(error)
    message = form.format(
        problem=text,
        name=json.dumps(name, ensure_ascii=False),
        kind=_qualify(kind, group),
        resource=_qualify(resource, group),
    )
    # Go: metav1.StatusDetails.Kind is the resource in some answers, the kind in others.
    details_kind = resource if names_resource or "{resource}" in form else ""
    if "{kind}" in form:
        details_kind = kind
    status = make_status("Failure", message=message)
    if reason:
        status["reason"] = reason
    if details_kind or causes:
        details: JSONObject = {"name": name, "group": group, "kind": details_kind}
        details["causes"] = [*causes]
        # Go's encoder leaves out what is empty (omitempty).
        status["details"] = {key: value for key, value in details.items() if value}
    status["code"] = error.status
    return Refused(status, error.status, tuple(warnings))


def _join_causes(causes: list[JSONObject]) -> str:
    """Return each cause once, and several in brackets (Go: ErrorList.ToAggregate)."""
    texts = [f"{cause['field']}: {cause['message']}" for cause in causes]
    texts = [*dict.fromkeys(texts)]
    return f"[{', '.join(texts)}]" if len(texts) > 1 else texts[0]


def _form_of(error: SmpError) -> tuple[str, str]:
    # kubectl prints an Invalid by its causes, and most others by their message.
    if isinstance(error, StatusError):
        return error.reason, error.form
    reason = _REASONS.get(error.status, "Unknown")
    return reason, _FORMS.get(error.status, "{problem}")


def _apply_conflict(error: ApplyConflictError, warnings: Iterable[str]) -> Refused:
    """Word conflicts of an apply (Go: apierrors.NewApplyConflict)."""
    status: JSONObject = {
        **make_status("Failure", message=error.problem),
        "reason": ModifiedError.reason,
        "details": {"causes": [conflict.cause for conflict in error.conflicts]},
        "code": error.status,
    }
    return Refused(status, error.status, tuple(warnings))


def _qualify(name: str, group: str) -> str:
    return f"{name}.{group}" if group else name


def _causes(error: SmpError) -> list[JSONObject]:
    if isinstance(error, InvalidError) and error.violations:
        return [violation.cause for violation in error.violations]
    parts = error.problems if isinstance(error, UnionError) else (error,)
    causes: list[JSONObject] = []
    for part in parts:
        # The hint of a union error is an option of the caller, of no use to a client.
        with_hint = part.hint and not isinstance(part, UnionError)
        message = f"{part.problem} ({part.hint})" if with_hint else part.problem
        cause = Violation(part.code, part.path, "FieldValueInvalid", message).cause
        # A problem of the whole object is one of the patch.
        causes.append(
            {**cause, "field": cause["field"] if part.path.steps else "patch"}
        )
    return causes


# Go: k8s.io/apiserver, endpoints/filters/warning.go: the characters that all warnings
# may have; beyond it each is cut.
_MOST_CHARACTERS: Final = 4 * 1024
_MOST_CHARACTERS_EACH: Final = 256
# Python's http.client refuses an answer of more than 100 headers.
_MOST_WARNINGS: Final = 64


def warning_headers(warnings: Iterable[str]) -> Iterator[bytes]:
    """Yield the value of a Warning header (RFC 7234, section 5.5) for each text.

    Each text comes once, in UTF-8, and too many are cut off.
    """
    texts = [
        "".join([char for char in text if char.isprintable()]) for text in warnings
    ]
    texts = [text for text in dict.fromkeys(texts) if text][:_MOST_WARNINGS]
    if sum(len(text) for text in texts) > _MOST_CHARACTERS:
        most = _MOST_CHARACTERS // _MOST_CHARACTERS_EACH
        texts = [text[:_MOST_CHARACTERS_EACH] for text in texts[:most]]
    for text in texts:
        quoted = text.replace("\\", "\\\\").replace('"', '\\"')
        yield f'299 - "{quoted}"'.encode()
