"""Go source text to syntax values, with tree-sitter; function bodies are not looked
into.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

import tree_sitter_go
from tree_sitter import Language, Node, Parser, Query, QueryCursor

from smp.schema.sources.golang._syntax import (
    Comment,
    Constant,
    Conversion,
    Field,
    File,
    Interface,
    Line,
    List,
    Map,
    Name,
    Other,
    Pointer,
    Position,
    Struct,
    Sum,
    Type,
    TypeDeclaration,
    Value,
)

_LANGUAGE: Final = Language(tree_sitter_go.language())
_COMMENTS: Final = Query(_LANGUAGE, "(comment) @comment")
_UNSUPPORTED: Final = {
    "function_type": "a function",
    "channel_type": "a channel",
    "generic_type": "a generic type",
}
# Comments that Go's own documentation leaves out (Go: ast.CommentGroup.Text).
_DIRECTIVE: Final = re.compile(r"//(?:line |extern |export |[a-z0-9]+:[a-z0-9])")
_MAJOR_VERSION: Final = re.compile(r"v\d+")


def parse(path: str, text: str) -> File:
    """Parse Go source. Raises DocumentError (code go-syntax) with path, line and
    column.
    """
    # The grammar wants the last declaration ended by a newline.
    return _Reader(path, text.encode(errors="replace") + b"\n").file()


class _Reader:
    def __init__(self, path: str, text: bytes) -> None:
        self._path = path
        self._lines = text.split(b"\n")
        self._root = Parser(_LANGUAGE).parse(text).root_node
        comments = QueryCursor(_COMMENTS).captures(self._root).get("comment", [])
        self._comment_ending: dict[int, Node] = {
            node.end_point.row: node for node in comments if self._stands_alone(node)
        }

    def file(self) -> File:
        self._check()
        clause = self._package_clause()
        declared = [
            node for node in self._root.named_children if node.type != "comment"
        ]
        specs = [
            spec
            for node in declared
            if node.type == "type_declaration"
            for spec in _children(node)
        ]
        return File(
            path=self._path,
            package=_text(_children(clause)[0]),
            comment=self._comments_before(clause),
            imports=dict(self._imports()),
            types=tuple(
                self._type_declaration(spec)
                for spec in specs
                if not _field(spec, "type_parameters")
            ),
            constants=tuple(
                constant for node in declared for constant in self._constants(node)
            ),
            unmarshals=frozenset(filter(None, map(_unmarshalled, declared))),
        )

    def _check(self) -> None:
        broken = _broken(self._root)
        if broken is not None:
            what = (
                f"{broken.type} is missing"
                if broken.is_missing
                else f"not Go: {_text(broken)[:40].strip()!r}"
            )
            raise self._at(broken).error(what, code="go-syntax")

    def _package_clause(self) -> Node:
        for node in self._root.named_children:
            if node.type == "package_clause":
                return node
        raise Position(self._path, 1, 1).error(
            "a Go source file says its package", code="go-syntax"
        )

    def _at(self, node: Node) -> Position:
        return Position(
            self._path, node.start_point.row + 1, node.start_point.column + 1
        )

    def _stands_alone(self, node: Node) -> bool:
        return not self._lines[node.start_point.row][: node.start_point.column].strip()

    def _comment_above(self, node: Node) -> Comment:
        """Gather the comment that ends on the line above: the closest block, nothing
        further up.
        """
        row, found = node.start_point.row, list[Node]()
        while row - 1 in self._comment_ending:
            found.append(self._comment_ending[row - 1])
            row = found[-1].start_point.row
        return tuple(
            line for comment in reversed(found) for line in _comment_lines(comment)
        )

    def _comments_before(self, clause: Node) -> Comment:
        above = (
            node
            for row, node in sorted(self._comment_ending.items())
            if row < clause.start_point.row
        )
        return tuple(line for node in above for line in _comment_lines(node))

    def _imports(self) -> Iterator[tuple[str, str]]:
        found: dict[str, str] = {}
        for declaration in self._root.named_children:
            for spec in _specs(declaration, "import_declaration", "import_spec"):
                path = self._string(_required(spec, "path"))
                alias = _field(spec, "name")
                for name in [_text(alias)] if alias else _package_names(path):
                    found.setdefault(name, path)
        yield from found.items()

    def _type_declaration(self, spec: Node) -> TypeDeclaration:
        return TypeDeclaration(
            at=self._at(spec),
            name=_text(_required(spec, "name")),
            type=self._type(_required(spec, "type")),
            comment=self._comment_above(spec),
            alias=spec.type == "type_alias",
        )

    def _type(self, node: Node) -> Type:
        match node.type:
            case "type_identifier" | "identifier":
                return Name(self._at(node), _text(node))
            case "qualified_type":
                return Name(
                    self._at(node),
                    _text(_required(node, "name")),
                    _text(_required(node, "package")),
                )
            case "pointer_type":
                return Pointer(self._type(_children(node)[0]))
            case "parenthesized_type":
                return self._type(_children(node)[0])
            case "slice_type":
                return List(self._type(_required(node, "element")), fixed=False)
            case "array_type" | "implicit_length_array_type":
                return List(self._type(_required(node, "element")), fixed=True)
            case "map_type":
                key, value = _required(node, "key"), _required(node, "value")
                return Map(self._type(key), self._type(value), self._at(node))
            case "struct_type":
                declarations = _children(_children(node)[0])
                return Struct(
                    self._at(node),
                    tuple(
                        field for each in declarations for field in self._fields(each)
                    ),
                )
            case "interface_type":
                return Interface()
        return Other(self._at(node), _UNSUPPORTED.get(node.type, node.type))

    def _fields(self, node: Node) -> Iterator[Field]:
        declared, comment, tag = (
            self._type(_required(node, "type")),
            self._comment_above(node),
            _field(node, "tag"),
        )
        text = self._string(tag) if tag else ""
        names = [name for name in node.children_by_field_name("name") if name.is_named]
        for name in names:
            yield Field(
                self._at(name), _text(name), declared, text, comment, embedded=False
            )
        if not names:
            pointed = any(child.type == "*" for child in node.children)
            embedded = Pointer(declared) if pointed else declared
            name_of_type = declared.name if isinstance(declared, Name) else ""
            yield Field(
                self._at(node), name_of_type, embedded, text, comment, embedded=True
            )

    def _constants(self, declaration: Node) -> Iterator[Constant]:
        repeated: tuple[Type | None, list[Value]] = (None, [])
        for spec in _specs(declaration, "const_declaration", "const_spec"):
            values, declared = _field(spec, "value"), _field(spec, "type")
            if values:  # a constant without a value repeats the expression above it
                repeated = (
                    self._type(declared) if declared else None,
                    [self._value(v) for v in _children(values)],
                )
            comment = self._comment_above(spec)
            names = [
                name for name in spec.children_by_field_name("name") if name.is_named
            ]
            for name, value in zip(names, repeated[1], strict=False):
                yield Constant(self._at(name), _text(name), repeated[0], value, comment)

    def _value(self, node: Node) -> Value:
        match node.type:
            case "interpreted_string_literal" | "raw_string_literal":
                return self._string(node)
            case "int_literal" | "float_literal":
                return self._number(node)
            case "true" | "false":
                return node.type == "true"
            case "identifier":
                return Name(self._at(node), _text(node))
            case "selector_expression":
                return self._selected(node)
            case "parenthesized_expression":
                return self._value(_children(node)[0])
            case "binary_expression" if _text(_required(node, "operator")) == "+":
                return Sum(
                    self._value(_required(node, "left")),
                    self._value(_required(node, "right")),
                )
            case "call_expression":
                function = self._value(_required(node, "function"))
                arguments = _children(_required(node, "arguments"))
                if isinstance(function, Name) and len(arguments) == 1:
                    return Conversion(function, self._value(arguments[0]))
        return None

    def _selected(self, node: Node) -> Value:
        package = _required(node, "operand")
        return Name(self._at(node), _text(_required(node, "field")), _text(package))

    def _string(self, node: Node) -> str:
        if node.type == "raw_string_literal":
            return _text(node)[1:-1].replace("\r", "")
        try:  # Python has every escape that Go has
            return str(ast.literal_eval(_text(node)))
        except (SyntaxError, ValueError):
            raise self._at(node).error(
                "a string with an escape that is none", code="go-syntax"
            ) from None

    def _number(self, node: Node) -> Value:
        try:
            value = ast.literal_eval(_text(node))
        except (SyntaxError, ValueError):
            return None  # octal as 017, hexadecimal floats
        return value if isinstance(value, int | float) else None


def _broken(root: Node) -> Node | None:
    """Find the innermost node, and the first, that is an error."""
    if not root.has_error:
        return None
    node: Node | None = root
    while node is not None and not (node.is_error or node.is_missing):
        root, node = (
            node,
            next((child for child in node.children if child.has_error), None),
        )
    return node or root


def _comment_lines(node: Node) -> Iterator[Line]:
    """Take the signs off a comment, as Go's documentation does."""
    text, first = _text(node), node.start_point.row + 1
    if text.startswith("/*"):
        for number, line in enumerate(text[2:-2].split("\n"), first):
            yield Line(number, line.rstrip())
    elif not _DIRECTIVE.match(text):
        yield Line(first, text[2:].removeprefix(" ").rstrip())


def _package_names(path: str) -> list[str]:
    """Name what an import without a name may be called in the file."""
    steps = path.split("/")
    last = steps[-1].split(".v", maxsplit=1)[0]
    return (
        [last, steps[-2]]
        if len(steps) > 1 and _MAJOR_VERSION.fullmatch(last)
        else [last]
    )


def _unmarshalled(node: Node) -> str:
    """Name the type that a method UnmarshalJSON belongs to; the empty string for
    anything else.
    """
    name, receiver = _field(node, "name"), _field(node, "receiver")
    if (
        node.type != "method_declaration"
        or not name
        or _text(name) != "UnmarshalJSON"
        or not receiver
    ):
        return ""
    return _text(receiver).strip("()").split()[-1].removeprefix("*")


def _specs(declaration: Node, form: str, spec: str) -> Iterator[Node]:
    """Walk the specifications of a declaration, whether it has parentheses or not."""
    if declaration.type != form:
        return
    for child in _children(declaration):
        yield from (
            [child]
            if child.type == spec
            else (each for each in _children(child) if each.type == spec)
        )


def _children(node: Node) -> list[Node]:
    return [child for child in node.named_children if child.type != "comment"]


def _field(node: Node, name: str) -> Node | None:
    return node.child_by_field_name(name)


def _required(node: Node, name: str) -> Node:
    child = node.child_by_field_name(name)
    if child is None:
        raise LookupError(f"the grammar promises {name} in {node.type}")
    return child


def _text(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")
