"""The rule on the walk that fills in defaults.

Go calls the function of a type before those of the types of its fields. Here the
fields come first, which gives the same: no function changes what a function of a field
looks at, and what a function adds is completed by the functions of its own type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from smp._storage.defaults._rules import RULES
from smp._storage.defaults._table import DefaultsRow, default_table, rows_by_type
from smp._values.quantities import read_quantity
from smp._values.values import JSON, MAX_LEVELS, Absent, JSONObject, as_object, as_text
from smp.schema.model import ListType, ObjectType, Schema, Type
from smp.schema.plan import Interest, Interests, Plan, plan_of
from smp.schema.walk import Place, Rule, Walk

_INTERESTS: Final[dict[str, Interests]] = {}


def fill(obj: JSONObject, schema: Schema, old: JSONObject | Absent) -> JSONObject:
    """Return an object with its defaults; see ``smp.with_defaults``."""
    version = schema.types.version
    if version not in _INTERESTS:
        _INTERESTS[version] = Interests(DefaultsInterest(version))
    plan = plan_of(schema.types, _INTERESTS[version])
    result = Walk(plan, [DefaultsRule(plan)]).run(old, obj, schema.type)
    return result if isinstance(result, dict) else obj


class _Default:
    """The default of a field, completed by the defaults of its own fields."""

    def __init__(self, value: JSON, type_: Type) -> None:
        self._value = value
        self._type = type_
        self._scalar = not isinstance(value, (dict, list))
        self._completed = self._scalar

    def copy(self, plan: Plan) -> JSON:
        """Return a value of its own for one more object."""
        if self._scalar:
            return self._value
        if not self._completed:
            walk = Walk(plan, [DefaultsRule(plan)])
            self._value = walk.run({}, self._value, self._type)
            self._completed = True
        return _copy(self._value)


def _copy(value: JSON) -> JSON:
    """Return a default that shares no object or list with the one of the table."""
    if isinstance(value, dict):
        members: JSONObject = {}
        for name, member in value.items():
            members[name] = _copy(member)
        return members
    return [_copy(element) for element in value] if isinstance(value, list) else value


class _Step:
    """A row of the table, for one type."""

    def __init__(self, row: DefaultsRow, type_: ObjectType) -> None:
        self.inside = row.inside
        if row.inside:
            field = type_.field(row.inside)
            if field is not None and isinstance(field.type, ObjectType):
                type_ = field.type
        self.when = row.when
        self.absent = _defaults(row.absent, type_)
        self.zero = _defaults(row.zero, type_)
        self.milli = row.milli
        self.rule: Callable[[JSONObject], JSONObject] | None = RULES.get(row.rule)

    def applied(self, obj: JSONObject, plan: Plan) -> JSONObject:
        """Return an object with what the row adds."""
        if not self.inside:
            return self._apply_row(obj, plan)
        before = as_object(obj.get(self.inside))
        after = self._apply_row(before, plan)
        return obj if after is before else {**obj, self.inside: after}

    def _apply_row(self, obj: JSONObject, plan: Plan) -> JSONObject:
        for name, value in self.when.items():
            if as_text(obj.get(name)) != value:
                return obj
        obj = _add_absent(obj, self.absent, plan)
        added: JSONObject = {}
        for name, default in self.zero.items():
            if not obj.get(name):
                added[name] = default.copy(plan)
        if added:
            obj = {**obj, **added}
        for name in self.milli:
            obj = _round_to_milli(obj, name)
        return obj if self.rule is None else self.rule(obj)


def _round_to_milli(obj: JSONObject, name: str) -> JSONObject:
    """Round the quantities in a field up to thousandths, away from zero.

    Go: SetDefaults_ResourceList. The text of a quantity that is exact stays.
    """
    resources = as_object(obj.get(name))
    rounded: JSONObject = {}
    for resource, value in resources.items():
        quantity = read_quantity(value)
        if quantity is not None:
            milli = quantity.round_up_to_milli()
            if milli is not quantity:
                rounded[resource] = milli.text
    return {**obj, name: {**resources, **rounded}} if rounded else obj


class TypeDefaults:
    """The defaults of one type."""

    def __init__(
        self,
        structs: dict[str, _Default],
        steps: list[_Step],
        scalars: dict[str, _Default],
    ) -> None:
        self._structs = structs
        self._steps = steps
        self._scalars = scalars

    def applied(self, obj: JSONObject, plan: Plan) -> JSONObject:
        """Return an object of the type with its defaults."""
        # A struct of Go is never absent, so functions find and fill it.
        obj = _add_absent(obj, self._structs, plan)
        for step in self._steps:
            obj = step.applied(obj, plan)
        # What no function has set is written as the zero value.
        return _add_absent(obj, self._scalars, plan)


class ElementDefaults:
    """A list or map of objects whose type has defaults.

    Go decodes a null in it to an object without fields.
    """

    def __init__(self, type_: Type) -> None:
        self._empty = _Default({}, type_)

    def applied(self, value: JSON, plan: Plan) -> JSON:
        """Return the list or map with objects instead of nulls."""
        if isinstance(value, list) and None in value:
            return [self._empty.copy(plan) if e is None else e for e in value]
        if isinstance(value, dict) and None in value.values():
            return {
                name: self._empty.copy(plan) if member is None else member
                for name, member in value.items()
            }
        return value


class DefaultsInterest(Interest):
    """Types that have defaults in a minor version of Kubernetes."""

    def __init__(self, version: str) -> None:
        super().__init__(f"defaults {version}")
        self._version = version

    def facts(self, type_: Type, keys: tuple[str, ...]) -> object | None:  # noqa: ARG002  # the interface's
        """Return the defaults of a type."""
        if isinstance(type_, ListType):
            return self._read_element_facts(type_.items)
        if not isinstance(type_, ObjectType):
            return None
        if not type_.structured and type_.others is not None:
            return self._read_element_facts(type_.others.type)
        published = default_table().published.get(type_.name, {})
        structs: JSONObject = {}
        scalars: JSONObject = {}
        for name, value in published.items():
            if isinstance(value, dict):
                structs[name] = value
            else:
                scalars[name] = value
        rows = rows_by_type().get(type_.name, [])
        steps = [_Step(row, type_) for row in rows if row.holds_in(self._version)]
        if not published and not steps:
            return None
        return TypeDefaults(_defaults(structs, type_), steps, _defaults(scalars, type_))

    def _read_element_facts(self, type_: Type) -> object | None:
        # Maps of maps have what is in them; one of nothing but itself has no end.
        inner = type_
        for _ in range(MAX_LEVELS):
            if not isinstance(inner, ObjectType):
                return None
            if inner.structured or inner.others is None:
                has_defaults = self.facts(inner, ()) is not None
                return ElementDefaults(type_) if has_defaults else None
            inner = inner.others.type
        raise RecursionError


class DefaultsRule(Rule):
    """Fills in the defaults of each object, after those of the objects in it."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def leave(self, place: Place, value: JSON, facts: object | None) -> JSON:  # noqa: ARG002  # the interface's
        """Fill in the defaults of an object."""
        if isinstance(facts, TypeDefaults) and isinstance(value, dict):
            return facts.applied(value, self._plan)
        if isinstance(facts, ElementDefaults):
            return facts.applied(value, self._plan)
        return value


def _defaults(values: JSONObject, type_: ObjectType) -> dict[str, _Default]:
    """Return the defaults of the fields that a type has in its minor version."""
    found: dict[str, _Default] = {}
    for name, value in values.items():
        field = type_.field(name)
        if field is not None and type_.declares(name):
            found[name] = _Default(value, field.type)
    return found


def _add_absent(
    obj: JSONObject, defaults: dict[str, _Default], plan: Plan
) -> JSONObject:
    """Return an object with the defaults of the fields that are absent or null."""
    added: JSONObject = {}
    for name, default in defaults.items():
        if obj.get(name) is None:
            added[name] = default.copy(plan)
    return {**obj, **added} if added else obj
