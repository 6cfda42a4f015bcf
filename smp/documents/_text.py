"""A text to read: how large it may be, how it is encoded, and where in it an error is."""

from __future__ import annotations

from typing import Final

from smp.errors import DocumentError

MAX_BYTES: Final = 32 * 1024 * 1024
MAX_DEPTH: Final = 1_000
QUOTE_IT: Final = "quote it if it is meant as text"
_UTF16: Final = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


class Text:
    """Bytes that are known to be UTF-8, with the name that errors tell."""

    __slots__ = ("data", "source")

    def __init__(self, data: bytes | str, source: str, max_bytes: int) -> None:
        self.source = source
        self.data = data if isinstance(data, bytes) else b""
        if len(data) > max_bytes:
            raise self.error("too-large", f"it has more than {max_bytes} bytes")
        try:
            self.data = _as_utf8(data)
        except UnicodeError as error:
            place = error.start if isinstance(error, UnicodeDecodeError) else None
            raise self.error(
                "invalid-encoding", f"it is not Unicode text: {error}", place
            ) from None

    def error(
        self, code: str, problem: str, offset: int | None = None, hint: str = ""
    ) -> DocumentError:
        """Make an error that tells the place of a byte."""
        error = DocumentError(problem, code=code, hint=hint)
        if offset is None:
            return self.placed(error)
        before = self.data[self.data.rfind(b"\n", 0, offset) + 1 : offset]
        return self.placed(
            error,
            self.data.count(b"\n", 0, offset) + 1,
            len(before.decode(errors="replace")) + 1,
        )

    def placed(
        self, error: DocumentError, line: int | None = None, column: int | None = None
    ) -> DocumentError:
        """Return the error with its place in this text; lines and columns count from
        one.
        """
        error.source, error.line, error.column = self.source, line, column
        return error


def _as_utf8(data: bytes | str) -> bytes:
    """Return UTF-8 without a byte order mark; as kubectl, take UTF-16 with one as well.
    Raises UnicodeError.
    """
    if isinstance(data, bytes):
        data = (
            data[2:].decode(_UTF16[data[:2]]) if data[:2] in _UTF16 else data.decode()
        )
    return data.removeprefix("\ufeff").encode()
