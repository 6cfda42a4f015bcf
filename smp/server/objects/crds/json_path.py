"""The simple JSONPath that columns and scales of custom resources use: members,
elements, a filter by equality.

Source: "JSONPath Support" in the Kubernetes documentation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, TypeAlias

from smp import codec
from smp.errors import SmpError
from smp.values import ABSENT, JSON, Absent, as_list, same

Find: TypeAlias = "Callable[[JSON], JSON | Absent]"
Step: TypeAlias = Callable[[JSON], list[JSON]]

_TERM: Final = re.compile(
    r"\.(?P<member>(?:[^.\[\]\\*\s]|\\.)+)"
    r"|\['(?P<key>[^']*)'\]"
    r"|\[(?P<index>-?[0-9]{1,9})\]"
    r"|(?P<all>\[\*\]|\.\*)"
    r"|\[\?\(\s*@(?P<path>(?:\.[^.\[\]\s=!<>()]+)+)\s*==\s*(?P<value>\"[^\"]*\"|'[^']*'|[^\s()'\"]+)\s*\)\]"
)


class JSONPathError(SmpError):
    """A JSONPath that is none, or that asks for more than is supported."""

    default_code = "invalid-jsonpath"
    status = 422


def value_finder(path: str) -> Find:
    """Return what finds the first value at a path such as
    ``.status.conditions[?(@.type=="Ready")].status``.

    Raises JSONPathError.
    """
    return partial(_first, [_step(term) for term in _terms(path)])


def member_names(path: str) -> tuple[str, ...]:
    """Return the names in a path of members such as ``.spec.replicas``. Raises
    JSONPathError.
    """
    names = [_name(term) for term in _terms(path)]
    if "" in names or not names:
        raise JSONPathError(f"a path of members is expected, not {path!r}")
    return tuple(names)


def _terms(path: str) -> Iterator[re.Match[str]]:
    position = 0
    while position < len(path):
        term = _TERM.match(path, position)
        if term is None:
            raise JSONPathError(
                f"unsupported JSONPath: {path!r}, at character {position}"
            )
        yield term
        position = term.end()


def _name(term: re.Match[str]) -> str:
    return re.sub(r"\\(.)", r"\1", term["member"] or "") or term["key"] or ""


def _step(term: re.Match[str]) -> Step:
    if term["index"]:
        return partial(_element, int(term["index"]))
    if term["all"]:
        return _all
    if term["path"]:
        return partial(_equal, value_finder(term["path"]), _literal(term["value"]))
    return partial(_member, _name(term))


def _literal(text: str) -> JSON:
    if text[0] in "'\"":
        return text[1:-1]
    try:
        return codec.decode(text)
    except SmpError:
        raise JSONPathError(f"this is no value to compare with: {text}") from None


def _first(steps: list[Step], value: JSON) -> JSON | Absent:
    found = [value]
    for step in steps:
        found = [inner for outer in found for inner in step(outer)]
    return found[0] if found else ABSENT


def _member(name: str, value: JSON) -> list[JSON]:
    return [value[name]] if isinstance(value, dict) and name in value else []


def _element(index: int, value: JSON) -> list[JSON]:
    elements = as_list(value)
    return [elements[index]] if -len(elements) <= index < len(elements) else []


def _all(value: JSON) -> list[JSON]:
    return [*value.values()] if isinstance(value, dict) else as_list(value)


def _equal(find: Find, wanted: JSON, value: JSON) -> list[JSON]:
    return [element for element in as_list(value) if same(find(element), wanted)]
