"""The runner in Go, which shows how an engine in another language adopts the cases."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from typing import Final

import pytest

from tests.support.paths import ROOT
from tests.support.reference import needs_go

RUNNER: Final = ROOT / "spec_cases" / "runner"


@pytest.mark.exhaustive
@needs_go
def test_the_reference_passes_the_cases_by_the_page_alone() -> None:
    go = shutil.which("go")
    assert go is not None
    command = [go, "test", "-count=1", "-v", "./..."]
    ran = subprocess.run(
        command, cwd=RUNNER, capture_output=True, text=True, check=False
    )
    failed = re.findall(r"--- FAIL: (\S+)", ran.stdout)
    assert (ran.returncode, failed) == (0, []), ran.stdout[-2000:] + ran.stderr[-2000:]
    # Each operation of a case is a test in that of the case.
    counts = Counter(re.findall(r"--- PASS: \S+/(\w+) ", ran.stdout))
    # A runner that skips what it should run would pass as well.
    least = {"two_way": 150, "two_way_result": 140, "three_way": 120, "result": 390}
    assert {name for name in least if counts[name] < least[name]} == set()
