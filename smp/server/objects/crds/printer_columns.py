"""The simple JSONPath of the columns of custom resources.

A path is a chain of terms, and each turns a list of values into another:

====================  =========================================================
``.name`` ``['name']``  the member with a name; a backslash escapes a dot in it
``[2]`` ``[-1]``        the element at an index
``[*]`` ``.*``          all elements or members
``[?(@.a == "b")]``     the elements of which the member ``a`` equals a value
====================  =========================================================

So ``.status.conditions[?(@.type=="Ready")].status`` goes from an object to its status,
from there to the list of conditions, on to those of the type Ready, and to their
statuses, of which the first is the result. Source: "JSONPath Support" in the
Kubernetes documentation; what is not in the table is not supported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Final, TypeAlias

from smp._values import codec
from smp._values.values import (
    ABSENT,
    JSON,
    Absent,
    JSONObject,
    as_list,
    as_text,
    printed,
    same,
)
from smp.errors import SmpError
from smp.server.objects.tables.columns import NAME, Column, time_since

# Finds the first value at a path.
Find: TypeAlias = "Callable[[JSON], JSON | Absent]"

_TERM: Final = re.compile(
    r"\.(?P<member>(?:[^.\[\]\\*\s]|\\.)+)"
    r"|\['(?P<key>[^']*)'\]"
    r"|\[(?P<index>-?[0-9]{1,9})\]"
    r"|(?P<all>\[\*\]|\.\*)"
    r"|\[\?\(\s*@(?P<path>(?:\.[^.\[\]\s=!<>()]+)+)\s*==\s*"
    r"(?P<value>\"[^\"]*\"|'[^']*'|[^\s()'\"]+)\s*\)\]"
)


class JSONPathError(SmpError):
    """A JSONPath that is malformed, or that uses what is not supported."""

    default_code = "invalid-jsonpath"
    status = 422


# Selects the values in a value that a term of a path names.
Step: TypeAlias = "Callable[[JSON], list[JSON]]"


def value_finder(path: str) -> Find:
    """Return a function that finds the first value at a path, or ABSENT.

    Raises JSONPathError.
    """
    steps = [_step(term) for term in _terms(path)]

    def find(value: JSON) -> JSON | Absent:
        values = [value]
        for step in steps:
            # A value without what a term selects drops out.
            selected: list[JSON] = []
            for outer in values:
                selected += step(outer)
            values = selected
        return values[0] if values else ABSENT

    return find


def _terms(path: str) -> Iterator[re.Match[str]]:
    position = 0
    # Terms follow each other without anything between them.
    while position < len(path):
        term = _TERM.match(path, position)
        if term is None:
            raise JSONPathError(
                f"unsupported JSONPath: {path!r}, at character {position}"
            )
        yield term
        position = term.end()


def _step(term: re.Match[str]) -> Step:
    if term["index"]:
        # A negative index counts from the end, as in Python.
        index = int(term["index"])
        return lambda value: as_list(value)[index : index + 1 or None]
    if term["all"]:
        return lambda value: (
            [*value.values()] if isinstance(value, dict) else as_list(value)
        )
    if not term["path"]:
        name = re.sub(r"\\(.)", r"\1", term["member"] or "") or term["key"]
        return lambda value: (
            [value[name]] if isinstance(value, dict) and name in value else []
        )
    # A filter: the text that it compares with is a quoted string or a JSON scalar.
    text, find = term["value"], value_finder(term["path"])
    try:
        wanted = text[1:-1] if text[0] in "'\"" else codec.decode(text)
    except SmpError:
        raise JSONPathError(f"not a value to compare with: {text}") from None
    return lambda value: [each for each in as_list(value) if same(find(each), wanted)]


# A definition without columns gets this one after the name.
_AGE: Final[JSONObject] = {
    "name": "Age",
    "type": "date",
    "jsonPath": ".metadata.creationTimestamp",
}


def columns(defined: Iterable[JSONObject]) -> tuple[Column, ...]:
    """Return the columns of a table: the name and the defined ones."""
    # The name is always the first column.
    shown = tuple(defined) or (_AGE,)
    return (NAME, *[_column(column) for column in shown])


def is_supported(json_path: str) -> bool:
    """Tell whether a path is supported; a column with another one stays empty."""
    try:
        value_finder(json_path)
    except JSONPathError:
        return False
    return True


def _column(column: JSONObject) -> Column:
    json_path = as_text(column.get("jsonPath"))
    type_, priority = as_text(column.get("type")), column.get("priority")
    # An unsupported path gives a warning where the definition is read.
    find = value_finder(json_path) if is_supported(json_path) else None

    def cell(obj: JSONObject, now: datetime) -> JSON:
        value = find(obj) if find else None
        # A path that leads to no value leaves the cell empty, as null does.
        if value is None or isinstance(value, Absent):
            return None
        return _cell_value(value, type_, now)

    return Column(
        name=as_text(column.get("name")),
        cell=cell,
        type=type_,
        priority=priority if isinstance(priority, int) else 0,
        format=as_text(column.get("format")),
        description=as_text(column.get("description"))
        or f"Custom resource definition column (in JSONPath format): {json_path}",
    )


def _cell_value(value: JSON, json_type: str, now: datetime) -> JSON:
    """Return a value as a column of a type shows it, or None if it cannot."""
    # As the difference to the current time, like the column Age.
    if json_type == "date":
        return time_since(value, now)
    # Objects and lists are shown as JSON, in this type of column only.
    if json_type == "string":
        is_scalar = not isinstance(value, dict | list)
        return printed(value) if is_scalar else codec.encode(value).decode()
    # In Python a boolean is a number, too.
    if isinstance(value, bool):
        return value if json_type == "boolean" else None
    if isinstance(value, int | float) and json_type == "number":
        return value
    if isinstance(value, int | float) and json_type == "integer":
        return int(value)
    return None
