"""What identifies an object is found without parsing it, or not at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smp import DocumentError
from smp._values.values import JSONObject, as_object
from smp.documents import head_of, read

USUAL = """\
# A comment.
apiVersion: "apps/v1"
kind: 'Deployment' # another one
metadata:

    # The indentation of the first key.
    labels:
      name: other
    name: web-1.2
    namespace: shop
"""
LINES = [
    "apiVersion: v1",
    "kind: Pod",
    "kind: 'Pod'",
    'kind: "Pod" # text',
    "kind : Pod",
    "kind: yes",
    "kind: 12",
    "kind: Pod\r",
    "'kind': Pod",
    "? kind",
    "metadata:",
    "metadata: # text",
    "metadata: {}",
    "items:",
    "spec:",
    "  name: a",
    "  name: 'a b'",
    "  name: 1.5",
    "  name: on",
    "  name:",
    "  'name': b",
    "  namespace: n # text",
    "  generateName: g-",
    "  labels:",
    "    name: x",
    "# kind: x",
    "  # name: x",
    "",
    "data: |",
    "    kind: z",
]


def expected(value: JSONObject) -> JSONObject:
    metadata = as_object(value.get("metadata"))
    found = {name: value.get(name) for name in ("apiVersion", "kind")}
    names = ("name", "namespace", "generateName")
    return found | {name: metadata[name] for name in names if name in metadata}


def test_comments_quotes_and_the_indentation_do_not_matter() -> None:
    found = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": "web-1.2",
        "namespace": "shop",
    }
    assert head_of(USUAL.encode()) == found
    assert head_of(USUAL.rstrip().encode()) == found
    item = "".join(f"  {line}\n" for line in USUAL.splitlines())
    assert head_of(item.encode(), indent=2) == found


@pytest.mark.parametrize(
    "line",
    [
        "items: []",
        f"kind: {'1' * 5000}",
        "{a: b}",
        "kind: no",
        "metadata:",
        "kind: *alias",
    ],
)
def test_a_document_in_an_unusual_form_has_to_be_parsed(line: str) -> None:
    assert head_of(f"{USUAL}{line}".encode()) is None
    if line.startswith("kind: "):
        assert head_of(USUAL.replace("kind: 'Deployment'", line).encode()) is None


@given(
    st.lists(st.sampled_from(LINES), max_size=4),
    st.lists(st.sampled_from(LINES), max_size=4),
    st.sampled_from(["", "\n"]),
)
def test_what_is_found_is_what_parsing_finds(
    before: list[str], after: list[str], end: str
) -> None:
    usual = ["apiVersion: v1", "kind: Pod", "metadata:", "  name: a"]
    data = ("\n".join([*before, *usual, *after]) + end).encode()
    found = head_of(data)
    if found is None:
        return
    try:
        [document] = read(data)
    except DocumentError:
        # An error is found when the document is parsed.
        return
    assert expected(as_object(document.value)) == found
