"""What functions return for short texts, remembered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

Found = TypeVar("Found")

_MOST: Final = 8192  # texts
_LONGEST: Final = 256  # characters


class TextCache(dict[str, Found]):
    """What a function returns for texts, as ``cache[text]``.

    The same few texts come again and again: the keys of labels, amounts of memory. A
    long one is not remembered, so that what clients send does not stay in the memory of
    a server. Where the cache is full it begins again. That a text is known is found out
    by the ``[]`` of a dict, in C; a wrapper around a function would take longer.
    """

    def __init__(
        self,
        function: Callable[[str], Found],
        *,
        most: int = _MOST,
        longest: int = _LONGEST,
    ) -> None:
        super().__init__()
        self._function = function
        self._most = most
        self._longest = longest

    def __missing__(self, text: str) -> Found:
        """Call the function. What it raises is raised, and not remembered."""
        found = self._function(text)
        if len(text) <= self._longest:
            if len(self) >= self._most:
                self.clear()
            self[text] = found
        return found
