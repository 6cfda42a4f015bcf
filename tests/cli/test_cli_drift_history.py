"""``smp drift --state``: what is new, changed, mended or still there."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import Ran, run

SIDES = ("-f", "want", "--live", "live", "--by-folder")
_EARLIER = "2026-01-02T03:04:05Z"


def config_map(name: str, value: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "shop", "uid": f"uid-{name}"},
        "data": {"key": value},
    }


def write(side: str, values: Mapping[str, str], cluster: str = "eu") -> None:
    """Write the ConfigMaps of a cluster, by their names."""
    folder = Path(side, cluster)
    folder.mkdir(parents=True, exist_ok=True)
    objects = [config_map(name, value) for name, value in values.items()]
    listed = {"apiVersion": "v1", "kind": "List", "items": objects}
    (folder / "all.json").write_text(json.dumps(listed))


def drift(*arguments: str) -> Ran:
    return run("drift", *SIDES, "--state", "state.db", "--jobs", "1", *arguments)


def changes(*arguments: str) -> dict[str, tuple[str, str]]:
    """Return the verdict of each row of a run, and what has become of it."""
    ran = drift("--format", "ndjson", *arguments)
    rows = [json.loads(line) for line in ran.stdout.splitlines()]
    return {
        row["name"]: (row["verdict"], row.get("change", ""))
        for row in rows
        if "verdict" in row
    }


@pytest.fixture
def first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run once over objects of which three have drifted, some time ago."""
    monkeypatch.chdir(tmp_path)
    write("want", dict.fromkeys("abcde", "1"))
    write("live", {**dict.fromkeys("abcde", "1"), "b": "2", "c": "2", "x": "1"})
    drifted = ("drift", "")
    assert changes() == {"b": drifted, "c": drifted, "x": ("extra", "")}
    # A test cannot wait for another second.
    with sqlite3.connect("state.db") as state:
        state.execute("UPDATE findings SET since = ?", (_EARLIER,))
        rows = state.execute("SELECT key, row FROM findings").fetchall()
        for key, row in rows:
            text = json.dumps({**json.loads(row), "since": _EARLIER}).encode()
            state.execute("UPDATE findings SET row = ? WHERE key = ?", (text, key))
    state.close()


@pytest.mark.usefixtures("first")
def test_a_run_says_what_has_changed_since_the_last_one() -> None:
    still = dict.fromkeys("bc", ("drift", "still"))
    assert changes() == {**still, "x": ("extra", "still")}
    write("live", {**dict.fromkeys("abcd", "1"), "c": "2", "d": "3", "y": "1"})
    found = {
        "b": ("same", "mended"),
        "c": ("drift", "still"),
        "d": ("drift", "new"),
        "e": ("missing", "new"),
        "x": ("same", "mended"),
        "y": ("extra", "new"),
    }
    ran = drift()
    text = "since the last run 3 new, 0 changed, 2 mended, 1 still"
    assert text in ran.stdout
    assert f"shop/c: drift (still, since {_EARLIER})" in ran.stdout
    # Of the run before that.
    Path("state.db").unlink()
    write("live", {**dict.fromkeys("abcde", "1"), "b": "2", "c": "2", "x": "1"})
    drift()
    write("live", {**dict.fromkeys("abcd", "1"), "c": "2", "d": "3", "y": "1"})
    assert changes() == found


@pytest.mark.usefixtures("first")
def test_what_drifts_otherwise_has_changed_and_keeps_its_time() -> None:
    write("want", {"b": "1"})
    write("live", {"b": "1"})
    live = json.loads(Path("live/eu/all.json").read_text())
    live["items"][0]["data"] = {}
    Path("live/eu/all.json").write_text(json.dumps(live))
    ran = drift("--format", "ndjson")
    row = json.loads(ran.stdout.splitlines()[0])
    assert (row["name"], row["since"]) == ("b", _EARLIER)
    live["items"] = []
    Path("live/eu/all.json").write_text(json.dumps(live))
    assert changes()["b"] == ("missing", "changed")


@pytest.mark.usefixtures("first")
def test_what_cannot_be_read_is_neither_mended_nor_new() -> None:
    whole = Path("live/eu/all.json").read_text()
    Path("live/eu/all.json").write_text(whole[:-20])
    found = changes()
    assert found == dict.fromkeys("abcde", ("unreadable", "new")) | dict.fromkeys(
        "bc", ("unreadable", "")
    )
    Path("live/eu/all.json").write_text(whole)
    found = changes()
    assert {name: found[name] for name in "bcx"} == {
        "b": ("drift", "still"),
        "c": ("drift", "still"),
        "x": ("extra", "still"),
    }


@pytest.mark.usefixtures("first")
def test_a_run_over_the_same_files_reads_the_state_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = drift("--format", "ndjson").stdout
    counts = drift().stdout
    with monkeypatch.context() as patch:
        patch.setattr("smp.cli._drift.reading.RecordReader", None)
        assert drift("--format", "ndjson").stdout == expected
        assert drift().stdout == counts
    # What the rows depend on beside the files is part of it.
    ran = drift("--format", "ndjson", "--cluster", "us", "--kubernetes", "1.36")
    assert "as before" not in ran.stderr


@pytest.mark.usefixtures("first")
def test_a_state_that_was_damaged_is_an_error() -> None:
    with sqlite3.connect("state.db") as state:
        state.execute("UPDATE findings SET row = 'x'")
    state.close()
    ran = drift("--format", "ndjson")
    assert ran.exit_code == 3
    assert "cannot use the file of the state" in ran.stderr
    assert "file:   state.db" in ran.stderr
    # It says what it finds out without one.
    assert '"name":"b"' in ran.stdout
