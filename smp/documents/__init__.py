"""JSON and multi-document YAML text, read and written the way kubectl reads them.

Where kubectl would silently lose something (a duplicate key, bytes that are not
Unicode) reading raises; integers beyond 64 bits, which kubectl turns into floats, stay
integers.

What is about YAML is imported by the functions that need it, for JSON is read and
written sooner than yaml is loaded.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from smp.documents._json import dump_json, looks_like_json, parse_text, parse_texts
from smp.documents._lists import unrolled
from smp.documents._text import MAX_BYTES, MAX_DEPTH, Text
from smp.errors import DocumentError
from smp.values import JSON

__all__ = [
    "MAX_BYTES",
    "MAX_DEPTH",
    "Document",
    "dump_json",
    "dump_yaml",
    "parse_json",
    "read",
    "read_one",
    "resolve",
]


class Document(msgspec.Struct, frozen=True):
    """A value, the name of the text it was read from, and the line on which it starts
    there.
    """

    value: JSON
    source: str
    line: int


def read(
    data: bytes | str, *, source: str = "<input>", max_bytes: int = MAX_BYTES
) -> list[Document]:
    """Read every document of a YAML or JSON text, or of several JSON texts in a row.

    As for kubectl, documents without content are skipped, and an object of some
    ``kind`` with a list of objects as ``items`` (List, PodList, ...) stands for those
    items. Raises DocumentError, also when nothing is left.
    """
    text = Text(data, source, max_bytes)
    documents = [
        Document(item, source, line)
        for value, line in _values(text)
        for item in unrolled(value)
    ]
    if not documents:
        raise text.error("empty-document", "there is no document in it")
    return documents


def read_one(
    data: bytes | str, *, source: str = "<input>", max_bytes: int = MAX_BYTES
) -> Document:
    """Read the only document of a YAML or JSON text. Raises DocumentError, also when
    there are several.
    """
    first, *others = read(data, source=source, max_bytes=max_bytes)
    if others:
        problem = f"{len(others) + 1} documents where one is expected"
        raise DocumentError(
            problem, code="several-documents", source=source, line=others[0].line
        )
    return first


def parse_json(
    data: bytes | str, *, source: str = "<input>", max_bytes: int = MAX_BYTES
) -> JSON:
    """Parse one JSON text (RFC 8259), keeping integers of any size.

    Raises DocumentError, also for a duplicate key, NaN, Infinity and a number out of
    range.
    """
    text = Text(data, source, max_bytes)
    return parse_text(text, 0, len(text.data))


def dump_yaml(values: Iterable[JSON]) -> str:
    """Write values as YAML documents, from which kubectl and YAML 1.1 and 1.2 readers
    read the same values.

    Block style, keys in their order, text of several lines as a literal block. (An
    integral float comes back as an integer, as it does from kubectl.) Raises
    DocumentError and DepthError.
    """
    from smp.documents import _yaml_writer

    return _yaml_writer.dump_yaml(values)


def resolve(text: str) -> JSON:
    """Tell what kubectl takes a plain YAML scalar for: YAML 1.1 with some of 1.2
    (``y``, ``0777``, ``0o17``, ``1e3``).

    ``.inf`` and ``.nan`` resolve to the floats that JSON does not have. Raises
    ValueError for an integer with more digits than Python converts.
    """
    from smp.documents import _scalars

    return _scalars.resolve(text)


def _values(text: Text) -> list[tuple[JSON, int]]:
    """Return each value and its line. What begins like JSON but is not may still be
    YAML.
    """
    if not looks_like_json(text):
        return _yaml_values(text)
    try:
        return list(parse_texts(text))
    except DocumentError as error:
        if error.code != "invalid-json":
            raise
        return _yaml_rather(text, error)


def _yaml_rather(text: Text, failure: DocumentError) -> list[tuple[JSON, int]]:
    try:
        return _yaml_values(text)
    except DocumentError as error:
        raise (failure if error.code == "invalid-yaml" else error) from None


def _yaml_values(text: Text) -> list[tuple[JSON, int]]:
    from smp.documents import _yaml_reader

    return _yaml_reader.parse_documents(text)
