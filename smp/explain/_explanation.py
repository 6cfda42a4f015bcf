"""The walk along the objects of an apply that explains each path where they differ.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final

from smp._storage.defaults import with_defaults
from smp._storage.typed_storage import stored
from smp._values.values import ABSENT, JSON, Absent, JSONObject, same
from smp.errors import SmpError
from smp.explain import _judgement, _sides
from smp.explain._causes import Cause, Evidence, reason_for
from smp.explain._remedies import remedy_for
from smp.explain._ways import Ways
from smp.hazards import Hazard
from smp.managed_fields import OwnedPlace, Owner, owned_root, owners
from smp.paths import Path, Step, value_at
from smp.schema.sides import BASE, DEFAULT, LIVE, MANIFEST, Sides
from smp.three_way import ApplyResult
from smp.unions import Change

# Live has the value of the user, and it changes or goes as the user asks for.
_ASKED_FOR: Final = frozenset({"overwritten", "overwrites-controller", "pruned", "set"})
_SAID_BY: Final = (("last-applied", BASE), ("manifest", MANIFEST), ("default", DEFAULT))
# Go: k8s.io/kubectl, pkg/cmd/apply, FieldManagerClientSideApply.
_CLIENT_SIDE: Final = ("kubectl-client-side-apply", "Update")


class _NamedOwner:
    """An owner of fields of live, and how causes name it."""

    __slots__ = ("fields", "label", "manager", "operation")

    def __init__(self, owner: Owner) -> None:
        self.manager = owner.manager
        self.operation = owner.operation
        self.fields = owner.fields
        # As ``kubelet (Update status since 2026-01-02T03:04:05Z)``.
        how = f"{owner.operation} {owner.subresource}".rstrip()
        since = f" since {owner.time}" if owner.time else ""
        self.label = f"{owner.manager} ({how}{since})"


class Explanation:
    """What is known of one apply; ``causes`` are those that were found."""

    def __init__(
        self, ways: Ways, result: ApplyResult, shows: Callable[[Path, str], bool] | None
    ) -> None:
        self.causes: list[Cause] = []
        inputs = ways.inputs
        self._last_applied = inputs.last_applied
        self._modified = inputs.manifest
        self._live = inputs.live
        # Few applies remove anything, and defaults take long.
        self._former: JSONObject | None = None
        self._schema = ways.schema
        self._result = result
        self._ways = ways
        self._shows = shows
        self._hazards, self._hazards_below = _losses(result.hazards)
        # Elements that a repair removes have the indexes of the live object.
        self._repaired = {
            warning.path.by_index.steps
            for warning in result.warnings
            if warning.code == "repaired"
        }
        self._changes = {str(change.path): change for change in result.changes}
        # Broken entries own nothing: an apply that is not server-side goes on.
        self._owners: list[_NamedOwner] = []
        with suppress(SmpError):
            self._owners = [_NamedOwner(owner) for owner in owners(inputs.live)]

    def explain(self) -> None:
        """Find the causes of all paths."""
        # What a server makes of the manifest without a live object.
        default = with_defaults(stored(self._modified, self._schema), self._schema)
        base = self._last_applied or {}
        sides = _sides.sides_of(
            [self._live, self._modified, base, self._result.object, default],
            self._schema,
        )
        if not _sides.is_unremarkable(sides):
            sets = [owner.fields for owner in self._owners]
            self._explain_below(sides, owned_root(self._live, self._schema, sets))

    def _former_at(self, sides: Sides) -> JSON | Absent:
        """Return what a server made of the last-applied configuration at a path."""
        if self._former is None:
            decoded = stored(self._last_applied or {}, self._schema)
            self._former = with_defaults(decoded, self._schema)
        # A server keeps the elements in their places, and keys may be repeated.
        return value_at(self._former, sides.path_in(BASE).by_index)

    def _explain_below(self, sides: Sides, owned: OwnedPlace) -> None:
        """Explain a path at which objects differ, or those below it."""
        # What the normalization of unions did has a reason of its own.
        if self._changes:
            change = self._changes.get(str(sides.path))
            if change is not None:
                self._add(sides, owned, "union", change)
                return
        is_merge_list = _sides.is_merge_list(sides)
        is_merged = is_merge_list or _sides.is_merge_object(sides)
        if _sides.is_one(sides, self._former_at) or not is_merged:
            self._explain_value(sides, owned)
            return
        # Of a list whose elements are merged, the order is a matter of its own.
        if is_merge_list and not _sides.keeps_order(sides):
            self._add(sides, owned, "element-order")
        if sides.indexes and _judgement.is_merged_by_key(sides):
            self._add(sides, owned, "matched-by-key")
        for below in _sides.differing(sides):
            self._explain_below(below, self._find_owned(below, owned))

    def _explain_value(self, sides: Sides, owned: OwnedPlace) -> None:
        """Explain a value of which there is one thing to say."""
        code = _judgement.code_of(sides, self._schema.kind)
        is_lost = code == "lost-by-ambiguous-key" and bool(self._repaired)
        if is_lost and sides.path_in(LIVE).by_index.steps in self._repaired:
            code = "removed-by-repair"
        self._add(sides, owned, code)
        # An atomic list takes with it what others have put into it.
        is_set = code in ("set", "overwritten")
        if is_set and self._is_shown(sides.path, "lost-in-list"):
            for element in _judgement.lost_elements(sides):
                self._add_lost_element(sides, element)

    def _is_shown(self, path: Path, code: str) -> bool:
        return self._shows is None or self._shows(path, code)

    def _add(
        self, sides: Sides, owned: OwnedPlace, code: str, change: Change | None = None
    ) -> None:
        """Add the cause of a value, if it is shown.

        ``change`` is that of the normalization of unions, if it made one there.
        """
        path = sides.path
        there = self._owners_at(sides, owned)
        code, unknown = self._code_by_owners(code, there)
        if not self._is_shown(path, code):
            return
        reason = reason_for(code, self._schema)
        sentence = reason.sentence
        if "{" in sentence:
            controller = ""
            if code in ("allocated", "overwrites-controller"):
                controller = _judgement.controller_of(self._schema.kind, sides)
            owners_text = ", ".join([owner.label for owner in there])
            sentence = sentence.format(
                why="" if change is None else change.why,
                controller=controller,
                owners=owners_text,
                by=f" by {owners_text}" if owners_text else "",
                unknown=unknown,
                key=_sides.key_of(path),
            )
        evidence: list[Evidence] = []
        for name, side in _SAID_BY:
            value = sides.values[side]
            if not isinstance(value, Absent):
                evidence.append(Evidence(name, value))
        evidence += [Evidence("owner", owner.label) for owner in there]
        cause = Cause(
            path,
            code,
            sentence,
            sides.live,
            sides.result,
            reason.source if change is None else change.rule,
            tuple(evidence),
            remedy_for(code, sides, self._ways),
            self._hazard_of(code, sides),
            reason.severity,
        )
        self.causes.append(cause)

    def _code_by_owners(self, code: str, there: list[_NamedOwner]) -> tuple[str, str]:
        """Return the code that the owners of a value lead to, and what is unknown."""
        if code == "allocated":
            # The managers that are a part of Kubernetes: kube-controller-manager.
            for owner in there:
                if not owner.manager.startswith("kube-"):
                    code = "live-only"
        if code != "live-only":
            return code, ""
        if self._last_applied is None:
            return "never-applied", "there is no last-applied configuration"
        managers = {(owner.manager, owner.operation) for owner in there}
        if managers == {_CLIENT_SIDE}:
            return "never-applied", (
                "kubectl apply wrote it, and the last-applied configuration does not "
                "have it"
            )
        return ("owned-by-others" if there else code), ""

    def _hazard_of(self, code: str, sides: Sides) -> str:
        """Return the code of the hazard by which live loses a value at a path."""
        if sides.live is ABSENT or same(sides.live, sides.result):
            return ""
        if code == "removed-by-repair":
            return "key-changed"
        if not self._hazards:
            return ""
        # Hazards have the indexes of the live object.
        steps = sides.path_in(LIVE).by_index.steps
        exact = self._hazards.get(steps, "")
        if exact or code in _ASKED_FOR:
            return exact
        # What a value is in may be lost as a whole, or something in the value.
        for length in range(len(steps) - 1, 0, -1):
            if steps[:length] in self._hazards:
                return self._hazards[steps[:length]]
        return self._hazards_below.get(steps, "")

    def _add_lost_element(self, sides: Sides, element: JSON) -> None:
        reason = reason_for("lost-in-list", self._schema)
        cause = Cause(
            sides.path,
            "lost-in-list",
            reason.sentence,
            element,
            ABSENT,
            reason.source,
            (Evidence("element", element),),
            remedy_for("lost-in-list", sides, self._ways, element),
            "lost-in-list",
            reason.severity,
        )
        self.causes.append(cause)

    def _find_owned(self, sides: Sides, owned: OwnedPlace) -> OwnedPlace:
        """Return what managers own of live below a place."""
        live = sides.live
        if isinstance(live, Absent) or not self._owners:
            return owned
        return owned.item(live) if sides.indexes else owned.member(sides.name, live)

    def _owners_at(self, sides: Sides, owned: OwnedPlace) -> list[_NamedOwner]:
        """Return the owners of what live has at a path, or of anything in it."""
        if sides.live is ABSENT:
            return []
        owners = self._owners
        return [owners[at] for at in range(len(owners)) if owned.reached[at]]


def _losses(
    hazards: tuple[Hazard, ...],
) -> tuple[dict[tuple[Step, ...], str], dict[tuple[Step, ...], str]]:
    """Map the places of losses to their codes, and all places above these."""
    at: dict[tuple[Step, ...], str] = {}
    above: dict[tuple[Step, ...], str] = {}
    for hazard in hazards:
        if hazard.code.startswith("lost-"):
            steps = hazard.path.by_index.steps
            at.setdefault(steps, hazard.code)
            for length in range(len(steps)):
                above.setdefault(steps[:length], hazard.code)
    return at, above
