"""The values of a text in either format, each with the line where it starts."""

from __future__ import annotations

from smp.documents._json import looks_like_json, parse_texts
from smp.documents._text import Text
from smp.errors import DocumentError
from smp.values import JSON


def values_of(text: Text) -> list[tuple[JSON, int]]:
    """Return the value of each document, with the line where it starts.

    A text that starts like JSON is read as JSON first and, where that fails, as YAML
    (Go: apimachinery util/yaml, YAMLOrJSONDecoder.Decode). Raises DocumentError.
    """
    if not looks_like_json(text.data):
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
    # Loading the yaml library takes longer than reading a usual JSON document.
    from smp.documents import _yaml_reader  # noqa: PLC0415  # see above

    return _yaml_reader.parse_documents(text)
