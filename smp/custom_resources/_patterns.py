"""Regular expressions in the dialect of Go, which RE2 matches in linear time.

RE2 comes with the extras ``cel`` and ``server``. Without it no text is matched, and
``is_installed`` says so.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from smp._values.text_cache import TextCache

try:
    import re2
except ImportError:
    re2 = None

# RE2 compiles under Python's lock: all threads wait. Some expressions that Go takes,
# above all repeated classes of Unicode, are larger than this, and count as malformed.
_MEMORY: Final = 4 << 20  # bytes
_LONGEST: Final = 10_000  # characters
# Short texts come again: kinds, groups, names of headers.
_SHORT: Final = 1000


def is_installed() -> bool:
    """Tell whether there is RE2."""
    return re2 is not None


def compile_pattern(expression: str) -> Any:
    """Return a regular expression compiled; None if it is malformed, or without RE2."""
    return _COMPILED[expression] if is_installed() else None


@lru_cache(maxsize=4096)
def _is_found(expression: str, text: str) -> bool:
    compiled = _COMPILED[expression]
    return compiled is None or compiled.search(text) is not None


def is_matched(expression: str, text: str) -> bool:
    """Tell whether a regular expression finds something in a text.

    One that is malformed, and any without RE2, refuses nothing.
    """
    if not is_installed():
        return True
    if len(text) + len(expression) <= _SHORT:
        return _is_found(expression, text)
    return _is_found.__wrapped__(expression, text)


def _compile(expression: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    if len(expression) > _LONGEST:
        return None
    try:
        return re2.compile(expression, options)
    except (re2.error, UnicodeError):
        return None


_COMPILED: Final[TextCache[Any]] = TextCache(_compile, most=64, longest=_LONGEST)
