"""Whether the stack of a thread is large enough, and how deep values may be if not.

The engine compiled, msgspec, and Python where it compares values all recurse in C, with
a limit of levels and none of bytes. The limit fits threads as they are started by
default; but a program may choose less (``threading.stack_size``, ``ulimit -s``), and
the C library of Alpine Linux gives 128 KB. There the process would end at values that
are an error elsewhere. So where the stack is small, values are measured before they are
used; elsewhere this costs one look-up for each call.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Mapping
from typing import Final

# With this many bytes all limits of levels are reached before the stack ends.
_AMPLE: Final = 4 << 20
# Measured: the engine needs up to 800 bytes for a level, msgspec and Python up to 300.
_BYTES: Final = 1024
# What called the engine, and what it calls beside the recursion.
_RESERVED: Final = 48 << 10
# WebAssembly in a browser recurses on the stack of JavaScript (V8 has 984 KB).
_BROWSER: Final = 900 << 10
# No C library has a larger pthread_attr_t.
_ATTRIBUTES: Final = 256

# A string, or a bracket. The pattern is compiled where it is used, as that takes time.
_BRACKETS: Final = rb'"(?:[^"\\]|\\.)*"?|[\[{]|[\]}]'


class _Thread(threading.local):
    """What is known of each thread: how many levels are possible; None: no limit."""

    def __init__(self) -> None:
        size = _stack_size()
        self.levels: int | None = None
        if size < _AMPLE:
            self.levels = max((size - _RESERVED) // _BYTES, 0)


def require_stack(*values: object) -> None:
    """Raise RecursionError for a value that is too deep for the thread's stack."""
    levels = _thread.levels
    if levels is None:
        return
    for value in values:
        # Level by level, and each value of a level once: it may be in many places.
        level = [value]
        depth = 0
        while level:
            if depth > levels:
                raise RecursionError
            below: dict[int, object] = {}
            for outer in level:
                for member in _members(outer):
                    below[id(member)] = member
            level = [*below.values()]
            depth += 1


def require_stack_to_parse(data: bytes) -> None:
    """Raise RecursionError for JSON that is too deep for the stack of this thread."""
    levels = _thread.levels
    if levels is None:
        return
    depth = 0
    for match in re.finditer(_BRACKETS, data, re.DOTALL):
        first = match[0][:1]
        if first in b"[{":
            depth += 1
            if depth > levels:
                raise RecursionError
        elif first in b"]}":
            depth -= 1


def _members(value: object) -> list[object]:
    if isinstance(value, Mapping):
        return [*value.values()]
    return [*value] if isinstance(value, list | tuple) else []


def _stack_size() -> int:
    """Return the size in bytes of the stack of the thread that calls this."""
    if sys.platform == "emscripten":
        return _BROWSER
    if threading.current_thread() is threading.main_thread():
        if sys.platform == "win32":
            return _AMPLE
        import resource  # noqa: PLC0415  # Windows does not have it

        soft, _ = resource.getrlimit(resource.RLIMIT_STACK)
        return _AMPLE if soft == resource.RLIM_INFINITY else soft
    # Imported here, because only threads beside the main one need it.
    import ctypes  # noqa: PLC0415  # see above

    try:
        library = ctypes.CDLL(None)
        attributes = ctypes.create_string_buffer(_ATTRIBUTES)
        thread = ctypes.c_void_p(threading.get_ident())
        failed = library.pthread_getattr_np(thread, attributes)
    except (AttributeError, OSError, TypeError):
        # Only the C libraries of Linux have this function.
        failed = 1
    if failed:
        # The size of threads that are started now; 0 is the platform's default.
        return threading.stack_size() or _AMPLE
    size = ctypes.c_size_t()
    library.pthread_attr_getstacksize(attributes, ctypes.byref(size))
    library.pthread_attr_destroy(attributes)
    return size.value


_thread: Final = _Thread()
