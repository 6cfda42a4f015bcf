"""JSON Patch (RFC 6902): apply and diff, over the ``jsonpatch`` library.

This module adds what the library leaves to its callers: arguments that are never
changed, limits, and errors that say which operation failed, where, and whether it was
malformed (400) or did not apply (422, as a Kubernetes API server answers).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Final

import jsonpatch
from jsonpointer import EndOfList, JsonPointer, JsonPointerException

from smp.errors import PatchError
from smp.paths import Path
from smp.plain import over_json, plain
from smp.values import JSON, JSONObject

# The limits of a Kubernetes API server: operations in a patch, and bytes that all of
# its copy operations together may add.
MAX_OPERATIONS: Final = 10_000
MAX_COPIED: Final = 3 * 1024 * 1024

# The members that an operation must have (RFC 6902, section 4). Each operation ignores
# the members that it does not define.
_MEMBERS: Final = {
    "add": ("path", "value"),
    "copy": ("from", "path"),
    "move": ("from", "path"),
    "remove": ("path",),
    "replace": ("path", "value"),
    "test": ("path", "value"),
}
# The error code for each exception of the libraries. The first match counts, since
# the last one is the base class of the first two.
_FAILURES: Final[tuple[tuple[type[Exception], str], ...]] = (
    (jsonpatch.JsonPatchTestFailed, "test-failed"),
    (jsonpatch.JsonPatchPathNotFound, "missing-path"),
    (JsonPointerException, "missing-path"),
    (jsonpatch.JsonPatchException, "operation-failed"),
)
# These replace messages of the libraries that quote the document, which may hold
# secrets.
_PROBLEMS: Final = {
    "test-failed": "test failed: the document has another value at this path",
    "missing-path": "path not found in the document",
}


class OperationError(PatchError):
    """A well-formed operation that does not apply: a failed test, a missing member."""

    default_code: ClassVar[str] = "operation-failed"
    status: ClassVar[int] = 422


@over_json("the value", "document", "operations")
def apply(
    document: JSON,
    operations: JSON | Sequence[Mapping[str, JSON]],
    *,
    max_copied: int = MAX_COPIED,
) -> JSON:
    """Apply the operations of a JSON Patch in order, all of them or none.

    The document itself is not changed; subtrees that no operation touches are shared
    with it. ``test`` compares as RFC 6902, section 4.6, says: numbers by value, so that
    1 equals 1.0, but not true.

    Raises PatchError for a malformed patch (``invalid-patch``, ``invalid-operation``,
    ``unknown-operation``, ``invalid-pointer``, ``too-many-operations``), OperationError
    where an operation does not apply (``test-failed``, ``missing-path``,
    ``operation-failed``, ``too-much-copied``), and DepthError.
    """
    # jsonpatch knows dictionaries and lists only.
    document = plain(document)
    copied = 0
    copies: dict[int, Any] = {}
    for index, operation in enumerate(_parsed(plain(operations))):
        with _located(index, operation.operation):
            # A few copies of copies would make a document of any size.
            if isinstance(operation, jsonpatch.CopyOperation):
                source = JsonPointer(operation.operation["from"])
                copied += len(json.dumps(_resolved(document, source)))
            if copied > max_copied:
                raise OperationError(
                    f"the copies exceed {max_copied} bytes", code="too-much-copied"
                )
            if isinstance(operation, jsonpatch.MoveOperation):
                document = _move(document, operation, copies)
            else:
                document = _run(document, operation, copies)
    return document


@over_json("the value", "original", "modified")
def diff(original: JSON, modified: JSON) -> list[JSONObject]:
    """Compute operations that turn original into modified; equal values give none.

    Values are compared by type: True, 1 and 1.0 are three values. Raises DepthError.
    """
    before, after = plain(original), plain(modified)
    patch: list[JSONObject] = jsonpatch.make_patch(before, after).patch
    return patch


def _parsed(operations: JSON) -> list[jsonpatch.PatchOperation]:
    """Check every operation before the first one is applied."""
    if not isinstance(operations, list):
        raise PatchError("a JSON Patch must be an array of operations")
    if len(operations) > MAX_OPERATIONS:
        raise PatchError(
            f"a JSON Patch may have at most {MAX_OPERATIONS} operations",
            code="too-many-operations",
        )
    parsed = []
    for index, operation in enumerate(operations):
        with _located(index, operation):
            if not isinstance(operation, dict):
                problem = "an operation must be an object"
                raise PatchError(problem, code="invalid-operation")
            name = operation.get("op")
            if not isinstance(name, str) or name not in _MEMBERS:
                problem = f"unknown operation {name!r}"
                raise PatchError(problem, code="unknown-operation")
            for member in _MEMBERS[name]:
                if member not in operation:
                    problem = f"{name} needs the member {member!r}"
                    raise PatchError(problem, code="invalid-operation")
                # ``path`` and ``from`` are JSON Pointers.
                if member != "value":
                    _pointer(operation[member])
            parsed.append(jsonpatch.JsonPatch.operations[name](operation))
    return parsed


def _pointer(text: JSON) -> JsonPointer:
    """Parse a JSON Pointer (RFC 6901)."""
    if not isinstance(text, str):
        raise PatchError("a JSON Pointer must be a string", code="invalid-pointer")
    try:
        return JsonPointer(text)
    except JsonPointerException as error:
        raise PatchError(
            f"{text!r} is not a JSON Pointer: {error}", code="invalid-pointer"
        ) from None


@contextmanager
def _located(index: int, operation: JSON) -> Iterator[None]:
    """Turn any failure into an error that names the operation and its pointer."""
    try:
        yield
    except PatchError as error:
        raise _with_operation(error, index, operation) from None
    except (jsonpatch.JsonPatchException, JsonPointerException) as error:
        code = next(
            code for error_type, code in _FAILURES if isinstance(error, error_type)
        )
        problem = _PROBLEMS.get(code, str(error))
        raise _with_operation(
            OperationError(problem, code=code), index, operation
        ) from None


def _with_operation(error: PatchError, index: int, operation: JSON) -> PatchError:
    members = operation if isinstance(operation, dict) else {}
    parts = ["operation", index]
    parts += [members[name] for name in ("op", "path") if name in members]
    error.advice = " ".join(str(part) for part in parts if part is not None)
    try:
        error.path = Path(tuple(_pointer(members.get("path")).parts))
    except PatchError:
        # The pointer is malformed or missing; the error is about the whole document.
        error.path = Path()
    return error


def _run(
    document: JSON, operation: jsonpatch.PatchOperation, copies: dict[int, Any]
) -> JSON:
    result: JSON = operation.apply(_unshared(document, operation.pointer, copies))
    return result


def _unshared(document: JSON, pointer: JsonPointer, copies: dict[int, Any]) -> JSON:
    """Copy the objects and lists on the way to a place, so the library may change them.

    ``copies`` holds the copies made so far, by identity. A copy is not copied again:
    otherwise many operations on one list would copy it each time.
    """
    # The document stands in a list of its own, so that the root is replaced as any
    # other value is.
    holder: Any = [document]
    parent: Any = holder
    key: Any = 0
    try:
        for part in pointer.parts:
            child = parent[key]
            if id(child) not in copies:
                child = child.copy()
                parent[key] = child
                copies[id(child)] = child
            parent = child
            key = JsonPointer.get_part(child, part)
    except (AttributeError, LookupError, TypeError, JsonPointerException):
        pass  # the path does not exist: the operation itself raises the error
    result: JSON = holder[0]
    return result


def _move(
    document: JSON, operation: jsonpatch.MoveOperation, copies: dict[int, Any]
) -> JSON:
    """Move a value: remove it, then add it at the target (RFC 6902, section 4.4).

    In this order, since the removal of a list element shifts the elements after it,
    which the target may point to.
    """
    source, target = JsonPointer(operation.operation["from"]), operation.pointer
    if target.contains(source):
        # "The 'from' location MUST NOT be a proper prefix of the 'path' location": the
        # library raises, and does nothing for a move of a value onto itself.
        return _run(document, operation, copies)
    value = _resolved(document, source)
    remove = jsonpatch.RemoveOperation({"op": "remove", "path": source.path})
    add = jsonpatch.AddOperation({"op": "add", "path": target.path, "value": value})
    return _run(_run(document, remove, copies), add, copies)


def _resolved(document: JSON, pointer: JsonPointer) -> JSON:
    value = pointer.resolve(document)
    if isinstance(value, EndOfList):
        # RFC 6901, section 4: "-" references the (nonexistent) element after the last.
        raise JsonPointerException("'-' names the nonexistent element after the last")
    resolved: JSON = value
    return resolved
