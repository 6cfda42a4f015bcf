"""Plain JSON: what arguments that are not of Python's own types are converted to.

The engine goes by the exact types of values (``smp._values.values.PLAIN_TYPES``). Where
it looks at a value of another type, it raises NotPlainError. That takes no walk of its
own, as the type of a value is asked for anyway. Only then does ``over_json`` convert
the arguments and run the operation again.

So an OrderedDict, a tuple or an IntEnum is taken for the object, the list or the
integer that it is, an object of a Python client for its fields, and a set is refused
with its path. A value that the operation does not look at goes into the result as it
is.

No client is imported. The official one (``kubernetes``, and ``kubernetes_asyncio``) has
a class for each type. Its ``attribute_map`` has the JSON name of each attribute, and
None stands for a field that is absent. The objects of the dynamic client, lightkube and
kr8s have a method ``to_dict``, with JSON names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

import msgspec

from smp._values.raw import RawJSON
from smp._values.stack import require_stack
from smp._values.values import (
    JSON,
    JSONArray,
    JSONObject,
    NotPlainError,
    sort_members,
    type_name,
)
from smp.errors import ObjectError, SchemaError, SmpError, check_schema, too_deep

if TYPE_CHECKING:
    import inspect


P = ParamSpec("P")
R = TypeVar("R")

# A boolean of ruamel.yaml is an integer to Python, because bool has no subclasses.
_BOOLEAN: Final = ("ruamel.yaml.scalarbool", "ScalarBoolean")
_WORD: Final = range(-(1 << 63), 1 << 64)


def over_json(
    what: str, *names: str, deciding: tuple[str, ...] = ()
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a decorator for a public operation over JSON values.

    ``names`` are the parameters that are JSON: they may be of other types, see above.
    ``what`` names the value in the DepthError that a RecursionError becomes. Other
    arguments that no caller could mean are what ``bounded`` says.

    ``deciding`` are those of them whose order of members decides which of several
    errors is raised, and how it prints a value. The operation that fails is done again
    with these sorted, so that the error is the same for any order; not for an error
    that no order changes.
    """

    def decorate(operation: Callable[P, R]) -> Callable[P, R]:
        @wraps(operation)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                require_stack(args, kwargs)
                return operation(*args, **kwargs)
            except RecursionError:
                raise too_deep(what) from None
            except SmpError as error:
                arguments = None
                if deciding and error.depend_on_order:
                    arguments = _arguments(operation, args, kwargs)
                if arguments is None:
                    raise
                raise _find_first_error(operation, arguments, deciding, error) from None
            except (AttributeError, NotPlainError, TypeError):
                check_schema(operation, args, kwargs)
                # Compiled code raises TypeError for a name that is not a string.
                arguments = _arguments(operation, args, kwargs)
                if arguments is None:
                    raise
                try:
                    if _convert(arguments.arguments, names):
                        return operation(*arguments.args, **arguments.kwargs)
                except RecursionError:
                    raise too_deep(what) from None
                raise

        return guarded

    return decorate


def _arguments(
    operation: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, Any]
) -> inspect.BoundArguments | None:
    """Return the arguments by name; None where they do not fit the operation."""
    # Few calls have arguments to convert.
    import inspect  # noqa: PLC0415  # see above

    try:
        return inspect.signature(operation).bind(*args, **kwargs)
    except TypeError:
        return None


def _find_first_error(
    operation: Callable[..., object],
    arguments: inspect.BoundArguments,
    names: tuple[str, ...],
    error: SmpError,
) -> SmpError:
    """Return the error for the arguments with the members of objects sorted."""
    try:
        for name in names:
            arguments.arguments[name] = sort_members(arguments.arguments.get(name))
        operation(*arguments.args, **arguments.kwargs)
    except SmpError as first:
        return first
    except (AttributeError, NotPlainError, RecursionError, TypeError):
        # Of what is not plain, or too deep, the first error is the only one.
        return error
    return error


def _convert(arguments: dict[str, Any], names: tuple[str, ...]) -> bool:
    """Convert those of the arguments in place; tell whether one was not plain."""
    converted = False
    for name in names:
        value = arguments.get(name)
        try:
            arguments[name] = plain(value)
        except ObjectError as error:
            error.problem = f"{name}: {error.problem}"
            raise
        converted = converted or arguments[name] is not value
    return converted


def plain(value: object) -> JSON:
    """Return a value as JSON of Python's own types: the same one where it is that.

    Any mapping is an object, and so is an object of a Python client; a tuple is a list,
    a datetime is text, a subclass of str, int or float is that type. Raises ObjectError
    (code not-json), with the path, for everything else: other types, names that are not
    strings, numbers that are not finite, text that is not Unicode, and integers that
    Python does not print. Raises RecursionError.
    """
    if isinstance(value, str):
        return _text(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return _integer(value)
    if isinstance(value, float):
        if math.isfinite(value):
            return value if type(value) is float else float.__float__(value)
        raise _not_json(f"{value} is not a JSON number")
    if isinstance(value, Mapping):
        return _object(value)
    if isinstance(value, list | tuple):
        return _list(value)
    if isinstance(value, RawJSON):
        try:
            decoded: JSON = msgspec.json.decode(value)
        except (msgspec.MsgspecError, UnicodeError):
            raise _not_json("the undecoded value is not JSON") from None
        return decoded
    content = content_of(value)
    if content is not None:
        return _object(content)
    time = time_of(value)
    if time is not None:
        return time
    raise _not_json(f"{type_name(value)} is not a JSON type")


def as_object(value: object) -> dict[str, Any]:
    """Return an object of a Python client as a plain object with JSON names.

    It takes models of the official client, what its dynamic client returns, objects of
    kubernetes_asyncio, lightkube and kr8s, and all mappings. What is None in a model is
    absent; a datetime is text in UTC. All operations take such objects as well; this is
    for what they return, and for other uses. Raises ObjectError (codes not-an-object
    and not-json) and DepthError.
    """
    return as_plain_object("the object", value)


def not_an_object(name: str, value: object) -> ObjectError | NotPlainError:
    """Make the error for an argument that is not an object of Python's own type."""
    if isinstance(value, Mapping | RawJSON) or content_of(value) is not None:
        return NotPlainError()
    return ObjectError(
        f"{name} is an object, not {type_name(value)}", code="not-an-object"
    )


def require_object(name: str, value: Mapping[str, Any]) -> JSONObject:
    """Return an argument that is an object of Python's own type.

    Raises ObjectError for what is no object, and NotPlainError for a mapping of another
    type, so that ``over_json`` runs the operation again.
    """
    if type(value) is not dict:
        raise not_an_object(name, value)
    return value


def require_object_or_none(
    name: str, value: Mapping[str, Any] | None
) -> JSONObject | None:
    """Return an argument that is an object or None, as ``require_object`` does."""
    return None if value is None else require_object(name, value)


def require_texts(**arguments: object) -> None:
    """Raise ObjectError for an argument that is not a string, by its name."""
    for name, value in arguments.items():
        if not isinstance(value, str):
            raise ObjectError(
                f"{name} is a string, not {type_name(value)}", code="not-a-string"
            )


def as_plain_object(name: str, value: object) -> JSONObject:
    """Return an argument as plain JSON.

    Raises ObjectError for a value that is not JSON, or not an object, and DepthError.
    """
    try:
        converted = plain(value)
    except RecursionError:
        raise too_deep(name) from None
    if not isinstance(converted, dict):
        raise not_an_object(name, converted)
    return converted


def plain_document(document: object) -> JSON:
    """Return a document of schemas as plain JSON.

    Unlike an object it is converted before it is read: all of it is, and more than
    once. Raises SchemaError (code not-json) and DepthError.
    """
    try:
        return plain(document)
    except ObjectError as error:
        raise SchemaError(error.problem, code=error.code, path=error.path) from None
    except RecursionError:
        raise too_deep("the document") from None


def _object(value: Mapping[Any, Any]) -> JSONObject:
    members: JSONObject = {}
    changed = type(value) is not dict
    for name, member in value.items():
        if not isinstance(name, str):
            raise _not_json(f"the name of a field is a string, not {type_name(name)}")
        key = _text(name)
        try:
            members[key] = plain(member)
        except SmpError as error:
            raise error.within(key) from None
        changed = changed or members[key] is not member or key is not name
    return members if changed or not isinstance(value, dict) else value


def _list(value: list[Any] | tuple[Any, ...]) -> JSONArray:
    elements: JSONArray = []
    changed = type(value) is not list
    for index, element in enumerate(value):
        try:
            elements.append(plain(element))
        except SmpError as error:
            raise error.within(index) from None
        changed = changed or elements[index] is not element
    return elements if changed or not isinstance(value, list) else value


def _text(value: str) -> str:
    # Not str(), which is another text for some subclasses (an Enum).
    text = value if type(value) is str else str.__str__(value)
    try:
        if not text.isascii():
            text.encode()
    except UnicodeEncodeError:
        raise _not_json("half of a surrogate pair is not Unicode text") from None
    return text


def _integer(value: int) -> JSON:
    number = value if type(value) is int else int.__int__(value)
    if (type(value).__module__, type(value).__qualname__) == _BOOLEAN:
        return bool(number)
    if number not in _WORD:
        try:
            str(number)
        except ValueError as error:
            raise _not_json(str(error)) from None
    return number


def _not_json(problem: str) -> ObjectError:
    return ObjectError(problem, code="not-json")


def content_of(value: object) -> Mapping[Any, Any] | None:
    """Return the fields of an object of a client by their JSON names; None for others.

    The values may be objects of the client again.
    """
    names = getattr(type(value), "attribute_map", None)
    if isinstance(names, Mapping):
        fields = {name: getattr(value, key, None) for key, name in names.items()}
        return {name: field for name, field in fields.items() if field is not None}
    # Of a class, it is a function that wants an object.
    to_dict = None if isinstance(value, type) else getattr(value, "to_dict", None)
    content = to_dict() if callable(to_dict) else None
    return content if isinstance(content, Mapping) else None


def time_of(value: object) -> str | None:
    """Print a datetime as Kubernetes does: in UTC, with microseconds if it has any.

    A time without a zone is taken for UTC (Go: metav1.Time and MicroTime). Returns None
    for other values.
    """
    if not isinstance(value, datetime):
        return None
    if value.tzinfo is not None:
        value = value.astimezone(UTC)
    return value.replace(tzinfo=None).isoformat() + "Z"
