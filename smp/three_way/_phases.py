"""The phases of a three-way apply: merge the inputs, repair, judge what came of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import msgspec

from smp._storage.immutable import find_changed_immutable_fields
from smp._storage.update import (
    Update,
    UpdateRequest,
    as_stored,
    asks_for_anything,
    find_other_identity,
    normalize_update,
    put_at_rest,
)
from smp._storage.workloads import count_templates, is_counted
from smp._strategic import Known
from smp._values.last_applied import ApplyInputs
from smp._values.values import JSONObject, as_object
from smp.custom_resources import STRATEGIC_MERGE_PATCH, Guard
from smp.errors import ApplyWarning
from smp.hazards import Hazard, HazardError, Policy, is_serious
from smp.paths import Path, sort_by_path
from smp.schema.model import Schema, UnknownFields
from smp.unions import Change, stock_server_warnings
from smp.violations import Violation


class ApplyResult(msgspec.Struct, frozen=True):
    """What a three-way apply led to.

    ``object`` is the live object with ``patch`` applied, on any API server: what the
    normalization of unions changed is in the patch, and no directive of it is in a
    value that is new to live. ``kubectl_patch`` is what kubectl would send; it is the
    same, but for these two, what a server makes of which is in ``warnings``, and for
    objects that kubectl sends as they are (the selector of a PodDisruptionBudget).

    ``media_type`` says which of the three forms ``patch`` has. For a custom resource it
    is a JSON merge patch, or a JSON Patch (a list of operations), so that its type is
    Any; ``reason`` says why, and ``guard`` what makes a server refuse it after a
    concurrent change. Its ``kubectl_patch`` is a JSON merge patch.

    ``changes`` is what the normalization changed, ``violations`` what a server would
    reject in the object. ``unmet`` are the paths at which the object is not what the
    configuration asks for: it lacks something, or has what the configuration no longer
    has or nulls. ``converged`` says that there is none.
    ``hazards`` are those of the inputs, less those that a repair removed.
    """

    object: dict[str, Any]
    patch: Any
    kubectl_patch: dict[str, Any]
    changes: tuple[Change, ...]
    warnings: tuple[ApplyWarning, ...]
    violations: tuple[Violation, ...]
    unmet: tuple[Path, ...]
    media_type: str = STRATEGIC_MERGE_PATCH
    reason: str = "a server takes strategic merge patches for this kind"
    guard: Guard = "none"
    hazards: tuple[Hazard, ...] = ()

    @property
    def converged(self) -> bool:
        """Whether the object is all that the modified configuration asks for."""
        return not self.unmet


class ThreeWayOptions(msgspec.Struct, frozen=True):
    """How an apply is done; three_way_apply says what each option means."""

    profile: str = "kep1027"
    overwrite: bool = True
    ratchet: bool = True
    unknown_fields: UnknownFields = "error"
    defaults: bool = False
    hazards: Policy = "warn"


class Merged(msgspec.Struct, frozen=True):
    """What a merge of the inputs led to, before it is judged.

    ``object`` is live after the update, and ``patch`` leads there from live, by its
    ``media_type``; ``kept`` is what the strategy of the kind leaves of the object.
    ``equal`` and ``whole`` are what the search for hazards, and a repair, need to know:
    what is equal by id (see strategic.ComputedPatch), and the lists that were replaced
    or set as a whole because of their keys.
    """

    kubectl_patch: JSONObject
    patch: Any
    object: JSONObject
    kept: JSONObject
    update: Update
    unmet: tuple[Path, ...]
    warnings: tuple[ApplyWarning, ...]
    whole: tuple[Path, ...]
    equal: Known
    media_type: str = STRATEGIC_MERGE_PATCH
    reason: str = "a server takes strategic merge patches for this kind"
    guard: Guard = "none"


class Apply(ABC):
    """One apply in three phases: merge the inputs, repair, judge what came of it.

    How inputs are merged, and what of them can be repaired, is a matter of the kind.
    """

    def __init__(
        self, inputs: ApplyInputs, schema: Schema, options: ThreeWayOptions
    ) -> None:
        self._inputs = inputs
        self._schema = schema
        self._lenient = schema.with_unknown_fields(options.unknown_fields)
        self._options = options
        self._warnings: list[ApplyWarning] = []

    def run(self) -> ApplyResult:
        """Merge, repair where that is wanted, and judge."""
        policy = self._options.hazards
        merged = self._merge(self._inputs)
        kubectl_patch = merged.kubectl_patch
        hazards: list[Hazard] = []
        if policy != "ignore":
            hazards = self._find_hazards(self._inputs, merged)
        if policy == "error" and is_serious(hazards):
            raise HazardError(sort_by_path(hazards))
        if policy == "repair" and is_serious(hazards):
            merged, hazards = self._repair(merged, hazards)
        return self._judge(merged, kubectl_patch, hazards)

    @abstractmethod
    def _merge(self, inputs: ApplyInputs) -> Merged:
        """Merge the inputs, and normalize unions."""

    @abstractmethod
    def _find_hazards(self, inputs: ApplyInputs, merged: Merged) -> list[Hazard]:
        """Find what is dangerous in the inputs, and in what came of them."""

    @abstractmethod
    def _repair(
        self, merged: Merged, hazards: list[Hazard]
    ) -> tuple[Merged, list[Hazard]]:
        """Return what repaired inputs led to, and the hazards that stay."""

    @abstractmethod
    def _unknown_warnings(self, merged: Merged) -> tuple[ApplyWarning, ...]:
        """Return a warning for each place that was merged without a schema."""

    def _update(
        self, merged: JSONObject, patch: JSONObject, manifest: JSONObject
    ) -> Update:
        """Do what a server does with the merged object: normalize and validate it."""
        return normalize_update(
            self._inputs.live,
            merged,
            self._lenient,
            UpdateRequest(
                profile=self._options.profile,
                ratchet=self._options.ratchet,
                patch=patch,
                configuration=manifest,
            ),
        )

    def _predict_stored(self, kept: JSONObject) -> JSONObject:
        """Return what a server reads from its storage after the update."""
        live, schema = self._inputs.live, self._schema
        obj = as_stored(kept, live, schema, profile=self._options.profile)
        if is_counted(live):
            obj = count_templates(live, obj)
        return put_at_rest(obj, schema, live)

    def _judge(
        self, merged: Merged, kubectl_patch: JSONObject, hazards: list[Hazard]
    ) -> ApplyResult:
        """Return the result, with what a server refuses of it and warns of."""
        live, update = self._inputs.live, merged.update
        obj, kept = merged.object, merged.kept
        violations = update.violations
        if violations and kept is not obj:
            violations = self._update(kept, as_object(merged.patch), kept).violations
        if self._options.defaults:
            obj = self._predict_stored(kept)
        # In the order of servers: an update first has to lead to a valid object.
        immutable = (
            *find_other_identity(live, kept),
            *find_changed_immutable_fields(live, kept, self._schema),
        )
        warnings = self._warnings
        if self._options.unknown_fields == "merge":
            warnings.extend(self._unknown_warnings(merged))
        warnings.extend(merged.warnings)
        warnings.extend(stock_server_warnings(update.changes, self._lenient))
        return ApplyResult(
            obj,
            merged.patch,
            kubectl_patch,
            update.changes,
            sort_by_path([*warnings, *update.warnings]),
            (*violations, *immutable),
            tuple(sorted(merged.unmet, key=lambda path: path.order)),
            merged.media_type,
            merged.reason,
            merged.guard,
            sort_by_path(hazards),
        )


def has_generated_status(manifest: JSONObject) -> bool:
    """Tell whether its status has zero values only, which nobody misses."""
    return "status" in manifest and not asks_for_anything(manifest["status"])
