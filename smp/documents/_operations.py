"""What the package offers to read: the documents of a text of either format."""

from __future__ import annotations

import re
from io import BytesIO
from typing import Any

import msgspec

from smp.documents._chunks import Chunk, chunks
from smp.documents._lists import flatten_lists, set_kind
from smp.documents._text import MAX_BYTES, UTF8_MARK, Text, too_large
from smp.documents._values import values_of
from smp.errors import DocumentError


class Document(msgspec.Struct, frozen=True):
    """A value, the name of the text it was read from, and the line where it starts."""

    value: Any
    source: str
    line: int


class FirstDocument(msgspec.Struct, frozen=True):
    """The first value of a text, and a text for each key that an object has twice."""

    value: Any
    duplicates: tuple[str, ...] = ()


def read(
    data: bytes | str, *, source: str = "<input>", max_bytes: int = MAX_BYTES
) -> list[Document]:
    """Read every document of a YAML or JSON text, or of several JSON texts in a row.

    As in kubectl, documents without content are skipped, and an object of some ``kind``
    with a list of objects as ``items`` (List, PodList, ...) is replaced by those items.
    An integral float becomes an integer.
    Raises DocumentError, also when no document is left.
    """
    if isinstance(data, str):
        mark = UTF8_MARK if data.startswith("\ufeff") else b""
        data = mark + Text(data, source).data
    documents = [
        document
        for chunk in chunks(BytesIO(data), source, max_bytes)
        for document in parse(chunk)
    ]
    if not documents:
        raise Text(b"", source).error("empty-document", "no document found")
    return documents


def parse(chunk: Chunk, *, keeps_lists: bool = False) -> list[Document]:
    """Read the documents of a part of a text; see ``read``. Raises DocumentError.

    With ``keeps_lists`` a list of objects is a document, and not each of its items.
    """
    text = Text(chunk.data, chunk.source, chunk.line)
    # kubectl's reader returns whole lines, so that the last one has an end as well
    # (Go: apimachinery util/yaml, LineReader).
    if not text.data.endswith(b"\n"):
        text.data += b"\n"
    values = values_of(text)
    if len(values) > 1:
        _require_separators(text, len(values), values[-1][1])
    documents: list[Document] = []
    for value, line in values:
        if chunk.list_of is None:
            items = [value] if keeps_lists else flatten_lists(value)
        # In YAML the item is an element with its dash.
        elif isinstance(value, list):
            items = [set_kind(item, chunk.list_of) for item in value]
        else:
            items = [set_kind(value, chunk.list_of)]
        place = line + chunk.line - 1
        documents += [Document(item, chunk.source, place) for item in items]
    return documents


def _require_separators(text: Text, documents: int, line: int) -> None:
    """Raise DocumentError for documents of a part of a text that kubectl drops.

    It cuts a text at lines ``---``, and of what is between them it reads the first
    document (Go: YAMLToJSONDecoder.Decode). YAML has other ends of lines, too. Those
    before the first content of a part are separators of nothing.
    """
    separators = re.findall(rb"^---(?=[ \t\r\n#])", text.data, re.MULTILINE)
    if documents > max(len(separators), 1):
        error = DocumentError(
            "a document that has no line --- before it, which kubectl drops",
            code="invalid-yaml",
            hint="end the lines around --- with a line feed",
        )
        raise text.placed(error, line)


def read_one(
    data: bytes | str,
    *,
    source: str = "<input>",
    max_bytes: int = MAX_BYTES,
    keep_floats: bool = False,
) -> Document:
    """Read the only document of a text.

    In JSON, too, an integral float (``1.0``) becomes an integer, as later readers of
    what kubectl prints see it, unless ``keep_floats``. Raises DocumentError, also when
    there are several.
    """
    if len(data) > max_bytes:
        raise too_large(source, max_bytes)
    text = Text(data, source)
    documents = [
        Document(item, source, line)
        for value, line in values_of(text, keep_floats=keep_floats)
        for item in flatten_lists(value)
    ]
    if not documents:
        raise text.error("empty-document", "no document found")
    if len(documents) > 1:
        raise DocumentError(
            f"{len(documents)} documents where one is expected",
            code="several-documents",
            source=source,
            line=documents[1].line,
        )
    return documents[0]


def read_first(data: bytes) -> FirstDocument:
    """Read the first document of a text, as a server reads the body of an apply.

    Without a document it is null. An integral float becomes an integer, the last value
    of a key counts, what follows the first document is not looked at. Raises
    DocumentError, worded as go-yaml words it (Go: sigs.k8s.io/yaml, Unmarshal).
    """
    try:
        documents = values_of(Text(data, ""))
    except DocumentError:
        documents = []
    # The usual body is read without the library, and without its words for errors.
    if len(documents) == 1:
        return FirstDocument(documents[0][0])
    # To load the yaml library takes longer than to read a usual document.
    from smp.documents import _yaml_reader  # noqa: PLC0415  # see above

    return FirstDocument(*_yaml_reader.parse_first(Text(data, "")))
