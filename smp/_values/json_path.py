"""The simple JSONPath of kubectl: what columns and waits look for in an object.

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
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from smp._values import codec
from smp._values.values import ABSENT, JSON, Absent, as_list, same
from smp.errors import SmpError

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
