"""The hazards that one object has on its own.

``hazards_in`` asks two things of an object. A rule on the walk (smp.schema.walk) looks
at the merge lists: which keys stand for several elements? A ``Scan``, which needs no
schema, looks for nulls and for the names of directives, and counts characters.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from typing import Final, cast

from smp.codec import encode
from smp.errors import SmpError
from smp.hazards._hazard import Hazard, Input, hazard
from smp.hazards._pairs import ANNOTATION_PAIRS
from smp.paths import Element, Path
from smp.schema.model import Field, ListType, ObjectType, ScalarType, Schema, Type
from smp.schema.plan import Interest, Interests, plan_of
from smp.schema.walk import Key, KeyIndex, Place, Rule, Walk, key_of
from smp.strategic import is_directive
from smp.values import (
    ABSENT,
    JSON,
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
        # A merge list without a merge key is one of scalars, such as finalizers.
        fields = [
            field
            for field in type_
            if field.merges
            and (field.merge_key or isinstance(field.type.items, ScalarType))
        ]
        return fields or None


_INTERESTS: Final = Interests(
    MergeListInterest("merge lists"), merge_keys=True, map_keys=False
)


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
    def of(cls, obj: JSONObject) -> Scan:
        """Scan an object. Raises RecursionError."""
        scan = cls()
        # Its text shows whether there is anything, faster than a walk.
        try:
            text = encode(obj)
        except SmpError:
            scan._find(obj, Path())
            return scan
        scan.characters = len(text)
        if b"null" in text or b'"$' in text:
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
                elif not _has_unique_keys(elements, field.merge_key):
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


def _has_unique_keys(elements: JSONArray, merge_key: str) -> bool:
    """Tell whether all elements have a text or an integer for a key, each another."""
    keys: set[str | int] = set()
    for element in elements:
        if not isinstance(element, dict):
            return False
        key = element.get(merge_key)
        # A boolean is an integer to Python, and equals one.
        if not isinstance(key, (str, int)) or isinstance(key, bool):
            return False
        keys.add(key)
    return len(keys) == len(elements)
