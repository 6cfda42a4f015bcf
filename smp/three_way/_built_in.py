"""The three-way apply of a kind for which a server takes strategic merge patches."""

from __future__ import annotations

from typing import Final

import msgspec

from smp import _strategic as strategic
from smp._storage.update import drop_by_strategy, drop_status
from smp._strategic import KUBECTL_PRECONDITIONS, ComputedPatch
from smp._values.last_applied import ApplyInputs
from smp._values.values import JSONObject
from smp.errors import ApplyWarning, SmpError
from smp.hazards import (
    MOST_ROUNDS,
    REPEATED_KEYS,
    Hazard,
    Repair,
    change_hazards,
    input_hazards,
    is_serious,
)
from smp.paths import Path
from smp.three_way._phases import Apply, Merged, has_generated_status


class StrategicApply(Apply):
    """The apply of a kind for which a server takes strategic merge patches."""

    def _merge(self, inputs: ApplyInputs, repair: Repair | None = None) -> Merged:
        """Compute the patch, apply it, and normalize unions as a server may do.

        With a repair the patch replaces lists whose merge keys are ambiguous.
        """
        base, manifest, live = inputs.last_applied, inputs.manifest, inputs.live
        schema = self._lenient
        computed = strategic.compute_patch(
            inputs,
            schema,
            overwrite=self._options.overwrite,
            preconditions=KUBECTL_PRECONDITIONS,
            notes_met=True,
        )
        patch, replaced, leftovers = self._clean_patch(inputs, computed, repair)
        # What an API server does with it: apply, normalize, validate.
        patched = strategic.apply_patch(live, patch, schema)
        update = self._update(patched, patch, manifest)
        result = update.object
        if update.changes:
            # Servers of today normalize nothing, so the patch has to do it.
            patch = strategic.amend_patch(patch, live, patched, result, schema.type)
            result = strategic.apply_patch(live, patch, schema)
        without_status = drop_status(result, manifest, schema, live)
        has_status = without_status is result
        if not has_status:
            # A server does not look at it, and a patch without it does the same.
            result = without_status
            patch = {name: patch[name] for name in patch if name != "status"}
        kept = drop_by_strategy(result, schema, live)
        unmet: tuple[Path, ...] = ()
        if not computed.exact or repair is not None or kept is not patched:
            # Where nothing is to be deleted, nothing can be left.
            applied = base if base and computed.deletes else {}
            unmet = strategic.unmet_paths(applied, manifest, kept, schema, computed)
        if not has_status and has_generated_status(manifest):
            unmet = tuple([path for path in unmet if path.steps[0] != "status"])
        return Merged(
            # What kubectl sends besides changes nothing.
            strategic.add_whole_objects(computed.patch, manifest, live, schema),
            patch,
            result,
            kept,
            update,
            unmet,
            tuple([_leftover_warning(path) for path in leftovers]),
            tuple(replaced),
            computed.equal,
        )

    def _clean_patch(
        self, inputs: ApplyInputs, computed: ComputedPatch, repair: Repair | None
    ) -> tuple[JSONObject, list[Path], list[Path]]:
        """Return the patch for a server, the lists it replaces, and what was left out.

        What is left out are directives in values that are new to live.
        """
        patch, live, schema = computed.patch, inputs.live, self._lenient
        replaced: list[Path] = []
        if repair is not None:
            patch, replaced = strategic.add_whole_lists(
                patch, inputs, schema, repair.refused
            )
        leftovers: list[Path] = []
        # A deletion can also become a part of a new element of the same merge key.
        if computed.deletes_in_new or computed.ambiguous:
            patch, leftovers = strategic.drop_leftovers(live, patch, schema)
        return patch, replaced, leftovers

    def _find_hazards(self, inputs: ApplyInputs, merged: Merged) -> list[Hazard]:
        of_inputs = self._find_input_hazards(inputs, merged)
        has_unique_keys = all(each.code not in REPEATED_KEYS for each in of_inputs)
        losses = self._find_losses(inputs, merged, has_unique_keys=has_unique_keys)
        return [*of_inputs, *losses]

    def _find_input_hazards(self, inputs: ApplyInputs, merged: Merged) -> list[Hazard]:
        base, manifest, live = inputs.last_applied, inputs.manifest, inputs.live
        return input_hazards(base, manifest, live, self._lenient, merged.equal)

    def _find_losses(
        self, inputs: ApplyInputs, merged: Merged, *, has_unique_keys: bool = False
    ) -> list[Hazard]:
        return change_hazards(
            inputs,
            merged.object,
            self._lenient,
            [change.path for change in merged.update.changes],
            has_unique_keys=has_unique_keys,
        )

    def _repair(
        self, merged: Merged, hazards: list[Hazard]
    ) -> tuple[Merged, list[Hazard]]:
        """Edit the inputs until what an apply loses is what was asked for."""
        given = self._inputs
        of_inputs = self._find_input_hazards(given, merged)
        remaining = hazards[len(of_inputs) :]
        repair = Repair(given.last_applied, given.manifest, given.live, self._lenient)
        # An object that is kept, as {}, may have lists that are dropped in turn.
        for _ in range(MOST_ROUNDS):
            is_edited = repair.edit(remaining)
            inputs = ApplyInputs(repair.last_applied, repair.modified, given.live)
            try:
                merged = self._merge(inputs, repair)
            except SmpError as error:
                # A member of a union that is there, as {}, excludes the others, and
                # a list as a whole may have what a server refuses.
                if not repair.refuse(error.path):
                    break
                continue
            remaining = self._find_losses(inputs, merged)
            if not is_edited:
                break
        repair.replaced([*merged.whole])
        # The values of others are in the patch, or it deletes what was found in live.
        if repair.warnings or is_serious(remaining):
            patch = repair.guarded(merged.patch)
            merged = msgspec.structs.replace(merged, patch=patch)
        self._warnings += repair.warnings
        return merged, [*repair.not_repaired(of_inputs), *remaining]

    def _unknown_warnings(self, merged: Merged) -> tuple[ApplyWarning, ...]:
        return strategic.unknown_field_warnings(merged.patch, self._schema)


def _leftover_warning(path: Path) -> ApplyWarning:
    text = f'{_UNKNOWN_DIRECTIVE}: unknown field "{path.decoded}"'
    return ApplyWarning("strict-decoding", path, text)


_UNKNOWN_DIRECTIVE: Final = (
    "kubectl's patch has a directive in a new value, which a server refuses:"
    " strict decoding error"
)
