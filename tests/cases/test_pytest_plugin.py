"""The pytest plugin runs the spec cases that it should, shows differences and rewrites
files.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import smp.cases
from smp import pytest_plugin
from smp.cases import pytest_items
from tests.support.paths import DATA, ROOT, SPEC_CASES

pytest_plugins = ["pytester"]

PASSING = """\
description: some
kind: v1 ConfigMap
cases:
  - description: a value is set
    source: here
    live: {}
    patch: {data: {x: "1"}}
    result: {data: {x: "1"}}
"""
FAILING = PASSING.replace(
    'result: {data: {x: "1"}}', 'result: {data: {x: "2"}}   # wrong'
)
PLUGINS = ("-p", "smp.pytest_plugin", "-p", "xdist")
SCHEMA = (SPEC_CASES / smp.cases.SCHEMA_NAME).read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    # The options name the plugin instead, so the tests need no installed package.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def write(pytester: pytest.Pytester, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = pytester.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def run(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    return pytester.runpytest_inprocess(*PLUGINS, *options)


def node_ids(pytester: pytest.Pytester, *options: str) -> list[str]:
    listed = run(pytester, "--collect-only", "-q", *options)
    return [line for line in listed.outlines if "::" in line]


def test_cases_beside_and_below_the_schema_are_collected(
    pytester: pytest.Pytester,
) -> None:
    write(
        pytester,
        {
            "golden/case.schema.json": SCHEMA,
            "golden/a.yaml": PASSING,
            "golden/deep/down/b.yaml": PASSING,
        },
    )
    assert node_ids(pytester) == [
        "golden/a.yaml::a-value-is-set",
        "golden/deep/down/b.yaml::a-value-is-set",
    ]
    run(pytester).assert_outcomes(passed=2)


def test_cases_may_be_json(pytester: pytest.Pytester) -> None:
    case = {"description": "c", "source": "s", "live": {}, "patch": {}, "result": {}}
    text = json.dumps({"description": "d", "kind": "v1 Pod", "cases": [case]})
    write(pytester, {"golden/case.schema.json": SCHEMA, "golden/a.json": text})
    assert node_ids(pytester) == ["golden/a.json::c"]


@pytest.mark.parametrize(
    "marker",
    [None, "{}", "[]", "no JSON", '{"$id": "https://example.com/case.schema.json"}'],
)
def test_other_yaml_and_json_files_are_not_collected(
    pytester: pytest.Pytester, marker: str | None
) -> None:
    write(
        pytester,
        {
            "config/a.yaml": "a: [",
            "config/b.json": "{}",
            "test_it.py": "def test_it(): pass",
        },
    )
    if marker is not None:
        write(pytester, {"config/case.schema.json": marker})
    assert node_ids(pytester) == ["test_it.py::test_it"]


def test_directories_may_be_named_in_the_configuration(
    pytester: pytest.Pytester,
) -> None:
    write(pytester, {"golden/a.yaml": PASSING, "other/b.yaml": "a: ["})
    pytester.makeini("[pytest]\nsmp_cases = golden missing")
    assert node_ids(pytester) == ["golden/a.yaml::a-value-is-set"]


@pytest.mark.parametrize(
    "arguments",
    [(), ("test_it.py",), (".",), ("golden",), ("golden/a.yaml", "test_it.py")],
)
def test_directories_of_the_command_line_are_collected_once(
    pytester: pytest.Pytester, arguments: tuple[str, ...]
) -> None:
    write(pytester, {"golden/a.yaml": PASSING, "test_it.py": "def test_it(): pass"})
    pytester.makeini("[pytest]\ntestpaths = test_it.py")
    found = node_ids(pytester, *arguments, "--smp-cases", "golden")
    assert found.count("golden/a.yaml::a-value-is-set") == 1
    assert found.count("test_it.py::test_it") == ("golden" not in arguments)


def test_a_missing_directory_is_a_usage_error(
    pytester: pytest.Pytester,
) -> None:
    result = run(pytester, "--smp-cases", "missing")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--smp-cases: *missing is not a directory"])


def test_a_failure_shows_the_difference_and_the_source(
    pytester: pytest.Pytester,
) -> None:
    reference = "    deviation: 1\n    reference: {result: {error: refused}}\n"
    write(
        pytester,
        {"golden/case.schema.json": SCHEMA, "golden/a.yaml": FAILING + reference},
    )
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "not as expected: result (from: here)",
            "result:",
            '  expected {data: {x: "2"}}',
            '  actual   {data: {x: "1"}}',
            '  data.x: expected "2", is "1"',
            'the reference does: {"result": {"error": "refused"}}',
        ],
        consecutive=True,
    )
    result.stdout.no_fnmatch_line("*Traceback*")


def test_a_failure_shows_each_place_that_differs_as_the_command_does(
    pytester: pytest.Pytester,
) -> None:
    data = DATA / "cases"
    write(pytester, {"golden/case.schema.json": SCHEMA})
    write(pytester, {"golden/a.yaml": (data / "failing.yaml").read_text()})
    printed = {line.strip() for line in run(pytester).outlines}
    shown = [
        line.strip()
        for line in (data / "failing.txt").read_text().splitlines()
        if line.startswith("    ")
    ]
    assert [line for line in shown if line not in printed] == []


def test_a_malformed_file_or_case_is_an_error_of_one_line(
    pytester: pytest.Pytester,
) -> None:
    files = {
        "a.yaml": "a: [",
        "b.yaml": PASSING.replace("patch:", "path:"),
        "c.yaml": PASSING.replace("patch:", "left:"),
    }
    write(pytester, {"case.schema.json": SCHEMA, **files})
    (pytester.path / "d.yaml").write_bytes(b"\xff")
    result = run(pytester, "--continue-on-collection-errors")
    result.assert_outcomes(failed=2, errors=2)
    result.stdout.fnmatch_lines(
        [
            "*a.yaml:2*",
            "*b.yaml:4: a value is set: unknown member 'path'",
            "*c.yaml:4: *needs the input*",
        ]
    )
    result.stdout.no_fnmatch_line("*raise *")


def test_a_defect_shows_its_traceback(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_case: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(pytest_items, "run", broken)
    write(pytester, {"case.schema.json": SCHEMA, "a.yaml": PASSING})
    run(pytester).stdout.fnmatch_lines(["*raise ZeroDivisionError"])


def test_an_item_has_the_line_of_its_case(pytester: pytest.Pytester) -> None:
    write(pytester, {"case.schema.json": SCHEMA, "a.yaml": PASSING})
    items, _ = pytester.inline_genitems(*PLUGINS)
    assert [item.reportinfo() for item in items] == [
        (pytester.path / "a.yaml", 3, "a value is set")
    ]


def test_update_rewrites_what_failing_cases_expect(pytester: pytest.Pytester) -> None:
    second = FAILING[FAILING.index("  - ") :].replace("value is set", "second one")
    write(
        pytester,
        {
            "case.schema.json": SCHEMA,
            "a.yaml": "# mine\n" + FAILING + second,
            "b.yaml": PASSING,
        },
    )
    result = run(pytester, "--smp-update")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(
        ["*spec cases updated*", "a.yaml::a-value-is-set", "a.yaml::a-second-one"],
        consecutive=True,
    )
    expected = '    result: {data: {x: "1"}}\n'
    assert (pytester.path / "a.yaml").read_text(encoding="utf-8").count(expected) == 2
    assert (pytester.path / "a.yaml").read_text(encoding="utf-8").startswith("# mine\n")
    assert (pytester.path / "b.yaml").read_text(encoding="utf-8") == PASSING
    run(pytester).assert_outcomes(passed=3)


def test_update_names_a_file_that_it_cannot_rewrite(pytester: pytest.Pytester) -> None:
    flow = "  - {description: a, source: s, live: {}, patch: {}, result: {x: 1}}\n"
    text = PASSING[: PASSING.index("  - ")] + flow
    write(pytester, {"case.schema.json": SCHEMA, "a.yaml": text})
    result = run(pytester, "--smp-update")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*the layout of the file does not allow an update*"])
    assert (pytester.path / "a.yaml").read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    ("variable", "options", "message"),
    [("true", (), "*variable CI is set*"), ("", ("-n", "2"), "*a single process*")],
)
def test_update_is_a_usage_error_in_ci_and_with_several_processes(
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    options: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.setenv("CI", variable)
    write(pytester, {"case.schema.json": SCHEMA, "a.yaml": FAILING})
    result = run(pytester, "--smp-update", *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])
    assert (pytester.path / "a.yaml").read_text(encoding="utf-8") == FAILING


@pytest.mark.slow
def test_cases_run_over_several_processes(pytester: pytest.Pytester) -> None:
    write(pytester, {"golden/a.yaml": PASSING, "golden/b.yaml": FAILING})
    run(pytester, "-n", "2", "--smp-cases", "golden").assert_outcomes(
        passed=1, failed=1
    )


def test_the_plugin_imports_nothing_before_there_is_a_case_file() -> None:
    code = (
        "import sys, smp.pytest_plugin; "
        "sys.exit('smp.cases' in sys.modules or 'deepdiff' in sys.modules)"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode
        == 0
    )


def test_the_plugin_repeats_the_names_of_case_files() -> None:
    source = Path(pytest_plugin.__file__).read_text(encoding="utf-8")
    assert json.loads(SCHEMA)["$id"] in source
    assert all(
        f'"{word}"' in source for word in (*smp.cases.SUFFIXES, smp.cases.SCHEMA_NAME)
    )
