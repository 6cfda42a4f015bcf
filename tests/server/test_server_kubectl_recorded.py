"""Commands of the real kubectl: they print what they print with a real kube-apiserver.

What that is was recorded by tests.record.kubectl_commands. Where a kube-apiserver is
built, the commands are run beside it as well, so that the recording stays true.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from tests.record.applies import read
from tests.record.kubectl_commands import recorded
from tests.support import apiserver
from tests.support.kubectl import needs_kubectl
from tests.support.kubectl_commands import RECORDED, parts, played
from tests.support.paths import DOCS
from tests.support.server_process import ServerProcess, serving

pytestmark = needs_kubectl

HEADING, _LINES = read(RECORDED)
QUICK: Final = ("custom", "kinds")
# More must not differ.
_MOST: Final = 12
_ROW: Final = re.compile(r"\| `kubectl (?P<run>[^|]*)` \|")


def lines_of(part: str) -> list[dict[str, Any]]:
    """Return what was recorded of a part."""
    return [line for line in _LINES if line["part"] == part]


def differences() -> set[str]:
    """Return the commands that print something else, as the page of the server has."""
    page = (DOCS / "server.md").read_text()
    section = page.partition("## kubectl")[2].partition("\n## ")[0]
    return {match["run"] for match in _ROW.finditer(section)}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    # The version of the recording.
    version = HEADING["kube-apiserver"].removeprefix("v").rpartition(".")[0]
    directory = tmp_path_factory.mktemp("server")
    with serving(directory, "--kubernetes", version) as running:
        yield running


def test_all_commands_are_recorded() -> None:
    for part, commands in parts().items():
        assert [line["run"] for line in lines_of(part)] == [
            command.run for command in commands
        ]


def test_the_page_of_the_server_has_few_commands_that_differ() -> None:
    listed = differences()
    assert 0 < len(listed) <= _MOST
    assert listed <= {line["run"] for line in _LINES}


@pytest.mark.parametrize(
    "part",
    [
        pytest.param(part, marks=[] if part in QUICK else pytest.mark.exhaustive)
        for part in parts()
    ],
)
@pytest.mark.slow
def test_kubectl_prints_what_it_prints_with_a_kube_apiserver(
    server: ServerProcess, part: str
) -> None:
    server.post("/api/v1/namespaces", {"metadata": {"name": part}})
    with tempfile.TemporaryDirectory() as home:
        ran = [
            msgspec.to_builtins(each) for each in played(part, Path(home), server.url)
        ]
    different = set()
    for answer, line in zip(ran, lines_of(part), strict=True):
        if {"part": part, **answer} == line:
            continue
        different.add(line["run"])
        if line["run"] not in differences():
            assert {"part": part, **answer} == line
    expected = {command.run for command in parts()[part]} & differences()
    assert different == expected


def _sort_unordered(line: dict[str, Any]) -> dict[str, Any]:
    """Return a line with what comes in any order, as of a map in Go, sorted.

    These are the components of a cluster, and the causes of a custom resource that is
    invalid. Go: k8s.io/kubernetes, pkg/registry/core/componentstatus;
    kube-openapi, pkg/validation/validate, objectValidator.Validate.
    """
    sorted_line = {**line, "stderr": sorted(line["stderr"].splitlines())}
    if line["run"] == "get cs":
        sorted_line["stdout"] = sorted(line["stdout"].splitlines())
    return sorted_line


@pytest.mark.exhaustive
@apiserver.needs_apiserver
def test_the_recording_is_what_a_kube_apiserver_answers() -> None:
    with apiserver.running() as real:
        for part in parts():
            again = [_sort_unordered(line) for line in recorded(real, part)]
            assert again == [_sort_unordered(line) for line in lines_of(part)]
