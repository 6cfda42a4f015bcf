"""A text to read: its size limit, its encoding, and the places of errors in it."""

from __future__ import annotations

from typing import Final

from smp.errors import DocumentError

MAX_BYTES: Final = 32 * 1024 * 1024
MAX_DEPTH: Final = 1_000
QUOTE_IT: Final = "quote it if it is meant as text"
_UTF16: Final = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


class Text:
    """The UTF-8 bytes of a text, with the name of its source for errors."""

    __slots__ = ("data", "source")

    def __init__(self, data: bytes | str, source: str, max_bytes: int) -> None:
        self.source = source
        self.data = data if isinstance(data, bytes) else b""
        if len(data) > max_bytes:
            raise self.error("too-large", f"the limit is {max_bytes} bytes")
        try:
            # As in kubectl, UTF-16 with a byte order mark is accepted as well (YAML
            # 1.2, section 5.2; Go: go-yaml's yaml_parser_determine_encoding).
            if isinstance(data, str):
                decoded = data
            elif data[:2] in _UTF16:
                decoded = data[2:].decode(_UTF16[data[:2]])
            else:
                decoded = data.decode()
            self.data = decoded.removeprefix("\ufeff").encode()
        except UnicodeError as error:
            offset = error.start if isinstance(error, UnicodeDecodeError) else None
            raise self.error(
                "invalid-encoding", f"not Unicode text: {error}", offset
            ) from None

    def error(
        self, code: str, problem: str, offset: int | None = None, hint: str = ""
    ) -> DocumentError:
        """Make an error at the place of a byte."""
        error = DocumentError(problem, code=code, hint=hint)
        if offset is None:
            return self.placed(error)
        line = self.data.count(b"\n", 0, offset) + 1
        start_of_line = self.data.rfind(b"\n", 0, offset) + 1
        # Columns count characters, not bytes.
        before = self.data[start_of_line:offset].decode(errors="replace")
        return self.placed(error, line, len(before) + 1)

    def placed(
        self, error: DocumentError, line: int | None = None, column: int | None = None
    ) -> DocumentError:
        """Set the place of an error in this text; lines and columns count from one."""
        error.source, error.line, error.column = self.source, line, column
        return error
