"""What the package offers: documents read from text of either format, and YAML written.

The modules about YAML are imported inside the functions that need them: loading the
yaml library takes longer than reading and writing a usual JSON document.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from io import BytesIO
from typing import Any

import msgspec

from smp.documents._chunks import Chunk, chunks
from smp.documents._lists import flattened, set_kind
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
            items = [value] if keeps_lists else flattened(value)
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
        for item in flattened(value)
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
    from smp.documents import _yaml_reader  # noqa: PLC0415  # see above

    return FirstDocument(*_yaml_reader.parse_first(Text(data, "")))


def dump_yaml(values: Iterable[Any]) -> str:
    """Write values as YAML documents that all YAML readers read in the same way.

    kubectl and readers of YAML 1.1 and 1.2 get the same values. Block style, keys in
    their order, text of several lines as a literal block. An integral float comes back
    as an integer, as it does from kubectl. Raises DocumentError and DepthError.
    """
    from smp.documents import _yaml_writer  # noqa: PLC0415  # see above

    return _yaml_writer.dump_yaml(values)


def dump_kyaml(values: Iterable[Any]) -> str:
    """Write values as KYAML documents (KEP-5295), as ``kubectl get -o kyaml`` does.

    It is YAML in which nothing depends on indentation and no text can be taken for
    another value. Keys are in their order. Raises DocumentError and DepthError.
    """
    from smp.documents import _kyaml_writer  # noqa: PLC0415  # see above

    return _kyaml_writer.dump_kyaml(values)


def yaml_lines(value: Any) -> list[str]:
    """Write a value as YAML, with a text for each part that begins a line.

    These are the members of objects and the elements of lists, in their order, at any
    depth, but for an element that has something in it: it begins on the line of what is
    first in it. A part has several lines where a text has. Raises what ``dump_yaml``
    raises.
    """
    from smp.documents import _yaml_writer  # noqa: PLC0415  # see above

    return _yaml_writer.yaml_lines(value)


def head_of(data: bytes, indent: int = 0) -> dict[str, str] | None:
    """Find what identifies the object in a YAML document without parsing it.

    Returns apiVersion, kind, name, namespace and generateName as far as they exist.
    ``indent`` is the indentation of the object. None for a document that has to be
    parsed for them: a list of objects, no object, or one in an unusual form.
    """
    from smp.documents import _heads  # noqa: PLC0415  # see above

    return _heads.head_of(data, indent)


def resolve(text: str) -> Any:
    """Return the value that kubectl reads from a plain (unquoted) YAML scalar.

    The rules are those of YAML 1.1 with some of 1.2 (``y``, ``0777``, ``0o17``,
    ``1e3``). ``.inf`` and ``.nan`` resolve to the floats that JSON does not have.
    Raises ValueError for an integer with more digits than Python converts.
    """
    from smp.documents import _scalars  # noqa: PLC0415  # see above

    return _scalars.resolve(text)
