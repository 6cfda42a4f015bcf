"""One Go source file as values: imports, types, constants and their comments.

Only what a schema can depend on is kept. The types of fields and the values of
constants stay expressions with a position; ``_packages`` resolves the names in them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from smp.errors import DocumentError


class SourcePosition(msgspec.Struct, frozen=True):
    """A place in a source text; lines and columns count from one."""

    source: str
    line: int
    column: int | None = None

    def error(self, problem: str, *, code: str, hint: str = "") -> DocumentError:
        """Make an error at this position."""
        return DocumentError(
            problem,
            code=code,
            hint=hint,
            source=self.source,
            line=self.line,
            column=self.column,
        )


class CommentLine(msgspec.Struct, frozen=True):
    """A line of a comment, without the comment signs."""

    number: int
    text: str


Comment: TypeAlias = tuple[CommentLine, ...]


class GoName(msgspec.Struct, frozen=True):
    """The name of a type or a constant, with the package name that qualifies it."""

    at: SourcePosition
    name: str
    package: str = ""

    def __str__(self) -> str:
        return f"{self.package}.{self.name}" if self.package else self.name


class PointerType(msgspec.Struct, frozen=True):
    """``*T``."""

    to: GoType


class SliceType(msgspec.Struct, frozen=True):
    """``[]T`` (a slice) or, with a fixed length, ``[n]T`` (an array)."""

    element: GoType
    fixed: bool


class MapType(msgspec.Struct, frozen=True):
    """``map[K]V``."""

    key: GoType
    value: GoType
    at: SourcePosition


class StructType(msgspec.Struct, frozen=True):
    """``struct {..}``."""

    at: SourcePosition
    fields: tuple[GoField, ...]


class InterfaceType(msgspec.Struct, frozen=True):
    """``interface {..}``."""


class UnsupportedType(msgspec.Struct, frozen=True):
    """A type that encoding/json cannot encode: a function, a channel; or a generic."""

    at: SourcePosition
    description: str


GoType: TypeAlias = (
    "GoName | PointerType | SliceType | MapType | StructType | InterfaceType "
    "| UnsupportedType"
)


class GoField(msgspec.Struct, frozen=True):
    """A field of a struct; the name of an embedded field is that of its type."""

    at: SourcePosition
    name: str
    type: GoType
    tag: str
    comment: Comment
    embedded: bool


class TypeDeclaration(msgspec.Struct, frozen=True):
    """``type name type``; an alias is ``type name = type``."""

    at: SourcePosition
    name: str
    type: GoType
    comment: Comment
    alias: bool


class TypeConversion(msgspec.Struct, frozen=True):
    """``T(x)``: a constant of the type T."""

    to: GoName
    value: Expression


class Sum(msgspec.Struct, frozen=True):
    """``x + y``."""

    left: Expression
    right: Expression


# The value of a constant; None stands for an expression of another form (iota, other
# arithmetic), which is not evaluated.
Expression: TypeAlias = (
    "str | int | float | bool | GoName | TypeConversion | Sum | None"
)


class GoConstant(msgspec.Struct, frozen=True):
    """``const name type = value``; ``type`` is None where the source leaves it out."""

    at: SourcePosition
    name: str
    type: GoType | None
    value: Expression
    comment: Comment


class GoFile(msgspec.Struct, frozen=True):
    """What one source file declares.

    ``imports`` are import paths by package name; ``unmarshalers`` are the types with a
    method UnmarshalJSON.
    """

    path: str
    package: str
    comment: Comment
    imports: Mapping[str, str]
    types: tuple[TypeDeclaration, ...]
    constants: tuple[GoConstant, ...]
    unmarshalers: frozenset[str]
