"""Errors of a store, each with the HTTP status that an API server answers."""

from __future__ import annotations

from smp.errors import SmpError


class StoreError(SmpError):
    """A store that cannot be reached, read or written; the write was not executed."""

    default_code = "store-unavailable"
    status = 503


class ClosedError(StoreError):
    """A store that was closed."""

    default_code = "store-closed"

    def __init__(self) -> None:
        super().__init__("the store is closed")


class OutcomeUnknownError(StoreError):
    """A write that may or may not have been executed: only reading again tells."""

    default_code = "outcome-unknown"
    status = 504


class ChangedError(SmpError):
    """A key was written that a write expected to be unchanged; nothing was written."""

    default_code = "changed"
    status = 409

    def __init__(self) -> None:
        super().__init__("a key that was to be unchanged was changed")


class ValueTooLargeError(StoreError):
    """A value larger than the store accepts; the write was not executed."""

    default_code = "value-too-large"
    status = 413


class Expired(SmpError):  # noqa: N818 - the reason that Kubernetes gives: Expired
    """A revision whose history was compacted: list again, and watch from there."""

    default_code = "expired"
    status = 410

    def __init__(self, revision: int) -> None:
        super().__init__(
            f"revision {revision} has been compacted",
            hint="list again and watch from there",
        )
        self.revision = revision


class FutureRevisionError(SmpError):
    """A revision that the store has not reached; API servers answer a timeout.

    Clients know it by its words. Go: NewTooLargeResourceVersionError in
    k8s.io/apiserver, pkg/storage/errors.go.
    """

    default_code = "future-revision"
    status = 504

    def __init__(self, revision: int, current: int | None = None) -> None:
        now = "" if current is None else f", current: {current}"
        super().__init__(f"Too large resource version: {revision}{now}")
        self.revision = revision


def check_reached(revision: int, current: int) -> None:
    """Raise FutureRevisionError for a revision that the store has not reached."""
    if revision > current:
        raise FutureRevisionError(revision, current)
