"""The values of a text in either format, each with the line where it starts."""

from __future__ import annotations

import re

from smp.documents._json import looks_like_json, parse_texts
from smp.documents._text import Text
from smp.errors import DocumentError
from smp.values import JSON


def values_of(text: Text, *, keep_floats: bool = False) -> list[tuple[JSON, int]]:
    """Return the value of each document, with the line where it starts.

    A text that starts like JSON is read as JSON first and, where that fails, as YAML
    (Go: apimachinery util/yaml, YAMLOrJSONDecoder.Decode). ``keep_floats``: see
    ``smp.documents.read_one``. Raises DocumentError.
    """
    if not looks_like_json(text.data):
        return _yaml_values(text)
    try:
        return list(parse_texts(text, keep_floats=keep_floats))
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
    # JSON does not need these. Loading the yaml library for the second takes longer
    # than reading a usual document.
    from smp.documents import _yaml_lines  # noqa: PLC0415  # see above

    _check_separators(text)
    read = _yaml_lines.value_of_lines(text.data.decode())
    if read is not None:
        return [read]
    from smp.documents import _yaml_reader  # noqa: PLC0415  # see above

    return _yaml_reader.parse_documents(text)


def _check_separators(text: Text) -> None:
    """Raise DocumentError for content on the line of a separator.

    YAML allows it; kubectl allows only a comment, also without a space before it (Go:
    apimachinery util/yaml, YAMLReader).
    """
    data = text.data
    if not data.startswith(b"---") and b"\n---" not in data:
        return
    line = re.compile(rb"^---[^\S\n]*([^\s#][^\n]*)", re.MULTILINE).search(data)
    if line is not None:
        content = line[1].decode().rstrip()
        raise text.error(
            "invalid-yaml",
            f"invalid YAML document separator: {content}",
            line.start(1),
            "after --- only a comment may follow; put the content on the next line",
        )
    if b"---#" in data:
        text.data = re.compile(rb"^---#", re.MULTILINE).sub(b"--- #", data)
