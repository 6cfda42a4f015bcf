"""The path elements of managed fields, as text: ``f:spec``, ``k:{"name":"app"}``.

A field set holds them as the text that structured-merge-diff prints for them. So two
path elements are equal where their texts are, and all work on sets is work on strings.
The text also has Go's equality of values: ``1`` and ``1.0`` are one number, which is
neither ``true`` nor ``"1"`` (Go: value.Equals). Integers keep their digits, where Go
reads those of fieldsV1 as doubles and loses the last ones beyond 2**53.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from decimal import Decimal
from heapq import merge
from typing import Final, TypeAlias

from smp._values import codec
from smp._values.text_cache import TextCache
from smp._values.values import JSON, LONGEST_NUMBER, number_text, type_name
from smp.errors import DocumentError, ObjectError, SmpError
from smp.paths import Element, KeyedElement, Path, SetElement, Step

_FIELD: Final = "f:"
_KEYS: Final = "k:"
_VALUE: Final = "v:"
_INDEX: Final = "i:"
# How an element begins that is keyed by its name, and how many quotes it has.
_NAME: Final = 'k:{"name":"'
_QUOTES: Final = 4

# Go: strconv.Atoi.
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_LARGEST: Final = 2**63
# While a list is sorted no other thread runs. This takes some milliseconds.
_MOST_SORTED: Final = 10_000
# Within these, Go prints a double without an exponent (jsoniter: WriteFloat64).
_SMALL: Final = 1e-6
_LARGE: Final = 1e21

_SHORT_ESCAPES: Final = {
    '"': '\\"',
    "\\": "\\\\",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
}
_ESCAPED: Final = re.compile(r'[\x00-\x1f"\\]')
# In values, jsoniter escapes what is unsafe in HTML and JavaScript as well.
_ESCAPED_IN_VALUE: Final = re.compile(r'[\x00-\x1f"\\<>&\u2028\u2029]')

_Order: TypeAlias = "tuple[object, ...]"


def field_element(name: str) -> str:
    """Return the path element of a field."""
    return _FIELD + name


def key_element(keys: Mapping[str, JSON]) -> str:
    """Return the path element of an element of a list of type map."""
    members = [f"{quote(name)}:{_value_text(keys[name])}" for name in sorted(keys)]
    return f"{_KEYS}{{{','.join(members)}}}"


def value_element(value: JSON) -> str:
    """Return the path element of an element of a list of type set."""
    return _VALUE + _value_text(value)


def element_of(step: Step) -> str:
    """Return the path element for a step of a path."""
    if isinstance(step, str):
        return field_element(step)
    if isinstance(step, int):
        return f"{_INDEX}{step}"
    if isinstance(step, Element):
        return key_element({step.merge_key: step.value})
    if isinstance(step, KeyedElement):
        return key_element(dict(step.keys))
    return value_element(step.value)


def elements_of(path: Path) -> list[str]:
    """Return the path elements for the steps of a path."""
    return [element_of(step) for step in path.steps]


def step_of(element: str) -> Step:
    """Return the step of a path for a path element."""
    content = element[2:]
    if element.startswith(_FIELD):
        return content
    if element.startswith(_INDEX):
        return int(content)
    if element.startswith(_VALUE):
        return SetElement(codec.decode(content))
    return KeyedElement(tuple(sorted(codec.decode_object(content).items())))


def read_element(text: str) -> str | None:
    """Return the path element that a text means, or None for one of an unknown type.

    Raises ObjectError (Go: fieldpath.DeserializePathElement).
    """
    return text if text.startswith(_FIELD) else _READ[text]


def _read_other(text: str) -> str | None:
    prefix, content = text[:2], text[2:]
    try:
        if prefix == _KEYS:
            keys = codec.decode(content)
            if keys is not None and not isinstance(keys, dict):
                raise _invalid(text, f"an object is expected, not {type_name(keys)}")
            return key_element(keys or {})
        if prefix == _VALUE:
            return value_element(codec.decode(content))
    except DocumentError as error:
        raise _invalid(text, error) from None
    if prefix == _INDEX:
        if not _INTEGER.fullmatch(content):
            raise _invalid(text, "an index is expected")
        index = int(content) if len(content) <= LONGEST_NUMBER else _LARGEST
        if not -_LARGEST <= index < _LARGEST:
            raise _invalid(text, "the index is out of range")
        return f"{_INDEX}{index}"
    if len(prefix) < len(_FIELD) or prefix[1] != ":" or not prefix.isascii():
        raise _invalid(text, "f:, k:, v: or i: is expected")
    # Go: ErrUnknownPathElementType. A future version may know what it is.
    return None


# Lists are long, but the same elements come again with each manager and each write.
_READ: Final[TextCache[str | None]] = TextCache(_read_other)


def _invalid(text: str, reason: object) -> SmpError:
    return ObjectError(
        f"{text!r:.80} is not a path element: {reason}", code="invalid-managed-fields"
    )


def in_order(elements: Collection[str]) -> list[str]:
    """Return path elements in Go's order (Go: fieldpath.PathElement.Compare).

    Fields by name, keyed elements by their keys, values by value, indexes.
    """
    ordered = sort_as_text(elements)
    # Almost always all are fields. Those are in order: Python compares code points, Go
    # bytes of UTF-8, and both have the same order.
    if not ordered or ordered[-1].startswith(_FIELD) or _have_names(ordered):
        return ordered
    return _split_and_print(ordered, _order_of)


def _have_names(ordered: list[str]) -> bool:
    """Tell whether elements in the order of their text are in that of their names.

    They are where ``name`` is the only key of all elements, and no name has a character
    that is escaped, or that is less than the quote at the end of a shorter name.
    """
    # If the first one and the last one begin so, those between them do.
    if not ordered[0].startswith(_NAME) or not ordered[-1].startswith(_NAME):
        return False
    text = "".join(ordered)
    has_one_key = text.count('"') == len(ordered) * _QUOTES
    return has_one_key and not ("\\" in text or " " in text or "!" in text)


def sort_as_text(texts: Collection[str]) -> list[str]:
    """Return texts in order, as ``sorted`` does; very many are sorted in pieces."""
    if len(texts) > _MOST_SORTED:
        return _split_and_print(texts)
    ordered = [*texts]
    ordered.sort()
    return ordered


def _split_and_print(
    elements: Collection[str], key: Callable[[str], _Order] | None = None
) -> list[str]:
    if len(elements) <= _MOST_SORTED:
        return sorted(elements, key=key)
    unordered = [*elements]
    pieces = [
        sorted(unordered[start : start + _MOST_SORTED], key=key)
        for start in range(0, len(unordered), _MOST_SORTED)
    ]
    return [*merge(*pieces, key=key)]


def _order_of(element: str) -> _Order:
    content = element[2:]
    if element.startswith(_FIELD):
        return (0, content)
    if element.startswith(_KEYS):
        return (1, _object_order(codec.decode_object(content)))
    if element.startswith(_VALUE):
        return (2, _value_order(codec.decode(content)))
    return (3, int(content))


def _object_order(value: Mapping[str, JSON]) -> _Order:
    return tuple((name, _value_order(value[name])) for name in sorted(value))


def _value_order(value: JSON) -> _Order:
    """Return what orders values of all types (Go: value.Compare)."""
    if isinstance(value, bool):
        return (2, value)
    if isinstance(value, (int, float)):
        return (0, value)
    if isinstance(value, str):
        return (1, value)
    if isinstance(value, list):
        return (3, tuple(_value_order(element) for element in value))
    if isinstance(value, dict):
        return (4, _object_order(value))
    return (5,)


def quote(text: str) -> str:
    """Return a JSON string as Go prints the names of members (jsoniter: WriteString).

    What is unsafe in HTML is not escaped there.
    """
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return _SHORT_ESCAPES.get(character) or f"\\u{ord(character):04x}"


def _value_text(value: JSON) -> str:
    """Print a value as Go does (jsoniter: WriteVal, as the standard library)."""
    if isinstance(value, str):
        return f'"{_ESCAPED_IN_VALUE.sub(_escape, value)}"'
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return number_text(value)
    if isinstance(value, float):
        return _double_text(value)
    if isinstance(value, list):
        return f"[{','.join(_value_text(element) for element in value)}]"
    if isinstance(value, dict):
        members = [f"{_value_text(n)}:{_value_text(value[n])}" for n in sorted(value)]
        return f"{{{','.join(members)}}}"
    raise ObjectError(f"{type_name(value)} is no JSON", code="not-json")


def _double_text(value: float) -> str:
    """Print a double: its shortest digits (jsoniter: WriteFloat64)."""
    size = abs(value)
    if size and not _SMALL <= size < _LARGE:
        return repr(value)
    if value.is_integer():
        # -0.0 is the same element as 0, also for Go, which would print its sign.
        return str(int(Decimal(repr(value))))
    return format(Decimal(repr(value)), "f")
