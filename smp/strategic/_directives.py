"""The words of a strategic merge patch: the only module that spells a ``$``.

A patch object is read once into its directives and its fields; engines see no magic
key.
"""

from __future__ import annotations

from typing import Final, cast

from smp.errors import PatchError
from smp.paths import Path
from smp.strategic._ordering import merge_key_of, plain_keys
from smp.values import ABSENT, JSON, Absent, JSONArray, JSONObject, ScalarKey, type_name

MARKER: Final = "$patch"
DELETE: Final = "delete"
REPLACE: Final = "replace"
RETAIN_KEYS: Final = "$retainKeys"
_ORDER: Final = "$setElementOrder"
_DELETIONS: Final = "$deleteFromPrimitiveList"
_PREFIXES: Final = (_ORDER, _DELETIONS)
_NONE: Final[JSONObject] = {}
# which the reference takes for names all the same
_NO_NAMES: Final = frozenset({bool, int, float, type(None)})
_CODES: Final = {_ORDER: "invalid-element-order", _DELETIONS: "invalid-deletion-list"}


class PatchObject:
    """One object of a patch: its fields, and beside them what its directives say."""

    __slots__ = ("deletions", "fields", "marker", "orders", "retained")

    def __init__(
        self,
        fields: JSONObject,
        marker: JSON | Absent = ABSENT,
        retained: JSON | Absent = ABSENT,
        orders: JSONObject = _NONE,
        deletions: JSONObject = _NONE,
    ) -> None:
        self.fields = fields
        self.marker = marker
        self.retained = retained
        self.orders = orders
        self.deletions = deletions


class PatchList:
    """The elements of a merge list in a patch: to merge, to delete (by key), and
    whether to drop all others.
    """

    __slots__ = ("deleted", "elements", "keys", "replaces")

    def __init__(
        self,
        elements: list[JSONObject],
        keys: list[ScalarKey],
        deleted: set[ScalarKey],
        *,
        replaces: bool,
    ) -> None:
        self.elements = elements
        self.keys = keys
        self.deleted = deleted
        self.replaces = replaces


def order_of(name: str) -> str:
    """Name the directive that orders a list."""
    return f"{_ORDER}/{name}"


def deletions_from(name: str) -> str:
    """Name the directive that deletes values from a list of scalars."""
    return f"{_DELETIONS}/{name}"


def is_directive(name: str) -> bool:
    """Tell whether a key is a directive and not a field."""
    return (
        name != ""
        and name[0] == "$"
        and (name in (MARKER, RETAIN_KEYS) or name.startswith(_PREFIXES))
    )


def is_marked(value: JSON) -> bool:
    """Tell whether a value is an object that carries ``$patch``; a null there says
    nothing.
    """
    return isinstance(value, dict) and value.get(MARKER) is not None


def read_object(patch: JSONObject) -> PatchObject:
    """Split an object of a patch into fields and directives.

    Raises PatchError for a directive that does not name its list (Go:
    strategicpatch.extractKey).
    """
    return read_directives(patch) if has_directives(patch) else PatchObject(patch)


def has_directives(patch: JSONObject) -> bool:
    """Tell whether an object of a patch may have directives."""
    for name in patch:
        if name and name[0] == "$":
            return True
    return False


def read_directives(patch: JSONObject) -> PatchObject:
    """Split an object of a patch that may have directives; see read_object."""
    if MARKER in patch:  # it rules the whole object: nothing else in it is looked at
        return PatchObject(patch, marker=patch[MARKER])
    fields: JSONObject = {}
    retained: JSON | Absent = ABSENT
    orders, deletions = _NONE, _NONE
    for name, value in patch.items():
        if not name or name[0] != "$":
            fields[name] = value
        elif name == RETAIN_KEYS:
            retained = value
        elif name.startswith(_ORDER):
            orders = orders or {}  # which most objects do without
            orders[_target(name, _ORDER)] = value
        elif name.startswith(_DELETIONS):
            deletions = deletions or {}
            deletions[_target(name, _DELETIONS)] = value
        else:
            fields[name] = value
    return PatchObject(fields, ABSENT, retained, orders, deletions)


def _target(name: str, prefix: str) -> str:
    word, slash, target = name.partition("/")
    if word != prefix or not slash:
        raise PatchError(
            f"{name!r} is not a directive",
            code=_CODES[prefix],
            path=Path((name,)),
            hint=f"{prefix}/<list>",
        )
    return target


def read_list(patch: JSONArray, merge_key: str) -> PatchList:
    """Split the elements of a merge list in a patch by what they ask for.

    Raises PatchError for an unknown ``$patch`` word, and for an element without its
    merge key (Go: strategicpatch.mergeSliceWithSpecialElements).
    """
    plain = plain_keys(patch, merge_key)
    if plain is not None and not any(
        isinstance(element, dict) and MARKER in element for element in patch
    ):
        return PatchList(cast("list[JSONObject]", patch), plain, set(), replaces=False)
    elements: list[JSONObject] = []
    keys: list[ScalarKey] = []
    deleted: set[ScalarKey] = set()
    replaces = False
    for index, element in enumerate(patch):
        marker = element.get(MARKER, ABSENT) if isinstance(element, dict) else ABSENT
        if marker == REPLACE:
            replaces = True
            continue
        if marker not in (ABSENT, DELETE):
            raise unknown_marker(marker).within(index)
        key = merge_key_of(element, index, merge_key, PatchError)
        if marker == DELETE:
            deleted.add(key)
        elif isinstance(element, dict):
            elements.append(element)
            keys.append(key)
    return PatchList(elements, keys, deleted, replaces=replaces)


def unknown_marker(marker: JSON | Absent) -> PatchError:
    """Make the error for a ``$patch`` that is neither ``replace`` nor ``delete``."""
    return PatchError(
        f"{MARKER}: {marker!r} is not a directive",
        code="unknown-directive",
        path=Path((MARKER,)),
        hint=f"{REPLACE} or {DELETE}; merging needs no directive",
    )


def retained_keys(patch: PatchObject) -> set[str]:
    """Return the keys that ``$retainKeys`` lists.

    Raises PatchError where it is no list of names, or where the patch sets a key
    outside it: the server rejects such a patch (retainKeys proposal; Go:
    strategicpatch.applyRetainKeysDirective).
    """
    listed = patch.retained
    if not isinstance(listed, list):
        raise _no_names(listed)
    names: set[str] = set()
    for name in listed:
        if isinstance(name, str):
            names.add(name)
        elif type(name) not in _NO_NAMES:
            raise _no_names(listed)
    for name, value in patch.fields.items():
        if value is not None and name not in names:
            raise PatchError(
                f"the patch sets this field, but {RETAIN_KEYS} does not list it",
                code="retain-keys-mismatch",
                path=Path((name,)),
                hint=f"add {name!r} to {RETAIN_KEYS}, or leave the field out of the patch",
            )
    return names


def _no_names(listed: JSON | Absent) -> PatchError:
    return PatchError(
        f"a list of field names is expected, not {type_name(listed)}",
        code="invalid-retain-keys",
        path=Path((RETAIN_KEYS,)),
    )


def delete_element(merge_key: str, value: JSON) -> JSONObject:
    """Make the element that deletes another from a merge list."""
    return {MARKER: DELETE, merge_key: value}


def cleaned(value: JSON, *, drop_marked: bool = False) -> JSON:
    """Return a patch value as it is stored: without nulls in objects and without
    directives.

    With ``drop_marked`` whatever carries ``$patch`` goes as a whole, as in a value for
    which the live object has no place yet; without it only the word goes, as a typed
    server decodes it. The value itself comes back where nothing had to go.
    """
    if isinstance(value, dict):
        return _cleaned_object(value, drop_marked)
    return _cleaned_array(value, drop_marked) if isinstance(value, list) else value


def _cleaned_object(value: JSONObject, drop_marked: bool) -> JSONObject:
    kept: JSONObject = {}
    changed = False
    for name, member in value.items():
        if member is None or is_directive(name) or (drop_marked and is_marked(member)):
            changed = True
            continue
        kept[name] = cleaned(member, drop_marked=drop_marked)
        changed = changed or kept[name] is not member
    return kept if changed else value


def _cleaned_array(value: JSONArray, drop_marked: bool) -> JSONArray:
    kept: JSONArray = []
    changed = False
    for element in value:
        if drop_marked and is_marked(element):
            changed = True
            continue
        kept.append(cleaned(element, drop_marked=drop_marked))
        changed = changed or kept[-1] is not element
    return kept if changed else value
