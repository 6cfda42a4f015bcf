"""A text to read: its encoding, and the places of errors in it."""

from __future__ import annotations

import codecs
import re
from functools import cache
from typing import Final

from smp.errors import DocumentError

MAX_BYTES: Final = 2**30
MAX_DEPTH: Final = 1_000
QUOTE_IT: Final = "quote it if it is meant as text"
UTF8_MARK: Final = b"\xef\xbb\xbf"
UTF16: Final = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}

# How much of a text is decoded at a time, to see whether it can be.
_BLOCK: Final = 2**20
_UNITS: Final = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))


@cache
def unusual_character() -> re.Pattern[str]:
    """Return the pattern of characters that some reader does not take for themselves.

    Those are the ones that YAML does not allow, line breaks that only YAML 1.1 has, and
    the byte order mark (YAML 1.2, section 5.1; YAML 1.1, section 4.1.4).
    """
    return re.compile(
        "[^\n\t\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd"
        "\U00010000-\U0010ffff]"
    )


def has_unusual_character(text: str) -> bool:
    """Tell whether there is a character of ``unusual_character`` in a text."""
    # Most texts are ASCII, and compiling the pattern takes longer than reading them. Of
    # ASCII only line breaks and tabs are usual, though they are not printable.
    if text.isascii():
        return not text.replace("\n", "").replace("\t", "").isprintable()
    return unusual_character().search(text) is not None


class Text:
    """The UTF-8 bytes of a text, with the name of its source for errors.

    ``first_line`` is the line of the source that the text starts on.
    """

    __slots__ = ("data", "first_line", "source")

    def __init__(self, data: bytes | str, source: str, first_line: int = 1) -> None:
        self.source = source
        self.first_line = first_line
        self.data = data if isinstance(data, bytes) else b""
        try:
            # As in kubectl, UTF-16 with a byte order mark is accepted as well (YAML
            # 1.2, section 5.2; Go: go-yaml's yaml_parser_determine_encoding).
            if isinstance(data, str):
                self.data = data.removeprefix("\ufeff").encode()
            elif data[:2] in UTF16:
                self.data = data[2:].decode(UTF16[data[:2]]).encode()
            else:
                self.data = data.removeprefix(UTF8_MARK)
                _require_utf8(self.data)
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
        error.source, error.column = self.source, column
        # The text as a whole is the part of its source that starts on its first line.
        if line is not None:
            error.line = line + self.first_line - 1
        elif self.first_line > 1:
            error.line = self.first_line
        else:
            error.line = None
        return error


def too_large(source: str, max_bytes: int) -> DocumentError:
    """Make the error about a text of more bytes than the limit."""
    size = f"{max_bytes} bytes"
    for unit, factor in _UNITS:
        if max_bytes >= factor and max_bytes % factor == 0:
            size = f"{max_bytes // factor} {unit}"
            break
    return DocumentError(
        f"the text is larger than {size}", code="too-large", source=source
    )


def _require_utf8(data: bytes) -> None:
    if data.isascii():
        return
    # Block by block, because the decoded text can be four times as large.
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(data), _BLOCK):
        block = data[start : start + _BLOCK]
        pending, _flags = decoder.getstate()
        try:
            decoder.decode(block, final=start + _BLOCK >= len(data))
        except UnicodeDecodeError as error:
            moved = start - len(pending)
            raise UnicodeDecodeError(
                error.encoding,
                data,
                error.start + moved,
                error.end + moved,
                error.reason,
            ) from None
