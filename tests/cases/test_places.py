"""What a failing case shows: each place at which two results differ."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from smp._values.values import JSON, same
from smp.cases._places import find_differing_places

# Expected, actual, and what is said of them.
EXAMPLES: list[tuple[JSON, JSON, list[str]]] = [
    (1, 1, []),
    (1, 1.0, ["expected 1 (integer), is 1.0 (number)"]),
    ([1], [True], ["[0]: expected 1 (integer), is true (boolean)"]),
    ([0.0], [False], ["[0]: expected 0.0 (number), is false (boolean)"]),
    ({"a": None}, {}, ["a: expected null, is absent"]),
    ({}, {"a": None}, ["a: not expected, is null"]),
    ({"a": {}}, {"a": []}, ["a: expected {} (object), is [] (array)"]),
    (10**30, 10**30 + 1, [f"expected {10**30}, is {10**30 + 1}"]),
    ({"x.y/z": {"'": 1}}, {"x.y/z": {"'": 2}}, ["[x.y/z].': expected 1, is 2"]),
    # An element more or less moves no other one.
    ([1], [1, 1], ["[1]: not expected, is 1"]),
    ([1, 2, 3], [2, 3], ["[0]: expected 1, is absent"]),
    (
        ["a", "b", "c"],
        ["c", "a", "b"],
        ["[2]: out of order: expected at index 2, is at 0"],
    ),
    (
        ["a", "b", "c", "d", "e"],
        ["e", "b", "a", "c", "d"],
        [
            "[1]: out of order: expected at index 1, is at 1",
            "[4]: out of order: expected at index 4, is at 0",
        ],
    ),
    ([[1, 2], [3]], [[3], [1, 2]], ["[1]: out of order: expected at index 1, is at 0"]),
    (
        [{"name": "a"}, {"name": "b", "x": {"y": 1}}],
        [{"name": "b", "x": {"y": 2}}, {"name": "z"}, {"name": "a"}],
        [
            "[name=b]: out of order: expected at index 1, is at 0",
            "[name=z]: not expected, is {name: z}",
            "[name=b].x.y: expected 1, is 2",
        ],
    ),
    # Two elements with one name have none.
    (
        [{"name": "a"}, {"name": "a", "x": 1}],
        [{"name": "a"}, {"name": "a", "x": 2}],
        ["[1].x: expected 1, is 2"],
    ),
    # Objects that have little in common differ by member.
    (
        {"x": {"a": 1, "b": 2}},
        {"x": {"c": 3}},
        [
            "x.a: expected 1, is absent",
            "x.b: expected 2, is absent",
            "x.c: not expected, is 3",
        ],
    ),
    # The last lines and characters are counted.
    (
        {"a": "x" * 200},
        {"a": ""},
        [f'a: expected {"x" * 120}.. and 80 more characters, is ""'],
    ),
    (
        list(range(25)),
        [],
        [*[f"[{n}]: expected {n}, is absent" for n in range(20)], "and 5 more"],
    ),
]

scalars = st.sampled_from([None, True, False, 0, 1, 1.0, "", "x", "a b"])
values: st.SearchStrategy[JSON] = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["name", "a", "'", '"', "[0]"]), inner)
    ),
    max_leaves=12,
)


def test_each_place_is_named_with_what_is_expected_and_what_is() -> None:
    found = [
        find_differing_places(expected, actual) for expected, actual, _ in EXAMPLES
    ]
    assert found == [places for _, _, places in EXAMPLES]


@given(values, values)
def test_there_are_places_where_and_only_where_values_differ(
    expected: JSON, actual: JSON
) -> None:
    assert bool(find_differing_places(expected, actual)) != same(expected, actual)


def test_values_that_are_nested_too_deeply_are_said_to_differ() -> None:
    left: JSON = 1
    right: JSON = 2
    for _ in range(5_000):
        left, right = {"a": left}, {"a": right}
    assert find_differing_places(left, right) == [
        "they differ, and are nested too deeply to say where"
    ]
