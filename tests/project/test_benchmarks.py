"""The inputs of the benchmarks are as documented, and every part of them runs."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

import smp
from benchmarks import (
    custom_resources,
    elsewhere,
    fixtures,
    growth,
    memory,
    processes,
    run,
    server_side,
    tables,
    timing,
    unions,
    whole_job,
)
from benchmarks.contenders import Absent, Contender, contender
from benchmarks.goals import GOALS, Goal
from benchmarks.inputs import CASES, Row, rows
from benchmarks.ours import over_bytes, over_dicts
from benchmarks.report import Section, written_into
from benchmarks.shapes import SHAPES
from benchmarks.timing import ONCE, Effort, Plan, Ratio, Sample, Turn, in_turns, timed
from smp.schema.catalog import kubernetes
from tests.support.kubectl import kubectl_path
from tests.support.paths import DOCS
from tests.support.reference import needs_go

ROWS = {str(row): row for row in rows()}
OURS = ["--once", "--contender", "smp.wire", "--contender", "smp"]
DOCUMENTATION = DOCS / "performance.md"


@pytest.fixture(autouse=True)
def uncollected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Collect no garbage between turns: here nothing depends on the times."""
    collector = SimpleNamespace(collect=int, freeze=int, unfreeze=int)
    monkeypatch.setattr(timing, "gc", collector)


@pytest.fixture(params=ROWS)
def row(request: pytest.FixtureRequest) -> Row:
    return ROWS[request.param]


def test_input_is_about_as_large_as_documented(row: Row) -> None:
    assert sum(map(len, row.texts)) == pytest.approx(row.size, rel=0.05)


def test_input_is_the_same_every_time(row: Row) -> None:
    again = next(other for other in rows() if str(other) == str(row))
    assert again.texts == row.texts
    assert again.documents is not row.documents


def test_the_patch_of_a_row_leads_from_live_to_the_next_configuration(
    row: Row,
) -> None:
    schema = kubernetes().schema(row.api_version, row.kind)
    story = row.story
    patch = smp.three_way_patch(story.last_applied, story.modified, story.live, schema)
    expected = smp.apply_patch(story.live, patch, schema)
    assert expected != story.live
    assert smp.apply_patch(story.live, story.patch, schema) == expected


def test_the_operations_over_bytes_and_dicts_have_equal_results(row: Row) -> None:
    result = over_bytes(row)()
    assert isinstance(result, bytes)
    assert json.loads(result) == over_dicts(row)()


@pytest.mark.exhaustive
def test_every_row_runs_once(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "numbers.json"
    run.main([*OURS, "--only", "small|service", "--json", str(file)])
    written = json.loads(file.read_text())
    assert set(written) == {"goals", "bytes", "dicts", "environment"}
    assert [row["name"] for row in written["dicts"]] == ["ConfigMap, small"] * 3 + [
        "Service, 50 ports"
    ] * 2
    assert all(row["nanoseconds"]["smp"]["minimum"] > 0 for row in written["dicts"])
    assert [goal["met"] for goal in written["goals"]] == [None] * len(GOALS)
    assert "| Service, 50 ports: three-way | 18,384 |" in capsys.readouterr().out


@pytest.mark.exhaustive
def test_a_section_runs_alone(capsys: pytest.CaptureFixture[str]) -> None:
    run.main(["--once", "--section", "memory"])
    printed = capsys.readouterr().out
    row = "| memory: Pod, 100 containers x 200 env: apply |"
    assert f"{row} at most 1 x (2 x input + output) |" in printed
    assert "in, bytes out" not in printed


def test_a_pattern_without_a_row_is_an_error_that_lists_the_rows() -> None:
    with pytest.raises(SystemExit, match="ConfigMap, small: three-way"):
        run.main([*OURS, "--only", "nothing like it"])


def test_a_part_of_the_numbers_is_not_written_into_the_documentation(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        run.main(["--only", "small", "--docs", str(DOCUMENTATION)])
    assert "--docs" in capsys.readouterr().err


@pytest.mark.exhaustive
def test_growth_is_compared_with_linear_growth_and_with_json() -> None:
    section = growth.section(ONCE, (2, 4), (2, 4))
    _assert_goals_exist_for(section)
    operations = section.lines[2:]
    assert len(section.ratios) == 2 * 3 * len(operations)


def test_growth_in_proportion_to_the_input_is_one() -> None:
    few, many = Sample.of([[100]]), Sample.of([[1_050]])
    assert growth.Grown.of(few, many, 10.5).of_linear.best == pytest.approx(1)


def test_calls_are_counted_in_python_and_in_c() -> None:
    def two() -> None:
        len("")

    assert growth.calls(two) - growth.calls(lambda: None) == 1


@pytest.mark.exhaustive
def test_a_patch_is_timed_on_objects_with_more_and_more_other_elements() -> None:
    section = elsewhere.section(ONCE, (10, 20))
    _assert_goals_exist_for(section)
    assert [ratio.what for ratio in section.ratios] == [
        f"elsewhere: {shape.name}" for shape in SHAPES
    ]


@pytest.mark.exhaustive
def test_processes_are_compared_with_the_bare_interpreter() -> None:
    section = processes.section(ONCE)
    assert section.ratios[0] == Ratio(
        f"process: {processes.BARE}", processes.BARE, 1, 1
    )
    imports = ("import smp", "import msgspec, yaml", "import click, msgspec")
    commands = ("smp --version", "smp apply -o json", "smp apply")
    patches = ("smp patch, one object", "smp patch, 1,000 objects")
    names = [f"process: {name}" for name in (*imports, *commands, *patches)]
    ours = [
        ratio for ratio in section.ratios[1:] if processes.KUBECTL not in ratio.what
    ]
    of_bare = [ratio.what for ratio in ours if ratio.against == processes.BARE]
    of_kubectl = [ratio.what for ratio in ours if ratio.against == processes.KUBECTL]
    assert of_bare == names
    assert of_kubectl == (names[-2:] if kubectl_path() else [])
    _assert_goals_exist_for(section)


@pytest.mark.exhaustive
def test_the_peak_of_memory_is_at_least_the_result() -> None:
    section = memory.section(ONCE)
    _assert_goals_exist_for(section)
    assert isinstance(section.data, dict)
    peaks = section.data["peak_bytes"]
    assert min(*peaks["traced"], *peaks["resident"]) > section.data["output_bytes"]


@pytest.mark.exhaustive
def test_unions_are_timed_on_every_row_that_applies() -> None:
    applied = [row.name for row in rows() if row.operation == "apply"]
    assert [line.split(" | ")[0] for line in unions.section(ONCE).lines[2:]] == [
        f"| {name}" for name in applied
    ]


@needs_go
@pytest.mark.exhaustive
def test_whole_jobs_are_compared_with_their_steps() -> None:
    # The large ones take a minute where the engine is interpreted.
    cases = [case for case in CASES if case.name.startswith(("ConfigMap, s", "Deploy"))]
    section = whole_job.section(ONCE, cases)
    _assert_goals_exist_for(section)
    assert {ratio.what for ratio in section.ratios} == {
        f"whole job: {job.name}: {case.name}"
        for job in whole_job.JOBS
        for case in cases
    } | {f"whole job: {job.name}: 800 elements" for job in whole_job.GROWING}
    tables = "\n".join(section.lines).split("\n\n")
    rows = [len(cases)] * len(whole_job.JOBS) + [1] * len(whole_job.GROWING)
    assert [len(lines.splitlines()) - 2 for lines in tables] == rows


def test_a_whole_job_that_is_compared_with_go_is_left_out_without_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tests.support.reference.reference", lambda: None)
    section = whole_job.section(ONCE, CASES[:1])
    assert [ratio.against for ratio in section.ratios] == [
        job.against
        for job in (*whole_job.JOBS, *whole_job.GROWING)
        if job.against != whole_job.GO_STEPS
    ]
    assert whole_job.GO_STEPS not in "\n".join(section.lines)


def test_a_whole_job_with_another_result_than_expected_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(smp.wire, "apply_patch", lambda live, _patch, _schema: live)
    with pytest.raises(RuntimeError, match="ConfigMap, small: a job has another"):
        whole_job.section(ONCE, CASES[:1])


@needs_go
def test_server_side_apply_is_compared_with_go() -> None:
    cases = server_side.CASES[:2]
    section = server_side.section(ONCE, cases)
    _assert_goals_exist_for(section)
    assert len(section.ratios) == len(cases) * 3 * 2
    assert {ratio.against for ratio in section.ratios} == {server_side.GO}


def _assert_goals_exist_for(section: Section) -> None:
    """Each goal of the section bounds a ratio: no name is mistyped, here or there."""
    goals = [
        goal
        for goal in GOALS
        if goal.what.partition(":")[0] == section.ratios[0].what.partition(":")[0]
    ]
    assert goals
    assert all(goal.worst(section.ratios) for goal in goals)


def test_every_goal_names_an_existing_row() -> None:
    assert {goal.what for goal in GOALS if goal.against in {"Go", "orjson"}} <= set(
        ROWS
    )


@pytest.mark.parametrize(
    ("goal", "best", "met"),
    [
        (Goal("row", "Go", 4, faster=True), 0.25, True),
        (Goal("row", "Go", 4, faster=True), 0.26, False),
        (Goal("row", "orjson", 2), 2.0, True),
        (Goal("row", "orjson", 2), 2.1, False),
    ],
)
def test_a_goal_is_met_within_its_bound(goal: Goal, best: float, met: bool) -> None:
    assert goal.met(Ratio("row", goal.against, best, 9.0)) is met


def test_a_goal_is_judged_by_its_worst_ratio() -> None:
    bad, worse, other = (
        Ratio("a: 1", "x", 2, 2),
        Ratio("a: 2", "x", 3, 3),
        Ratio("a: 3", "y", 4, 4),
    )
    assert (
        Goal("a: *", "x", 1).worst([bad, worse, other, Ratio("b", "x", 5, 5)]) == worse
    )
    assert Goal("c", "x", 1).worst([bad]) is None


def test_a_goal_leaves_out_the_ratio_that_has_a_goal_of_its_own() -> None:
    better, worse = Ratio("a: 1", "x", 2, 2), Ratio("a: 2", "x", 3, 3)
    goal = Goal("a: *", "x", 1, other_than="a: 2")
    assert goal.worst([better, worse]) == better


def test_a_table_has_how_many_times_as_long_the_first_contender_takes() -> None:
    samples = {"a": Sample.of([[1_000, 2_000]]), "b": Sample.of([[200_000, 400_000]])}
    columns = [Contender(name, "bytes", "computes", "1", _unprepared) for name in "abc"]
    section = tables.as_section(
        "bytes", [tables.Result("ConfigMap, small", "two_way", 678, samples)], columns
    )
    assert (
        "| ConfigMap, small: two-way | 678 | 1.0 (1.5) | 200 (300) 0.005x | - |"
        in section.lines
    )
    assert section.ratios == [Ratio("ConfigMap, small: two-way", "b", 0.005, 0.005)]


def _unprepared(_row: Row) -> None:
    return None


def test_a_contender_that_cannot_be_imported_is_absent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "orjson", None)
    assert isinstance(contender("orjson"), Absent)


def test_sections_are_written_between_their_marks() -> None:
    section = Section("memory", "Memory", ["| new |"], None)
    text = "a\n<!-- memory -->\nold\n<!-- /memory -->\nb\n"
    assert (
        written_into(text, [section])
        == "a\n<!-- memory -->\n\n| new |\n\n<!-- /memory -->\nb\n"
    )
    with pytest.raises(ValueError, match="<!-- memory -->"):
        written_into("a\nb\n", [section])


def test_the_documentation_has_a_place_for_every_section() -> None:
    line = "| written by a test |"
    text = DOCUMENTATION.read_text()
    sections = [Section(name, "", [line], None) for name in run.NAMES_OF_SECTIONS]
    assert written_into(text, sections).count(line) == len(sections)


def test_things_are_timed_in_turns_and_warm_up_runs_do_not_count() -> None:
    order: list[str] = []

    def turn(name: str) -> Turn:
        def taken(runs: int) -> Sequence[int]:
            order.extend(name * runs)
            return [1_000] * runs

        return taken

    samples = in_turns(
        {"a": turn("a"), "b": turn("b")},
        Effort(warm_up=1, rounds=2, seconds=6e-6, patience=1.0),
    )
    assert "".join(order) == "ab" + "aaabbb" * 2
    assert samples["a"] == Sample(1_000, 1_000, 6, (1_000, 1_000))


def test_a_call_is_timed_run_by_run() -> None:
    calls = iter(range(100))
    assert len(timed(lambda: next(calls))(3)) == 3
    assert next(calls) == 3


@pytest.mark.parametrize(
    ("milliseconds", "plan"),
    [(1, Plan(10, 100)), (500, Plan(10, 1)), (2_000, Plan(5, 1)), (20_000, Plan(1, 1))],
)
def test_slow_runs_have_fewer_turns(milliseconds: int, plan: Plan) -> None:
    effort = Effort(warm_up=3, rounds=10, seconds=1.0, patience=10.0)
    assert effort.plan(milliseconds * 1_000_000) == plan


def test_a_ratio_has_the_best_times_and_the_middle_of_the_rounds() -> None:
    ours, theirs = Sample.of([[4, 6], [10], [9]]), Sample.of([[2], [2, 7], [3], [1]])
    assert Ratio.of("a", "b", ours, theirs) == Ratio("a", "b", 4 / 1, 3)


@pytest.mark.exhaustive
def test_the_server_of_a_test_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fixtures, "STARTS", 1)
    monkeypatch.setattr(fixtures, "TESTS", 1)
    lines = fixtures.figures()
    assert len(lines) == len({line.split("|")[1] for line in lines})
    assert "start as a process" in "\n".join(lines)


def test_custom_resources_are_timed_by_their_definition(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    route = custom_resources.http_route()
    # As large as is said, without the definition, which is of another project.
    assert 3000 < len(json.dumps(route, separators=(",", ":"))) < 3500
    schema = {"type": "object", "properties": {"spec": {"type": "integer"}}}
    version = {"name": "v1", "served": True, "storage": True}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "httproutes.gateway.networking.k8s.io"},
        "spec": {
            "group": "gateway.networking.k8s.io",
            "scope": "Namespaced",
            "names": {"kind": "HTTPRoute", "plural": "httproutes"},
            "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
        },
    }
    file = tmp_path / "definition.yaml"
    file.write_text(json.dumps(definition))
    custom_resources.main([str(file), "--runs", "2"])
    assert "refusals: 1, best " in capsys.readouterr().out
