"""The program whose types are checked runs as well."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.typing import user_code


@pytest.mark.parametrize(
    "part",
    [
        user_code.patches,
        user_code.arguments,
        user_code.applies,
        user_code.server_side,
        user_code.documents_and_bytes,
        user_code.errors,
    ],
)
def test_the_program_of_a_user_runs(part: Callable[[], None]) -> None:
    part()
