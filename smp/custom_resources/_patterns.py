"""Regular expressions in the dialect of Go, which RE2 matches in linear time.

RE2 comes with the extras ``cel`` and ``server``. Without it no text is matched, and
``is_installed`` says so.
"""

from __future__ import annotations

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


def is_installed() -> bool:
    """Tell whether there is RE2."""
    return re2 is not None


def compiled_pattern(expression: str) -> Any:
    """Return a regular expression compiled; None if it is malformed, or without RE2."""
    return _COMPILED[expression] if is_installed() else None


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
