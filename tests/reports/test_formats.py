"""The formats of reports, each as the programs see it that read it."""

from __future__ import annotations

import gzip
import json
from typing import Any, Final
from xml.etree import ElementTree as ET

import jsonschema
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from junitparser import JUnitXml

import smp
from smp._values.findings import Finding
from smp._values.values import JSONObject, as_object
from smp.errors import Conflict
from smp.explain import CAUSES
from smp.hazards import HAZARDS
from smp.managed_fields import Remark
from smp.reports import FORMATS, Failure, Format, ObjectReport, Place, printed
from smp.reports._markdown import LIMIT, length
from smp.reports._sarif import rules, uri_of
from smp.violations import Misfit
from tests.support.paths import DATA
from tests.support.reports import applied_report, failed_report, named_report

HOSTILE: Final = (
    "",
    "plain",
    "</script><script>alert(1)</script>",
    "javascript:alert(1)",
    "{{ 7 * 7 }} {% raw %} {# #}",
    "a\x00b\x1b[31m\x07\x85\u2028\ufffe",
    "half a pair \ud800",
    "]]> & < > \" ' `code` | *b* @team #1 [a](b) <!-- -->",
    "\u202ereversed",
    "x" * 5_000,
    "line\nline\r\nline",
)


def text_of(format_: Format, *reports: ObjectReport) -> str:
    return "".join(printed(reports, format_, title="smp apply"))


@pytest.fixture(scope="module")
def sarif() -> jsonschema.Draft202012Validator:
    with gzip.open(DATA / "sarif" / "sarif-2.1.0.json.gz") as file:
        return jsonschema.Draft202012Validator(json.load(file))


def valid_sarif(
    validator: jsonschema.Draft202012Validator, text: str
) -> dict[str, Any]:
    log: dict[str, Any] = json.loads(text)
    validator.validate(log)
    [run] = log["runs"]
    return dict(run)


def test_sarif_is_valid_and_every_result_has_a_rule(
    sarif: jsonschema.Draft202012Validator,
) -> None:
    report = applied_report()
    run = valid_sarif(sarif, text_of("sarif", report, failed_report()))
    ids = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert [result["ruleId"] for result in run["results"]] == [
        "cause/overwrites-controller",
        "violation/not-supported",
        "failure/not-found",
    ]
    for result in run["results"]:
        # Section 3.27.5: the id of the rule, or one component more.
        assert result["ruleId"] in ids or result["ruleId"].rpartition("/")[0] in ids
    violation = run["results"][1]
    [location] = violation["locations"]
    assert location["logicalLocations"][0]["name"] == "spec.strategy.type"
    assert location["physicalLocation"] == {
        "artifactLocation": {"uri": "web.yaml", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 7, "startColumn": 5},
    }
    # Standard input is no file.
    assert "physicalLocation" not in run["results"][2]["locations"][0]


def test_sarif_of_nothing_has_no_results(
    sarif: jsonschema.Draft202012Validator,
) -> None:
    assert valid_sarif(sarif, text_of("sarif"))["results"] == []
    quiet = msgspec.structs.replace(applied_report(), findings=())
    assert valid_sarif(sarif, text_of("sarif", quiet))["results"] == []


def test_fingerprints_are_of_the_path_and_not_of_the_line() -> None:
    def fingerprints(report: ObjectReport) -> list[str]:
        [run] = json.loads(text_of("sarif", report))["runs"]
        return [
            result["partialFingerprints"]["objectPathCode/v1"]
            for result in run["results"]
        ]

    report = applied_report()
    found = fingerprints(report)
    assert found == fingerprints(applied_report("other.yaml", 90))
    assert len({*found}) == len(found)
    twice = msgspec.structs.replace(report, findings=report.findings * 2)
    assert len({*fingerprints(twice)}) == 2 * len(found)


# What GitLab requires of an issue: docs.gitlab.com, "Code Quality report format".
GITLAB: Final = jsonschema.Draft202012Validator(
    {
        "type": "array",
        "items": {
            "required": [
                "description",
                "check_name",
                "fingerprint",
                "severity",
                "location",
            ],
            "properties": {
                "description": {"type": "string", "minLength": 1},
                "check_name": {"type": "string", "minLength": 1},
                "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
                "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
                "location": {
                    "required": ["path", "lines"],
                    "properties": {
                        "path": {"type": "string", "pattern": r"^(?!\./)"},
                        "lines": {
                            "required": ["begin"],
                            "properties": {"begin": {"type": "integer", "minimum": 1}},
                            "additionalProperties": False,
                        },
                    },
                    "additionalProperties": False,
                },
            },
            "additionalProperties": False,
        },
    }
)


def gitlab_issues(*reports: ObjectReport) -> list[dict[str, Any]]:
    text = text_of("gitlab", *reports)
    issues: list[dict[str, Any]] = json.loads(text)
    GITLAB.validate(issues)
    return issues


def test_gitlab_has_each_finding_at_its_line() -> None:
    issues = gitlab_issues(applied_report("./web.yaml"), failed_report())
    found = [(issue["check_name"], issue["severity"]) for issue in issues]
    assert found == [
        ("smp/cause/overwrites-controller", "minor"),
        ("smp/violation/not-supported", "major"),
        ("smp/failure/not-found", "critical"),
    ]
    assert issues[1]["location"] == {"path": "web.yaml", "lines": {"begin": 7}}
    assert issues[1]["description"].startswith(
        "apps/v1 Deployment shop/web: spec.strategy.type: "
    )


def test_gitlab_of_nothing_is_an_empty_list() -> None:
    assert gitlab_issues() == []
    quiet = msgspec.structs.replace(applied_report(), findings=())
    assert gitlab_issues(quiet) == []


def test_gitlab_shows_one_issue_of_each_fingerprint_so_all_differ() -> None:
    report = applied_report()
    twice = msgspec.structs.replace(report, findings=report.findings * 2)
    # The same object in another file, and on other lines of the first one.
    issues = gitlab_issues(twice, applied_report("other.yaml"))
    moved = gitlab_issues(applied_report(line=90))
    fingerprints = [issue["fingerprint"] for issue in issues]
    assert len({*fingerprints}) == len(fingerprints) == 6
    assert {issue["fingerprint"] for issue in moved} <= {*fingerprints}


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("a/b.yaml", "a/b.yaml"),
        ("./a b#1?.yaml", "a%20b%231%3F.yaml"),
        ("c:d.yaml", "c%3Ad.yaml"),
        ("/abs/é.yaml", "file:///abs/%C3%A9.yaml"),
        ("C:\\a b\\c.yaml", "file:///C:/a%20b/c.yaml"),
        ("C:/a/c.yaml", "file:///C:/a/c.yaml"),
        ("\\\\server\\share\\c.yaml", "file://server/share/c.yaml"),
        ("not-unicode-\udcff.yaml", "not-unicode-%FF.yaml"),
    ],
)
def test_files_are_uris(file: str, uri: str) -> None:
    assert uri_of(file) == uri


def test_there_is_a_rule_for_each_cause_and_hazard() -> None:
    causes = {code for code, each in CAUSES.items() if each.severity != "none"}
    ids = dict(rules())
    assert ids.keys() >= {f"cause/{code}" for code in causes}
    assert ids.keys() >= {f"hazard/{code}" for code in HAZARDS}
    report = text_of("sarif", applied_report())
    for rule in json.loads(report)["runs"][0]["tool"]["driver"]["rules"]:
        assert "{" not in rule["help"]["text"], rule


def test_all_kinds_of_findings_are_printed_in_all_formats() -> None:
    path = smp.Path(("spec", "replicas"))
    kinds: tuple[Finding, ...] = (
        smp.Violation("required-value", path, "FieldValueRequired", "Required value"),
        smp.Violation("of-a-hook", path, "FieldValueInvalid", "Invalid value"),
        Misfit.of(path, "string", "int32"),
        smp.Hazard("null", path, "live", "note", "sentence", "do this", "Go: f"),
        smp.Cause(path, "set", "it is set", 1, 2, "Go: f", ()),
        smp.ApplyWarning("repaired", path, "it was repaired"),
        smp.ApplyConflict("me", "Apply", "v1", "", "", path),
        Conflict(path, 1, 2),
        Remark(path, "refuses it", None),
        Failure("failed", path, "no", "try again"),
    )
    report = applied_report()
    for finding in kinds:
        assert finding.sentence
        assert isinstance(finding.remedy or "", str)
        assert str(path) in str(finding) or isinstance(finding, Remark)
        one = msgspec.structs.replace(finding, place=Place("a.yaml", 7))
        of_one = msgspec.structs.replace(report, findings=(one,), causes=())
        [record] = json.loads(text_of("json", of_one))[0]["findings"]
        said = {"code": one.code, "level": one.severity, "path": str(path), "line": 7}
        assert record.items() >= {**said, "sentence": one.sentence}.items()
        for format_ in FORMATS:
            # For a reader, a failure is the error of its object.
            if one.origin != "failure" or format_ in ("sarif", "gitlab", "json"):
                assert one.code in text_of(format_, of_one), format_


def test_junit_is_read_by_its_consumers() -> None:
    text = text_of("junit", applied_report(), failed_report())
    suites = [*JUnitXml.fromstring(text.encode())]
    counts = [(suite.tests, suite.failures, suite.errors) for suite in suites]
    assert counts == [(2, 1, 0), (1, 0, 1)]
    [web, violation], [gone] = ([*suite] for suite in suites)
    assert web.is_passed
    assert "overwrite each other" in web.system_out
    assert violation.name == (
        "apps/v1 Deployment shop/web: spec.strategy.type [not-supported]"
    )
    assert violation.result[0].message == 'unsupported value "Fast"'
    assert gone.result[0].type == "failed"
    assert "hint: look" in gone.result[0].text
    assert [*JUnitXml.fromstring(text_of("junit").encode())] == []


def test_json_has_all_that_is_known() -> None:
    [web, gone] = json.loads(text_of("json", applied_report(), failed_report()))
    assert web["verdict"] == "changed"
    assert web["live"]["spec"]["replicas"] == 5
    assert web["result"]["spec"]["replicas"] == 2
    causes = {cause["path"]: cause for cause in web["causes"]}
    assert causes["spec.paused"]["code"] == "pruned"
    assert causes["spec.replicas"]["remedy"]["edits"][0]["input"] == "manifest"
    assert web["findings"][-1]["line"] == 7
    assert gone["error"].startswith("smp: error")
    assert json.loads(text_of("json")) == []


def test_text_has_the_causes_and_their_remedies() -> None:
    text = text_of("text", applied_report(), failed_report())
    assert "! spec.replicas: 5 -> 2\n" in text
    assert "remedy: to leave it to others" in text
    assert "error: spec.strategy.type: unsupported" in text
    assert "v1 ConfigMap gone: failed (<stdin>:1)\n  smp: error: not found" in text


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_every_format_takes_every_text(
    format_: Format, text: str, sarif: jsonschema.Draft202012Validator
) -> None:
    written = text_of(format_, named_report(text))
    # It can be written, and a terminal takes none of it for a command.
    written.encode()
    assert "\x1b" not in written
    if format_ == "sarif":
        valid_sarif(sarif, written)
    elif format_ == "junit":
        ET.fromstring(written)  # noqa: S314  # it is our own text
    elif format_ == "gitlab":
        GITLAB.validate(json.loads(written))
    elif format_ == "json":
        json.loads(written)


@settings(max_examples=15)
@given(st.text(max_size=8))
def test_junit_is_xml_whatever_the_names_are(text: str) -> None:
    ET.fromstring(text_of("junit", named_report(text)))  # noqa: S314  # our own text


def test_a_comment_is_no_longer_than_github_takes_it() -> None:
    report = applied_report()
    reports = [
        msgspec.structs.replace(
            report, name=f"web-{number}-{'😀' * 50}", findings=report.findings[:1]
        )
        for number in range(200)
    ]
    failed = failed_report()
    text = text_of("markdown", *reports, failed)
    assert LIMIT - 4_000 < length(text) <= LIMIT
    # What failed comes first, though it was last.
    assert text.index("ConfigMap gone") < text.index("Deployment shop/web")
    shown = text.count("<details>")
    assert text.count("</details>") == shown
    assert f"{201 - shown} objects left out" in text
    assert "201 objects: 200 changed, 1 failed; 1 error, 200 warnings" in text


def test_a_long_object_is_cut_at_a_line() -> None:
    report = applied_report()
    long = msgspec.structs.replace(report, causes=report.causes * 10_000)
    text = text_of("markdown", long, report)
    assert length(text) <= LIMIT
    assert text.count("<details>") == 2
    assert "more lines left out" in text


def test_markdown_says_nothing_of_unchanged_objects_but_their_number() -> None:
    unchanged = msgspec.structs.replace(
        applied_report(), findings=(), verdict="unchanged"
    )
    text = text_of("markdown", unchanged, unchanged)
    assert text == "### smp apply\n\n2 objects: 2 unchanged\n"
    assert text_of("markdown") == "### smp apply\n\n0 objects\n"


def test_markdown_has_no_mentions_and_no_links() -> None:
    text = text_of(
        "markdown", named_report("@team #1 https://x.example www.example.com")
    )
    for link in ("@team", "#1 ", "https://", "www."):
        assert link not in text
    # A table keeps its cells.
    assert "a|b" not in text_of("markdown", named_report("a|b"))


def test_a_change_far_inside_a_long_value_is_shown() -> None:
    old, new = "line\n" * 100 + "old\n", "line\n" * 100 + "new\n"
    schema = smp.kubernetes().schema("v1", "ConfigMap")
    manifest: JSONObject = {"kind": "ConfigMap", "data": {"conf": new}}
    live: JSONObject = {"kind": "ConfigMap", "data": {"conf": old}}
    report = msgspec.structs.replace(
        applied_report(),
        findings=(),
        causes=smp.explain_apply(live, manifest, live, schema),
        live=live,
        result=manifest,
    )
    assert 'old\\n" -> ... ' in text_of("text", report)
    assert "new&#92;n" in text_of("markdown", report)
    # The row of a value that is another one now is marked.
    page = text_of("html", report)
    equal = msgspec.structs.replace(report, result=live)
    assert page.count("changed") > text_of("html", equal).count("changed")


def test_a_page_has_a_limit_on_the_rows_of_an_object() -> None:
    data: JSONObject = {f"key-{number}": "x" for number in range(3_000)}
    report = msgspec.structs.replace(
        applied_report(), causes=(), live={"data": {"a": 1}}, result={"data": data}
    )
    text = text_of("html", report)
    assert text.count("<tr") == 2_001
    assert "Only the first 2000 rows are shown" in text


def test_a_page_shows_no_part_of_a_value_that_is_equal_as_a_whole() -> None:
    obj: JSONObject = {"spec": {"selector": {"matchLabels": {"app": "web"}}}}
    schema = smp.kubernetes().schema("apps/v1", "Deployment")
    manifest: JSONObject = {"spec": {**as_object(obj["spec"]), "replicas": 3}}
    causes = smp.explain_apply(None, manifest, obj, schema)
    assert "spec.selector.matchLabels.app" in {str(each.path) for each in causes}
    report = msgspec.structs.replace(
        applied_report(), causes=causes, live=obj, desired=manifest, result=manifest
    )
    page = text_of("html", report)
    assert 'title="spec.selector"' in page
    assert 'title="spec.selector.matchLabels.app"' not in page


def test_formats_are_named() -> None:
    with pytest.raises(smp.SmpError, match="format is one of 'text', 'json'"):
        [*printed([], "pdf")]  # type: ignore[arg-type]
