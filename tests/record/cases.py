"""Record what the Go reference does as the expectations of spec cases.

It is run by hand, from the root of the repository:

    python -m tests.record.cases spec_cases/two_way/lists.yaml ...

An expectation never comes from the engine under test. Of each case every operation
that its inputs allow, and that has no expectation yet, gets Go's result. Existing
expectations are checked. Where a case deviates on purpose its expectation is written by
hand, and Go's result becomes its ``reference``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from smp._values.values import JSON, JSONObject, same
from smp.cases import (
    APPLY_OPERATIONS,
    SERVER_OPERATIONS,
    STEPS,
    UNION_OPERATIONS,
    Failure,
    Result,
    SpecCase,
    expectations,
    last_applied,
    parse,
    patches,
    updated_text,
)
from tests.support.reference import Reference, as_go_prints

# Go walks maps in random order: an outcome that depends on it shows in so many runs.
RUNS = 100


class UnrecordableError(Exception):
    """Go has no single result, or an error, where an expectation is to be recorded."""


def computable(case: SpecCase) -> Iterator[str]:
    """Yield the operations that the inputs of a case allow, and that Go can compute."""
    inputs = case.document.keys()
    if {"original", "modified"} <= inputs:
        yield from ("two_way", "two_way_result")
    if {"modified", "live"} <= inputs:
        yield "three_way"
    if (
        {"patch", "live"} <= inputs
        or {"patches", "live"} <= inputs
        or {"modified", "live"} <= inputs
    ):
        yield "result"
    if {"patches", "live"} <= inputs:
        yield "composed"


def answers(go: Reference, case: SpecCase, operation: str) -> list[JSONObject]:
    """Return Go's distinct answers: ``value``, ``error`` or ``panic``."""
    return [_renamed(answer) for answer in _answers(go, case, operation)]


def comparable(case: SpecCase) -> dict[str, Result]:
    """Return the expectations to compare with this package of Go.

    It has no unions and no field managers. Of an apply it computes what kubectl sends,
    and applies the patch that is stated.
    """
    expected = expectations(case)
    left_out = {*UNION_OPERATIONS, *APPLY_OPERATIONS, *SERVER_OPERATIONS, STEPS}
    if "applied_patch" in case.document:
        left_out -= {"applied", "kubectl_patch"}
    return {name: result for name, result in expected.items() if name not in left_out}


def agrees(
    answer: JSONObject, expected: Result, operation: str, *, exactly: bool = False
) -> bool:
    """Tell whether an answer is as expected.

    Of conflicts Go reports only whether there are any. It prints some numbers in its
    own way, which makes a difference only with ``exactly``.
    """
    if isinstance(expected, Failure):
        return "error" in answer
    if operation == "conflicts":
        return same(answer.get("value"), bool(expected))
    return "value" in answer and same(
        answer["value"], expected if exactly else as_go_prints(expected)
    )


def disagreements(go: Reference, case: SpecCase) -> Iterator[str]:
    """Yield where a case is wrong about Go.

    A deviation has to differ from Go exactly as its ``reference`` states, everything
    else must not differ.
    """
    references = case.object("reference")
    for operation, expected in comparable(case).items():
        results = answers(go, case, operation)
        if operation in references:
            if not same(references[operation], as_reference(results)):
                yield f"{operation}: Go does {as_reference(results)}"
            elif len(results) == 1 and agrees(
                results[0], expected, operation, exactly=True
            ):
                yield f"{operation}: no deviation from Go"
        elif len(results) != 1 or not agrees(results[0], expected, operation):
            yield f"{operation}: Go does {as_reference(results)}"


def as_reference(results: list[JSONObject]) -> JSON:
    """Write Go's answers as a ``reference`` does."""
    return results[0] if len(results) == 1 else {"any_of": list[JSON](results)}


def recorded(go: Reference, case: SpecCase) -> JSONObject:
    """Return the members that a case lacks. Raises UnrecordableError."""
    if "deviation" in case.document:
        return _reference(go, case)
    expected = comparable(case)
    failing = {
        operation
        for operation, result in expected.items()
        if isinstance(result, Failure)
    }
    members: JSONObject = {}
    for operation in computable(case):
        if operation in expected or failing & {"three_way", "two_way"}:
            continue
        results = answers(go, case, operation)
        if operation == "composed" and not _is_composition(go, case, results):
            continue
        if len(results) != 1 or "value" not in results[0]:
            raise UnrecordableError(f"{operation}: {as_reference(results)}")
        if operation != "two_way_result" or not same(
            results[0]["value"], as_go_prints(case.document["modified"])
        ):
            members[operation] = results[0]["value"]
    return members


def _reference(go: Reference, case: SpecCase) -> JSONObject:
    """Return what Go does for each operation whose expectation is another one."""
    results = {
        operation: answers(go, case, operation) for operation in comparable(case)
    }
    differing = {
        operation: as_reference(results[operation])
        for operation, expected in comparable(case).items()
        if not all(
            agrees(answer, expected, operation, exactly=True)
            for answer in results[operation]
        )
    }
    if not differing:
        raise UnrecordableError("no deviation from Go")
    return {} if same(case.object("reference"), differing) else {"reference": differing}


def _is_composition(go: Reference, case: SpecCase, results: list[JSONObject]) -> bool:
    """Tell whether Go's composition does what the patches do in turn.

    It does not always: it loses deletions, for example (deviation 14).
    """
    composed = [{"result": answer.get("value")} for answer in results]
    return same(
        list[JSON](_applied(go, case, case.document["live"], composed)),
        list[JSON](_result(go, case)),
    )


def _answers(go: Reference, case: SpecCase, operation: str) -> list[JSONObject]:
    document = case.document
    match operation:
        case "two_way":
            results = _ask(
                go,
                case,
                "two_way",
                original=document["original"],
                modified=document["modified"],
            )
        case "two_way_result":
            results = _applied(
                go, case, document["original"], _answers(go, case, "two_way")
            )
        case "three_way" | "kubectl_patch":
            results = _three_way(go, case)
        case "applied":
            patch = document["applied_patch"]
            results = _applied(go, case, document["live"], [{"result": patch}])
        case "composed":
            results = _ask(go, case, "compose", patches=document["patches"])
        case "conflicts" if "left" in document:
            results = _ask(
                go, case, "conflicts", left=document["left"], right=document["right"]
            )
        case "conflicts":
            results = [{"result": "error" in answer} for answer in _three_way(go, case)]
        case _:
            results = _result(go, case)
    return results


def _three_way(go: Reference, case: SpecCase) -> list[JSONObject]:
    options = case.object("options")
    flags: JSONObject = {
        "overwrite": options.get("overwrite") is not False,
        "preconditions": options.get("preconditions") is True,
    }
    configurations: JSONObject = {
        "modified": case.document["modified"],
        "current": case.document["live"],
    }
    return _ask(
        go, case, "three_way", original=last_applied(case), **configurations, **flags
    )


def _result(go: Reference, case: SpecCase) -> list[JSONObject]:
    live = case.document["live"]
    if "patches" not in case.document:
        patch = case.document.get("patch")
        return _applied(
            go,
            case,
            live,
            _three_way(go, case) if patch is None else [{"result": patch}],
        )
    objects: list[JSONObject] = [{"result": live}]
    for patch in patches(case):
        objects = list(
            chain.from_iterable(
                _applied(go, case, answer["result"], [{"result": patch}])
                for answer in objects
            )
        )
    return objects


def _applied(
    go: Reference, case: SpecCase, original: JSON, results: list[JSONObject]
) -> list[JSONObject]:
    applied = (
        _ask(go, case, "apply", original=original, patch=answer["result"])
        if "result" in answer
        else [answer]
        for answer in results
    )
    return _distinct(list(chain.from_iterable(applied)))


def _distinct(results: list[JSONObject]) -> list[JSONObject]:
    return [
        answer
        for at, answer in enumerate(results)
        if not any(same(answer, other) for other in results[:at])
    ]


def _ask(go: Reference, case: SpecCase, op: str, **request: JSON) -> list[JSONObject]:
    schema = case.document.get("schema")
    kind = (
        {"kind": case.document["kind"]}
        if schema is None
        else {"lookup": "openapi", "schema": schema}
    )
    results = go.ask(op, repeat=RUNS, **kind, **request)["results"]
    return (
        [answer for answer in results if isinstance(answer, dict)]
        if isinstance(results, list)
        else []
    )


def _renamed(answer: JSONObject) -> JSONObject:
    return {"value": answer["result"]} if "result" in answer else answer


def record(go: Reference, path: Path) -> Iterator[str]:
    """Rewrite a file, and yield a line for each problem.

    That is a case that Go disagrees with, or that it has no single result for.
    """
    text = path.read_text(encoding="utf-8")
    changes: dict[int, JSONObject] = {}
    for case in parse(text, source=str(path)):
        try:
            changes[case.index] = recorded(go, case)
        except UnrecordableError as error:
            yield f"{path}:{case.line}: {case.description}: {error}"
    text = updated_text(text, changes, source=str(path))
    path.write_text(text, encoding="utf-8")
    for case in parse(text, source=str(path)):
        for problem in disagreements(go, case):
            yield f"{path}:{case.line}: {case.description}: {problem}"


def main(paths: list[str]) -> int:
    """Record the files; return 1 if there is a problem, 0 otherwise."""
    with Reference() as go:
        complaints = [
            complaint for path in paths for complaint in record(go, Path(path))
        ]
    sys.stdout.writelines(f"{complaint}\n" for complaint in complaints)
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
