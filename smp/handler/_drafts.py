"""What a body makes of the stored object, before anybody judges it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from smp import json_patch, merge_patch, strategic
from smp.handler._bodies import MAX_REPORTED, check_depth, decode, duplicate_fields
from smp.handler._options import APPLY, JSON_PATCH, MERGE, STRATEGIC, Limits, Options
from smp.handler._refusals import StatusError, TooLargeError, UnsupportedMediaTypeError
from smp.schema.model import Schema
from smp.values import JSON, JSONObject, type_name


@dataclass(frozen=True, slots=True)
class Draft:
    """A new object: of a ``partial`` body, or of a whole one.

    ``faults`` are the fields of the body to warn of, ``patch`` is the body of a
    strategic patch.
    """

    new: JSONObject
    faults: tuple[str, ...]
    partial: bool = True
    patch: JSONObject | None = None


# What all objects share: the schema of those that nobody described (Kubernetes API
# conventions, Metadata).
COMMON: Final = Schema.inline(
    {
        "fields": {"apiVersion": "string", "kind": "string", "metadata": "#metadata"},
        "any": True,
    },
    {
        "metadata": {
            "fields": {
                **dict.fromkeys(
                    ("name", "generateName", "namespace", "uid", "resourceVersion"),
                    "string",
                ),
                **dict.fromkeys(("labels", "annotations"), "#texts"),
                **dict.fromkeys(("ownerReferences", "managedFields"), "#entries"),
                "finalizers": {"items": "string"},
            },
            "any": True,
        },
        "texts": {"values": "string"},
        "entries": {"items": {"any": True}},
    },
)


def patched(
    old: JSONObject, body: bytes, media_type: str, schema: Schema, options: Options
) -> Draft:
    """Apply a patch (Go: k8s.io/apiserver, endpoints/handlers/patch.go, applyJSPatch
    and applyPatchToObject).

    Raises UnsupportedMediaTypeError, TooLargeError, DocumentError, DepthError, StatusError
    for a patch that is no object or no list, and what the engine raises.
    """
    chosen = _accepted(media_type, options.media_types(has_schema=schema is not COMMON))
    value = decode(body, options.limits)
    new = _ENGINES[chosen](old, value, schema, options.limits)
    patch = value if chosen == STRATEGIC and isinstance(value, dict) else None
    return Draft(
        new, _faults(body, value, options, operations=chosen == JSON_PATCH), patch=patch
    )


def whole(body: bytes, options: Options) -> Draft:
    """Take a whole object. Raises TooLargeError, DocumentError, DepthError, and StatusError
    for what is no object.
    """
    value = decode(body, options.limits)
    return Draft(
        _object(value, "an object"),
        _faults(body, value, options, operations=False),
        partial=False,
    )


def _accepted(media_type: str, accepted: tuple[str, ...]) -> str:
    chosen = media_type.partition(";")[0].strip().lower()
    if chosen in accepted:
        return chosen
    format_ = (
        f"the server-side apply format {APPLY}"
        if chosen == APPLY
        else "an unknown format"
    )
    raise UnsupportedMediaTypeError(
        f"the body of the request was in {format_} - accepted media types include: {', '.join(accepted)}"
    )


def _strategic(
    old: JSONObject, value: JSON, schema: Schema, _limits: Limits
) -> JSONObject:
    # What the schema does not know is judged later, wherever the patch has it.
    return strategic.apply_patch(
        old,
        _object(value, "a strategic merge patch"),
        schema.with_unknown_fields("merge"),
    )


def _merged(
    old: JSONObject, value: JSON, _schema: Schema, _limits: Limits
) -> JSONObject:
    return _object(
        merge_patch.apply(old, _object(value, "a JSON merge patch")),
        "the patched document",
    )


def _operated(
    old: JSONObject, value: JSON, _schema: Schema, limits: Limits
) -> JSONObject:
    if isinstance(value, list) and len(value) > limits.operations:
        allowed = f"The allowed maximum operations in a JSON patch is {limits.operations}, got {len(value)}"
        raise TooLargeError(allowed)
    new = _object(json_patch.apply(old, value), "the patched document")
    check_depth(new, limits, old)
    return new


_ENGINES: Final[dict[str, Callable[[JSONObject, JSON, Schema, Limits], JSONObject]]] = {
    STRATEGIC: _strategic,
    MERGE: _merged,
    JSON_PATCH: _operated,
}


def _object(value: JSON, what: str) -> JSONObject:
    if not isinstance(value, dict):
        raise StatusError(
            f"{what} is a JSON object, not {type_name(value)}", code="not-an-object"
        )
    return value


def _faults(
    body: bytes, value: JSON, options: Options, *, operations: bool
) -> tuple[str, ...]:
    if options.field_validation == "Ignore":
        return ()
    prefix = "json patch " if operations else ""
    unknown = islice(_unknown_members(value), MAX_REPORTED) if operations else ()
    repeated = (
        f'{prefix}duplicate field "{path}"' for path in duplicate_fields(body, value)
    )
    return (*repeated, *(f'{prefix}unknown field "{path}"' for path in unknown))


def _unknown_members(operations: JSON) -> Iterator[str]:
    for index, operation in enumerate(
        operations if isinstance(operations, list) else ()
    ):
        for name in operation if isinstance(operation, dict) else ():
            if name not in ("op", "path", "from", "value"):
                yield f"[{index}].{name}"
