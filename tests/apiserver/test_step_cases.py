"""A real kube-apiserver does what the cases with steps say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from smp.cases import parse
from tests.record.step_cases import Recorder, recorded
from tests.support.apiserver import needs_apiserver, running
from tests.support.paths import SPEC_CASES


@pytest.fixture(scope="module")
def recorder() -> Iterator[Recorder]:
    with running() as server:
        assert server.store
        yield Recorder(server, server.store)


@needs_apiserver
@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    sorted((SPEC_CASES / "server_side_apply").glob("*.yaml")),
    ids=lambda path: path.stem,
)
def test_a_server_does_what_a_case_says(recorder: Recorder, path: Path) -> None:
    cases = parse(path.read_text(encoding="utf-8"), source=str(path))
    assert [case.description for case in cases if recorded(recorder, case)] == []
