"""Client-side apply of one object, request by request as kubectl sends them.

Go: k8s.io/kubectl/pkg/cmd/apply, ApplyOptions.applyOneObject and Patcher.Patch.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from smp._values.api_objects import annotations_of, metadata_of, set_metadata
from smp._values.last_applied import (
    LAST_APPLIED,
    drop_last_applied,
    last_applied_configuration,
    with_last_applied,
)
from smp._values.values import ABSENT, JSON, JSONObject, as_object, as_text, drop_nulls
from smp.cluster.plan.discovery import DiscoveredResource
from smp.cluster.plan.exchange import Plan, PlannedRequest, Response, pause
from smp.cluster.plan.failures import ApiError, NotInTimeError
from smp.cluster.plan.objects import Action, Applied, Item
from smp.cluster.plan.options import ApplyOptions
from smp.cluster.plan.schemas import STRATEGIC, KindSchema
from smp.cluster.plan.sending import (
    JSON_TYPE,
    body_of,
    exists_after,
    get_request,
    object_of,
    send,
    warnings_of,
    write_request,
)
from smp.errors import ApplyWarning, SmpError, UnionError
from smp.paths import Path
from smp.three_way import ApplyResult, three_way_apply

MERGE: Final = "application/merge-patch+json"
# Go: maxPatchRetry, triesBeforeBackOff and patchRetryBackOffPeriod.
_RETRIES: Final = 5
_RETRIES_AT_ONCE: Final = 1
_BACKOFF: Final = 1
# Seconds, for the deletion of an object that is replaced.
_GONE_WITHIN: Final = 60
_NO_LAST_APPLIED: Final = (
    "the live object lacks the annotation {annotation}, which kubectl apply needs:"
    " nothing can be pruned from it; it is added now"
)
_DELETING: Final = (
    "the object is being deleted: changes to it may not be conducive to what is wanted"
)


class ApplyTarget(msgspec.Struct, frozen=True):
    """An object of a run, with what the server says of its kind."""

    item: Item
    resource: DiscoveredResource
    kind_schema: KindSchema
    namespace: str

    @property
    def path(self) -> str:
        """The path of the object."""
        return self.resource.path(self.namespace, self.item.name)

    def read(self) -> Plan[JSONObject | None]:
        """Get the live object; None where there is none."""
        return (yield from exists_after(get_request(self.path)))

    def became(self, action: Action, **others: Any) -> Applied:
        """Say what became of the object; ``others`` are other members of it."""
        return Applied(
            item=self.item,
            action=action,
            namespace=self.namespace,
            resource=self.resource,
            **others,
        )


class Computed(msgspec.Struct, frozen=True):
    """The patch of an apply to a live object, and all that is known of it."""

    live: JSONObject
    patch: JSON
    media_type: str
    result: ApplyResult


def compute(
    target: ApplyTarget,
    live: JSONObject,
    options: ApplyOptions,
    *,
    with_annotation: bool = True,
    defaults: bool = False,
) -> Computed:
    """Compute the patch that kubectl would send, and what it leads to.

    ``kubectl diff`` leaves the annotation out. With ``defaults`` the result is what a
    server stores. Raises what three_way_apply raises.
    """
    annotated = with_last_applied if with_annotation else drop_last_applied

    def applied(profile: str) -> ApplyResult:
        return three_way_apply(
            last_applied_configuration(live),
            annotated(target.item.object),
            live,
            target.kind_schema.schema,
            profile=profile,
            # Go: buildMergePatch, which has no such option.
            overwrite=options.overwrite or not target.kind_schema.is_strategic,
            unknown_fields="merge",
            defaults=defaults,
            hazards=options.hazards,
        )

    if options.unions == "clear":
        result = applied("kep1027")
    else:
        try:
            result = applied("validate-only")
        except UnionError:
            # kubectl sends a configuration that contradicts itself to the server.
            result = applied("off")
    # What a union excludes is cleared, where kubectl's patch is refused. A repair is
    # wanted, and its patch is another one than kubectl's as well.
    repaired = any(warning.code == "repaired" for warning in result.warnings)
    if repaired or (options.unions == "clear" and result.changes):
        return Computed(live, result.patch, result.media_type, result)
    media_type = STRATEGIC if target.kind_schema.is_strategic else MERGE
    return Computed(live, result.kubectl_patch, media_type, result)


def apply_client_side(
    target: ApplyTarget,
    live: JSONObject | None,
    options: ApplyOptions,
    known: Computed | None = None,
) -> Plan[Applied]:
    """Apply an object of which the server has ``live``, or which is new.

    ``known`` is the patch for this live object, where it was computed before. Raises
    what ``send`` and ``compute`` raise.
    """
    if live is None:
        return (yield from _create(target, options))
    for attempt in range(_RETRIES + 1):
        if known is not None and known.live is live:
            found = known
        else:
            found = compute(target, live, options)
        if not found.patch:
            return unchanged(target, found)
        if options.dry_run == "client":
            return _configure(target, live, found, found.result.object)
        query = options.query()
        body = body_of(found.patch)
        request = write_request("PATCH", target.path, query, body, found.media_type)
        try:
            answer = yield from send(request)
        except ApiError as error:
            if error.reason == "Conflict" and attempt < _RETRIES:
                # The first attempt after a conflict is made at once.
                if attempt >= _RETRIES_AT_ONCE:
                    yield from pause(_BACKOFF)
                live = yield from target.read()
                if live is None:
                    raise
                continue
            # Go: Patcher.Patch, which leaves all other errors.
            if options.force and error.reason in ("Conflict", "Invalid"):
                return (yield from _replace(target, live, options))
            raise
        warnings = warnings_of_answer(answer)
        return _configure(target, live, found, object_of(answer), warnings)
    raise AssertionError("the last attempt returns or raises")


def _configure(
    target: ApplyTarget,
    live: JSONObject,
    found: Computed,
    obj: JSONObject,
    warnings: tuple[ApplyWarning, ...] = (),
) -> Applied:
    return target.became(
        "configured",
        object=obj,
        before=live,
        patch=found.patch,
        media_type=found.media_type,
        schema=target.kind_schema.schema,
        warnings=(*warnings_of_live(live), *found.result.warnings, *warnings),
        hazards=found.result.hazards,
    )


def unchanged(target: ApplyTarget, found: Computed) -> Applied:
    """Return that nothing was sent, as there is nothing to change."""
    live = found.live
    return target.became(
        "unchanged",
        object=live,
        before=live,
        schema=target.kind_schema.schema,
        warnings=(*warnings_of_live(live), *found.result.warnings),
        hazards=found.result.hazards,
    )


def _create(target: ApplyTarget, options: ApplyOptions) -> Plan[Applied]:
    """Create the object, with the last-applied annotation."""
    modified = with_last_applied(target.item.object)
    # An update drops nulls, so a create does as well (Go: pruneNullsFromMap, after
    # the annotation was made).
    body = _drop_resource_version(as_object(drop_nulls(modified)))
    created = body
    warnings: tuple[ApplyWarning, ...] = ()
    # A dry run of the client is the object as it would be sent.
    if options.dry_run != "client":
        answer = yield from send(_create_request(target, body, options))
        created = object_of(answer)
        warnings = warnings_of_answer(answer)
    return target.became(
        "created",
        object=created,
        patch=body,
        media_type=JSON_TYPE,
        schema=target.kind_schema.schema,
        warnings=warnings,
    )


def _create_request(
    target: ApplyTarget, body: JSONObject, options: ApplyOptions
) -> PlannedRequest:
    path = target.resource.path(target.namespace)
    query = options.query()
    return write_request("POST", path, query, body_of(body))


def _drop_resource_version(obj: JSONObject) -> JSONObject:
    """Return the object without its resourceVersion (Go: resource.Helper.Create)."""
    if "resourceVersion" not in metadata_of(obj):
        return obj
    return set_metadata(obj, resourceVersion=ABSENT)


def _replace(
    target: ApplyTarget, live: JSONObject, options: ApplyOptions
) -> Plan[Applied]:
    """Delete the object, wait until it is gone, and create it (``--force``).

    The former object is created again where the new one is refused. Go:
    Patcher.deleteAndCreate.
    """
    yield from send(delete_request(target, options, named=False))
    # A finalizer may keep it for ever. kubectl looks once where it has no --timeout.
    timeout = _GONE_WITHIN if options.timeout is None else options.timeout
    yield from until_gone(target, timeout)
    modified = _drop_resource_version(with_last_applied(target.item.object))
    # From here on the object is gone, and what fails has to say so.
    try:
        answer = yield from send(_create_request(target, modified, options))
    except SmpError as error:
        former = _create_request(target, _drop_resource_version(live), options)
        try:
            yield from send(former)
        except SmpError as second:
            raise NotRestoredError(error, second) from error
        error.advice = "the former object was deleted, and created again"
        raise
    return target.became(
        "configured",
        object=object_of(answer),
        before=live,
        patch=modified,
        media_type=JSON_TYPE,
        schema=target.kind_schema.schema,
        warnings=warnings_of_answer(answer),
    )


class NotRestoredError(SmpError):
    """A forced replacement that failed, and whose former object is lost."""

    default_code = "not-restored"
    status = 500

    def __init__(self, error: SmpError, second: SmpError) -> None:
        super().__init__(
            f"the object was deleted, and could not be created: {error}; nor could the"
            f" former object be created again: {second}"
        )
        self.is_unknown: bool = any(
            getattr(each, "is_unknown", False) for each in (error, second)
        )


def delete_request(
    target: ApplyTarget, options: ApplyOptions, *, named: bool = True
) -> PlannedRequest:
    """Make the request that deletes an object (Go: asDeleteOptions).

    The dynamic client of Go names the kind of the body, others do not.
    """
    body: JSONObject = {}
    if named:
        body = {"kind": "DeleteOptions", "apiVersion": "v1"}
    body["propagationPolicy"] = options.cascade
    if options.grace_period is not None:
        body["gracePeriodSeconds"] = options.grace_period
    # A server that finds a body does not look at the query (Go: DeleteResource).
    if options.dry_run == "server":
        body["dryRun"] = ["All"]
    return write_request("DELETE", target.path, (), body_of(body))


def until_gone(target: ApplyTarget, timeout: float | None) -> Plan[None]:
    """Wait until an object does not exist.

    Raises NotInTimeError after a number of seconds, where there is one.
    """
    # Go: wait.PollUntilContextTimeout, every second.
    began = yield from pause(0)
    while (yield from target.read()) is not None:
        elapsed = yield from pause(_BACKOFF)
        if timeout is not None and elapsed - began >= timeout:
            raise NotInTimeError(
                f'{target.resource.qualified} "{target.item.name}" still exists after'
                f" {timeout:g} s",
                hint="a finalizer may keep it: see its metadata.finalizers",
            )


def warnings_of_answer(answer: Response) -> tuple[ApplyWarning, ...]:
    """Return what the server warns of."""
    return tuple(
        ApplyWarning("server", Path(), text)
        for text in dict.fromkeys(warnings_of(answer))
    )


def warnings_of_live(live: JSONObject) -> tuple[ApplyWarning, ...]:
    """Return what kubectl warns of where it sees the live object."""
    warnings = no_last_applied(live)
    # Go: WarnIfDeleting.
    if as_text(as_object(live.get("metadata")).get("deletionTimestamp")):
        return (*warnings, ApplyWarning("being-deleted", Path(), _DELETING))
    return warnings


def no_last_applied(live: JSONObject) -> tuple[ApplyWarning, ...]:
    """Warn of a live object that no apply has made."""
    # Go: warningNoLastAppliedConfigAnnotation.
    if LAST_APPLIED in annotations_of(live):
        return ()
    text = _NO_LAST_APPLIED.format(annotation=LAST_APPLIED)
    return (ApplyWarning("no-last-applied", Path(), text),)
