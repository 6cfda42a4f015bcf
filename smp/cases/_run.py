"""Running a case: every operation that it states an expectation for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Final

from smp import strategic, unions
from smp.cases._case import (
    Failure,
    Result,
    SpecCase,
    expectations,
    last_applied,
    old_object,
    patches,
)
from smp.cases._text import flow
from smp.errors import Conflict, ConflictError, DocumentError, SmpError
from smp.schema.catalog import kubernetes
from smp.schema.model import Schema
from smp.schema.sources.openapi import inline
from smp.values import ABSENT, JSON, Absent, JSONArray, JSONObject, same


@dataclass(frozen=True, slots=True)
class Difference:
    """An operation that did not do what the case expects, and a text that shows it to a
    reader.
    """

    operation: str
    expected: Result
    actual: Result
    text: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a case: the operations that were run, and where they did something
    else.
    """

    case: SpecCase
    operations: tuple[str, ...]
    differences: tuple[Difference, ...]

    @property
    def passed(self) -> bool:
        """Tell whether every operation did what the case expects."""
        return not self.differences


def run(case: SpecCase) -> Outcome:
    """Run every operation that the case has an expectation for.

    Raises DocumentError for a case that expects nothing or lacks an input.
    """
    expected = expectations(case)
    if not expected:
        raise case.error("it expects nothing")
    actual = {name: _attempt(name, case) for name in expected}
    differences = (
        Difference(name, wanted, actual[name], _shown(name, wanted, actual[name]))
        for name, wanted in expected.items()
        if not _alike(wanted, actual[name])
    )
    return Outcome(case, tuple(expected), tuple(differences))


def schema_of(case: SpecCase) -> Schema:
    """Return the schema that the case names or brings. Raises SchemaError."""
    if "schema" in case.document:
        schema = inline(case.document["schema"])
    else:
        version = case.document.get("kubernetes")
        api_version, _, kind = str(case.document["kind"]).partition(" ")
        schema = kubernetes(None if version is None else str(version)).schema(
            api_version, kind
        )
    merge = case.object("options").get("unknown_fields") == "merge"
    return schema.with_unknown_fields("merge" if merge else "error")


def _attempt(name: str, case: SpecCase) -> Result:
    try:
        return _RUN[name](case, schema_of(case))
    except DocumentError:
        raise  # the case is at fault, not the operation
    except SmpError as error:
        return Failure(error.code, str(error))


def _alike(expected: Result, actual: Result) -> bool:
    if isinstance(expected, Failure) or isinstance(actual, Failure):
        return (
            isinstance(expected, Failure)
            and isinstance(actual, Failure)
            and expected.code == actual.code
        )
    return same(expected, actual)


def _two_way(case: SpecCase, schema: Schema) -> JSONObject:
    return strategic.two_way_patch(
        case.given("original"), case.given("modified"), schema
    )


def _two_way_result(case: SpecCase, schema: Schema) -> JSONObject:
    return strategic.apply_patch(case.given("original"), _two_way(case, schema), schema)


def _three_way(case: SpecCase, schema: Schema) -> JSONObject:
    options = case.object("options")
    return strategic.three_way_patch(
        last_applied(case),
        case.given("modified"),
        case.given("live"),
        schema,
        overwrite=options.get("overwrite") is not False,
        preconditions=strategic.KUBECTL_PRECONDITIONS
        if options.get("preconditions")
        else (),
    )


def _result(case: SpecCase, schema: Schema) -> JSONObject:
    live = case.given("live")
    if "patches" in case.document:
        return reduce(
            lambda value, patch: strategic.apply_patch(value, patch, schema),
            patches(case),
            live,
        )
    patch = (
        case.given("patch") if "patch" in case.document else _three_way(case, schema)
    )
    return strategic.apply_patch(live, patch, schema)


def _composed(case: SpecCase, schema: Schema) -> JSONObject:
    return strategic.compose_patches(patches(case), schema)


def _composed_result(case: SpecCase, schema: Schema) -> JSONObject:
    return strategic.apply_patch(case.given("live"), _composed(case, schema), schema)


def _conflicts(case: SpecCase, schema: Schema) -> JSONArray:
    if "left" in case.document:
        return _rendered(
            strategic.find_conflicts(case.given("left"), case.given("right"), schema)
        )
    try:
        _three_way(case, schema)
    except ConflictError as error:
        return _rendered(error.conflicts)
    return []


def _rendered(conflicts: Iterable[Conflict]) -> JSONArray:
    return list(
        map(_conflict, sorted(conflicts, key=lambda conflict: str(conflict.path)))
    )


def _conflict(conflict: Conflict) -> JSONObject:
    sides: dict[str, JSON | Absent] = {
        "base": conflict.base,
        "ours": conflict.ours,
        "theirs": conflict.theirs,
    }
    return {
        "path": str(conflict.path),
        **{side: value for side, value in sides.items() if value is not ABSENT},
    }


def _normalization(case: SpecCase, schema: Schema) -> unions.Normalization:
    return unions.normalize_unions(
        old_object(case),
        case.given("new"),
        schema,
        profile=_profile(case),
        patch=case.given("patch") if "patch" in case.document else None,
        on_conflict="clear"
        if case.object("options").get("on_conflict") == "clear"
        else "error",
    )


def _normalized(case: SpecCase, schema: Schema) -> JSONObject:
    return _normalization(case, schema).object


def _changes(case: SpecCase, schema: Schema) -> JSONArray:
    changes = sorted(
        _normalization(case, schema).changes, key=lambda change: str(change.path)
    )
    return list(map(_change, changes))


def _change(change: unions.Change) -> JSONObject:
    path = str(change.path)
    return {"path": path} if change.new is ABSENT else {"path": path, "new": change.new}


def _violations(case: SpecCase, schema: Schema) -> JSONArray:
    found = unions.validate_unions(
        old_object(case),
        _normalized(case, schema),
        schema,
        profile=_profile(case),
        ratchet=case.object("options").get("ratchet") is True,
    )
    return [
        {"path": path, "code": code}
        for path, code in sorted((str(one.path), one.code) for one in found)
    ]


def _profile(case: SpecCase) -> str:
    return str(case.document.get("profile", "kep1027"))


_RUN: Final[dict[str, Callable[[SpecCase, Schema], JSON]]] = {
    "two_way": _two_way,
    "two_way_result": _two_way_result,
    "three_way": _three_way,
    "result": _result,
    "composed": _composed,
    "composed_result": _composed_result,
    "conflicts": _conflicts,
    "normalized": _normalized,
    "changes": _changes,
    "violations": _violations,
}


def _shown(name: str, expected: Result, actual: Result) -> str:
    lines = [
        f"{name}:",
        f"  expected {_described(expected)}",
        f"  actual   {_described(actual)}",
    ]
    if not isinstance(expected, Failure) and not isinstance(actual, Failure):
        from deepdiff import DeepDiff

        lines += [
            f"  {line}"
            for line in str(
                DeepDiff(expected, actual, verbose_level=2).pretty()
            ).splitlines()
        ]
    return "\n".join(lines)


def _described(result: Result) -> str:
    if isinstance(result, Failure):
        return f"error {result.code}" + (
            f" ({result.problem})" if result.problem else ""
        )
    return flow(result)
