"""Running a case: every operation that it states an expectation for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from smp import _strategic as strategic
from smp import three_way, unions
from smp._values.values import JSON, Absent, JSONArray, JSONObject, drop_absent, same
from smp.cases._case import (
    STEPS,
    Failure,
    Result,
    SpecCase,
    expectations,
    last_applied,
    old_object,
    patches,
    profile_of,
)
from smp.cases._places import WIDTH, find_differing_places, shorten
from smp.cases._servers import client_side, server_side
from smp.cases._text import flow
from smp.cases._writes import catalog_of, results
from smp.errors import Conflict, ConflictError, DocumentError, SmpError, bounded
from smp.explain import explain_apply
from smp.schema.model import Schema
from smp.schema.sources.openapi import inline


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
    """Show both results where they are short, and where they differ."""
    texts = [_describe(expected), _describe(actual)]
    lines = [f"{name}:"]
    places: list[str] = []
    if not isinstance(expected, Failure) and not isinstance(actual, Failure):
        places = find_differing_places(expected, actual)
    # Of long values the places at which they differ say more.
    if not places or max(map(len, texts)) <= WIDTH:
        lines += [
            f"  expected {shorten(texts[0])}",
            f"  actual   {shorten(texts[1])}",
        ]
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
        for patch in patches(case):
            result = strategic.apply_patch(result, patch, schema)
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
    """Return the code of the cause of each path that the case names.

    It is a list where there are several causes, or none.
    """
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
    """Return the hazards of the inputs and of the apply, sorted by path, then code."""
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
    """Return the changes of the normalization, sorted by path."""
    changes = _normalization(case, schema).changes
    # A change that cleared the field has no new value.
    return [
        drop_absent({"path": str(change.path), "new": change.new})
        for change in sorted(changes, key=lambda change: str(change.path))
    ]


def _violations(case: SpecCase, schema: Schema) -> JSONArray:
    """Return the violations of the normalized object, sorted by path, then by code."""
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
