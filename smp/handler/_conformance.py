"""Whether an object conforms to its schema: types, unknown fields, nulls.

An API server decodes what it is given into Go types, or checks it against the
structural schema of a custom resource; this is one walk that finds what either would.
What an update shares with the old object is not judged again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import chain, repeat
from operator import is_
from typing import Final

from smp.paths import Path
from smp.schema.model import AnyType, Field, ListType, ObjectType, ScalarType, Type
from smp.values import ABSENT, JSON, Absent, JSONArray, JSONObject, as_list, type_name


@dataclass(frozen=True, slots=True)
class Misfit:
    """A value of another type than the schema's."""

    path: Path
    found: str
    wanted: str


def _is_integer(value: JSON) -> bool:
    return type(value) is int and -(2**63) <= value < 2**63


_FITS: Final[dict[str, Callable[[JSON], bool]]] = {
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": _is_integer,
    "number": lambda value: type(value) in (int, float),
    "int-or-string": lambda value: isinstance(value, str) or _is_integer(value),
}
_QUANTITY: Final = ".Quantity"  # published as int-or-string; a server also reads 0.5
_UNTYPED: Final = (
    ".JSON",
    ".JSONSchemaPropsOrArray",
    ".JSONSchemaPropsOrBool",
    ".JSONSchemaPropsOrStringArray",
)


@dataclass(slots=True)
class Conformance:
    """One walk along an object and its types, past what it shares with the old one.

    Without ``prunes`` unknown fields and nulls stay; with ``keeps_nulls`` only nulls
    do. What it finds: the paths of ``unknown`` fields, and ``misfits``.
    """

    prunes: bool
    keeps_nulls: bool
    unknown: list[Path] = field(default_factory=list)
    misfits: list[Misfit] = field(default_factory=list)

    def object(
        self, new: JSONObject, old: JSON | Absent, known: Type, path: Path
    ) -> JSONObject:
        """Return the object without what a server would drop; the object itself where
        that is nothing.
        """
        before = old if isinstance(old, dict) else {}
        kept: JSONObject = {}
        for name, value in new.items():
            was = before.get(name, ABSENT)
            below = known.field(name) if value is not was else None
            if value is was or (below is None and not self._drops_unknown(path / name)):
                kept[name] = value
            elif below is not None and not self._drops_null(value, below):
                kept[name] = self._value(value, was, below, path / name)
        return (
            new
            if len(kept) == len(new) and all(map(is_, kept.values(), new.values()))
            else kept
        )

    def _drops_unknown(self, path: Path) -> bool:
        self.unknown.append(path)
        return self.prunes

    def _drops_null(self, value: JSON, known: Field) -> bool:
        return (
            value is None
            and self.prunes
            and not self.keeps_nulls
            and not isinstance(known.type, AnyType)
        )

    def _value(self, value: JSON, was: JSON | Absent, known: Field, path: Path) -> JSON:
        if isinstance(known.type, ScalarType) and value is not None:
            quantity = known.reference.endswith(_QUANTITY) and type(value) is float
            self._check(
                quantity or _FITS[known.type.name](value), value, known.type.name, path
            )
            return value
        return value if value is None else self._structure(value, was, known.type, path)

    def _structure(
        self, value: JSON, was: JSON | Absent, known: Type, path: Path
    ) -> JSON:
        if (
            isinstance(known, ObjectType)
            and isinstance(value, dict)
            and not _declares_nothing(known)
        ):
            return self.object(value, was, known, path)
        if isinstance(known, ListType) and isinstance(value, list):
            return self._list(value, as_list(was), known.items, path)
        wanted = _structure_of(known)
        self._check(wanted in ("", type_name(value)), value, wanted, path)
        return value

    def _list(
        self, new: JSONArray, old: JSONArray, items: Type, path: Path
    ) -> JSONArray:
        known = {id(element) for element in old if isinstance(element, dict | list)}
        places = enumerate(zip(new, chain(old, repeat(ABSENT)), strict=False))
        kept = [
            element
            if id(element) in known
            else self._element(element, was, items, path / index)
            for index, (element, was) in places
        ]
        return new if all(map(is_, kept, new)) else kept

    def _element(
        self, element: JSON, was: JSON | Absent, items: Type, path: Path
    ) -> JSON:
        if isinstance(items, ScalarType):
            self._check(
                element is was or _FITS[items.name](element), element, items.name, path
            )
            return element
        return self._structure(element, was, items, path)

    def _check(self, fits: bool, value: JSON, wanted: str, path: Path) -> None:
        if not fits:
            self.misfits.append(Misfit(path, _found(value), wanted))


def _declares_nothing(known: Type) -> bool:
    """Tell whether a named type is published without fields, such as RawExtension and
    FieldsV1: it is free-form.
    """
    return (
        isinstance(known, ObjectType)
        and bool(known.name)
        and known.others is None
        and not any(True for _ in known)
    )


def _structure_of(known: Type) -> str:
    """Name the structure that a type asks for; the empty string where any will do."""
    if isinstance(known, ListType):
        return "array"
    return (
        "object"
        if isinstance(known, ObjectType) and not known.name.endswith(_UNTYPED)
        else ""
    )


def _found(value: JSON) -> str:
    return f"number {value}"[:40] if type(value) in (int, float) else type_name(value)
