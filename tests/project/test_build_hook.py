"""The build hook says why it does not compile, and that Python is too old."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import ROOT
from tools import hatch_build
from tools.hatch_build import MODULES, CompiledEngine, IndexPage, compile_sources


class Application:
    """The part of hatch that shows messages."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.warnings: list[str] = []

    def display_info(self, message: str) -> None:
        self.messages.append(message)

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


def failing(root: Path, target: Path, say: Callable[[str], None]) -> list[str]:
    say("compiled 0 of 2 C files")
    raise SystemExit(f"no compiler for {root} and {target}")


def test_a_failed_compilation_is_in_the_output_of_the_build(
    hook: CompiledEngine, application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hatch_build, "compiled", failing)
    monkeypatch.setattr(hatch_build, "_has_compiler", lambda: True)
    monkeypatch.setenv("SMP_COMPILE", "")
    data: dict[str, Any] = {"force_include": {}}
    hook.initialize("standard", data)
    assert application.messages == [
        f"compiling {len(MODULES)} modules, a minute; SMP_COMPILE=0 skips it",
        "compiled 0 of 2 C files",
    ]
    (warning,) = application.warnings
    assert "the engine stays pure Python" in warning
    assert "no compiler for" in warning
    assert data == {"force_include": {}}
    monkeypatch.setenv("SMP_COMPILE", "1")
    with pytest.raises(SystemExit):
        hook.initialize("standard", data)


class Extension:
    """The part of setuptools' Extension that is compiled."""

    include_dirs: Sequence[str] = ()
    extra_compile_args: Sequence[str] = ()

    def __init__(self, *sources: str) -> None:
        self.sources = list(sources)
        self.extra_objects: list[str] = []


class Build:
    """The part of setuptools' build_ext that has a compiler."""

    build_temp = "temporary"

    def __init__(self, *extensions: Extension) -> None:
        self.extensions = extensions
        self.compiler = self

    def compile(self, sources: list[str], **_options: object) -> list[str]:
        if "broken.c" in sources:
            raise ValueError(sources)
        return [source.replace(".c", ".o") for source in sources]


def test_each_extension_is_linked_from_its_own_objects() -> None:
    engine, shim = Extension("b.c", "a.c"), Extension("c.c")
    messages: list[str] = []
    compile_sources(Build(engine, shim), messages.append)
    assert (engine.sources, engine.extra_objects) == ([], ["a.o", "b.o"])
    assert (shim.sources, shim.extra_objects) == ([], ["c.o"])
    assert messages[-1] == "compiled 3 of 3 C files"


def test_what_does_not_compile_ends_the_build() -> None:
    with pytest.raises(ValueError, match=r"broken\.c"):
        compile_sources(Build(Extension("a.c", "broken.c")), print)


@pytest.mark.parametrize("level", ["", "3"])
@pytest.mark.slow
def test_the_level_is_1_unless_another_one_is_asked_for(
    level: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: dict[str, object] = {}

    def stop(_arguments: list[str], **options: object) -> None:
        asked.update(options)
        raise SystemExit

    monkeypatch.setattr("mypyc.build.mypycify", stop)
    monkeypatch.delenv("SMP_COMPILE_LEVEL", raising=False)
    if level:
        monkeypatch.setenv("SMP_COMPILE_LEVEL", level)
    with pytest.raises(SystemExit):
        hatch_build.compiled(ROOT, tmp_path, print)
    assert asked["opt_level"] == (level or "1")


def test_the_wheels_of_a_release_have_the_highest_level() -> None:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
    environment = project["tool"]["cibuildwheel"]["environment"]
    assert environment == {"SMP_COMPILE": "1", "SMP_COMPILE_LEVEL": "3"}


@pytest.mark.parametrize("tool", ["pre-commit", "prek"])
def test_a_hook_of_git_is_not_compiled(
    tool: str, hook: CompiledEngine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """``nox -s hook`` installs it with pre-commit itself."""
    monkeypatch.setattr(hatch_build, "_has_compiler", lambda: True)
    monkeypatch.setenv("SMP_COMPILE", "")
    assert hook.dependencies() == [*hatch_build.REQUIREMENTS]
    if tool == "prek":
        (tmp_path / ".prek-repo.json").write_text("{}")
    else:
        monkeypatch.setattr(sys, "prefix", str(tmp_path / "py_env-python3.11"))
    assert hook.dependencies() == []
    monkeypatch.setenv("SMP_COMPILE", "1")
    assert hook.dependencies() == [*hatch_build.REQUIREMENTS]


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
