"""What the body of a request makes of the stored object, before it is judged."""

from __future__ import annotations

from typing import Final

import msgspec

from smp import _strategic as strategic
from smp import merge_patch
from smp._values import codec
from smp._values.plain import not_an_object
from smp._values.values import JSON, JSONObject, as_object, type_name
from smp.errors import SmpError, bounded
from smp.handler._body import MAX_REPORTED, check_depth, decode, duplicate_fields
from smp.handler._identity import undecodable
from smp.handler._options import (
    APPLY,
    FORCE_FORBIDDEN,
    JSON_PATCH,
    MERGE,
    STRATEGIC,
    Options,
)
from smp.handler._status import (
    InvalidOptionsError,
    NotFoundError,
    StatusError,
    TooLargeError,
)
from smp.json_patch import apply_as_server
from smp.schema.model import Schema
from smp.unions import Change
from smp.wire.partial import decode_for

# Characters of a body that are shown where it is not recognized.
_SUMMARY: Final = 30


class ObjectRequest(msgspec.Struct, frozen=True):
    """A write as a client sends it, and how it is treated.

    ``media_type`` is that of a patch, without parameters; it is empty for a whole
    object (PUT, POST). ``schema`` is ``COMMON`` for a kind that is not described.
    """

    body: bytes
    schema: Schema
    options: Options
    is_patch: bool = False
    media_type: str = ""

    @property
    def is_apply(self) -> bool:
        """Whether the body is a configuration of server-side apply."""
        return self.media_type.partition(";")[0] == APPLY


class Draft(msgspec.Struct, frozen=True):
    """A new object beside the stored one, None for a create.

    ``partial``: the body was a patch, not a whole object. ``faults`` are the fields of
    the body to warn of, ``patch`` is the body of a merge patch, which may be a
    ``strategic`` one. ``undecoded``: both objects are decoded only where the patch
    goes. ``is_apply``: the new object has its managedFields; ``changes`` are what its
    unions needed, and ``remarks`` are texts for the client. ``rewrites``: the object is
    written anew, though nothing changes
    (``smp._storage.typed_storage.rewriting_paths``).
    """

    old: JSONObject | None
    new: JSONObject
    faults: tuple[str, ...]
    partial: bool = True
    patch: JSONObject | None = None
    strategic: bool = False
    undecoded: bool = False
    is_apply: bool = False
    changes: tuple[Change, ...] = ()
    remarks: tuple[str, ...] = ()
    rewrites: bool = False


# What all objects share: the schema of kinds without one of their own (Kubernetes
# API conventions, Metadata).
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


@bounded("the object")
def patch(request: ObjectRequest, stored: object) -> Draft:
    """Apply a patch to a stored object.

    Bytes are decoded only where a strategic merge patch goes, if that pays. Raises
    UnsupportedMediaTypeError, TooLargeError, DocumentError, DepthError, StatusError for
    a patch of the wrong JSON type, and what the engine raises.
    Go: k8s.io/apiserver, endpoints/handlers/patch.go, applyJSPatch and
    applyPatchToObject.
    """
    body, schema, options = request.body, request.schema, request.options
    chosen = options.patch_type(request.media_type, has_schema=schema is not COMMON)
    # Go: ValidatePatchOptions.
    if options.force is not None:
        raise InvalidOptionsError([FORCE_FORBIDDEN], "PatchOptions")
    if stored is None:
        # Go: patch.go, createNewObject: only an apply creates an object.
        raise NotFoundError("object not found")
    value = decode(body, options.limits)
    faults = _faults(body, value, options, operations=chosen == JSON_PATCH)
    if chosen == STRATEGIC:
        # Go decodes a null to a patch without fields.
        patch = {} if value is None else _object(value, "a strategic merge patch")
        return _patch_strategically(request, stored, patch, faults)
    old = store_object(stored)
    if chosen == MERGE:
        # RFC 7396.
        patch = _object(value, "a JSON merge patch")
        new = _patch_object(merge_patch.apply(old, patch))
        return Draft(old, new, faults, patch=patch)
    # RFC 6902. An operation may copy, so their number is limited, too.
    most = options.limits.operations
    if isinstance(value, list) and len(value) > most:
        raise TooLargeError(
            f"The allowed maximum operations in a JSON patch is {most},"
            f" got {len(value)}"
        )
    decodes = options.field_validation != "Ignore"
    new = _patch_object(apply_as_server(old, value, decodes=decodes))
    check_depth(new, options.limits, old)
    return Draft(old, new, faults)


def _patch_strategically(
    request: ObjectRequest, stored: object, patch: JSONObject, faults: tuple[str, ...]
) -> Draft:
    # A field that the schema does not know is judged later, with all others.
    lenient = request.schema.with_unknown_fields("merge")
    if isinstance(stored, bytes):
        # A small patch of a long object: the rest goes from input to output.
        tree = decode_for(patch, stored, lenient, length=len(request.body))
        if tree is not None:
            try:
                new = strategic.apply_patch(tree, patch, lenient)
                faults += _leftovers(request, tree, patch, new, lenient)
                return Draft(
                    tree, new, faults, patch=patch, strategic=True, undecoded=True
                )
            except SmpError:
                # To the engine an undecoded value is a scalar of no JSON type. The
                # error of the decoded object is raised below.
                pass
    old = store_object(stored)
    new = strategic.apply_patch(old, patch, lenient)
    faults += _leftovers(request, old, patch, new, lenient)
    return Draft(old, new, faults, patch=patch, strategic=True)


@bounded("the object")
def whole(request: ObjectRequest, stored: JSONObject | None) -> Draft:
    """Take a whole object.

    Raises TooLargeError, DocumentError, DepthError, and StatusError for what is no
    object.
    """
    value = _object(decode(request.body, request.options.limits), "an object")
    if request.options.custom and request.schema.kind:
        _require_kind(value, request)
    return Draft(
        stored,
        value,
        _faults(request.body, value, request.options, operations=False),
        partial=False,
    )


def _require_kind(obj: JSONObject, request: ObjectRequest) -> None:
    """Raise StatusError for a custom resource that does not say what it is.

    Go: unstructuredJSONScheme, and transformDecodeError of k8s.io/apiserver,
    endpoints/handlers. Of a built-in kind the path says it.
    """
    schema = request.schema
    if not obj.get("kind"):
        body = request.body.decode(errors="replace")
        shown = body if len(body) <= _SUMMARY else f"{body[:_SUMMARY]} ..."
        raise StatusError(
            f"the object provided is unrecognized (must be of type {schema.kind}):"
            f" Object 'Kind' is missing in '{body}' ({shown})"
        )
    if not obj.get("apiVersion"):
        raise StatusError(
            "the API version in the data () does not match the expected API version"
            f" ({schema.api_version})"
        )


def store_object(stored: object) -> JSONObject:
    """Return the stored object. Raises DocumentError and ObjectError.

    The stored object is the caller's, so these errors are not answers to a client.
    """
    old = codec.decode(stored) if isinstance(stored, bytes) else stored
    if not isinstance(old, dict):
        raise not_an_object("the stored object", old)
    return old


def _patch_object(value: JSON) -> JSONObject:
    if not isinstance(value, dict):
        problem = f"the patched document is a JSON object, not {type_name(value)}"
        raise undecodable(problem, "not-an-object")
    return value


def _object(value: JSON, what: str) -> JSONObject:
    if not isinstance(value, dict):
        raise StatusError(
            f"{what} is a JSON object, not {type_name(value)}", code="not-an-object"
        )
    return value


def _leftovers(
    request: ObjectRequest,
    old: JSONObject,
    patch: JSONObject,
    new: JSONObject,
    schema: Schema,
) -> tuple[str, ...]:
    """Return the strict errors for directives in values that are new to the object.

    Go merges them like fields, which the decoder does not know then.
    """
    # Most patches have none, and a search of their text tells ("\\u0024" is a dollar).
    has_dollar = b"$" in request.body or b"\\u" in request.body
    if request.options.field_validation == "Ignore" or not has_dollar:
        return ()
    paths = strategic.leftover_directives(old, patch, new, schema)
    return tuple([f'unknown field "{path.decoded}"' for path in paths[:MAX_REPORTED]])


def _faults(
    body: bytes, value: JSON, options: Options, *, operations: bool
) -> tuple[str, ...]:
    """Return the strict errors of a body: duplicate fields, unknown members.

    Go: jsonPatcher.applyJSPatch words those of a JSON Patch with a prefix.
    """
    if options.field_validation == "Ignore":
        return ()
    prefix = "json patch " if operations else ""
    faults = [
        f'{prefix}duplicate field "{path}"' for path in duplicate_fields(body, value)
    ]
    unknown: list[str] = []
    if operations and isinstance(value, list):
        for index, operation in enumerate(value):
            for name in as_object(operation):
                # RFC 6902, section 4: other members "MUST be ignored"; strict
                # validation reports them.
                if name not in ("op", "path", "from", "value"):
                    unknown += [f'{prefix}unknown field "[{index}].{name}"']
    return (*faults, *unknown[:MAX_REPORTED])
