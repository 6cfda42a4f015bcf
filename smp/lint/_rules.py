"""The rules on the walk: what in a document does not fit its schema, or has no effect.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from typing import Final

from smp._storage.conformance import (
    FREE_FORM,
    ConformanceInterest,
    ConformanceRule,
    is_read_leniently,
)
from smp._strategic import (
    DELETE,
    DELETIONS,
    ELEMENT_ORDER,
    MARKER,
    REPLACE,
    RETAIN_KEYS,
    check_order,
    is_directive,
)
from smp._values.quantities import read_quantity
from smp._values.values import (
    ABSENT,
    JSON,
    JSONArray,
    JSONObject,
    ScalarKey,
    as_object,
    printed,
    scalar_key,
    type_name,
)
from smp.errors import QUOTE_BOOLEANS, SmpError
from smp.hazards import Hazard, Input
from smp.lint._codes import finding
from smp.paths import Path, Step
from smp.schema.model import ANY_FIELD, Field, ListType, ObjectType, Type
from smp.schema.plan import LIST, Interests, Node
from smp.schema.walk import Place
from smp.violations import Misfit

# Elements are named by their keys, so that a reader finds them.
INTERESTS: Final = Interests(ConformanceInterest("lint"), decoded=True)
_WORDS: Final = (MARKER, RETAIN_KEYS, ELEMENT_ORDER, DELETIONS)
_IS_MARK: Final = "$"
_ROOT: Final = Path()
_QUANTITY: Final = ".Quantity"
_MOST_COMPARED: Final = 1000


class DocumentRule(ConformanceRule):
    """Finds the fields that a schema does not know, and values of a wrong type.

    Without ``shows_values`` no value is in a sentence, as of a Secret. ``within`` is
    where in an object the document stands; sentences begin their paths with it.
    """

    def __init__(
        self, source: Input, *, shows_values: bool, within: Path = _ROOT
    ) -> None:
        # Go: encoding/json decodes null to the zero value of an element, too.
        nulls = source != "patch"
        super().__init__(prunes=False, keeps_nulls=True, null_elements=nulls)
        self._within = within
        self.source: Input = source
        self.found: list[Hazard] = []
        self._shows_values = shows_values

    def add(self, code: str, path: Path, **blanks: str) -> None:
        """Note what was found at a path."""
        self.found.append(finding(code, path, self.source, **blanks))

    def scalar(self, place: Place, step: Step, value: JSON, facts: object) -> None:
        """Compare a value with the type of its field, and look for quantities."""
        super().scalar(place, step, value, facts)
        if isinstance(value, str) and isinstance(step, str):
            field = place.node.type.field(step)
            # Go: Quantity.UnmarshalJSON ignores white space around it.
            if (
                field is not None
                and field.reference.endswith(_QUANTITY)
                and read_quantity(value) is None
            ):
                self.add("invalid-quantity", place.path / step)

    def unknown(self, place: Place, name: str, value: JSON) -> bool:  # noqa: ARG002
        """Note an unknown field, with what may be meant."""
        # A directive in a patch is looked at as one.
        if self.source == "patch" and is_directive(name):
            return True
        if is_read_leniently(place):
            return True
        path = place.path / name
        self.add(
            "unknown-field",
            path,
            field=self._whole(path).decoded,
            remedy=self._instead_of(place, name),
        )
        return True

    def _instead_of(self, place: Place, name: str) -> str:
        """Say what to do about an unknown field."""
        others = as_object(place.new)
        # A field that is set as well cannot be meant. To compare names takes long, so
        # that only the first ones are compared.
        type_ = place.node.type
        free = [field.name for field in _fields(type_) if field.name not in others]
        if len(self.found) < _MOST_COMPARED:
            similar = similar_name(name, free)
            if similar:
                return f"rename it to {similar}"
        # A field of an object above, which was indented too far.
        above = place.parent
        while above is not None:
            outer = above.node.type
            if isinstance(outer, ObjectType) and outer.declares(name):
                return f"move it to {self._whole(above.path / name)}"
            above = above.parent
        # A field of one of the objects beside it, which was not indented far enough.
        below = [
            field.name
            for field in _fields(type_)
            if isinstance(field.type, ObjectType) and field.type.declares(name)
        ]
        if len(below) == 1:
            return f"move it to {self._whole(place.path / below[0] / name)}"
        return "remove it; an API server does not store it"

    def _whole(self, path: Path) -> Path:
        """Return a path of the document as one of the object that it stands in."""
        return Path((*self._within.steps, *path.steps))

    def all_found(self) -> list[Hazard]:
        """Return what was found, with the values of a wrong type."""
        for misfit in self.misfits:
            actual = misfit.actual
            if not self._shows_values:
                # "number 1.5" without its value.
                actual = actual.split()[0]
            whole = Misfit.of(self._whole(misfit.path), actual, misfit.expected)
            expected = misfit.expected
            if (expected, actual) == ("string", "boolean"):
                expected += f"; {QUOTE_BOOLEANS}"
            self.add("wrong-type", misfit.path, misfit=whole.message, expected=expected)
        return self.found


def _fields(type_: Type) -> list[Field]:
    return list(type_) if isinstance(type_, ObjectType) else []


def similar_name(name: str, candidates: list[str]) -> str:
    """Return the candidate that is most like a name; empty where none is."""
    # Imported here because faults are rare, and difflib takes time to import.
    from difflib import get_close_matches  # noqa: PLC0415  # see above

    similar = get_close_matches(name, candidates, 1)
    return similar[0] if similar else ""


class PatchRule(DocumentRule):
    """Finds what is wrong with a strategic merge patch: its directives and merge keys.

    It goes by the order of Go: mergeMap looks for ``$patch``, then ``$retainKeys``,
    then ``$setElementOrder``, then the other fields.
    """

    def enter(self, place: Place, facts: object | None) -> bool:
        """Look at the directives of an object, and the merge keys of a list."""
        if facts is FREE_FORM:
            return False
        new = place.new
        if isinstance(new, list):
            self._list(place, new)
        elif isinstance(new, dict):
            for name in new:
                if name[:1] == _IS_MARK:
                    self._directive(place, new, name)
        return True

    def unknown(self, place: Place, name: str, value: JSON) -> bool:
        """Note an unknown field; what begins with a ``$`` is looked at by enter."""
        if name[:1] == _IS_MARK:
            return True
        return super().unknown(place, name, value)

    def scalar(self, place: Place, step: Step, value: JSON, facts: object) -> None:
        """Compare a value with the type of its field; a directive has none."""
        if not (isinstance(step, str) and is_directive(step)):
            super().scalar(place, step, value, facts)

    def mismatch(self, place: Place, step: Step, value: JSON, node: Node) -> None:
        """Note a value of another JSON type; a directive has a type of its own."""
        if not (isinstance(step, str) and is_directive(step)):
            super().mismatch(place, step, value, node)

    def _directive(self, place: Place, new: JSONObject, name: str) -> None:
        """Look at one key that begins with a ``$``."""
        type_ = place.node.type
        if isinstance(type_, ObjectType) and type_.declares(name):
            # ``$ref`` and ``$schema`` of a CustomResourceDefinition.
            return
        # Two directives name a list, and two stand alone.
        word, slash, target = name.partition("/")
        is_directive_here = word in (MARKER, RETAIN_KEYS) and not slash
        if word in (ELEMENT_ORDER, DELETIONS):
            is_directive_here = bool(target)
        path = place.path / name
        if not is_directive_here:
            # Go: extractKey refuses what begins as a directive with a list; a name of a
            # map, such as a label, may begin with a ``$``.
            if is_directive(name) or type_.field(name) is None:
                remedy = "remove it"
                similar = similar_directive(name)
                if similar in (ELEMENT_ORDER, DELETIONS):
                    remedy = f"write {similar}/LIST, with the name of the list"
                elif similar:
                    remedy = f"write {similar}"
                self.add("unknown-directive", path, name=name, remedy=remedy)
            return
        if not _is_merged(place):
            # Go: mergeSliceHandler returns an atomic list of the patch as it is, and
            # mergeMapHandler an object with the strategy replace.
            self.add("directive-not-merged", path, name=name)
        elif word == MARKER:
            self._marker(place, new, path)
        elif MARKER in new:
            # Go: handleDirectiveInMergeMap reads no other directive; _marker says so.
            return
        elif word == RETAIN_KEYS:
            self._retain_keys(place, new, path)
        elif word == ELEMENT_ORDER:
            self._order(place, new, target, path)
        else:
            self._deletions(place, new, target, path)

    def _marker(self, place: Place, new: JSONObject, path: Path) -> None:
        """Look at ``$patch`` and what is beside it."""
        marker = new[MARKER]
        others = [name for name in new if name != MARKER]
        if marker not in (DELETE, REPLACE):
            remedy = f"write {REPLACE} or {DELETE}"
            if marker == "merge":
                remedy = "remove it; merging needs no directive"
            self.add(
                "unknown-directive-value", path, value=printed(marker), remedy=remedy
            )
            return
        if place.parent is None:
            self.add("directive-at-root", path, marker=str(marker))
            return
        field = _field_of(place)
        if place.index < 0:
            # Go: handleDirectiveInMergeMap returns the object of the patch for replace,
            # and an empty one for delete.
            if marker == REPLACE:
                others = [name for name in others if is_directive(name)]
                effect = "replaces the object"
                remedy = "remove it"
            else:
                effect = "empties the object"
                remedy = "write $patch: replace to set the object to these fields"
        elif marker == DELETE:
            # Go: mergeSliceWithSpecialElements looks at the merge key alone.
            others = [name for name in others if name != field.merge_key]
            effect = "deletes the element"
            remedy = f"leave only {field.merge_key} beside the directive"
        else:
            # Go: mergeSliceWithSpecialElements drops each element with this mark.
            effect = "replaces the whole list, with the other elements of the patch"
            remedy = (
                "put the directive into an element of its own, and this one beside it"
            )
        if others:
            said = {"effect": effect, "names": ", ".join(others), "remedy": remedy}
            self.add("ignored-beside-directive", path, marker=str(marker), **said)
        elif marker == DELETE and place.index < 0 and place.node.type.structured:
            self.add("empties-object", path)

    def _retain_keys(self, place: Place, new: JSONObject, path: Path) -> None:
        """Look at ``$retainKeys``, its names and the fields beside it."""
        listed = new[RETAIN_KEYS]
        names: list[str] = []
        if isinstance(listed, list):
            names = [name for name in listed if isinstance(name, str)]
        if not isinstance(listed, list) or len(names) < len(listed):
            self._not_a_list(path, RETAIN_KEYS, " of names", listed)
            return
        type_ = place.node.type
        # Go: applyRetainKeysDirective obeys it in every object that it merges.
        if place.parent is None or not _field_of(place).retain_keys:
            self.add("retain-keys-without-strategy", path)
        for name in names:
            # A name that the patch does not set is one to keep: a computed patch lists
            # all fields of the modified object (retainKeys proposal).
            if type_.field(name) is None:
                known = [field.name for field in _fields(type_)]
                similar = similar_name(name, known)
                remedy = f"write {similar}" if similar else "remove it from the list"
                self.add("retain-keys-unknown-field", path, field=name, remedy=remedy)
        # The server refuses a field that it does not list (retainKeys proposal).
        for name, value in new.items():
            if value is not None and name not in names and name[:1] != _IS_MARK:
                self.add("retain-keys-mismatch", place.path / name, field=name)

    def _order(self, place: Place, new: JSONObject, target: str, path: Path) -> None:
        """Look at ``$setElementOrder`` and the list that it orders."""
        name = f"{ELEMENT_ORDER}/{target}"
        order = new[name]
        field = place.node.type.field(target)
        problem = self._no_list(place, target)
        if not problem and field is not None and not field.merges:
            items = field.type.items
            # Go sorts scalars of any list, and panics for objects without a merge key.
            if isinstance(items, ObjectType):
                problem = f"{target} has no patch merge key"
        # Go: mergePatchIntoOriginal reads what the patch has there as a list.
        if not problem and new.get(target, ABSENT) is None:
            problem = f"{target} is null beside it"
        if problem or field is None:
            remedy = self._list_instead(place, target)
            self.add("no-list-to-order", path, name=name, reason=problem, remedy=remedy)
            return
        if not isinstance(order, list):
            self._not_a_list(path, name, "", order)
            return
        merge_key = field.merge_key
        is_complete = True
        for index, element in enumerate(order):
            if not merge_key:
                # Go: sliceElementType refuses values of another type.
                super().scalar(place, name, element, field.type.items)
            elif not isinstance(element, dict):
                is_complete = False
                self._not_a_list(path / index, name, " of objects", element)
            elif merge_key not in element:
                is_complete = False
                self._report_missing_key(path / index, merge_key, "lacks")
        elements = new.get(target)
        if is_complete and isinstance(elements, list) and field.merges:
            try:
                check_order(elements, order, merge_key)
            except SmpError as error:
                # What else is wrong with an element is found where the walk enters it.
                if error.code == "element-order-mismatch":
                    where = Path((*place.path.steps, target, *error.path.steps))
                    self.add("element-order-mismatch", where, name=name)

    def _deletions(
        self, place: Place, new: JSONObject, target: str, path: Path
    ) -> None:
        """Look at ``$deleteFromPrimitiveList`` and the list that it deletes from."""
        name = f"{DELETIONS}/{target}"
        field = place.node.type.field(target)
        problem = self._no_list(place, target)
        remedy = self._list_instead(place, target)
        if not problem and field is not None:
            items = field.type.items
            # Go: mergeSlice deletes scalars only; of objects it merges the elements.
            if isinstance(items, ObjectType):
                problem = f"{target} is a list of objects"
                if field.merge_key:
                    remedy = (
                        "delete an element with $patch: delete beside its "
                        f"{field.merge_key}"
                    )
        values = new[name]
        if problem or field is None:
            self.add(
                "no-list-to-delete-from", path, name=name, reason=problem, remedy=remedy
            )
        elif not isinstance(values, list):
            self._not_a_list(path, name, "", values)
        else:
            # Go: sliceElementType refuses values of another type than the list has.
            for value in values:
                super().scalar(place, name, value, field.type.items)

    def _no_list(self, place: Place, target: str) -> str:
        """Say why the list of a directive is none; empty where it is one."""
        type_ = place.node.type
        field = type_.field(target)
        if field is None:
            return f"{target} is no field here"
        if field is type_.others or not isinstance(field.type, ListType):
            return f"{target} is no list"
        return ""

    def _list_instead(self, place: Place, target: str) -> str:
        lists = [
            field.name
            for field in _fields(place.node.type)
            if isinstance(field.type, ListType)
        ]
        similar = similar_name(target, lists)
        return f"write {similar}" if similar not in ("", target) else "remove it"

    def _list(self, place: Place, new: JSONArray) -> None:
        """Look at the merge keys of the elements of a list that is merged."""
        if place.index >= 0 or place.parent is None or not _is_merged(place):
            return
        merge_key = _field_of(place).merge_key
        seen: set[ScalarKey] = set()
        for index, element in enumerate(new):
            # Scalars have no merge key, and a mark to replace the list needs none.
            if not merge_key or not isinstance(element, dict):
                continue
            marker = element.get(MARKER, ABSENT)
            if marker == REPLACE:
                continue
            value = element.get(merge_key, ABSENT)
            # Go: "does not contain declared merge key"; a null one is not set, and the
            # server then requires it.
            if value is ABSENT:
                self._report_missing_key(place.path / index, merge_key, "lacks")
            elif value is None:
                self._report_missing_key(place.path / index, merge_key, "sets to null")
            elif not isinstance(value, (dict, list)) and marker is ABSENT:
                key = scalar_key(value)
                if key in seen:
                    path = place.path / index
                    self.add("repeated-merge-key", path, merge_key=merge_key)
                seen.add(key)

    def _report_missing_key(self, path: Path, merge_key: str, lacks: str) -> None:
        self.add("missing-merge-key", path, merge_key=merge_key, lacks=lacks)

    def _not_a_list(self, path: Path, name: str, of: str, value: JSON) -> None:
        actual = type_name(value)
        if isinstance(value, list):
            actual = "a list of other values"
        self.add("invalid-directive", path, name=name, of=of, actual=actual)


def similar_directive(name: str) -> str:
    """Return the directive that a key may have been meant to be; empty for none."""
    return similar_name(name.partition("/")[0], list(_WORDS))


def _field_of(place: Place) -> Field:
    """Return the field that a value is in: for an element, that of its list.

    Where that is none, as of the whole object, the field has no patch strategy.
    """
    holder = place if place.index < 0 else place.parent
    if holder is not None and holder.parent is not None and holder.index < 0:
        field = holder.parent.node.type.field(holder.name)
        if field is not None:
            return field
    return ANY_FIELD


def _is_merged(place: Place) -> bool:
    """Tell whether a patch merges the value at a place, and does not replace it."""
    here = place
    while here.parent is not None:
        field = _field_of(here)
        if here.node.form == LIST:
            if here.index >= 0 or not field.merges:
                return False
        elif here.index < 0 and field.replaces:
            return False
        here = here.parent
    return True
