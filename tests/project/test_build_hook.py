"""The build hook says why it does not compile, and that Python is too old."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import hatch_build
from hatch_build import CompiledEngine


class Application:
    """The part of hatch that shows messages."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def display_warning(self, message: str) -> None:
        self.warnings.append(message)


@pytest.fixture
def application() -> Application:
    return Application()


@pytest.fixture
def hook(application: Application, tmp_path: Path) -> CompiledEngine:
    unused: Any = None
    directory = str(tmp_path)
    app: Any = application
    return CompiledEngine(directory, {}, unused, unused, directory, "wheel", app)


def failing(root: Path, target: Path) -> list[str]:
    raise SystemExit(f"no compiler for {root} and {target}")


def test_a_failed_compilation_is_in_the_output_of_the_build(
    hook: CompiledEngine, application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hatch_build, "compiled", failing)
    monkeypatch.setattr(hatch_build, "_has_compiler", lambda: True)
    monkeypatch.setenv("SMP_COMPILE", "")
    data: dict[str, Any] = {"force_include": {}}
    hook.initialize("standard", data)
    (warning,) = application.warnings
    assert "the engine stays pure Python" in warning
    assert "no compiler for" in warning
    assert data == {"force_include": {}}
    monkeypatch.setenv("SMP_COMPILE", "1")
    with pytest.raises(SystemExit):
        hook.initialize("standard", data)


def test_an_old_python_is_named(
    hook: CompiledEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 10, 13, "final", 0))
    with pytest.raises(SystemExit) as caught:
        hook.dependencies()
    message = "strategic-merge-patch needs Python 3.11 or newer, this is 3.10.13"
    assert caught.value.args == (message,)
