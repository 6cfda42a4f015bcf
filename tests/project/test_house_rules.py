"""The rules of the house, for every module of the package.

They are forms that no linter checks. Figures are no rules: the worst places are what
``python -m tests.support.house`` prints.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import Final

from tests.support.house import MODULES, is_private, name_of, tree_of
from tests.support.paths import ROOT
from tests.support.rows import each_row


def package_of(path: Path) -> str:
    """Return the dotted name of the package that a module belongs to."""
    return ".".join(path.relative_to(ROOT).parts[:-1])


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


@cache
def imports_of(path: Path) -> list[tuple[str, str]]:
    """Return the modules that are imported, and the name taken from each."""
    found: list[tuple[str, str]] = []
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            found += [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            found += [(str(node.module), alias.name) for alias in node.names]
    return found


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
        # A private name belongs to the package above it, and to what is below that. A
        # private function of a module belongs to that module: nothing else imports it.
        owners = [
            ".".join(parts[:index])
            for index, part in enumerate(parts)
            if is_private(part)
        ]
        if not all(f"{package}.".startswith(f"{owner}.") for owner in owners):
            foreign.append(f"{module}: {name}" if name else module)
    assert foreign == []


@by_path
def test_value_classes_are_msgspec_structs(path: Path) -> None:
    """There is one family of value classes: no dataclass and no NamedTuple."""
    names = {name for _, name in imports_of(path)}
    modules = {module for module, _ in imports_of(path)}
    assert "dataclasses" not in modules
    assert names.isdisjoint({"NamedTuple", "namedtuple"})


# What a compiled module annotates is defined in one that mypyc cannot compile, which
# imports it: the circle is one of types alone.
CIRCLE_OF_TYPES: Final = {
    "smp.managed_fields._field_set",
    "smp.managed_fields._set_walks",
}


def imported_modules() -> dict[str, set[str]]:
    """Return the modules that each one imports, also within functions.

    A package is imported before what is in it, so that is no import of its own.
    """
    names = {name_of(path) for path in MODULES}
    found: dict[str, set[str]] = {}
    for path in MODULES:
        own = name_of(path)
        wanted = {
            name
            for module, taken in imports_of(path)
            for name in (module, f"{module}.{taken}")
        }
        above = {own[:at] for at in range(len(own)) if own[at] == "."}
        found[own] = (wanted & names) - above - {own}
    return found


def modules_in_circles(imports: dict[str, set[str]]) -> set[str]:
    """Return what is left when modules go that import, or are imported by, none."""
    left = {name: set(others) for name, others in imports.items()}
    while True:
        used = {other for others in left.values() for other in others}
        ends = {name for name in left if not left[name] or name not in used}
        if not ends:
            return set(left)
        left = {
            name: others - ends for name, others in left.items() if name not in ends
        }


def test_no_module_imports_itself_by_way_of_others() -> None:
    assert modules_in_circles(imported_modules()) == CIRCLE_OF_TYPES


def test_a_circle_of_modules_is_found() -> None:
    imports = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}
    assert modules_in_circles(imports) == {"b", "c"}
