"""smp.custom_resources.validate, beside what a kube-apiserver 1.36.3 answered.

tests.record.verdicts asked it about the cases of tests/data/custom_resources.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smp import custom_resources
from smp._values.values import JSONObject
from smp.custom_resources import _expressions, _patterns, _rules
from smp.documents import read
from smp.lint import lint
from smp.schema.catalog import Catalog
from smp.schema.model import Schema
from tests.record.verdicts import cases, definition, verdicts

# By the length of a list: enough for two evaluations, and not for three.
STEPS: Final = {900: 2_000_000, 200: 5_000_000, 99: 10_000_000}
TOO_MANY: Final = "the rules of the object may take too many steps"
CASES: Final = {case["name"]: case for case in cases()}


def schema_of(name: str) -> Schema:
    document = definition(CASES[name])
    return Catalog.from_crd(document).schema(
        "example.com/v1", "Thing" + name.capitalize()
    )


def texts(causes: list[dict[str, str]]) -> set[tuple[str, str, str]]:
    return {(cause["field"], cause["reason"], cause["message"]) for cause in causes}


@pytest.mark.parametrize("name", list(CASES))
def test_what_a_server_refuses_is_refused_with_its_causes(name: str) -> None:
    schema = schema_of(name)
    rows = [row for row in verdicts() if row["case"] == name]
    assert len(rows) == len(CASES[name]["steps"])
    wrong = []
    for row in rows:
        new, old, of = row["new"], row["old"], row["subresource"]
        found = custom_resources.validate(new, schema, old, subresource=of)
        said = texts([violation.cause for violation in found])
        if said != texts(row.get("causes", [])):
            wrong.append((row["number"], new, said ^ texts(row.get("causes", []))))
    assert not wrong


@pytest.mark.parametrize("name", list(CASES))
def test_lint_has_an_error_exactly_where_a_server_refuses_a_new_object(
    name: str,
) -> None:
    schema = schema_of(name)
    wrong = []
    for row in verdicts():
        if row["case"] != name or row["old"] is not None:
            continue
        found = lint(row["new"], schema, "manifest", custom=True)
        # The recording did not ask for strict field validation.
        errors = [
            hazard
            for hazard in found
            if hazard.severity == "error" and hazard.code != "unknown-field"
        ]
        if bool(errors) != ("causes" in row):
            wrong.append((row["number"], row["new"], errors))
    assert not wrong


def test_an_object_of_a_kind_without_a_definition_is_not_judged() -> None:
    schema = Schema.inline({"fields": {}})
    assert custom_resources.validate({"a": 1}, schema) == ()


def test_arguments_stay_as_they_are() -> None:
    schema = schema_of("defaults")
    obj: JSONObject = {"spec": {"unknown": 1}}
    custom_resources.validate(obj, schema, obj)
    assert obj == {"spec": {"unknown": 1}}


def test_what_cannot_be_checked_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_expressions, "cel", None)
    rules = schema_of("transitions").structural or {}
    patterned = schema_of("keywords").structural or {}
    assert str(custom_resources.unchecked(rules)).startswith(
        "5 rules were not checked: pip install "
    )
    assert not custom_resources.unchecked(patterned)
    monkeypatch.setattr(_patterns, "re2", None)
    assert str(custom_resources.unchecked(patterned)).startswith(
        "1 pattern was not checked: pip install "
    )
    # What needs no package is checked all the same, and nothing else is refused.
    found = custom_resources.validate(
        {"spec": {"name": "AB", "count": 0}}, schema_of("keywords")
    )
    assert [violation.cause["field"] for violation in found] == ["spec.count"]


def with_rule(rule: str, **keywords: Any) -> Schema:
    document = definition(
        {
            "name": "one",
            "spec": {
                "type": "object",
                "properties": {
                    "list": {"type": "array", "items": {"type": "integer"}},
                    **keywords,
                },
                "x-kubernetes-validations": [{"rule": rule}],
            },
        }
    )
    return Catalog.from_crd(document).schema("example.com/v1", "ThingOne")


def test_a_rule_that_is_not_understood_is_counted_and_refuses_nothing() -> None:
    schema = with_rule("self.list.nonsense() ==")
    assert custom_resources.validate({"spec": {"list": [1]}}, schema) == ()
    assert str(custom_resources.unchecked(schema.structural or {})) == (
        "1 rule was not checked: cel-expr-python does not compile them"
    )


def test_rules_of_one_place_are_told_apart() -> None:
    """They are evaluated together, and each alone where not all hold."""
    rules = [
        {"rule": "self.size > 0 // always"},
        {"rule": "self.size > 1 || self.size < 0", "message": "small"},
        {"rule": "[1][self.size] == 1", "message": "error"},
        {"rule": "self.size == oldSelf.size", "message": "changed"},
        {"rule": "nonsense("},
    ]
    document = definition(
        {
            "name": "one",
            "spec": {
                "type": "object",
                "properties": {"size": {"type": "integer"}},
                "x-kubernetes-validations": rules,
            },
        }
    )
    schema = Catalog.from_crd(document).schema("example.com/v1", "ThingOne")
    found = custom_resources.validate(
        {"spec": {"size": 1}}, schema, {"spec": {"size": 2}}
    )
    assert [violation.message for violation in found] == [
        "Invalid value: small",
        'Invalid value: "object": index out of bounds: 1 evaluating rule: error',
        "Invalid value: changed",
    ]
    # What an update did not change is not refused, whichever rules hold.
    old = {"spec": {"size": 0}}
    assert custom_resources.validate(old, schema, old) == ()


RULES_AT_ANY_DEPTH: Final = """
type: object
x-kubernetes-validations:
- {rule: "!has(self.a) || self.a < 3", message: spec}
properties:
  a: {type: integer}
  maximum-size:
    type: object
    nullable: true
    properties:
      in: {type: integer}
      a.b/c: {type: string}
    x-kubernetes-validations:
    - {rule: "!has(self.__in__) || self.__in__ > 0 // don't", message: member}
    - {rule: "self == oldSelf", message: never changes}
  "1":
    type: object
    properties: {a: {type: integer}}
    x-kubernetes-validations: [{rule: "!has(self.a) || self.a > 0", message: digit}]
  labels:
    type: object
    additionalProperties:
      type: array
      items:
        type: object
        properties: {a: {type: integer}}
        x-kubernetes-validations:
        - {rule: "self.a > 0", message: no error where it is there}
        - rule: "!oldSelf.hasValue() || oldSelf.value() == self"
          optionalOldSelf: true
          message: optional
  elements:
    type: array
    x-kubernetes-list-type: map
    x-kubernetes-list-map-keys: [name]
    x-kubernetes-validations:
    - {rule: "self.map(e, e.name).indexOf('b') < 1", message: order}
    items:
      type: object
      required: [name]
      properties:
        name: {type: string}
        a: {type: integer}
      x-kubernetes-validations:
      - {rule: "self.name.startsWith('a') || self.a > 1", message: element}
      - {rule: "!has(self.a) || self.a >= oldSelf.a", message: grows}
"""
# Mostly all rules hold that do not look at an old value.
_NUMBER: Final = st.sampled_from([*[1, 2] * 8, 0, 3])
_SOME: Final = st.fixed_dictionaries({}, optional={"a": _NUMBER})
_SPEC: Final = st.fixed_dictionaries(
    {},
    optional={
        "a": _NUMBER,
        "maximum-size": st.none()
        | st.fixed_dictionaries(
            {}, optional={"in": _NUMBER, "a.b/c": st.sampled_from(["", "x"])}
        ),
        "1": _SOME,
        "labels": st.dictionaries(
            st.sampled_from(["x", "in", "a/b"]),
            st.lists(st.fixed_dictionaries({"a": _NUMBER}) | _SOME, max_size=2),
        ),
        "elements": st.lists(
            st.fixed_dictionaries(
                {"name": st.sampled_from(["a", "ab", "ac", "b"])},
                optional={"a": _NUMBER},
            ),
            unique_by=lambda element: str(element["name"]),
            max_size=3,
        ),
    },
)


@given(new=_SPEC, old=st.none() | _SPEC, unnameable=st.booleans())
@settings(max_examples=300)
def test_rules_refuse_the_same_together_and_by_themselves(
    new: JSONObject, old: JSONObject | None, unnameable: bool
) -> None:
    """What holds together is not asked again, and that changes nothing.

    With a member that no expression can name, fewer are together.
    """
    before = None if old is None else {"spec": old}
    schema = schema_of_rules(unnameable=unnameable)
    found = custom_resources.validate({"spec": new}, schema, before)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(_rules.RuleJudge, "_all_hold", lambda *_: False)
        expected = custom_resources.validate({"spec": new}, schema, before)
    assert found == expected


def test_rules_that_hold_at_all_depths_take_one_evaluation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    evaluated: list[str] = []
    evaluate = _expressions.Expression.evaluate

    def count(expression: _expressions.Expression, bindings: Any) -> Any:
        evaluated.append(expression.text)
        return evaluate(expression, bindings)

    monkeypatch.setattr(_expressions.Expression, "evaluate", count)
    spec = {
        "a": 1,
        "maximum-size": {"in": 1},
        "labels": {"x": [{"a": 1}], "a/b": [{"a": 2}, {"a": 3}]},
        "elements": [{"name": "b", "a": 2}, {"name": "ab"}],
    }
    schema = schema_of_rules(unnameable=False)
    assert custom_resources.validate({"spec": spec}, schema) == ()
    # One that may look at an old value is by itself, at each element.
    optional = "!oldSelf.hasValue() || oldSelf.value() == self"
    assert len(evaluated) == 4
    assert evaluated[1:] == [optional] * 3


@cache
def schema_of_rules(*, unnameable: bool) -> Schema:
    [document] = read(RULES_AT_ANY_DEPTH)
    spec: Any = document.value
    if not unnameable:
        del spec["properties"]["1"]
    made = definition({"name": "one", "spec": spec})
    return Catalog.from_crd(made).schema("example.com/v1", "ThingOne")


def test_a_rule_of_too_many_steps_ends_and_is_said_to_be_undecided() -> None:
    schema = with_rule("self.list.all(a, self.list.all(b, a + b >= 0))")
    numbers: list[Any] = [*range(200)]
    (violation,) = custom_resources.validate({"spec": {"list": numbers}}, schema)
    assert violation.warning
    assert violation.code == "unchecked-rule"
    assert "Iteration budget exceeded" in violation.message


def test_rules_of_too_many_steps_are_not_run_at_every_place() -> None:
    loop = "self.list.all(a, self.list.all(b, a + b >= 0))"
    numbers = {"type": "array", "items": {"type": "integer"}}
    element = {
        "type": "object",
        "properties": {"list": numbers},
        "x-kubernetes-validations": [{"rule": loop}],
    }
    schema = with_rule("true", elements={"type": "array", "items": element})
    spec: Any = {"elements": [{"list": [*range(200)]}] * 300}
    found = custom_resources.validate({"spec": spec}, schema)
    assert [violation.code for violation in found] == ["unchecked-rule"] * 11
    assert found[-1].message == (
        "was not checked: rule any other one: too many rules take too many steps"
    )


@pytest.mark.parametrize(
    ("rule", "text", "length"),
    [
        ("self.list.map(x, x + 1).size() > 0", "", 900),
        ("self.list.all(x, self.text.split(',').size() > 0)", "a," * 5_000, 200),
        ("self.list.all(x, self.list.all(y, self.list.sum() > 0))", "", 99),
    ],
)
def test_all_rules_of_an_object_have_a_limit_of_steps(
    rule: str, text: str, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluated = 0
    evaluate = _expressions.Expression.evaluate

    def count(expression: _expressions.Expression, bindings: Any) -> Any:
        nonlocal evaluated
        evaluated += 1
        return evaluate(expression, bindings)

    element = {
        "type": "object",
        "properties": {
            "list": {"type": "array", "items": {"type": "integer"}},
            "text": {"type": "string"},
        },
        "x-kubernetes-validations": [{"rule": rule}],
    }
    schema = with_rule("true", elements={"type": "array", "items": element})
    spec: Any = {"elements": [{"list": [*range(1, length)], "text": text}] * 3}
    # This is about rules by themselves, not those of all elements together.
    monkeypatch.setattr(_expressions, "join_expressions", lambda *_: None)
    monkeypatch.setattr(_expressions.Expression, "evaluate", count)
    monkeypatch.setattr(_rules, "_MOST_STEPS", STEPS[length])
    found = custom_resources.validate({"spec": spec}, schema)
    assert evaluated == 3
    assert [str(violation) for violation in found] == [
        f"spec.elements[2]: was not checked: rule {rule}: {TOO_MANY}",
        "was not checked: rule any other one: too many rules take too many steps",
    ]
    # What is usual has enough.
    monkeypatch.undo()
    spec["elements"][0]["list"] = [1, 2]
    spec["elements"][1:] = spec["elements"][:1] * 2
    assert custom_resources.validate({"spec": spec}, schema) == ()


def test_a_long_rule_ends_no_other_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Go: celconfig.PerCallLimit and RuntimeCELCostBudget."""
    rules = [
        {"rule": "self.list.map(x, x + 1).size() > 0"},
        {"rule": "self.list.all(x, self.list.exists(y, x == y))", "message": "long"},
        {"rule": "self.list.filter(x, x > 1).size() > 0"},
        {"rule": "self.list.map(x, x - 1).size() > 0"},
        {"rule": "self.list.all(x, x != 7)", "message": "seven"},
    ]
    numbers = {"type": "array", "items": {"type": "integer"}}
    spec = {
        "type": "object",
        "properties": {"list": numbers},
        "x-kubernetes-validations": rules,
    }
    document = definition({"name": "one", "spec": spec})
    schema = Catalog.from_crd(document).schema("example.com/v1", "ThingOne")
    monkeypatch.setattr(_rules, "_MOST_STEPS_OF_RULE", 2_000_000)
    monkeypatch.setattr(_rules, "_MOST_STEPS", 6_000_000)
    found = custom_resources.validate({"spec": {"list": [*range(900)]}}, schema)
    assert [str(violation) for violation in found] == [
        "spec: was not checked: rule long: it may take too many steps",
        "spec: Invalid value: seven",
    ]


def test_a_deep_object_and_a_large_one_end() -> None:
    schema = with_rule("self.list.size() < 1000000")
    large: list[Any] = ["x"] * 200_000
    found = custom_resources.validate({"spec": {"list": large}}, schema)
    assert len(found) == 1000
    deep: Any = 1
    for _ in range(100):
        deep = {"a": deep}
    assert custom_resources.validate({"spec": deep}, schema)
