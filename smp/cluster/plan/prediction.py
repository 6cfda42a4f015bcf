"""What an apply of an object will lead to, computed before anything is written.

A prediction takes the live object and the schema of the server, and no request. It has
what a strict run must know: the hazards, what the server would refuse, and where the
object would not become what the manifest asks for.
"""

from __future__ import annotations

from contextlib import suppress

import msgspec

from smp._storage.update import (
    STOCK_PROFILE,
    UpdateRequest,
    decode_object,
    normalize_update,
    predict_refusals,
)
from smp._values.last_applied import with_last_applied
from smp._values.values import JSONObject, as_object, drop_nulls
from smp.cluster.plan.client_side import ApplyTarget, Computed, compute
from smp.cluster.plan.given_up import drop_given_up, drop_paths, find_conflicts
from smp.cluster.plan.options import ApplyOptions
from smp.errors import ApplyWarning, ObjectError, SmpError
from smp.hazards import Hazard, HazardError, input_hazards, is_serious
from smp.managed_fields import predict_refusal, server_side_apply
from smp.paths import Path
from smp.schema.model import AnyType
from smp.violations import Violation


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """What an apply of one object will lead to.

    ``object`` is the object that the server would store. ``refusal`` is what it would
    answer instead, such as a conflict; ``unmet`` are the paths at which the object
    would not be what the manifest asks for. ``compute`` has the patch of a client-side
    apply to a live object, ``warnings`` what the server would warn of.
    """

    object: JSONObject | None = None
    hazards: tuple[Hazard, ...] = ()
    violations: tuple[Violation, ...] = ()
    unmet: tuple[Path, ...] = ()
    refusal: SmpError | None = None
    computed: Computed | None = None
    warnings: tuple[ApplyWarning, ...] = ()

    @property
    def undecided(self) -> tuple[Violation, ...]:
        """What is not known: rules of a definition that could not be checked."""
        return tuple(each for each in self.violations if each.warning)

    def refused(self) -> SmpError | None:
        """Return what the server would answer; None where it would accept it."""
        refusals = [each for each in self.violations if not each.warning]
        if self.refusal is not None or not refusals:
            return self.refusal
        texts = "; ".join(str(violation) for violation in refusals)
        return ObjectError(
            f"the API server would refuse it: {texts}",
            code="invalid",
            path=refusals[0].path,
        )

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
        refused = self.refused()
        if refused is None and is_serious(self.hazards):
            return HazardError(self.hazards)
        if refused is None and self.undecided:
            texts = "; ".join(str(violation) for violation in self.undecided)
            return ObjectError(
                f"it is not known whether the API server would refuse it: {texts}",
                code="unchecked-rule",
                path=self.undecided[0].path,
            )
        return refused


def predict(
    target: ApplyTarget, live: JSONObject | None, options: ApplyOptions
) -> Prediction:
    """Predict the apply of an object.

    Raises HazardError where ``hazards`` is "error", and what three_way_apply raises.
    """
    if options.server_side:
        return predict_server_side(target, live, options)
    if live is None:
        return predict_create(target, options)
    # A patch: three_way_apply finds its hazards, and where it does not converge.
    found = compute(target, live, options)
    result = found.result
    violations = result.violations
    warnings: tuple[ApplyWarning, ...] = ()
    if options.predicts_refusals:
        decoded, warnings = _decode(target, live, result.object, options)
        violations = _find_refusals(target, live, decoded, violations)
    return Prediction(
        object=result.object,
        hazards=result.hazards,
        violations=violations,
        unmet=result.unmet,
        computed=found,
        warnings=warnings,
    )


def predict_create(target: ApplyTarget, options: ApplyOptions) -> Prediction:
    """Predict a create: the manifest without its nulls, with unions normalized."""
    schema = target.kind_schema.schema.with_unknown_fields("merge")
    body = as_object(drop_nulls(with_last_applied(target.item.object)))
    hazards: tuple[Hazard, ...] = ()
    if options.hazards != "ignore":
        hazards = tuple(input_hazards(None, target.item.object, None, schema))
    if options.hazards == "error" and is_serious(hazards):
        raise HazardError(hazards)
    # Other runs ask the server.
    if not options.predicts_refusals:
        return Prediction(object=body, hazards=hazards)
    body, warnings = _decode(target, None, body, options)
    update = normalize_update(
        None, body, schema, UpdateRequest(profile=STOCK_PROFILE, configuration=body)
    )
    violations = _find_refusals(target, None, update.object, update.violations)
    return Prediction(
        object=update.object, hazards=hazards, violations=violations, warnings=warnings
    )


def _decode(
    target: ApplyTarget, live: JSONObject | None, new: JSONObject, options: ApplyOptions
) -> tuple[JSONObject, tuple[ApplyWarning, ...]]:
    """Return an object as the server decodes it, and what it warns of.

    Raises ObjectError where it cannot decode it.

    Go: the decoders of apimachinery; KEP-2885, server-side field validation.
    """
    schema = target.kind_schema.judging or target.kind_schema.schema
    if isinstance(schema.type, AnyType):
        return new, ()
    found = decode_object(new, live, schema, typed=not schema.is_custom, custom=True)
    # What a server does not publish it may know.
    unknown = () if target.kind_schema.bundled else found.unknown_fields
    told = [
        ApplyWarning("strict-decoding", path, f'unknown field "{path.decoded}"')
        for path in unknown
    ]
    if found.violations:
        texts = "; ".join(str(violation) for violation in found.violations)
        code, path = "wrong-type", found.violations[0].path
    elif options.validate == "strict" and told:
        texts = f"strict decoding error: {', '.join(each.message for each in told)}"
        code, path = "strict-decoding", told[0].path
    else:
        return found.object, tuple(told) if options.validate == "warn" else ()
    raise ObjectError(f"the API server would refuse it: {texts}", code=code, path=path)


def predict_server_side(
    target: ApplyTarget, live: JSONObject | None, options: ApplyOptions
) -> Prediction:
    """Predict a server-side apply, from the managed fields of the live object."""
    schema = target.kind_schema.schema.with_unknown_fields("merge")
    # Without a type there are no managed fields. Other runs ask the server.
    if not options.predicts_refusals or isinstance(schema.type, AnyType):
        return Prediction()
    target, _ = drop_given_up(target, options)
    if options.skip_conflicts:
        paths: list[Path] = []
        # What else is wrong is found again.
        with suppress(SmpError):
            paths = find_conflicts(target, live, options)
        target = drop_paths(target, paths)
    obj = target.item.object
    # Conflicts are in what it raises.
    try:
        result = server_side_apply(
            live,
            obj,
            schema,
            manager=options.manager,
            force=options.force_conflicts,
            profile=STOCK_PROFILE,
        )
    except SmpError as error:
        return Prediction(refusal=error)
    if result.remark is not None and options.unions == "clear":
        refusal = predict_refusal(
            live, obj, schema, manager=options.manager, force=options.force_conflicts
        )
        remedy = None if refusal is None else refusal.remedy
        # Requests before the apply make it pass.
        if remedy is not None and (options.force_conflicts or not remedy.force):
            return Prediction(object=remedy.object)
    violations = _find_refusals(target, live, result.object, result.violations)
    return Prediction(object=result.object, violations=violations)


def _find_refusals(
    target: ApplyTarget,
    live: JSONObject | None,
    new: JSONObject,
    found: tuple[Violation, ...],
) -> tuple[Violation, ...]:
    known = target.kind_schema
    schema = (known.judging or known.schema).with_unknown_fields("merge")
    return predict_refusals(live, new, schema, profile=STOCK_PROFILE, found=found)
