"""What makes an apply safe: edits of its inputs, whole lists, and a resourceVersion.

An apply of edited inputs does without a hazard what the configuration asks for:

- a list or an object that the manifest no longer has is there, and empty: what was
  applied is removed, and what others put into it stays;
- an element that would stay under its old key, and that no server takes beside the new
  one, is in the last-applied configuration, so it is removed;
- both fields of a pair that a server takes for one another change together.

Where a patch merge key stands for several elements no input helps, and the patch
replaces the list (smp._strategic.add_whole_lists). As the values of others are in such
a patch, it has the resourceVersion of the live object: a server answers 409 where
another client has written in the meantime (Go: apimachinery, rest.BeforeUpdate and
etcd3.GuaranteedUpdate).
"""

from __future__ import annotations

from typing import Final

from smp._values.api_objects import metadata_of, set_metadata
from smp._values.values import ABSENT, JSONObject, as_list, as_object, same, show
from smp.errors import ApplyWarning, SmpError
from smp.hazards._changes import second_key
from smp.hazards._hazard import REPEATED_KEYS, Hazard
from smp.hazards._pairs import PAIRS, UNIQUE_KEYS
from smp.paths import Element, Path, edited, value_at
from smp.schema.model import ANY_FIELD, ObjectType, Schema

# An apply of edited inputs may have hazards further down.
MOST_ROUNDS: Final = 20
_VERSION: Final = Path(("metadata", "resourceVersion"))
_EMPTY: Final[dict[str, str]] = {"lost-with-list": "[]", "lost-with-object": "{}"}
_UNGUARDED: Final = (
    "the live object has no resourceVersion, so what others write in the meantime is "
    "overwritten"
)
_REMOVED: Final = (
    "the patch removes the metadata, so it has no resourceVersion, and what others "
    "write in the meantime is overwritten"
)
# The other field of each pair.
_PAIR_OF: Final = {
    name: (pair.other if name == pair.field else pair.field)
    for pairs in PAIRS.values()
    for pair in pairs
    for name in (pair.field, pair.other)
}


class Repair:
    """Edited inputs of an apply, and what was done to them, as warnings."""

    def __init__(
        self,
        last_applied: JSONObject | None,
        modified: JSONObject,
        live: JSONObject,
        schema: Schema,
    ) -> None:
        # A configuration may have had a version once; to remove it would remove the
        # guard of the patch.
        self.last_applied: JSONObject | None = last_applied
        if last_applied is not None and value_at(modified, _VERSION) is ABSENT:
            self.last_applied = edited(last_applied, _VERSION, ABSENT)
        self.modified: JSONObject = modified
        self.warnings: list[ApplyWarning] = []
        # Where an edit, or a list as a whole, led to inputs that cannot be applied.
        self.refused: set[str] = set()
        self._edited: list[Path] = []
        self._live = live
        self._schema = schema
        self._replaced: list[Path] = []
        self._before = (self.last_applied, modified, 0)

    def edit(self, hazards: list[Hazard]) -> bool:
        """Edit the inputs so that there are no such hazards; tell whether it did."""
        count = len(self.warnings)
        self._before = (self.last_applied, self.modified, count)
        self._edited = []
        for each in hazards:
            path = each.path
            if self.refused and str(path) in self.refused:
                continue
            done = len(self.warnings)
            self._edit_for(each)
            if len(self.warnings) > done:
                self._edited.append(path)
        return len(self.warnings) > count

    def _edit_for(self, each: Hazard) -> None:
        """Edit the inputs for one hazard, where there is a safe way."""
        path = each.path
        if each.code in _EMPTY and each.severity != "note":
            if not self.is_merged(path):
                return
            # Of what is there and empty, only what was applied is removed.
            is_list = each.code == "lost-with-list"
            self.modified = edited(self.modified, path, [] if is_list else {})
            what = f"taken for {_EMPTY[each.code]}: only what was applied is removed"
            self._did(path, what)
        elif each.code == "key-changed" and self.last_applied is not None:
            # A deletion goes by the key: it would take other elements as well.
            if not self.is_only_in_live(path):
                return
            # What a server takes beside the new element may be that of others.
            if not self.is_refused(path):
                return
            # What is in the last-applied configuration is removed.
            element = value_at(self._live, path)
            self.last_applied = edited(self.last_applied, path, element)
            self._did(path, "removed, as the manifest has it under another key")
        elif each.code in ("pair-ignored", "pair-restored"):
            # The other field of the pair gets the same value, or goes as well.
            value = None
            if each.code == "pair-ignored":
                value = value_at(self.modified, path)
                # The one that counts is the first of the others.
                value = value[0] if isinstance(value, list) else value
            here = Path((*path.steps[:-1], _PAIR_OF[str(path.steps[-1])]))
            self.modified = edited(self.modified, here, value)
            what = "removed" if value is None else f"set to {show(value)}"
            self._did(here, f"{what}, as {path.steps[-1]} is")
        elif each.code == "write-only":
            # The server has it under the other name.
            here = Path(("data", str(path.steps[-1])))
            self.modified = edited(self.modified, here, None)
            self._did(here, f"removed with {path}")

    def refuse(self, path: Path) -> bool:
        """Take back the last edits, as the apply failed at a path.

        What is likely to be the reason is not tried again: the edits beside the path,
        else the lists around it, else all of the edits. Returns whether there is any.
        """
        self.last_applied, self.modified, count = self._before
        del self.warnings[count:]
        around = {str(Path(path.steps[:n])) for n in range(len(path.steps) + 1)}
        # The members of a union are beside one another.
        beside = {
            str(each) for each in self._edited if str(Path(each.steps[:-1])) in around
        }
        for reasons in (beside, around, {str(each) for each in self._edited}):
            if reasons - self.refused:
                self.refused |= reasons
                return True
        return False

    def not_repaired(self, hazards: list[Hazard]) -> list[Hazard]:
        """Return the hazards of keys that are not in a list that the patch replaces."""
        replaced = [str(path) for path in self._replaced]
        return [
            each
            for each in hazards
            if each.code not in REPEATED_KEYS
            or str(Path(each.path.steps[:-1])) not in replaced
        ]

    def replaced(self, paths: list[Path]) -> None:
        """Note which lists a patch replaces because of their merge keys."""
        self._replaced = paths
        for path in paths:
            self._did(path, "sent as a whole, merged by all keys of its elements")

    def is_only_in_live(self, path: Path) -> bool:
        """Tell whether the key of an element stands for it alone in all inputs."""
        step = path.steps[-1]
        if not isinstance(step, Element):
            return False
        count = 0
        for obj in (self._live, self.last_applied, self.modified):
            for element in as_list(value_at(obj or {}, Path(path.steps[:-1]))):
                key = as_object(element).get(step.merge_key)
                count += same(key, step.value)
        return count == 1

    def is_refused(self, path: Path) -> bool:
        """Tell whether no server takes an element beside those of the manifest."""
        around = Path(path.steps[:-1])
        names = [step for step in around.steps if isinstance(step, str)]
        items = self._schema.descend(*names).type.items
        if not isinstance(items, ObjectType):
            return False
        element = as_object(value_at(self._live, path))
        for fields in UNIQUE_KEYS.get(items.name.rpartition(".")[2], ()):
            key = second_key(element, fields)
            for other in as_list(value_at(self.modified, around)):
                if key is not None and second_key(as_object(other), fields) == key:
                    return True
        return False

    def is_merged(self, path: Path) -> bool:
        """Tell whether an empty list or object leaves there what others have."""
        names = [step for step in path.steps if isinstance(step, str)]
        try:
            field = self._schema.descend(*names)
        except SmpError:
            # RFC 7396 merges objects only.
            field = ANY_FIELD
        is_list = isinstance(value_at(self._live, path), list)
        return field.merges if is_list else not field.replaces

    def _did(self, path: Path, what: str) -> None:
        self.warnings.append(ApplyWarning("repaired", path, what))

    def guarded(self, patch: JSONObject) -> JSONObject:
        """Return a patch that a server takes only if live has not changed since."""
        version = as_object(self._live.get("metadata")).get("resourceVersion")
        is_removed = "metadata" in patch and patch["metadata"] is None
        if not version or is_removed:
            problem = _REMOVED if is_removed else _UNGUARDED
            self.warnings.append(ApplyWarning("unguarded", _VERSION, problem))
            return patch
        # The manifest may ask for a version itself.
        if "resourceVersion" in metadata_of(patch):
            return patch
        return set_metadata(patch, resourceVersion=version)
