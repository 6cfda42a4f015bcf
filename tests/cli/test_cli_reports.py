"""Reports with causes, as the command writes them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from junitparser import JUnitXml

from smp.reports._html import environment
from tests.support.command import run

NEW = """\
# A comment before the first document.
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: app
        image: web:2
        env: [{name: PASSWORD, value: swordfish}]
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Secret
  metadata: {name: s}
  stringData: {password: hunter2}
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: list}
  spec: {nonsense: 1}
---
apiVersion: apps/v1
kind: Nonsense
metadata: {name: x}
---
kind: [
apiVersion:
"""
LIVE = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 5
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: app
        image: web:1
        env: [{name: PASSWORD, value: goldfish}]
---
apiVersion: v1
kind: Secret
metadata:
  name: s
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: |
      {"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},
       "stringData":{"password":"hunter1"}}
data: {password: aHVudGVyMQ==}
"""
LAST = LIVE.split("---\n", maxsplit=1)[0].replace("replicas: 5", "replicas: 2")
CONFIDENTIAL = ("hunter", "aHVudGVyMQ", "swordfish", "goldfish")
OUTPUTS = ("json", "sarif", "junit", "markdown", "html")


@pytest.fixture(autouse=True)
def files() -> None:
    Path("web.yaml").write_text(NEW)
    Path("web-live.yaml").write_text(LIVE)
    Path("web-last.yaml").write_text(LAST)


SIDES = (
    *("-f", "web.yaml", "--live", "web-live.yaml", "--last-applied", "web-last.yaml"),
    *("--validate", "keep"),
)


def report(output: str, *options: str, code: int = 3) -> str:
    result = run(
        *("apply", "-f", "web.yaml", "--live", "web-live.yaml"),
        *("--validate", "keep", "--format", output),
        *options,
    )
    assert result.exit_code == code
    return result.stdout


def test_findings_are_at_the_lines_of_their_fields() -> None:
    [run_] = json.loads(report("sarif", "--last-applied", "web-last.yaml"))["runs"]
    found = {result["ruleId"]: result["locations"][0] for result in run_["results"]}
    assert {
        rule: (
            location["physicalLocation"]["artifactLocation"]["uri"],
            location["physicalLocation"]["region"]["startLine"],
        )
        for rule, location in found.items()
    } == {
        "cause/overwrites-controller": ("web.yaml", 7),
        "hazard/no-last-applied": ("web.yaml", 20),
        "hazard/rewritten-last-applied": ("web-live.yaml", 20),
        "violation/required-value": ("web.yaml", 27),
        "violation/invalid-value": ("web.yaml", 27),
        "failure/unknown-kind": ("web.yaml", 29),
        "failure/invalid-yaml": ("web.yaml", 35),
    }
    replicas = found["cause/overwrites-controller"]
    assert replicas["logicalLocations"][0]["name"] == "spec.replicas"
    assert replicas["physicalLocation"]["region"]["startColumn"] == 3


def test_an_item_of_a_list_has_the_line_of_its_field() -> None:
    result = run(*("apply", "-f", "web.yaml", "--validate", "warn", "--format", "json"))
    found = {
        finding["code"]: finding["line"]
        for record in json.loads(result.stdout)
        for finding in record["findings"]
    }
    assert found == {
        "unknown-field": 27,
        "required-value": 27,
        "invalid-value": 27,
        "unknown-kind": 29,
        "invalid-yaml": 35,
    }


@pytest.mark.parametrize("output", OUTPUTS)
def test_no_report_has_a_secret(output: str) -> None:
    for options in ((), ("--last-applied", "web-last.yaml")):
        text = report(output, "--mask-env", *options)
        assert not [value for value in CONFIDENTIAL if value in text]
        # These two have no values but those in sentences.
        if output not in ("sarif", "junit"):
            assert "***" in text.replace("&#42;", "*")
    # Environment variables are masked on request.
    assert "swordfish" in report(output) or output in ("sarif", "junit")
    assert "hunter2" not in report(output)


@pytest.mark.parametrize("output", OUTPUTS)
def test_one_process_writes_what_several_write(output: str) -> None:
    objects = [NEW.replace("name: web", f"name: web-{index}") for index in range(4)]
    Path("web.yaml").write_text("---\n".join(objects))
    assert report(output, "--jobs", "1") == report(output, "--jobs", "2")


def test_environment_values_are_masked_by_their_differences() -> None:
    text = run("explain", *SIDES, "--mask-env").stdout
    assert 'env[name=PASSWORD].value: "*** (live)" -> "*** (manifest)"' in text
    patch = run("diff", "web-live.yaml", "web.yaml", "--mask-env", "-o", "patch").stdout
    assert "fish" not in patch
    applied = ("apply", "-f", "web.yaml", "--live", "web-live.yaml", "-o", "yaml")
    # What prints the object keeps its values.
    assert "swordfish" in run(*applied, "--mask-env").stdout


def test_a_report_of_nothing_is_valid() -> None:
    Path("web.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}")
    options = ("--include-kind", "Secret")
    assert json.loads(report("json", *options, code=2)) == []
    assert json.loads(report("sarif", *options, code=2))["runs"][0]["results"] == []
    assert [*JUnitXml.fromstring(report("junit", *options, code=2).encode())] == []
    assert report("markdown", *options, code=2) == "### smp apply\n\n0 objects\n"


def test_standard_input_has_lines_and_no_file() -> None:
    result = run("apply", "-f", "-", "--format", "sarif", stdin=NEW)
    assert result.exit_code == 3
    [run_] = json.loads(result.stdout)["runs"]
    locations = [result["locations"][0] for result in run_["results"]]
    assert all("physicalLocation" not in location for location in locations)
    assert "<stdin>:29" in run("explain", "-f", "-", stdin=NEW).stdout


def test_a_diff_of_two_states_shows_the_patch() -> None:
    result = run("diff", "web-last.yaml", "web-live.yaml", "--format", "markdown")
    assert result.exit_code == 1
    assert "```yaml\nspec:\n  replicas: 5\n```" in result.stdout
    three_way = ("diff", "web-last.yaml", "web.yaml", "--live", "web-live.yaml")
    found = json.loads(run(*three_way, "--format", "json").stdout)
    codes = {each["code"] for record in found for each in record["findings"]}
    assert "overwrites-controller" in codes


def test_a_page_needs_jinja2(monkeypatch: pytest.MonkeyPatch) -> None:
    environment.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    result = run("diff", "web-last.yaml", "web-live.yaml", "--format", "html")
    environment.cache_clear()
    assert result.exit_code == 2
    assert "an HTML report needs the package 'jinja2'" in result.stderr
    assert "pip install" in result.stderr


def test_a_conflict_of_a_server_side_apply_is_a_failure() -> None:
    managed = """\
  managedFields:
  - manager: other
    operation: Apply
    apiVersion: apps/v1
    fieldsType: FieldsV1
    fieldsV1: {"f:spec": {"f:replicas": {}}}
"""
    live = LAST.replace(
        "metadata: {name: web, namespace: shop}\n",
        "metadata:\n  name: web\n  namespace: shop\n" + managed,
    ).replace("replicas: 2", "replicas: 7")
    Path("web-live.yaml").write_text(live)
    Path("web.yaml").write_text(NEW.split("---\n")[1])
    records = json.loads(report("json", "--server-side", code=2))
    [finding] = records[0]["findings"]
    assert (finding["code"], finding["path"]) == ("conflict", "spec.replicas")
    assert finding["line"] == 5


@pytest.mark.parametrize("output", ["sarif", "junit", "gitlab", "markdown", "html"])
def test_what_smp_explain_says_is_a_report_as_well(output: str, tmp_path: Path) -> None:
    live = tmp_path / "live.yaml"
    live.write_text(LIVE)
    new = tmp_path / "new.yaml"
    new.write_text(LIVE.replace("web:1", "web:2"))
    arguments = ("-f", str(new), "--live", str(live), "--format", output)
    explained, applied = run("explain", *arguments), run("apply", *arguments)
    assert explained.exit_code == 0
    # The page has the causes of what is as expected only for an apply.
    if output == "html":
        assert explained.stdout.startswith("<!DOCTYPE html>")
    else:
        assert explained.stdout == applied.stdout
    refused = run("explain", "deploy", "--format", output)
    assert refused.exit_code == 2
    assert "--format is for what -f" in refused.stderr
