"""``smp mcp``, driven over its pipes by the client of the protocol's own SDK."""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import anyio
import pytest

from smp import documents
from smp.hazards import HAZARDS
from tests.support.command import Ran, run
from tests.support.paths import DOCS, ROOT

mcp: Any = pytest.importorskip("mcp", reason="the extra mcp is not installed")

NEW: Final = str(ROOT / "docs/examples/new.yaml")
LIVE: Final = str(ROOT / "docs/examples/live.yaml")
OWNED: Final = str(ROOT / "docs/examples/owned.yaml")
READING: Final = {"explain", "preview", "lint", "diff", "blame", "drift"}
SIDES: Final = {"manifests": [NEW], "live": [LIVE]}
JSON: Final = ("--format", "json")
KINDS: Final = ("causes", "hazards", "lint", "violations")
LEFT_OUT: Final = {
    *("lastApplied", "live", "desired", "causes", "patch", "result"),
    *("changes", "conflicts", "managers", "requests", "mediaType", "reason"),
}
REFUSED: Final = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {replicas: "2"}
"""


def converse(talk: Callable[[Any], Awaitable[Any]], *options: str) -> Any:
    """Start the command, and return what a conversation with it leads to."""
    # As the page tells an assistant to.
    page = (DOCS / "howto/assistants.md").read_text()
    written = page.partition("```json\n")[2].partition("```")[0]
    started = json.loads(written)["mcpServers"]["smp"]
    assert started.pop("command") == "smp"
    parameters = mcp.StdioServerParameters(
        command=sys.executable, args=["-m", "smp", *started["args"], *options]
    )

    async def run_talk() -> Any:
        async with mcp.Client(parameters) as client:
            return await talk(client)

    return anyio.run(run_talk)


def ask(calls: list[tuple[str, dict[str, Any]]]) -> list[Any]:
    """Call tools in turn, and return their results."""

    async def call_all(client: Any) -> list[Any]:
        return [await client.call_tool(name, given) for name, given in calls]

    found: list[Any] = converse(call_all)
    return found


def list_tools(*options: str) -> dict[str, Any]:
    """Return the tools that are offered."""

    async def list_all(client: Any) -> dict[str, Any]:
        return {tool.name: tool for tool in (await client.list_tools()).tools}

    found: dict[str, Any] = converse(list_all, *options)
    return found


def test_nothing_can_be_written_but_where_a_flag_allows_it() -> None:
    offered = list_tools()
    assert set(offered) == READING
    schemas = {name: tool.input_schema for name, tool in offered.items()}
    assert [name for name in READING if schemas[name]["additionalProperties"]] == []
    assert all(tool.annotations.read_only_hint for tool in offered.values())
    allowed = list_tools("--allow-apply")
    assert set(allowed) == READING | {"apply"}
    assert allowed["apply"].annotations.destructive_hint
    page = (DOCS / "howto/assistants.md").read_text()
    assert [name for name in READING if f"| `{name}` |" not in page] == []


@pytest.mark.slow
def test_each_tool_says_what_its_command_says() -> None:
    sides = ("-f", NEW, "--live", LIVE)
    owned = ("-f", NEW, "--live", OWNED, "--server-side")
    drift = ("drift", "-f", NEW, "--live", LIVE, "--format", "ndjson")
    path = "spec.strategy.type"
    rows: list[tuple[str, dict[str, Any], Ran]] = [
        ("explain", {**SIDES, "path": path}, run("explain", *sides, *JSON, path)),
        ("preview", SIDES, run("apply", *sides, "--format", "json")),
        (
            "preview",
            {**SIDES, "live": [OWNED], "server_side": True},
            run("apply", *owned, "--format", "json"),
        ),
        (
            "lint",
            {"paths": ["-"], "text": REFUSED},
            run("lint", "-", *JSON, stdin=REFUSED),
        ),
        ("diff", {"original": LIVE, "modified": NEW}, run("diff", LIVE, NEW, *JSON)),
        ("blame", {"objects": [OWNED]}, run("blame", OWNED, *JSON)),
        ("drift", {"desired": NEW, "live": LIVE}, run(*drift)),
    ]
    results = ask([(name, given) for name, given, _ in rows])
    for (name, _, said), result in zip(rows, results, strict=True):
        assert not result.is_error, (name, result.content)
        answer = result.structured_content
        assert answer["exit_code"] == said.exit_code, name
        expected = documents.read(said.stdout)
        values = (
            [each.value for each in expected] if name == "drift" else expected[0].value
        )
        for got, want in zip(answer["documents"], values, strict=True):
            # What the assistant has given is left out, and nothing else is changed.
            assert got == {key: want[key] for key in got}, name
            assert want.keys() - got.keys() <= LEFT_OUT, name


@pytest.mark.slow
def test_an_error_is_told_and_ends_nothing(tmp_path: Path) -> None:
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("lint", {"paths": [str(tmp_path / "absent.yaml")]}),
        ("lint", {"paths": ["--help"]}),
        ("diff", {"original": "--live=cluster", "modified": NEW}),
        ("preview", {"manifests": [NEW], "live": ["--version"]}),
        ("lint", {"paths": "no list"}),
        ("apply", {"manifests": [NEW]}),
        ("no-such-tool", {}),
    ]
    *errors, last = ask([*wrong, ("lint", {"paths": [NEW]})])
    texts = [result.content[0].text for result in errors if result.is_error]
    assert len(texts) == len(wrong)
    assert "No such file" in texts[0]
    assert not last.is_error


def test_what_codes_mean_can_be_read() -> None:
    async def read_all(client: Any) -> list[str]:
        listed = [str(each.uri) for each in (await client.list_resources()).resources]
        assert listed == [f"smp://{kind}" for kind in KINDS]
        found = [await client.read_resource(uri) for uri in (listed[1], one)]
        return [result.contents[0].text for result in found]

    one = "smp://hazards/duplicate-key"
    page, entry = converse(read_all)
    assert [code for code in HAZARDS if f"## {code}\n" not in page] == []
    assert "give each element a key of its own" in entry


def test_bad_arguments_are_errors_with_a_reason() -> None:
    rows: list[tuple[str, dict[str, Any], str]] = [
        ("explain", {}, "manifests"),
        ("lint", {"paths": []}, "give manifests"),
        ("lint", {"paths": ["--help"]}, "No such file"),
        ("lint", {"paths": ["a\0b"]}, "null character"),
        ("preview", {"manifests": ["missing.yaml"], "live": []}, "No such file"),
        ("diff", {"original": "", "modified": ""}, "give ORIGINAL"),
        ("preview", {**SIDES, "serverSide": True}, "serverSide"),
        ("drift", {"desired": NEW, "live": LIVE, "path": "spec"}, "path"),
    ]
    results = ask([(name, given) for name, given, _ in rows])
    for (name, _, reason), result in zip(rows, results, strict=True):
        text = " ".join(part.text for part in result.content)
        assert (result.is_error, reason in text) == (True, True), (name, text)
