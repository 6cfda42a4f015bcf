"""What a text is: a manifest, a live object, or a patch of one of the three types."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final, Literal, TypeAlias, get_args

from smp._storage.defaults import with_defaults
from smp._strategic import is_directive
from smp._values.plain import over_json, plain
from smp._values.values import ABSENT, JSONObject, as_list, as_object
from smp.errors import SmpError
from smp.lint._rules import similar_directive
from smp.paths import Path, value_at
from smp.schema.model import OPAQUE, RAW, Schema, Type
from smp.validation import in_order, violations_of

Form: TypeAlias = Literal["manifest", "live", "strategic", "merge", "json"]
FORMS: Final[tuple[Form, ...]] = get_args(Form)
# The types of a patch, as in kubectl patch --type.
PATCH_FORMS: Final[tuple[Form, ...]] = ("strategic", "merge", "json")

# An API server sets these when it creates an object, and a manifest has none of them
# but by mistake (API conventions, Metadata).
_SET_BY_SERVERS: Final = ("uid", "managedFields", "resourceVersion")
# A manifest that lacks it is no patch.
_NAME: Final = Path(("metadata", "name"))


@over_json("the document", "value")
def form_of(value: Any, schema: Schema | None, *, custom: bool) -> Form | None:
    """Tell by its content what a text is; None for no object and no patch.

    A list of operations is a JSON Patch. An object with managed fields, or two others
    of the fields that a server sets, is live. One with a directive, without apiVersion
    and kind, or without a name and fields that a server requires is a patch: a
    strategic merge patch, and for a ``custom`` resource a JSON merge patch. All else is
    a manifest, also where much of it is missing.
    """
    # An object of a Python client.
    if not isinstance(value, (dict, list)):
        value = plain(value)
    if isinstance(value, list):
        operations = [as_object(operation) for operation in value]
        has_operation = any("op" in operation for operation in operations)
        return "json" if has_operation else None
    if not isinstance(value, dict):
        return None
    # One of them alone may be a guard in a patch or a manifest: an update is refused
    # where the stored object has another uid or resourceVersion.
    metadata = as_object(value.get("metadata"))
    set_by_server = [name for name in _SET_BY_SERVERS if metadata.get(name)]
    if "managedFields" in set_by_server or len(set_by_server) > 1:
        return "live"
    is_patch = "kind" not in value or "apiVersion" not in value
    is_named = bool(metadata.get("name") or metadata.get("generateName"))
    lacks_much = not is_named and bool(find_missing_fields(value, schema))
    if is_patch or has_directive(value, schema) or lacks_much:
        return "merge" if custom else "strategic"
    return "manifest"


def find_missing_fields(obj: JSONObject, schema: Schema | None) -> list[str]:
    """Return the paths of the fields that only a patch can leave out.

    These are fields that a server requires: of the object, of what is in it, and the
    image of a container. What an element of another list lacks was forgotten.
    """
    missing: list[str] = []
    if schema is None:
        return missing
    # What is wrong with the object otherwise is found elsewhere.
    with suppress(SmpError):
        whole = with_defaults(obj, schema)
        violations = violations_of(None, whole, schema, ratchet=False)
        for violation in in_order(violations, schema.type):
            path = violation.path
            # One that is there, and empty, was written.
            is_there = path == _NAME or value_at(obj, path) is not ABSENT
            if violation.reason != "FieldValueRequired" or is_there:
                continue
            is_of_element = any(not isinstance(step, str) for step in path.steps)
            if not is_of_element or path.steps[-1] == "image":
                missing.append(str(path))
    return missing


@over_json("the document", "value")
def has_directive(value: Any, schema: Schema | None) -> bool:
    """Tell whether an object has a directive anywhere, or what looks like one.

    In opaque JSON there is none.
    """
    return _has_directive(value, OPAQUE if schema is None else schema.type)


def _has_directive(value: Any, type_: Type) -> bool:
    if type_.stored is RAW:
        return False
    if isinstance(value, dict):
        for name, member in value.items():
            if name[:1] == "$" and (is_directive(name) or similar_directive(name)):
                return True
            if isinstance(member, (dict, list)):
                below = type_.stored_member(name)
                if _has_directive(member, below):
                    return True
        return False
    return any(
        _has_directive(element, type_.stored_element())
        for element in as_list(value)
        if isinstance(element, (dict, list))
    )
