"""Whether an object is of the types of its schema, as server-side apply sees these.

Go: typed.AsTyped, and its validatingObjectWalker. It looks at fewer things than a
decoder of a server does: a number is a number, and no string has a format.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from smp._values.steps import count_steps
from smp._values.values import (
    JSON,
    JSONArray,
    JSONObject,
    as_object,
    as_text,
    check_depth,
    require_plain,
)
from smp.errors import ObjectError, UnknownFieldError, bounded
from smp.managed_fields._elements import step_of
from smp.managed_fields._go_text import (
    kind_text,
    plain_text,
    step_text,
    syntax_text,
    type_text,
)
from smp.managed_fields._shapes import ATOMIC_MAP, LIST, MAP, SCALAR, Shape, root_shape
from smp.schema.model import Schema


def require_typed(
    obj: JSONObject,
    schema: Schema,
    problem: str,
    *,
    allow_duplicates: bool = False,
    old: JSONObject | None = None,
) -> None:
    """Raise ObjectError (code invalid-applied) for an object of other types.

    ``problem`` tells in Go's words what cannot be done, with ``{}`` for what names the
    object. What it shares with ``old``, which has the types, is not visited.
    """
    problems = type_problems(obj, schema, allow_duplicates=allow_duplicates, old=old)
    if problems:
        raise type_error(problem, obj, problems)


def type_error(problem: str, obj: JSONObject, problems: list[str]) -> ObjectError:
    """Return an error in the words of a server, see ``require_typed``."""
    # Go: objectGVKNN.
    metadata = as_object(obj.get("metadata"))
    name = f"{as_text(metadata.get('namespace'))}/{as_text(metadata.get('name'))}"
    kind = kind_text(as_text(obj.get("apiVersion")), as_text(obj.get("kind")))
    text = problem.format(f"{name}; {kind}")
    return ObjectError(f"{text}{listing(problems)}", code="invalid-applied")


@bounded("the object")
def type_problems(
    obj: JSONObject,
    schema: Schema,
    *,
    allow_duplicates: bool = False,
    old: JSONObject | None = None,
) -> list[str]:
    """Return what is wrong with the types of an object, as Go words it.

    What it shares with ``old``, which has the types, is not visited.
    """
    check_depth(obj)
    shape = root_shape(schema, obj)
    return _problems(obj, old, shape, allow_duplicates=allow_duplicates)


def require_types(value: JSON, shape: Shape) -> None:
    """Raise ObjectError (code invalid-applied) for a value of other types.

    An element of a list may occur twice in it. Raises RecursionError.
    """
    if shape.form != SCALAR:
        check_depth(value)
    problems = _problems(value, None, shape, allow_duplicates=True)
    if problems:
        raise ObjectError(listing(problems), code="invalid-applied")


def listing(problems: list[str]) -> str:
    """Return problems as one text (Go: typed.ValidationErrors.Error)."""
    return problems[0] if len(problems) == 1 else "errors:\n  " + "\n  ".join(problems)


def _problems(
    value: JSON, old: JSON, shape: Shape, *, allow_duplicates: bool
) -> list[str]:
    if value is None or value is old:
        return []
    if shape.form == SCALAR:
        found = _scalar_problems(value, shape)
        if found:
            require_plain(value)
        return found
    if shape.form in (MAP, ATOMIC_MAP):
        if not isinstance(value, dict):
            require_plain(value)
            return [f": expected map, got &{{{plain_text(value)}}}"]
        before = old if isinstance(old, dict) else {}
        return _map_problems(value, before, shape, allow_duplicates=allow_duplicates)
    if not isinstance(value, list):
        require_plain(value)
        return [f": expected list, got &{{{plain_text(value)}}}"]
    values = old if isinstance(old, list) else []
    return _list_problems(value, values, shape, allow_duplicates=allow_duplicates)


def _scalar_problems(value: JSON, shape: Shape) -> list[str]:
    """Go: typed.validateScalar."""
    name = shape.scalar
    if name == "string" and not isinstance(value, str):
        got = f"&value.valueUnstructured{{Value:{syntax_text(value)}}}"
        return [f": expected string, got {got}"]
    if name == "boolean" and not isinstance(value, bool):
        return [f": expected boolean, got &{{{plain_text(value)}}}"]
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if name in ("integer", "number") and not is_number:
        return [f": expected numeric (int or float), got {type_text(value)}"]
    if isinstance(value, (dict, list)):
        return [f": expected any scalar, got &{{{plain_text(value)}}}"]
    return []


def _map_problems(
    value: JSONObject, old: JSONObject, shape: Shape, *, allow_duplicates: bool
) -> list[str]:
    problems: list[str] = []
    is_known = True
    for name, content in value.items():
        count_steps(1)
        before = old.get(name)
        if content is before and name in old:
            continue
        try:
            inner = shape.of_name(name, content)
        except UnknownFieldError:
            # Go looks no further: there is one of them for each map.
            if is_known:
                problems.append(f".{name}: field not declared in schema")
            is_known = False
            continue
        found = _problems(content, before, inner, allow_duplicates=allow_duplicates)
        if found:
            problems += [f".{name}{problem}" for problem in found]
    return problems


def _list_problems(
    values: JSONArray, old: JSONArray, shape: Shape, *, allow_duplicates: bool
) -> list[str]:
    problems: list[str] = []
    seen: set[str] = set()
    # An element may be at another place than before.
    shared = {id(value) for value in old}
    for index, value in enumerate(values):
        count_steps(1)
        element = ""
        if shape.form == LIST:
            try:
                element = shape.element(value)
            except ObjectError as error:
                problems.append(f": element {index}: {error.problem}")
                # Go: it cannot say where further problems of the list are.
                return problems
            if element in seen and not allow_duplicates:
                where = step_text(step_of(element))
                problems.append(f": duplicate entries for key {where}")
            seen.add(element)
        if id(value) in shared:
            continue
        inner = shape.of_element(value)
        found = _problems(value, None, inner, allow_duplicates=allow_duplicates)
        if found:
            where = step_text(step_of(element)) if element else f"[{index}]"
            problems += [f"{where}{problem}" for problem in found]
    return problems
