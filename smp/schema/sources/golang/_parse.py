"""Go source text to syntax values, with tree-sitter.

Function bodies are skipped. A node of the grammar is known by its type
("type_declaration"); its parts are children, some of them with a field name ("name").
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

import tree_sitter_go
from tree_sitter import Language, Node, Parser, Query, QueryCursor

from smp.schema.sources.golang._markers import ENUM_MARKERS, markers
from smp.schema.sources.golang._syntax import (
    Comment,
    CommentLine,
    Expression,
    GoConstant,
    GoField,
    GoFile,
    GoName,
    GoType,
    InterfaceType,
    MapType,
    PointerType,
    SliceType,
    SourcePosition,
    StructType,
    Sum,
    TypeConversion,
    TypeDeclaration,
    UnsupportedType,
)

_LANGUAGE: Final = Language(tree_sitter_go.language())
_COMMENTS: Final = Query(_LANGUAGE, "(comment) @comment")
_UNSUPPORTED: Final = {
    "function_type": "a function",
    "channel_type": "a channel",
    "generic_type": "a generic type",
}
# Directives, which are no documentation (Go: ast.CommentGroup.Text).
_DIRECTIVE: Final = re.compile(r"//(?:line |extern |export |[a-z0-9]+:[a-z0-9])")
_MAJOR_VERSION: Final = re.compile(r"v\d+")


def parse(path: str, text: str) -> GoFile:
    """Parse Go source.

    Raises DocumentError (code go-syntax) with path, line and column.
    """
    # The grammar wants the last declaration ended by a newline.
    return _FileParser(path, text.encode(errors="replace") + b"\n").file()


class _FileParser:
    def __init__(self, path: str, text: bytes) -> None:
        self._path = path
        self._root = Parser(_LANGUAGE).parse(text).root_node
        # The comments that stand on lines of their own, by the line on which they end.
        self._comment_ending: dict[int, Node] = {}
        lines = text.split(b"\n")
        for node in QueryCursor(_COMMENTS).captures(self._root).get("comment", []):
            start = node.start_point
            if not lines[start.row][: start.column].strip():
                self._comment_ending[node.end_point.row] = node

    def _declarations(self, node: Node) -> list[TypeDeclaration]:
        return [
            TypeDeclaration(
                at=self._position_of(spec),
                name=_text(_require(spec, "name")),
                type=self._type(_require(spec, "type")),
                comment=self._comment_above(spec),
                alias=spec.type == "type_alias",
            )
            for spec in _children(node)
            # A generic type has no schema before it is instantiated.
            if not _field(spec, "type_parameters")
        ]

    def file(self) -> GoFile:
        self._check_syntax()
        declarations = _children(self._root)
        clauses = [node for node in declarations if node.type == "package_clause"]
        if not clauses:
            raise SourcePosition(self._path, 1, 1).error(
                "the package clause is missing", code="go-syntax"
            )
        # All comments before the package clause count: markers of a package often have
        # a block of their own, above its documentation.
        clause_row = clauses[0].start_point.row
        rows = sorted(row for row in self._comment_ending if row < clause_row)
        comment = _lines_of(self._comment_ending[row] for row in rows)
        imports = self._imports()
        types: list[TypeDeclaration] = []
        constants: list[GoConstant] = []
        unmarshalers: set[str] = set()
        for node in declarations:
            if node.type == "type_declaration":
                self._check_group(node, "types")
                types += self._declarations(node)
            elif node.type == "const_declaration":
                self._check_group(node, "constants")
                constants += self._constants(node)
            elif node.type == "method_declaration":
                name, receiver = _field(node, "name"), _field(node, "receiver")
                if name and receiver and _text(name) == "UnmarshalJSON":
                    # The receiver is written (T), (t T) or (t *T).
                    receiver_parts = _text(receiver).strip("()").split()
                    unmarshalers |= {
                        part.removeprefix("*") for part in receiver_parts[-1:]
                    }
        return GoFile(
            path=self._path,
            package=_text(_children(clauses[0])[0]),
            comment=comment,
            imports=imports,
            types=tuple(types),
            constants=tuple(constants),
            unmarshalers=frozenset(unmarshalers),
        )

    def _check_syntax(self) -> None:
        """Raise an error at the first broken node, the innermost one there."""
        if not self._root.has_error:
            return
        node = self._root
        while not (node.is_error or node.is_missing):
            broken = [child for child in node.children if child.has_error]
            if not broken:
                break
            node = broken[0]
        if node.is_missing:
            problem = f"{node.type} is missing"
        else:
            problem = f"not Go: {_text(node)[:40].strip()!r}"
        raise self._position_of(node).error(problem, code="go-syntax")

    def _check_group(self, node: Node, what: str) -> None:
        """Raise an error at a marker of values above ``type (..)``: it marks none."""
        if not any(child.type == "(" for child in node.children):
            return
        for name, found in markers(self._comment_above(node)).items():
            if name in ENUM_MARKERS or found[0].is_of_values:
                place = SourcePosition(self._path, found[0].line)
                problem = f"+{name} above a group of {what}, which marks none of them"
                raise place.error(problem, code="marker-misuse")

    def _position_of(self, node: Node) -> SourcePosition:
        start = node.start_point
        return SourcePosition(self._path, start.row + 1, start.column + 1)

    # --- comments ---

    def _comment_above(self, node: Node) -> Comment:
        """Gather the comment that ends on the line above a node.

        Only the closest block counts; an empty line ends it, as in Go's documentation.
        """
        row = node.start_point.row
        comments: list[Node] = []
        while row - 1 in self._comment_ending:
            comments.append(self._comment_ending[row - 1])
            row = comments[-1].start_point.row
        return _lines_of(reversed(comments))

    # --- imports ---

    def _imports(self) -> dict[str, str]:
        """Return the import paths by the names that the file knows them by."""
        imports: dict[str, str] = {}
        for declaration in self._root.named_children:
            for spec in _specs(declaration, "import_declaration", "import_spec"):
                path = self._string(_require(spec, "path"))
                alias = _field(spec, "name")
                if alias:
                    names = [_text(alias)]
                else:
                    # The name in the package clause of the package, which is not at
                    # hand: by convention the last element of the path, or the one
                    # before a major version (example.com/yaml/v3, gopkg.in/yaml.v3).
                    steps = path.split("/")
                    names = [steps[-1].split(".v", maxsplit=1)[0]]
                    if len(steps) > 1 and _MAJOR_VERSION.fullmatch(names[0]):
                        names.append(steps[-2])
                for name in names:
                    imports.setdefault(name, path)
        return imports

    # --- types ---

    def _type(self, node: Node) -> GoType:
        result: GoType
        match node.type:
            case "type_identifier" | "identifier":
                result = GoName(self._position_of(node), _text(node))
            case "qualified_type":
                name, package = _require(node, "name"), _require(node, "package")
                result = GoName(self._position_of(node), _text(name), _text(package))
            case "pointer_type":
                result = PointerType(self._type(_children(node)[0]))
            case "parenthesized_type":
                result = self._type(_children(node)[0])
            case "slice_type":
                result = SliceType(self._type(_require(node, "element")), fixed=False)
            case "array_type" | "implicit_length_array_type":
                result = SliceType(self._type(_require(node, "element")), fixed=True)
            case "map_type":
                key, value = _require(node, "key"), _require(node, "value")
                result = MapType(
                    self._type(key), self._type(value), self._position_of(node)
                )
            case "struct_type":
                fields: list[GoField] = []
                for declaration in _children(_children(node)[0]):
                    fields += self._fields(declaration)
                result = StructType(self._position_of(node), tuple(fields))
            case "interface_type":
                result = InterfaceType()
            case _:
                description = _UNSUPPORTED.get(node.type, node.type)
                result = UnsupportedType(self._position_of(node), description)
        return result

    def _fields(self, node: Node) -> Iterator[GoField]:
        """Yield the fields of one declaration in a struct: ``A, B int`` has two."""
        type_ = self._type(_require(node, "type"))
        comment = self._comment_above(node)
        tag_node = _field(node, "tag")
        tag = self._string(tag_node) if tag_node else ""
        names = _names(node)
        for name in names:
            yield GoField(
                self._position_of(name),
                _text(name),
                type_,
                tag,
                comment,
                embedded=False,
            )
        if not names:
            # An embedded field is called as its type. The grammar keeps the star of an
            # embedded pointer out of its type.
            name_of_type = type_.name if isinstance(type_, GoName) else ""
            if any(child.type == "*" for child in node.children):
                type_ = PointerType(type_)
            yield GoField(
                self._position_of(node),
                name_of_type,
                type_,
                tag,
                comment,
                embedded=True,
            )

    # --- constants ---

    def _constants(self, declaration: Node) -> Iterator[GoConstant]:
        type_: GoType | None = None
        values: list[Expression] = []
        for spec in _specs(declaration, "const_declaration", "const_spec"):
            value_node, type_node = _field(spec, "value"), _field(spec, "type")
            # A constant without a value repeats the type and expression above it (Go
            # specification, "Constant declarations").
            if value_node:
                type_ = self._type(type_node) if type_node else None
                values = [self._expression(node) for node in _children(value_node)]
            comment = self._comment_above(spec)
            for name, value in zip(_names(spec), values, strict=False):
                yield GoConstant(
                    self._position_of(name), _text(name), type_, value, comment
                )

    def _expression(self, node: Node) -> Expression:
        result: Expression = None
        match node.type:
            case "interpreted_string_literal" | "raw_string_literal":
                result = self._string(node)
            case "int_literal" | "float_literal":
                try:
                    number = ast.literal_eval(_text(node))
                except (SyntaxError, ValueError):
                    number = None  # octal as 017, hexadecimal floats
                if isinstance(number, int | float):
                    result = number
            case "true" | "false":
                result = node.type == "true"
            case "identifier":
                result = GoName(self._position_of(node), _text(node))
            case "selector_expression":
                name, package = _require(node, "field"), _require(node, "operand")
                result = GoName(self._position_of(node), _text(name), _text(package))
            case "parenthesized_expression":
                result = self._expression(_children(node)[0])
            case "binary_expression" if _text(_require(node, "operator")) == "+":
                left, right = _require(node, "left"), _require(node, "right")
                result = Sum(self._expression(left), self._expression(right))
            case "call_expression":
                function = self._expression(_require(node, "function"))
                arguments = _children(_require(node, "arguments"))
                if isinstance(function, GoName) and len(arguments) == 1:
                    result = TypeConversion(function, self._expression(arguments[0]))
        return result

    def _string(self, node: Node) -> str:
        if node.type == "raw_string_literal":
            # Carriage returns are discarded (Go specification, "String literals").
            return _text(node)[1:-1].replace("\r", "")
        try:
            # Python has every escape that Go has.
            return str(ast.literal_eval(_text(node)))
        except (SyntaxError, ValueError):
            raise self._position_of(node).error(
                "unknown escape sequence in a string", code="go-syntax"
            ) from None


def _lines_of(comments: Iterator[Node]) -> Comment:
    """Return the lines of comments without comment signs (Go: CommentGroup.Text)."""
    lines: list[CommentLine] = []
    for node in comments:
        text, first = _text(node), node.start_point.row + 1
        if text.startswith("/*"):
            for number, line in enumerate(text[2:-2].split("\n"), first):
                lines.append(CommentLine(number, line.rstrip()))
        elif not _DIRECTIVE.match(text):
            lines.append(CommentLine(first, text[2:].removeprefix(" ").rstrip()))
    return tuple(lines)


def _specs(declaration: Node, form: str, spec: str) -> Iterator[Node]:
    """Yield the specifications of a declaration, with or without parentheses."""
    if declaration.type != form:
        return
    for child in _children(declaration):
        if child.type == spec:
            yield child
        else:
            yield from (node for node in _children(child) if node.type == spec)


def _names(node: Node) -> list[Node]:
    """Return the declared names, which the grammar keeps among their commas."""
    return [name for name in node.children_by_field_name("name") if name.is_named]


def _children(node: Node) -> list[Node]:
    return [child for child in node.named_children if child.type != "comment"]


def _field(node: Node, name: str) -> Node | None:
    return node.child_by_field_name(name)


def _require(node: Node, name: str) -> Node:
    child = node.child_by_field_name(name)
    if child is None:
        raise LookupError(f"{node.type} has no {name}, which the grammar requires")
    return child


def _text(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")
