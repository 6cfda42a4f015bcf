"""Expressions of the Common Expression Language, by the package of the extra ``cel``.

cel-expr-python has cel-cpp, which compiles and evaluates them. What is missing of the
language of a kube-apiserver (Go: k8s.io/apiserver, pkg/cel/environment) is added here:
the functions of ``_libraries``, and what a function of Python cannot return or declare,
which is written into the text of the expression. So are the messages of the expressions
that mutate, ``Object`` and ``JSONPatch``: as maps, with the same members.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final

import msgspec

from smp.custom_resources._libraries import (
    ELEMENT,
    FUNCTIONS,
    ORDERED,
    SUMMED,
    Function,
)
from smp.paths import escape_pointer

try:
    from cel_expr_python import cel
    from cel_expr_python.ext import ext_bindings, ext_optional, ext_strings
except ImportError:
    cel = None

# A string of an expression.
_STRING: Final = (
    r"""[rRbB]{0,2}(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')"""
)
SELF: Final = "self"
OLD_SELF: Final = "oldSelf"
_HAS_OLD: Final = "kubernetesHasOldSelf"
# Go: k8s.io/apiserver, pkg/admission/plugin/cel. There is no authorizer here.
POLICY_VARIABLES: Final = (
    *("object", "oldObject", "request", "params", "namespaceObject", "variables"),
)
# The types that a parameter may have, or the elements of one.
_ELEMENTS: Final = {
    "*": ("STRING", "INT", "DOUBLE", "BOOL", "MAP", "LIST"),
    ORDERED: (
        *("BOOL", "BYTES", "DOUBLE", "DURATION", "INT", "STRING", "TIMESTAMP", "UINT"),
    ),
    SUMMED: ("DOUBLE", "DURATION", "INT", "UINT"),
}
# Names of strings that lists have as well; the package takes each name once.
_RENAMED: Final = {
    "indexOf": "kubernetesIndexOf",
    "lastIndexOf": "kubernetesLastIndexOf",
}
# Go: k8s.io/apiserver, pkg/cel/mutation.
_POLICY_FUNCTIONS: Final[tuple[Function, ...]] = (
    *FUNCTIONS,
    ("jsonpatch.escapeKey", False, ("STRING",), "STRING", escape_pointer),
)
# Of messages: a string or a comment, the begin of one, a field of it, and what nests.
_TOKEN: Final = re.compile(
    rf"(?P<other>{_STRING}|//[^\n]*|\s+)"
    r"|(?<![\w.])(?:Object(?:\.\w+)*|JSONPatch)\s*(?P<message>\{)"
    r"|(?P<optional>\??)\s*(?P<field>[A-Za-z_]\w*)(?=\s*:)"
    r"|(?P<open>[{\[(])|(?P<close>[}\])])|\w+|.",
    re.DOTALL,
)
_ESCAPED: Final = re.compile(r"__(\w+?)__")
_CHARACTERS: Final = {"underscores": "__", "dot": ".", "dash": "-", "slash": "/"}
# The calls that change; strings stay.
_CALL: Final = re.compile(rf"{_STRING}|\.(?:indexOf|lastIndexOf)\(", re.DOTALL)
_VALIDATE: Final = re.compile(r"format\.[A-Za-z0-9]+\(\)\.validate\(")
_NAME: Final = re.compile(rf"{_STRING}|(?<![\w.])[A-Za-z_]\w*(?:\.\w+)?", re.DOTALL)
_CONVERSION: Final = "type conversion error from '{}' to '{}'"
# What cel-cpp says of an error, and what cel-go says of it (types.Err, interpreter).
_ERRORS: Final = (
    (re.compile(r'Key not found in map : "(.*)"'), r"no such key: \1"),
    (re.compile(r"Index error: index=(-?[0-9]+) size=.*"), r"index out of bounds: \1"),
    (
        re.compile("malformed UTF-8 bytes"),
        "invalid UTF-8 in bytes, cannot convert to string",
    ),
    (re.compile("cannot convert string to int"), _CONVERSION.format("string", "int")),
    (re.compile(r"divide by zero"), "division by zero"),
    (re.compile(r"modulus by zero"), "modulus by zero"),
    (re.compile(r"integer overflow"), "integer overflow"),
    (re.compile(r"No matching overloads found.*"), "no such overload"),
)
_CODE: Final = "INVALID_ARGUMENT"
_NO_OVERLOAD: Final = "no such overload"


# What is in an expression: loops, of which some build a list, what reads a text or a
# list from end to end, what compares with a value or adds one, and parentheses.
_PART: Final = re.compile(
    r"\.(?P<loop>all|exists|exists_one|existsOne|(?P<builder>map|filter|sortBy))\("
    r"|\.(?P<text>split|(?P<grower>join|replace)|find|findAll|matches|format|reverse"
    r"|substring)\("
    r"|\b(?P<list>sum|min|max|isSorted|indexOf|lastIndexOf|contains|equivalent"
    r"|intersects|flatten|distinct|slice|sort)\("
    rf"|(?P<simple>\bin\s*\[|(?:[=!]=|\+)\s*(?:{_STRING}|-?[0-9]|true\b|false\b|null\b)"
    rf"|(?:{_STRING}|\b[0-9.]+)\s*(?:[=!]=|\+))"
    rf"|(?P<operator>[=!]=|\+|\bin\b)|{_STRING}|(?P<bracket>[()])",
    re.DOTALL,
)
# Arguments of join and replace that make a text a few times as long.
_LITERALS: Final = re.compile(rf"\s*(?:\)|{_STRING}\s*\)|[^(),]+,\s*{_STRING}\s*\))")
_MOST_TURNS: Final = 10_000  # of all loops of an evaluation, by the package
_MOST_GROWTH: Final = 2**40
_DEEPEST: Final = 4
# A function of Python takes so many times what the package takes for an element.
_OF_FUNCTION: Final = 5


class ExpressionError(Exception):
    """An expression does not compile, or its evaluation ends in an error."""


class BudgetError(Exception):
    """An evaluation takes more steps than the package allows: 10,000 of all loops.

    A server has a limit of its own, by cost, so its answer is not known.
    """


def is_installed() -> bool:
    """Tell whether there is a package that evaluates expressions."""
    return cel is not None


def find_types() -> Any:
    """Return the class of the types of values, which has the simple ones."""
    return cel.Type


def uses_old_self(text: str) -> bool:
    """Tell whether an expression names the old value."""
    return OLD_SELF in find_names(text)


def find_names(text: str) -> frozenset[str]:
    """Return the names that an expression begins with, alone and with a member.

    Those of ``object.spec.size`` are ``object`` and ``object.spec``.
    """
    found = [match[0] for match in _NAME.finditer(text)]
    return frozenset([*found, *[name.partition(".")[0] for name in found]])


class Expression(msgspec.Struct, frozen=True):
    """An expression that is compiled; ``text`` is that of its author.

    ``written`` is what the package compiled. ``loops`` are those that stand in it,
    ``depth`` is how deep they do in each other. ``reads_list`` is how many steps a turn
    of a loop takes for an element of a list. ``growth`` is how many times as long a
    text or a list may become in loops, and ``multiplies`` whether the length of a text
    may be that of one times another.
    """

    text: str
    written: str
    program: Any
    loops: int = 0
    depth: int = 0
    reads_text: bool = False
    reads_list: int = 0
    growth: int = 1
    multiplies: bool = False

    @property
    def type_name(self) -> str:
        """The type of its value, as far as it is known: ``bool``, ``dyn``."""
        return str(self.program.return_type().name()).lower()

    @property
    def is_quick(self) -> bool:
        """Whether an evaluation takes a few steps, whatever the value."""
        return not (self.loops or self.reads_text)

    def count_steps(self, elements: int, characters: int) -> int:
        """Return how many steps an evaluation takes at most.

        The longest list of the value has ``elements``, the longest text
        ``characters``. The package limits the turns of loops, and not what a turn
        does: a list that a loop builds is copied in each, and some functions and
        operators read a list or a text to its end.
        """
        turns = min(_MOST_TURNS, max(1, self.loops * int(elements**self.depth)))
        of_turn = 1 + (elements * self.reads_list if self.loops else 0)
        of_turn += characters if self.reads_text else 0
        if self.multiplies:
            of_turn += characters * max(elements, characters)
        return turns * of_turn * self.growth

    def evaluate(self, bindings: Any) -> Any:
        """Return the value for what ``bind`` made of values.

        Raises ExpressionError, and BudgetError where it takes too many steps.
        """
        try:
            result = self.program.eval(bindings)
        except RuntimeError as error:
            raise BudgetError(str(error)) from None
        if result.type().name() == "ERROR":
            raise ExpressionError(_words_of(str(result.value())))
        try:
            return result.plain_value()
        except (SystemError, TypeError):
            # The package has no value of Python for an optional.
            raise ExpressionError("the result is no value") from None


@cache
def compile_expression(text: str, *, optional_old_self: bool) -> Expression:
    """Return an expression compiled for values of any type. Raises ExpressionError.

    With ``optional_old_self`` the old value is an optional (``optionalOldSelf``).
    """
    return compile_in(_environment(), text, optional_old_self=optional_old_self)


def join_expressions(written: str, parts: list[Expression]) -> Expression | None:
    """Return an expression that is made of others, at any number of places.

    None where it is longer, or deeper, than the compiler goes.
    """
    try:
        program = _environment().compile(written)
    except (RuntimeError, UnicodeError):
        return None
    return Expression(
        written,
        written,
        program,
        # Over how many elements they are evaluated is not known.
        loops=_MOST_TURNS,
        reads_text=any(part.reads_text for part in parts),
        reads_list=max(part.reads_list for part in parts),
        growth=max(part.growth for part in parts),
        multiplies=any(part.multiplies for part in parts),
    )


def compile_in(environment: Any, text: str, *, optional_old_self: bool) -> Expression:
    """Return an expression compiled for values of a type (``make_environment``).

    Raises ExpressionError.
    """
    written = _CALL.sub(_rename_fields, text)
    written = _add_optional_validation(written)
    if optional_old_self:
        # A line of its own: the expression may end in a comment.
        written = (
            f"cel.bind({OLD_SELF}, {_HAS_OLD} ? optional.of({OLD_SELF}) :"
            f" optional.none(), {written}\n)"
        )
    try:
        program = environment.compile(written)
        return Expression(text, written, program, *_find_loops(text))
    except (RuntimeError, UnicodeError) as error:
        raise ExpressionError(str(error)) from None


def bind(value: Any, old: Any, *, has_old: bool) -> Any:
    """Return the values of an evaluation; one may be used for many expressions."""
    bindings: Mapping[str, Any] = {SELF: value, OLD_SELF: old, _HAS_OLD: has_old}
    return _environment().Activation(bindings)


def bind_variables(values: Mapping[str, Any]) -> Any:
    """Return the values of the variables of a policy, for its expressions."""
    computed = _convert_to_variable(values["variables"])
    return _policy_environment().Activation({**values, "variables": computed})


@cache
def compile_policy_expression(text: str) -> Expression:
    """Return an expression of a policy compiled. Raises ExpressionError."""
    written = _write_messages(text)
    try:
        return msgspec.structs.replace(
            compile_in(_policy_environment(), written, optional_old_self=False),
            text=text,
        )
    except ExpressionError as error:
        # The package puts the code of its status around the words of the language.
        problem = str(error).removeprefix(f"{_CODE}: ").removesuffix(f" [{_CODE}]")
        raise ExpressionError(f"compilation failed: {problem}") from None


@cache
def _policy_environment() -> Any:
    variables = dict.fromkeys(POLICY_VARIABLES, cel.Type.DYN)
    return _extend(None, variables, _POLICY_FUNCTIONS)


@cache
def _environment() -> Any:
    return make_environment(cel.Type.DYN, None)


def make_environment(type_: Any, pool: Any) -> Any:
    """Return the language for values of a type; its first expression takes long.

    ``pool`` has the messages that the type is made of.
    """
    variables = {SELF: type_, OLD_SELF: type_, _HAS_OLD: cel.Type.BOOL}
    return _extend(pool, variables, FUNCTIONS)


def _extend(
    pool: Any, variables: Mapping[str, Any], functions: tuple[Function, ...]
) -> Any:
    return cel.NewEnv(
        pool,
        variables=variables,
        extensions=[
            ext_strings.ExtStrings(),
            ext_optional.ExtOptional(),
            ext_bindings.ExtBindings(),
        ],
        functions=_declare_functions(functions, typed=pool is not None),
    )


@cache
def _declare_functions(
    declared: tuple[Function, ...], *, typed: bool
) -> tuple[Any, ...]:
    """Return the functions; those of ``typed`` values are not evaluated."""
    functions: dict[str, list[Any]] = {}
    for name, is_member, parameters, result, function in declared:
        for last in _choices(parameters, typed=typed):
            types = [
                _type_of(part, last, typed=typed) for part in (*parameters, result)
            ]
            overload = cel.Overload(
                "_".join([name, *parameters, last, "member" if is_member else "call"]),
                return_type=types.pop(),
                parameters=types,
                is_member=is_member,
                impl=function,
            )
            functions.setdefault(name, []).append(overload)
    return tuple([cel.FunctionDecl(*function) for function in functions.items()])


def _choices(parameters: tuple[str, ...], *, typed: bool) -> tuple[str, ...]:
    """Return the types that a parameter of several types may have."""
    for name, types in _ELEMENTS.items():
        if name in parameters and (typed or name == "*"):
            return types
    return ("",)


def _type_of(name: str, element: str, *, typed: bool) -> Any:
    if name in {"*", ELEMENT}:
        return getattr(cel.Type, element or "DYN")
    if name not in _ELEMENTS:
        return getattr(cel.Type, name)
    return cel.Type.List(getattr(cel.Type, element)) if typed else cel.Type.LIST


def _find_loops(text: str) -> tuple[int, int, bool, int, int, bool]:
    """Return how many loops an expression has, how deep, and what a turn reads."""
    loops, deepest, reads_text, reads_list, growth = 0, 0, False, 0, 1
    multiplies = False
    # The brackets that are open: whether each is that of a loop.
    opened: list[bool] = []
    for match in _PART.finditer(text):
        if match["list"]:
            reads_list = _OF_FUNCTION
        elif match["builder"] or match["operator"]:
            reads_list = max(reads_list, 1)
        if match["operator"] == "+" and any(opened):
            # Lists and texts are added as well: one twice the length for each turn.
            reads_text, growth = True, min(growth * 2, _MOST_GROWTH)
        if match["grower"]:
            arguments = _LITERALS.match(text, match.end())
            multiplies = multiplies or arguments is None
        if match[0].endswith("(") and not match["simple"]:
            opened.append(match["loop"] is not None)
            loops += opened[-1]
            reads_text = reads_text or match["text"] is not None
            deepest = max(deepest, sum(opened))
        elif match["bracket"] and opened:
            opened.pop()
    depth = min(deepest, _DEEPEST)
    return loops, depth, reads_text, reads_list, growth, multiplies


def _rename_fields(match: re.Match[str]) -> str:
    token = match[0]
    name = token[1:-1]
    return f".{_RENAMED[name]}(" if name in _RENAMED else token


def _add_optional_validation(text: str) -> str:
    """Make an optional of what validates a text by a format, as on a server."""
    at = 0
    while match := _VALIDATE.search(text, at):
        end, depth = match.end(), 1
        while end < len(text) and depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        call = text[match.start() : end]
        wrapped = f"optional.ofNonZeroValue({call})"
        text = text[: match.start()] + wrapped + text[end:]
        at = match.start() + len(wrapped)
    return text


def _write_messages(text: str) -> str:
    """Return an expression with its messages as maps."""
    written: list[str] = []
    # For each bracket that is open, whether it is that of a message.
    is_message = [False]
    may_begin = False
    for match in _TOKEN.finditer(text):
        if match["other"]:
            written.append(match[0])
            continue
        if match["message"]:
            written.append("{")
            is_message.append(True)
        elif match["field"] and may_begin and is_message[-1]:
            name = _ESCAPED.sub(_unescape, match["field"])
            written.append(f'{match["optional"]}"{name}"')
        else:
            written.append(match[0])
        if match["open"]:
            is_message.append(False)
        elif match["close"] and len(is_message) > 1:
            is_message.pop()
        may_begin = bool(match["message"]) or match[0] == ","
    return "".join(written)


def _unescape(match: re.Match[str]) -> str:
    """Go: apiserver/pkg/cel/escaping.go, Unescape."""
    return _CHARACTERS.get(match[1], match[1])


def _convert_to_variable(value: Any) -> Any:
    """Return what an expression returned as another one takes it."""
    if isinstance(value, dict):
        return {name: _convert_to_variable(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_convert_to_variable(element) for element in value]
    if isinstance(value, datetime):
        from google.protobuf.timestamp_pb2 import Timestamp  # noqa: PLC0415  # extra

        instant = Timestamp()
        instant.FromDatetime(value)
        return instant
    if isinstance(value, timedelta):
        from google.protobuf.duration_pb2 import Duration  # noqa: PLC0415  # extra

        duration = Duration()
        duration.FromTimedelta(value)
        return duration
    return bytes(value) if isinstance(value, bytearray) else value


def _words_of(problem: str) -> str:
    """Word an error as a kube-apiserver does."""
    problem = problem.partition(": ")[2] or problem
    for pattern, words in _ERRORS:
        if match := pattern.search(problem):
            return match.expand(words)
    return problem


def is_without_overload(error: Exception) -> bool:
    """Tell whether an error is that of operands of types that do not go together."""
    return str(error).startswith(_NO_OVERLOAD)
