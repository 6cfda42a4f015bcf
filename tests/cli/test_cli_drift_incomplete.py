"""``smp drift`` of inputs that are not all there: nothing is missing for that."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from junitparser import JUnitXml

from smp._values.values import JSONObject
from smp.documents import dump_yaml
from tests.support.command import Ran, run

NAMES = ("a", "b", "c")


def config_map(name: str, value: str = "1", **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "shop", **metadata},
        "data": {"key": value},
    }


def listed(objects: Iterable[JSONObject], **metadata: Any) -> dict[str, Any]:
    """Return a list as an API server sends it."""
    items = [*objects]
    return {"apiVersion": "v1", "kind": "List", "items": items, "metadata": metadata}


def drift(*arguments: str, output: str = "ndjson") -> Ran:
    form = ("--format", output) if output else ()
    return run("drift", "--jobs", "1", "--all", *form, *arguments)


def rows_of(ran: Ran) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    """Return the rows of objects, and those of clusters by name."""
    found = [json.loads(line) for line in ran.stdout.splitlines()]
    objects = [row for row in found if "verdict" in row]
    clusters = found[len(objects) :]
    assert not [row for row in clusters if "verdict" in row]
    return objects, {row["cluster"]: row for row in clusters}


def verdicts(ran: Ran) -> dict[str, str]:
    objects, _clusters = rows_of(ran)
    return {f"{row['cluster']}/{row['name']}": row["verdict"] for row in objects}


LIVE = [config_map(name, uid=f"uid-{name}") for name in NAMES]
LINES = "".join(f"{json.dumps(obj)}\n" for obj in LIVE).encode()
JSON_LIST = json.dumps(listed(LIVE), indent=4).encode()
# Larger than what is parsed as a whole.
LARGE = [config_map(f"large-{number}", "x" * 100_000) for number in range(12)]


def compressed(data: bytes) -> bytes:
    packed: bytes = pa.compress(data, codec="zstd", asbytes=True)
    return packed


def table(objects: Iterable[JSONObject]) -> bytes:
    file = BytesIO()
    rows = pa.table({"object": [json.dumps(obj) for obj in objects]})
    pq.write_table(rows, file)
    return file.getvalue()


def columns(**values: list[Any]) -> bytes:
    file = BytesIO()
    pq.write_table(pa.table(values), file)
    return file.getvalue()


LIST_OF = b'{"apiVersion":"v1","kind":"List","items":%b}'
CONFIG_MAP = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{%b}}'
JSON_OF_A = json.dumps(LIVE[0])


def after_first(line: bytes) -> bytes:
    """Return the lines of a dump with another one in the place of the second."""
    first, _, _third = LINES.splitlines(keepends=True)
    return first + line + b"\n"


def yaml_list(objects: Iterable[JSONObject]) -> bytes:
    """Return a list as kubectl prints it, kind behind the items."""
    found = listed(objects, resourceVersion="")
    text = dump_yaml([{name: found[name] for name in sorted(found)}])
    assert text.index("items:") < text.index("kind: List")
    return text.encode()


# What a dump may be where it is whole, and what is left of it.
DAMAGES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "lines cut in the second": ("live.ndjson", lambda: LINES[:150]),
    "lines cut in the first": ("live.ndjson", lambda: LINES[:20]),
    "a list that is cut": ("live.json", lambda: JSON_LIST[:-40]),
    "nothing of a list": ("live.json", lambda: b""),
    "null": ("live.json", lambda: b" null\n"),
    "no lines": ("live.ndjson", lambda: b""),
    "gzip that ends early": ("live.ndjson.gz", lambda: gzip.compress(LINES)[:-9]),
    "nothing of gzip": ("live.ndjson.gz", lambda: b""),
    "gzip of a cut list": ("live.json.gz", lambda: gzip.compress(JSON_LIST[:-40])),
    "zstd that ends early": ("live.json.zst", lambda: compressed(JSON_LIST)[:-9]),
    "no gzip": ("live.ndjson.gz", lambda: LINES),
    "a table that is cut": ("live.parquet", lambda: table(LIVE)[:-9]),
    "a page": (
        "live.json",
        lambda: json.dumps(listed(LIVE[:1], **{"continue": "abc"})).encode(),
    ),
    "a page that counts": (
        "live.json",
        lambda: json.dumps(listed(LIVE[:1], remainingItemCount=2)).encode(),
    ),
    "a large page": (
        "live.json",
        lambda: json.dumps(
            listed([*LIVE[:1], *LARGE], **{"continue": "abc"}), indent=4
        ).encode(),
    ),
    "a page in a line": (
        "live.ndjson",
        lambda: json.dumps(
            {"cluster": "eu-2", "object": listed(LIVE[:1], remainingItemCount=2)}
        ).encode(),
    ),
    "YAML without its end": (
        "live.yaml",
        lambda: yaml_list(LIVE[:1]).partition(b"kind: List")[0],
    ),
    "large YAML without its end": (
        "live.yaml",
        lambda: yaml_list([*LIVE[:1], *LARGE]).partition(b"kind: List")[0],
    ),
    "a large page of YAML": (
        "live.yaml",
        lambda: yaml_list([*LIVE[:1], *LARGE]) + b"  continue: abc\n",
    ),
    "an event that ended the watch": (
        "live.ndjson",
        lambda: (
            LINES[: LINES.index(b"\n") + 1]
            + b'{"type":"ERROR","object":{"kind":"Status","message":"too old"}}'
        ),
    ),
    "a page in a list": (
        "live.json",
        lambda: json.dumps(listed([listed(LIVE[:1], **{"continue": "abc"})])).encode(),
    ),
    "no items": ("live.json", lambda: LIST_OF % b'"none"'),
    "an item that is no object": ("live.json", lambda: LIST_OF % b"[5]"),
    "an item without a kind": ("live.json", lambda: LIST_OF % b"[{}]"),
    "what a server answers": (
        "live.json",
        lambda: b'{"apiVersion":"v1","kind":"Status","message":"forbidden"}',
    ),
    "an object without a name": ("live.ndjson", lambda: after_first(CONFIG_MAP % b"")),
    "a name that is a number": (
        "live.ndjson",
        lambda: after_first(CONFIG_MAP % b'"name":5'),
    ),
    "a message among lines": (
        "live.ndjson",
        lambda: after_first(b"Error from server"),
    ),
    "bytes that are no text": (
        "live.ndjson",
        lambda: after_first(CONFIG_MAP % b'"name":"\xff"'),
    ),
    "a line that is too deep": (
        "live.ndjson",
        lambda: after_first(b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
    ),
    "an object that is too deep": (
        "live.ndjson",
        lambda: after_first(
            CONFIG_MAP % (b'"name":"b","a":' + b"[" * 100_000 + b"]" * 100_000)
        ),
    ),
    "an event without an object": (
        "live.ndjson",
        lambda: after_first(b'{"type":"ADDED","object":null}'),
    ),
    "a line of no object": (
        "live.ndjson",
        lambda: after_first(b'{"cluster":"eu-2","object":5}'),
    ),
    "an event without a type": (
        "live.ndjson",
        lambda: b'{"type":null,"object":%b}' % JSON_OF_A.encode(),
    ),
    "a version that is a number": (
        "live.ndjson",
        lambda: after_first((CONFIG_MAP % b'"name":"b"').replace(b'"v1"', b"1")),
    ),
    "a kind that is a list": (
        "live.json",
        lambda: LIST_OF % b'[{"apiVersion":"v1","kind":["a"],"metadata":{"name":"b"}}]',
    ),
    "a row of nothing without a name": (
        "live.parquet",
        lambda: columns(object=[JSON_OF_A, None]),
    ),
    "a row that is a list": ("live.parquet", lambda: table([listed(LIVE)])),
    "a row that is no text": (
        "live.parquet",
        lambda: columns(object=[JSON_OF_A.encode(), b"\xff"]),
    ),
    "rows that are numbers": ("live.parquet", lambda: columns(object=[1, 2])),
    "rows that are structures": ("live.parquet", lambda: columns(object=LIVE)),
    "names that are numbers": (
        "live.parquet",
        lambda: columns(object=[JSON_OF_A], name=[1]),
    ),
    "kinds that are no text": (
        "live.parquet",
        lambda: columns(object=[JSON_OF_A], kind=[b"\xff"]),
    ),
    "configurations that are numbers": (
        "live.parquet",
        lambda: columns(object=[JSON_OF_A], last_applied=[1]),
    ),
    "two columns of objects": (
        "live.parquet",
        lambda: columns(object=[JSON_OF_A], live=[JSON_OF_A]),
    ),
}


@pytest.fixture
def folders() -> None:
    """Write two clusters with three manifests each; the first has all objects."""
    for cluster in ("eu-1", "eu-2"):
        Path("want", cluster).mkdir(parents=True)
        Path("want", cluster, "all.yaml").write_text(
            dump_yaml([config_map(name) for name in NAMES])
        )
        Path("live", cluster).mkdir(parents=True)
    Path("live/eu-1/live.ndjson").write_bytes(LINES)


SIDES = ("-f", "want", "--live", "live", "--by-folder")


@pytest.mark.usefixtures("folders")
def test_nothing_is_missing_behind_what_cannot_be_read() -> None:
    failures: list[str] = []
    for name, (file, data) in DAMAGES.items():
        shutil.rmtree("live/eu-2")
        Path("live/eu-2").mkdir()
        Path("live/eu-2", file).write_bytes(data())
        ran = drift(*SIDES)
        found = verdicts(ran)
        objects, clusters = rows_of(ran)
        of_second = {key: value for key, value in found.items() if "eu-2/" in key}
        unreadable = [row for row in objects if row["verdict"] == "unreadable"]
        broken = clusters["eu-2"]
        checks = {
            "exit code": ran.exit_code == 3,
            "the other cluster": all(found[f"eu-1/{each}"] == "same" for each in NAMES)
            and clusters["eu-1"]["complete"],
            "verdicts": {*of_second.values()} <= {"same", "unreadable", "extra"},
            "lost objects": {"eu-2/b", "eu-2/c"}
            <= {key for key, value in found.items() if value == "unreadable"},
            "no patch": not any("patch" in row or "heals" in row for row in unreadable),
            "errors": all(row["error"] for row in unreadable),
            "cluster": not broken["complete"]
            and broken["expected"] == 3
            and broken["unreadable"] == len(unreadable)
            and file in broken["reasons"][0],
        }
        failures += [f"{name}: {check}" for check, holds in checks.items() if not holds]
    assert failures == []


@pytest.mark.usefixtures("folders")
def test_a_file_that_is_named_and_damaged_is_incomplete() -> None:
    """The columns of a table are what its author says, and no damage."""
    failures: list[str] = []
    for name, (file, data) in DAMAGES.items():
        Path(file).write_bytes(data())
        ran = drift("-f", "want/eu-2/all.yaml", "--live", file, "--cluster", "eu-2")
        found = verdicts(ran)
        lost = {each for each in found if found[each] == "unreadable"}
        is_of_columns = file.endswith(".parquet") and "column" in ran.stderr
        is_incomplete = ran.exit_code == 3 and lost >= {"eu-2/b", "eu-2/c"}
        if not is_incomplete and not is_of_columns:
            failures.append(f"{name}: {ran.exit_code} {found}")
    assert failures == []


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes on Linux")
@pytest.mark.usefixtures("folders")
def test_a_file_whose_name_is_no_text_is_an_error_with_its_place() -> None:
    Path("live/eu-2", os.fsdecode(b"\xff.ndjson")).write_bytes(LINES)
    for options in ((), ("--state", "state.db"), ("--state", "state.db")):
        ran = drift(*SIDES, *options)
        assert ran.exit_code == 3
        assert "live/eu-2/\\udcff.ndjson" in ran.stderr
        found = verdicts(ran)
        assert {found[f"eu-1/{each}"] for each in NAMES} == {"same"}
        assert {found[f"eu-2/{each}"] for each in NAMES} == {"unreadable"}


@pytest.mark.usefixtures("folders")
def test_a_whole_dump_may_be_written_in_many_ways() -> None:
    marked = b"\xef\xbb\xbf" + LINES
    of_nothing = json.dumps({**listed([]), "items": None}).encode()
    without_kinds = [{name: obj[name] for name in ("metadata", "data")} for obj in LIVE]
    dumps = {
        "a byte order mark": ("live.ndjson", marked, "same"),
        # Go prints an empty list so, where nobody has made it.
        "a list of null": ("live.json", of_nothing, "missing"),
        "lists in a list": (
            "live.json",
            json.dumps(listed([listed(LIVE[:1]), listed(LIVE[1:])])).encode(),
            "same",
        ),
        "items of the kind of their list": (
            "live.json",
            json.dumps({**listed(without_kinds), "kind": "ConfigMapList"}).encode(),
            "same",
        ),
    }
    failures: list[str] = []
    for name, (file, data, verdict) in dumps.items():
        shutil.rmtree("live/eu-2")
        Path("live/eu-2").mkdir()
        Path("live/eu-2", file).write_bytes(data)
        ran = drift(*SIDES)
        _, clusters = rows_of(ran)
        found = {value for key, value in verdicts(ran).items() if "eu-2/" in key}
        if found != {verdict} or not clusters["eu-2"]["complete"]:
            failures.append(name)
    assert failures == []


@pytest.mark.usefixtures("folders")
def test_a_cluster_of_which_nothing_was_read_has_nothing_missing() -> None:
    ran = drift(*SIDES)
    assert ran.exit_code == 3
    _objects, clusters = rows_of(ran)
    assert clusters == {
        "eu-1": {
            "cluster": "eu-1",
            "expected": 3,
            "read": 3,
            "unreadable": 0,
            "complete": True,
            "reasons": [],
        },
        "eu-2": {
            "cluster": "eu-2",
            "expected": 3,
            "read": 0,
            "unreadable": 3,
            "complete": False,
            "reasons": ["nothing was read of what the cluster has"],
        },
    }
    # One that says that it has nothing has been read.
    Path("live/eu-2/live.json").write_text(json.dumps(listed([])))
    ran = drift(*SIDES)
    assert ran.exit_code == 1
    assert [*verdicts(ran).values()] == ["same"] * 3 + ["missing"] * 3


@pytest.mark.usefixtures("folders")
def test_every_format_says_what_was_not_read() -> None:
    Path("live/eu-2/live.ndjson").write_bytes(LINES[:150])
    for name in ("", "html", "sarif", "junit", "parquet"):
        ran = drift(*SIDES, output=name)
        assert ran.exit_code == 3, name
        if name == "parquet":
            read = pq.read_table(BytesIO(ran.stdout_bytes))
            written = pq.read_metadata(BytesIO(ran.stdout_bytes))
            assert read.column("verdict").to_pylist().count("unreadable") == 2
            [_, second] = json.loads(written.metadata[b"smp.clusters"])
            assert (second["expected"], second["read"]) == (3, 1)
            continue
        assert "missing: " not in ran.stdout.replace("it is missing: ", ""), name
        assert "live.ndjson:2" in ran.stdout, name
        assert "not read completely" in ran.stdout, name
        if name == "junit":
            suites = JUnitXml.fromstring(ran.stdout_bytes)
            assert sum(suite.errors for suite in suites) == 3
            assert sum(suite.failures for suite in suites) == 0


@pytest.mark.usefixtures("folders")
def test_nothing_is_extra_where_a_manifest_cannot_be_read() -> None:
    Path("live/eu-2/live.ndjson").write_bytes(LINES)
    Path("want/eu-2/all.yaml").write_text(
        f"{dump_yaml([config_map('a')])}---\napiVersion: v1\nkind: [\n"
    )
    ran = drift(*SIDES)
    assert ran.exit_code == 3
    second = [value for key, value in verdicts(ran).items() if "eu-2" in key]
    assert second == ["same", "unreadable", "unreadable"]


def test_the_next_complete_run_knows_what_is_missing() -> None:
    Path("want.yaml").write_text(dump_yaml([config_map(name) for name in NAMES]))
    options = ("-f", "want.yaml", "--live", "live.json", "--state", "state.db")
    found: list[list[str]] = []
    for metadata in ({"remainingItemCount": 2}, {}):
        Path("live.json").write_text(json.dumps(listed(LIVE[:1], **metadata)))
        found.append([*verdicts(drift(*options)).values()])
    assert found == [
        ["same", "unreadable", "unreadable"],
        ["same", "missing", "missing"],
    ]


def test_live_objects_with_other_content_are_an_error() -> None:
    Path("want.yaml").write_text(dump_yaml([config_map("a"), config_map("b")]))
    spelled = json.dumps(config_map("b"), indent=1).replace("\n", " ")
    lines = [config_map("a", "2"), config_map("a"), config_map("b")]
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    Path("live.ndjson").write_text(f"{text}{spelled}\n")
    ran = drift("-f", "want.yaml", "--live", "live.ndjson")
    [first, second] = rows_of(ran)[0]
    assert (first["verdict"], second["verdict"]) == ("unreadable", "same")
    assert first["error"] == (
        "live.ndjson:1 and live.ndjson:2 have it with other content"
    )
    assert ran.exit_code == 3


def events(*events: tuple[str, str, int, str]) -> str:
    """Return a stream of events: type, name, version and value."""
    lines = [
        {"type": type_, "object": config_map(name, value, resourceVersion=str(version))}
        for type_, name, version, value in events
    ]
    return "".join(f"{json.dumps(line)}\n" for line in lines)


BOOKMARK = json.dumps(
    {
        "type": "BOOKMARK",
        "object": {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "resourceVersion": "9",
                "annotations": {"k8s.io/initial-events-end": "true"},
            },
        },
    }
)


def test_events_of_a_watch_are_folded() -> None:
    Path("want.yaml").write_text(dump_yaml([config_map("a"), config_map("b")]))
    plain = json.dumps(config_map("a", "0", resourceVersion="3"))
    started = f"{json.dumps(listed([]))}\n"
    cases: dict[str, tuple[str, list[str], int]] = {
        "deleted": (
            events(("ADDED", "a", 1, "1"), ("DELETED", "a", 2, "1")) + BOOKMARK,
            ["missing", "missing"],
            1,
        ),
        "modified": (
            events(("ADDED", "a", 1, "2"), ("ADDED", "b", 2, "1"))
            + events(("MODIFIED", "a", 10, "1")),
            ["same", "same"],
            0,
        ),
        "another order": (
            events(("MODIFIED", "a", 10, "1"), ("ADDED", "a", 9, "2")),
            ["same", "missing"],
            1,
        ),
        "again": (
            events(("ADDED", "a", 1, "2"), ("DELETED", "a", 2, "2"))
            + events(("ADDED", "a", 3, "1"), ("ADDED", "b", 4, "2")),
            ["same", "drift"],
            1,
        ),
        "behind a list": (
            f"{plain}\n" + events(("MODIFIED", "a", 4, "1"), ("DELETED", "b", 5, "1")),
            ["same", "missing"],
            1,
        ),
        "behind an empty list": (
            started + events(("DELETED", "b", 5, "1")),
            ["missing", "missing"],
            1,
        ),
        "nothing there": (BOOKMARK, ["missing", "missing"], 1),
        "no start": (
            events(("MODIFIED", "a", 4, "1"), ("DELETED", "b", 5, "1")),
            ["same", "unreadable"],
            3,
        ),
        "no version": (
            events(("ADDED", "a", 4, "1")).replace('"4"', '"x"'),
            ["unreadable", "unreadable"],
            3,
        ),
        "no event": (
            events(("ADDED", "a", 4, "1"), ("CHANGED", "b", 5, "1")),
            ["same", "unreadable"],
            3,
        ),
    }
    failures: list[str] = []
    for name, (text, expected, code) in cases.items():
        Path("live.ndjson").write_text(text)
        ran = drift("-f", "want.yaml", "--live", "live.ndjson")
        found = [*verdicts(ran).values()]
        if (found, ran.exit_code) != (expected, code):
            failures.append(f"{name}: {found}, {ran.exit_code}, {ran.stderr}")
        if "it comes again" in ran.stderr:
            failures.append(f"{name}: {ran.stderr}")
    assert failures == []
    # As kubectl get --watch --output-watch-events -o json prints them.
    lines = cases["deleted"][0].splitlines()
    text = "\n".join(json.dumps(json.loads(line), indent=4) for line in lines)
    Path("live.json").write_text(text)
    ran = drift("-f", "want.yaml", "--live", "live.json")
    assert ([*verdicts(ran).values()], ran.exit_code) == (["missing", "missing"], 1)
    ran = drift("-f", "live.ndjson", "--live", "want.yaml")
    assert "an event of a watch is no manifest" in ran.stderr


def test_folders_of_hive_name_the_cluster() -> None:
    values = {"want": ("1", "1"), "live": ("2", "1")}
    for side, of_clusters in values.items():
        for cluster, value in zip(("eu-1", "eu%2F2"), of_clusters, strict=True):
            folder = Path(side, f"cluster={cluster}")
            folder.mkdir(parents=True)
            obj = config_map("a", value)
            Path(folder, "0.parquet").write_bytes(table([obj]))
            if side == "want":
                Path(folder, "0.parquet").unlink()
                Path(folder, "a.yaml").write_text(dump_yaml([obj]))
    for options in ((), ("--by-folder",)):
        ran = drift("-f", "want", "--live", "live", *options)
        assert verdicts(ran) == {"eu-1/a": "drift", "eu/2/a": "same"}
        assert ran.exit_code == 1


def test_files_may_be_compressed_and_named_by_a_url() -> None:
    Path("want.yaml").write_text(dump_yaml([config_map(name) for name in NAMES]))
    files = {
        "live.ndjson.gz": gzip.compress(LINES),
        "live.ndjson.zst": compressed(LINES),
        "live.json.gz": gzip.compress(JSON_LIST),
        "live.yaml.zst": compressed(dump_yaml([*LIVE]).encode()),
        "live.parquet": table(LIVE),
        "live.json": JSON_LIST,
    }
    failures: list[str] = []
    for name, data in files.items():
        folder = Path("live of", name.replace(".", "-"), "eu-1")
        folder.mkdir(parents=True)
        Path(folder, name).write_bytes(data)
        Path(folder, "notes.txt.gz").write_bytes(b"no dump")
        file = Path(folder, name).absolute()
        sides = ("-f", "want.yaml", "--cluster", "eu-1")
        found = {
            "file": drift(*sides, "--live", str(file)),
            "URL": drift(*sides, "--live", file.as_uri()),
            "folder": drift(*sides, "--live", str(folder.parent), "--by-folder"),
            "URL of a folder": drift(
                *sides, "--live", folder.parent.absolute().as_uri(), "--by-folder"
            ),
        }
        failures += [
            f"{name}: {how}: {ran.stdout} {ran.stderr}"
            for how, ran in found.items()
            if verdicts(ran) != {f"eu-1/{each}": "same" for each in NAMES}
        ]
    assert failures == []
    for url in ("nothing://here/a.json", Path("none.json").absolute().as_uri()):
        ran = drift("-f", "want.yaml", "--live", url)
        assert (ran.exit_code, "cannot" in ran.stderr) == (2, True), url
