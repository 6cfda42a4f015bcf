"""Running the steps of a case: each is one write to the object that is stored."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from smp import managed_fields
from smp._storage.defaults import with_defaults
from smp._values.api_objects import drop_managed_fields
from smp._values.values import JSONArray, JSONObject, as_object, same
from smp.cases._case import SpecCase, profile_of, steps
from smp.cases._steps import CaseStep, in_order
from smp.errors import SmpError
from smp.schema.catalog import Catalog, kubernetes
from smp.schema.model import Schema

# The cases are recorded from this version.
_KUBERNETES: Final = "1.36.3"


def catalog_of(case: SpecCase) -> Catalog:
    """Return the kinds that a case can be about. Raises SchemaError."""
    if "crd" in case.document:
        return Catalog.from_crd(case.document["crd"])
    version = case.document.get("kubernetes")
    return kubernetes(None if version is None else str(version))


def results(case: SpecCase) -> JSONArray:
    """Return what each step leads to, with the members that its result states.

    A step that fails leaves the object as it is. Raises SchemaError.
    """
    catalog = catalog_of(case)
    stored = case.document.get("live")
    live = stored if isinstance(stored, dict) else None
    found: JSONArray = []
    for step in steps(case):
        if step.crd is not None:
            catalog = Catalog.from_crd(step.crd)
        named = as_object(step.write.body)
        if live is not None and step.write.verb not in ("apply", "update"):
            named = live
        schema = catalog.schema_of(named)
        if live is not None and live.get("apiVersion") != schema.api_version:
            # A server converts what it stores to the version of the request.
            live = with_defaults({**live, "apiVersion": schema.api_version}, schema)
        serving = managed_fields.Serving(
            versions=_other_versions(catalog, schema),
            custom="crd" in case.document,
            kubernetes=_KUBERNETES,
        )
        try:
            written = _write(live, step, schema, profile_of(case), serving)
        except SmpError as error:
            found.append(_refusal(error, step))
            continue
        found.append(_success(live, as_object(written), step))
        live = written
    return found


def _write(
    live: JSONObject | None,
    step: CaseStep,
    schema: Schema,
    profile: str,
    serving: managed_fields.Serving,
) -> JSONObject | None:
    """Return the object after a step. Raises SmpError where it fails."""
    now = datetime.fromisoformat(step.time)
    (state,) = managed_fields.simulate(
        live, [step.write], schema, profile=profile, serving=serving, now=now
    ).states
    if state.error is not None:
        raise state.error
    return state.object


def _other_versions(catalog: Catalog, schema: Schema) -> dict[str, Schema]:
    """Return the schemas of the other versions of a kind, by apiVersion."""
    group = schema.api_version.rpartition("/")[0]
    return {
        api_version: catalog.schema(api_version, kind)
        for api_version, kind in catalog.kinds()
        if kind == schema.kind
        and api_version.rpartition("/")[0] == group
        and api_version != schema.api_version
    }


def _refusal(error: SmpError, step: CaseStep) -> JSONObject:
    result: JSONObject = {}
    if isinstance(error, managed_fields.ApplyConflictError):
        conflicts: JSONArray = [
            {"field": conflict.cause["field"], "message": conflict.cause["message"]}
            for conflict in error.conflicts
        ]
        result["conflicts"] = in_order(conflicts)
    else:
        result["error"] = error.code
    if "message" in step.result:
        result["message"] = error.problem
    return result


def _success(live: JSONObject | None, new: JSONObject, step: CaseStep) -> JSONObject:
    if same(live, new) and "changed" in step.result:
        return {"changed": False}
    # What a result may leave out.
    result: JSONObject = {}
    if "owners" in step.result:
        result["owners"] = {
            owner.manager: owner.fields.to_v1() for owner in managed_fields.owners(new)
        }
        result["object"] = drop_managed_fields(new)
    elif step.result:
        result["object"] = new
    return result
