"""The ways to apply a manifest, each run on the objects at hand."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import Final

import msgspec

from smp import _strategic as strategic
from smp._storage.immutable import find_changed_immutable_fields
from smp._storage.update import as_stored, find_other_identity
from smp._values.api_objects import annotations_of, metadata_of, set_metadata
from smp._values.last_applied import LAST_APPLIED, with_last_applied
from smp._values.values import JSON, JSONObject, as_list, as_object
from smp.errors import SmpError
from smp.explain._causes import Edit, Way
from smp.hazards import Policy
from smp.managed_fields import ApplyConflictError, Step, simulate
from smp.paths import Path, edited, value_at
from smp.schema.model import ObjectType, Schema
from smp.schema.sides import BASE, LIVE, MANIFEST, Sides
from smp.three_way import ApplyInputs, ThreeWayOptions, apply_inputs
from smp.unions import validate_unions

# The manager of kubectl apply --server-side.
_MANAGER: Final = "kubectl"
# The rules of unions that are refused are those of servers, which normalize nothing.
_OFF: Final = "off"
# What an update keeps of the live object (Go: rest.BeforeUpdate).
_KEPT: Final = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "namespace",
    "resourceVersion",
    "uid",
)


class Ways:
    """The ways to apply a manifest to a live object, and what each of them leads to.

    ``is_clean`` says that the three-way apply of the inputs is neither refused nor
    falls short. The other ways are run once, when they are first asked for.
    """

    def __init__(
        self,
        inputs: ApplyInputs,
        schema: Schema,
        options: ThreeWayOptions,
        *,
        is_clean: bool,
    ) -> None:
        self.inputs = inputs
        self.schema = schema
        # A remedy of a repaired apply is one of a repaired apply.
        policy: Policy = "repair" if options.hazards == "repair" else "ignore"
        self._options = msgspec.structs.replace(options, hazards=policy)
        self._is_clean = is_clean
        self._wrong_part: Path | None = None

    def apply_edited(self, sides: Sides, edits: tuple[Edit, ...]) -> JSONObject | None:
        """Return what an apply of edited inputs leads to, as far as a path goes.

        None where it is refused or falls short. An apply merges each member of an
        object, and each element of a merge list, by itself (Go: strategicpatch.mergeMap
        and mergeSliceWithoutSpecialElements), so it is one of the part that the path
        and the edits are in.
        """
        part = self._part_at(sides)
        obj = self._apply(_add_edits(part, edits))
        if obj is None or self._is_clean:
            return obj
        # What is wrong in one part stays so where another one is edited.
        path = _part_path(sides)
        if self._wrong_part not in (None, path):
            return None
        if self._wrong_part is None and self._apply(part) is None:
            self._wrong_part = path
        return self._apply(_add_edits(self.inputs, edits))

    def _apply(self, inputs: ApplyInputs) -> JSONObject | None:
        """Return what kubectl apply leads to; None where it is refused or falls short.

        An edited input may be refused: it sets two members of a union. What is nested
        deeply has been applied before, but the stack may have no room for it down here.
        """
        try:
            result = apply_inputs(inputs, self.schema, self._options)
        except (SmpError, RecursionError):
            return None
        return None if result.unmet or result.violations else result.object

    def _part_at(self, sides: Sides) -> ApplyInputs:
        """Return the inputs without other elements of the merge lists on the way."""
        places: list[Sides] = []
        place = sides
        while place.parent is not None:
            places.append(place)
            place = place.parent
        places.reverse()
        inputs = self.inputs
        base = inputs.last_applied
        return ApplyInputs(
            None if base is None else as_object(_cut(base, places, BASE)),
            as_object(_cut(inputs.manifest, places, MANIFEST)),
            as_object(_cut(inputs.live, places, LIVE)),
        )

    @cached_property
    def others(self) -> list[tuple[Way, JSONObject]]:
        """The other ways that lead to all that the manifest asks for."""
        found: list[tuple[Way, JSONObject]] = []
        for run in (self._server_side, self._run_replace):
            # The server may refuse this way.
            with suppress(SmpError):
                way, obj = run()
                if self._is_reached(obj):
                    found.append((way, obj))
        return found

    def _server_side(self) -> tuple[Way, JSONObject]:
        """Run ``kubectl apply --server-side``, forced where it has conflicts."""
        live = self.inputs.live
        if not metadata_of(live).get("managedFields"):
            # Without managed fields it is not known who owns what.
            raise SmpError("the object has no managed fields", code="no-owners")
        annotations = annotations_of(live)
        if self.inputs.last_applied is not None and LAST_APPLIED not in annotations:
            # What was applied is in the annotation that kubectl looks for.
            applied = annotations_of(with_last_applied(self.inputs.last_applied))
            annotations = {**annotations, LAST_APPLIED: applied[LAST_APPLIED]}
            live = set_metadata(live, annotations=annotations)
        way: Way = "server-side"
        step = Step(_MANAGER, self.inputs.manifest, "kubectl apply")
        (state,) = simulate(live, [step], self.schema, profile=_OFF).states
        if isinstance(state.error, ApplyConflictError):
            way = "forced server-side"
            step = msgspec.structs.replace(step, force=True)
            (state,) = simulate(live, [step], self.schema, profile=_OFF).states
        if state.error is not None:
            raise state.error
        return way, as_object(state.object)

    def _run_replace(self) -> tuple[Way, JSONObject]:
        """Run ``kubectl replace``: the manifest is the object, with its defaults."""
        before = metadata_of(self.inputs.live)
        kept: JSONObject = {name: before[name] for name in _KEPT if name in before}
        metadata: JSONObject = {**kept, **metadata_of(self.inputs.manifest)}
        new: JSONObject = {**self.inputs.manifest, "metadata": metadata}
        if "status" in self.inputs.live:
            # The status is written through its subresource only.
            new["status"] = self.inputs.live["status"]
        return "replace", as_stored(new, None, self.schema, profile=_OFF)

    def _is_reached(self, obj: JSONObject) -> bool:
        """Tell whether a server accepts an object, and the manifest holds in it."""
        if find_other_identity(self.inputs.live, obj):
            return False
        if find_changed_immutable_fields(self.inputs.live, obj, self.schema):
            return False
        if validate_unions(self.inputs.live, obj, self.schema, ratchet=True):
            return False
        unmet = strategic.unmet_paths({}, self.inputs.manifest, obj, self.schema)
        # A zero value need not be stored.
        return not any(value_at(self.inputs.manifest, path) for path in unmet)


def _cut(value: JSON, places: list[Sides], side: int) -> JSON:
    """Return a value without what is beside the way to a place, in lists and maps."""
    if not places:
        return value
    place, rest = places[0], places[1:]
    if not place.indexes:
        if not isinstance(value, dict) or place.name not in value:
            return {} if _is_in_map(place) else value
        member = value[place.name]
        below = _cut(member, rest, side)
        if _is_in_map(place):
            return {place.name: below}
        return value if below is member else {**value, place.name: below}
    if not _is_alone(place):
        return value
    index = place.indexes[side]
    return [] if index < 0 else [_cut(as_list(value)[index], rest, side)]


def _part_path(sides: Sides) -> Path:
    """Return the path of the innermost part that a place is in."""
    place = sides
    while place.parent is not None:
        if _is_alone(place) if place.indexes else _is_in_map(place):
            break
        place = place.parent
    return place.path


def _is_in_map(place: Sides) -> bool:
    """Tell whether a member is one of a map, such as labels."""
    type_ = place.parent.type if place.parent is not None else None
    if not isinstance(type_, ObjectType) or type_.others is None:
        return False
    return type_.field(place.name) is type_.others


def _is_alone(place: Sides) -> bool:
    """Tell whether an element of a list is the only one of its patch merge key."""
    pairing = place.pairing
    return pairing is not None and pairing.is_unique and not pairing.repeated


def _add_edits(inputs: ApplyInputs, edits: tuple[Edit, ...]) -> ApplyInputs:
    base, manifest = inputs.last_applied, inputs.manifest
    for edit in edits:
        if edit.input == "manifest":
            manifest = edited(manifest, edit.path, edit.value)
        else:
            base = edited(base or {}, edit.path, edit.value)
    return ApplyInputs(base, manifest, inputs.live)
