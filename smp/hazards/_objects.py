"""The hazards that one object has on its own.

Almost all objects have none. So a ``Look`` comes first, which only tells whether there
are nulls and names of directives, for ``Marks`` to find; and ``has_unique_keys``, from
a table of the members that lead to merge lists. Only where it is not certain a rule on
the walk (smp.schema.walk) finds the keys that stand for several elements.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from typing import Final, cast

from smp._strategic import Known, identity_of, is_directive
from smp._values.api_objects import annotations_of
from smp._values.codec import encode
from smp._values.findings import Input
from smp._values.values import (
    ABSENT,
    COMPILED,
    JSON,
    MAX_LEVELS,
    JSONArray,
    JSONObject,
    ScalarKey,
    as_object,
    printed,
    scalar_key,
)
from smp.errors import SchemaError, SmpError
from smp.hazards._hazard import Hazard, hazard
from smp.hazards._pairs import ANNOTATION_PAIRS
from smp.paths import Element, Path
from smp.schema.model import RAW, Field, ListType, ObjectType, ScalarType, Schema, Type
from smp.schema.plan import Interest, Interests, Plan, plan_of
from smp.schema.walk import Key, Place, Rule, Walk, key_of

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
# Those of a ConfigMap and a Secret.
_MAPS_OF_TEXTS: Final = ("binaryData", "data", "stringData")
_TEXTS: Final[set[type]] = {str}


class Route:
    """A member that is a merge list, or leads to one.

    ``type`` is that of the objects to go on to, the member or its elements; None where
    there is no merge list below.
    """

    __slots__ = ("is_list", "is_merge_list", "merge_key", "name", "type")

    def __init__(self, field: Field, plan: Plan) -> None:
        self.name = field.name
        self.merge_key = field.merge_key
        self.is_list = isinstance(field.type, ListType)
        self.is_merge_list = _is_merge_list(field)
        below = field.type.items if self.is_list else field.type
        self.type: Type | None = below if plan.leads(below) else None


class Routes:
    """The routes from each type of a catalog, worked out when they are asked for."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._by_type: dict[Type, list[Route] | None] = {}

    def of(self, type_: Type) -> list[Route] | None:
        """Return the routes from a type.

        None for a type that is not one of objects, or has them in undeclared members.
        Raises SchemaError.
        """
        if type_ not in self._by_type:
            self._by_type[type_] = self._make_routes(type_)
        return self._by_type[type_]

    def _make_routes(self, type_: Type) -> list[Route] | None:
        if not isinstance(type_, ObjectType):
            return None
        if type_.others is not None and self._plan.leads(type_.others.type):
            return None
        return [
            Route(field, self._plan)
            for field in type_
            if _is_merge_list(field) or self._plan.leads(field.type)
        ]


class Look:
    """A quick look at a manifest, for signs of hazards that need no schema.

    ``has_marks`` tells whether a name may be that of a directive, or a member is null.
    The JSON text of the object has at least ``least`` bytes, and at most ``most``;
    without ``has_doubles`` it has no number that Go prints in another way.

    Compiled, this is a walk. Interpreted, the text of the object is faster: it is
    printed and searched in C. (smp._values.values explains why there are two ways.)
    """

    __slots__ = ("has_doubles", "has_marks", "least", "most")

    def __init__(self, obj: JSONObject) -> None:
        self.has_doubles = False
        self.has_marks = False
        self.least = 0
        self.most = 0
        if COMPILED:
            self._walk(obj, MAX_LEVELS)
            return
        for name in _MAPS_OF_TEXTS:
            texts = obj.get(name)
            # Of such a map names are looked at: what they lead to may be long.
            if isinstance(texts, dict) and {*map(type, texts.values())} == _TEXTS:
                length = sum(map(len, cast("dict[str, str]", texts).values()))
                self.least += length
                self.most += 6 * length
                obj = {**obj, name: [*texts]}
        self.has_doubles = True
        try:
            text = encode(obj)
        except SmpError:
            self.has_marks = True
            return
        # A double of Go may have fewer bytes: 1 for 1.0.
        self.least += len(text) // 2
        self.most += 6 * len(text)
        # One byte is found many times faster than two, and is rare.
        has_dollar = b"$" in text and b'"$' in text
        self.has_marks = has_dollar or b":null" in text

    def _walk(self, value: object, levels: int) -> None:
        if not levels:
            raise RecursionError
        length = 0
        if isinstance(value, dict):
            # With quotes and separators; a number may have as many digits as memory.
            self.most += 40 * len(value) + 8
            for name, member in value.items():
                # What is no string is an error of those who look at it.
                if isinstance(name, str):
                    length += len(name)
                    if name.startswith("$"):
                        self.has_marks = True
                if isinstance(member, str):
                    length += len(member)
                elif member is None:
                    self.has_marks = True
                elif isinstance(member, (dict, list)):
                    self._walk(member, levels - 1)
                elif isinstance(member, float):
                    self.has_doubles = True
        elif isinstance(value, list):
            self.most += 40 * len(value) + 8
            for element in value:
                if isinstance(element, str):
                    length += len(element)
                elif isinstance(element, (dict, list)):
                    self._walk(element, levels - 1)
                elif isinstance(element, float):
                    self.has_doubles = True
        self.least += length
        # Each character may be escaped.
        self.most += 6 * length


def has_unique_keys(obj: JSONObject, schema: Schema, equal: Known) -> bool:
    """Tell whether no merge list of an object has a hazard; False also if unsure.

    What is in ``equal`` (see strategic.ComputedPatch) is looked at in another object.
    Raises RecursionError.
    """
    routes = schema.types.plans.get(_ROUTES)
    if not isinstance(routes, Routes):
        routes = Routes(plan_of(schema.types, _INTERESTS))
        schema.types.plans[_ROUTES] = routes
    try:
        return _is_clear(obj, schema.type, routes, equal, MAX_LEVELS)
    except SchemaError:
        # The walk raises it with the path, if it comes to the type.
        return False


def _is_clear(
    obj: JSONObject, type_: Type, routes: Routes, equal: Known, levels: int
) -> bool:
    if not levels:
        raise RecursionError
    onward = routes.of(type_)
    if onward is None:
        return False
    for route in onward:
        value = obj.get(route.name)
        if not value or (equal and id(value) in equal):
            continue
        if isinstance(value, dict):
            if route.is_list or route.type is None:
                return False
            if not _is_clear(value, route.type, routes, equal, levels - 1):
                return False
        elif not isinstance(value, list) or not route.is_list:
            return False
        else:
            if route.is_merge_list and not _are_unique(value, route.merge_key):
                return False
            if route.type is None:
                continue
            for element in value:
                if equal and id(element) in equal:
                    continue
                if not isinstance(element, dict):
                    return False
                if not _is_clear(element, route.type, routes, equal, levels - 1):
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


def list_hazards(obj: JSONObject, schema: Schema, source: Input) -> list[Hazard]:
    """Return the hazards of the merge lists of an object."""
    if has_unique_keys(obj, schema, {}):
        return []
    rule = _KeyRule(source)
    Walk(plan_of(schema.types, _INTERESTS), [rule]).run(ABSENT, obj, schema.type)
    return rule.hazards


def annotation_hazards(obj: JSONObject, schema: Schema, source: Input) -> list[Hazard]:
    """Return a hazard where an annotation counts instead of a field."""
    pair = ANNOTATION_PAIRS.get(schema.kind)
    if pair is None:
        return []
    value = annotations_of(obj).get(pair.annotation)
    field = as_object(obj.get("spec")).get(pair.field)
    if value is None or field is None or value == field:
        return []
    return [
        hazard(
            "annotation-and-field",
            Path(("metadata", "annotations", pair.annotation)),
            source,
            annotation=pair.annotation,
            field=f"spec.{pair.field}",
            why=pair.sentence,
            rule=pair.rule,
        )
    ]


class Marks:
    """Finds nulls in a manifest, and names of directives, outside opaque JSON."""

    def __init__(self, source: Input) -> None:
        self.hazards: list[Hazard] = []
        self._source = source

    def value(
        self, value: JSON, type_: Type, path: Path, levels: int = MAX_LEVELS
    ) -> None:
        """Look at a value. Raises RecursionError."""
        if not levels:
            raise RecursionError
        if type_.stored is RAW:
            return
        if isinstance(value, dict):
            for name, member in value.items():
                if is_directive(name):
                    self._add("directive-in-object", path / name)
                elif isinstance(member, (dict, list)):
                    below = type_.stored_member(name)
                    self.value(member, below, path / name, levels - 1)
                # Generators write the time, and a server sets it itself.
                elif (
                    member is None
                    and self._source == "manifest"
                    and name != "creationTimestamp"
                ):
                    self._add("null", path / name)
        elif isinstance(value, list):
            for index, element in enumerate(value):
                below = type_.stored_element()
                self.value(element, below, path / index, levels - 1)

    def _add(self, code: str, path: Path) -> None:
        if len(self.hazards) < _MOST:
            self.hazards.append(hazard(code, path, self._source))


def directive_hazards(obj: JSONObject, source: Input, schema: Schema) -> list[Hazard]:
    """Return the hazards of names of directives in an object that is no manifest."""
    if not Look(obj).has_marks:
        return []
    marks = Marks(source)
    marks.value(obj, schema.type, Path())
    return marks.hazards


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
            identities = {identity_of(each, field) for each in same_key}
            if others and len(identities) == len(same_key):
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
