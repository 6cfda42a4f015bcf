"""The normalizers: what makes two values equal that are written differently.

Each has a name. One that compares single values is a function here, which returns a
key: two values are equal where their keys are, and a value without a key is equal to
nothing else. tests/data/comparison records which values Go takes for equal; none has
one key that Go tells apart.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any, Final, TypeAlias

from smp._storage.typed_storage import double, octets
from smp._values.quantities import read_quantity
from smp._values.times import parse_duration, read_time
from smp._values.values import (
    JSON,
    as_list,
    as_object,
    as_text,
    scalar_key,
    value_key,
    value_keys,
)

# What a server fills in, and zero values that it drops or prints.
DEFAULT: Final = "default"
EMPTY: Final = "empty"
# What only a stored object has: uid, resourceVersion, status.
SERVER_FIELD: Final = "server-field"
STRING_DATA: Final = "string-data"
QUANTITY: Final = "quantity"
DURATION: Final = "duration"
TIME: Final = "time"
BASE64: Final = "base64"
NUMBER: Final = "number"
INT_OR_STRING: Final = "int-or-string"
LABEL_SELECTOR: Final = "label-selector"
SET_ORDER: Final = "set-order"
LIST_ORDER: Final = "list-order"

# What each takes two values for.
REASONS: Final = {
    DEFAULT: "a server fills it in",
    EMPTY: "a server does not tell an empty value from none",
    SERVER_FIELD: "only a stored object has it",
    STRING_DATA: "a server moves stringData into data",
    QUANTITY: "the same quantity",
    DURATION: "the same duration",
    TIME: "the same time",
    BASE64: "the same bytes",
    NUMBER: "the same number",
    INT_OR_STRING: "the same number, as an integer and as a text",
    LABEL_SELECTOR: "it selects the same labels",
    SET_ORDER: "the elements of a set have no order",
    LIST_ORDER: "a rule takes no notice of the order",
}
# What no type asks for: a server stores the values as they are, and tells them apart.
OFF: Final = (INT_OR_STRING, LIST_ORDER)
# They are on wherever the type of a value asks for them. A rule switches them off, for
# some paths or for all.
ON: Final = tuple(name for name in REASONS if name not in OFF)
NORMALIZERS: Final = (*ON, *OFF)

# What two values have in common that are equal; None: equal to nothing else.
ValueKey: TypeAlias = "Hashable | None"

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,19}")
_INT32: Final = range(-(2**31), 2**31)


def amount(value: JSON) -> ValueKey:
    """Return the amount of a quantity (Go: resource.Quantity.Cmp)."""
    found = read_quantity(value)
    return None if found is None else (found.sign, found.digits, found.exponent)


def nanoseconds(value: JSON) -> ValueKey:
    """Return the nanoseconds of a duration (Go: metav1.Duration)."""
    return parse_duration(value) if isinstance(value, str) else None


def integer(value: JSON) -> ValueKey:
    """Return the number of an integer or of a text (Go: intstr.Parse)."""
    # A boolean is an integer to Python. Go has an int32, and takes 080 and +80 for 80.
    number = value if type(value) is int else None
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        number = int(value)
    return number if number is not None and number in _INT32 else None


def print_number(value: JSON) -> ValueKey:
    """Return a number as Go prints a double."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return scalar_key(double(value))


def requirements_of(value: JSON) -> ValueKey:
    """Return the requirements of a label selector, in one order.

    Go: metav1.LabelSelectorAsSelector. A label is a requirement with one value, and
    neither requirements nor values have an order.
    """
    if not isinstance(value, dict) or not value.keys() <= {
        "matchLabels",
        "matchExpressions",
    }:
        return None
    # Go: a label is a requirement with the operator = and one value.
    requirements: list[tuple[str, str, frozenset[str]]] = []
    for name, label in as_object(value.get("matchLabels")).items():
        if not isinstance(label, str):
            return None
        requirements.append((name, "In", frozenset((label,))))
    for expression in as_list(value.get("matchExpressions")):
        members = as_object(expression)
        values = as_list(members.get("values"))
        texts = frozenset(as_text(text) for text in values)
        operator = as_text(members.get("operator"))
        is_strange = not members.keys() <= {"key", "operator", "values"}
        has_values = operator in {"In", "NotIn"}
        is_known = has_values or operator in {"Exists", "DoesNotExist"}
        # What a server refuses is equal to nothing else.
        if is_strange or not is_known or has_values != bool(texts) or "" in texts:
            return None
        requirements.append((as_text(members.get("key")), operator, texts))
    # A requirement that is there twice is counted, though it selects nothing else.
    return frozenset(Counter(requirements).items())


def elements_in_any_order(value: JSON) -> ValueKey:
    """Return how often each element of a list is in it."""
    if not isinstance(value, list):
        return None
    return frozenset(Counter(value_key(element) for element in value).items())


def elements_of_set(value: JSON) -> ValueKey:
    """Return the scalars of a list of type set (Go: typed.TypedValue.Compare)."""
    elements = value_keys([value])
    # A server refuses a set that has an element twice.
    if not isinstance(value, list) or len(elements) != len(value):
        return None
    return frozenset(elements)


_KEYS: Final[dict[str, Callable[[JSON], ValueKey]]] = {
    QUANTITY: amount,
    DURATION: nanoseconds,
    TIME: read_time,
    BASE64: octets,
    NUMBER: print_number,
    INT_OR_STRING: integer,
    LABEL_SELECTOR: requirements_of,
    SET_ORDER: elements_of_set,
    LIST_ORDER: elements_in_any_order,
}


def key_of_value(normalizer: str, value: Any) -> ValueKey:
    """Return what values have in common that a normalizer takes for equal.

    None: the value is equal to nothing else, and so it is for the normalizers that
    compare more than single values.
    """
    key = _KEYS.get(normalizer)
    return None if key is None else key(value)
