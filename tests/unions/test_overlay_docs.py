"""docs/union_types.md has every row of the bundled overlay; docs/unions.md runs."""

from __future__ import annotations

import pytest

from smp._values.values import JSON, JSONObject, as_object
from tests.support.examples import python_examples, run_example
from tests.support.overlay_rows import ROWS, names_in
from tests.support.paths import DOCS

DOCUMENT = DOCS / "unions.md"
TABLE = DOCS / "union_types.md"


def test_the_document_has_every_row() -> None:
    lines = ["| type and versions | union | source |", "|---|---|---|"]
    lines += [
        f"| {types_in(row)} | {union_in(row)} | {row['source']} |" for row in ROWS
    ]
    assert "\n".join(lines) in TABLE.read_text()


def types_in(row: JSONObject) -> str:
    """Write ``io.k8s.api.core.v1.Pod`` as core/v1 `Pod`, with its versions."""
    types = []
    for name, its_versions in as_object(row["types"]).items():
        *_, group, version, kind = name.split(".")
        types.append(f"{group}/{version} `{kind}` {its_versions}")
    return "<br>".join(types)


def union_in(row: JSONObject) -> str:
    # A row that is not validated is normalized.
    suffix = "; normalized only" if row.get("validated") is False else ""
    if "within" in row:
        suffix = f" in `{row['within']}`; validated only"
    if "discriminator" not in row:
        amount = "exactly one" if row.get("exactly_one") else "at most one"
        if row.get("at_least_one"):
            amount = "at least one"
        members = ", ".join(f"`{name}`" for name in names_in(row["members"]))
        return f"{amount} of {members}{suffix}"
    choices = [
        choice_in(name, facets) for name, facets in as_object(row["members"]).items()
    ]
    choices += [f"`{value}`" for value in names_in(row["empty"])]
    if row.get("none"):
        choices.append('"" for none')
    default = f"; default `{row['default']}`" if row.get("default") else ""
    return f"`{row['discriminator']}`: {', '.join(choices)}{default}{suffix}"


def choice_in(name: str, facets: JSON) -> str:
    if not isinstance(facets, dict):
        return f"`{facets}` → `{name}`"
    optional = " (optional)" if facets.get("optional") else ""
    return f"`{facets['value']}` → `{name}`{optional}"


@pytest.mark.parametrize("code", python_examples(DOCUMENT))
def test_the_examples_of_the_document_run(code: str) -> None:
    assert run_example(code, "unions.md")
