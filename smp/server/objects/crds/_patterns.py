"""Regular expressions in the dialect of Go, which RE2 matches in linear time."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import re2

_OPTIONS: Final = re2.Options()
_OPTIONS.log_errors = False


@lru_cache(maxsize=1024)
def compiled_pattern(expression: str) -> Any:
    """Compile a regular expression; None if it is malformed."""
    try:
        return re2.compile(expression, _OPTIONS)
    except (re2.error, UnicodeError):
        return None
