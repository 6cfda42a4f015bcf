"""Validating an object by all rules of its schema, in one walk."""

from __future__ import annotations

from smp import unions
from smp.enums import ENUMS, EnumRule
from smp.errors import bounded
from smp.schema.model import Schema
from smp.schema.walk import Walk, plan_of
from smp.values import ABSENT, JSONObject
from smp.violations import Violation


@bounded("the object")
def validate(
    old: JSONObject | None,
    new: JSONObject,
    schema: Schema,
    *,
    profile: str,
    ratchet: bool,
) -> tuple[Violation, ...]:
    """Return what a server would reject in an object: its unions, then its enums.

    With ``ratchet``, what the new object shares with the old one is not looked at, and
    what was wrong before for the same reason is tolerated.
    """
    if old is new and ratchet:
        return ()
    interests, union_rules = unions.validation(profile, ratchet=ratchet)
    enum_rule = EnumRule(ratchet=ratchet)
    plan = plan_of(schema.types, [*interests, ENUMS])
    walk = Walk(plan, [*union_rules, enum_rule], whole=not ratchet)
    walk.run(ABSENT if old is None else old, new, schema.type)
    found = [violation for rule in union_rules for violation in rule.found]
    return (*found, *enum_rule.found)
