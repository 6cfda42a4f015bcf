"""The package as a user imports it."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import smp
from tests.support.rows import each_row

OBJECT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {"replicas": 1},
}
LATER = """
base64 click deepdiff difflib importlib.resources jsonpatch jsonpointer
multiprocessing pathlib shutil
smp.schema.sources.openapi tempfile tree_sitter urllib.parse yaml zipfile
"""
HEAVY = (
    "yaml",
    "jsonpatch",
    "deepdiff",
    "click",
    "tree_sitter",
    "msgspec",
    "typing",
)


def modules_after(statement: str) -> set[str]:
    listing = (
        f"import sys; before = {{*sys.modules}}; {statement}; "
        "print(*sys.modules.keys() - before)"
    )
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-c", listing],
        capture_output=True,
        text=True,
        check=False,
    )
    # Without site-packages (-S) an installed smp is not found; with them, the modules
    # that a .pth file imports count as well.
    if ran.returncode:
        ran = subprocess.run(
            [sys.executable, "-c", listing], capture_output=True, text=True, check=True
        )
    return set(ran.stdout.split())


def own_modules_after(statement: str) -> set[str]:
    loaded = modules_after(statement)
    return {name for name in loaded if name == "smp" or name.startswith("smp.")}


@each_row("name", smp.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    assert getattr(smp, name) is not None


def test_dir_shows_exactly_the_public_names() -> None:
    names = [name for name in dir(smp) if not name.startswith("__")]
    assert names == sorted(smp.__all__)
    assert {"__all__", "__doc__", "__name__", "__version__"} < set(dir(smp))


def test_a_private_name_of_a_module_is_not_an_attribute() -> None:
    with pytest.raises(AttributeError, match="no attribute 'JSONObject'"):
        getattr(smp, "JSONObject")  # noqa: B009  # a type checker knows it is absent


def test_importing_it_loads_nothing_heavy() -> None:
    assert modules_after("import smp").isdisjoint(HEAVY)


def test_the_table_of_modules_is_what_type_checkers_read() -> None:
    imported: dict[str, str] = {}
    for statement in ast.walk(ast.parse(Path(smp.__file__).read_text("utf-8"))):
        if isinstance(statement, ast.ImportFrom) and statement.module == "smp":
            imported |= {alias.name: alias.name for alias in statement.names}
        elif isinstance(statement, ast.ImportFrom) and statement.level == 0:
            module = str(statement.module).removeprefix("smp.")
            imported |= {alias.name: module for alias in statement.names}
    del imported["import_module"]
    assert imported == smp._MODULES  # noqa: SLF001  # it has no other effect to compare
    assert sorted(imported) == sorted(smp.__all__)


def test_a_name_loads_what_its_module_loads() -> None:
    more: dict[str, set[str]] = {}
    for name in ("SmpError", "Catalog", "two_way_patch", "three_way_apply", "compare"):
        module = f"smp.{smp._MODULES[name]}"  # noqa: SLF001  # as above
        by_name = own_modules_after(f"import smp; smp.{name}")
        by_module = own_modules_after(f"import {module}")
        more |= {name: by_name - by_module} if by_name != by_module else {}
    assert more == {}


def test_a_catalog_loads_at_most_twenty_modules() -> None:
    assert len(own_modules_after("import smp; smp.Catalog")) <= 20


def test_comparing_loads_no_reader_of_documents() -> None:
    loaded = own_modules_after("import smp; smp.compare")
    assert [name for name in loaded if name.startswith("smp.documents")] == []


def test_the_engine_loads_no_library_for_input_or_output() -> None:
    loaded = modules_after(
        "import smp; smp.apply_patch({}, {}, smp.kubernetes().schema('v1', 'Pod'))"
    )
    assert loaded.isdisjoint({"yaml", "jsonpatch", "deepdiff", "click", "tree_sitter"})


def test_the_command_on_json_loads_only_what_it_needs(tmp_path: Path) -> None:
    file = tmp_path / "object.json"
    file.write_text(json.dumps(OBJECT))
    arguments = ["apply", "-f", str(file), "--live", str(file), "-o", "json"]
    loaded = modules_after(f"import smp.cli; assert smp.cli.main({arguments}) == 0")
    assert "smp.cli.apply" in loaded
    # The oldest msgspec that is allowed loads json.
    loaded -= modules_after("import msgspec")
    assert loaded.isdisjoint(LATER.split())


def test_the_command_on_usual_yaml_loads_no_library_for_yaml(tmp_path: Path) -> None:
    file = tmp_path / "object.yaml"
    file.write_text("apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n")
    arguments = ["patch", str(file), "--patch", '{"metadata": {"labels": {"a": "b"}}}']
    loaded = modules_after(f"import smp.cli; assert smp.cli.main({arguments}) == 0")
    later = {"yaml", "jsonpatch", "multiprocessing", "click"}
    assert loaded.isdisjoint({*later, "smp.three_way", "smp.unions"})
