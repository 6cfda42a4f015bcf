"""The figures of the package, and the ten worst places of each.

They are for those who change it: ``python -m tests.support.house`` prints them. None is
a rule, as a figure of the whole package says nothing of a single change.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from tests.support.paths import ROOT

PACKAGE: Final = ROOT / "smp"
MODULES: Final = sorted(PACKAGE.rglob("*.py"))
Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_SHOWN: Final = 10
# A function that is called once and is shorter is a detour for a reader.
_DETOUR: Final = 5


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), str(path))


def name_of(path: Path) -> str:
    """Return the dotted name of a module."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


class Place(NamedTuple):
    """A place in the package, and how much of something it has."""

    amount: float
    name: str


def functions() -> Iterator[tuple[str, Function]]:
    """Yield each function with its dotted name."""
    for path in MODULES:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{name_of(path)}.{node.name}", node


def body_of(function: Function) -> list[ast.stmt]:
    """Return the statements of a function after its docstring."""
    has_docstring = ast.get_docstring(function, clean=False) is not None
    return function.body[1:] if has_docstring else function.body


def lines_of(function: Function) -> int:
    """Return how many lines the body of a function has."""
    body = body_of(function)
    if not body or function.end_lineno is None:
        return 0
    return function.end_lineno - body[0].lineno + 1


def lengths() -> Iterator[Place]:
    """Yield the lines of the body of each function."""
    for name, function in functions():
        yield Place(lines_of(function), name)


def densities() -> Iterator[Place]:
    """Yield the nodes of the syntax tree for each line of the body of a function."""
    for name, function in functions():
        lines = lines_of(function)
        if lines > 1:
            body = body_of(function)
            nodes = sum(1 for statement in body for _ in ast.walk(statement))
            yield Place(round(nodes / lines, 1), name)


def parameters() -> Iterator[Place]:
    """Yield how many parameters each function has."""
    for name, function in functions():
        given = function.args
        every = (*given.posonlyargs, *given.args, *given.kwonlyargs)
        yield Place(len(every), name)


def detours() -> Iterator[Place]:
    """Yield the modules by their short private functions that are called once."""
    for path in MODULES:
        words = Counter(re.findall(r"\w+", path.read_text()))
        count = 0
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.FunctionDef) and is_private(node.name):
                count += words[node.name] == 2 and lines_of(node) < _DETOUR
        yield Place(count, name_of(path))


def bare_lines() -> Iterator[Place]:
    """Yield the lines of code of each module for each comment in it."""
    for path in MODULES:
        lines = path.read_text().splitlines()
        comments = sum(bool(re.match(r"\s*#(?![:!])", line)) for line in lines)
        yield Place(round(len(lines) / (comments + 1)), name_of(path))


REPORT: Final = {
    "lines in a body": lengths,
    "nodes in a line": densities,
    "parameters": parameters,
    "short functions that are called once, in a module": detours,
    "lines for each comment, in a module": bare_lines,
}


if __name__ == "__main__":
    for title, places in REPORT.items():
        print(title)  # noqa: T201  # it is a command
        for place in sorted(places(), reverse=True)[:_SHOWN]:
            print(f"  {place.amount:7g}  {place.name}")  # noqa: T201  # as above
