"""Paths into a document, and how they are written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol, TypeAlias, TypeVar

import msgspec

from smp._values.values import (
    ABSENT,
    JSON,
    Absent,
    JSONArray,
    JSONObject,
    as_list,
    as_object,
    number_text,
    same,
)

# What makes a name hard to tell from the rest of a path.
_SPECIAL: Final = frozenset(".[]/= ")
# The last character there is.
_LAST: Final = "\U0010ffff"


class Element(msgspec.Struct, frozen=True):
    """A step into an element of a merge list, by its index and its patch merge key."""

    index: int
    merge_key: str
    value: Any

    def __str__(self) -> str:
        return f"[{self.merge_key}={_key_text(self.value)}]"


class KeyedElement(msgspec.Struct, frozen=True):
    """A step into an element of a list of type map, by the values of its map keys.

    The keys are in the order of their names, as in managed fields.
    """

    keys: tuple[tuple[str, Any], ...]

    def __str__(self) -> str:
        keys = [f"{name}={_key_text(value)}" for name, value in self.keys]
        return f"[{','.join(keys)}]"


class SetElement(msgspec.Struct, frozen=True):
    """A step into an element of a list of type set, by its value."""

    value: Any

    def __str__(self) -> str:
        return f"[={_key_text(self.value)}]"


class Key(str):
    """The name of a step that is always in brackets, a key (Go: field.Path.Key)."""

    __slots__ = ()


class DottedName(str):
    """A name that a server prints behind a period, whatever is in it.

    Go: kube-openapi, validation/validate, objectValidator.
    """

    __slots__ = ()


Step: TypeAlias = str | int | Element | KeyedElement | SetElement


class Path(msgspec.Struct, frozen=True):
    """A path from the root of a document.

    A step is the name of a field, an index of a list, or an element: of a merge list,
    or as managed fields name those of a list of type map or set, which have no index.
    """

    steps: tuple[Step, ...] = ()

    def __truediv__(self, step: Step) -> Path:
        return Path((*self.steps, step))

    def under(self, step: Step) -> Path:
        """Return this path as seen from one level further up."""
        return Path((step, *self.steps))

    @property
    def order(self) -> tuple[str, ...]:
        """What paths are sorted by: names by the alphabet, elements by their index.

        Nothing that is said of an object depends on the order of its keys.
        """
        # Almost all steps are plain names.
        return tuple(
            [step if type(step) is str else _place_of(step) for step in self.steps]
        )

    @property
    def pointer(self) -> str:
        """The path as a JSON Pointer (RFC 6901).

        Raises ValueError for an element without an index.
        """
        return "".join(f"/{_escape(step)}" for step in self.steps)

    @property
    def by_index(self) -> Path:
        """The path with the index of each element, as an API server prints it."""
        steps = [
            step.index if isinstance(step, Element) else step for step in self.steps
        ]
        return Path(tuple(steps))

    @property
    def decoded(self) -> str:
        """The path as a strict decoder of an API server prints it.

        No name is in brackets. Go: sigs.k8s.io/json, internal/golang/encoding/json,
        decodeState.appendStrictFieldStackKey.
        """
        steps = self.by_index.steps
        texts = []
        for step in steps:
            if isinstance(step, int):
                texts.append(f"[{step}]")
            elif isinstance(step, str):
                texts.append(f".{step}")
            else:
                texts.append(str(step))
        return "".join(texts).removeprefix(".")

    def __str__(self) -> str:
        """Render as ``spec.containers[name=app].env``; the root is the empty string."""
        return "".join(_readable(step) for step in self.steps).removeprefix(".")


class _HasPath(Protocol):
    @property
    def path(self) -> Path: ...


_Found = TypeVar("_Found", bound=_HasPath)


def sort_by_path(found: Sequence[_Found]) -> tuple[_Found, ...]:
    """Return findings in the order of their paths; those of one path as they came."""
    if len(found) < 2:  # noqa: PLR2004  # most often nothing is found
        return tuple(found)
    return tuple(sorted(found, key=lambda each: each.path.order))


def index_of(step: Step, elements: JSONArray) -> int:
    """Return the index of an element of a list; behind the last one if it is missing.

    An element is found by its keys, or its value, whatever its index was.
    """
    if isinstance(step, int):
        return step
    for index, element in enumerate(elements):
        if _is_at(step, element):
            return index
    return len(elements)


def _is_at(step: Step, element: JSON) -> bool:
    members = as_object(element)
    if isinstance(step, Element):
        return same(members.get(step.merge_key, ABSENT), step.value)
    if isinstance(step, KeyedElement):
        return all(same(members.get(name, ABSENT), key) for name, key in step.keys)
    return isinstance(step, SetElement) and same(element, step.value)


def value_at(obj: JSON, path: Path) -> JSON | Absent:
    """Return the value at a path, where elements of lists are found by their keys."""
    value = obj
    for step in path.steps:
        if isinstance(step, str):
            members = as_object(value)
            if step not in members:
                return ABSENT
            value = members[step]
        else:
            elements = as_list(value)
            index = index_of(step, elements)
            if index >= len(elements):
                return ABSENT
            value = elements[index]
    return value


def edited(obj: JSONObject, path: Path, value: JSON | Absent) -> JSONObject:
    """Return an object with a value at a path, or without it where that is ABSENT."""
    changed = _edit(obj, path.steps, value)
    return as_object(changed)


def _edit(current: JSON, steps: tuple[Step, ...], value: JSON | Absent) -> JSON:
    step, rest = steps[0], steps[1:]
    if isinstance(step, str):
        members = {**as_object(current)}
        if rest:
            inner = members.get(step)
            # Where there is nothing above it, there is nothing to leave out.
            if inner is None and value is ABSENT:
                return current
            members[step] = _edit(inner, rest, value)
        elif isinstance(value, Absent):
            members.pop(step, None)
        else:
            members[step] = value
        return members
    elements: JSONArray = [*as_list(current)]
    index = index_of(step, elements)
    if not rest:
        if isinstance(value, Absent):
            del elements[index : index + 1]
        else:
            elements[index : index + 1] = [value]
        return elements
    if index < len(elements):
        elements[index] = _edit(elements[index], rest, value)
    elif value is not ABSENT and isinstance(step, (Element, KeyedElement)):
        keys = (
            step.keys
            if isinstance(step, KeyedElement)
            else [(step.merge_key, step.value)]
        )
        elements.append(_edit(dict(keys), rest, value))
    return elements


def _place_of(step: Step) -> str:
    """Return a text by which a step is sorted, see Path.order.

    Those with an index come behind all names, and those without one behind these.
    """
    if isinstance(step, str):
        return step
    if isinstance(step, int):
        return f"{_LAST}{step:012}"
    if isinstance(step, Element):
        value = step.value
        key = value if isinstance(value, str) else str(step)
        return f"{_LAST}{step.index:012}{key}"
    return f"{_LAST}{_LAST}{step}"


def _readable(step: Step) -> str:
    # Almost all steps are plain names.
    if type(step) is str and step and _SPECIAL.isdisjoint(step):
        return f".{step}"
    if isinstance(step, (Element, KeyedElement, SetElement)):
        return str(step)
    if isinstance(step, int):
        return f"[{number_text(step)}]"
    if isinstance(step, DottedName):
        return f".{step}"
    # A name with dots or brackets (an annotation) is bracketed, so that the path stays
    # readable. So is a name that is no string, of an object that is no JSON.
    return f"[{step}]"


def _key_text(value: JSON) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return number_text(value)
    return "null" if value is None else str(value)


def _escape(step: Step) -> str:
    if isinstance(step, Element):
        return str(step.index)
    if isinstance(step, (KeyedElement, SetElement)):
        # Not a wrong type: another path of the same type has a pointer.
        raise ValueError(f"{step} has no index, so no JSON Pointer leads to it")  # noqa: TRY004
    return escape_pointer(str(step))


def escape_pointer(name: str) -> str:
    """Return a name as a JSON Pointer has it (RFC 6901, section 3)."""
    # "~" is escaped first, so that "/" does not become "~01".
    return name.replace("~", "~0").replace("/", "~1")


def unescape_pointer(token: str) -> str:
    """Return the name that a part of a JSON Pointer means (RFC 6901, section 4)."""
    # "~1" first, so that "~01" becomes "~1".
    return token.replace("~1", "/").replace("~0", "~")
