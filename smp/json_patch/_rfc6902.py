"""JSON Patch as RFC 6902 has it: apply and diff.

``diff`` is that of the ``jsonpatch`` library. Its versions differ in what they apply:
up to 1.33 ``test`` takes 1 for true, and operations change the values of the patch. So
``apply`` is here.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Final

import jsonpatch
import msgspec
from jsonpointer import JsonPointer, JsonPointerException

from smp._values.plain import over_json, plain
from smp._values.values import (
    ABSENT,
    JSON,
    Absent,
    JSONObject,
    as_text,
    equal,
    same,
)
from smp.errors import PatchError
from smp.paths import Path

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
# RFC 6901, section 4: digits without leading zeros. No list has more elements.
_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,17}")


class OperationError(PatchError):
    """A well-formed operation that does not apply: a failed test, a missing member."""

    default_code: ClassVar[str] = "operation-failed"
    status: int = 422


@over_json("the value", "document", "operations")
def apply(
    document: Any,
    operations: Sequence[Mapping[str, Any]],
    *,
    max_copied: int = MAX_COPIED,
) -> Any:
    """Apply the operations of a JSON Patch in order, all of them or none.

    The document itself is not changed; subtrees that no operation touches are shared
    with it. ``test`` compares as RFC 6902, section 4.6, says: numbers by value, so that
    1 equals 1.0, but not true.

    Raises PatchError for a malformed patch (``invalid-patch``, ``invalid-operation``,
    ``unknown-operation``, ``invalid-pointer``, ``too-many-operations``), OperationError
    where an operation does not apply (``test-failed``, ``missing-path``,
    ``operation-failed``, ``too-much-copied``), and DepthError.
    """
    patch = plain(operations)
    if isinstance(patch, list) and len(patch) > MAX_OPERATIONS:
        raise PatchError(
            f"a JSON Patch may have at most {MAX_OPERATIONS} operations",
            code="too-many-operations",
        )
    return _run_all(plain(document), patch, max_copied)


@over_json("the value", "original", "modified")
def diff(original: Any, modified: Any) -> list[dict[str, Any]]:
    """Compute operations that turn original into modified; equal values give none.

    Values are compared by type: True, 1 and 1.0 are three values. Raises DepthError.
    """
    before, after = plain(original), plain(modified)
    patch = jsonpatch.make_patch(_encode(before), _encode(after)).patch
    operations = [_decode_operation(operation) for operation in patch]
    # Up to 1.33 the library gives wrong indices to some moves in lists.
    try:
        leads_there = same(_run_all(before, [*operations], MAX_COPIED), after)
    except OperationError:
        leads_there = False
    if leads_there:
        return operations
    return [{"op": "replace", "path": "", "value": after}]


# Up to 1.33 the library takes elements for equal that are equal to Python (1 and True),
# and names for indices that are digits. So it gets the JSON text of each scalar, and
# names with a character that no index has.
_NAME_MARK: Final = "."


def _encode(value: JSON) -> JSON:
    """Return a value as the library gets it; it compares members in their order."""
    if isinstance(value, dict):
        return {_NAME_MARK + name: _encode(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return [_encode(element) for element in value]
    return json.dumps(value)


def _decode(value: JSON) -> JSON:
    """Return the value that ``_encode`` was given."""
    if isinstance(value, dict):
        return {
            name.removeprefix(_NAME_MARK): _decode(member)
            for name, member in value.items()
        }
    if isinstance(value, list):
        return [_decode(element) for element in value]
    scalar: JSON = json.loads(as_text(value))
    return scalar


def _decode_operation(operation: JSONObject) -> JSONObject:
    """Return an operation of the library with the values and names of the caller."""
    decoded = {**operation}
    for member in ("from", "path"):
        if member in operation:
            parts = as_text(operation[member]).split("/")
            decoded[member] = "/".join(part.removeprefix(_NAME_MARK) for part in parts)
    if "value" in operation:
        decoded["value"] = _decode(operation["value"])
    return decoded


class _Operation(msgspec.Struct, frozen=True):
    """An operation whose members are there; pointers are split into their parts."""

    name: str
    target: tuple[str, ...]
    source: tuple[str, ...]
    value: JSON
    members: JSONObject


def _parse(operations: JSON) -> list[_Operation]:
    """Check every operation before the first one is applied."""
    if not isinstance(operations, list):
        raise PatchError("a JSON Patch must be an array of operations")
    parsed = []
    for index, operation in enumerate(operations):
        with _locate(index, operation):
            if not isinstance(operation, dict):
                problem = "an operation must be an object"
                raise PatchError(problem, code="invalid-operation")
            name = operation.get("op")
            if not isinstance(name, str) or name not in _MEMBERS:
                problem = f"unknown operation {name!r}"
                raise PatchError(problem, code="unknown-operation")
            pointers: dict[str, tuple[str, ...]] = {}
            for member in _MEMBERS[name]:
                if member not in operation:
                    problem = f"{name} needs the member {member!r}"
                    raise PatchError(problem, code="invalid-operation")
                # ``path`` and ``from`` are JSON Pointers.
                if member != "value":
                    pointers[member] = _pointer(operation[member])
            target, source = pointers["path"], pointers.get("from", ())
            value = operation.get("value")
            parsed.append(_Operation(name, target, source, value, operation))
    return parsed


def _pointer(text: JSON) -> tuple[str, ...]:
    """Return the parts of a JSON Pointer (RFC 6901)."""
    if not isinstance(text, str):
        raise PatchError("a JSON Pointer must be a string", code="invalid-pointer")
    try:
        return tuple(JsonPointer(text).parts)
    except JsonPointerException as error:
        raise PatchError(
            f"{text!r} is not a JSON Pointer: {error}", code="invalid-pointer"
        ) from None


@contextmanager
def _locate(index: int, operation: JSON) -> Iterator[None]:
    """Turn any failure into an error that names the operation and its pointer."""
    try:
        yield
    except PatchError as error:
        raise _add_operation(error, index, operation) from None


def _add_operation(error: PatchError, index: int, operation: JSON) -> PatchError:
    members = operation if isinstance(operation, dict) else {}
    parts = ["operation", index]
    parts += [members[name] for name in ("op", "path") if name in members]
    error.advice = " ".join(str(part) for part in parts if part is not None)
    try:
        error.path = Path(_pointer(members.get("path")))
    except PatchError:
        # The pointer is malformed or missing; the error is about the whole document.
        error.path = Path()
    return error


class CopiedDocument:
    """A document whose objects and lists are copied where an operation changes them.

    It stands in a list of its own, so that the root is replaced as any other value is.
    """

    __slots__ = ("_own", "holder")

    def __init__(self, document: JSON) -> None:
        self.holder: list[JSON] = [document]
        # The copies, by identity. A copy is not copied again: otherwise many operations
        # on one list would copy it each time.
        self._own: dict[int, JSON] = {}

    def copy_unless_own(self, container: Any, key: Any) -> Any:
        """Return an object or a list in another one, as a copy.

        Raises OperationError for another value.
        """
        value = container[key]
        if id(value) in self._own:
            return value
        if not isinstance(value, (dict, list)):
            raise make_missing_error()
        value = value.copy()
        container[key] = value
        self._own[id(value)] = value
        return value


def _run_all(document: JSON, operations: JSON, max_copied: int) -> JSON:
    """Apply operations in order, all of them or none. Raises as ``apply`` does."""
    changed = CopiedDocument(document)
    copied = 0
    for index, operation in enumerate(_parse(operations)):
        with _locate(index, operation.members):
            # A few copies of copies would make a document of any size.
            if operation.name == "copy":
                copied += len(json.dumps(_value_at(changed, operation.source)))
            if copied > max_copied:
                raise OperationError(
                    f"the copies exceed {max_copied} bytes", code="too-much-copied"
                )
            _run(changed, operation)
    return changed.holder[0]


def _run(document: CopiedDocument, operation: _Operation) -> None:
    """Apply an operation to a document (RFC 6902, section 4)."""
    target = operation.target
    match operation.name:
        case "add":
            _add(document, target, operation.value)
        case "copy":
            # A copy of what was copied before may be changed: it gets its own.
            _add(document, target, copy.deepcopy(_value_at(document, operation.source)))
        case "move":
            _move(document, operation.source, target)
        case "remove":
            _remove(document, target)
        case "replace":
            parent, part = _place(document, target)
            if part == "-" and isinstance(parent, list):
                raise OperationError("'-' names no element that could be replaced")
            parent[_key(parent, part)] = operation.value
        case _:
            _test(document, operation)


def _add(document: CopiedDocument, target: tuple[str, ...], value: JSON) -> None:
    parent, part = _place(document, target)
    if not target:
        parent[0] = value
    elif isinstance(parent, dict):
        parent[part] = value
    else:
        index = len(parent) if part == "-" else _index(part)
        if index > len(parent):
            problem = "an element cannot be added beyond the end of its list"
            raise OperationError(problem)
        parent.insert(index, value)


def _remove(document: CopiedDocument, target: tuple[str, ...]) -> None:
    if not target:
        raise OperationError("the whole document cannot be removed")
    parent, part = _place(document, target)
    del parent[_key(parent, part)]


def _move(
    document: CopiedDocument, source: tuple[str, ...], target: tuple[str, ...]
) -> None:
    """Move a value: remove it, then add it at the target (RFC 6902, section 4.4)."""
    value = _value_at(document, source)
    if source == target:
        return
    # "The 'from' location MUST NOT be a proper prefix of the 'path' location."
    if target[: len(source)] == source:
        raise OperationError("a value cannot be moved into itself")
    _remove(document, source)
    _add(document, target, value)


def _test(document: CopiedDocument, operation: _Operation) -> None:
    value: JSON | Absent
    try:
        value = _value_at(document, operation.target)
    except OperationError:
        value = ABSENT
    if value is ABSENT or not equal(value, operation.value):
        # Without the values, which may be secrets.
        raise OperationError(
            "test failed: the document has another value at this path",
            code="test-failed",
        )


def _place(document: CopiedDocument, target: tuple[str, ...]) -> tuple[Any, str]:
    """Return the object or list that a place is in, and its name or index there.

    Objects and lists on the way are copied, so that they may be changed.
    """
    parent: Any = document.holder
    last = "0"
    for part in target:
        parent, last = document.copy_unless_own(parent, _key(parent, last)), part
    return parent, last


def _value_at(document: CopiedDocument, parts: tuple[str, ...]) -> JSON:
    value = document.holder[0]
    for part in parts:
        container: Any = value
        value = container[_key(container, part)]
    return value


def _key(parent: JSON, part: str) -> str | int:
    """Return the name or index of a value. Raises OperationError where it is not."""
    if isinstance(parent, dict) and part in parent:
        return part
    if isinstance(parent, list):
        index = _index(part)
        if index < len(parent):
            return index
    raise make_missing_error()


def _index(part: str) -> int:
    """Return the index that a part of a pointer is. Raises OperationError."""
    # "-" as well: "the (nonexistent) member after the last array element".
    if not _INDEX.fullmatch(part):
        raise make_missing_error()
    return int(part)


def make_missing_error() -> OperationError:
    # It does not quote the document, which may hold secrets.
    return OperationError("path not found in the document", code="missing-path")
