"""JSON objects have no order: nothing that the command says depends on one.

The library is asked the same in tests/explain/test_order_of_keys.py.
"""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any, Final

import pytest

from smp import documents
from smp._values.last_applied import LAST_APPLIED, with_last_applied
from smp._values.values import JSON, JSONObject, as_object
from smp.cli._options import REPORT_FORMATS
from smp.errors import DocumentError
from tests.support.command import Ran, run
from tests.support.makers.triples import Triple
from tests.support.paths import DATA
from tests.support.shuffling import shuffled

OUTPUTS: Final = (
    *[("-o", name) for name in ("json", "patch", "report", "unified")],
    *[("--format", name) for name in REPORT_FORMATS],
)
COMMANDS: Final = (
    *(("diff", "live.json", "new.json", *output) for output in OUTPUTS),
    *(("diff", "new.json", "--live", "live.json", *output) for output in OUTPUTS),
    ("diff", "live.json", "new.json", "-o", "jsonpatch"),
    *(
        ("apply", "-f", "new.json", "--live", "live.json", *output)
        for output in (*OUTPUTS, ())
    ),
    ("apply", "-f", "new.json", "--live", "live.json", "--hazards", "error", "-q"),
    ("diff", "live.json", "new.json", "--stat"),
    ("explain", "-f", "new.json", "--live", "live.json"),
    *(
        ("drift", "-f", "new.json", "--live", "live.json", *output)
        for output in ((), *[("--format", name) for name in ("ndjson", "junit")])
    ),
)
# Where in the text of a file a field stands, what is measured, and at which of several
# texts that are no quantity and no time the decoder of a server stops: at the first.
_COLUMNS: Final = ("column", "endColumn", "startColumn")
_VARYING: Final = re.compile(
    r"(?<=\.json:)\d+(?::\d+)?|time=\"[\d.]+\"|</?system-out>"
    r"|(?:quantities must match|parsing time) .*"
)


def written(obj: JSONObject, annotation: str | None) -> JSONObject:
    """Return an object with a name, and with what was applied last."""
    metadata = as_object(obj.get("metadata"))
    annotations = as_object(metadata.get("annotations"))
    if annotation is not None:
        annotations = {**annotations, LAST_APPLIED: annotation}
    named: JSONObject = {**metadata, "name": "x", "annotations": annotations}
    return {**obj, "metadata": named}


def said(ran: Ran) -> tuple[int, list[str], list[str]]:
    """Return the exit code and the lines of both streams; JSON counts by its value."""
    return ran.exit_code, lines_of(ran.stdout), lines_of(ran.stderr)


def lines_of(text: str) -> list[str]:
    """Return the lines of a text, or what it has where it is JSON or YAML."""
    try:
        found = [canonical(each.value) for each in documents.read(text)]
    except DocumentError:
        found = text.splitlines()
    return [_VARYING.sub("", line) for line in found]


def canonical(value: Any) -> str:
    """Write a value with its keys in order."""
    if isinstance(value, dict):
        value = {name: value[name] for name in value if name not in _COLUMNS}
        members = [f"{json.dumps(name)}: {canonical(value[name])}" for name in value]
        return "{" + ", ".join(sorted(members)) + "}"
    if isinstance(value, list):
        return f"[{', '.join(canonical(element) for element in value)}]"
    return json.dumps(value)


def answers(triple: Triple, seed: int | None) -> list[tuple[Any, ...]]:
    """Run all commands on a triple whose keys a seed puts into another order."""
    draw = random.Random(seed)
    annotation = None
    if triple.last_applied is not None:
        applied = as_object(with_last_applied(triple.last_applied)["metadata"])
        annotation = str(as_object(applied["annotations"])[LAST_APPLIED])
    objects: dict[str, JSON] = {
        "new": written(triple.manifest, None),
        "live": written(triple.live, annotation),
    }
    for name, value in objects.items():
        changed = value if seed is None else shuffled(value, draw)
        Path(f"{name}.json").write_text(json.dumps(changed))
    return [(command, *said(run(*command))) for command in COMMANDS]


@pytest.mark.parametrize(
    "count", [4, pytest.param(150, marks=pytest.mark.exhaustive)], ids=["some", "many"]
)
def test_what_commands_say_does_not_depend_on_it(count: int) -> None:
    wrong = []
    seeds = iter(range(10_000))
    done = 0
    while done < count:
        triple = Triple(seed := next(seeds))
        if not triple.is_applicable():
            continue
        done += 1
        pairs = zip(answers(triple, None), answers(triple, seed), strict=True)
        wrong += [(seed, one, two) for one, two in pairs if one != two]
    assert wrong == []


def test_warnings_and_refusals_are_in_one_order() -> None:
    spec = {"containers": [{"name": "c", "bogus": 1}], "bogus": 1, "activeDeadline": 2}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec}
    answers = []
    for value in (pod, {**pod, "spec": dict(reversed(spec.items()))}):
        Path("live.json").write_text(json.dumps({**pod, "spec": {}}))
        Path("new.json").write_text(json.dumps(value))
        commands = ("apply -f new.json -o report", "diff live.json new.json")
        answers.append([said(run(*command.split())) for command in commands])
    assert answers[0] == answers[1]


def recorded() -> list[dict[str, Any]]:
    """Return what tests.record.raw_order recorded: keys are in the order of Go."""
    _, *lines = (DATA / "servers" / "raw_order.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("row", recorded(), ids=lambda row: row["live"]["kind"])
def test_what_a_server_prints_is_no_harm_and_no_change(row: dict[str, Any]) -> None:
    """One value of one element is changed; kubectl would sort the live object."""
    Path("new.json").write_text(json.dumps(row["modified"]))
    outputs: set[str] = set()
    assert json.dumps(row["live"]) != json.dumps(row["live"], sort_keys=True)
    for sort_keys in (False, True):
        Path("live.json").write_text(json.dumps(row["live"], sort_keys=sort_keys))
        sides = ("new.json", "--live", "live.json")
        assert run("apply", "-f", *sides, "--hazards", "error", "-q").exit_code == 0
        report = run("diff", *sides, "-o", "report")
        assert report.exit_code == 1
        outputs.add(report.stdout)
        found = run("drift", "-f", *sides, "--format", "ndjson").stdout
        # The last row is that of the cluster.
        pair, _ = map(json.loads, found.splitlines())
        assert pair["verdict"] == "drift"
    assert len(outputs) == 1
