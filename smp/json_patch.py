"""JSON Patch (RFC 6902): apply and diff, over the ``jsonpatch`` library.

This module adds what the library leaves to its callers: arguments that are never
touched, limits, and errors that tell which operation failed, where, and whether it was
malformed (400) or did not apply (422, as a Kubernetes API server answers).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Final

import jsonpatch
from jsonpointer import EndOfList, JsonPointer, JsonPointerException

from smp.errors import DepthError, PatchError
from smp.paths import Path
from smp.values import JSON, JSONObject

# The limits of a Kubernetes API server: operations in a patch, and bytes that all of
# its copies make.
MAX_OPERATIONS: Final = 10_000
MAX_COPIED: Final = 3 * 1024 * 1024


class OperationError(PatchError):
    """A well-formed operation that does not apply to this document: a failed test, a
    missing member.
    """

    default_code: ClassVar[str] = "operation-failed"
    status: ClassVar[int] = 422


def apply(document: JSON, operations: JSON, *, max_copied: int = MAX_COPIED) -> JSON:
    """Apply the operations in order; all or none, since the document itself stays as it
    is.

    Subtrees that no operation touches are shared with the document. ``test`` compares
    as RFC 6902 section 4.6 says: numbers by value, so 1 equals 1.0, but never true.

    Raises PatchError for a malformed patch (``invalid-patch``, ``invalid-operation``,
    ``unknown-operation``, ``invalid-pointer``, ``too-many-operations``), OperationError
    where an operation does not apply (``test-failed``, ``missing-path``,
    ``operation-failed``, ``too-much-copied``), and DepthError.
    """
    copied = 0
    own: dict[int, Any] = {}
    for index, operation in enumerate(_parsed(operations)):
        with _located(index, operation.operation):
            copied += _copied(document, operation)
            if copied > max_copied:
                raise OperationError(
                    f"the copies exceed {max_copied} bytes", code="too-much-copied"
                )
            if isinstance(operation, jsonpatch.MoveOperation):
                document = _move(document, operation, own)
            else:
                document = _run(document, operation, own)
    return document


def diff(original: JSON, modified: JSON) -> list[JSONObject]:
    """Compute operations that turn original into modified; equal values give none.

    Type-strict: True, 1 and 1.0 are three values. Raises DepthError.
    """
    try:
        patch: list[JSONObject] = jsonpatch.make_patch(original, modified).patch
    except RecursionError:
        raise _too_deep() from None
    return patch


_MEMBERS: Final = {
    "add": ("path", "value"),
    "copy": ("from", "path"),
    "move": ("from", "path"),
    "remove": ("path",),
    "replace": ("path", "value"),
    "test": ("path", "value"),
}
_FAILURES: Final[tuple[tuple[type[Exception], str], ...]] = (
    (jsonpatch.JsonPatchTestFailed, "test-failed"),
    (jsonpatch.JsonPatchPathNotFound, "missing-path"),
    (JsonPointerException, "missing-path"),
    (jsonpatch.JsonPatchException, "operation-failed"),
)
# In our own words where the library would quote the document, which may hold secrets.
_PROBLEMS: Final = {
    "test-failed": "the value is not the tested one",
    "missing-path": "the document has nothing at this path",
}


def _parsed(operations: JSON) -> list[jsonpatch.PatchOperation]:
    """Refuse a patch with any malformed operation before the first one is applied."""
    if not isinstance(operations, list):
        raise PatchError("a JSON Patch is a list of operations")
    if len(operations) > MAX_OPERATIONS:
        raise PatchError(
            f"a patch has at most {MAX_OPERATIONS} operations",
            code="too-many-operations",
        )
    parsed = []
    for index, operation in enumerate(operations):
        with _located(index, operation):
            parsed.append(_operation(operation))
    return parsed


def _operation(operation: JSON) -> jsonpatch.PatchOperation:
    if not isinstance(operation, dict):
        raise PatchError("an operation is an object", code="invalid-operation")
    name = operation.get("op")
    if not isinstance(name, str) or name not in _MEMBERS:
        raise PatchError(f"there is no operation {name!r}", code="unknown-operation")
    for member in _MEMBERS[name]:
        if member not in operation:
            raise PatchError(
                f"{name} needs the member {member!r}", code="invalid-operation"
            )
        if member != "value":
            _pointer(operation[member])
    return jsonpatch.JsonPatch.operations[name](operation)


def _pointer(text: JSON) -> JsonPointer:
    if not isinstance(text, str):
        raise PatchError("a JSON Pointer is a string", code="invalid-pointer")
    try:
        return JsonPointer(text)
    except JsonPointerException as error:
        raise PatchError(
            f"{text!r} is not a JSON Pointer: {error}", code="invalid-pointer"
        ) from None


@contextmanager
def _located(index: int, operation: JSON) -> Iterator[None]:
    """Turn whatever fails into an error that names the operation and its pointer."""
    try:
        yield
    except RecursionError:
        raise _too_deep() from None
    except PatchError as error:
        raise _complete(error, index, operation) from None
    except (jsonpatch.JsonPatchException, JsonPointerException) as error:
        code = next(code for kind, code in _FAILURES if isinstance(error, kind))
        raise _complete(
            OperationError(_PROBLEMS.get(code, str(error)), code=code), index, operation
        ) from None


def _complete(error: PatchError, index: int, operation: JSON) -> PatchError:
    members = operation if isinstance(operation, dict) else {}
    error.advice = " ".join(
        str(part)
        for part in ("operation", index, members.get("op"), members.get("path"))
        if part is not None
    )
    error.path = _path(members.get("path"))
    return error


def _path(text: JSON) -> Path:
    try:
        return Path(tuple(_pointer(text).parts))
    except PatchError:
        return Path()


def _run(
    document: JSON, operation: jsonpatch.PatchOperation, own: dict[int, Any]
) -> JSON:
    result: JSON = operation.apply(_unshared(document, operation.pointer, own))
    return result


def _unshared(document: JSON, pointer: JsonPointer, own: dict[int, Any]) -> JSON:
    """Copy the containers that lead to a place, so that the library may change them.

    ``own`` holds the copies, by identity: none is made twice, or many operations in one
    list would copy it each time.
    """
    holder: Any = [document]
    node: Any = holder
    key: Any = 0
    try:
        for part in pointer.parts:
            child = node[key]
            if id(child) not in own:
                node[key] = child = child.copy()
                own[id(child)] = child
            node, key = child, JsonPointer.get_part(child, part)
    except (AttributeError, LookupError, TypeError, JsonPointerException):
        pass  # the operation itself will say what is missing
    result: JSON = holder[0]
    return result


def _move(
    document: JSON, operation: jsonpatch.MoveOperation, own: dict[int, Any]
) -> JSON:
    """Remove and add, as RFC 6902 section 4.4 defines a move: the removal may shift
    what the target points to.
    """
    source, target = JsonPointer(operation.operation["from"]), operation.pointer
    if target.contains(source):
        # Onto itself, or below itself: the library knows.
        return _run(document, operation, own)
    value = _resolved(document, source)
    document = _run(
        document, jsonpatch.RemoveOperation({"op": "remove", "path": source.path}), own
    )
    return _run(
        document,
        jsonpatch.AddOperation({"op": "add", "path": target.path, "value": value}),
        own,
    )


def _copied(document: JSON, operation: jsonpatch.PatchOperation) -> int:
    if not isinstance(operation, jsonpatch.CopyOperation):
        return 0
    return len(
        json.dumps(_resolved(document, JsonPointer(operation.operation["from"])))
    )


def _resolved(document: JSON, pointer: JsonPointer) -> JSON:
    value = pointer.resolve(document)
    if isinstance(value, EndOfList):
        raise JsonPointerException(
            "'-' names the element after the last one, which does not exist"
        )
    resolved: JSON = value
    return resolved


def _too_deep() -> DepthError:
    return DepthError("the value is nested deeper than the stack allows")
