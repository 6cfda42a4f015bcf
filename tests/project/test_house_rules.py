"""The rules of the house, for every module of the package.

They are figures and forms that no linter checks. The figures keep the text readable:
plain lines, few detours through functions that are called once, and comments that say
why.
"""

from __future__ import annotations

import ast
import re
import statistics
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

from tests.support.paths import ROOT
from tests.support.rows import each_row

PACKAGE: Final = ROOT / "smp"
MODULES: Final = sorted(PACKAGE.rglob("*.py"))
Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), str(path))


def name_of(path: Path) -> str:
    """Return the dotted name of a module."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def package_of(path: Path) -> str:
    """Return the dotted name of the package that a module belongs to."""
    return ".".join(path.relative_to(ROOT).parts[:-1])


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def functions_of(tree: ast.Module) -> list[Function]:
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


by_path = each_row("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))


# The functions by which Python itself asks a module for names.
HOOKS: Final = {"__getattr__", "__dir__"}


@each_row(
    "path",
    [path for path in MODULES if path.name == "__init__.py"],
    ids=lambda path: str(path.parent.relative_to(ROOT)),
)
def test_a_package_itself_defines_nothing(path: Path) -> None:
    definitions = [
        node.name
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    ]
    assert [name for name in definitions if name not in HOOKS] == []


def imports_of(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each module of the package that is imported, and the name taken from it."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, ""
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            for alias in node.names:
                yield str(node.module), alias.name


@by_path
def test_what_begins_with_an_underscore_is_used_in_its_own_package_only(
    path: Path,
) -> None:
    package = package_of(path)
    foreign = []
    for module, name in imports_of(path):
        parts = [*module.split("."), name]
        if parts[0] != "smp":
            continue
        private = [index for index, part in enumerate(parts) if is_private(part)]
        # A private name belongs to the package above it. A private function of a module
        # belongs to that module, so that nothing else may import it.
        if private and ".".join(parts[: private[0]]) != package:
            foreign.append(f"{module}: {name}" if name else module)
    assert foreign == []


@by_path
def test_value_classes_are_msgspec_structs(path: Path) -> None:
    """There is one family of value classes: no dataclass and no NamedTuple."""
    names = {name for _, name in imports_of(path)}
    modules = {module for module, _ in imports_of(path)}
    assert "dataclasses" not in modules
    assert names.isdisjoint({"NamedTuple", "namedtuple"})


def body_of(function: Function) -> list[ast.stmt]:
    """Return the statements of a function after its docstring."""
    has_docstring = ast.get_docstring(function, clean=False) is not None
    return function.body[1:] if has_docstring else function.body


def densities() -> Iterator[float]:
    """Yield the nodes of the syntax tree for each line of the body of a function."""
    for path in MODULES:
        for function in functions_of(tree_of(path)):
            body = body_of(function)
            if not body or function.end_lineno is None:
                continue
            lines = function.end_lineno - body[0].lineno + 1
            if lines > 1:
                nodes = sum(1 for statement in body for _ in ast.walk(statement))
                yield nodes / lines


def test_lines_are_plain() -> None:
    found = sorted(densities())
    ninth_decile = found[int(len(found) * 0.9)]
    assert statistics.median(found) <= 9
    assert ninth_decile <= 15


def test_few_private_functions_are_called_from_one_place() -> None:
    functions = 0
    called_once = []
    for path in MODULES:
        words = Counter(re.findall(r"\w+", path.read_text()))
        for function in functions_of(tree_of(path)):
            functions += 1
            # Named twice in the module: where it is defined, and where it is used.
            if is_private(function.name) and words[function.name] == 2:
                called_once.append(f"{name_of(path)}.{function.name}")
    assert len(called_once) <= 0.15 * functions, called_once


def test_comments_say_why() -> None:
    """At least 4 in 100 lines are comments; reviewers judge what they say."""
    lines = [line for path in MODULES for line in path.read_text().splitlines()]
    comments = [line for line in lines if re.match(r"\s*#(?![:!])", line)]
    assert len(comments) >= 0.04 * len(lines)
