"""Running a case: every operation that it states an expectation for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from smp import _strategic as strategic
from smp import managed_fields, merge_patch, three_way, unions
from smp._storage.defaults import with_defaults
from smp._values import codec
from smp._values.api_objects import annotations_of, drop_managed_fields, set_metadata
from smp._values.last_applied import LAST_APPLIED, with_last_applied
from smp._values.values import (
    ABSENT,
    JSON,
    Absent,
    JSONArray,
    JSONObject,
    as_list,
    as_object,
    drop_absent,
    same,
)
from smp.cases._case import (
    STEPS,
    CaseStep,
    Failure,
    Result,
    SpecCase,
    expectations,
    in_order,
    last_applied,
    old_object,
    patches,
    profile_of,
    steps,
)
from smp.cases._places import WIDTH, find_differing_places, shorten
from smp.cases._text import flow
from smp.errors import Conflict, ConflictError, DocumentError, SmpError, bounded
from smp.explain import explain_apply
from smp.handler import APPLY, STOCK_SERVER, STRATEGIC, Options, Outcome, Refused, patch
from smp.schema.catalog import Catalog, kubernetes
from smp.schema.model import Schema
from smp.schema.sources.openapi import inline

# Go: k8s.io/kubectl, pkg/cmd/apply.
_MANAGER: Final = "kubectl"
_CLIENT_SIDE: Final = "kubectl-client-side-apply"


def client_side(case: SpecCase, schema: Schema) -> JSON:
    """Return what a server answers to the strategic merge patch that kubectl sends."""
    live = case.required("live")
    modified = case.required("modified")
    sent = strategic.three_way_patch(last_applied(case), modified, live, schema)
    outcome = patch(
        live, codec.encode(sent), STRATEGIC, schema, _options(schema, _CLIENT_SIDE)
    )
    return _answer(outcome, live)


def server_side(case: SpecCase, schema: Schema) -> JSON:
    """Return what a server answers to ``kubectl apply --server-side``.

    What is stored is that after all requests: an object that client-side apply has
    written is changed to server-side apply.
    """
    live = case.required("live")
    modified = case.required("modified")
    applied = last_applied(case)
    if applied is not None:
        # Cases leave out the annotation.
        text = annotations_of(with_last_applied(applied))[LAST_APPLIED]
        annotations = {**annotations_of(live), LAST_APPLIED: text}
        live = set_metadata(live, annotations=annotations)
    outcome = patch(
        live, codec.encode(modified), APPLY, schema, _options(schema, _MANAGER)
    )
    if isinstance(outcome, Refused):
        return _answer(outcome, live)
    step = managed_fields.Step(_MANAGER, modified, "kubectl apply")
    (state,) = managed_fields.simulate(
        live, [step], schema, profile=STOCK_SERVER.profile
    ).states
    if state.error is not None:
        raise SmpError(str(state.error), code="not-migrated")
    return find_changes_of(live, as_object(state.object))


def find_changes_of(live: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Return what a write changed, as the results of cases state it.

    It is the JSON merge patch from one object to the other, without managed fields and
    without kubectl's annotation.
    """
    return {"changed": merge_patch.diff(_content(live), _content(new))}


def word_refusal(status: dict[str, Any], code: int) -> dict[str, Any]:
    """Return a refusal as the results of cases state it."""
    details = as_object(status.get("details"))
    causes: list[JSON] = []
    for cause in as_list(details.get("causes")):
        entry = as_object(cause)
        place: JSONObject = {"field": entry.get("field"), "reason": entry.get("reason")}
        # One field may be wrong twice for one reason.
        if not any(same(place, other) for other in causes):
            causes.append(place)
    causes.sort(key=lambda cause: str(as_object(cause)["field"]))
    answer: JSONObject = {"code": code, "reason": status.get("reason")}
    if causes:
        answer["causes"] = causes
    else:
        answer["message"] = status.get("message")
    return {"refused": answer}


def _answer(outcome: Outcome, live: JSONObject) -> JSONObject:
    if isinstance(outcome, Refused):
        return word_refusal(outcome.status, outcome.code)
    return find_changes_of(live, outcome.object)


def _options(schema: Schema, manager: str) -> Options:
    def prepared(old: JSONObject | None, new: JSONObject) -> JSONObject:
        # The status is written through its subresource only.
        kept = {name: value for name, value in new.items() if name != "status"}
        return {**kept, "status": old["status"]} if old and "status" in old else kept

    return replace(
        STOCK_SERVER,
        field_validation="Strict",
        manager=manager,
        prepare=prepared if schema.type.field("status") else None,
    )


def _content(obj: JSONObject) -> JSONObject:
    annotations = {**annotations_of(obj)}
    annotations.pop(LAST_APPLIED, None)
    return set_metadata(obj, managedFields=ABSENT, annotations=annotations or ABSENT)


class Difference(msgspec.Struct, frozen=True):
    """An operation with another result than the case expects; ``text`` shows both."""

    operation: str
    expected: Result
    actual: Result
    text: str


class CaseOutcome(msgspec.Struct, frozen=True):
    """The outcome of a case: the operations that were run, and their differences."""

    case: SpecCase
    operations: tuple[str, ...]
    differences: tuple[Difference, ...]

    @property
    def passed(self) -> bool:
        """Whether every operation had the result that the case expects."""
        return not self.differences


def run(case: SpecCase) -> CaseOutcome:
    """Run every operation that the case has an expectation for.

    Raises DocumentError for a case that is malformed, expects nothing or lacks an
    input.
    """
    if case.problem:
        raise case.error(case.problem)
    expected = expectations(case)
    if not expected:
        raise case.error("the case has no expectation")
    differences: list[Difference] = []
    for name, wanted in expected.items():
        # An unknown kind fails the operation, too, so the schema is made in here.
        actual: Result
        try:
            if name == STEPS:
                actual = results(case)
            else:
                actual = _OPERATIONS[name](case, schema_of(case))
        except DocumentError:
            raise  # the case is malformed; the operation was not run
        except SmpError as error:
            actual = Failure(error.code, str(error))
        if isinstance(wanted, Failure) and isinstance(actual, Failure):
            matches = wanted.code == actual.code
        elif isinstance(wanted, Failure) or isinstance(actual, Failure):
            matches = False
        else:
            matches = same(wanted, actual)
        if not matches:
            text = _comparison(name, wanted, actual)
            differences.append(Difference(name, wanted, actual, text))
    return CaseOutcome(case, tuple(expected), tuple(differences))


def schema_of(case: SpecCase) -> Schema:
    """Return the schema that the case names or contains. Raises SchemaError."""
    if "schema" in case.document:
        schema = inline(case.document["schema"])
    elif "crd" in case.document:
        raise case.error("a crd is for steps; another operation has a kind or a schema")
    else:
        api_version, _, kind = str(case.document["kind"]).partition(" ")
        schema = catalog_of(case).schema(api_version, kind)
    merge = case.object("options").get("unknown_fields") == "merge"
    return schema.with_unknown_fields("merge" if merge else "error")


@bounded("the result")
def _comparison(name: str, expected: Result, actual: Result) -> str:
    texts = [_describe(expected), _describe(actual)]
    lines = [f"{name}:"]
    places: list[str] = []
    if not isinstance(expected, Failure) and not isinstance(actual, Failure):
        places = find_differing_places(expected, actual)
    # Of long values the places at which they differ say more.
    if not places or max(map(len, texts)) <= WIDTH:
        lines += [f"  expected {shorten(texts[0])}", f"  actual   {shorten(texts[1])}"]
    lines += [f"  {place}" for place in places]
    return "\n".join(lines)


def _describe(result: Result) -> str:
    if not isinstance(result, Failure):
        return flow(result)
    problem = f" ({result.problem})" if result.problem else ""
    return f"error {result.code}{problem}"


# --- the operations (spec_cases/README.md, "Operations") ---


def _two_way(case: SpecCase, schema: Schema) -> JSONObject:
    original, modified = case.required("original"), case.required("modified")
    return strategic.two_way_patch(original, modified, schema)


def _three_way(case: SpecCase, schema: Schema) -> JSONObject:
    options = case.object("options")
    kubectl = strategic.KUBECTL_PRECONDITIONS
    return strategic.three_way_patch(
        last_applied(case),
        case.required("modified"),
        case.required("live"),
        schema,
        overwrite=options.get("overwrite") is not False,
        preconditions=kubectl if options.get("preconditions") else (),
    )


def _result(case: SpecCase, schema: Schema) -> JSONObject:
    """Return ``live`` after each of ``patches``, ``patch``, or the three-way patch."""
    result = case.required("live")
    # Several patches in turn are what one composed patch must be equal to.
    if "patches" in case.document:
        for each in patches(case):
            result = strategic.apply_patch(result, each, schema)
        return result
    if "patch" in case.document:
        return strategic.apply_patch(result, case.required("patch"), schema)
    return strategic.apply_patch(result, _three_way(case, schema), schema)


def _compose(case: SpecCase, schema: Schema) -> JSONObject:
    return strategic.compose_patches(patches(case), schema)


def _conflicts(case: SpecCase, schema: Schema) -> JSONArray:
    """Return the conflicts of ``left`` and ``right``, else of the three-way patch."""
    if "left" in case.document:
        left, right = case.required("left"), case.required("right")
        return _conflict_list(strategic.find_conflicts(left, right, schema))
    try:
        _three_way(case, schema)
    except ConflictError as error:
        return _conflict_list(error.conflicts)
    return []


def _conflict_list(conflicts: Iterable[Conflict]) -> JSONArray:
    """Write conflicts as cases do: sorted by path, without sides that have no value."""
    result: JSONArray = []
    for conflict in sorted(conflicts, key=lambda conflict: str(conflict.path)):
        entry: dict[str, JSON | Absent] = {
            "path": str(conflict.path),
            "base": conflict.base,
            "ours": conflict.ours,
            "theirs": conflict.theirs,
        }
        result.append(drop_absent(entry))
    return result


def _apply(case: SpecCase, schema: Schema) -> three_way.ApplyResult:
    return three_way.three_way_apply(
        last_applied(case),
        case.required("modified"),
        case.required("live"),
        schema,
        profile=profile_of(case),
        overwrite=case.object("options").get("overwrite") is not False,
    )


def _causes(case: SpecCase, schema: Schema) -> JSONObject:
    """Return the code of the cause of each path; a list where it is not one."""
    causes = explain_apply(
        last_applied(case),
        case.required("modified"),
        case.required("live"),
        schema,
        profile=profile_of(case),
        unknown_fields="merge",
    )
    codes: dict[str, JSONArray] = {}
    for cause in causes:
        codes.setdefault(str(cause.path), []).append(cause.code)
    found: JSONObject = {}
    for path in case.object("causes"):
        # A list has a cause of its own for how it was merged, and for what it lost.
        each = codes.get(path, [])
        found[path] = each[0] if len(each) == 1 else each
    return found


def _hazards(case: SpecCase, schema: Schema) -> JSONArray:
    hazards = three_way.find_hazards(
        last_applied(case), case.required("modified"), case.required("live"), schema
    )
    rows = sorted((str(hazard.path), hazard.code) for hazard in hazards)
    return [{"path": path, "code": code} for path, code in rows]


def _normalization(case: SpecCase, schema: Schema) -> unions.Normalization:
    clear = case.object("options").get("on_conflict") == "clear"
    return unions.normalize_unions(
        old_object(case),
        case.required("new"),
        schema,
        profile=profile_of(case),
        patch=case.required("patch") if "patch" in case.document else None,
        on_conflict="clear" if clear else "error",
    )


def _normalize(case: SpecCase, schema: Schema) -> JSONObject:
    return _normalization(case, schema).object


def _changes(case: SpecCase, schema: Schema) -> JSONArray:
    changes = _normalization(case, schema).changes
    # A change that cleared the field has no new value.
    return [
        drop_absent({"path": str(change.path), "new": change.new})
        for change in sorted(changes, key=lambda change: str(change.path))
    ]


def _violations(case: SpecCase, schema: Schema) -> JSONArray:
    violations = unions.validate_unions(
        old_object(case),
        _normalize(case, schema),
        schema,
        profile=profile_of(case),
        ratchet=case.object("options").get("ratchet") is True,
    )
    rows = sorted((str(violation.path), violation.code) for violation in violations)
    return [{"path": path, "code": code} for path, code in rows]


_OPERATIONS: Final[dict[str, Callable[[SpecCase, Schema], JSON]]] = {
    "two_way": _two_way,
    "two_way_result": lambda case, schema: strategic.apply_patch(
        case.required("original"), _two_way(case, schema), schema
    ),
    "three_way": _three_way,
    "result": _result,
    "composed": _compose,
    "composed_result": lambda case, schema: strategic.apply_patch(
        case.required("live"), _compose(case, schema), schema
    ),
    "conflicts": _conflicts,
    "applied": lambda case, schema: _apply(case, schema).object,
    "applied_patch": lambda case, schema: _apply(case, schema).patch,
    "kubectl_patch": lambda case, schema: _apply(case, schema).kubectl_patch,
    # Sorted, as the order in which they are found says nothing.
    "unmet": lambda case, schema: [*sorted(map(str, _apply(case, schema).unmet))],
    "causes": _causes,
    "hazards": _hazards,
    "client_side": client_side,
    "server_side": server_side,
    "normalized": _normalize,
    "changes": _changes,
    "violations": _violations,
}


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
    now = datetime.fromisoformat(step.time)
    (state,) = managed_fields.simulate(
        live, [step.write], schema, profile=profile, serving=serving, now=now
    ).states
    if state.error is not None:
        raise state.error
    return state.object


def _other_versions(catalog: Catalog, schema: Schema) -> dict[str, Schema]:
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
