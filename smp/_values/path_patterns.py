"""Patterns of paths: they select values of an object.

A pattern is written as messages print paths. In addition ``[*]`` stands for each
element of a list, and ``*`` for any characters of the name of a member: ``data.*``,
``metadata.annotations[example.com/*]``.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import Final, TypeAlias

import msgspec

from smp._values.values import JSON
from smp.paths import Element, KeyedElement, Path, SetElement, Step

_STEP: Final = re.compile(
    r"(?P<dot>\.?)(?P<name>[^.\[\]/= ]+)|\[(?P<brackets>[^\]]*)\]"
)
_EACH: Final = "*"


class PatternStep(msgspec.Struct, frozen=True):
    """One step of a pattern.

    In brackets is an index, a key with its value, or a name that has a dot.
    """

    text: str
    is_in_brackets: bool = False

    @property
    def selects_each(self) -> bool:
        """Whether it selects each element of a list."""
        return self.is_in_brackets and self.text == _EACH

    def names(self, name: str) -> bool:
        """Tell whether it selects the member of an object with a name."""
        if self.text == name:
            return True
        if _EACH not in self.text or self.selects_each:
            return False
        # Of the wildcards of a shell, only * is one here.
        return fnmatchcase(name, self.text.replace("[", "[[]").replace("?", "[?]"))

    def selects(self, index: int, element: JSON) -> bool:
        """Tell whether it selects an element of a list."""
        if not self.is_in_brackets:
            return False
        if self.text in {_EACH, str(index)}:
            return True
        if not isinstance(element, dict):
            is_scalar = not isinstance(element, list)
            return is_scalar and str(SetElement(element)) == f"[{self.text}]"
        key, _, _value = self.text.partition("=")
        if key not in element:
            return False
        if str(Element(index, key, element[key])) == f"[{self.text}]":
            return True
        # An element that has several keys: [port=53,protocol=UDP].
        keys = [part.partition("=")[0] for part in self.text.split(",")]
        if len(keys) == 1 or any(name not in element for name in keys):
            return False
        several = KeyedElement(tuple((name, element[name]) for name in keys))
        return str(several) == f"[{self.text}]"


Pattern: TypeAlias = tuple[PatternStep, ...]


def pattern_of(text: str) -> Pattern:
    """Parse a pattern. Raises ValueError for what is not a path."""
    steps: list[PatternStep] = []
    position = 0
    while position < len(text):
        match = _STEP.match(text, position)
        if match is None:
            break
        name = match["name"]
        # A dot stands before each name but the first.
        if name is not None and bool(match["dot"]) != bool(steps):
            break
        if name is None:
            steps.append(PatternStep(match["brackets"], is_in_brackets=True))
        else:
            steps.append(PatternStep(name))
        position = match.end()
    if not steps or position < len(text):
        raise ValueError(
            f"not a path: {text!r}; write it as spec.containers[name=app].image, "
            "data.* or metadata.annotations[example.com/x]"
        )
    return tuple(steps)


def paths_selected(value: JSON, pattern: Pattern) -> list[Path]:
    """Return the paths of the values that a pattern selects, with their indexes."""
    found: list[tuple[tuple[Step, ...], JSON]] = [((), value)]
    for step in pattern:
        below: list[tuple[tuple[Step, ...], JSON]] = []
        for steps, each in found:
            if isinstance(each, dict):
                named = [name for name in each if step.names(name)]
                below += [((*steps, name), each[name]) for name in named]
            elif isinstance(each, list):
                below += [
                    ((*steps, index), element)
                    for index, element in enumerate(each)
                    if step.selects(index, element)
                ]
        found = below
    return [Path(steps) for steps, _ in found]
