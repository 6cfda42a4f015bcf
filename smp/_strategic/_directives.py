"""The directives of a strategic merge patch: the only module that spells a ``$``.

A patch object is read once into its directives and its fields; the engines see no
magic key. The directives are those of Go's strategicpatch: ``$patch``, ``$retainKeys``,
``$setElementOrder/LIST`` and ``$deleteFromPrimitiveList/LIST``.
"""

from __future__ import annotations

from typing import Final, cast

from smp._strategic._ordering import element_type, keys_of, merge_key_of, plain_keys
from smp._values.steps import count_steps
from smp._values.values import (
    ABSENT,
    JSON,
    MAX_LEVELS,
    Absent,
    JSONArray,
    JSONObject,
    ScalarKey,
    require_known,
    require_plain,
    show,
    type_name,
)
from smp.errors import ObjectError, PatchError, SmpError
from smp.paths import Path
from smp.schema.model import RAW, Field, Type

MARKER: Final = "$patch"
DELETE: Final = "delete"
REPLACE: Final = "replace"
RETAIN_KEYS: Final = "$retainKeys"
ELEMENT_ORDER: Final = "$setElementOrder"
DELETIONS: Final = "$deleteFromPrimitiveList"
_PREFIXES: Final = (ELEMENT_ORDER, DELETIONS)
# Shared by all patch objects without such a directive, and never changed.
_NO_DIRECTIVES: Final[JSONObject] = {}


class PatchObject:
    """One object of a patch, split into its fields and its directives.

    ``marker`` is the value of ``$patch``, ``retained`` that of ``$retainKeys``;
    ``orders`` and ``deletions`` map the name of a list to its order directive and to
    the values to delete from it.
    """

    __slots__ = ("deletions", "fields", "marker", "orders", "retained")

    def __init__(self, fields: JSONObject, retained: JSON | Absent = ABSENT) -> None:
        self.fields: JSONObject = fields
        self.marker: JSON | Absent = ABSENT
        self.retained: JSON | Absent = retained
        self.orders: JSONObject = _NO_DIRECTIVES
        self.deletions: JSONObject = _NO_DIRECTIVES


class PatchList:
    """A merge list of objects in a patch.

    ``elements``, with their ``keys``, are to be merged; live elements with one of the
    ``deleted`` keys are to be deleted; ``replaces`` drops all live elements.
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
    return f"{ELEMENT_ORDER}/{name}"


def deletions_from(name: str) -> str:
    """Name the directive that deletes values from a list of scalars."""
    return f"{DELETIONS}/{name}"


def list_deleted_from(name: str) -> str:
    """Return the list that a directive deletes from; empty for any other key."""
    directive, _, target = name.partition("/")
    return target if directive == DELETIONS else ""


def field_of(name: str) -> str:
    """Return the field that a key is for: the list of a directive, or the key."""
    directive, _, target = name.partition("/")
    return target if directive in _PREFIXES else name


def is_directive(name: str) -> bool:
    """Tell whether a key is a directive and not a field."""
    if not name or name[0] != "$":
        return False
    return name in (MARKER, RETAIN_KEYS) or name.startswith(_PREFIXES)


def directive_as_field(name: str) -> ObjectError:
    """Make the error for a field that is named as a directive, where it differs.

    In a patch its name would be the directive (docs/deviations.md, 23).
    """
    return ObjectError(
        f"a patch cannot set, change or delete a field {name!r}: to a server that is "
        "a directive",
        code="directive-as-field",
        hint="leave it out; a computed patch has the directives that it needs",
    )


def check_names(value: JSON, type_: Type, levels: int, *, is_new: bool) -> None:
    """Check a value of an object that a patch is to have as it is.

    ``is_new`` says that live has no value of its type there. Raises ObjectError for a
    field that is named as a directive, but for those in opaque JSON that a server
    stores; RecursionError for more levels.
    """
    is_raw = type_.stored is RAW
    if is_raw and not is_new:
        return
    if isinstance(value, (dict, list)) and not levels:
        raise RecursionError
    step: str | int = 0
    try:
        if isinstance(value, dict):
            for name, member in value.items():
                step = name
                # Go: removeDirectives, of what is new, drops an object with a $patch.
                if is_directive(name) and (not is_raw or name == MARKER):
                    raise directive_as_field(name)
                if isinstance(member, (dict, list)):
                    below = type_.stored_member(name)
                    check_names(member, below, levels - 1, is_new=is_new)
        elif isinstance(value, list):
            for index, element in enumerate(value):
                step = index
                if isinstance(element, (dict, list)):
                    below = type_.stored_element()
                    check_names(element, below, levels - 1, is_new=is_new)
    except SmpError as error:
        raise error.within(step) from None


def is_marked(value: JSON) -> bool:
    """Tell whether a value is an object with a ``$patch`` that is not null.

    A null there has no effect (docs/deviations.md, 19).
    """
    return isinstance(value, dict) and value.get(MARKER) is not None


def read_object(patch: JSONObject) -> PatchObject:
    """Split an object of a patch into fields and directives.

    Raises PatchError for a directive that does not name its list.
    """
    return read_directives(patch) if has_directives(patch) else PatchObject(patch)


def has_directives(patch: JSONObject) -> bool:
    """Tell whether an object of a patch may have directives: any key with a ``$``."""
    # Most objects have none, and the first character of each key is enough to tell.
    for name in patch:  # noqa: SIM110  # any() makes a generator, on a hot path
        if name and name[0] == "$":
            return True
    return False


def read_directives(patch: JSONObject) -> PatchObject:
    """Split an object of a patch that may have directives; see read_object."""
    # Go's mergeMap looks for $patch first; handleDirectiveInMergeMap ignores all other
    # directives of the object.
    if MARKER in patch:
        marked = PatchObject(patch)
        marked.marker = patch[MARKER]
        return marked
    fields: JSONObject = {}
    parts = PatchObject(fields)
    for name, value in patch.items():
        if not name or name[0] != "$":
            fields[name] = value
        elif name == RETAIN_KEYS:
            parts.retained = value
        elif name.startswith(ELEMENT_ORDER):
            if parts.orders is _NO_DIRECTIVES:
                parts.orders = {}
            ordered = _list_name(name, ELEMENT_ORDER, "invalid-element-order")
            parts.orders[ordered] = value
        elif name.startswith(DELETIONS):
            if parts.deletions is _NO_DIRECTIVES:
                parts.deletions = {}
            shortened = _list_name(name, DELETIONS, "invalid-deletion-list")
            parts.deletions[shortened] = value
        else:
            fields[name] = value
    return parts


def _list_name(name: str, prefix: str, code: str) -> str:
    # As in Go's extractKey, a key that starts like a directive has to be one.
    directive, slash, target = name.partition("/")
    if directive != prefix or not slash:
        raise PatchError(
            f"{name!r} is not a directive",
            code=code,
            path=Path((name,)),
            hint=f"{prefix}/<list>",
        )
    return target


def read_list(patch: JSONArray, field: Field) -> PatchList:
    """Split the elements of a merge list of objects by their ``$patch`` markers.

    Raises PatchError for an unknown marker, and for an element without its merge key.
    Go: strategicpatch.mergeSliceWithSpecialElements.
    """
    merge_key = field.merge_key
    plain = plain_keys(patch, merge_key)
    if plain is not None and not _has_marked_elements(patch):
        return PatchList(cast("list[JSONObject]", patch), plain, set(), replaces=False)
    elements: list[JSONObject] = []
    keys: list[ScalarKey] = []
    deleted: set[ScalarKey] = set()
    replaces = False
    for index, element in enumerate(patch):
        if not isinstance(element, dict):
            require_plain(element)
        marker = element.get(MARKER, ABSENT) if isinstance(element, dict) else ABSENT
        if marker is not ABSENT:
            # The fields of such an element are not merged.
            try:
                check_retained(element, field.type.items)
            except SmpError as error:
                raise error.within(index) from None
        if marker == REPLACE:
            # One such element replaces the whole list; its other fields are ignored.
            replaces = True
            continue
        # Go: "merging lists cannot yet be specified in the patch" for ``merge``.
        if marker is not ABSENT and marker != DELETE:
            raise unknown_marker(marker).within(index)
        key = merge_key_of(element, index, merge_key, PatchError)
        if marker == DELETE:
            deleted.add(key)
        elif isinstance(element, dict):
            elements.append(element)
            keys.append(key)
    return PatchList(elements, keys, deleted, replaces=replaces)


def _has_marked_elements(elements: JSONArray) -> bool:
    for element in elements:  # noqa: SIM110  # any() makes a generator, on a hot path
        if isinstance(element, dict) and MARKER in element:
            return True
    return False


def unknown_marker(marker: JSON | Absent) -> PatchError:
    """Make the error for a ``$patch`` that is neither ``replace`` nor ``delete``."""
    return PatchError(
        f"{MARKER}: {show(marker)} is not a directive",
        code="unknown-directive",
        path=Path((MARKER,)),
        hint=f"{REPLACE} or {DELETE}; merging needs no directive",
    )


def retain_keys(patch: PatchObject) -> set[str]:
    """Return the keys that ``$retainKeys`` lists.

    Raises PatchError where it is not a list of names, or where the patch sets a key
    outside it: a server rejects such a patch (retainKeys proposal). Go:
    strategicpatch.applyRetainKeysDirective.
    """
    listed = patch.retained
    if not isinstance(listed, list):
        require_plain(listed)
        raise _not_names(listed)
    names: set[str] = set()
    for name in listed:
        if isinstance(name, str):
            names.add(name)
        elif isinstance(name, (dict, list)):
            # Go uses the values as keys of a map: it panics for these, while a number,
            # a boolean or a null is a key that no name equals.
            raise _not_names(listed)
    for name, value in patch.fields.items():
        if value is not None and name not in names:
            raise PatchError(
                f"the patch sets this field, but {RETAIN_KEYS} does not list it",
                code="retain-keys-mismatch",
                path=Path((name,)),
                hint=f"add {name!r} to {RETAIN_KEYS}, or leave the field out of the "
                "patch",
            )
    return names


def check_retained(value: JSON, type_: Type, levels: int = MAX_LEVELS) -> None:
    """Check each ``$retainKeys`` in a part of a patch that is not merged.

    "The server will reject the patch" if it has fields that its list lacks
    (retainKeys proposal). Go looks at a list only where it merges the object beside it,
    so whether it rejects a patch depends on the live object (docs/deviations.md, 22).
    In opaque JSON the word is data. Raises PatchError as retained_keys does, and
    RecursionError.
    """
    if not levels:
        raise RecursionError
    if type_.stored is RAW:
        return
    if isinstance(value, dict) and RETAIN_KEYS in value:
        _check_retained_here(value)
    step: str | int = 0
    try:
        if isinstance(value, dict):
            for name, member in value.items():
                if isinstance(member, (dict, list)) and not is_directive(name):
                    step = name
                    check_retained(member, type_.stored_member(name), levels - 1)
        elif isinstance(value, list):
            for index, element in enumerate(value):
                step = index
                check_retained(element, type_.stored_element(), levels - 1)
    except SmpError as error:
        raise error.within(step) from None


def _check_retained_here(patch: JSONObject) -> None:
    """Check the ``$retainKeys`` of one object against the fields beside it."""
    fields = {name: patch[name] for name in patch if not is_directive(name)}
    retain_keys(PatchObject(fields, retained=patch[RETAIN_KEYS]))


def _not_names(listed: JSON | Absent) -> PatchError:
    return PatchError(
        f"a list of field names is expected, not {type_name(listed)}",
        code="invalid-retain-keys",
        path=Path((RETAIN_KEYS,)),
    )


def check_order(elements: JSONArray, order: JSONArray, merge_key: str) -> None:
    """Check a list of a patch against its order directive.

    Each element that the patch merges must be in the directive, in the same relative
    order. Raises PatchError where one is not. Go:
    strategicpatch.validatePatchWithSetOrderList.
    """
    has_marks = _has_marked_elements(elements)
    if has_marks and merge_key:
        # Elements to delete have no place in the order (Go: extractToDeleteItems).
        elements = [
            element
            for element in elements
            if not (isinstance(element, dict) and element.get(MARKER) == DELETE)
        ]
    if not order or not elements:
        return
    wanted = keys_of(order, merge_key, PatchError)
    if not has_marks and wanted == plain_keys(elements, merge_key):
        return
    # Go compares the values one by one: the directive may list values of other types,
    # which the list then does not have.
    element_type(elements, error=PatchError)
    # One pass over both lists; the directive may have further elements in between.
    at = 0
    for index, element in enumerate(elements):
        if at == len(wanted):
            raise _make_order_error(index)
        if isinstance(element, dict) and MARKER in element:
            continue
        key = keys_of([element], merge_key, PatchError)[0]
        while at < len(wanted) and wanted[at] != key:
            at += 1
        if at == len(wanted):
            raise _make_order_error(index)
        at += 1


def is_in_order(elements: JSONArray, wanted: list[ScalarKey], merge_key: str) -> bool:
    """Tell whether a server takes a list that this library computed beside its order.

    As check_order, for elements that have their merge key.
    """
    at = 0
    for element in elements:
        if isinstance(element, dict) and element.get(MARKER) == DELETE:
            continue
        key = keys_of([element], merge_key)[0]
        while at < len(wanted) and wanted[at] != key:
            at += 1
        if at == len(wanted):
            return False
        at += 1
    return True


def _make_order_error(index: int) -> PatchError:
    return PatchError(
        "the order directive of this list does not have this element here",
        code="element-order-mismatch",
        hint="each element that the patch merges must be in the order directive, in "
        "the same relative order",
    ).within(index)


def delete_element(merge_key: str, value: JSON) -> JSONObject:
    """Make the element that deletes another from a merge list.

    Go: strategicpatch.CreateDeleteDirective.
    """
    return {MARKER: DELETE, merge_key: value}


def clean(value: JSON, type_: Type, *, drop_marked: bool = False) -> JSON:
    """Return a patch value as it is stored: no nulls in objects, no directives.

    With ``drop_marked`` objects with a ``$patch`` are dropped as a whole, as in a value
    that is new to the live object (Go: removeDirectives, discardNullValuesFromPatch).
    Without it only the directive is dropped, as a typed server does when it decodes the
    merged JSON (docs/deviations.md, 1); opaque JSON it stores as it is. Returns the
    value itself if nothing is dropped. Raises PatchError for a ``$retainKeys`` anywhere
    in it that lacks a field beside it, and RecursionError.
    """
    # Most values have nothing to drop, and no type of theirs is asked for.
    if not _may_drop(value, MAX_LEVELS):
        return value
    return _drop(value, type_, MAX_LEVELS, drop_marked=drop_marked)


def _may_drop(value: JSON, levels: int) -> bool:
    """Tell whether a value has a null, or a name that begins as a directive does."""
    if not levels:
        raise RecursionError
    if isinstance(value, dict):
        count_steps(len(value))
        for name, member in value.items():
            if member is None or (name and name[0] == "$"):
                return True
            if type(member) is not str and _may_drop(member, levels - 1):
                return True
        return False
    if isinstance(value, list):
        count_steps(len(value))
        for element in value:  # any() makes a generator, on a hot path
            if type(element) is not str and _may_drop(element, levels - 1):
                return True
        return False
    require_known(value)
    return False


def _drop(value: JSON, type_: Type, levels: int, *, drop_marked: bool) -> JSON:
    """Return a value without what is not stored of it; see ``clean``."""
    if not levels:
        raise RecursionError
    if isinstance(value, dict):
        count_steps(len(value))
        return _members_stored(value, type_, levels, drop_marked=drop_marked)
    if not isinstance(value, list):
        require_known(value)
        return value
    count_steps(len(value))
    changed = False
    elements: JSONArray = []
    items = type_.stored_element()
    for index, element in enumerate(value):
        try:
            if drop_marked and is_marked(element):
                check_retained(element, items)
                changed = True
                continue
            kept = _drop(element, items, levels - 1, drop_marked=drop_marked)
        except SmpError as error:
            raise error.within(index) from None
        elements.append(kept)
        if kept is not element:
            changed = True
    return elements if changed else value


def _members_stored(
    value: JSONObject, type_: Type, levels: int, *, drop_marked: bool
) -> JSONObject:
    is_raw = type_.stored is RAW
    if RETAIN_KEYS in value and not is_raw:
        _check_retained_here(value)
    changed = False
    fields: JSONObject = {}
    for name, member in value.items():
        is_kept = is_raw or not is_directive(name)
        if member is None:
            # Go: discardNullValuesFromPatch, of what is new.
            is_kept = is_raw and not drop_marked
        if not is_kept:
            changed = True
            continue
        try:
            below = type_.stored_member(name)
            if drop_marked and is_marked(member):
                check_retained(member, below)
                changed = True
                continue
            kept = _drop(member, below, levels - 1, drop_marked=drop_marked)
        except SmpError as error:
            raise error.within(name) from None
        fields[name] = kept
        if kept is not member:
            changed = True
    return fields if changed else value
