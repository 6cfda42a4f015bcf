"""No argument of a public function ends the process, or raises a foreign exception.

``benchmarks/fuzz.py`` calls every public function with random arguments in processes of
their own; a million of them are run by hand.
"""

from __future__ import annotations

import pytest

import smp
from benchmarks.fuzz import run
from smp import (
    cases,
    custom_resources,
    documents,
    explain,
    managed_fields,
    reports,
)
from smp._values.values import JSONObject
from tests.support.hostile import OWN_CALLS, arguments_of, public_functions
from tests.support.hostile_values import Hostile

FEW = 1_000
MANY = 10_000


def test_every_public_function_has_a_call() -> None:
    functions = public_functions()
    assert {*OWN_CALLS} <= functions.keys()
    for name, function in functions.items():
        if name not in OWN_CALLS:
            # A parameter that nothing is known to be made for raises TypeError.
            arguments_of(function, Hostile(0))


def test_what_begins_as_a_long_number_is_out_of_range() -> None:
    with pytest.raises(smp.DocumentError) as caught:
        documents.read_one(f"[{'9' * 5000}---]")
    assert caught.value.code == "invalid-number"


def test_the_serving_of_a_kind_has_booleans() -> None:
    for wrong in ({"custom": None}, {"has_status": "no"}):
        with pytest.raises(smp.ObjectError) as caught:
            managed_fields.Serving(**wrong)
        assert caught.value.code == "not-a-boolean"


def test_a_schema_in_itself_is_too_deep() -> None:
    schema: JSONObject = {"type": "array"}
    schema["items"] = schema
    with pytest.raises(smp.DepthError):
        custom_resources.unchecked(schema)


def test_a_result_that_is_too_deep_to_be_printed_is_an_error() -> None:
    deep = "[" * 400 + "]" * 400
    inputs = "original: {}, modified: {data: {}}"
    about = "description: d, source: s, kind: v1 ConfigMap"
    [case] = cases.parse(f"cases: [{{{about}, {inputs}, two_way: {{data: {deep}}}}}]")
    with pytest.raises(smp.DepthError):
        cases.run(case)


def test_causes_with_values_of_other_types_are_printed() -> None:
    # An engine that does not look at a value leaves it as it is.
    live, new = {"data": {"a": "b"}}, {"data": {"a": ("c", "d")}}
    fact = explain.Evidence("x", ("c", "e"))
    path = smp.Path(("data", "a"))
    causes = (smp.Cause(path, "set", "It is set.", "b", ("c", "d"), "Go", (fact,)),)
    report = reports.ObjectReport(
        *("v1", "ConfigMap", "", "a", reports.Place("a.yaml", 1), "changed"),
        live=live,
        desired=new,
        result=new,
        causes=causes,
    )
    for form in reports.FORMATS:
        assert "".join(reports.printed([report], form))


@pytest.mark.slow
def test_random_arguments_lead_to_results_and_errors_of_the_library() -> None:
    assert run(0, FEW) == []


@pytest.mark.exhaustive
def test_many_random_arguments_do_as_well() -> None:
    assert run(FEW, MANY - FEW) == []
