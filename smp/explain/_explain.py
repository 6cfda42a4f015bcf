"""The causes of all paths at which the objects of an apply differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final

from smp.defaults import with_defaults
from smp.errors import SmpError
from smp.explain import _judgement, _sides
from smp.explain._causes import Cause, Evidence, reason_for
from smp.explain._remedies import remedy_for
from smp.explain._ways import Ways
from smp.hazards import Hazard, Policy
from smp.managed_fields import Owner, elements_of, owned_path, owners
from smp.paths import Path, Step
from smp.plain import over_json, require_objects
from smp.schema.model import Schema, UnknownFields
from smp.schema.sides import DEFAULT, LAST_APPLIED, LIVE, MANIFEST, Sides
from smp.sharing import share_object
from smp.three_way import ApplyResult, three_way_apply
from smp.typed_storage import stored
from smp.values import ABSENT, JSON, Absent, JSONObject, same

# Live has the value of the user, and it changes or goes as the user asks for.
_ASKED_FOR: Final = frozenset({"overwritten", "overwrites-controller", "pruned", "set"})
_SAID_BY: Final = (
    ("last-applied", LAST_APPLIED),
    ("manifest", MANIFEST),
    ("default", DEFAULT),
)
# Go: k8s.io/kubectl, pkg/cmd/apply, FieldManagerClientSideApply.
_CLIENT_SIDE: Final = ("kubectl-client-side-apply", "Update")


@over_json("the object", "last_applied", "modified", "live")
def explain_apply(  # noqa: PLR0913  # those of three_way_apply
    last_applied: JSONObject | None,
    modified: JSONObject,
    live: JSONObject,
    schema: Schema,
    *,
    profile: str = "kep1027",
    overwrite: bool = True,
    unknown_fields: UnknownFields = "error",
    defaults: bool = False,
    hazards: Policy = "warn",
    shows: Callable[[Path, str], bool] | None = None,
) -> tuple[Cause, ...]:
    """Explain what a three-way apply does to each field, and what it does not.

    The arguments are those of three_way_apply: with ``hazards="repair"`` it is the
    repaired apply that is explained, and remedies are those of one. There is one cause
    for each path at which the last-applied configuration, the manifest (``modified``),
    the live object and the result differ, in the order of the result; where only one of
    them has a value, the path is that of the whole value. ``shows`` tells of a path and
    a code whether the cause is wanted: what is not takes no time. Raises what
    three_way_apply raises.
    """

    def apply(
        base: JSONObject | None, manifest: JSONObject, policy: Policy
    ) -> ApplyResult:
        return three_way_apply(
            base,
            manifest,
            live,
            schema,
            profile=profile,
            overwrite=overwrite,
            unknown_fields=unknown_fields,
            defaults=defaults,
            hazards=policy,
        )

    def proof(base: JSONObject | None, manifest: JSONObject) -> ApplyResult:
        return apply(base, manifest, "repair" if hazards == "repair" else "ignore")

    require_objects(last_applied=last_applied or {}, modified=modified, live=live)
    # What is equal becomes the same object, so that each proof of a remedy looks at
    # what differs only. (Not of live: what is the same there did not change, and is not
    # judged.)
    if last_applied is not None:
        last_applied = share_object(last_applied, modified)
    result = apply(last_applied, modified, hazards)
    ways = Ways(last_applied, modified, live, schema, proof)
    explanation = _Explanation(
        last_applied, modified, live, schema, result, ways, shows
    )
    return tuple(explanation.causes())


class _Explanation:
    """What is known of one apply."""

    def __init__(
        self,
        last_applied: JSONObject | None,
        modified: JSONObject,
        live: JSONObject,
        schema: Schema,
        result: ApplyResult,
        ways: Ways,
        shows: Callable[[Path, str], bool] | None,
    ) -> None:
        self._last_applied = last_applied
        self._modified = modified
        self._live = live
        self._schema = schema
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
        self._owners: tuple[Owner, ...] = ()
        with suppress(SmpError):
            self._owners = owners(live)

    def causes(self) -> Iterator[Cause]:
        """Yield the causes of all paths."""
        # What a server makes of the manifest without a live object, and what it made
        # of the last-applied configuration.
        default = with_defaults(stored(self._modified, self._schema), self._schema)
        former: JSON | Absent = ABSENT
        if self._last_applied is not None:
            decoded = stored(self._last_applied, self._schema)
            former = with_defaults(decoded, self._schema)
        base = self._last_applied or {}
        sides = _sides.sides_of(
            [self._live, self._modified, base, self._result.object, default, former],
            self._schema,
        )
        if not _sides.is_unremarkable(sides):
            yield from self._below(sides)

    def _below(self, sides: Sides) -> Iterator[Cause]:
        """Yield the cause of a path at which objects differ, or those below it."""
        # What the normalization of unions did has a reason of its own.
        change = self._changes.get(str(sides.path)) if self._changes else None
        if change is not None:
            yield from self._cause(sides, "union", why=change.why, rule=change.rule)
            return
        is_merge_list = _sides.is_merge_list(sides)
        is_merged = is_merge_list or _sides.is_merge_object(sides)
        if _sides.is_one(sides) or not is_merged:
            yield from self._leaf(sides)
            return
        # Of a list whose elements are merged, the order is a matter of its own.
        if is_merge_list and not _sides.keeps_order(sides):
            yield from self._cause(sides, "element-order")
        if sides.indexes and _judgement.is_merged_by_key(sides):
            yield from self._cause(sides, "matched-by-key")
        for below in _sides.differing(sides):
            yield from self._below(below)

    def _leaf(self, sides: Sides) -> Iterator[Cause]:
        """Yield the cause of a value of which there is one thing to say."""
        code = _judgement.code_of(sides, self._schema.kind)
        is_repaired = sides.path_in(LIVE).by_index.steps in self._repaired
        if code == "lost-by-ambiguous-key" and is_repaired:
            code = "removed-by-repair"
        yield from self._cause(sides, code)
        # An atomic list takes with it what others have put into it.
        is_set = code in ("set", "overwritten")
        if is_set and self._is_shown(sides.path, "lost-in-list"):
            for element in _judgement.lost_elements(sides):
                yield self._lost_element(sides, element)

    def _is_shown(self, path: Path, code: str) -> bool:
        return self._shows is None or self._shows(path, code)

    def _cause(
        self, sides: Sides, code: str, *, why: str = "", rule: str = ""
    ) -> Iterator[Cause]:
        """Yield the cause of a value, if it is shown."""
        there = self._owners_at(sides)
        managers = {(owner.manager, owner.operation) for owner in there}
        # The managers that are a part of Kubernetes: kube-controller-manager.
        others = [name for name, _how in managers if not name.startswith("kube-")]
        if code == "allocated" and others:
            code = "live-only"
        unknown = ""
        if code == "live-only" and self._last_applied is None:
            code = "never-applied"
            unknown = "there is no last-applied configuration"
        elif code == "live-only" and managers == {_CLIENT_SIDE}:
            code = "never-applied"
            unknown = (
                "kubectl apply wrote it, and the last-applied configuration does not "
                "have it"
            )
        elif code == "live-only" and there:
            code = "owned-by-others"
        if not self._is_shown(sides.path, code):
            return
        reason = reason_for(code, self._schema)
        controller = ""
        if code in ("allocated", "overwrites-controller"):
            controller = _judgement.controller_of(self._schema.kind, sides)
        owners_text = ", ".join(_named(owner) for owner in there)
        sentence = reason.sentence.format(
            why=why,
            controller=controller,
            owners=owners_text,
            by=f" by {owners_text}" if owners_text else "",
            unknown=unknown,
            key=_sides.key_of(sides.path),
        )
        evidence = [
            Evidence(name, value)
            for name, side in _SAID_BY
            if not isinstance(value := sides.values[side], Absent)
        ]
        evidence += [Evidence("owner", _named(owner)) for owner in there]
        yield Cause(
            sides.path,
            code,
            sentence,
            sides.live,
            sides.result,
            reason.source.format(rule=rule),
            tuple(evidence),
            remedy_for(code, sides, self._ways),
            self._hazard_of(code, sides),
        )

    def _hazard_of(self, code: str, sides: Sides) -> str:
        """Return the code of the hazard by which live loses a value at a path."""
        if sides.live is ABSENT or same(sides.live, sides.result):
            return ""
        if code == "removed-by-repair":
            return "key-changed"
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

    def _lost_element(self, sides: Sides, element: JSON) -> Cause:
        reason = reason_for("lost-in-list", self._schema)
        evidence = (Evidence("element", element),)
        remedy = remedy_for("lost-in-list", sides, self._ways, element)
        return Cause(
            sides.path,
            "lost-in-list",
            reason.sentence,
            element,
            ABSENT,
            reason.source,
            evidence,
            remedy,
            "lost-in-list",
        )

    def _owners_at(self, sides: Sides) -> list[Owner]:
        """Return the owners of what live has at a path, or of anything in it."""
        if sides.live is ABSENT or not self._owners:
            return []
        path = owned_path(self._live, self._schema, sides.path_in(LIVE))
        elements = elements_of(path)
        return [owner for owner in self._owners if owner.fields.reaches(elements)]


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


def _named(owner: Owner) -> str:
    """Name an owner, as ``kubelet (Update status, 2026-01-02T03:04:05Z)``."""
    how = f"{owner.operation} {owner.subresource}".rstrip()
    since = f" since {owner.time}" if owner.time else ""
    return f"{owner.manager} ({how}{since})"
