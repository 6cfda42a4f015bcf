"""What is wrong with a JSON Patch (RFC 6902): by itself, and by a schema.

Theory of operation. Each operation is looked at alone, but for the elements that
earlier operations have tested. A pointer is followed along the types of the schema: a
name that a type does not have, or one below a scalar, is wrong whatever the object is.
Whether a value is there depends on the object, which is not known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from smp._values.values import ABSENT, JSON, JSONArray, JSONObject, as_text, type_name
from smp.hazards import Hazard
from smp.lint._codes import finding
from smp.lint._rules import INTERESTS, DocumentRule, similar_name
from smp.paths import Path, Step, escape_pointer, unescape_pointer
from smp.schema.model import ANY, Field, ListType, ObjectType, ScalarType, Schema, Type
from smp.schema.plan import plan_of
from smp.schema.walk import Walk

# The members that an operation must have (RFC 6902, section 4).
_MEMBERS: Final = {
    "add": ("path", "value"),
    "copy": ("from", "path"),
    "move": ("from", "path"),
    "remove": ("path",),
    "replace": ("path", "value"),
    "test": ("path", "value"),
}
# RFC 6901, section 3: "~" stands only before 0 and 1.
_WRONG_ESCAPE: Final = re.compile(r"~(?![01])")
_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,17}")
_VALUE: Final = "value"


def lint_json_patch(operations: JSONArray, schema: Schema | None) -> list[Hazard]:
    """Return what is wrong with the operations, at paths of the list of operations.

    Without a schema nothing is found about fields, and a number in a pointer is taken
    for an index.
    """
    found: list[Hazard] = []
    tested: list[tuple[str, ...]] = []
    for index, operation in enumerate(operations):
        found += _lint_operation(Path((index,)), operation, schema, tested)
    return found


def _lint_operation(
    path: Path, operation: JSON, schema: Schema | None, tested: list[tuple[str, ...]]
) -> Iterator[Hazard]:
    """Yield what is wrong with one operation; a test is added to what is tested."""
    problem = _describe_lack(operation)
    if problem or not isinstance(operation, dict):
        yield finding("invalid-operation", path, "patch", problem=problem)
        return
    op = as_text(operation["op"])
    # A move or a copy reads from one place, and writes to another one.
    for member in [name for name in _MEMBERS[op] if name != _VALUE]:
        pointer = as_text(operation[member])
        where = path / member
        names = _names(pointer)
        if names is None:
            # RFC 6901, section 3: "json-pointer = *( "/" reference-token )".
            fault = "it begins with / or is empty"
            if pointer.startswith("/"):
                fault = "~ stands only in ~0 and ~1"
            blanks = {"pointer": pointer, "problem": fault}
            yield finding("invalid-pointer", where, "patch", **blanks)
            continue
        way = _Way(names, schema)
        if way.stops_at is not None:
            yield _wrong_pointer(way, where, pointer)
            continue
        # RFC 6902, section 5: a test that fails ends the whole patch, so that all later
        # operations meet the element that it found.
        if op == "test":
            tested.append(names)
            continue
        place = _find_untested_index(op, member, way, tested)
        if place is not None:
            # What identifies the element, where the schema says it.
            key = [way.merge_keys[place]] if way.merge_keys[place] else []
            element = "/" + "/".join(map(escape_pointer, [*names[: place + 1], *key]))
            yield finding(
                "index-without-test",
                where,
                "patch",
                op=op,
                index=names[place],
                test=f'{{"op": "test", "path": "{element}", "value": ...}}',
            )
    if _VALUE in _MEMBERS[op] and schema is not None:
        yield from _lint_value(path, operation, schema)


def _describe_lack(operation: JSON) -> str:
    """Say what an operation lacks; empty where it is well-formed."""
    if not isinstance(operation, dict):
        return f"an operation is an object, not {type_name(operation)}"
    op = operation.get("op")
    if not isinstance(op, str) or op not in _MEMBERS:
        similar = similar_name(as_text(op), [*_MEMBERS])
        instead = f", write {similar}" if similar else ""
        return f"unknown operation {op!r}{instead}"
    missing = [name for name in _MEMBERS[op] if name not in operation]
    if missing:
        return f"{op} needs the member {missing[0]}"
    for name in _MEMBERS[op]:
        if name != _VALUE and not isinstance(operation[name], str):
            return f"{name} is a string, not {type_name(operation[name])}"
    return ""


def _names(pointer: str) -> tuple[str, ...] | None:
    if pointer and not pointer.startswith("/"):
        return None
    if _WRONG_ESCAPE.search(pointer):
        return None
    parts = pointer.split("/")[1:]
    return tuple([unescape_pointer(part) for part in parts])


class _Way:
    """The types along a pointer.

    ``types`` has that of the whole object and then one for each name, as far as the
    schema goes. ``stops_at`` is the number of the first name that cannot be right.
    """

    def __init__(self, names: tuple[str, ...], schema: Schema | None) -> None:
        self.names = names
        self.types: list[Type] = [ANY if schema is None else schema.type]
        # For each name the patch merge key of the list that it is an index of.
        self.merge_keys: list[str] = []
        self.steps: list[Step] = []
        self.stops_at: int | None = None
        merge_key = ""
        for number, name in enumerate(names):
            type_ = self.types[-1]
            self.merge_keys.append(merge_key)
            if isinstance(type_, ListType):
                self.types.append(type_.items)
                self.steps.append(int(name) if _INDEX.fullmatch(name) else name)
                merge_key = ""
                continue
            field: Field | None = type_.field(name)
            if isinstance(type_, ScalarType) or field is None:
                self.stops_at = number
                return
            self.types.append(field.type)
            self.steps.append(name)
            merge_key = field.merge_key

    def is_index(self, number: int) -> bool:
        if not _INDEX.fullmatch(self.names[number]):
            return False
        type_ = self.types[number]
        return isinstance(type_, ListType) or type_ is ANY


def _wrong_pointer(way: _Way, where: Path, pointer: str) -> Hazard:
    number = way.stops_at or 0
    type_ = way.types[-1]
    name = way.names[number]
    if isinstance(type_, ScalarType):
        # Most often a name of an annotation: its part before the slash is one here.
        joined = "/".join(way.names[number - 1 :])
        names = [*way.names[: number - 1], joined]
        remedy = "/" + "/".join([escape_pointer(name) for name in names])
        return finding(
            "unescaped-slash",
            where,
            "patch",
            pointer=pointer,
            type=type_.name,
            remedy=remedy,
        )
    # A server takes the operation, and drops the field when it decodes the object.
    known = [field.name for field in type_] if isinstance(type_, ObjectType) else []
    similar = similar_name(name, known)
    remedy = "remove the operation; an API server does not store it"
    if similar:
        remedy = f"write {similar}"
    field = Path((*way.steps, name)).decoded
    return finding("unknown-field", where, "patch", field=field, remedy=remedy)


def _find_untested_index(
    op: str, member: str, way: _Way, tested: list[tuple[str, ...]]
) -> int | None:
    """Return the number of the first index in a pointer that no test makes certain."""
    last = len(way.names) - 1
    for number in range(len(way.names)):
        if not way.is_index(number):
            continue
        # An element that is added at an index takes the place of none.
        if number == last and member == "path" and op in ("add", "copy", "move"):
            continue
        element = way.names[: number + 1]
        if not any(names[: number + 1] == element for names in tested):
            return number
    return None


def _lint_value(path: Path, operation: JSONObject, schema: Schema) -> Iterator[Hazard]:
    names = _names(as_text(operation["path"]))
    if names is None:
        return
    way = _Way(names, schema)
    if way.stops_at is not None:
        return
    value, type_, steps = operation[_VALUE], way.types[-1], way.steps
    inside = 0
    # A scalar is looked at as a member of the object that it is in.
    if steps and not isinstance(way.types[-2], ListType):
        value, type_, steps = {names[-1]: value}, way.types[-2], steps[:-1]
        inside = 1
    rule = DocumentRule(
        "patch", shows_values=schema.kind != "Secret", within=Path(tuple(steps))
    )
    Walk(plan_of(schema.types, INTERESTS), [rule]).run(ABSENT, value, type_)
    for hazard in rule.all_found():
        below = hazard.path.steps[inside:]
        where = Path((*path.steps, _VALUE, *below))
        yield msgspec.structs.replace(hazard, path=where)
