"""Pages for contributors: their examples run, the drawing is what is enforced, and all
that they name exists. So does all in the list of recorders.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import click
import pytest

from smp.cli._click import cli
from tests.record.__main__ import RECORDERS, table
from tests.support.examples import python_examples, run_example
from tests.support.paths import DOCS, ROOT
from tests.support.rows import each_row
from tools.hatch_build import MODULES

THIS_FILE: Final = Path(__file__)
DRAWN: Final = (DOCS / "architecture.md").read_text()
RECORD: Final = ROOT / "tests" / "record"
PAGES: Final = (
    DOCS / "architecture.md",
    DOCS / "extending.md",
    RECORD / "README.md",
)
TEXT: Final = "\n".join(page.read_text() for page in PAGES)
# The pages without their code blocks.
PROSE: Final = re.sub(r"^```.*?^```", "", TEXT, flags=re.MULTILINE | re.DOTALL)
CODE: Final = sorted(set(re.findall(r"`([^`\n]+)`", PROSE)))
TOP_LEVEL: Final = ("benchmarks/", "docs/", "smp/", "spec_cases/", "tests/", "tools/")
ROOT_FILES: Final = ("CHANGELOG.md", "NOTICE", "pyproject.toml")
# A file without a suffix, and extras of pyproject.toml.
NOT_IN_THE_SOURCE: Final = frozenset({"NOTICE", "bench", "dev"})
# The names of a logger, and of a value in a context.
NO_MODULES: Final = frozenset({"smp.server.http", "smp.cli.shows_all"})
SOURCES: Final = ("smp", "tests", "benchmarks", "tools")


def layer_contracts() -> Iterator[tuple[str, list[list[str]]]]:
    """Yield the container and the layers of each contract about layers."""
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
    for contract in project["tool"]["importlinter"]["contracts"]:
        if contract["type"] == "layers":
            (container,) = contract.get("containers", [""])
            yield (
                container,
                [re.split(r" [|:] ", layer) for layer in contract["layers"]],
            )


def boxes(drawing: str) -> list[list[str]]:
    """Return the modules in each box of a drawing, in the order of the boxes."""
    labels = re.findall(r'\b(?!subgraph)\w+\["([^"]+)"\]', drawing)
    titles = re.findall(r'subgraph \w+\["([^"]+)"\]', drawing)
    return [label.split("<br/>") for label in labels if label not in titles]


def drawings() -> list[str]:
    return re.findall(r"^```mermaid\n(.*?)^```", DRAWN, re.MULTILINE | re.DOTALL)


def paths_on_the_page() -> list[str]:
    """Return what is written in code style and begins like a path of the repository."""
    words = [word for code in CODE for word in code.split()]
    return sorted(
        {
            word
            for word in words
            if word in ROOT_FILES or (word.startswith(TOP_LEVEL) and ":" not in word)
        }
    )


def modules_on_the_page() -> list[str]:
    return sorted(set(re.findall(r"\b(?:smp|tests)(?:\.\w+)+", TEXT)))


def names_on_the_page() -> list[str]:
    """Return what is written in code style and is one name, or a call of it."""
    names = set()
    for code in CODE:
        match = re.match(r"[A-Za-z_]\w*(?=$|\()", code)
        if match:
            names.add(match[0])
    return sorted(names - NOT_IN_THE_SOURCE)


@cache
def words_of_the_source() -> frozenset[str]:
    words: set[str] = set()
    for source in SOURCES:
        path = ROOT / source
        files = [path] if path.is_file() else path.rglob("*.py")
        for file in files:
            if file != THIS_FILE:
                words.update(re.findall(r"\w+", file.read_text()))
    return frozenset(words)


@pytest.mark.parametrize(
    "code", [code for page in PAGES for code in python_examples(page)]
)
def test_the_examples_of_the_pages_run(code: str) -> None:
    assert run_example(code, "architecture.md")


def test_the_drawing_has_every_layer_in_the_order_that_is_enforced() -> None:
    house, *_ = layer_contracts()
    (drawing,) = drawings()
    assert boxes(drawing) == house[1]
    names = re.findall(r"^  (\w+)\[", drawing, re.MULTILINE)
    assert drawing.splitlines()[-1].strip() == " --> ".join(names)


def test_the_architecture_is_short() -> None:
    assert len(DRAWN.split()) <= 2500


def test_the_list_of_recorders_is_complete_and_is_the_one_of_the_page() -> None:
    modules = {path.stem for path in RECORD.glob("[a-z]*.py")}
    assert {each.name for each in RECORDERS} == modules
    assert table() in (RECORD / "README.md").read_text()


@each_row("path", paths_on_the_page())
def test_each_path_on_the_page_exists(path: str) -> None:
    assert list(ROOT.glob(path.rstrip("/"))), path


@each_row("name", modules_on_the_page())
def test_each_module_on_the_page_exists(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    try:
        import_module(name)
    except ModuleNotFoundError:
        assert hasattr(import_module(module), attribute), name


@each_row("name", names_on_the_page())
def test_each_name_on_the_page_is_in_the_source(name: str) -> None:
    assert name in words_of_the_source()


def test_the_commands_of_the_page_exist() -> None:
    commands = set(re.findall(r"\bsmp (\w+)", " ".join(CODE)))
    assert commands
    assert commands <= set(cli.list_commands(click.Context(cli)))


def test_modules_with_rules_are_compiled_with_the_walk() -> None:
    """The compiled walk calls rules of interpreted modules more slowly."""
    for path in sorted((ROOT / "smp").rglob("*.py")):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if "Interest" in text else ():
            if isinstance(node, ast.ClassDef):
                bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
                if "Interest" in bases:
                    assert str(path.relative_to(ROOT)) in MODULES


def test_each_compiled_module_exists() -> None:
    assert [name for name in MODULES if not Path(ROOT / name).is_file()] == []


def test_each_name_of_a_module_in_the_sources_exists() -> None:
    """A docstring or a comment that sends to a module that was moved is no help."""
    modules = {path.stem for path in (ROOT / "smp").iterdir()}
    lost: list[str] = []
    for path in (ROOT / "smp").rglob("*.py"):
        for dotted in re.findall(r"\bsmp(?:\.[A-Za-z_]\w*)+(?!\w*{)", path.read_text()):
            parts = dotted.split(".")
            if parts[1] in modules and dotted not in NO_MODULES and not exists(parts):
                lost.append(f"{path.relative_to(ROOT)}: {dotted}")
    assert not lost


@cache
def resolve(name: str) -> object:
    with suppress(ImportError):
        return import_module(name)
    return None


def exists(parts: list[str]) -> bool:
    """Tell whether a dotted name is a module, or what a module has."""
    for length in range(len(parts), 0, -1):
        module = resolve(".".join(parts[:length]))
        if module is not None:
            for name in parts[length:]:
                module = getattr(module, name, None)
            return module is not None
    return False
