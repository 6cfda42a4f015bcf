"""The rules for a definition as a table, and the places that it is asked about.

The table is smp/schema/bundled/definition_rules.json. Each part names the functions of
k8s.io/apiextensions-apiserver that it is from, and each row is a rule::

    {"at": "items", "refuse": "required", "detail": "must be specified",
     "when": ["type=array", "items!={}"]}

``at`` is what is refused, ``refuse`` how, and ``detail`` are the words, or the values
that are allowed there. All of ``when`` have to hold:

======================  ==============================================================
``a``  ``!a``           the member is stated, or not, as Go sees it: false is not
``a?``  ``!a?``         it is there, or not
``a=b|c``  ``a!=b|c``   its text is one of these, or none; ``{}`` is an object, ``[]``
                        a list, ``.a.*`` what begins so, and nothing one that is absent
``blank:a``             its text has blanks alone
``lines:a``             its text has line breaks, but at its ends
``is:a``                what ``SchemaPlace.has`` tells of the place
======================  ==============================================================

A slash leads to a member of a member.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final, Literal, TypeAlias

import msgspec

from smp._values.values import JSON, JSONObject, as_list, as_object, as_text
from smp.custom_resources._patterns import compile_pattern, is_installed
from smp.paths import Key, Path
from smp.schema.bundle import read_bundled_table
from smp.violations import Violation, forbidden, invalid, require, unsupported

PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
INT_OR_STRING: Final = "x-kubernetes-int-or-string"
EMBEDDED: Final = "x-kubernetes-embedded-resource"
LIST_TYPE: Final = "x-kubernetes-list-type"
MAP_TYPE: Final = "x-kubernetes-map-type"
_POINTERS: Final = frozenset({LIST_TYPE, MAP_TYPE})
_OF_RESOURCES: Final = ("apiVersion", "kind", "metadata")
_BRANCHES: Final = ("allOf", "oneOf", "anyOf")
_OF_CONDITIONS: Final = frozenset({"not", *_BRANCHES})
_NAMING: Final = ("properties", *_BRANCHES)
_MAPS: Final = ("properties", "patternProperties", "definitions")

Condition: TypeAlias = "Callable[[SchemaPlace], bool]"


class SchemaPlace(msgspec.Struct, frozen=True):
    """A schema in a definition, or another object in it, and what holds there.

    ``keyword`` is that of the schema around it, empty at the root, and ``name`` the
    property or the index below that. ``in_metadata`` is true below the metadata of a
    resource, ``uncorrelated`` is the path of the outermost list above whose elements
    have no old values, and ``no_default`` says why there may be no default.
    """

    schema: JSONObject
    path: Path
    keyword: str = ""
    name: str | int = ""
    in_metadata: bool = False
    no_default: str = ""
    uncorrelated: Path | None = None

    @property
    def is_root(self) -> bool:
        """Whether it is the schema of whole objects."""
        return not self.keyword

    @property
    def is_condition(self) -> bool:
        """Whether it restricts values, and does not state what they are."""
        return self.keyword in _OF_CONDITIONS

    @property
    def is_resource(self) -> bool:
        """Whether its values have apiVersion, kind and metadata."""
        return self.is_root or self.flag(EMBEDDED)

    def text(self, name: str) -> str:
        """Return a keyword that is a text."""
        return as_text(self.schema.get(name))

    def flag(self, name: str) -> bool:
        """Tell whether a keyword is true."""
        return self.schema.get(name) is True

    def states(self, name: str) -> bool:
        """Tell whether a keyword is not what it is in Go where it is absent."""
        value = self.schema.get(name)
        # Go has a pointer to its text.
        if name in _POINTERS:
            return value is not None
        if value is None or value is False or value in ("", []):
            return False
        return value != {} or name not in _MAPS

    @property
    def items(self) -> SchemaPlace:
        """The schema of the elements."""
        return SchemaPlace(as_object(self.schema.get("items")), self.path / "items")

    def is_list(self, *types: str) -> bool:
        """Tell whether it is of one of the list types, with one schema of elements."""
        has_items = isinstance(self.schema.get("items"), dict)
        return has_items and self.text(LIST_TYPE) in types

    def inner(self) -> Iterator[SchemaPlace]:
        """Yield the schemas directly in it, with what holds there."""
        others = self.schema.get("additionalProperties")
        if isinstance(others, dict):
            reason = self.no_default
            if self.in_metadata:
                reason = "inside additionalProperties applying to object metadata"
            yield self._part(others, "additionalProperties", no_default=reason)
        for name, node in as_object(self.schema.get("properties")).items():
            is_metadata = self.is_resource and name in _OF_RESOURCES
            reason = self.no_default
            if is_metadata and self.is_root:
                reason = f"in top-level {name}"
            yield self._part(
                as_object(node),
                "properties",
                name,
                no_default=reason,
                in_metadata=self.in_metadata or is_metadata,
            )
        if isinstance(self.schema.get("items"), dict):
            # Only elements of a list of type map have old values.
            uncorrelated = self.uncorrelated
            if uncorrelated is None and self.text(LIST_TYPE) != "map":
                uncorrelated = self.path
            yield self._part(
                as_object(self.schema["items"]),
                "items",
                uncorrelated=uncorrelated,
            )
        yield from self.conditions()

    def conditions(self) -> Iterator[SchemaPlace]:
        """Yield the schemas below ``not``, ``allOf``, ``oneOf`` and ``anyOf``."""
        if isinstance(self.schema.get("not"), dict):
            yield self._part(as_object(self.schema["not"]), "not")
        for keyword in _BRANCHES:
            for index, node in enumerate(as_list(self.schema.get(keyword))):
                yield self._part(as_object(node), keyword, index)

    def _part(
        self, schema: JSONObject, keyword: str, name: str | int = "", **changed: Any
    ) -> SchemaPlace:
        path = self.path / keyword
        if keyword in _NAMING:
            path /= Key(name) if isinstance(name, str) else name
        part = {"schema": schema, "path": path, "keyword": keyword, "name": name}
        return msgspec.structs.replace(self, **part, **changed)

    def value_at(self, at: str) -> JSON:
        """Return the value of a member, or of one in it; null for none."""
        value: JSON = self.schema
        for step in at.split("/"):
            value = as_object(value).get(step)
        return value

    def has(self, name: str) -> bool:
        """Tell what a table asks of the place by a name."""
        match name:
            case "root":
                return self.is_root
            case "resource":
                return self.is_resource
            case "items":
                return self.keyword == "items"
            case "field":
                return self.keyword in ("additionalProperties", "properties")
            case "metadata":
                return self.in_metadata
            case "fixed":
                return bool(self.no_default)
            case "untyped":
                free = (EMBEDDED, INT_OR_STRING, PRESERVE)
                return not self.text("type") and not any(map(self.flag, free))
            case "restricting":
                return self._restricts_metadata()
        # Without RE2 no pattern is malformed.
        pattern = self.text("pattern")
        return bool(pattern) and is_installed() and compile_pattern(pattern) is None

    def _restricts_metadata(self) -> bool:
        """Tell whether metadata is more than name and generateName."""
        path = "properties/metadata"
        metadata = SchemaPlace(as_object(self.value_at(path)), self.path)
        stated = {name for name in metadata.schema if metadata.states(name)}
        stated -= {"type", "default"}
        names = as_object(metadata.schema.get("properties")).keys()
        if names <= {"name", "generateName"}:
            stated.discard("properties")
        return bool(stated)

    def refusals(self, part: str) -> Iterator[Violation]:
        """Yield what the rows of a part of the table refuse."""
        for row, conditions in _rows()[part]:
            if all(holds(self) for holds in conditions):
                yield row.violation(self)


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rule of the table."""

    at: str
    refuse: Literal["forbidden", "invalid", "required", "unsupported"]
    detail: str | tuple[str, ...]
    when: tuple[str, ...]

    def violation(self, place: SchemaPlace) -> Violation:
        """Make the violation of what stands at a place."""
        path = place.path
        for step in self.at.split("/"):
            is_named = path.steps[-1] == "properties" and path != place.path
            path /= Key(step) if is_named else step
        value = place.value_at(self.at)
        if not isinstance(self.detail, str):
            return unsupported(path, value, self.detail)
        match self.refuse:
            case "forbidden":
                return forbidden(path, self.detail)
            case "required":
                return require(path, self.detail)
        return invalid(path, value, self.detail)


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rows of one kind of place, and the functions of Go that they are from."""

    go: str
    rows: tuple[Row, ...]


@cache
def _rows() -> dict[str, list[tuple[Row, list[Condition]]]]:
    parts = read_bundled_table("definition_rules.json", dict[str, Part])
    return {
        name: [(row, [_condition(text) for text in row.when]) for row in part.rows]
        for name, part in parts.items()
    }


def _condition(text: str) -> Condition:
    kind, colon, name = text.partition(":")
    if colon and kind == "is":
        return lambda place: place.has(name)
    if colon and kind == "blank":
        return lambda place: not as_text(place.value_at(name)).strip()
    if colon and kind == "lines":
        return lambda place: (
            not {"\n", "\r"}.isdisjoint(as_text(place.value_at(name)).strip())
        )
    at, equals, allowed = text.partition("=")
    if equals:
        is_one = not at.endswith("!")
        at, patterns = at.removesuffix("!"), allowed.split("|")
        return lambda place: _is_one(place.value_at(at), patterns) is is_one
    is_there = not text.startswith("!")
    at = text.removeprefix("!")
    if at.endswith("?"):
        member = at.removesuffix("?")
        return lambda place: (place.value_at(member) is not None) is is_there
    parent, _, last = at.rpartition("/")
    return lambda place: _states(place, parent, last) is is_there


def _states(place: SchemaPlace, parent: str, name: str) -> bool:
    obj = as_object(place.value_at(parent)) if parent else place.schema
    return SchemaPlace(obj, place.path).states(name)


def _is_one(value: JSON, patterns: list[str]) -> bool:
    if isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, dict | list):
        text = "{}" if isinstance(value, dict) else "[]"
    else:
        text = as_text(value)
    return any(
        text.startswith(pattern[:-1]) if pattern.endswith(".*") else text == pattern
        for pattern in patterns
    )
