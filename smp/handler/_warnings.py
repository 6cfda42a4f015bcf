"""Warnings on the wire: the header that kubectl prints (RFC 7234, 5.5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

# Go: k8s.io/apiserver, endpoints/filters/warning.go: so long may all of them be; beyond
# it each is cut.
_MOST: Final = 4 * 1024
_MOST_EACH: Final = 256


def warning_headers(warnings: Iterable[str]) -> Iterator[bytes]:
    """Yield the value of a Warning header for each text, in UTF-8; each text once, and
    not too many.
    """
    texts = list(
        dict.fromkeys("".join(filter(str.isprintable, text)) for text in warnings)
    )
    if sum(map(len, texts)) > _MOST:
        texts = [text[:_MOST_EACH] for text in texts][: _MOST // _MOST_EACH]
    for text in filter(None, texts):
        quoted = text.replace("\\", "\\\\").replace('"', '\\"')
        yield f'299 - "{quoted}"'.encode()
