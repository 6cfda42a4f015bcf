"""``smp drift --state``: a run costs what has changed, and finds what any run finds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from smp.cli._drift.pairs import Parts
from smp.cli._drift.parquet import ParquetBatch
from smp.cli._drift.parsing import RecordReader
from smp.cli._drift.records import Record
from tests.support.command import Ran, run

CLUSTERS: Final = ("eu-1", "eu-2", "us-1")
SIDES: Final = ("-f", "want", "--live", "live", "--by-folder")
_NAMES: Final = tuple(f"name-{number}" for number in range(12))


def config_map(name: str, value: str, version: int = 0) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "shop"}
    if version:
        metadata |= {"uid": f"uid-{name}", "resourceVersion": str(version)}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "data": {"key": value},
    }


def rows_of(ran: Ran) -> list[dict[str, Any]]:
    """Return the rows in an order, without what a state adds."""
    rows = [json.loads(line) for line in ran.stdout.splitlines()]
    kept = [row for row in rows if row.get("change") != "mended"]
    for row in kept:
        row.pop("change", None)
        row.pop("since", None)
    return sorted(kept, key=lambda row: json.dumps(row, sort_keys=True))


def write_fleet(random: Random) -> None:
    for cluster in CLUSTERS:
        for side in ("want", "live"):
            Path(side, cluster).mkdir(parents=True)
        for name in _NAMES:
            write_manifest(Path("want", cluster, f"{name}.json"), name, random)
        write_lines(Path("live", cluster, "all.ndjson"), random)


def write_manifest(path: Path, name: str, random: Random) -> None:
    path.write_text(json.dumps(config_map(name, str(random.randrange(2)))))


def write_lines(path: Path, random: Random) -> None:
    lines = [
        json.dumps(config_map(name, str(random.randrange(2)), random.randint(1, 9)))
        for name in _NAMES
        if random.randrange(9)
    ]
    path.write_text("\n".join(lines))


def any_file(side: str, random: Random) -> Path:
    found = (path for path in Path(side).rglob("*") if path.is_file())
    files = sorted(path for path in found if path.suffix != ".parquet")
    return random.choice(files or [Path(side, CLUSTERS[0], "other.ndjson")])


# Each changes some file of a fleet.
def change_value(random: Random) -> None:
    path = any_file(random.choice(("want", "live")), random)
    if path.exists():
        path.write_text(path.read_text().replace('"key": "0"', '"key": "1"', 1))


def cut_file(random: Random) -> None:
    path = any_file("live", random)
    if path.exists():
        text = path.read_text()
        path.write_text(text[: random.randrange(len(text) + 1)])


def write_dump(random: Random) -> None:
    write_lines(Path("live", random.choice(CLUSTERS), "all.ndjson"), random)


def add_dump(random: Random) -> None:
    """Add some objects once more, in a file of their own."""
    write_lines(Path("live", random.choice(CLUSTERS), "more.ndjson"), random)


def add_event(random: Random) -> None:
    type_ = random.choice(("ADDED", "MODIFIED", "DELETED"))
    obj = config_map(random.choice(_NAMES), "1", random.randint(10, 99))
    with Path("live", random.choice(CLUSTERS), "watch.ndjson").open("a") as file:
        file.write(json.dumps({"type": type_, "object": obj}) + "\n")


def remove_file(random: Random) -> None:
    any_file(random.choice(("want", "live")), random).unlink(missing_ok=True)


def add_manifest(random: Random) -> None:
    name = random.choice(_NAMES)
    folder = Path("want", random.choice(CLUSTERS))
    write_manifest(folder / f"{random.randrange(3)}.json", name, random)


def add_other(random: Random) -> None:
    """Add a file that has no manifest, or none that can be read."""
    text = random.choice(("{broken", "{}", '{"apiVersion": "v1", "kind": "ConfigMap"}'))
    Path("want", random.choice(CLUSTERS), "other.json").write_text(text)


def move_lines(random: Random) -> None:
    """Put a line before the others, so that all are at other places."""
    path = any_file("live", random)
    if path.exists():
        line = json.dumps(config_map(f"extra-{random.randrange(3)}", "1", 3))
        path.write_text(f"{line}\n{path.read_text()}")


def write_documents(random: Random) -> None:
    """Write manifests as one file of YAML documents, or as one list."""
    folder = Path("want", random.choice(CLUSTERS))
    objects = [
        json.dumps(config_map(name, str(random.randrange(2))))
        for name in random.sample(_NAMES, 6)
    ]
    if not random.randrange(3):
        pq.write_table(pa.table({"object": objects}), folder / "many.parquet")
        return
    if random.randrange(2):
        (folder / "many.yaml").write_text("\n---\n".join(objects))
        return
    listed = f'{{"apiVersion": "v1", "items": [{", ".join(objects)}], "kind": "List"}}'
    (folder / "many.yaml").write_text(listed)


CHANGES: Final[tuple[Callable[[Random], None], ...]] = (
    change_value,
    change_value,
    cut_file,
    write_dump,
    add_dump,
    add_event,
    remove_file,
    add_manifest,
    add_other,
    move_lines,
    move_lines,
    write_documents,
    write_documents,
)


def drift(*arguments: str) -> Ran:
    return run("drift", "--jobs", "1", "--format", "ndjson", *SIDES, *arguments)


@pytest.mark.parametrize("seed", range(3))
def test_a_run_with_a_state_finds_what_one_without_finds(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # The documents of files are known, also of small ones.
    monkeypatch.setattr("smp.cli._drift.increments.FEWEST", 2)
    random = Random(seed)
    write_fleet(random)
    for number in range(30):
        with_state = drift("--state", "state.db")
        without = drift()
        found, expected = rows_of(with_state), rows_of(without)
        differing = [
            *(("only with a state", row) for row in found if row not in expected),
            *(("only without", row) for row in expected if row not in found),
        ]
        assert differing == [], number
        assert found == expected, number
        assert with_state.exit_code == without.exit_code, number
        for line in without.stderr.splitlines():
            assert " objects: " in line or line in with_state.stderr, number
        for _ in range(random.randrange(3)):
            random.choice(CHANGES)(random)


def test_a_changed_file_costs_what_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_fleet(Random(7))
    added: list[str] = []
    add = Parts.add

    def counted(parts: Parts, record: Any, *, is_desired: bool) -> None:
        added.append(record.name)
        add(parts, record, is_desired=is_desired)

    monkeypatch.setattr(Parts, "add", counted)
    drift("--state", "state.db")
    assert len(added) > len(CLUSTERS) * len(_NAMES)
    added.clear()
    drift("--state", "state.db")
    assert added == []
    Path("want", "eu-1", "name-3.json").write_text(
        json.dumps(config_map("name-3", "changed"))
    )
    # A file that is no manifest costs nothing but itself.
    Path("want", "eu-1", "values.json").write_text("{}")
    ran = drift("--state", "state.db")
    assert {*added} == {"name-3"}
    assert [row["name"] for row in rows_of(ran) if row.get("paths")].count("name-3")
    added.clear()
    drift("--state", "state.db")
    assert added == []


def write_large(random: Random, changed: frozenset[int] = frozenset()) -> None:
    """Write both sides, each as one file with many objects."""
    for side, name in (("want", "all.yaml"), ("live", "all.ndjson")):
        Path(side, "eu-1").mkdir(parents=True, exist_ok=True)
        lines = [
            json.dumps(config_map(f"n-{number}", str(random.randrange(9) or side)))
            for number in range(300)
        ]
        for number in changed if side == "live" else ():
            lines[number] = json.dumps(config_map(f"n-{number}", "changed"))
        text = "\n---\n".join(lines) if name.endswith("yaml") else "\n".join(lines)
        Path(side, "eu-1", name).write_text(text)


def test_of_a_large_file_what_has_changed_is_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_large(Random(1))
    parsed: list[str] = []
    of_object = RecordReader._of_object  # noqa: SLF001  # all that is parsed

    def counted(reader: RecordReader, identity: Any, *rest: Any) -> Iterator[Record]:
        parsed.append(identity.name)
        return of_object(reader, identity, *rest)

    monkeypatch.setattr(RecordReader, "_of_object", counted)
    first = drift("--state", "state.db")
    assert len(parsed) == 600
    parsed.clear()
    write_large(Random(1), frozenset({7}))
    second = drift("--state", "state.db")
    # Once for what it is now, and then all that may be pairs with it.
    assert parsed.count("n-7") == 3
    assert len(parsed) < 20
    assert len(rows_of(second)) - len(rows_of(first)) in {0, 1}
    # The findings of what is at other lines now are known, with their places.
    path = Path("live/eu-1/all.ndjson")
    added = json.dumps(config_map("added", "1"))
    path.write_text(f"{added}\n{path.read_text()}")
    parsed.clear()
    third = drift("--state", "state.db")
    assert len(parsed) < 20
    assert rows_of(third) == rows_of(drift())


def write_tables(changed: frozenset[int] = frozenset(), shift: int = 0) -> None:
    """Write both sides as tables of groups of 64 rows."""
    for side in ("want", "live"):
        Path(side, "eu-1").mkdir(parents=True, exist_ok=True)
        values = ["changed" if number in changed else "1" for number in range(300)]
        objects = [
            json.dumps(config_map(f"n-{number}", value if side == "live" else "1"))
            for number, value in enumerate(values)
        ]
        extra = [
            json.dumps(config_map(f"new-{number}", "1")) for number in range(shift)
        ]
        table = pa.table({"object": [*extra, *objects]})
        pq.write_table(table, Path(side, "eu-1", "all.parquet"), row_group_size=64)


def test_of_a_table_the_groups_that_have_changed_are_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_tables()
    decoded: list[int] = []
    rows = ParquetBatch.rows

    def counted(batch: ParquetBatch) -> Iterator[dict[str, Any]]:
        decoded.append(batch.count)
        return rows(batch)

    monkeypatch.setattr(ParquetBatch, "rows", counted)
    drift("--state", "state.db")
    assert sum(decoded) == 600
    decoded.clear()
    write_tables(frozenset({100}))
    found = rows_of(drift("--state", "state.db"))
    # The group in which it is: once for what it is now, and then on both sides for all
    # that may be pairs with it.
    assert decoded[0] == 64
    assert sum(decoded) <= 64 * 5
    decoded.clear()
    assert found == rows_of(drift())
    # Rows at other places are known by their content.
    write_tables(frozenset({100}), shift=2)
    assert rows_of(drift("--state", "state.db")) == rows_of(drift())
