"""A JSON Patch as a Kubernetes API server reads it.

Its library is more tolerant than RFC 6902, and than ``_rfc6902.py``: ``replace``
adds what is absent, a ``test`` for null holds where nothing is, ``copy`` copies null
from where nothing is, an absent ``value`` is null, an index counts from the end where
it is negative and may have zeros in front. What does not apply is refused, and nothing
of the patch is done.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from smp._values import codec
from smp._values.plain import over_json
from smp._values.values import JSON, JSONObject, as_object, as_text, same, type_name
from smp.errors import PatchError
from smp.json_patch._rfc6902 import (
    MAX_COPIED,
    CopiedDocument,
    OperationError,
    make_missing_error,
)
from smp.paths import Path, unescape_pointer

# Go: strconv.Atoi, of numbers that no list is long enough for.
_INDEX: Final = re.compile(r"[+-]?[0-9]{1,18}")


@over_json("the document", "document", "operations")
def apply_as_server(
    document: JSONObject, operations: JSON, *, decodes: bool = True
) -> JSON:
    """Apply operations as a Kubernetes API server does; the document is not changed.

    What no operation touches is shared with it. With ``decodes`` the members of an
    operation have to be texts, as they are where fields are validated. Raises
    PatchError for what is no list of operations, and OperationError where an operation
    does not apply. Go: gopkg.in/evanphx/json-patch.v4, patch.go; k8s.io/apiserver,
    endpoints/handlers, jsonPatcher.applyJSPatch.
    """
    # Go decodes a null to no operations.
    if operations is None:
        operations = []
    if not isinstance(operations, list):
        raise PatchError("a JSON Patch must be an array of operations")
    for index, operation in enumerate(operations):
        _check(index, operation, decodes=decodes)
    patched = _Patched(document)
    for index, member in enumerate(operations):
        operation = as_object(member)
        apply_one = _OPERATIONS.get(as_text(operation.get("op")), _unknown)
        try:
            apply_one(patched, operation)
        except OperationError as error:
            raise _locate(error, index, operation) from None
    return patched.holder[0]


def _check(index: int, operation: JSON, *, decodes: bool) -> None:
    """Raise PatchError for what Go cannot decode to an operation; null is an empty one.

    Go: jsonPatchOp, to which a patch is decoded only where fields are validated.
    """
    if operation is None:
        return
    problem = ""
    if not isinstance(operation, dict):
        problem = f"an operation must be an object, not {type_name(operation)}"
    elif decodes:
        for name in ("op", "path", "from"):
            value = operation.get(name)
            if value is not None and not isinstance(value, str):
                problem = f"{name} must be a string, not {type_name(value)}"
    if problem:
        error = PatchError(problem, code="invalid-operation")
        raise _locate(error, index, as_object(operation))


def _locate(error: PatchError, index: int, operation: JSONObject) -> PatchError:
    """Return an error with the operation that it is about, and its place."""
    words = [as_text(operation.get(name)) for name in ("op", "path")]
    parts = [f"operation {index}", *filter(None, words)]
    error.advice = " ".join(parts)
    error.path = Path(tuple(_steps(as_text(operation.get("path")))))
    return error


def _steps(pointer: str) -> list[str]:
    """Return the steps of a JSON Pointer; what is before the first slash is ignored."""
    _, *steps = pointer.split("/")
    return [unescape_pointer(step) for step in steps]


class _Patched(CopiedDocument):
    """A document, and how many bytes its copy operations have added."""

    __slots__ = ("_copied",)

    def __init__(self, document: JSONObject) -> None:
        super().__init__(document)
        self._copied = 0

    def place(self, operation: JSONObject, name: str) -> tuple[Any, str]:
        """Return the object or list that a pointer leads into, and the last step.

        Raises OperationError (Go: findObject).
        """
        pointer = operation.get(name)
        if not isinstance(pointer, str):
            problem = f"{operation['op']} needs the member {name!r}"
            raise OperationError(problem, code="invalid-operation")
        steps = _steps(pointer)
        if not steps:
            raise make_missing_error()
        container: Any = self.copy_unless_own(self.holder, 0)
        for step in steps[:-1]:
            key: Any = step
            if isinstance(container, list):
                key = _index(container, step)
            elif step not in container:
                raise make_missing_error()
            container = self.copy_unless_own(container, key)
        return container, steps[-1]

    def copied(self, value: JSON) -> JSON:
        """Return a copy. Raises OperationError where all copies together are too long.

        A few copies of copies would make a document of any size.
        """
        text = codec.encode(value)
        self._copied += len(text)
        if self._copied > MAX_COPIED:
            problem = f"the copies exceed {MAX_COPIED} bytes"
            raise OperationError(problem, code="too-much-copied")
        return codec.decode(text)


def _index(elements: list[JSON], step: str, most: int | None = None) -> int:
    """Return the index that a step means; it is below ``most``, or the length.

    Raises OperationError. Go: SupportNegativeIndices.
    """
    size = len(elements) if most is None else most
    if not _INDEX.fullmatch(step):
        raise make_missing_error()
    index = int(step)
    if index < 0:
        index += size
    if not 0 <= index < size:
        raise make_missing_error()
    return index


def _put(container: Any, step: str, value: JSON) -> None:
    if isinstance(container, dict):
        container[step] = value
    elif step == "-":
        container.append(value)
    else:
        # It may stand behind the last one.
        container.insert(_index(container, step, len(container) + 1), value)


def _find(container: Any, step: str) -> JSON:
    """Return the value at a place; null where an object has none."""
    if isinstance(container, dict):
        value: JSON = container.get(step)
        return value
    element: JSON = container[_index(container, step)]
    return element


def _remove_at(container: Any, step: str) -> JSON:
    """Remove the value at a place, and return it."""
    if isinstance(container, list):
        key: Any = _index(container, step)
    elif step in container:
        key = step
    else:
        raise make_missing_error()
    value: JSON = container.pop(key)
    return value


def _add(patched: _Patched, operation: JSONObject) -> None:
    _put(*patched.place(operation, "path"), operation.get("value"))


def _remove(patched: _Patched, operation: JSONObject) -> None:
    _remove_at(*patched.place(operation, "path"))


def _replace(patched: _Patched, operation: JSONObject) -> None:
    value = operation.get("value")
    if operation.get("path") == "":
        if not isinstance(value, dict | list):
            problem = f"the value must be an object or a list, not {type_name(value)}"
            raise OperationError(problem)
        patched.holder[0] = value
        return
    container, step = patched.place(operation, "path")
    key = _index(container, step) if isinstance(container, list) else step
    container[key] = value


def _move(patched: _Patched, operation: JSONObject) -> None:
    value = _remove_at(*patched.place(operation, "from"))
    _put(*patched.place(operation, "path"), value)


def _copy(patched: _Patched, operation: JSONObject) -> None:
    value = patched.copied(_find(*patched.place(operation, "from")))
    _put(*patched.place(operation, "path"), value)


def _test(patched: _Patched, operation: JSONObject) -> None:
    if operation.get("path") == "":
        found = patched.holder[0]
    else:
        found = _find(*patched.place(operation, "path"))
    if not same(found, operation.get("value")):
        problem = "test failed: the document has another value at this path"
        raise OperationError(problem, code="test-failed")


def _unknown(_patched: _Patched, operation: JSONObject) -> None:
    problem = f"unknown operation {operation.get('op')!r}"
    raise OperationError(problem, code="unknown-operation")


_Operation: TypeAlias = Callable[[_Patched, JSONObject], None]
_OPERATIONS: Final[dict[str, _Operation]] = {
    "add": _add,
    "copy": _copy,
    "move": _move,
    "remove": _remove,
    "replace": _replace,
    "test": _test,
}
