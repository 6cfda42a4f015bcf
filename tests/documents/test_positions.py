"""Where the values of a document stand in its text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import BytesIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smp._values.values import JSON
from smp.documents import MAX_BYTES, Position, Positions, chunks, parse, positions
from smp.errors import DocumentError
from smp.paths import Element, KeyedElement, Path, SetElement
from tests.record.documents import recorded, text_of

MANIFEST = b"""\
# A comment before the first document.
---
apiVersion: v1
base: &base
  x: 1
  "y z": {q: [1, 2]}
spec:
  <<: *base
  containers:
  - name: a
  - image: b:1
    name: b
    env:
    -   {name: FIRST, value: '1'}
    - name: SECOND
  finalizers: [one, two]
again: *base
---
kind: Other
--- # A comment behind a separator.
kind: List
items:
- kind: A
-   kind: B
    \xc3\xa9: {\xc3\xa9: 1, z: 2}
"""


def all_positions(data: bytes) -> list[Positions]:
    return [
        found
        for chunk in chunks(BytesIO(data), "f", MAX_BYTES)
        for found in positions(chunk)
    ]


B = Element(7, "name", "b")
FIRST = KeyedElement((("name", "FIRST"),))


@pytest.mark.parametrize(
    ("document", "steps", "line", "column"),
    [
        (0, (), 3, 1),
        (0, ("apiVersion",), 3, 1),
        (0, ("spec", "containers", 0), 10, 5),
        # An element is found by its key, whatever its index was.
        (0, ("spec", "containers", B), 11, 5),
        (0, ("spec", "containers", B, "name"), 12, 5),
        (0, ("spec", "containers", B, "env", FIRST, "value"), 14, 23),
        (0, ("spec", "finalizers", SetElement("two")), 16, 21),
        # What a merge key or an alias inserts stands where its anchor is.
        (0, ("spec", "x"), 5, 3),
        (0, ("spec", "y z", "q", 1), 6, 18),
        (0, ("again",), 17, 1),
        (0, ("again", "x"), 5, 3),
        # A path that leads to nothing: the innermost value around it.
        (0, ("spec", "containers", B, "missing", "more"), 11, 5),
        (0, ("spec", "containers", 9), 9, 3),
        (0, ("spec", "containers", -1), 9, 3),
        (0, ("apiVersion", "more"), 3, 1),
        (1, ("kind",), 19, 1),
        # The items of a list of objects are documents.
        (2, ("kind",), 23, 3),
        (3, ("kind",), 24, 5),
        # Columns count characters, not bytes. The list gives what an item leaves out.
        (3, ("é", "z"), 25, 15),
        (3, ("apiVersion",), 24, 5),
    ],
)
def test_fields_stand_where_their_keys_are(
    document: int, steps: tuple[str | int, ...], line: int, column: int
) -> None:
    found = all_positions(MANIFEST)[document]
    assert found.of(Path(steps)) == Position(line, column)


def test_json_texts_in_a_row_have_positions_of_their_own() -> None:
    text = (
        b'{"a": {"b\\u0061": [1,\n {"c": "\\ud83d\\ude00",\t"d": 2}]}}\n'
        b'{"e": "}\\"", "%s": 3}' % (b"k" * 2000)
    )
    first, second = all_positions(text)
    assert first.of(Path(("a", "ba", 1))) == Position(2, 2)
    assert first.of(Path(("a", "ba", 1, "d"))) == Position(2, 24)
    assert second.of(Path(("k" * 2000,))) == Position(3, 14)


def test_the_items_of_a_large_list_have_the_lines_of_the_file() -> None:
    item = "- kind: A\n  data:\n    key: " + "y" * 20_000 + "\n"
    block = "apiVersion: v1\nitems:\n" + item * 100 + "kind: List\n"
    members = '{"kind": "A", "data":\n {"key": "' + "y" * 20_000 + '"}}'
    row = ",\n".join([members] * 100)
    text = f'{{"apiVersion": "v1", "kind": "List", "items": [{row}]}}'
    key = Path(("data", "key"))
    of_yaml = [position.of(key) for position in all_positions(block.encode())]
    assert of_yaml == [Position(5 + 3 * number, 5) for number in range(100)]
    of_json = [position.of(key) for position in all_positions(text.encode())]
    assert of_json == [Position(2 + 2 * number, 3) for number in range(100)]


def test_an_alias_can_be_a_key_and_a_value() -> None:
    [found] = all_positions(b"a: &x b\n*x : &y [1]\nc: [*x, *y]\n")
    assert found.of(Path(("b", 0))) == Position(2, 10)
    assert found.of(Path(("c", 0))) == Position(3, 5)
    assert found.of(Path(("c", 1))) == Position(3, 9)
    assert found.of(Path(("c", 1, 0))) == Position(2, 10)


ROOT = Path()


def paths_in(value: JSON, path: Path = ROOT) -> Iterator[tuple[Path, JSON]]:
    yield path, value
    if isinstance(value, dict):
        for key, member in value.items():
            yield from paths_in(member, path / key)
    elif isinstance(value, list):
        for index, element in enumerate(value):
            yield from paths_in(element, path / index)


names = st.text("abé \n\"'😀:-", min_size=1, max_size=5)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | names,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=40)
@given(st.dictionaries(names, values, min_size=1), st.sampled_from((None, 0, 2)))
def test_json_and_yaml_agree_where_everything_stands(
    value: dict[str, JSON], indent: int | None
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    [found] = all_positions(text.encode())
    # With a comment before it the same text is YAML.
    [of_yaml] = all_positions(f"#\n{text}".encode())
    lines = text.split("\n")
    for path, part in paths_in(value):
        position = found.of(path)
        in_yaml = of_yaml.of(path)
        assert in_yaml == Position(position.line + 1, position.column)
        key = path.steps[-1] if path.steps else 0
        shown = json.dumps(part if isinstance(key, int) else key, ensure_ascii=False)
        rest = lines[position.line - 1][position.column - 1 :]
        assert rest.startswith(shown[:1] if shown[0] in "{[" else shown)


def test_what_can_be_read_has_positions() -> None:
    documents = 0
    for row in recorded()[::4]:
        try:
            for chunk in chunks(BytesIO(text_of(row)), "f", MAX_BYTES):
                values = [document.value for document in parse(chunk)]
                found = positions(chunk)
                assert len(found) == len(values)
                for value, marks in zip(values, found, strict=True):
                    documents += 1
                    last_line = chunk.line + chunk.data.count(b"\n")
                    for path, _part in paths_in(value):
                        assert marks.of(path).line <= last_line
        except DocumentError:
            continue  # test_read_as_kubectl has these.
    assert documents > 500
