"""Validating an object of a built-in kind, alone or as an update of another one."""

from __future__ import annotations

from typing import Any

from smp._values.plain import over_json
from smp._values.values import ABSENT, JSONObject, require_plain
from smp.schema.model import Schema
from smp.schema.plan import plan_of
from smp.schema.walk import Walk
from smp.validation._rule import INTERESTS, ValidationRule, in_order
from smp.violations import Violation


@over_json("the object", "obj", "old")
def validate_object(
    obj: Any, schema: Schema, *, old: Any = None
) -> tuple[Violation, ...]:
    """Return what a kube-apiserver refuses in an object of a built-in kind.

    The object is as a server has it before it validates: with its defaults. With
    ``old``, the object before an update, only what changed is judged, and what the
    update may not change is another question (smp._storage.immutable). The violations
    have the reasons, messages and order of the causes of a Status. Not all that a
    server refuses is found: docs/server.md. Raises SchemaError where the object reaches
    a type that the schema refers to and lacks, and DepthError. Go: k8s.io/kubernetes,
    pkg/apis/*/validation; the table names the function of each rule.
    """
    if not isinstance(obj, dict):
        require_plain(obj)
        return ()
    before = old if isinstance(old, dict) else None
    return in_order(violations_of(before, obj, schema, ratchet=True), schema.type)


def violations_of(
    old: JSONObject | None, new: JSONObject, schema: Schema, *, ratchet: bool
) -> tuple[Violation, ...]:
    """Return what a server refuses in what an update changes, in no order.

    Of a custom resource it is what it refuses in the metadata. Without ``ratchet`` all
    of the object is judged. Raises RecursionError.
    """
    rule = ValidationRule(ratchet=ratchet, custom=schema.is_custom)
    walk = Walk(plan_of(schema.types, INTERESTS), [rule], whole=not ratchet)
    walk.run(ABSENT if old is None else old, new, schema.type)
    return tuple(rule.violations)
