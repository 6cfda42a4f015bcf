"""The steps that undo a run: what each object was, and the request that restores it.

What was created is deleted, by its uid. What was changed gets its former fields back:
with the object of the run as what was applied last, and the former one as what is
wanted, that is a three-way merge into what is live now. So what others changed since
stays, and a field that they changed and that would be put back is a conflict. What was
pruned is created again, with another uid. The order is that of the run, backwards.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, TypeAlias

import msgspec

from smp import merge_patch
from smp._values import codec
from smp._values.api_objects import SERVER_METADATA, metadata_of, set_metadata
from smp._values.values import ABSENT, JSON, JSONObject, as_list, as_object, same
from smp.cluster.plan.discovery import DiscoveredResource
from smp.cluster.plan.exchange import PlannedRequest
from smp.cluster.plan.failures import BrokenConnectionError
from smp.cluster.plan.objects import Applied
from smp.cluster.plan.options import ApplyOptions
from smp.cluster.plan.sending import write_request
from smp.errors import ConflictError, SmpError
from smp.schema.model import Schema
from smp.three_way import three_way_apply

Undo: TypeAlias = Literal["delete", "restore", "replace", "create", "look"]

_MERGE: Final = "application/merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"
# Go: k8s.io/kubernetes/pkg/registry/batch/job, generateSelector.
_LABELS_OF_JOBS: Final = (
    "batch.kubernetes.io/controller-uid",
    "batch.kubernetes.io/job-name",
    "controller-uid",
    "job-name",
)


class RollbackStep(msgspec.Struct, frozen=True):
    """What undoes the change of one object.

    ``undo`` is what is done: "delete" what the run created, "restore" the former fields
    of what it changed, "replace" what it deleted and created (``force``), "create" what
    it pruned, and "look" at what a request may have changed whose answer was lost.
    ``request`` is the one that is sent where the object is as the run left it.
    """

    applied: Applied
    undo: Undo
    request: PlannedRequest


class NotRestorableError(SmpError):
    """An object that cannot be made what it was before a run."""

    default_code = "not-restorable"
    status = 409


def steps_of(
    results: Iterable[Applied], options: ApplyOptions
) -> tuple[RollbackStep, ...]:
    """Return the steps that undo what became of objects, in their order."""
    changed: dict[str, Applied] = {}
    for applied in results:
        if _undo_of(applied) is None or applied.resource is None:
            continue
        path = applied.resource.path(applied.namespace, applied.name)
        first = changed.get(path)
        # An object that is in a run twice was what the first one found.
        if first is not None:
            action = "created" if first.action == "created" else applied.action
            applied = msgspec.structs.replace(  # noqa: PLW2901  # both are one change
                applied, before=first.before, action=action
            )
        changed[path] = applied
    steps = []
    for path, applied in reversed(changed.items()):
        undo = _undo_of(applied)
        if undo == "look":
            request: PlannedRequest | None = PlannedRequest("GET", path)
        elif undo is not None:
            live = None if undo == "create" else applied.object
            request = request_of(applied, undo, live, options)
        if undo is not None and request is not None:
            steps.append(RollbackStep(applied, undo, request))
    return tuple(steps)


def _undo_of(applied: Applied) -> Undo | None:
    """Return what undoes the change of an object; None where there was none."""
    # Go has no such thing: kubectl rollout undo knows the Pod templates of workloads.
    if applied.action == "created":
        return "delete"
    if applied.action in ("pruned", "deleted"):
        return "create"
    # An object with another uid is another object.
    if applied.action == "configured":
        return "restore" if _uid(applied.before) == _uid(applied.object) else "replace"
    # A forced replacement that lost the object.
    if applied.error is not None and applied.error.code == "not-restored":
        return "create"
    # The server may have done what it was asked for.
    if isinstance(applied.error, BrokenConnectionError) and applied.error.sent:
        return "look"
    return None


def request_of(
    applied: Applied, undo: Undo, live: JSONObject | None, options: ApplyOptions
) -> PlannedRequest | None:
    """Return the request that undoes a change to a live object.

    None where there is nothing to do. Raises NotRestorableError where others have
    changed what would be restored.
    """
    resource = applied.resource
    if resource is None:
        raise AssertionError("only an object of a known kind was changed")
    path = resource.path(applied.namespace, applied.name)
    if undo == "look":
        require_as_before(applied, live)
        return None
    if undo == "create":
        if live is not None:
            raise NotRestorableError("it exists again, or is still being deleted")
        return create_request(applied, resource, options)
    # What others deleted stays deleted; only what the run created is to go anyway.
    if live is None:
        # What the run created, and others deleted, is as it was.
        if undo == "delete":
            return None
        raise NotRestorableError("it was deleted since")
    # Names are given again, uids are not (API conventions, Metadata).
    if _uid(live) != _uid(applied.object):
        raise NotRestorableError("it was deleted since, and another one was created")
    if undo == "restore":
        return _restore(applied, path, live, options)
    # Another object with this name must not be deleted (Go: metav1.Preconditions).
    body: JSONObject = {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "propagationPolicy": options.cascade,
        "preconditions": {"uid": _uid(live)},
    }
    return write_request("DELETE", path, (), codec.encode(body))


def require_as_before(applied: Applied, live: JSONObject | None) -> None:
    """Raise NotRestorableError where an object is not as before a lost answer."""
    version = as_object(as_object(live).get("metadata")).get("resourceVersion")
    former = as_object(as_object(applied.before).get("metadata"))
    if version != former.get("resourceVersion"):
        raise NotRestorableError(
            "the answer to its request was lost, and it is another one than before"
        )


def create_request(
    applied: Applied, resource: DiscoveredResource, options: ApplyOptions
) -> PlannedRequest:
    """Return the request that creates an object as it was."""
    # A create with a resourceVersion is refused (Go: rest.BeforeCreate).
    body = _bare(as_object(applied.before))
    spec = as_object(body.get("spec"))
    # A server gives a Job the selector that it makes of the new uid.
    if applied.kind == "Job" and spec.get("manualSelector") is not True:
        template = as_object(spec.get("template"))
        spec = {**spec, "template": _drop_labels_of_jobs(template)}
        spec.pop("selector", None)
        body = {**_drop_labels_of_jobs(body), "spec": spec}
    path = resource.path(applied.namespace)
    query = (("fieldManager", options.manager),)
    return write_request("POST", path, query, codec.encode(body))


def _drop_labels_of_jobs(obj: JSONObject) -> JSONObject:
    labels = as_object(metadata_of(obj).get("labels"))
    kept = {name: labels[name] for name in labels if name not in _LABELS_OF_JOBS}
    return set_metadata(obj, labels=kept)


def _restore(
    applied: Applied, path: str, live: JSONObject, options: ApplyOptions
) -> PlannedRequest | None:
    # RFC 7396: lists are replaced as a whole, so that no merge key matters.
    patch = as_object(merge_patch.diff(live, _put_back(applied, live)))
    # A write of others between the check and this request is a conflict (409).
    body = set_metadata(patch, resourceVersion=metadata_of(live).get("resourceVersion"))
    query = (("fieldManager", options.manager),)
    return write_request("PATCH", path, query, codec.encode(body), _MERGE)


def _put_back(applied: Applied, live: JSONObject) -> JSONObject:
    """Return a live object with the fields that it had before the run."""
    former, after = _bare(as_object(applied.before)), _bare(as_object(applied.object))
    # Where others have changed nothing, no merge is needed.
    if same(after, _bare(live)):
        return _add_server_fields(former, live)
    schema = applied.schema or Schema.inline("any")
    # Go: mergepatch.HasConflicts, by which kubectl apply --overwrite=false is refused.
    try:
        result = three_way_apply(
            after,
            former,
            live,
            schema,
            profile="off",
            overwrite=False,
            unknown_fields="merge",
            hazards="ignore",
        )
    except ConflictError as error:
        raise NotRestorableError(
            f"others have changed it since: {error.problem}", path=error.path
        ) from error
    if result.unmet:
        paths = ", ".join(str(path) for path in result.unmet)
        raise NotRestorableError(
            f"others have changed it since, and what cannot be put back is: {paths}"
        )
    return result.object


def _bare(obj: JSONObject) -> JSONObject:
    """Return an object without what a server sets: its metadata, and its status."""
    bare = set_metadata(obj, **dict.fromkeys(SERVER_METADATA, ABSENT))
    bare.pop("status", None)
    return bare


def _add_server_fields(former: JSONObject, live: JSONObject) -> JSONObject:
    """Return a former object with what the server has set in the live one."""
    metadata = metadata_of(live)
    server = {name: metadata[name] for name in SERVER_METADATA if name in metadata}
    merged = set_metadata(former, **server)
    if "status" in live:
        merged["status"] = live["status"]
    return merged


def managers_request(
    applied: Applied,
    path: str,
    live: JSONObject | None,
    stored: JSONObject,
    options: ApplyOptions,
) -> PlannedRequest | None:
    """Return the request that gives the managers of a restored object their fields.

    ``live`` is what was restored, None where it is created again; ``stored`` is the
    restored object: its fields have the manager of the request that put them back. None
    where the managers are those that there were.
    """
    # A patch without changes of fields keeps the managedFields that it sets (Go:
    # managedfields.FieldManager.Update).
    before, now = _entries(applied.before), _entries(stored)
    wanted = before
    if live is not None:
        # What the run has changed is as before it, and all else as it was left by the
        # others: the restored fields are those of the managers that had them.
        after = _entries(applied.object)
        wanted = {}
        for key, entry in _entries(live).items():
            if same(_fields(before.get(key)), _fields(after.get(key))):
                wanted[key] = entry
        for key, entry in before.items():
            if not same(_fields(entry), _fields(after.get(key))):
                wanted[key] = entry
    # A server without managed fields has none before and after.
    is_same = wanted.keys() == now.keys() and all(
        same(_fields(wanted[key]), _fields(now[key])) for key in now
    )
    if is_same or not before:
        return None
    version = as_object(stored.get("metadata")).get("resourceVersion")
    # Go: csaupgrade.UpgradeManagedFieldsPatch, which locks in the same way.
    patch: list[JSON] = [
        {
            "op": "replace",
            "path": "/metadata/managedFields",
            "value": [*wanted.values()],
        },
        {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
    ]
    query = (("fieldManager", options.manager),)
    return write_request("PATCH", path, query, codec.encode(patch), JSON_PATCH)


def _entries(obj: JSONObject | None) -> dict[tuple[JSON, ...], JSONObject]:
    metadata = as_object(as_object(obj).get("metadata"))
    entries = map(as_object, as_list(metadata.get("managedFields")))
    return {_key(entry): entry for entry in entries}


def _key(entry: JSONObject) -> tuple[JSON, ...]:
    # Go: managedfields.BuildManagerIdentifier, less the time.
    names = ("manager", "operation", "apiVersion", "subresource")
    return tuple(entry.get(name) for name in names)


def _fields(entry: JSONObject | None) -> JSON:
    return as_object(entry).get("fieldsV1")


def _uid(obj: JSONObject | None) -> JSON:
    return as_object(as_object(obj).get("metadata")).get("uid")
