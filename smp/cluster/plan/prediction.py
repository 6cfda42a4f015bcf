"""What an apply of an object will lead to, computed before anything is written.

A prediction takes the live object and the schema of the server, and no request. It has
what a strict run must know: the hazards, what the server would refuse, and where the
object would not become what the manifest asks for.
"""

from __future__ import annotations

from typing import Final

import msgspec

from smp.cluster.plan.client_side import Computed, Target, computed
from smp.cluster.plan.options import ApplyOptions
from smp.errors import ObjectError, SmpError
from smp.hazards import Hazard, HazardError, input_hazards, is_serious
from smp.last_applied import with_last_applied
from smp.managed_fields import server_side_apply
from smp.paths import Path
from smp.schema.model import AnyType
from smp.update import updated
from smp.values import JSONObject, as_object, without_nulls
from smp.violations import Violation

# API servers of today validate unions, and normalize none.
_PROFILE: Final = "validate-only"


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """What an apply of one object will lead to.

    ``object`` is the object that the server would store. ``refusal`` is what it would
    answer instead, such as a conflict; ``unmet`` are the paths at which the object
    would not be what the manifest asks for. ``computed`` has the patch of a client-side
    apply to a live object.
    """

    object: JSONObject | None = None
    hazards: tuple[Hazard, ...] = ()
    violations: tuple[Violation, ...] = ()
    unmet: tuple[Path, ...] = ()
    refusal: SmpError | None = None
    computed: Computed | None = None

    def problem(self) -> SmpError | None:
        """Return why a strict run does not write the object; None where it does."""
        if self.refusal is not None:
            return self.refusal
        # The server would accept it, and yet something stays as it is.
        if self.unmet:
            paths = ", ".join(str(path) for path in self.unmet)
            return ObjectError(
                f"the apply would not lead to what the manifest asks for: {paths}",
                code="not-converging",
                path=self.unmet[0],
            )
        if self.violations:
            texts = "; ".join(str(violation) for violation in self.violations)
            return ObjectError(
                f"the API server would refuse it: {texts}",
                code="invalid",
                path=self.violations[0].path,
            )
        if is_serious(self.hazards):
            return HazardError(self.hazards)
        return None


def predicted(
    target: Target, live: JSONObject | None, options: ApplyOptions
) -> Prediction:
    """Predict the apply of an object.

    Raises HazardError where ``hazards`` is "error", and what three_way_apply raises.
    """
    if options.server_side:
        return predicted_server_side(target, live, options)
    if live is None:
        return predicted_create(target, options)
    # A patch: three_way_apply finds its hazards, and where it does not converge.
    found = computed(target, live, options)
    result = found.result
    return Prediction(
        object=result.object,
        hazards=result.hazards,
        violations=result.violations,
        unmet=result.unmet,
        computed=found,
    )


def predicted_create(target: Target, options: ApplyOptions) -> Prediction:
    """Predict a create: the manifest without its nulls, with unions normalized."""
    schema = target.kind_schema.schema.with_unknown_fields("merge")
    body = as_object(without_nulls(with_last_applied(target.item.object)))
    hazards: tuple[Hazard, ...] = ()
    if options.hazards != "ignore":
        hazards = tuple(input_hazards(None, target.item.object, None, schema))
    if options.hazards == "error" and is_serious(hazards):
        raise HazardError(hazards)
    # Only a strict run has a use for what a server would say.
    if not options.strict:
        return Prediction(object=body, hazards=hazards)
    update = updated(
        None, body, schema, profile=_PROFILE, ratchet=True, configuration=body
    )
    return Prediction(
        object=update.object, hazards=hazards, violations=update.violations
    )


def predicted_server_side(
    target: Target, live: JSONObject | None, options: ApplyOptions
) -> Prediction:
    """Predict a server-side apply, from the managed fields of the live object."""
    schema = target.kind_schema.schema.with_unknown_fields("merge")
    # Without a type there are no managed fields. Other runs ask the server.
    if not options.strict or isinstance(schema.type, AnyType):
        return Prediction()
    # Conflicts are in what it raises.
    try:
        result = server_side_apply(
            live,
            target.item.object,
            schema,
            manager=options.manager,
            force=options.force_conflicts,
            profile=_PROFILE,
        )
    except SmpError as error:
        return Prediction(refusal=error)
    return Prediction(object=result.object, violations=result.violations)
