"""The types that the expressions of a definition are compiled against.

Go: k8s.io/apiserver, pkg/cel/common/schemas.go, SchemaDeclType. The evaluator takes
types of objects as messages of Protocol Buffers alone, so a schema becomes a file of
them. What a message cannot hold, a list in a list or in a map, is of any type there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from typing import Any, Final

from smp._values.times import parse_duration, read_time
from smp.custom_resources import _expressions as expressions
from smp.custom_resources._cel_values import escape_name
from smp.custom_resources._patterns import compile_pattern
from smp.custom_resources._schema_node import SchemaNode

_PACKAGE: Final = "kubernetes"
_WELL_KNOWN: Final = "google.protobuf."
_FORMATS: Final = {
    "byte": "BYTES",
    "date": "TIMESTAMP",
    "date-time": "TIMESTAMP",
    "duration": "DURATION",
}
_SCALARS: Final = {"boolean": "BOOL", "integer": "INT", "number": "DOUBLE"}
# The messages that stand for other types.
_MESSAGES: Final = {
    "DURATION": "Duration",
    "DYN": "Value",
    "LIST": "ListValue",
    "MAP": "Struct",
    "TIMESTAMP": "Timestamp",
}
# What Protocol Buffers calls the others.
_FIELD_TYPES: Final = {
    "BOOL": "TYPE_BOOL",
    "BYTES": "TYPE_BYTES",
    "DOUBLE": "TYPE_DOUBLE",
    "INT": "TYPE_INT64",
    "STRING": "TYPE_STRING",
}
_PROBLEM: Final = re.compile(r"ERROR: <input>:[0-9]+:[0-9]+: (.*)")
# Go: cel.CrossTypeNumericComparisons; the evaluator compares them, untyped, as well.
_OF_NUMBERS: Final = re.compile(
    r"found no matching overload for '_[<>]=?_' applied to"
    r" '\((?:u?int|double), (?:u?int|double)\)'"
)
# What the evaluator does not have (Go: ext.TwoVarComprehensions, ext.Lists,
# library.Format).
_MISSING: Final = re.compile(
    r"\.(?:transformList|transformMap|transformMapEntry|existsOne|slice|flatten|sort|"
    r"sortBy|distinct|reverse|first|last)\(|lists\.range\(|format\.named\("
    r"|\.(?:all|exists|exists_one)\(\s*\w+\s*,\s*\w+\s*,"
)
# A parser of Go goes deeper: its limit is 250.
_TOO_DEEP: Final = "recursion limit exceeded"
# What the evaluator has, and a server has not.
_BINDING: Final = re.compile(r"\bcel\.bind\(")
# Go: cel.ASTValidators, of literals.
_LITERAL: Final = re.compile(
    r"""\b(matches|duration|timestamp)\(\s*(?:'([^'\\]*)'|"([^"\\]*)")\s*\)"""
)
_READERS: Final[dict[str, Callable[[str], object]]] = {
    "duration": parse_duration,
    "matches": compile_pattern,
    "timestamp": lambda text: read_time(text.upper()),
}


def find_problem(text: str) -> str:
    """Return what the evaluator takes and a server does not; empty for nothing.

    Raises BudgetError where the evaluator does not have what a server has.
    """
    if _MISSING.search(text):
        raise expressions.BudgetError("it calls what cel-expr-python does not have")
    if _BINDING.search(text):
        return "undeclared reference to 'cel'"
    for literal in _LITERAL.finditer(text):
        written = literal[2] or literal[3] or ""
        if _READERS[literal[1]](written) is None:
            return f"invalid {literal[1]} argument"
    return ""


def describe_failure(error: expressions.ExpressionError) -> str:
    """Return why a server does not compile an expression; empty where it does.

    ``error`` is what the evaluator says of it. Raises BudgetError where that is not
    known here.
    """
    if _TOO_DEEP in str(error):
        raise expressions.BudgetError(str(error)) from None
    problems = _PROBLEM.findall(str(error)) or [str(error)]
    wrong = [each for each in problems if not _OF_NUMBERS.match(each)]
    return f"compilation failed: {wrong[0]}" if wrong else ""


class DeclaredTypes:
    """The types of the values of a schema, as they are asked for."""

    def __init__(self) -> None:
        from google.protobuf import descriptor_pb2  # noqa: PLC0415  # of an extra

        self._proto: Any = descriptor_pb2.FieldDescriptorProto
        self._file: Any = descriptor_pb2.FileDescriptorProto(
            name="schema.proto",
            package=_PACKAGE,
            syntax="proto3",
            dependency=[
                f"google/protobuf/{name}.proto"
                for name in ("duration", "struct", "timestamp")
            ],
        )
        self._names: dict[int, str] = {}
        self._nodes: list[SchemaNode] = []
        self._environments: dict[int, Any] = {}

    def add(self, node: SchemaNode) -> None:
        """Take a schema in; all are before the first compilation."""
        self._name_of_type(node)

    def problem_of(
        self, text: str, node: SchemaNode, result: str, *, optional_old_self: bool
    ) -> str:
        """Return why an expression does not compile; empty where it does.

        ``self`` is a value of the schema, and ``result`` is the type of the value, bool
        or string. Raises BudgetError where that is not known here. Go: compileRule in
        apiextensions-apiserver, schema/cel.
        """
        if problem := find_problem(text):
            return f"compilation failed: {problem}"
        try:
            expression = expressions.compile_in(
                self._environment_of(node), text, optional_old_self=optional_old_self
            )
        except expressions.ExpressionError as error:
            return describe_failure(error)
        if expression.type_name == result:
            return ""
        return f"cel expression must evaluate to a {result}"

    def _environment_of(self, node: SchemaNode) -> Any:
        """Return the language for the values of a schema: one for all its rules."""
        if id(node) not in self._environments:
            environment = expressions.make_environment(self._cel_type(node), self._pool)
            self._environments[id(node)] = environment
            self._nodes.append(node)
        return self._environments[id(node)]

    def _cel_type(self, node: SchemaNode) -> Any:
        """Return the type of ``self``, which is no field of a message."""
        types = expressions.find_types()
        kind = _type_of(node)
        if kind == "LIST" and node.items is not None:
            return types.List(self._cel_type(node.items))
        if kind == "MAP" and node.others is not None:
            return types.Map(types.STRING, self._cel_type(node.others))
        if kind == "OBJECT":
            return types(f"{_PACKAGE}.{self._names[id(node)]}")
        return getattr(types, kind)

    def _name_of_type(self, node: SchemaNode) -> str:
        """Return the message of an object; add it, and what stands in it, once."""
        inner = node.items or node.others
        kind = _type_of(node)
        if kind in {"LIST", "MAP"} and inner is not None:
            self._name_of_type(inner)
        if kind != "OBJECT" or id(node) in self._names:
            return self._names.get(id(node), "")
        name = f"Object{len(self._names)}"
        self._names[id(node)] = name
        # Schemas are known by their ids, so they stay.
        self._nodes.append(node)
        message = self._file.message_type.add(name=name)
        # Fields may be called jwks_uri and jwksUri: they are not read as JSON here.
        message.options.deprecated_legacy_json_field_conflicts = True
        names = dict.fromkeys(node.properties)
        if node.is_resource:
            names |= dict.fromkeys(("apiVersion", "kind", "metadata"))
        for number, member in enumerate(names, 1):
            inner, escaped = node.visible_member(member), escape_name(member)
            if inner is not None and escaped:
                field = message.field.add(
                    name=escaped, number=number, json_name=str(number)
                )
                self._declare(field, message, inner)
        return name

    def _declare(self, field: Any, message: Any, node: SchemaNode) -> None:
        kind = _type_of(node)
        if kind == "LIST" and node.items is not None:
            field.label = self._proto.LABEL_REPEATED
            self._set_type(field, node.items)
        elif kind == "MAP" and node.others is not None:
            # A map is a list of messages, of which the name is given.
            words = field.name.split("_")
            camel = "".join(word[:1].upper() + word[1:] for word in words) + "Entry"
            if any(nested.name == camel for nested in message.nested_type):
                self._set_type(field, node)
                return
            entry = message.nested_type.add(name=camel)
            entry.options.map_entry = True
            entry.field.add(name="key", number=1, type=self._proto.TYPE_STRING)
            value = entry.field.add(name="value", number=2)
            self._set_type(value, node.others)
            field.label = self._proto.LABEL_REPEATED
            field.type = self._proto.TYPE_MESSAGE
            field.type_name = f".{_PACKAGE}.{message.name}.{camel}"
        else:
            self._set_type(field, node)

    def _set_type(self, field: Any, node: SchemaNode) -> None:
        kind = _type_of(node)
        if kind in _FIELD_TYPES:
            field.type = getattr(self._proto, _FIELD_TYPES[kind])
            return
        field.type = self._proto.TYPE_MESSAGE
        if kind == "OBJECT":
            field.type_name = f".{_PACKAGE}.{self._name_of_type(node)}"
        else:
            field.type_name = f".{_WELL_KNOWN}{_MESSAGES[kind]}"

    @cached_property
    def _pool(self) -> Any:
        from google.protobuf import (  # noqa: PLC0415  # of an extra
            descriptor_pool,
            duration_pb2,
            struct_pb2,
            timestamp_pb2,
        )

        pool: Any = descriptor_pool.DescriptorPool()
        for module in (duration_pb2, struct_pb2, timestamp_pb2):
            pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
        pool.Add(self._file)
        return pool


def _type_of(node: SchemaNode) -> str:
    """Name the type of a value; OBJECT for one with members of its own."""
    if node.is_int_or_string:
        return "DYN"
    match node.type:
        case "array":
            return "LIST"
        case "object":
            return "OBJECT" if node.others is None else "MAP"
        case "string":
            return _FORMATS.get(node.format, "STRING")
    return _SCALARS[node.type]
