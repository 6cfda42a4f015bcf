"""What API servers of today answer to two members of a union.

They normalize no union. A client that sets one member and leaves another one in the
object gets the answer of the union (smp.schema.union_groups), from the validation of
its type (Go: k8s.io/kubernetes v1.36.3, pkg/apis).
"""

from __future__ import annotations

from collections.abc import Iterable

from smp._values.values import ABSENT
from smp.errors import ApplyWarning
from smp.paths import Path
from smp.schema.model import ObjectType, Schema, Type
from smp.schema.union_groups import UnionGroup
from smp.unions._normalize import Change


def stock_server_warnings(
    changes: Iterable[Change], schema: Schema
) -> list[ApplyWarning]:
    """Warn of what a server makes of an object in which unions are not normalized."""
    warnings: list[ApplyWarning] = []
    for change in changes:
        message = "kubectl's patch leaves this member of a union in the object"
        union = _union_of(change.path, schema)
        if change.new is not ABSENT:
            # A discriminator that was written, or a member that was restored.
            message = (
                "kubectl's patch leaves this field as it is, and so does a server that"
                " does not normalize unions"
            )
        elif union is not None and not union.validated:
            message += ", and a server keeps it"
        elif union is not None and union.answers:
            message += f", which a server refuses: {_reason(union, change.path)}"
        else:
            message += (
                ", and a server that does not normalize unions keeps it, or refuses"
                " the object"
            )
        warnings.append(ApplyWarning("not-normalized", change.path, message))
    return warnings


def _reason(union: UnionGroup, path: Path) -> str:
    """Return what a server says of a member that does not belong into an object."""
    name = path.steps[-1]
    answers = [
        answer
        for failure in ("several", "unselected")
        for answer in union.answers.get(failure, ())
        if answer.member in ("", name)
    ]
    return answers[0].detail


def _union_of(path: Path, schema: Schema) -> UnionGroup | None:
    type_: Type = schema.type
    for step in path.steps[:-1]:
        if not isinstance(step, str):
            type_ = type_.items
            continue
        field = type_.field(step)
        if field is None:
            return None
        type_ = field.type
    name = path.steps[-1]
    if isinstance(type_, ObjectType):
        for union in type_.unions:
            if name in union.names and not union.at_least_one:
                return union
    return None
