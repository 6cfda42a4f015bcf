"""The build hook says why it does not compile, and that Python is too old."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

import hatch_build
from hatch_build import CompiledEngine, IndexPage
from tests.support.paths import ROOT


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


class TestTheReadmeOfAnIndex:
    """On an index page there is no repository beside the README."""

    def readme(self) -> str:
        metadata: dict[str, Any] = {}
        IndexPage(str(ROOT), {}).update(metadata)
        assert metadata["readme"]["content-type"] == "text/markdown"
        return str(metadata["readme"]["text"])

    def targets(self) -> list[str]:
        return re.findall(r"\]\(([^)]+)\)", self.readme())

    def test_with_an_address_all_links_are_absolute(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SMP_README_BASE", "https://host.example/o/r/blob/v1/")
        targets = self.targets()
        assert "https://host.example/o/r/blob/v1/docs/tutorial.md" in targets
        assert "https://host.example/o/r/blob/v1/docs/report.png?raw=true" in targets
        assert [each for each in targets if not each.startswith("https://")] == []

    def test_without_one_links_are_text(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("SMP_README_BASE", raising=False)
        assert [each for each in self.targets() if not each.startswith("http")] == []
        text = self.readme()
        assert "Tutorial: ten minutes" in text
        assert "report.png" not in text

    def test_code_stays_as_it_is(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SMP_README_BASE", "https://host.example")
        code = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
        original = (ROOT / "README.md").read_text()
        assert code.findall(self.readme()) == code.findall(original)
