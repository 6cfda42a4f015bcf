"""The package as a user imports it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import smp

OBJECT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {"replicas": 1},
}
LATER = """
base64 deepdiff difflib importlib.resources json jsonpatch jsonpointer pathlib rich shutil smp.cli._report
smp.documents._scalars tempfile tree_sitter urllib.parse yaml zipfile
"""
HEAVY = (
    "yaml",
    "jsonpatch",
    "deepdiff",
    "click",
    "rich",
    "tree_sitter",
    "msgspec",
    "typing",
)


def modules_after(statement: str) -> set[str]:
    listing = f"import sys; before = {{*sys.modules}}; {statement}; print(*sys.modules.keys() - before)"
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-c", listing],
        capture_output=True,
        text=True,
        check=False,
    )
    # without site-packages smp is not there; with them, whatever a .pth file imports is
    if ran.returncode:
        ran = subprocess.run(
            [sys.executable, "-c", listing], capture_output=True, text=True, check=True
        )
    return set(ran.stdout.split())


@pytest.mark.parametrize("name", smp.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(smp, name) is not None
    assert name in dir(smp)


def test_another_name_is_not() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(smp, "nothing")


def test_importing_it_loads_nothing_heavy() -> None:
    assert modules_after("import smp").isdisjoint(HEAVY)


def test_the_engine_loads_no_edge() -> None:
    loaded = modules_after(
        "import smp; smp.apply_patch({}, {}, smp.kubernetes().schema('v1', 'Pod'))"
    )
    assert loaded.isdisjoint(
        {"yaml", "jsonpatch", "deepdiff", "click", "rich", "tree_sitter"}
    )


def test_the_command_on_json_loads_only_what_it_needs(tmp_path: Path) -> None:
    file = tmp_path / "object.json"
    file.write_text(json.dumps(OBJECT))
    arguments = [
        "apply",
        "--filename",
        str(file),
        "--live",
        str(file),
        "--output",
        "json",
    ]
    # For a short option click itself loads difflib, to suggest a long one.
    loaded = modules_after(f"import smp.cli; assert smp.cli.main({arguments}) == 0")
    assert "smp.cli.apply" in loaded
    assert loaded.isdisjoint(LATER.split())
