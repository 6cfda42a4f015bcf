"""The package as a user imports it."""

from __future__ import annotations

import subprocess
import sys

import pytest

import smp

HEAVY = ("yaml", "jsonpatch", "deepdiff", "click", "rich", "tree_sitter", "msgspec", "typing")


def modules_after(statement: str) -> set[str]:
    listing = f"import sys; {statement}; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-I", "-S", "-c", listing], capture_output=True, text=True, check=False)
    if ran.returncode:  # without site-packages smp is not there; with them, whatever a .pth file imports is
        ran = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True)
    return set(ran.stdout.split())


@pytest.mark.parametrize("name", smp.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(smp, name) is not None
    assert name in dir(smp)


def test_another_name_is_not() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(smp, "nothing")  # noqa: B009  (what is not there cannot be written down)


def test_importing_it_loads_nothing_heavy() -> None:
    loaded = modules_after("import smp") - modules_after("pass")
    assert loaded.isdisjoint(HEAVY)


def test_the_engine_loads_no_edge() -> None:
    loaded = modules_after("import smp; smp.apply_patch({}, {}, smp.kubernetes().schema('v1', 'Pod'))")
    assert loaded.isdisjoint({"yaml", "jsonpatch", "deepdiff", "click", "rich", "tree_sitter"})
