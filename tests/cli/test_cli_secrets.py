"""The values of Secrets: masked in reports, patches and errors, printed in objects."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from smp._values.last_applied import LAST_APPLIED
from smp._values.values import JSONObject
from smp.cli._secrets import Masks
from tests.support.command import run

# A value that reads like a mask is a value like any other.
VALUES = st.sampled_from(["a", "b", "c", "***", "*** (live)", "*** (new)", 1, None])
SECTION = st.dictionaries(st.sampled_from(["x", "y", "z"]), VALUES)
SECTIONS = st.fixed_dictionaries({}, optional={"data": SECTION, "stringData": SECTION})
IN_PLACE = settings(
    max_examples=40,
    deadline=None,
    # Each example writes the files of the one before again.
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.function_scoped_fixture,
    ],
)


def secret(**sections: object) -> JSONObject:
    head = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    value: JSONObject = json.loads(json.dumps({**head, **sections}))
    return value


@pytest.mark.parametrize("output", ["json", "patch", "jsonpatch"])
@IN_PLACE
@given(last=SECTIONS, live=SECTIONS, new=SECTIONS, has_annotation=st.booleans())
def test_masking_does_not_change_what_apply_prints(
    output: str,
    last: dict[str, object],
    live: dict[str, object],
    new: dict[str, object],
    *,
    has_annotation: bool,
) -> None:
    stored = secret(**live)
    if has_annotation:
        annotations: JSONObject = {LAST_APPLIED: json.dumps(secret(**last))}
        stored["metadata"] = {"name": "s", "annotations": annotations}
    Path("new.json").write_text(json.dumps(secret(**new)))
    Path("live.json").write_text(json.dumps(stored))
    command = ("apply", "-f", "new.json", "--live", "live.json", "-o", output)
    masked, plain = run(*command), run(*command, "--show-secrets")
    # What is not base64 is refused.
    assert masked.exit_code in (0, 2)
    assert (masked.exit_code, masked.stdout) == (plain.exit_code, plain.stdout)


def test_equal_values_have_one_mask_and_different_values_have_several() -> None:
    live = secret(data={"same": "a", "other": "b"})
    new = secret(data={"same": "a", "other": "c"})
    masks = Masks({"live": live, "new": new}, show_secrets=False)
    assert masks.mask(live)["data"] == {"same": "***", "other": "*** (live)"}
    assert masks.mask(new)["data"] == {"same": "***", "other": "*** (new)"}


def test_unmasking_restores_values_and_keeps_nulls_and_directives() -> None:
    live = secret(data={"x": "a", "y": None})
    masks = Masks({"live": live, "new": secret(data={"x": "b"})}, show_secrets=False)
    assert masks.unmask(masks.mask(live)) == live
    patch = {"data": {"x": "*** (new)", "y": None, "$patch": "replace"}}
    expected = {"data": {"x": "b", "y": None, "$patch": "replace"}}
    assert masks.unmask(json.loads(json.dumps(patch))) == expected


def test_other_objects_are_not_masked() -> None:
    obj: JSONObject = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"x": "a"}}
    assert Masks({"new": obj}, show_secrets=False).mask(obj) is obj


def test_with_show_secrets_nothing_is_masked() -> None:
    obj = secret(data={"x": "a"})
    assert Masks({"new": obj}, show_secrets=True).mask(obj) is obj


def test_a_section_that_is_not_an_object_is_masked_as_a_whole() -> None:
    obj = secret(data="text")
    masks = Masks({"new": obj}, show_secrets=False)
    assert masks.mask(obj)["data"] == "***"


def test_a_misspelled_section_is_masked() -> None:
    Path("old.yaml").write_text(json.dumps(secret(stringdata={"a": "old-word"})))
    Path("new.yaml").write_text(json.dumps(secret(stringdata={"a": "new-word"})))
    for output in ("yaml", "json", "report"):
        assert "-word" not in run("diff", "old.yaml", "new.yaml", "-o", output).output
