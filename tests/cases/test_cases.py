"""Spec cases are well-formed, come from the reference, are run and rewritten as their
README says.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import msgspec
import pytest
from jsonschema import Draft202012Validator

import smp
from smp import cases
from smp._values.values import JSON, JSONObject, as_list, as_object, same
from smp.cases import SpecCase, corrected, expectations, parse, run, updated_text
from smp.documents import read_one
from smp.errors import DocumentError
from tests.record.cases import UnrecordableError, disagreements, recorded
from tests.support.kubectl import capture_apply, needs_kubectl, without_last_applied
from tests.support.paths import SPEC_CASES
from tests.support.reference import needs_go, reference

FILES = sorted(
    path
    for path in SPEC_CASES.rglob("*")
    if path.suffix in cases.SUFFIXES and path.name != cases.SCHEMA_NAME
)
# The rows of docs/deviations.md that change a result; 6 to 8 are about cost, arguments
# and error objects.
VISIBLE_DEVIATIONS = {1, 2, 3, 4, 5, *range(9, 26)}
MINIMUM = 200
UNION_MINIMUM = 550
# No program implements unions, so their expectations cite a document, or the source of
# a program that once did.
CITATION = re.compile(
    r"KEP Union types \(2019\), |KEP-1027 Union types( \(draft of June 2022\))?, "
    r"|retainKeys proposal, |structured-merge-diff v4\.3\.0, "
    r"|kubernetes/enhancements PR \d+, |Go: k8s\.io/apimachinery/pkg/api/validate, "
)
# What has no unions is recorded from a server.
SERVER = re.compile(r"kube-apiserver 1\.36\.3\b")
STEP_MINIMUM = 100

in_each_file = pytest.mark.parametrize(
    "path", FILES, ids=lambda path: str(path.relative_to(SPEC_CASES))
)

HEADER = "description: d\nkind: v1 ConfigMap\ncases:\n"
CASE = "  - description: a\n    source: s\n    live: {}\n    patch: {data: {x: '1'}}\n"
PASSING = HEADER + CASE + "    result: {data: {x: '1'}}\n"


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def only(text: str) -> SpecCase:
    (case,) = parse(text)
    return case


def every_case() -> list[SpecCase]:
    return [case for path in FILES for case in parse(read(path), source=str(path))]


def has_union_operations(case: SpecCase) -> bool:
    return not expectations(case).keys().isdisjoint(cases.UNION_OPERATIONS)


def without_union_operations(case: SpecCase) -> SpecCase:
    """Return the part of a case that the reference can be asked about."""
    errors = {
        name: code
        for name, code in case.object("error").items()
        if name not in cases.UNION_OPERATIONS
    }
    members = {
        name: value
        for name, value in case.document.items()
        if name not in cases.UNION_OPERATIONS
    }
    return msgspec.structs.replace(case, document={**members, "error": errors})


# The cases themselves


@cache
def validator() -> Draft202012Validator:
    schema = json.loads(read(SPEC_CASES / cases.SCHEMA_NAME))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


@in_each_file
def test_a_file_matches_the_schema(path: Path) -> None:
    document = read_one(read(path)).value
    assert [error.message for error in validator().iter_errors(document)] == []


def test_there_are_many_cases_and_each_names_its_source() -> None:
    found = every_case()
    assert len(found) >= MINIMUM
    assert all(str(case.document["source"]).strip() for case in found)


def test_no_two_cases_are_the_same() -> None:
    found = [
        {
            name: v
            for name, v in case.document.items()
            if name not in {"description", "source"}
        }
        for case in every_case()
    ]
    texts = [json.dumps(members, sort_keys=True) for members in found]
    assert sorted(texts) == sorted(set(texts))


def test_every_visible_deviation_has_a_case() -> None:
    assert {
        case.document["deviation"]
        for case in every_case()
        if "deviation" in case.document
    } == VISIBLE_DEVIATIONS


def test_there_are_many_cases_about_unions_and_each_cites_a_document() -> None:
    found = [case for case in every_case() if has_union_operations(case)]
    assert len(found) >= UNION_MINIMUM
    assert [
        case.document["source"]
        for case in found
        if not CITATION.match(str(case.document["source"]))
    ] == []


def test_every_case_about_unions_expects_a_normalized_object() -> None:
    found = [case for case in every_case() if has_union_operations(case)]
    assert [
        case.description for case in found if "normalized" not in expectations(case)
    ] == []


def test_every_case_with_steps_cites_what_it_is_from() -> None:
    found = [case for case in every_case() if cases.STEPS in case.document]
    assert len(found) >= STEP_MINIMUM
    assert [
        case.document["source"]
        for case in found
        if not (SERVER if case.document["profile"] == "off" else CITATION).match(
            str(case.document["source"])
        )
    ] == []


@pytest.mark.slow
@needs_go
@in_each_file
def test_expectations_agree_with_the_reference(path: Path) -> None:
    go = reference()
    assert go is not None
    checked = map(without_union_operations, parse(read(path)))
    found = [
        f"{case.line}: {problem}"
        for case in checked
        for problem in disagreements(go, case)
    ]
    assert found == []


def with_name(value: JSON, kind: JSON) -> JSONObject:
    """Name an object as kubectl needs it."""
    api_version, _, name = str(kind).partition(" ")
    members = value if isinstance(value, dict) else {}
    metadata = members.get("metadata", {})
    named = {
        "name": "web",
        "namespace": "shop",
        **(metadata if isinstance(metadata, dict) else {}),
    }
    return {**members, "apiVersion": api_version, "kind": name, "metadata": named}


@pytest.mark.slow
@needs_kubectl
@pytest.mark.parametrize(
    "case",
    parse(read(SPEC_CASES / "three_way" / "kubectl.yaml")),
    ids=lambda case: case.name,
)
def test_kubectl_sends_the_recorded_patches(case: SpecCase) -> None:
    kind = case.document["kind"]
    before = cases.last_applied(case)
    last_applied = None if before is None else with_name(before, kind)
    sent = capture_apply(
        last_applied,
        with_name(case.document["modified"], kind),
        with_name(case.document["live"], kind),
    )
    assert same(without_last_applied(sent or {}), case.document["three_way"])


@in_each_file
def test_every_case_passes(path: Path) -> None:
    outcomes = [run(case) for case in parse(read(path), source=str(path))]
    assert [
        difference.text for outcome in outcomes for difference in outcome.differences
    ] == []


# Recording


@needs_go
def test_recording_adds_expectations_that_a_case_lacks() -> None:
    go = reference()
    assert go is not None
    assert recorded(go, only(HEADER + CASE)) == {"result": {"data": {"x": "1"}}}
    both = only(
        HEADER + "  - {description: a, source: s, original: {data: {x: b}}, "
        "modified: {data: {x: null}}}\n"
    )
    assert recorded(go, both) == {
        "two_way": {"data": {"x": None}},
        "two_way_result": {"data": {}},
    }
    assert recorded(go, only(PASSING)) == {}


@needs_go
def test_a_deviation_must_differ_from_the_reference() -> None:
    go = reference()
    assert go is not None
    deviating = only(HEADER + CASE + "    result: {data: {}}\n    deviation: 1\n")
    assert recorded(go, deviating) == {
        "reference": {"result": {"value": {"data": {"x": "1"}}}}
    }
    with pytest.raises(UnrecordableError, match="no deviation"):
        recorded(go, only(PASSING + "    deviation: 1\n"))


@needs_go
def test_a_disagreement_with_the_reference_is_found() -> None:
    go = reference()
    assert go is not None
    assert list(disagreements(go, only(HEADER + CASE + "    result: {}\n"))) != []
    assert (
        list(
            disagreements(go, only(HEADER + CASE + "    error: {result: some-code}\n"))
        )
        != []
    )
    assert list(disagreements(go, only(PASSING))) == []


# Reading


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "must be an object with a list of cases"),
        ("description: d\n", "must be an object with a list of cases"),
        (HEADER + CASE + "extra: 1\n", r"unknown members \['extra'\]"),
        (HEADER + "  - 1\n", "a case must be an object, not integer"),
        (HEADER + CASE + "    expected: {}\n", "unknown member 'expected'"),
        (HEADER + CASE + "    result: []\n", "'result' cannot be array"),
        (HEADER + CASE + "    deviation: true\n", "'deviation' cannot be boolean"),
        (HEADER + "  - description: a\n", "no member 'source'"),
        (HEADER + "  - source: s\n", "no member 'description'"),
        (HEADER + CASE + "    new: null\n", "'new' cannot be null"),
        (HEADER + CASE + "    violations: {}\n", "'violations' cannot be object"),
        (
            HEADER + CASE + "    reference: {normalized: {value: {}}}\n",
            r"'reference' has unknown keys \['normalized'\]",
        ),
        (HEADER + CASE + "    schema: {}\n    kind: v1 Pod\n", "a schema or a crd"),
        ("description: d\ncases:\n" + CASE, "a schema or a crd"),
        (
            HEADER + CASE + "    options: {force: true}\n",
            r"'options' has unknown keys \['force'\]",
        ),
        (
            HEADER + CASE + "    error: {apply: x}\n",
            r"'error' has unknown keys \['apply'\]",
        ),
        (
            HEADER + CASE + "    result: {}\n    error: {result: x}\n",
            r"\['result'\] cannot both fail",
        ),
        (PASSING + CASE, "the same description"),
        (HEADER + CASE + "    crd: {}\n    kind: v1 Pod\n", "a schema or a crd"),
        (HEADER + CASE + "    steps: {}\n", "'steps' cannot be object"),
        (HEADER + CASE + "    steps: [1]\n", "a step must be an object, not integer"),
        (HEADER + CASE + "    steps: [{manager: a}]\n", "a step has one of apply, "),
        (
            HEADER + CASE + "    steps: [{manager: a, apply: {}, update: {}}]\n",
            "a step has one of apply, ",
        ),
        (HEADER + CASE + "    steps: [{apply: {}}]\n", "a step has a manager"),
        (
            HEADER + CASE + "    steps: [{apply: {}, manager: 1}]\n",
            "'manager' of a step cannot be integer",
        ),
        (
            HEADER + CASE + "    steps: [{apply: {}, manager: a, forced: true}]\n",
            "unknown member 'forced' of a step",
        ),
    ],
)
def test_a_malformed_case_is_rejected_with_its_place(text: str, message: str) -> None:
    with pytest.raises(DocumentError, match=message) as caught:
        [*map(run, parse(text, source="f.yaml"))]
    assert caught.value.code == "invalid-case"
    assert caught.value.source == "f.yaml"


def test_a_malformed_case_leaves_the_others_of_its_file_alone() -> None:
    bad = CASE.replace("source: s", "source: 003").replace("n: a", "n: b")
    broken, other = parse(HEADER + bad + PASSING.removeprefix(HEADER))
    assert broken.problem == "'source' cannot be integer"
    assert run(other).passed


def test_a_case_knows_its_line() -> None:
    text = (
        HEADER
        + CASE
        + "\n  # a comment\n"
        + CASE.replace("description: a", "description: b, and more")
    )
    assert [(case.line, case.name) for case in parse(text)] == [
        (4, "a"),
        (10, "b-and-more"),
    ]


def test_a_case_always_has_a_name() -> None:
    assert only(PASSING.replace("description: a", "description: '?!'")).name == "case-0"


def test_a_case_with_a_schema_does_not_take_the_kind_of_its_file() -> None:
    case = only(
        HEADER + CASE + "    schema: {type: object}\n    result: {data: {x: '1'}}\n"
    )
    assert "kind" not in case.document
    assert run(case).passed


def test_a_file_may_be_json() -> None:
    document = read_one(PASSING).value
    assert [case.document for case in parse(json.dumps(document))] == [
        only(PASSING).document
    ]


def test_expectations_have_defaults() -> None:
    two_way = (
        "  - {description: a, source: s, original: {}, modified: {data: {}}, "
        "two_way: {data: {}}}\n"
    )
    assert expectations(only(HEADER + two_way)) == {
        "two_way": {"data": {}},
        "two_way_result": {"data": {}},
    }
    composed = "  - {description: a, source: s, live: {}, patches: [], result: {}}\n"
    assert expectations(only(HEADER + composed)) == {
        "result": {},
        "composed_result": {},
    }
    refused = composed.replace(
        "result: {}", "result: {}, error: {composed: not-composable}"
    )
    assert "composed_result" not in expectations(only(HEADER + refused))


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ("original: {a: 1}, last_applied: {b: 1}", {"b": 1}),
        ("original: {a: 1}", {"a": 1}),
        ("original: {a: 1}, last_applied: null", None),
        ("live: {}", None),
    ],
)
def test_original_is_the_default_of_the_last_applied_configuration(
    members: str, expected: JSONObject | None
) -> None:
    case = only(HEADER + f"  - {{description: a, source: s, {members}}}\n")
    assert same(cases.last_applied(case), expected)


# Running


@pytest.mark.parametrize(
    ("expectation", "shown"),
    [
        ("result: {data: {x: '2'}}", 'data.x: expected "2", is "1"'),
        ("result: {data: {x: 1}}", 'actual   {data: {x: "1"}}'),
        ("error: {result: some-code}", "expected error some-code"),
    ],
)
def test_a_difference_is_shown(expectation: str, shown: str) -> None:
    outcome = run(only(HEADER + CASE + f"    {expectation}\n"))
    assert not outcome.passed
    assert [difference.operation for difference in outcome.differences] == ["result"]
    assert shown in outcome.differences[0].text


def test_an_error_instead_of_a_value_is_shown() -> None:
    text = HEADER + CASE.replace("{data: {x: '1'}}", "{data: {$patch: bogus}}").replace(
        "live: {}", "live: {data: {}}"
    )
    (difference,) = run(only(text + "    result: {}\n")).differences
    assert "actual   error unknown-directive (data" in difference.text


@pytest.mark.parametrize("wanted", ["1", "true", "'1'"])
def test_values_are_compared_by_type(wanted: str) -> None:
    text = (
        HEADER + CASE.replace("'1'", "1") + f"    result: {{data: {{x: {wanted}}}}}\n"
    )
    assert run(only(text)).passed == (wanted == "1")


def test_an_unknown_kind_fails_the_operation() -> None:
    (difference,) = run(only(PASSING.replace("ConfigMap", "Configmap"))).differences
    assert "unknown-kind" in difference.text


def test_the_version_of_kubernetes_may_be_chosen() -> None:
    assert run(only(PASSING.replace("cases:", "kubernetes: '1.30'\ncases:"))).passed
    assert not run(only(PASSING.replace("cases:", "kubernetes: '0.1'\ncases:"))).passed


@pytest.mark.parametrize(
    "members",
    [
        "two_way: {}",
        "result: {}",
        "live: {}, result: {}",
        "left: {}, conflicts: []",
        "old: {}, normalized: {}",
        "violations: []",
        "live: {}",
    ],
)
def test_a_case_that_lacks_an_input_or_an_expectation_cannot_be_run(
    members: str,
) -> None:
    with pytest.raises(DocumentError, match=r"needs the input|no expectation"):
        run(only(HEADER + f"  - {{description: a, source: s, {members}}}\n"))


# Unions

UNIONS = """\
description: d
schema:
  type: object
  properties:
    d:
      type: string
      enum: ["", A, B]
      x-kubernetes-unions: {fieldMembers: {"": null, A: {name: a}, B: {name: b}}}
    a: {type: string}
    b: {type: string}
"""
SWITCH = "  - {description: a, source: s, old: {d: A, a: x}, new: {d: B, a: x}, "


def union_outcome(text: str, profile: str = "kep1027") -> cases.CaseOutcome:
    return run(only(f"{UNIONS}profile: {profile}\ncases:\n{text}}}\n"))


def test_union_operations_are_run() -> None:
    expected = (
        "normalized: {d: B}, changes: [{path: a}], "
        "violations: [{path: b, code: member-required}]"
    )
    outcome = union_outcome(SWITCH + expected)
    assert outcome.passed
    assert outcome.operations == ("normalized", "changes", "violations")


def test_the_default_profile_is_kep1027() -> None:
    assert run(only(f"{UNIONS}cases:\n{SWITCH}normalized: {{d: B}}}}\n")).passed


def test_a_case_may_have_a_profile_of_its_own() -> None:
    assert union_outcome(
        SWITCH + "profile: validate-only, normalized: {d: B, a: x}"
    ).passed
    assert union_outcome(SWITCH + 'profile: "off", violations: []').passed


def test_a_change_that_sets_a_field_has_the_value() -> None:
    text = (
        "  - {description: a, source: s, new: {b: x}, normalized: {d: B, b: x}, "
        "changes: [{path: d, new: B}]"
    )
    assert union_outcome(text, "kep2019").passed


@pytest.mark.parametrize("old", ["", "old: null, "])
def test_without_an_old_object_one_is_created(old: str) -> None:
    text = (
        f"  - {{description: a, source: s, {old}new: {{d: B, a: x, b: x}}, "
        "normalized: {d: B, a: x, b: x}"
    )
    assert union_outcome(text).passed


def test_the_patch_of_a_case_may_conflict_with_the_normalization() -> None:
    text = SWITCH + "patch: {d: B, a: x}, "
    assert union_outcome(
        text + "error: {normalized: union-conflict, violations: union-conflict}"
    ).passed
    assert union_outcome(
        text + "options: {on_conflict: clear}, normalized: {d: B}"
    ).passed


def test_ratcheting_is_an_option() -> None:
    text = "  - {description: a, source: s, old: {d: A}, new: {d: A}, "
    assert union_outcome(text + "violations: [{path: a, code: member-required}]").passed
    assert union_outcome(text + "options: {ratchet: true}, violations: []").passed


def test_violations_and_changes_are_rewritten_as_they_are_compared() -> None:
    text = f"{UNIONS}cases:\n  - description: a\n    source: s\n"
    text += "    old: {d: A, a: x}\n    new: {a: x, b: x, d: B}\n"
    text += "    changes: []\n    violations: [{path: a, code: member-required}]\n"
    updated = updated_text(text, {0: corrected(run(only(text)))})
    assert updated == text.replace("changes: []", "changes: [{path: a}]").replace(
        "[{path: a, code: member-required}]", "[]"
    )


# Rewriting

COMMENTED = """\
# about the file
description: d
kind: v1 ConfigMap
cases:
  # the first
  - description: first   # remark
    source: s
    live: {}
    result: {data: {x: "9"}}
    patch: {data: {x: "1"}}

  # the second
  - description: second
    source: s
    live:
      data:
        # inside
        z: "0"
    patch: {data: {$patch: bogus}}
    result:
      data:
        z: "7"
# the end
"""


def test_only_what_changed_is_rewritten() -> None:
    changes = {case.index: corrected(run(case)) for case in parse(COMMENTED)}
    expected = COMMENTED.replace(
        'result: {data: {x: "9"}}', 'result: {data: {x: "1"}}'
    ).replace(
        '    result:\n      data:\n        z: "7"\n',
        "    error: {result: unknown-directive}\n",
    )
    updated = updated_text(COMMENTED, changes)
    assert updated == expected
    assert all(run(case).passed for case in parse(updated))


def test_an_error_is_replaced_by_a_value() -> None:
    text = HEADER + CASE + "    error: {result: some-code}\n"
    updated = updated_text(text, {0: corrected(run(only(text)))})
    assert updated == HEADER + CASE + '    result: {data: {x: "1"}}\n'


def test_a_default_that_fails_is_stated() -> None:
    text = (
        HEADER
        + "  - description: a\n    source: s\n    original: {}\n"
        + "    modified: {data: {x: null}}\n    two_way: {}\n"
    )
    updated = updated_text(text, {0: corrected(run(only(text)))})
    assert updated == text.replace(
        "two_way: {}\n", "two_way: {data: {x: null}}\n    two_way_result: {data: {}}\n"
    )


def test_long_values_are_written_over_several_lines() -> None:
    element: JSONObject = {"name": "a" * 50, "image": "b" * 50, "args": ["c"]}
    updated = updated_text(
        HEADER + CASE, {0: {"result": {"data": {"long": [element, "d", {}]}}}}
    )
    assert updated.removeprefix(HEADER + CASE) == (
        "    result:\n      data:\n        long:\n"
        f"          - name: {'a' * 50}\n            image: {'b' * 50}\n"
        "            args: [c]\n          - d\n          - {}\n"
    )


@pytest.mark.parametrize(
    "layout",
    [
        "cases: [{description: a, source: s}]\n",
        "cases:\n  - {description: a, source: s}\n",
    ],
)
def test_flow_style_is_not_rewritten(layout: str) -> None:
    with pytest.raises(DocumentError) as caught:
        updated_text("description: d\nkind: v1 Pod\n" + layout, {0: {"result": {}}})
    assert caught.value.code == "not-updatable"


def test_json_stays_json() -> None:
    text = json.dumps(read_one(PASSING).value)
    updated = json.loads(updated_text(text, {0: {"result": {"data": {}}}}))
    assert updated["cases"][0]["result"] == {"data": {}}
    assert list(updated) == ["description", "kind", "cases"]


@pytest.mark.slow
@in_each_file
def test_every_case_can_be_rewritten(path: Path) -> None:
    text = read(path)
    found = parse(text)
    assert updated_text(text, {}) == text
    changes: dict[int, JSONObject] = {
        case.index: {
            "source": "é: #1 {[",
            "result": {"$patch": ["y", "1e3", " ", 1, None, {"a b": "-"}] * 9},
            "error": None,
        }
        for case in found
    }
    updated = read_one(updated_text(text, changes)).value
    assert isinstance(updated, dict)
    assert isinstance(updated["cases"], list)
    assert [case["source"] for case in updated["cases"] if isinstance(case, dict)] == [
        "é: #1 {["
    ] * len(found)


@in_each_file
def test_the_patch_of_an_apply_leads_to_its_object(path: Path) -> None:
    for case in parse(read(path), source=str(path)):
        if {"applied", "applied_patch"} <= case.document.keys():
            live, patch = case.object("live"), case.object("applied_patch")
            applied = smp.apply_patch(live, patch, cases.schema_of(case))
            assert same(applied, case.object("applied"))


# Steps

APPLIES = (
    "  - description: a\n    source: s\n    steps:\n"
    "      - apply: {apiVersion: v1, kind: ConfigMap, data: {a: x}}\n"
    "        manager: alice\n        changed: false\n"
    "      - merge_patch: {data: {a: z}}\n"
    "        manager: bob\n        owners: {}\n        object: {}\n"
    "      - apply: {apiVersion: v1, kind: ConfigMap, data: {a: x}}\n"
    "        manager: alice\n        error: other\n        message: m\n"
    "      - apply: {apiVersion: v1, kind: ConfigMap, data: {a: z}}\n"
    "        manager: bob\n        changed: false\n"
    "      - apply: {apiVersion: v1, kind: ConfigMap, datas: {a: z}}\n"
    "        manager: bob\n        changed: false\n"
)


def test_steps_are_updated() -> None:
    text = HEADER + APPLIES
    outcome = run(only(text))
    assert outcome.operations == ("steps",)
    assert not outcome.passed
    updated = updated_text(text, {0: corrected(outcome)})
    case = only(updated)
    assert run(case).passed
    created, patched, conflict, shared, unknown = [
        as_object(step) for step in as_list(case.document["steps"])
    ]
    entry = {
        "manager": "alice",
        "operation": "Apply",
        "apiVersion": "v1",
        "time": "2026-01-01T00:00:01Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:a": {}}},
    }
    assert created == {
        "apply": {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "x"}},
        "manager": "alice",
        "object": {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"managedFields": [entry]},
            "data": {"a": "x"},
        },
    }
    assert patched["owners"] == {"bob": {"f:data": {"f:a": {}}}}
    assert as_object(patched["object"])["metadata"] == {}
    assert conflict["conflicts"] == [
        {"field": ".data.a", "message": 'conflict with "bob" using v1'}
    ]
    assert "error" not in conflict
    assert conflict["message"] == (
        'Apply failed with 1 conflict: conflict with "bob" using v1: .data.a'
    )
    # The same manager, with another operation.
    metadata = as_object(as_object(shared["object"])["metadata"])
    entries = as_list(metadata["managedFields"])
    assert [as_object(entry)["operation"] for entry in entries] == ["Apply", "Update"]
    assert unknown["error"] == "invalid-applied"


def test_a_crd_is_for_steps() -> None:
    text = HEADER.replace("kind: v1 ConfigMap", "crd: {}") + CASE
    with pytest.raises(DocumentError, match="a crd is for steps"):
        run(only(text + "    result: {}\n"))


def test_a_step_of_an_unknown_kind_fails_the_case() -> None:
    text = APPLIES.replace("kind: ConfigMap", "kind: Configmap")
    (difference,) = run(only(HEADER + text)).differences
    assert "unknown-kind" in difference.text
