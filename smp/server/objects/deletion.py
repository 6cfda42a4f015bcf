"""Deletion: the options of a client, and finalizers that delay it.

The time is an argument. The server has no garbage collector and ends no processes: a
propagation policy and a grace period are checked and then have no effect. Sources:
"Finalizers" in the Kubernetes documentation, DeleteOptions in the Kubernetes API.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final, Self

import msgspec

from smp.handler import ModifiedError
from smp.paths import Path
from smp.server.errors import StatusError, invalid, raise_invalid
from smp.server.objects.metadata import (
    metadata_of,
    next_generation,
    timestamp,
    with_metadata,
)
from smp.values import ABSENT, JSON, JSONObject
from smp.violations import Violation, unsupported

_PROPAGATION_POLICIES: Final = ("Background", "Foreground", "Orphan")


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
                fields: dict[str, Any] = {**query}
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

    @property
    def is_dry_run(self) -> bool:
        """Whether the deletion is a dry run, so that nothing is stored."""
        return bool(self.dry_run)

    def check_preconditions(self, obj: JSONObject, revision: int) -> None:
        """Compare the preconditions with an object that is stored at a revision.

        Raises ModifiedError where they differ.
        """
        wanted = self.preconditions or Preconditions()
        # A uid tells whether it is the same object; a resource version, that nothing
        # in it has changed.
        for name, expected, actual in (
            ("uid", wanted.uid, metadata_of(obj).get("uid")),
            ("resourceVersion", wanted.resource_version, str(revision)),
        ):
            if expected is not None and expected != actual:
                raise ModifiedError(
                    f"the {name} in the precondition ({expected}) does not match the "
                    f"{name} of the object ({actual})"
                )


def begin_deletion(obj: JSONObject, now: datetime) -> JSONObject | None:
    """Return an object as it is stored until its finalizers are removed.

    An object without finalizers is deleted at once: None. One that is being deleted
    already is returned as it is.
    """
    metadata = metadata_of(obj)
    if not metadata.get("finalizers"):
        return None
    if "deletionTimestamp" in metadata:
        return obj
    return with_metadata(
        obj,
        deletionTimestamp=timestamp(now),
        # Immediate: this server runs no processes that would have to end first.
        deletionGracePeriodSeconds=0,
        # Controllers behave differently from now on (Go: rest.BeforeDelete).
        generation=next_generation(obj) if "generation" in metadata else ABSENT,
    )


def is_deletion_finished(obj: JSONObject) -> bool:
    """Tell whether an object is being deleted and has no finalizers left."""
    metadata = metadata_of(obj)
    return "deletionTimestamp" in metadata and not metadata.get("finalizers")
