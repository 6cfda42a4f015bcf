"""Which form of an answer a client accepts (RFC 9110, 12.5.1, and the ``as`` parameter
of Kubernetes).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple, TypeAlias

from smp.errors import SmpError

Form: TypeAlias = Literal["object", "table", "metadata"]

JSON_TYPE: Final = "application/json"
YAML_TYPE: Final = "application/yaml"


class NotAcceptableError(SmpError):
    """An Accept header with nothing that the server can answer."""

    default_code = "not-acceptable"
    status = 406


class Answer(NamedTuple):
    """How to answer: an object whole, as a row of a table or as its metadata only; in
    JSON or YAML.
    """

    form: Form = "object"
    content_type: str = JSON_TYPE


_FORMS: Final[dict[tuple[str, str, str], Form]] = {
    ("", "", ""): "object",
    ("Table", "meta.k8s.io", "v1"): "table",
    ("PartialObjectMetadata", "meta.k8s.io", "v1"): "metadata",
    ("PartialObjectMetadataList", "meta.k8s.io", "v1"): "metadata",
}
_TYPES: Final = {
    JSON_TYPE: JSON_TYPE,
    "application/*": JSON_TYPE,
    "*/*": JSON_TYPE,
    YAML_TYPE: YAML_TYPE,
}


def negotiate(accept: str) -> Answer:
    """Choose what a client likes best of what there is. Raises NotAcceptableError."""
    ranges = sorted(_ranges(accept or "*/*"), key=lambda each: each[0], reverse=True)
    for quality, media_type, parameters in ranges:
        form = _FORMS.get(
            (parameters.get("as", ""), parameters.get("g", ""), parameters.get("v", ""))
        )
        if quality > 0 and form and media_type in _TYPES:
            return Answer(form, _TYPES[media_type])
    raise NotAcceptableError(
        "only the following media types are accepted: application/json, application/yaml"
    )


def media_type(content_type: str) -> str:
    """Return a Content-Type without its parameters."""
    return content_type.partition(";")[0].strip().lower()


def _ranges(accept: str) -> Iterator[tuple[float, str, dict[str, str]]]:
    for each in accept.split(","):
        name, *parameters = (part.strip() for part in each.split(";"))
        known = {
            key.strip(): value.strip()
            for key, _, value in (one.partition("=") for one in parameters)
        }
        yield _quality(known.get("q", "1")), name.lower(), known


def _quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0
