"""The benchmarks' inputs are what they are said to be, and the script runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import smp
from benchmarks import run
from benchmarks.contenders import Absent, Contender, contender, over_bytes, over_dicts
from benchmarks.inputs import Row, rows
from benchmarks.timing import Effort, Sample, measure
from smp.schema.catalog import kubernetes

ROWS = {str(row): row for row in rows()}
OURS = ["--once", "--contender", "smp.wire", "--contender", "smp"]


@pytest.fixture(params=ROWS)
def row(request: pytest.FixtureRequest) -> Row:
    return ROWS[request.param]


def test_input_is_about_as_large_as_documented(row: Row) -> None:
    assert sum(map(len, row.texts)) == pytest.approx(row.size, rel=0.05)


def test_input_is_the_same_every_time(row: Row) -> None:
    again = next(other for other in rows() if str(other) == str(row))
    assert again.texts == row.texts
    assert again.documents is not row.documents


def test_the_patch_of_a_case_leads_from_the_live_object_to_the_next_configuration(row: Row) -> None:
    schema = kubernetes().schema(row.api_version, row.kind)
    story = row.story
    wished = smp.apply_patch(story.live, smp.three_way_patch(story.before, story.after, story.live, schema), schema)
    assert smp.apply_patch(story.live, story.patch, schema) == wished != story.live


def test_bytes_and_dicts_are_timed_doing_the_same(row: Row) -> None:
    result = over_bytes(row)()
    assert isinstance(result, bytes)
    assert json.loads(result) == over_dicts(row)()


def test_every_row_runs_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "numbers.json"
    run.main([*OURS, "--only", "small|service", "--json", str(file)])
    written = json.loads(file.read_text())
    assert [row["name"] for row in written["rows"]] == ["ConfigMap, small"] * 3 + ["Service, 50 ports"] * 2
    assert all(row["nanoseconds"]["smp"]["minimum"] > 0 for row in written["rows"])
    assert set(written["contenders"]) == {"smp.wire", "smp"}
    assert "| Service, 50 ports: three-way | 18,384 |" in capsys.readouterr().out


def test_a_pattern_that_finds_no_row_is_told_the_rows() -> None:
    with pytest.raises(SystemExit, match="ConfigMap, small: three-way"):
        run.main([*OURS, "--only", "nothing like it"])


def test_a_ratio_says_how_many_times_as_long_the_first_contender_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "environment", dict)
    result = run.Result(
        ROWS["ConfigMap, small: apply"],
        {"a": Sample(1_000, 1_500, 3), "b": Sample(200_000, 300_000, 3), "c": None},
    )
    columns = [Contender(name, "bytes", "computes", "1", _unmeasured) for name in "abc"]
    table = list(run.report([result], columns, [Absent("d", "it is not there")]))
    assert "| ConfigMap, small: apply | 678 | 1.0 (1.5) | 200 (300) 0.005x | - |" in table
    assert "- d is absent: it is not there" in table


def _unmeasured(_row: Row, _effort: Effort) -> None:
    return None


def test_a_contender_that_cannot_be_imported_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "orjson", None)
    assert isinstance(contender("orjson"), Absent)


def test_what_warms_up_does_not_count() -> None:
    calls = iter(range(100))
    sample = measure(lambda: next(calls), Effort(warm_up=2, runs=3, seconds=0.0, patience=60.0))
    assert sample.runs == 3
    assert next(calls) == 5


def test_a_slow_call_is_timed_once() -> None:
    calls: Iterator[int] = iter(range(100))
    sample = measure(lambda: next(calls), Effort(warm_up=2, runs=3, seconds=0.0, patience=0.0))
    assert sample.runs == 1
    assert next(calls) == 1


def test_an_effort_in_runs() -> None:
    effort = Effort(warm_up=3, runs=10, seconds=1.0, patience=10.0)
    assert effort.count(1_000_000) == 3 + 1_000
    assert effort.count(500_000_000) == 3 + 10
    assert effort.count(20_000_000_000) == 3 + 1
