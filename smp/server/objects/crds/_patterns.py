"""Regular expressions in the dialect of Go, which RE2 matches in linear time."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import re2

_OPTIONS: Final = re2.Options()
_OPTIONS.log_errors = False
# Characters of the expressions that are remembered: a compiled one takes up to 8 MB.
_SHORT: Final = 1000


def compiled_pattern(expression: str) -> Any:
    """Return a regular expression compiled; None if it is malformed."""
    return _short(expression) if len(expression) <= _SHORT else _compiled(expression)


def _compiled(expression: str) -> Any:
    try:
        return re2.compile(expression, _OPTIONS)
    except (re2.error, UnicodeError):
        return None


_short: Final = lru_cache(maxsize=256)(_compiled)
