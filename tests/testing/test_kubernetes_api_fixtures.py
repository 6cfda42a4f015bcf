"""The fixtures of the pytest plugin: one server a session, and what each test gets."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.paths import ROOT

pytest_plugins = ["pytester"]

PLUGINS = ("-p", "smp.pytest_plugin", "-p", "xdist", "-p", "no:cacheprovider")
HEAD = """
import pytest

def create(api, name):
    body = {"metadata": {"name": name}}
    path = f"/api/v1/namespaces/{api.namespace}/configmaps"
    answer = api.client("httpx").post(path, json=body)
    assert answer.status_code == 201, answer.text

def names(api):
    path = f"/api/v1/namespaces/{api.namespace}/configmaps"
    items = api.client("httpx").get(path).json()["items"]
    return [item["metadata"]["name"] for item in items]
"""
TWO_TESTS = """
def test_a(kubernetes_api):
    create(kubernetes_api, "same")
    kubernetes_api.fail_next(500, times=0)

def test_b(kubernetes_api):
    assert kubernetes_api.requests == []
    create(kubernetes_api, "same")
"""


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    # The options name the plugin instead, so the tests need no installed package.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def run(pytester: pytest.Pytester, code: str, *options: str) -> pytest.RunResult:
    pytester.makepyfile(HEAD + code)
    return pytester.runpytest_inprocess(*PLUGINS, *options)


@pytest.mark.parametrize("isolation", ["store", "namespace"])
def test_a_test_sees_nothing_of_the_one_before(
    pytester: pytest.Pytester, isolation: str
) -> None:
    pytester.makeini(f"[pytest]\nkubernetes_api_isolation = {isolation}\n")
    run(pytester, TWO_TESTS).assert_outcomes(passed=2)


def test_the_store_is_the_default(pytester: pytest.Pytester) -> None:
    run(pytester, TWO_TESTS).assert_outcomes(passed=2)


def test_without_isolation_objects_stay_and_faults_do_not(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeini("[pytest]\nkubernetes_api_isolation = none\n")
    code = """
def test_a(kubernetes_api):
    create(kubernetes_api, "kept")
    kubernetes_api.fail_next(500, times=0)

def test_b(kubernetes_api):
    assert names(kubernetes_api) == ["kept"]
"""
    run(pytester, code).assert_outcomes(passed=2)


def test_a_marker_changes_it_for_one_test(pytester: pytest.Pytester) -> None:
    code = """
@pytest.mark.kubernetes_api(isolation="namespace")
def test_a(kubernetes_api):
    assert kubernetes_api.namespace.startswith("test-")
    create(kubernetes_api, "same")

def test_b(kubernetes_api):
    assert kubernetes_api.namespace == "default"
    create(kubernetes_api, "same")
"""
    run(pytester, code, "--strict-markers").assert_outcomes(passed=2)


def test_an_unknown_isolation_is_an_error_with_the_known_ones(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeini("[pytest]\nkubernetes_api_isolation = all\n")
    result = run(pytester, TWO_TESTS)
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(
        ["*kubernetes_api_isolation is 'all'; known are store, namespace, none*"]
    )


def test_what_fixtures_of_the_session_apply_stays(pytester: pytest.Pytester) -> None:
    code = """
@pytest.fixture(scope="session")
def settings(kubernetes_api_server):
    kubernetes_api_server.apply(
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}"
    )

def test_a(kubernetes_api, settings):
    create(kubernetes_api, "a")
    assert names(kubernetes_api) == ["a", "settings"]

def test_b(kubernetes_api, settings):
    assert names(kubernetes_api) == ["settings"]
"""
    run(pytester, code).assert_outcomes(passed=2)


@pytest.mark.slow
def test_each_worker_of_xdist_has_a_server(pytester: pytest.Pytester) -> None:
    code = """
@pytest.mark.parametrize("number", range(8))
def test_a(kubernetes_api, number):
    create(kubernetes_api, "same")
"""
    pytester.makepyfile(HEAD + code)
    result = pytester.runpytest_subprocess(*PLUGINS, "-n", "2")
    result.assert_outcomes(passed=8)


def test_a_missing_package_fails_the_tests_that_use_it(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [*sys.modules]:
        if name.startswith(("smp.testing", "smp.server", "uvicorn")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    result = run(pytester, TWO_TESTS + "def test_c(): pass\n")
    result.assert_outcomes(passed=1, errors=2)
    result.stdout.fnmatch_lines(
        ["*the fixture kubernetes_api needs the package 'uvicorn': pip install *"]
    )


def test_nothing_is_imported_where_the_fixture_is_not_used() -> None:
    code = (
        "import sys, pytest, smp.pytest_plugin\n"
        "names = ('smp.server', 'smp.testing', 'uvicorn', 'starlette', 'httpx')\n"
        "print([name for name in names if name in sys.modules])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout == "[]\n"
