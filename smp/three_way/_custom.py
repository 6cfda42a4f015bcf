"""The three-way apply of a custom resource, or of a kind without a definition."""

from __future__ import annotations

from typing import Final

from smp import _strategic as strategic
from smp import merge_patch
from smp._storage.update import Update, drop_by_strategy, drop_status
from smp._strategic import KUBECTL_PRECONDITIONS
from smp._values.last_applied import ApplyInputs
from smp._values.values import JSONObject, as_object
from smp.custom_resources import form_of, three_way_json_merge_patch
from smp.errors import ApplyWarning, ConflictError
from smp.hazards import MOST_ROUNDS, Hazard, Repair, custom_resource_hazards
from smp.managed_fields import changed_members, local_merge
from smp.paths import Path
from smp.three_way._phases import Apply, Merged, has_generated_status


class CustomApply(Apply):
    """The apply of a custom resource, or of a kind without a definition."""

    def _merge(self, inputs: ApplyInputs) -> Merged:
        """Merge by list types, or by RFC 7396; normalize unions."""
        base, manifest, live = inputs.last_applied or {}, inputs.manifest, inputs.live
        schema = self._lenient
        kubectl_patch = three_way_json_merge_patch(base, manifest, live)
        # Go: k8s.io/kubectl, apply/patcher.go, buildMergePatch.
        strategic.check_preconditions(kubectl_patch, KUBECTL_PRECONDITIONS)
        merge = local_merge(base, manifest, live, schema)
        if not self._options.overwrite and merge.conflicts:
            raise ConflictError(merge.conflicts)
        merged = merge.object
        if not schema.is_custom:
            # There is no list type to merge by, and no null that would be a value.
            merged = as_object(merge_patch.apply(live, kubectl_patch))
        update = self._update(merged, changed_members(live, merged, schema), manifest)
        result = drop_status(update.object, manifest, schema, live)
        unmet = self._find_unmet(inputs, update, result)
        # What the normalization of unions changed is in the patch as all else.
        form = form_of(live, result, schema)
        reason = form.reason
        if not schema.is_custom:
            reason = f"merged by RFC 7396, as the kind has no schema; {reason}"
        return Merged(
            kubectl_patch,
            form.patch,
            result,
            drop_by_strategy(result, schema, live),
            update,
            unmet,
            tuple([ApplyWarning(_WHOLE, path, _NO_IDENTITY) for path in merge.whole]),
            merge.whole,
            {},
            form.media_type,
            reason,
            form.guard,
        )

    def _find_unmet(
        self, inputs: ApplyInputs, update: Update, result: JSONObject
    ) -> tuple[Path, ...]:
        """Return where the result (the update less status) lacks what is asked for."""
        schema = self._lenient
        unmet: tuple[Path, ...] = ()
        if schema.is_custom and update.changes:
            # Only the normalization of unions does what was not asked for.
            base = inputs.last_applied or {}
            again = local_merge(base, inputs.manifest, update.object, schema)
            difference = changed_members(update.object, again.object, schema)
            unmet = tuple(strategic.leaf_paths(difference, update.object, schema))
        if result is not update.object and not has_generated_status(inputs.manifest):
            difference = changed_members(result, update.object, schema)
            unmet += tuple(strategic.leaf_paths(difference, result, schema))
        return unmet

    def _find_hazards(self, inputs: ApplyInputs, merged: Merged) -> list[Hazard]:
        cleared = [change.path for change in merged.update.changes]
        return custom_resource_hazards(inputs, merged.object, self._lenient, cleared)

    def _repair(
        self, merged: Merged, hazards: list[Hazard]
    ) -> tuple[Merged, list[Hazard]]:
        """Keep what others have put into objects, where RFC 7396 removes it with them.

        A merge by list types keeps that anyway.
        """
        if self._lenient.is_custom:
            return merged, hazards
        given = self._inputs
        repair = Repair(given.last_applied, given.manifest, given.live, self._lenient)
        # An object that is kept may have others in turn.
        for _ in range(MOST_ROUNDS):
            if not repair.edit([e for e in hazards if e.code == _WITH_OBJECT]):
                break
            inputs = ApplyInputs(repair.last_applied, repair.modified, given.live)
            merged = self._merge(inputs)
            hazards = self._find_hazards(inputs, merged)
        self._warnings += repair.warnings
        return merged, hazards

    def _unknown_warnings(self, merged: Merged) -> tuple[ApplyWarning, ...]:
        changed = changed_members(self._inputs.live, merged.object, self._schema)
        return strategic.unknown_field_warnings(changed, self._schema)


# What an object that is there, and empty, keeps.
_WITH_OBJECT: Final = "lost-with-object"
_WHOLE: Final = "list-as-a-whole"
_NO_IDENTITY: Final = (
    "two elements have the same keys, or one has none, so the list is set as a whole"
)
