"""Deletion: the options of a client, and finalizers and grace that delay it.

The time is an argument. The server has no garbage collector and ends no processes: an
object that waits for one stays until a client removes its finalizer, or deletes the Pod
with a grace period of 0. Sources: "Finalizers" in the Kubernetes documentation,
DeleteOptions in the Kubernetes API; Go: k8s.io/apiserver, registry/rest/delete.go and
registry/generic/registry/store.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final, Self

import msgspec

from smp._values.api_objects import metadata_of, set_metadata
from smp._values.times import timestamp
from smp._values.values import ABSENT, JSON, Absent, JSONObject, as_list, as_object
from smp.paths import Path
from smp.schema.resources import Resource
from smp.server.errors import StatusError, invalid, raise_invalid
from smp.server.objects.metadata import next_generation
from smp.violations import Violation, unsupported

_PROPAGATION_POLICIES: Final = ("Background", "Foreground", "Orphan")


# The finalizers that tell a garbage collector what to do.
_GARBAGE: Final = {"Orphan": "orphan", "Foreground": "foregroundDeletion"}
# Go: DefaultGarbageCollectionPolicy of jobStrategy and rcStrategy.
_ORPHANED: Final = {("batch", "jobs"), ("", "replicationcontrollers")}
_JOB_WARNING: Final = (
    "child pods are preserved by default when jobs are deleted; set"
    " propagationPolicy=Background to remove them or set propagationPolicy=Orphan to"
    " suppress this warning"
)
_RECREATED: Final = "deleted and then recreated"
_MODIFIED: Final = "modified"


class PreconditionError(StatusError):
    """An object that is not the one that is to be deleted (Go: rest.BeforeDelete)."""

    default_code = "precondition-failed"
    status = 409
    reason: ClassVar[str] = "Conflict"
    form: ClassVar[str] = "Operation cannot be fulfilled on {kind} {name}: {problem}"


class Preconditions(msgspec.Struct, frozen=True, rename="camel"):
    """What must be true of the object; None means no condition."""

    uid: str | None = None
    resource_version: str | None = None


class DeleteOptions(msgspec.Struct, frozen=True, rename="camel"):
    """The options of a client for a deletion; None where the client states nothing."""

    grace_period_seconds: int | None = None
    propagation_policy: str | None = None
    orphan_dependents: bool | None = None
    preconditions: Preconditions | None = None
    dry_run: tuple[str, ...] = ()
    api_version: str = "v1"
    kind: str = "DeleteOptions"

    @classmethod
    def read(cls, body: JSON, query: Mapping[str, str]) -> Self:
        """Read the options from the body of a request or, without a body, its query.

        Raises StatusError for a body that is not DeleteOptions, and InvalidError for
        values that are not allowed.
        """
        try:
            if body is not None:
                options = msgspec.convert(body, cls)
            else:
                # In a query all values are strings, so the conversion is lenient, and
                # the one list in DeleteOptions is a single value.
                names = cls.__struct_encode_fields__
                fields: dict[str, Any] = {
                    name: query[name] for name in names if name in query
                }
                fields.pop("preconditions", None)
                if "dryRun" in fields:
                    fields["dryRun"] = [fields["dryRun"]]
                options = msgspec.convert(fields, cls, strict=False)
        except msgspec.ValidationError as error:
            raise StatusError(f"invalid DeleteOptions: {error}") from None
        if options.kind != "DeleteOptions":
            raise StatusError(
                f'no kind "{options.kind}" is registered for version'
                f' "{options.api_version}"'
            )
        raise_invalid(options.violations())
        return options

    def violations(self) -> Iterator[Violation]:
        """Yield the values that are not allowed (Go: ValidateDeleteOptions)."""
        policy = self.propagation_policy
        # orphanDependents is the deprecated form of the policy "Orphan".
        path = Path(("propagationPolicy",))
        if policy is not None and self.orphan_dependents is not None:
            yield invalid(
                path,
                policy,
                "orphanDependents and propagationPolicy cannot be both set",
            )
        elif policy is not None and policy not in _PROPAGATION_POLICIES:
            yield unsupported(path, policy, _PROPAGATION_POLICIES)
        # "All" runs every stage but the last, which stores the object.
        for value in self.dry_run:
            if value != "All":
                yield unsupported(Path(("dryRun",)), value, ["All"])

    def warnings(self, resource: Resource) -> tuple[str, ...]:
        """Return what to warn of (Go: jobStrategy.WarningsOnDelete)."""
        is_open = self.propagation_policy is None and self.orphan_dependents is None
        return (_JOB_WARNING,) if is_open and resource.key == ("batch", "jobs") else ()

    @property
    def stated(self) -> JSONObject:
        """The options that the client states, without apiVersion and kind."""
        options = as_object(msgspec.to_builtins(self))
        return {
            name: value
            for name, value in options.items()
            if value and name not in {"apiVersion", "kind"}
        }

    @property
    def is_dry_run(self) -> bool:
        """Whether the deletion is a dry run, so that nothing is stored."""
        return bool(self.dry_run)

    def check_preconditions(self, obj: JSONObject, revision: int) -> None:
        """Compare the preconditions with an object that is stored at a revision.

        Raises PreconditionError where they differ.
        """
        wanted = self.preconditions or Preconditions()
        # A uid tells whether it is the same object; a resource version, that nothing
        # in it has changed.
        for name, expected, actual, otherwise in (
            ("UID", wanted.uid, metadata_of(obj).get("uid"), _RECREATED),
            ("ResourceVersion", wanted.resource_version, str(revision), _MODIFIED),
        ):
            if expected is not None and expected != actual:
                raise PreconditionError(
                    f"the {name} in the precondition ({expected}) does not match the "
                    f"{name} in record ({actual}). The object might have been "
                    f"{otherwise}"
                )


def begin_deletion(
    obj: JSONObject, options: DeleteOptions, resource: Resource, now: datetime
) -> JSONObject | None:
    """Return an object as it is stored until nothing delays its deletion any more.

    An object that nothing delays is deleted at once: None. One that is being deleted
    already is returned as it is, unless its grace period is shortened.
    """
    metadata = metadata_of(obj)
    grace = _grace_period(obj, options, resource)
    generation: JSON | Absent = metadata.get("generation", ABSENT)
    if "deletionTimestamp" in metadata:
        current = metadata.get("deletionGracePeriodSeconds")
        is_shorter = isinstance(current, int) and grace < current
        if options.grace_period_seconds is None or not is_shorter:
            return obj
        finalizers = [*as_list(metadata.get("finalizers"))]
    else:
        finalizers = _finalizers(obj, options, resource)
        if "generation" in metadata:
            # Controllers behave differently from now on (Go: rest.BeforeDelete).
            generation = next_generation(obj)
    if not finalizers and not grace:
        return None
    return set_metadata(
        obj,
        deletionTimestamp=timestamp(now + timedelta(seconds=grace)),
        deletionGracePeriodSeconds=grace,
        finalizers=finalizers or ABSENT,
        generation=generation,
    )


def _grace_period(obj: JSONObject, options: DeleteOptions, resource: Resource) -> int:
    """Return the seconds that an object has to end (Go: podStrategy)."""
    spec, status = as_object(obj.get("spec")), as_object(obj.get("status"))
    # The kubelet of a node ends a Pod; nothing runs of one that is not on a node.
    has_ended = status.get("phase") in ("Succeeded", "Failed")
    if resource.key != ("", "pods") or not spec.get("nodeName") or has_ended:
        return 0
    period: JSON = options.grace_period_seconds
    if period is None:
        period = spec.get("terminationGracePeriodSeconds", 0)
    # Go: a negative period is the shortest one.
    return max(period, 1) if isinstance(period, int) and period else 0


def _finalizers(
    obj: JSONObject, options: DeleteOptions, resource: Resource
) -> list[JSON]:
    """Return the finalizers of an object that is deleted.

    Go: deletionFinalizersForGarbageCollection, shouldOrphanDependents and
    shouldDeleteDependents.
    """
    before = [*as_list(metadata_of(obj).get("finalizers"))]
    if resource.plural == "events" and not resource.custom:
        return before
    policy = options.propagation_policy
    if options.orphan_dependents is not None:
        policy = "Orphan" if options.orphan_dependents else "Background"
    if policy is None:
        kept = [each for each in _GARBAGE.values() if each in before]
        is_orphaned = resource.key in _ORPHANED and not kept
        chosen = [_GARBAGE["Orphan"]] if is_orphaned else kept[:1]
    else:
        chosen = [_GARBAGE[policy]] if policy in _GARBAGE else []
    others = [each for each in before if each not in _GARBAGE.values()]
    return [*others, *chosen]


def is_deletion_finished(obj: JSONObject) -> bool:
    """Tell whether an object is being deleted and has no finalizers left."""
    metadata = metadata_of(obj)
    grace = metadata.get("deletionGracePeriodSeconds")
    return bool(
        "deletionTimestamp" in metadata and not metadata.get("finalizers") and not grace
    )
