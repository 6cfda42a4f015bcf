"""One Go source file as values: imports, types, constants and their comments.

Only what a schema can depend on is kept. Types and constants stay expressions with a
position; who resolves them is another module's business.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from smp.errors import DocumentError


class Position(NamedTuple):
    """Where in the source text something is; lines and columns count from one."""

    source: str
    line: int
    column: int | None = None

    def error(self, problem: str, *, code: str, hint: str = "") -> DocumentError:
        """Make an error that carries this position."""
        return DocumentError(
            problem,
            code=code,
            hint=hint,
            source=self.source,
            line=self.line,
            column=self.column,
        )


class Line(NamedTuple):
    """A line of a comment, without the comment signs."""

    number: int
    text: str


Comment: TypeAlias = tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Name:
    """A type or a constant by name, maybe qualified by the name of an imported package."""

    at: Position
    name: str
    package: str = ""

    def __str__(self) -> str:
        return f"{self.package}.{self.name}" if self.package else self.name


@dataclass(frozen=True, slots=True)
class Pointer:
    """``*T``."""

    to: Type


@dataclass(frozen=True, slots=True)
class List:
    """``[]T`` or, with a fixed length, ``[n]T``."""

    of: Type
    fixed: bool


@dataclass(frozen=True, slots=True)
class Map:
    """``map[K]V``."""

    key: Type
    value: Type
    at: Position


@dataclass(frozen=True, slots=True)
class Struct:
    """``struct {..}``."""

    at: Position
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Interface:
    """``interface {..}``."""


@dataclass(frozen=True, slots=True)
class Other:
    """A type that JSON has no form for: a function, a channel, a generic type."""

    at: Position
    what: str


Type: TypeAlias = "Name | Pointer | List | Map | Struct | Interface | Other"


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a struct; an embedded field is called as its type."""

    at: Position
    name: str
    type: Type
    tag: str
    comment: Comment
    embedded: bool


@dataclass(frozen=True, slots=True)
class TypeDeclaration:
    """``type name type``; an alias is ``type name = type``."""

    at: Position
    name: str
    type: Type
    comment: Comment
    alias: bool


@dataclass(frozen=True, slots=True)
class Conversion:
    """``T(x)``: a constant of the type."""

    to: Name
    value: Value


@dataclass(frozen=True, slots=True)
class Sum:
    """``x + y``."""

    left: Value
    right: Value


# What a constant is set to; None is an expression of another form (iota, arithmetic).
Value: TypeAlias = "str | int | float | bool | Name | Conversion | Sum | None"


@dataclass(frozen=True, slots=True)
class Constant:
    """``const name type = value``, where the type may be left out."""

    at: Position
    name: str
    type: Type | None
    value: Value
    comment: Comment


@dataclass(frozen=True, slots=True)
class File:
    """What one source file declares; ``unmarshals`` names the types that bring their
    own UnmarshalJSON.
    """

    path: str
    package: str
    comment: Comment
    imports: Mapping[str, str]
    types: tuple[TypeDeclaration, ...]
    constants: tuple[Constant, ...]
    unmarshals: frozenset[str]
