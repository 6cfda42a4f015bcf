"""Laws of lint over random patches.

``SMP_FUZZ_CASES`` sets their number, as for the engine beside the reference.
"""

from __future__ import annotations

import os
from typing import Final

import pytest

from smp import _strategic as strategic
from smp.errors import SmpError
from smp.lint import FORMS, lint
from tests.support.differential import random_case
from tests.support.makers import Maker

CASES: Final = int(os.environ.get("SMP_FUZZ_CASES", "80"))
# What is wrong with a value, however the patch of it was made.
OF_VALUES: Final = {"invalid-base64", "invalid-quantity", "unsupported-value"}
# What makes a patch wrong whatever the live object is. The other codes of the engine
# are about types, which live may have as well.
OF_PATCHES: Final = {
    "element-order-mismatch",
    "invalid-deletion-list",
    "invalid-element-order",
    "invalid-retain-keys",
    "missing-merge-key",
    "retain-keys-mismatch",
    "unknown-directive",
}
# The engine looks into what such a directive leaves out of the result.
SHADOWS: Final = {"directive-at-root", "ignored-beside-directive"}


def test_a_computed_patch_has_nothing_wrong_with_it() -> None:
    for seed in range(CASES):
        maker = Maker(seed)
        schema = maker.subject().schema
        try:
            patch = strategic.three_way_patch(*maker.triple(schema), schema)
        except SmpError:
            continue
        found = [
            str(hazard)
            for hazard in lint(patch, schema, "strategic")
            if hazard.code not in OF_VALUES
        ]
        assert found == [], seed


def test_a_patch_that_the_engine_refuses_has_an_error_in_every_case() -> None:
    refused = 0
    for seed in range(CASES):
        # The same documents, before and after they are spoiled.
        live = random_case("apply", seed).documents["original"]
        case = random_case("apply", seed, broken=True)
        schema, patch = case.subject.schema, case.documents["patch"]
        if not isinstance(live, dict) or not isinstance(patch, dict):
            continue
        code = ""
        try:
            strategic.apply_patch(live, patch, schema)
        except SmpError as error:
            code = error.code
        if code not in OF_PATCHES:
            continue
        found = lint(patch, schema, "strategic")
        has_error = any(hazard.severity == "error" for hazard in found)
        is_shadowed = bool(SHADOWS & {hazard.code for hazard in found})
        assert has_error or is_shadowed, (seed, code)
        refused += 1
    assert refused >= CASES // 20


@pytest.mark.parametrize("form", FORMS)
def test_no_text_is_too_strange(form: str) -> None:
    (known,) = [known for known in FORMS if known == form]
    for seed in range(CASES):
        case = random_case("apply", seed, broken=True)
        for document in case.documents.values():
            for hazard in lint(document, case.subject.schema, known, guessed=True):
                assert hazard.sentence
                assert "{" not in hazard.remedy.replace('{"op"', "")
