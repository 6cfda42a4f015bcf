"""Immutable fields of built-in kinds: what an update may not change.

The rules are data: smp/schema/bundled/immutable.json has them, each with the Go
function that it is from. A RULE is::

    {"kinds": ["apps/v1 Deployment"], "field": "spec.selector",
     "message": "field is immutable", "source": "Go: ..."}

``field`` is what may not change. ``except`` are paths in it that may (``*`` is any
element of a list), ``once`` those that may be set where they are empty. ``when`` and
``unless`` are values of the old object, by path, under which the rule holds or does not
hold. ``reason`` and ``reported`` are the reason and the field of the cause where they
are others than FieldValueInvalid and ``field``. With ``length`` only the number of
elements may not change, and the rules that follow for this kind are not asked. With
``unordered`` a list is a set of texts.

``defaults`` are the values, by the name of their field, that a server fills in: a field
that is absent equals one of them. What is empty equals what is absent, and quantities
are equal by their amount (Go: apiequality.Semantic.DeepEqual).
"""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final, TypeAlias

import msgspec

from smp import codec
from smp.paths import Path
from smp.quantities import read_quantity
from smp.raw import RawJSON
from smp.schema.bundle import bundled_table
from smp.schema.model import Schema
from smp.values import (
    ABSENT,
    JSON,
    Absent,
    JSONObject,
    as_list,
    as_object,
    as_text,
    same,
    value_key,
)
from smp.violations import Reason, Violation, quoted_json

_CODE: Final = "field-immutable"
# What may change: an object with the names below, or None for all of a value.
Allowed: TypeAlias = "dict[str, Allowed] | None"
Scalar: TypeAlias = str | int | bool
_NOTHING: Final[dict[str, Allowed]] = {}


class ImmutableField(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One rule of the table."""

    kinds: tuple[str, ...]
    source: str
    field: str
    message: str
    reason: Reason = "FieldValueInvalid"
    reported: str = ""
    excepted: tuple[str, ...] = msgspec.field(default=(), name="except")
    once: tuple[str, ...] = ()
    when: dict[str, Scalar] = {}
    unless: dict[str, Scalar] = {}
    length: bool = False
    unordered: bool = False


class _ImmutableTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    defaults: dict[str, tuple[Scalar, ...]]
    rules: tuple[ImmutableField, ...]


def immutable_fields() -> _ImmutableTable:
    """Return the table."""
    return bundled_table("immutable.json", _ImmutableTable)


class _Compiled:
    """A rule with its paths split into steps."""

    __slots__ = ("allowed", "once", "rule", "steps")

    def __init__(self, rule: ImmutableField) -> None:
        self.rule = rule
        self.steps = tuple(rule.field.split("."))
        self.allowed: Allowed = {}
        for path in rule.excepted:
            self.allowed = _allowing(self.allowed, path.split("."))
        self.once = [path.split(".") for path in rule.once]

    def holds(self, old: JSONObject) -> bool:
        """Tell whether the old object meets ``when`` and ``unless``."""
        for path, value in self.rule.when.items():
            if not same(_at(old, path.split(".")), value):
                return False
        for path, value in self.rule.unless.items():
            if same(_at(old, path.split(".")), value):
                return False
        return True


def _allowing(allowed: Allowed, steps: Sequence[str]) -> Allowed:
    """Return what may change, and the value at a path."""
    if allowed is None or not steps:
        return None
    below = allowed.get(steps[0], {})
    return {**allowed, steps[0]: _allowing(below, steps[1:])}


@cache
def rules_by_kind() -> Mapping[tuple[str, str], tuple[_Compiled, ...]]:
    """Return the rules of the table by (apiVersion, kind)."""
    by_kind: dict[tuple[str, str], tuple[_Compiled, ...]] = {}
    for rule in immutable_fields().rules:
        compiled = _Compiled(rule)
        for api_version_and_kind in rule.kinds:
            api_version, _, kind = api_version_and_kind.partition(" ")
            earlier = by_kind.get((api_version, kind), ())
            by_kind[api_version, kind] = (*earlier, compiled)
    return by_kind


def changed_immutable_fields(
    old: JSONObject, new: JSONObject, schema: Schema
) -> tuple[Violation, ...]:
    """Return a violation for each immutable field that an update changes.

    Both objects are as they are stored, so what the new one shares with the old one is
    not looked at. A kind that is not in the table has no immutable fields. Raises
    RecursionError.
    """
    kind = (schema.api_version, schema.kind)
    rules = rules_by_kind().get(kind, ())
    if kind == ("v1", "Secret") and "stringData" in new:
        # A server moves stringData into data first (Go: core/v1 conversion).
        data = {**as_object(_at(new, ("data",)))}
        for name, text in as_object(_at(new, ("stringData",))).items():
            # Half of a surrogate pair, which no request can have, changes data as well.
            encoded = as_text(text).encode(errors="surrogatepass")
            data[name] = b2a_base64(encoded, newline=False).decode()
        new = {**new, "data": data}
    violations: list[Violation] = []
    for each in rules:
        above, last = each.steps[:-1], each.steps[-1]
        before = as_object(_at(old, above)).get(last, ABSENT)
        after = as_object(_at(new, above)).get(last, ABSENT)
        if before is after or not each.holds(old):
            continue
        if each.rule.length:
            lists = as_list(_decoded(before)), as_list(_decoded(after))
            if len(lists[0]) != len(lists[1]):
                return (*violations, _violation(each.rule, after))
            continue
        if each.rule.unordered:
            before, after = _set_of(before), _set_of(after)
        allowed = each.allowed
        for steps in each.once:
            if _is_empty(_at(_decoded(before), steps)):
                allowed = _allowing(allowed, steps)
        if allowed is not None and _changed(before, after, each.steps[-1], allowed):
            violations.append(_violation(each.rule, after))
    if kind in _OTHERS:
        violations.extend(_OTHERS[kind](old, new))
    return tuple(violations)


def _at(value: JSON | Absent, steps: Sequence[str]) -> JSON | Absent:
    for step in steps:
        if not isinstance(value, dict):
            return ABSENT
        value = _decoded(value.get(step, ABSENT))
    return value


def _decoded(value: JSON | Absent) -> JSON | Absent:
    """Decode a value that a handler left undecoded."""
    return codec.decode(bytes(value)) if isinstance(value, RawJSON) else value


def _set_of(value: JSON | Absent) -> JSON:
    """Return the texts of a list in order, each once."""
    return [*sorted({as_text(element) for element in as_list(_decoded(value))})]


def _violation(rule: ImmutableField, value: JSON | Absent) -> Violation:
    message = f"Forbidden: {rule.message}"
    if rule.reason == "FieldValueInvalid":
        message = f"Invalid value: {_shown(value)}: {rule.message}"
    path = Path(tuple((rule.reported or rule.field).split(".")))
    return Violation(_CODE, path, rule.reason, message, value)


def _shown(value: JSON | Absent) -> str:
    """Return a value as a message shows it (Go: field.Error.ErrorBody)."""
    return "null" if isinstance(value, Absent) else quoted_json(value)


def _changed(
    old: JSON | Absent,
    new: JSON | Absent,
    name: str,
    allowed: dict[str, Allowed],
    *,
    is_quantity: bool = False,
) -> bool:
    """Tell whether a value changed elsewhere than where it may.

    Go: k8s.io/apimachinery, api/equality, Semantic.DeepEqual, after defaulting.
    """
    if old is new:
        return False
    old, new = _decoded(old), _decoded(new)
    if isinstance(old, dict) or isinstance(new, dict):
        for value in (old, new):
            if not (isinstance(value, dict) or _is_empty(value)):
                return True
        return _object_changed(
            as_object(old), as_object(new), allowed, is_quantity=is_quantity
        )
    if isinstance(old, list) or isinstance(new, list):
        below = allowed.get("*", _NOTHING)
        elements, others = as_list(old), as_list(new)
        if below is None or len(elements) != len(others):
            return below is not None
        pairs = zip(elements, others, strict=True)
        return any(_changed(before, after, "", below) for before, after in pairs)
    if same(old, new) or (_is_empty(old) and _is_empty(new)):
        return False
    if _is_empty(old) or _is_empty(new):
        present = new if _is_empty(old) else old
        defaults = immutable_fields().defaults.get(name)
        if defaults is not None:
            # What is left out has the default, which a zero is not.
            return not any(same(present, value) for value in defaults)
        # Go prints no zero for a value with omitempty.
        return not (isinstance(present, (bool, int)) and not present)
    return not (is_quantity and _are_equal_quantities(old, new))


def _object_changed(
    old: JSONObject,
    new: JSONObject,
    allowed: dict[str, Allowed],
    *,
    is_quantity: bool,
) -> bool:
    for member in {**old, **new}:
        below = allowed.get(member, _NOTHING)
        if below is not None and _changed(
            old.get(member, ABSENT),
            new.get(member, ABSENT),
            member,
            below,
            is_quantity=is_quantity or member in _QUANTITIES,
        ):
            return True
    return False


def _are_equal_quantities(old: JSON | Absent, new: JSON | Absent) -> bool:
    if isinstance(old, Absent) or isinstance(new, Absent):
        return False
    before, after = read_quantity(old), read_quantity(new)
    return before is not None and after is not None and before.equals(after)


def _is_empty(value: JSON | Absent) -> bool:
    """Tell whether a value is absent, null or empty, which are equal in Go."""
    if isinstance(value, Absent) or value is None:
        return True
    return isinstance(value, (str, dict, list)) and not value


# Fields with quantities, in a map or alone.
_QUANTITIES: Final = frozenset(
    {"capacity", "divisor", "limits", "overhead", "requests", "sizeLimit"}
)
_ADDED_TOLERATIONS: Final = frozenset(
    {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}
)


# The effects of tolerations for a taint that evicts.
_EVICTING: Final = (None, "", "NoExecute")


def _pod(old: JSONObject, new: JSONObject) -> Iterator[Violation]:
    """Compare tolerations: only additions are allowed.

    Go: pkg/apis/core/validation, validateOnlyAddedTolerations. The admission plugin
    DefaultTolerationSeconds adds its own tolerations again where an update drops them.
    """
    before = as_list(_at(old, ("spec", "tolerations")))
    after = as_list(_at(new, ("spec", "tolerations")))
    if before is after:
        return
    # Lists of tolerations may be long.
    kept = {_toleration_key(other) for other in after}
    for toleration in before:
        key = as_text(as_object(toleration).get("key"))
        if key in _ADDED_TOLERATIONS:
            others = [as_object(other) for other in after]
            keys = [
                other.get("key") for other in others if other.get("effect") in _EVICTING
            ]
            if key not in keys and None not in keys:
                continue
        if _toleration_key(toleration) not in kept:
            path = Path(("spec", "tolerations"))
            message = (
                "Forbidden: existing toleration can not be modified except its"
                " tolerationSeconds"
            )
            yield Violation(_CODE, path, "FieldValueForbidden", message, [*after])
            return


def _toleration_key(toleration: JSON) -> object:
    """Return what tolerations have in common that may be one, as _changed tells."""
    members: JSONObject = {}
    for name, value in as_object(toleration).items():
        if name != "tolerationSeconds" and _changed(value, ABSENT, name, _NOTHING):
            members[name] = value
    return value_key(members)


def _service(old: JSONObject, new: JSONObject) -> Iterator[Violation]:
    """Compare the addresses of Services, which may be left out and not changed.

    Go: pkg/registry/core/service/storage, patchAllocatedValues and normalizeClusterIPs;
    pkg/apis/core/validation, validateUpgradeDowngradeClusterIPs.
    """
    if old.get("spec", ABSENT) is new.get("spec", ABSENT):
        return
    for service in (old, new):
        if _at(service, ("spec", "type")) == "ExternalName":
            return
    was = as_text(_at(old, ("spec", "clusterIP")))
    # An address that is left out is the one that was allocated.
    address = as_text(_at(new, ("spec", "clusterIP"))) or was
    allocated = as_list(_at(old, ("spec", "clusterIPs")))
    addresses = as_list(_at(new, ("spec", "clusterIPs"))) or allocated
    if address != was and same(addresses, allocated):
        addresses = [address]
    if not was or was == address == "None" or not addresses:
        return
    if addresses[0] != was:
        message = f"Invalid value: {_shown([*addresses])}: may not change once set"
        path = Path(("spec", "clusterIPs", 0))
        yield Violation(_CODE, path, "FieldValueInvalid", message, [*addresses])


def _job(old: JSONObject, new: JSONObject) -> Iterator[Violation]:
    """Compare completions, which an Indexed Job may change with its parallelism.

    Go: pkg/apis/batch/validation, validateCompletions.
    """
    before = _at(old, ("spec", "completions"))
    after = _at(new, ("spec", "completions"))
    if before is after or not _changed(before, after, "completions", _NOTHING):
        return
    message = "field is immutable"
    if _at(new, ("spec", "completionMode")) == "Indexed":
        if _is_empty(after) or same(after, _at(new, ("spec", "parallelism"))):
            return
        message = "can only be modified in tandem with spec.parallelism"
    yield Violation(
        _CODE,
        Path(("spec", "completions")),
        "FieldValueInvalid",
        f"Invalid value: {_shown(after)}: {message}",
        after,
    )


# What a row of the table cannot say.
_OTHERS: Final[
    Mapping[tuple[str, str], Callable[[JSONObject, JSONObject], Iterator[Violation]]]
] = {("v1", "Pod"): _pod, ("v1", "Service"): _service, ("batch/v1", "Job"): _job}
