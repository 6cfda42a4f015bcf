"""Deleting objects, and waiting until they are gone.

Go: k8s.io/kubectl/pkg/cmd/delete, DeleteOptions.DeleteResult: all are deleted, then all
are waited for, and an error does not end it.
"""

from __future__ import annotations

import msgspec

from smp.cluster.plan.apply import Session
from smp.cluster.plan.client_side import ApplyTarget, delete_request, until_gone
from smp.cluster.plan.exchange import Plan, Progress
from smp.cluster.plan.objects import Applied, Item
from smp.cluster.plan.options import ApplyOptions
from smp.cluster.plan.sending import send
from smp.errors import SmpError


def deleted(
    session: Session, items: list[Item], options: ApplyOptions, *, wait: bool
) -> Plan[list[Applied]]:
    """Delete objects, and wait until they are gone where that is wanted.

    One that does not exist, or does not go in time, has an error.
    """
    results: list[Applied] = []
    targets: list[ApplyTarget | None] = []
    for item in items:
        target: ApplyTarget | None = None
        try:
            target = yield from session.target(item)
            result = yield from delete(target, options)
        except SmpError as error:
            namespace = "" if target is None else target.namespace
            result = Applied(
                item=item, action="failed", namespace=namespace, error=error
            )
        # An object that is not deleted is not waited for.
        results.append(result)
        targets.append(target)
        yield Progress(len(results), len(items), str(result), result)
    if not wait or options.dry_run != "none":
        return results
    for index, target in enumerate(targets):
        if target is None or results[index].error is not None:
            continue
        try:
            yield from until_gone(target, options.timeout)
        except SmpError as error:
            results[index] = msgspec.structs.replace(
                results[index], action="failed", error=error
            )
    return results


def delete(target: ApplyTarget, options: ApplyOptions) -> Plan[Applied]:
    """Delete an object; one that does not exist is an error.

    With a dry run of the client it is only read. Raises what ``send`` raises.
    """
    # What was there is a part of the result.
    live = yield from target.read()
    if live is None or options.dry_run != "client":
        yield from send(delete_request(target, options, named=False))
    return target.became("deleted", before=live)
