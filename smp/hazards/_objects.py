"""The hazards that one object has on its own.

``hazards_in`` asks two things of an object. A rule on the walk (smp.schema.walk) looks
at the merge lists: which keys stand for several elements? A ``Scan``, which needs no
schema, looks for nulls and for the names of directives, and counts characters.

Almost all objects have unique keys. So ``has_unique_keys`` answers first, from a table
of the members that lead to merge lists, and the rule is asked only about the others.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from typing import Final, cast

from smp.codec import encode
from smp.errors import SchemaError, SmpError
from smp.hazards._hazard import Hazard, Input, hazard
from smp.hazards._pairs import ANNOTATION_PAIRS
from smp.paths import Element, Path
from smp.schema.model import Field, ListType, ObjectType, ScalarType, Schema, Type
from smp.schema.plan import Interest, Interests, Plan, plan_of
from smp.schema.walk import Key, KeyIndex, Place, Rule, Walk, key_of
from smp.strategic import is_directive
from smp.values import (
    ABSENT,
    JSON,
    MAX_LEVELS,
    Absent,
    JSONArray,
    JSONObject,
    ScalarKey,
    as_object,
    printed,
    scalar_key,
)

# So many hazards of one object are listed.
_MOST: Final = 1000


class MergeListInterest(Interest):
    """Objects with merge lists among their fields."""

    def facts(self, type_: Type, keys: tuple[str, ...]) -> object | None:  # noqa: ARG002
        """Return the fields that are merge lists, or None."""
        if not isinstance(type_, ObjectType):
            return None
        fields = [field for field in type_ if _is_merge_list(field)]
        return fields or None


_INTERESTS: Final = Interests(
    MergeListInterest("merge lists"), merge_keys=True, map_keys=False
)
_ROUTES: Final = "routes to merge lists"


class Route:
    """A member that is a merge list, or leads to one.

    ``type`` is that of the objects to go on to, the member or its elements; None where
    there is no merge list below.
    """

    __slots__ = ("is_list", "is_merge_list", "merge_key", "type")

    def __init__(self, field: Field, plan: Plan) -> None:
        self.merge_key = field.merge_key
        self.is_list = isinstance(field.type, ListType)
        self.is_merge_list = _is_merge_list(field)
        below = field.type.items if self.is_list else field.type
        self.type: Type | None = below if plan.leads(below) else None


class Routes:
    """The routes from each type of a catalog, worked out when they are asked for."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._by_type: dict[Type, dict[str, Route] | None] = {}

    def of(self, type_: Type) -> dict[str, Route] | None:
        """Return the routes by the name of the member.

        None for a type that is not one of objects, or has them in undeclared members.
        Raises SchemaError.
        """
        if type_ not in self._by_type:
            self._by_type[type_] = self._made(type_)
        return self._by_type[type_]

    def _made(self, type_: Type) -> dict[str, Route] | None:
        if not isinstance(type_, ObjectType):
            return None
        if type_.others is not None and self._plan.leads(type_.others.type):
            return None
        routes: dict[str, Route] = {}
        for field in type_:
            if _is_merge_list(field) or self._plan.leads(field.type):
                routes[field.name] = Route(field, self._plan)
        return routes


def has_unique_keys(obj: JSONObject, known: JSON | Absent, schema: Schema) -> bool:
    """Tell whether no merge list of an object has a hazard; False also if unsure.

    ``known`` is another object for which the answer is True. Raises RecursionError.
    """
    routes = schema.types.plans.get(_ROUTES)
    if not isinstance(routes, Routes):
        routes = Routes(plan_of(schema.types, _INTERESTS))
        schema.types.plans[_ROUTES] = routes
    try:
        return _is_clear(obj, known, schema.type, routes, MAX_LEVELS)
    except SchemaError:
        # The walk raises it with the path, if it comes to the type.
        return False


def _is_clear(
    obj: JSONObject, known: JSON | Absent, type_: Type, routes: Routes, levels: int
) -> bool:
    if not levels:
        raise RecursionError
    by_name = routes.of(type_)
    if by_name is None:
        return False
    others = known if isinstance(known, dict) else None
    for name, value in obj.items():
        route = by_name.get(name)
        if route is None or not value:
            continue
        other: JSON | Absent = ABSENT
        if others is not None:
            other = others.get(name, ABSENT)
            # Python holds True and 1 equal, and keys are compared in the same way, so
            # equal values both have unique keys.
            if value == other:
                continue
        is_clear = False
        if route.is_list:
            is_clear = _is_clear_list(value, other, route, routes, levels - 1)
        elif isinstance(value, dict) and route.type is not None:
            is_clear = _is_clear(value, other, route.type, routes, levels - 1)
        if not is_clear:
            return False
    return True


def _is_clear_list(
    value: JSON, known: JSON | Absent, route: Route, routes: Routes, levels: int
) -> bool:
    if not isinstance(value, list):
        return False
    if route.is_merge_list and not _are_unique(value, route.merge_key):
        return False
    if route.type is None:
        return True
    others = known if isinstance(known, list) else []
    count = len(others)
    for index, element in enumerate(value):
        if not isinstance(element, dict):
            return False
        other: JSON | Absent = others[index] if index < count else ABSENT
        if element != other and not _is_clear(
            element, other, route.type, routes, levels
        ):
            return False
    return True


def _are_unique(elements: JSONArray, merge_key: str) -> bool:
    """Tell whether all elements have a key, or are scalars, each another one.

    Some that differ, such as True and 1, count as equal.
    """
    try:
        if not merge_key:
            return len(set(cast("list[object]", elements))) == len(elements)
        keys = {cast("dict[str, object]", each)[merge_key] for each in elements}
    except (KeyError, TypeError):
        # An element is not an object, has no key, or one that is not a scalar.
        return False
    return None not in keys and len(keys) == len(elements)


def _is_merge_list(field: Field) -> bool:
    """Tell whether a list is merged by keys, or by its scalars, as finalizers."""
    if not field.merges:
        return False
    return bool(field.merge_key) or isinstance(field.type.items, ScalarType)


def hazards_in(obj: JSONObject, schema: Schema, source: Input) -> list[Hazard]:
    """Return the hazards of one object: its lists, its nulls and its directives.

    Those of nulls are only in a manifest: a server stores no nulls. Raises SchemaError
    and RecursionError.
    """
    return [
        *list_hazards(obj, schema, source),
        *scan_hazards(Scan.of(obj), source),
        *annotation_hazards(obj, schema, source),
    ]


def list_hazards(obj: JSONObject, schema: Schema, source: Input) -> list[Hazard]:
    """Return the hazards of the merge lists of an object."""
    if has_unique_keys(obj, ABSENT, schema):
        return []
    rule = _KeyRule(source)
    Walk(plan_of(schema.types, _INTERESTS), [rule]).run(ABSENT, obj, schema.type)
    return rule.hazards


def scan_hazards(scan: Scan, source: Input) -> list[Hazard]:
    """Return the hazards of the nulls and directives that a scan found."""
    found: list[Hazard] = []
    if source == "manifest":
        # Generators write the time, and a server sets it itself.
        found += [
            hazard("null", path, source)
            for path in scan.nulls[:_MOST]
            if path.steps[-1] != "creationTimestamp"
        ]
    found += [
        hazard("directive-in-object", path, source) for path in scan.directives[:_MOST]
    ]
    return found


def annotation_hazards(obj: JSONObject, schema: Schema, source: Input) -> list[Hazard]:
    """Return a hazard where an annotation counts instead of a field."""
    pair = ANNOTATION_PAIRS.get(schema.kind)
    if pair is None:
        return []
    metadata = as_object(obj.get("metadata"))
    value = as_object(metadata.get("annotations")).get(pair.annotation)
    field = as_object(obj.get("spec")).get(pair.field)
    if value is None or field is None or value == field:
        return []
    path = Path(("metadata", "annotations", pair.annotation))
    return [
        hazard(
            "annotation-and-field",
            path,
            source,
            annotation=pair.annotation,
            field=f"spec.{pair.field}",
            why=pair.sentence,
            rule=pair.rule,
        )
    ]


class Scan:
    """What can be seen of a value without its schema.

    ``nulls`` and ``directives`` are the paths of members that are null, or are named as
    a directive; ``characters`` are about those of its text.
    """

    __slots__ = ("characters", "directives", "nulls")

    def __init__(self) -> None:
        self.nulls: list[Path] = []
        self.directives: list[Path] = []
        self.characters = 0

    @classmethod
    def of(cls, obj: JSONObject, *, has_nulls: bool = True) -> Scan:
        """Scan an object. Raises RecursionError.

        Without ``has_nulls`` nulls are not looked for.
        """
        scan = cls()
        # Its text shows whether there is anything, faster than a walk.
        try:
            text = encode(obj)
        except SmpError:
            scan._find(obj, Path())
            return scan
        scan.characters = len(text)
        # One byte is found many times faster than two, and is rare.
        has_any = b"$" in text and b'"$' in text
        if has_any or (has_nulls and b"null" in text):
            scan._find(obj, Path())
        return scan

    def _find(self, value: JSON, path: Path) -> None:
        """Collect the paths of nulls and directives."""
        if isinstance(value, dict):
            for name, member in value.items():
                here = path / name
                if is_directive(name):
                    self.directives.append(here)
                elif member is None:
                    self.nulls.append(here)
                else:
                    self._find(member, here)
        elif isinstance(value, list):
            for index, element in enumerate(value):
                self._find(element, path / index)


class _KeyRule(Rule):
    """Finds the merge lists in which a key stands for several elements."""

    def __init__(self, source: Input) -> None:
        self.hazards: list[Hazard] = []
        self._source = source

    def enter(self, place: Place, facts: object | None) -> bool:
        """Look at the merge lists of an object."""
        members = as_object(place.new)
        for field in cast("list[Field]", facts):
            elements = members.get(field.name)
            if isinstance(elements, list) and elements:
                if not field.merge_key:
                    self._look_at_scalars(place, field, elements)
                elif not _are_unique(elements, field.merge_key):
                    self._look_at(place, field, elements)
        return True

    def _look_at_scalars(self, place: Place, field: Field, elements: JSONArray) -> None:
        """Report each value that is in a list several times."""
        counts: dict[ScalarKey, int] = {}
        for value in elements:
            if not isinstance(value, (dict, list)):
                key = scalar_key(value)
                counts[key] = counts.get(key, 0) + 1
        if len(counts) == len(elements):
            return
        # Each value is reported once, where it stands first.
        for index, value in enumerate(elements):
            if isinstance(value, (dict, list)):
                continue
            count = counts.pop(scalar_key(value), 1)
            if count > 1 and len(self.hazards) < _MOST:
                self.hazards.append(
                    hazard(
                        "duplicate-value",
                        place.path / field.name / index,
                        self._source,
                        key=printed(value),
                        count=str(count),
                    )
                )

    def _look_at(self, place: Place, field: Field, elements: JSONArray) -> None:
        """Report each merge key that several elements of a list have, or none has."""
        merge_key = field.merge_key
        type_ = field.type
        map_keys = type_.map_keys if isinstance(type_, ListType) else ()
        others = [name for name in map_keys if name != merge_key]
        # The elements of one key are reported together.
        indices_of_key: dict[Key, list[int]] = {}
        path = place.path / field.name
        for index, element in enumerate(elements):
            key = key_of(element, (merge_key,))
            if key:
                indices_of_key.setdefault(key, []).append(index)
            elif len(self.hazards) < _MOST:
                self.hazards.append(
                    hazard("missing-key", path / index, self._source, key=merge_key)
                )
        for indices in indices_of_key.values():
            if len(indices) == 1 or len(self.hazards) >= _MOST:
                continue
            same_key = [elements[index] for index in indices]
            value = as_object(same_key[0])[merge_key]
            step = Element(indices[0], merge_key, value)
            # All map keys may tell them apart, as server-side apply does.
            code = "duplicate-key"
            if others and not KeyIndex(same_key, (merge_key, *others)).ambiguous:
                code = "ambiguous-key"
            self.hazards.append(
                hazard(
                    code,
                    path / step,
                    self._source,
                    count=str(len(indices)),
                    key=str(step)[1:-1],
                    other_keys=", ".join(others),
                )
            )
