"""Regular expressions in the dialect of Go, which RE2 matches in linear time."""

from __future__ import annotations

from typing import Any, Final

import re2

from smp.text_cache import TextCache

_OPTIONS: Final = re2.Options()
_OPTIONS.log_errors = False
# Characters of the expressions that are remembered: a compiled one takes up to 8 MB.
_SHORT: Final = 1000


def compiled_pattern(expression: str) -> Any:
    """Return a regular expression compiled; None if it is malformed."""
    return _COMPILED[expression]


def _compile(expression: str) -> Any:
    try:
        return re2.compile(expression, _OPTIONS)
    except (re2.error, UnicodeError):
        return None


_COMPILED: Final[TextCache[Any]] = TextCache(_compile, most=256, longest=_SHORT)
