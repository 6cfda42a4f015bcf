"""The Python of README and of the pages type-checks, in mypy and in pyright.

The blocks of a page are one program, as later ones go on with what earlier ones define.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest

from tests.support.examples import PAGES, python_program
from tests.support.paths import ROOT

# They are large or absent, and have no types. To the checkers all that is in them is
# Any, as to a user who says so.
UNTYPED: Final = (
    "daft",
    "dask",
    "dask/dataframe",
    "duckdb",
    "polars",
    "pyarrow",
    "pysail",
    "pysail/spark",
    "pyspark",
    "pyspark/sql",
    "ray",
)
MYPY: Final = """\
[mypy]
strict = true
mypy_path = stubs
# The blocks are programs of their own, but for what they take from earlier ones.
allow_redefinition = true
untyped_calls_exclude = kubernetes
"""
# As above.
BASIC: Final = "# pyright: basic"
STRICT: Final = "# pyright: strict, reportDuplicateImport=false"
# These call functions without types: of the dynamic client, of kr8s, and of Ray.
WITH_UNTYPED: Final = ("cluster.md", "fleet.md", "howto/clients.md")
UNKNOWN: Final = (
    ", reportUnknownMemberType=false, reportUnknownVariableType=false"
    ", reportUnknownLambdaType=false"
)

pytestmark = pytest.mark.exhaustive
needs_pyright = pytest.mark.skipif(
    find_spec("pyright") is None, reason="pyright is in the extra dev"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the stubs, and the configuration of both checkers."""
    for name in UNTYPED:
        stub = tmp_path / "stubs" / name / "__init__.pyi"
        stub.parent.mkdir(parents=True, exist_ok=True)
        stub.write_text(
            "from typing import Any\ndef __getattr__(name: str) -> Any: ...\n"
        )
    (tmp_path / "mypy.ini").write_text(MYPY)
    settings = {"include": ["pages"], "stubPath": "stubs"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    (tmp_path / "pages").mkdir()
    return tmp_path


def write_programs(folder: Path, suffix: str, comment: str) -> None:
    """Write the program of each page, with a comment in its first line."""
    for page, path in PAGES.items():
        program = python_program(path)
        if program:
            assert program.startswith("\n"), page
            first = comment
            if page in WITH_UNTYPED and comment == STRICT:
                first += UNKNOWN
            name = page.replace("/", "_").removesuffix(".md")
            (folder / "pages" / f"{name}{suffix}.py").write_text(first + program)


def failures(folder: Path, *command: str) -> list[str]:
    """Run a checker; return its errors, by page and line."""
    ran = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    found = re.findall(r"pages/(.*:\d+.* error: .*)", ran.stdout)
    assert bool(found) == bool(ran.returncode), ran.stdout + ran.stderr
    return found


def test_the_blocks_pass_mypy_strict(folder: Path) -> None:
    write_programs(folder, "", "")
    assert not failures(folder, "mypy", "pages")


@needs_pyright
def test_the_blocks_pass_pyright_basic_and_strict(folder: Path) -> None:
    write_programs(folder, "_basic", BASIC)
    write_programs(folder, "_strict", STRICT)
    assert not failures(folder, "pyright", "--pythonpath", sys.executable)


@needs_pyright
def test_the_types_of_all_public_names_are_known() -> None:
    """Attributes without an annotation are not: checkers infer them differently."""
    scripts = Path(sys.executable).parent
    options = ["--outputjson", "--ignoreexternal", "--verifytypes", "smp"]
    ran = subprocess.run(
        [sys.executable, "-m", "pyright", *options],
        cwd=ROOT,
        # It looks for the package where the first Python of the PATH has it.
        env={**os.environ, "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    symbols = json.loads(ran.stdout)["typeCompleteness"]["symbols"]
    exported = [symbol for symbol in symbols if symbol["isExported"]]
    assert len(exported) > 1_000
    unknown = [each["name"] for each in exported if not each["isTypeKnown"]]
    assert not unknown
