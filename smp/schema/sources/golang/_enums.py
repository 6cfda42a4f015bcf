"""Enum types: defined string types with ``+enum``, and their constants in any package
(KEP-2887).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Final

from smp.errors import DocumentError
from smp.schema.sources.golang._markers import Markers
from smp.schema.sources.golang._packages import Basic, Declaration, Packages
from smp.schema.sources.golang._problems import Problems
from smp.schema.sources.golang._syntax import Constant, Pointer, Type
from smp.values import JSON

_HEADER: Final = "Possible enum values:"
STATED_VALUES: Final = "kubebuilder:validation:Enum"


@dataclass(frozen=True, slots=True)
class Enum:
    """The values of an enum type, each with the constant and the comment that describe
    it.
    """

    constants: dict[str, tuple[str, str]] = field(default_factory=dict)

    def add(self, constant: str, value: str, comment: str) -> None:
        """Add a value; of two constants with one value the longer comment describes it,
        then the smaller.
        """
        known = self.constants.get(value)
        if known is None or (-len(comment), comment) < (-len(known[1]), known[1]):
            self.constants[value] = (constant, comment)

    @property
    def values(self) -> list[str]:
        """The values, sorted as their quoted literals are."""
        return sorted(self.constants, key=_quoted)

    def description(self) -> list[str]:
        """List the values as lines for the description of a field; nothing where there
        are none.
        """
        told = (
            (_quoted(value), _sentence(*known))
            for value, known in self.constants.items()
        )
        lines = sorted(f" - `{value}` {sentence}" for value, sentence in told)
        return ["", _HEADER, *lines] if lines else []


class Enums:
    """All enum types of the given packages."""

    def __init__(self, packages: Packages, problems: Problems) -> None:
        self._packages = packages
        self._found: dict[str, Enum] = {}
        for package in packages:
            for declared in package.types.values():
                self._find(declared, problems)
        for package in packages:
            for constant in package.constants.values():
                self._add(constant, problems)

    def of(self, written: Type) -> Enum | None:
        """Return the enum of a type, or of what it points to."""
        declared = self._packages.declared(_pointed(written))
        return self._found.get(declared.name) if declared else None

    def values(self, written: Type, marked: Markers) -> list[JSON]:
        """List the values that a type may have, by ``+kubebuilder:validation:Enum`` or
        by ``+enum``; none if any.
        """
        declared = self._packages.declared(_pointed(written))
        stated = marked.get(STATED_VALUES) or (
            declared.markers.get(STATED_VALUES) if declared else None
        )
        if stated:
            return _listed(stated[0].value)
        enum = self.of(written)
        return [*enum.values] if enum else []

    def _find(self, declared: Declaration, problems: Problems) -> None:
        if "enum" not in declared.markers:
            return
        syntax, marker = declared.syntax, declared.markers["enum"][0]
        if syntax.alias:
            target = self._packages.declared(syntax.type)
            if target is None or "enum" not in target.markers:
                problems.misuse(
                    syntax.at,
                    marker,
                    "+enum on an alias",
                    "mark the type that it stands for (KEP-2887)",
                )
        elif self._packages.resolve(syntax.type) != Basic("string"):
            problems.misuse(
                syntax.at,
                marker,
                f"+enum on {syntax.name}, which is no string",
                "see KEP-2887",
            )
        else:
            self._found[declared.name] = Enum()

    def _add(self, constant: Constant, problems: Problems) -> None:
        written, value = self._packages.typed(constant)
        enum = self._enum_of_constant(written)
        if enum is None:
            return
        if isinstance(value, str):
            enum.add(
                constant.name, value, " ".join(line.text for line in constant.comment)
            )
        else:
            problem = f"there is no telling the value of {constant.name}"
            problems.add(
                constant.at.error(
                    problem,
                    code="unknown-constant",
                    hint="a string literal can be told",
                )
            )

    def _enum_of_constant(self, written: Type | None) -> Enum | None:
        try:
            return self.of(written) if written else None
        except DocumentError:
            return None  # the type is nowhere declared, so it is no enum


def _pointed(written: Type) -> Type:
    return written.to if isinstance(written, Pointer) else written


def _quoted(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _sentence(constant: str, comment: str) -> str:
    """Say what a value means: the comment without the name that it opens with."""
    return " ".join(comment.strip().removeprefix(constant).split())


def _listed(text: str) -> list[JSON]:
    """Read ``a;b``, ``"a b";c`` and ``{a,b}`` (controller-gen)."""
    inner, separator = (
        (text[1:-1], ",") if text.startswith("{") else (text.removeprefix("="), ";")
    )
    return [_scalar(part.strip()) for part in inner.split(separator) if part.strip()]


def _scalar(text: str) -> JSON:
    try:
        value: JSON = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, str | int | float) else text
