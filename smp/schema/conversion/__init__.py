"""OpenAPI documents from version 2 to version 3 and back.

Schemas keep every word, so enums, unions and patch strategies survive both ways; only
references move, and what stands beside one: v2 as Kubernetes writes it has ``$ref``
among other words, v3 wraps it in an ``allOf`` of one. Words that only v3 knows (oneOf,
nullable) stay as they are, for kube-openapi reads both versions into one type of
schema. Operations are reworded, and a response or a body that several of them share is
written out in each.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import Final

from smp.errors import DepthError, SchemaError
from smp.paths import Path
from smp.schema.conversion._to_v2 import ToV2
from smp.schema.conversion._to_v3 import ToV3
from smp.schema.rewrite import rewrite_named
from smp.values import JSON, JSONObject, type_name


@dataclass(frozen=True, slots=True)
class Conversion:
    """A converted document, and the paths of the original, sorted, that have no
    counterpart in it.
    """

    document: JSONObject
    lost: tuple[Path, ...]


def to_v3(document: JSON) -> Conversion:
    """Convert an OpenAPI v2 document to v3.

    Raises SchemaError, with the path, for what is not such a document, and DepthError.
    """
    return _converted(ToV3, document, "swagger", "2.")


def to_v2(document: JSON, *, keep_defaults: bool = True) -> Conversion:
    """Convert an OpenAPI v3 document to v2.

    ``keep_defaults=False`` drops the defaults of named schemas, as an API server does
    where it serves v2 (Go: handler.PruneDefaults); they do not count as lost. Raises
    SchemaError, with the path, for what is not such a document, and DepthError.
    """
    conversion = _converted(ToV2, document, "openapi", "3.")
    if keep_defaults:
        return conversion
    return Conversion(
        rewrite_named(conversion.document, _without_default), conversion.lost
    )


_VERSIONS: Final = {"swagger": "definitions", "openapi": "components"}


def _converted(
    direction: type[ToV2 | ToV3], document: JSON, word: str, version: str
) -> Conversion:
    converter = direction(_of_version(document, word, version))
    try:
        converted = converter.document()
    except RecursionError:
        raise DepthError("the OpenAPI document is nested too deeply") from None
    return Conversion(
        converted, tuple(sorted(set(converter.lost), key=attrgetter("pointer")))
    )


def _of_version(document: JSON, word: str, version: str) -> JSONObject:
    """Check that a document is of a version; one that does not say has the section for
    schemas.
    """
    if not isinstance(document, dict):
        raise SchemaError(
            f"an OpenAPI document is an object, not {type_name(document)}"
        )
    stated = document.get(word)
    silent = not document.keys() & _VERSIONS.keys() and _VERSIONS[word] in document
    if not silent and not (isinstance(stated, str) and stated.startswith(version)):
        problem = f"this is not a document of OpenAPI {version}x"
        raise SchemaError(
            problem, code="wrong-version", hint=f'it says "{word}": "{version}.."'
        )
    return document


def _without_default(node: JSONObject) -> JSONObject:
    return (
        {word: value for word, value in node.items() if word != "default"}
        if "default" in node
        else node
    )
