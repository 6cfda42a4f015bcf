"""A pager shows what is printed on a terminal, and nothing else has one."""

from __future__ import annotations

from typing import Final

from tests.support.paths import DOCS
from tests.support.terminal import run_on_a_terminal

EXAMPLES: Final = DOCS / "examples"
DIFF: Final = ("diff", str(EXAMPLES / "live.yaml"), str(EXAMPLES / "new.yaml"))
PAGER: Final = {"PAGER": "sed 's/^/| /'"}


def test_a_terminal_has_the_pager_of_the_environment() -> None:
    wrong = []
    for arguments, variables, is_paged in (
        (DIFF, PAGER, True),
        # Errors on the same terminal are where they were printed.
        (("lint", "missing.yaml"), PAGER, True),
        (("--no-pager", *DIFF), PAGER, False),
        ((*DIFF, "-q"), PAGER, False),
        (DIFF, {"PAGER": ""}, False),
        (DIFF, {"PAGER": "cat"}, False),
        (DIFF, {"PAGER": "there-is-no-such-program"}, False),
        (DIFF, {**PAGER, "TERM": "dumb"}, False),
        (("doctor",), PAGER, False),
    ):
        shown = run_on_a_terminal(*arguments, **variables)
        code, *lines = shown.splitlines()
        paged = [line for line in lines if line.startswith("| ")]
        expected = {"diff": "1", "lint": "2", "doctor": "0"}
        name = next(word for word in arguments if word in expected)
        if code != expected[name] or paged != (lines if is_paged else []):
            wrong.append((arguments, variables, shown))
    assert wrong == []


def test_a_pager_shows_colours_and_may_be_left_before_the_end() -> None:
    assert "\x1b[1mapps/v1 Deployment shop/web" in run_on_a_terminal(*DIFF, **PAGER)
    large = ("openapi", "convert", "-")
    assert "error" not in run_on_a_terminal(*DIFF, PAGER="head -n 1")
    assert len(run_on_a_terminal(*DIFF, PAGER="head -n 1").splitlines()) == 2
    assert "Traceback" not in run_on_a_terminal(*large, PAGER="true")
