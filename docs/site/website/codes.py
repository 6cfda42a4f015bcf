"""The codes of errors: the classes that have them, and the places that raise them."""

from __future__ import annotations

import ast
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Final

import msgspec

import smp
from smp.errors import SmpError

PACKAGE: Final = Path(smp.__path__[0])
# What stands in a message for a value.
_BLANK: Final = "…"
# Importing the one would start the command; the other needs pytest, and has no errors.
_NOT_IMPORTED: Final = ("smp.__main__", "smp.pytest_plugin")


class Place(msgspec.Struct, frozen=True, order=True):
    """Where an error is raised: its class, and its words with blanks for values."""

    error: str
    problem: str
    hint: str


def error_classes() -> dict[str, type[SmpError]]:
    """Return all error classes of the library by their names."""
    for module in pkgutil.walk_packages([str(PACKAGE)], "smp."):
        if module.name not in _NOT_IMPORTED:
            import_module(module.name)
    classes: dict[str, type[SmpError]] = {}
    remaining = [SmpError]
    while remaining:
        error_class = remaining.pop()
        if error_class.__module__.startswith("smp."):
            classes[error_class.__name__] = error_class
        remaining.extend(error_class.__subclasses__())
    return classes


def places_by_code(classes: dict[str, type[SmpError]]) -> dict[str, list[Place]]:
    """Return the places in the source that raise each code.

    A code that a class has by itself, and that is set in its own methods, has no place.
    """
    places: dict[str, set[Place]] = {
        error_class.default_code: set() for error_class in classes.values()
    }
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
        texts = _module_texts(tree)
        for call, name in _calls(tree):
            # ``at.error(...)`` is a method that makes an error of a document.
            error = "DocumentError" if name == "error" else name
            keywords = {keyword.arg: keyword.value for keyword in call.keywords}
            if error not in classes or (name == "error" and "code" not in keywords):
                continue
            codes = [classes[error].default_code]
            if "code" in keywords:
                codes = _texts_in(keywords["code"], texts)
            problem = _words(call.args[0], texts) if call.args else ""
            hint = _words(keywords["hint"], texts) if "hint" in keywords else ""
            for code in codes:
                place = Place(error, problem, hint)
                places.setdefault(code, set()).add(place)
    return {code: sorted(found) for code, found in sorted(places.items())}


def _calls(tree: ast.Module) -> Iterator[tuple[ast.Call, str]]:
    """Yield each call of a name or a method, and that name."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name):
            yield node, node.func.id
        elif isinstance(node.func, ast.Attribute):
            yield node, node.func.attr


def _module_texts(tree: ast.Module) -> dict[str, str]:
    """Return the constants of a module that are text, by their names."""
    texts = {}
    for node in tree.body:
        if (
            isinstance(node, ast.AnnAssign)
            and isinstance(node.target, ast.Name)
            and node.value is not None
        ):
            text = _words(node.value, {})
            if text not in ("", _BLANK):
                texts[node.target.id] = text
    return texts


def _texts_in(node: ast.expr, texts: dict[str, str]) -> list[str]:
    """Return the texts that an expression may be: both sides of a condition, too."""
    if isinstance(node, ast.IfExp):
        return [*_texts_in(node.body, texts), *_texts_in(node.orelse, texts)]
    text = _words(node, texts)
    return [text] if _BLANK not in text else []


def _words(node: ast.expr, texts: dict[str, str]) -> str:
    """Return the text of an expression, with blanks for what is known when it runs."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.Name) and node.id in texts:
        return texts[node.id]
    if isinstance(node, ast.JoinedStr):
        return "".join(_words(part, texts) for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _words(node.left, texts) + _words(node.right, texts)
    return _BLANK
