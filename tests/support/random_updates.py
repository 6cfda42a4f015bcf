"""Updates as people make them: one to three fields of a stored object are others.

What a field becomes is valid alone: a value that another object has there, another
value of its enum, a number beside it, a list with an element more or less, or nothing.
Whether the object may become that is for a server to say.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from random import Random
from typing import Final

import smp
from smp._values.values import JSON, JSONObject, as_object, same
from smp.schema.model import ListType, ObjectType, ScalarType, Type
from tests.support.typed_objects import VERSION

_ATTEMPTS: Final = 50
_UNCHANGED: Final = ("apiVersion", "kind", "metadata", "status")
_METADATA: Final = ("annotations", "finalizers", "labels")


class UpdateMaker:
    """Draws updates, with the values of known objects."""

    def __init__(self, known: Iterable[JSONObject], seed: str) -> None:
        self.random = Random(seed)
        self._values: dict[tuple[str, str], list[JSON]] = defaultdict(list)
        for obj in known:
            self._learn(obj, smp.kubernetes(VERSION).schema_of(obj).type)

    def _learn(self, value: JSON, type_: Type) -> None:
        if isinstance(value, list):
            for element in value:
                self._learn(element, type_.items)
        elif isinstance(value, dict) and isinstance(type_, ObjectType):
            for name, member in value.items():
                field = type_.field(name)
                if field is not None:
                    self._values[type_.name, name].append(member)
                    self._learn(member, field.type)

    def update(self, live: JSONObject) -> JSONObject:
        """Return what a live object becomes."""
        type_ = smp.kubernetes(VERSION).schema_of(live).type
        new = live
        for _ in range(self.random.choice((1, 1, 1, 2, 3))):
            for _ in range(_ATTEMPTS):
                changed = as_object(self._changed(new, type_, top=True))
                if not same(changed, new):
                    new = changed
                    break
        return new

    def _changed(self, value: JSON, type_: Type, *, top: bool = False) -> JSON:
        """Return a value that is another in one place."""
        if isinstance(value, list):
            return self._changed_list(value, type_)
        if isinstance(value, dict) and isinstance(type_, ObjectType):
            return self._changed_object(value, type_, top=top)
        return self._other(value, type_, [])

    def _changed_list(self, value: list[JSON], type_: Type) -> JSON:
        at = self.random.randrange(len(value) + 1)
        if at == len(value):
            extra = self._changed(value[-1], type_.items) if value else "a"
            return [*value, extra] if value else value
        match self.random.randrange(6):
            case 0:
                return [*value[:at], *value[at + 1 :]]
            case 1:
                return [*value[::-1]]
        changed = self._changed(value[at], type_.items)
        return [*value[:at], changed, *value[at + 1 :]]

    def _changed_object(
        self, value: JSONObject, type_: ObjectType, *, top: bool
    ) -> JSON:
        if type_.others is not None and not type_.structured:
            name = self.random.choice(["added", *value])
            member = self._other(value.get(name, "1"), type_.others.type, [])
            return {**value, name: member}
        names = [field.name for field in type_]
        if top:
            names = [name for name in names if name not in _UNCHANGED]
            names += ["metadata"] if self.random.random() < 0.1 else []
        if type_.name.endswith(".ObjectMeta"):
            names = [name for name in names if name in _METADATA]
        present = [name for name in names if name in value]
        absent = [name for name in names if name not in value]
        known = present if present and self.random.random() < 0.75 else absent
        if not known:
            return value
        name = self.random.choice(known)
        field = type_.field(name)
        assert field is not None
        others = self._values[type_.name, name]
        if name not in value:
            if name.endswith(("Time", "imestamp")) and not others:
                return value
            added = self._other(None, field.type, others)
            return value if added is None else {**value, name: added}
        is_composite = isinstance(value[name], (dict, list)) and value[name]
        if is_composite and (top or self.random.random() < 0.7):
            return {**value, name: self._changed(value[name], field.type)}
        if self.random.random() < 0.3:
            return {key: member for key, member in value.items() if key != name}
        return {**value, name: self._other(value[name], field.type, others)}

    def _other(self, value: JSON, type_: Type, others: list[JSON]) -> JSON:
        """Return another value of a type, or the value where there is none."""
        differing = [other for other in others if not same(other, value)]
        if isinstance(type_, ScalarType) and type_.enum:
            differing = [allowed for allowed in type_.enum if not same(allowed, value)]
        if differing and self.random.random() < 0.7:
            return self.random.choice(differing)
        is_text = isinstance(type_, ScalarType) and type_.name == "string"
        if isinstance(value, bool):
            return not value
        if isinstance(value, int):
            return value + self.random.choice((-1, 1))
        if isinstance(value, str):
            return _other_text(value)
        if isinstance(type_, ScalarType) and type_.name == "boolean":
            return self.random.choice((True, False))
        if isinstance(type_, ScalarType) and type_.name == "integer":
            return 5
        return "a" if is_text else value


def emptied(live: JSONObject) -> list[JSONObject]:
    """Return an object with the zero value in each field, in turn, that it lacks.

    In Go these are nil, and what a pointer leads to, or nothing at all.
    """
    type_ = smp.kubernetes(VERSION).schema_of(live).type
    return [as_object(new) for new in _emptied(live, type_, top=True)]


_ZEROS: Final[dict[str, JSON]] = {"integer": 0, "boolean": False, "int-or-string": 0}


def _zero(type_: Type) -> JSON:
    if isinstance(type_, ScalarType):
        return _ZEROS.get(type_.name, "")
    return [] if isinstance(type_, ListType) else {}


def _emptied(value: JSON, type_: Type, *, top: bool = False) -> Iterator[JSON]:
    if isinstance(value, list):
        for index, element in enumerate(value):
            for new in _emptied(element, type_.items):
                yield [*value[:index], new, *value[index + 1 :]]
    elif isinstance(value, dict) and isinstance(type_, ObjectType) and type_.structured:
        for field in type_:
            if top and field.name in _UNCHANGED:
                continue
            if field.name not in value:
                yield {**value, field.name: _zero(field.type)}
            else:
                for new in _emptied(value[field.name], field.type):
                    yield {**value, field.name: new}


def _other_text(text: str) -> str:
    """Return a text of the same form: a number, base64, or a name."""
    if text[:1].isdigit():
        return re.sub(r"^\d", lambda digit: str(int(digit[0]) % 9 + 1), text)
    if text.endswith("="):
        return "Mg=="
    return f"{text}2" if text[-1:].isalnum() else f"a{text}"
