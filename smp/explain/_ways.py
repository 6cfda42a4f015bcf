"""The ways to apply a manifest, each run on the objects at hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from smp import strategic
from smp.errors import SmpError
from smp.explain._causes import Way
from smp.immutable import changed_immutable_fields
from smp.last_applied import LAST_APPLIED, with_last_applied
from smp.managed_fields import ApplyConflictError, Step, simulate
from smp.paths import value_at
from smp.schema.model import Schema
from smp.three_way import ApplyResult
from smp.unions import validate_unions
from smp.update import as_stored
from smp.values import JSONObject, as_object

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

    ``client_side`` runs a three-way apply of a last-applied configuration and a
    manifest. The other ways are run once, when they are first asked for.
    """

    def __init__(
        self,
        last_applied: JSONObject | None,
        modified: JSONObject,
        live: JSONObject,
        schema: Schema,
        client_side: Callable[[JSONObject | None, JSONObject], ApplyResult],
    ) -> None:
        self.last_applied = last_applied
        self.modified = modified
        self._live = live
        self._schema = schema
        self._client_side = client_side
        self._others: tuple[tuple[Way, JSONObject], ...] | None = None

    def client_side(
        self, last_applied: JSONObject | None, modified: JSONObject
    ) -> JSONObject | None:
        """Return what kubectl apply leads to; None where it is refused or falls short.

        An edited input may be refused: it sets two members of a union.
        """
        try:
            result = self._client_side(last_applied, modified)
        except SmpError:
            return None
        return None if result.unmet or result.violations else result.object

    def others(self) -> tuple[tuple[Way, JSONObject], ...]:
        """Return the other ways that lead to all that the manifest asks for."""
        if self._others is None:
            found: list[tuple[Way, JSONObject]] = []
            for run in (self._server_side, self._replaced):
                try:
                    way, obj = run()
                    if self._is_reached(obj):
                        found.append((way, obj))
                except SmpError:
                    # The server refuses this way.
                    continue
            self._others = tuple(found)
        return self._others

    def _server_side(self) -> tuple[Way, JSONObject]:
        """Run ``kubectl apply --server-side``, forced where it has conflicts."""
        metadata = as_object(self._live.get("metadata"))
        if not metadata.get("managedFields"):
            # Without managed fields it is not known who owns what.
            raise SmpError("the object has no managed fields", code="no-owners")
        live = self._live
        annotations = as_object(metadata.get("annotations"))
        if self.last_applied is not None and LAST_APPLIED not in annotations:
            # What was applied is in the annotation that kubectl looks for.
            text = as_object(with_last_applied(self.last_applied)["metadata"])
            applied = as_object(text["annotations"])[LAST_APPLIED]
            annotations = {**annotations, LAST_APPLIED: applied}
            live = {**live, "metadata": {**metadata, "annotations": annotations}}
        way: Way = "server-side"
        step = Step(_MANAGER, self.modified, "kubectl apply")
        (state,) = simulate(live, [step], self._schema, profile=_OFF).states
        if isinstance(state.error, ApplyConflictError):
            way = "forced server-side"
            step = msgspec.structs.replace(step, force=True)
            (state,) = simulate(live, [step], self._schema, profile=_OFF).states
        if state.error is not None:
            raise state.error
        return way, as_object(state.object)

    def _replaced(self) -> tuple[Way, JSONObject]:
        """Run ``kubectl replace``: the manifest is the object, with its defaults."""
        before = as_object(self._live.get("metadata"))
        kept: JSONObject = {name: before[name] for name in _KEPT if name in before}
        metadata: JSONObject = {**kept, **as_object(self.modified.get("metadata"))}
        new: JSONObject = {**self.modified, "metadata": metadata}
        if "status" in self._live:
            # The status is written through its subresource only.
            new["status"] = self._live["status"]
        return "replace", as_stored(new, None, self._schema, profile=_OFF)

    def _is_reached(self, obj: JSONObject) -> bool:
        """Tell whether a server accepts an object, and the manifest holds in it."""
        if changed_immutable_fields(self._live, obj, self._schema):
            return False
        if validate_unions(self._live, obj, self._schema, ratchet=True):
            return False
        unmet = strategic.unmet_paths({}, self.modified, obj, self._schema)
        # A zero value need not be stored.
        return not any(value_at(self.modified, path) for path in unmet)
