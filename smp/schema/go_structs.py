"""Go structs as an API server prints them in the cause of an error.

The internal types of a server have no names for JSON, so that ``field.Error`` prints
them with the names of Go, all fields in their order (Go: apimachinery, util/validation/
field, Error.ErrorBody; k8s.io/kubernetes, pkg/apis, types.go). The table is
smp/schema/bundled/go_structs.json: by type its fields, ``?`` for one that is null where
it is left out, ``#`` for a number, ``+`` for one whose members are printed in its
place, and ``:`` before the type of a struct or of the elements of a list. All others
are texts.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from smp._values.values import JSON, JSONObject, as_object
from smp.schema.bundle import read_bundled_table
from smp.violations import quote_json


class _Structs(msgspec.Struct, frozen=True):
    fields: dict[str, str]


def print_struct(value: JSON, name: str) -> str:
    """Print a value of a Go type by its name.

    What has members that the type lacks is of another version, and printed as JSON.
    """
    if isinstance(value, list):
        texts = [print_struct(element, name) for element in value]
        return f"[{','.join(texts)}]"
    known = _fields_of(name)
    if not known or not isinstance(value, dict):
        return quote_json(value)
    # Go decodes a member by its name in any case; these names differ in nothing else.
    members = {key.lower(): member for key, member in value.items()}
    texts = [*_print_fields(members, known)]
    return quote_json(value) if members else f"{{{','.join(texts)}}}"


def _fields_of(name: str) -> list[str]:
    table = read_bundled_table("go_structs.json", _Structs)
    return table.fields.get(name, "").split()


def _print_fields(members: JSONObject, fields: list[str]) -> Iterator[str]:
    """Yield the fields with their values, and take them from the members."""
    for spelled in fields:
        field, _, type_ = spelled.partition(":")
        name = field.rstrip("?#+")
        value = members.pop(name.lower(), None)
        if field.endswith("+"):
            # An embedded struct; metadata has names for JSON.
            inner = quote_json(as_object(value))[1:-1]
            if inner:
                yield inner
            continue
        if value is not None:
            shown = print_struct(value, type_)
        elif field.endswith("?"):
            shown = "null"
        elif field.endswith("#"):
            shown = "0"
        else:
            shown = print_struct({}, type_) if type_ else '""'
        yield f'"{name}":{shown}'
