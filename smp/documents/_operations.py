"""What the package offers: documents read from text of either format, and YAML written.

The modules about YAML are imported inside the functions that need them: loading the
yaml library takes longer than reading and writing a usual JSON document.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from smp.documents._json import looks_like_json, parse_texts
from smp.documents._lists import flattened
from smp.documents._text import MAX_BYTES, Text
from smp.errors import DocumentError
from smp.values import JSON


class Document(msgspec.Struct, frozen=True):
    """A value, the name of the text it was read from, and the line where it starts."""

    value: JSON
    source: str
    line: int


def read(
    data: bytes | str, *, source: str = "<input>", max_bytes: int = MAX_BYTES
) -> list[Document]:
    """Read every document of a YAML or JSON text, or of several JSON texts in a row.

    As in kubectl, documents without content are skipped, and an object of some ``kind``
    with a list of objects as ``items`` (List, PodList, ...) is replaced by those items.
    Raises DocumentError, also when no document is left.
    """
    text = Text(data, source, max_bytes)
    documents = [
        Document(item, source, line)
        for value, line in _values(text)
        for item in flattened(value)
    ]
    if not documents:
        raise text.error("empty-document", "no document found")
    return documents


def read_one(
    data: bytes | str, *, source: str = "<input>", max_bytes: int = MAX_BYTES
) -> Document:
    """Read the only document of a text.

    Raises DocumentError, also when there are several.
    """
    first, *others = read(data, source=source, max_bytes=max_bytes)
    if others:
        raise DocumentError(
            f"{len(others) + 1} documents where one is expected",
            code="several-documents",
            source=source,
            line=others[0].line,
        )
    return first


def dump_yaml(values: Iterable[JSON]) -> str:
    """Write values as YAML documents that all YAML readers read in the same way.

    kubectl and readers of YAML 1.1 and 1.2 get the same values. Block style, keys in
    their order, text of several lines as a literal block. An integral float comes back
    as an integer, as it does from kubectl. Raises DocumentError and DepthError.
    """
    from smp.documents import _yaml_writer  # noqa: PLC0415  # see above

    return _yaml_writer.dump_yaml(values)


def resolve(text: str) -> JSON:
    """Return the value that kubectl reads from a plain (unquoted) YAML scalar.

    The rules are those of YAML 1.1 with some of 1.2 (``y``, ``0777``, ``0o17``,
    ``1e3``). ``.inf`` and ``.nan`` resolve to the floats that JSON does not have.
    Raises ValueError for an integer with more digits than Python converts.
    """
    from smp.documents import _scalars  # noqa: PLC0415  # see above

    return _scalars.resolve(text)


def _values(text: Text) -> list[tuple[JSON, int]]:
    """Return the value of each document, with the line where it starts.

    A text that starts like JSON is read as JSON first and, where that fails, as YAML
    (Go: apimachinery util/yaml, YAMLOrJSONDecoder.Decode).
    """
    if not looks_like_json(text):
        return _yaml_values(text)
    try:
        return list(parse_texts(text))
    except DocumentError as error:
        # JSON that has a duplicate key or a number out of range is still JSON.
        if error.code != "invalid-json":
            raise
        json_error = error
    try:
        return _yaml_values(text)
    except DocumentError as yaml_error:
        # Neither format: the text starts like JSON, so its JSON error helps more.
        if yaml_error.code == "invalid-yaml":
            raise json_error from None
        raise yaml_error from None


def _yaml_values(text: Text) -> list[tuple[JSON, int]]:
    from smp.documents import _yaml_reader  # noqa: PLC0415  # see above

    return _yaml_reader.parse_documents(text)
