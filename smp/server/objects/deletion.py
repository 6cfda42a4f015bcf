"""Deletion: what a client asks for, and what finalizers delay. Pure: the time is an
argument.

Nothing here collects garbage or ends gracefully: a propagation policy and a grace
period are checked and then mean nothing. Sources: "Finalizers" in the Kubernetes
documentation, DeleteOptions in its API.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final, Self

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
from smp.values import JSON, JSONObject
from smp.violations import Violation, unsupported

_POLICIES: Final = ("Background", "Foreground", "Orphan")


class Preconditions(msgspec.Struct, frozen=True, rename="camel"):
    """What must be true of the object; None asks for nothing."""

    uid: str | None = None
    resource_version: str | None = None


class DeleteOptions(msgspec.Struct, frozen=True, rename="camel"):
    """What a client says of a deletion."""

    grace_period_seconds: int | None = None
    propagation_policy: str | None = None
    orphan_dependents: bool | None = None
    preconditions: Preconditions | None = None
    dry_run: tuple[str, ...] = ()

    @classmethod
    def read(cls, body: JSON, query: Mapping[str, str]) -> Self:
        """Read the options from the body of a request, or where that is null from its
        query.

        Raises StatusError for what is none, InvalidError for values that are not allowed.
        """
        try:
            options = (
                cls._of_query(query) if body is None else msgspec.convert(body, cls)
            )
        except msgspec.ValidationError as error:
            raise StatusError(f"these are no DeleteOptions: {error}") from None
        raise_invalid(options.violations())
        return options

    @classmethod
    def _of_query(cls, query: Mapping[str, str]) -> Self:
        listed = {"dryRun": [query["dryRun"]]} if "dryRun" in query else {}
        return msgspec.convert({**query, **listed}, cls, strict=False)

    def violations(self) -> Iterator[Violation]:
        """Yield what is not allowed among the values."""
        if self.propagation_policy is not None and self.orphan_dependents is not None:
            detail = "orphanDependents and propagationPolicy cannot be both set"
            yield invalid(Path(("propagationPolicy",)), self.propagation_policy, detail)
        elif self.propagation_policy not in {None, *_POLICIES}:
            yield unsupported(
                Path(("propagationPolicy",)), self.propagation_policy, _POLICIES
            )
        for word in self.dry_run:
            if word != "All":
                yield unsupported(Path(("dryRun",)), word, ["All"])

    @property
    def is_dry_run(self) -> bool:
        """Whether nothing shall be stored."""
        return bool(self.dry_run)

    def check(self, obj: JSONObject, revision: int) -> None:
        """Raise ModifiedError where the object, stored at a revision, is not the one
        that is meant.
        """
        wanted = self.preconditions or Preconditions()
        found = {"uid": metadata_of(obj).get("uid"), "resourceVersion": str(revision)}
        for name, value in {
            "uid": wanted.uid,
            "resourceVersion": wanted.resource_version,
        }.items():
            if value is not None and value != found[name]:
                problem = f"the {name} in the precondition ({value}) is not that of the object ({found[name]})"
                raise ModifiedError(problem)


def begin_deletion(obj: JSONObject, now: datetime) -> JSONObject | None:
    """Return the object as it is stored until its finalizers are gone, or None where it
    goes at once.
    """
    members = metadata_of(obj)
    if not members.get("finalizers"):
        return None
    if "deletionTimestamp" in members:
        return obj
    marks: JSONObject = {
        "deletionTimestamp": timestamp(now),
        "deletionGracePeriodSeconds": 0,
    }
    return with_metadata(obj, **marks, generation=next_generation(obj))


def is_deletion_finished(obj: JSONObject) -> bool:
    """Tell whether an object that is being deleted has no finalizer left, so that it
    goes.
    """
    members = metadata_of(obj)
    return "deletionTimestamp" in members and not members.get("finalizers")
