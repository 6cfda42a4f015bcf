"""Undoing a run: all is checked before anything is written, see undoing.py."""

from __future__ import annotations

import msgspec

from smp._values.values import JSONObject
from smp.cluster.plan.apply import Run
from smp.cluster.plan.applysets import scope_of, update
from smp.cluster.plan.client_side import ApplyTarget, until_gone
from smp.cluster.plan.exchange import Plan, PlannedRequest, Progress, together
from smp.cluster.plan.failures import ApiError
from smp.cluster.plan.objects import Action, Applied
from smp.cluster.plan.options import ApplyOptions
from smp.cluster.plan.schemas import FREE_FORM, KindSchema
from smp.cluster.plan.sending import object_of, send
from smp.cluster.plan.undoing import (
    NotRestorableError,
    RollbackStep,
    create_request,
    managers_request,
    request_of,
)
from smp.errors import ApplyWarning, SmpError
from smp.paths import Path

_ACTIONS: dict[str, Action] = {
    "delete": "deleted",
    "restore": "configured",
    "replace": "configured",
    "create": "created",
    "look": "unchanged",
}


class _Checked(msgspec.Struct):
    """A step with the request for what is live now; None where nothing is to do."""

    step: RollbackStep
    target: ApplyTarget
    live: JSONObject | None = None
    request: PlannedRequest | None = None
    error: SmpError | None = None


def rollback(run: Run) -> Plan[Run]:
    """Restore the objects as they were before a run.

    First all are read: where one cannot be restored, because others have changed it
    since, nothing is written, and the result is ``stopped``. What goes wrong later with
    one object is in its result, and does not end it.
    """
    options = run.options
    # The kinds are known from the run: nothing is looked up again.
    checked = []
    for step in run.rollback_plan():
        applied, resource = step.applied, step.applied.resource
        if resource is None:
            raise AssertionError("a step is of an object of a known kind")
        kind_schema = KindSchema(applied.schema or FREE_FORM)
        target = ApplyTarget(applied.item, resource, kind_schema, applied.namespace)
        checked.append(_Checked(step, target))
    yield from together([_check(each, options) for each in checked])
    # A part of a run that is undone is worse than a run that is not.
    if any(each.error is not None for each in checked):
        results = [_result(each, "not-applied") for each in checked]
        return Run(tuple(results), stopped=True, options=options)
    # As in an apply, the parent of an ApplySet names all that there may be meanwhile.
    if run.applyset is not None:
        parent, former = run.applyset
        present = scope_of([each.target for each in checked])
        yield from update(parent, former | present, options)
    results = []
    for each in checked:
        try:
            result = yield from _undo(each, options)
        except SmpError as error:
            each.error = error
            result = _result(each, "failed")
        results.append(result)
        yield Progress(len(results), len(checked), str(result), result)
    if run.applyset is not None and all(each.error is None for each in checked):
        yield from update(parent, former, options)
    return Run(tuple(results), options=options)


def _check(each: _Checked, options: ApplyOptions) -> Plan[None]:
    """Compute the request of a step for the object as it is now."""
    try:
        each.live = yield from each.target.read()
        each.request = request_of(each.step.applied, each.step.undo, each.live, options)
    except SmpError as error:
        if isinstance(error, NotRestorableError):
            name = f'{each.target.resource.qualified} "{each.target.item.name}"'
            error.problem = f"{name} cannot be restored: {error.problem}"
        each.error = error


def _undo(each: _Checked, options: ApplyOptions) -> Plan[Applied]:
    """Send what undoes the change of one object. Raises what ``send`` raises."""
    if each.request is None:
        return _result(each, "unchanged")
    applied = each.step.applied
    try:
        answer = yield from send(each.request)
    except ApiError as error:
        # It is gone, which is what is wanted.
        if each.step.undo == "delete" and error.reason == "NotFound":
            return _result(each, "unchanged")
        raise
    result = _result(each, _ACTIONS[each.step.undo])
    if each.step.undo == "delete":
        return result
    # Its immutable fields can only be those of a new object.
    if each.step.undo == "replace":
        yield from until_gone(each.target, options.timeout)
        answer = yield from send(create_request(applied, each.target.resource, options))
    stored = object_of(answer)
    warnings = []
    # Who owned which field is restored as far as it can be.
    restored = each.live if each.step.undo == "restore" else None
    managers = managers_request(applied, each.target.path, restored, stored, options)
    if managers is not None:
        try:
            stored = object_of((yield from send(managers)))
        except SmpError as error:
            text = f"the former managers of the fields are not restored: {error}"
            warnings.append(ApplyWarning("managers-not-restored", Path(), text))
    return msgspec.structs.replace(
        result, object=stored, patch=None, warnings=tuple(warnings)
    )


def _result(each: _Checked, action: Action) -> Applied:
    applied = each.step.applied
    return Applied(
        item=applied.item,
        action="failed" if each.error is not None else action,
        namespace=applied.namespace,
        resource=applied.resource,
        before=applied.object,
        schema=applied.schema,
        error=each.error,
    )
