"""Waiting until objects are what their specifications say, or meet conditions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from smp._values.values import JSONObject
from smp.cluster.plan.client_side import ApplyTarget
from smp.cluster.plan.conditions import WaitCondition
from smp.cluster.plan.exchange import Plan, Progress, pause, together
from smp.cluster.plan.failures import ApiError, NotInTimeError
from smp.cluster.plan.readiness import Readiness, readiness
from smp.cluster.plan.reading import uid_of
from smp.errors import SmpError

# Seconds between two looks at an object.
_POLL: Final = 1.0


class Waited:
    """What a wait came to for one object.

    ``readiness`` is the last state that was seen; with conditions it is current when
    all are met. ``error`` is there where the object is not current: it failed, it does
    not exist, or the time was over.
    """

    def __init__(
        self, target: ApplyTarget, conditions: Sequence[WaitCondition] = ()
    ) -> None:
        self.target = target
        self.conditions = conditions
        # Those that are not met yet; one after the other is looked at.
        self.left: list[WaitCondition] = [*conditions]
        self.object: JSONObject | None = None
        self.readiness: Readiness = Readiness("in-progress", "not looked at")
        self.error: SmpError | None = None

    @property
    def is_over(self) -> bool:
        """Whether there is nothing left to wait for."""
        return self.error is not None or self.readiness.state == "current"

    @property
    def name(self) -> str:
        """The resource and the name, for an error."""
        return f'{self.target.resource.qualified} "{self.target.item.name}"'

    def __str__(self) -> str:
        """Word it for a reader: ``deployment.apps/web is ready``."""
        kind = self.target.resource.kind.lower()
        group = self.target.resource.group
        name = f"{kind}.{group}" if group else kind
        text = f"{name}/{self.target.item.name}"
        if self.error is not None:
            return f"{text}: {self.error}"
        if self.readiness.state == "current":
            # Go: WaitFlags, PrintFlags.
            return f"{text} {'condition met' if self.conditions else 'is ready'}"
        return f"{text} is not ready: {self.readiness.message}"

    def __repr__(self) -> str:
        name = f"{self.target.resource.qualified}/{self.target.item.name}"
        return f"<Waited {name} {self.readiness.state}: {self.readiness.message}>"


class NotReadyError(SmpError):
    """An object that has failed, by what its status says."""

    default_code = "not-ready"
    status = 409


def wait(
    targets: list[ApplyTarget],
    *,
    timeout: float | None,
    conditions: Sequence[WaitCondition] = (),
) -> Plan[list[Waited]]:
    """Look at objects until each is current, or has failed, for at most some seconds.

    With conditions, until each object has met these, one after the other. What does not
    become current has an error; nothing is raised.
    """
    # Go: WaitOptions.RunWaitContext, which waits for the creation first.
    ordered = sorted(conditions, key=lambda condition: not condition.is_for_creation)
    waited = [Waited(target, ordered) for target in targets]
    began = yield from pause(0)
    elapsed = began
    while True:
        left = [entry for entry in waited if not entry.is_over]
        # All objects are looked at once a round.
        yield from together([_look(entry, elapsed - began) for entry in left])
        over = [entry for entry in left if entry.is_over]
        done = len(waited) - len(left) + len(over)
        for entry in over:
            yield Progress(done, len(waited), str(entry), entry)
        left = [entry for entry in left if not entry.is_over]
        if not left:
            return waited
        if timeout is not None and elapsed - began >= timeout:
            break
        # The last look is when the time is over.
        remaining = _POLL if timeout is None else timeout - (elapsed - began)
        elapsed = yield from pause(min(_POLL, remaining))
    for entry in left:
        if entry.left:
            what = f"timed out waiting for {entry.left[0].text} on {entry.name}"
        else:
            what = f"{entry.name} is not ready after {timeout:g} s"
        entry.error = NotInTimeError(f"{what}: {entry.readiness.message}")
    return waited


def _look(entry: Waited, seconds: float) -> Plan[None]:
    try:
        live = yield from entry.target.read()
        if entry.left:
            _look_for_conditions(entry, live)
            return
    except SmpError as error:
        # A server that is busy or starts again answers later.
        if isinstance(error, ApiError) and error.status >= 500:  # noqa: PLR2004  # errors of the server
            entry.readiness = Readiness("in-progress", str(error))
        else:
            entry.error = error
        return
    # What is deleted during the wait does not come again.
    if live is None:
        entry.error = NotReadyError(f"{entry.name} not found", code="not-found")
        return
    entry.object = live
    entry.readiness = readiness(live, waited=seconds)
    if entry.readiness.state == "failed":
        entry.error = NotReadyError(
            f"{entry.name} has failed: {entry.readiness.message}"
        )


def _look_for_conditions(entry: Waited, live: JSONObject | None) -> None:
    """Note which conditions an object meets. Raises NotReadyError, WaitConditionError.

    Go: IsDeleted, and getObjAndCheckCondition for all others.
    """
    while entry.left:
        condition = entry.left[0]
        if condition.is_for_deletion:
            # An object of the same name that was made since is another one.
            is_met = live is None or uid_of(entry.object) not in ("", uid_of(live))
        elif live is None and not condition.is_for_creation:
            raise NotReadyError(f"{entry.name} not found", code="not-found")
        else:
            is_met = live is not None and condition.is_met(live)
        if not is_met:
            entry.object = entry.object or live
            message = "it does not exist" if live is None else "it is not so"
            entry.readiness = Readiness("in-progress", message)
            return
        entry.left.pop(0)
    entry.object = live or entry.object
    entry.readiness = Readiness("current", "all conditions are met")
