"""Unions under server-side apply, as structured-merge-diff v4.3.0 still had them."""

from __future__ import annotations

from typing import Final

import pytest

from tests.record.union_applies import GO_MODULE, recorded
from tests.support.paths import SPEC_CASES
from tests.support.reference import Reference, UnavailableError

FILE: Final = SPEC_CASES / "server_side_apply" / "unions" / "smd.yaml"


@pytest.mark.slow
def test_structured_merge_diff_does_what_is_recorded() -> None:
    try:
        program = Reference(GO_MODULE)
    except UnavailableError as error:
        pytest.skip(f"tests/unions/oracle: {error}")
    text = FILE.read_text(encoding="utf-8")
    with program:
        assert recorded(program, text, str(FILE)) == text
