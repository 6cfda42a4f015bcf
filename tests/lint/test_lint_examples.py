"""A text for each code, beside what a real kube-apiserver answered to it.

The answers are recorded (tests/record/lint.py), so that they need no server.
"""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

import smp
from smp._values.values import JSONObject, as_list, as_object, as_text
from smp.hazards import HAZARDS, Hazard
from smp.lint import LINT, Form, form_of, lint
from smp.schema.catalog import Catalog
from tests.record.lint import ANSWERS, data, objects
from tests.support.paths import DOCS

DATA: Final = data()
EXAMPLES: Final = [as_object(example) for example in as_list(DATA["examples"])]
LINES: Final = [json.loads(line) for line in ANSWERS.read_text().splitlines()]
RECORDED: Final[list[JSONObject]] = LINES[1:]
CATALOG: Final = smp.kubernetes("1.36") | Catalog.from_crd(
    as_object(DATA["definition"])
)
PAGE: Final = DOCS / "lint.md"
# Found by the command: which kinds there are, and what else is in a file.
# What is found beside a text: in other files, in definitions, by policies.
OF_OTHERS: Final = {
    "denied-by-policy",
    "repeated-object",
    "unchecked-rule",
    "unknown-to-policy",
    "warned-by-policy",
}
OF_THE_COMMAND: Final = {"repeated-name", "repeated-object", "unknown-kind"}
FORMS: Final[dict[str, Form]] = {
    "strategic": "strategic",
    "merge": "merge",
    "json": "json",
}


def found_in(example: JSONObject) -> tuple[Hazard, ...]:
    value: Any = example["value"]
    if example["send"] != "create":
        target = objects()[as_text(example["to"])]
        custom = target["kind"] == "Widget"
        form = FORMS[as_text(example["send"])]
        return lint(value, CATALOG.schema_of(target), form, custom=custom)
    schema = CATALOG.schema_of(value)
    guess = form_of(value, schema, custom=False)
    assert guess is not None
    return lint(value, schema, guess, guessed=True)


def codes_of(example: JSONObject) -> list[str]:
    return [as_text(code) for code in as_list(example["codes"])]


IN_THE_LIBRARY: Final = [
    pytest.param(example, id=f"{index} {' '.join(codes_of(example))}")
    for index, example in enumerate(EXAMPLES)
    if not OF_THE_COMMAND & {*codes_of(example)}
]


@pytest.mark.parametrize("example", IN_THE_LIBRARY)
def test_each_text_has_what_is_wrong_with_it_and_nothing_else(
    example: JSONObject,
) -> None:
    # What is only good to know of an apply is looked at with the hazards.
    found = {
        hazard.code
        for hazard in found_in(example)
        if hazard.code in LINT or hazard.severity != "note"
    }
    assert found == {*codes_of(example)}


PAIRS: Final = list(zip(EXAMPLES, RECORDED, strict=True))


@pytest.mark.parametrize(
    ("example", "answer"), PAIRS, ids=[str(index) for index in range(len(PAIRS))]
)
def test_what_lint_calls_an_error_is_what_the_server_refuses(
    example: JSONObject, answer: JSONObject
) -> None:
    assert answer["codes"] == example["codes"]
    severities = {LINT[code].severity for code in codes_of(example)}
    refused = example.get("refused", "error" in severities)
    assert (answer["code"] not in (200, 201)) == refused, answer


def test_each_code_has_an_example() -> None:
    shown = {code for example in EXAMPLES for code in codes_of(example)}
    assert set(LINT) - shown == OF_OTHERS
    assert not set(LINT) & set(HAZARDS)


def test_unknown_fields_are_worded_as_strict_field_validation_words_them() -> None:
    compared = 0
    for example, answer in PAIRS:
        if codes_of(example) == ["unknown-field"]:
            (hazard,) = found_in(example)
            assert as_text(answer["message"]).endswith(hazard.sentence)
            compared += 1
    assert compared == 4


def shown(example: JSONObject) -> str:
    """Return the row of the table in docs/lint.md for an example."""
    (code,) = codes_of(example)
    described = LINT[code]
    # What the command fills in.
    if OF_THE_COMMAND & {code}:
        sentence = described.sentence.format(
            problem="duplicate key 'a'", kind="Deployment", api_version="apps/v1beta1"
        )
    else:
        sentence = found_in(example)[0].sentence
    cells = [f"`{code}`", described.severity, sentence]
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


def test_the_page_has_a_row_for_each_code() -> None:
    rows: list[str] = []
    pending = {*LINT}
    for example in EXAMPLES:
        for code in codes_of(example):
            if code in pending:
                pending.remove(code)
                rows.append(shown(example))
    text = PAGE.read_text()
    missing = [row for row in rows if row not in text]
    assert not missing, "\n".join(rows)
    assert pending == OF_OTHERS
    assert all(f"`{code}`" in text for code in pending)


@pytest.mark.parametrize("modes", [["Never"], ["ReadWriteOncePod", "Never"]])
def test_an_element_that_its_enum_does_not_have_is_found_once(modes: list[str]) -> None:
    claim: JSONObject = {
        "accessModes": [*modes],
        "resources": {"requests": {"storage": "1Gi"}},
    }
    volume: JSONObject = {
        "accessModes": [*modes],
        "capacity": {"storage": "1Gi"},
        "hostPath": {"path": "/a"},
    }
    template: JSONObject = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "a", "image": "b"}]},
    }
    stateful: JSONObject = {
        "serviceName": "a",
        "selector": {"matchLabels": {"a": "b"}},
        "template": template,
        "volumeClaimTemplates": [{"metadata": {"name": "c"}, "spec": claim}],
    }
    specs: dict[tuple[str, str], Any] = {
        ("v1", "PersistentVolumeClaim"): claim,
        ("v1", "PersistentVolume"): volume,
        ("apps/v1", "StatefulSet"): stateful,
    }
    for (api_version, kind), spec in specs.items():
        obj = {
            "apiVersion": api_version,
            "kind": kind,
            "metadata": {"name": "a"},
            "spec": spec,
        }
        found = lint(obj, CATALOG.schema(api_version, kind), "manifest")
        values = [each.code for each in found if "Unsupported value" in each.sentence]
        assert values == ["unsupported-value"], found
        # What is said of the whole list is said as well.
        is_alone = any("may not use" in each.sentence for each in found)
        assert is_alone == ("ReadWriteOncePod" in modes)
