"""The laws of field sets."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smp._values.values import JSONObject
from smp.errors import DepthError, DocumentError, ObjectError
from smp.managed_fields import FieldSet, extracted, fieldset_of, removed
from smp.paths import Element, KeyedElement, Path, SetElement
from tests.support.field_sets import random_value, subjects
from tests.support.rows import each_row

STEPS = st.one_of(
    st.sampled_from(("a", "b", "app.kubernetes.io/name", "<", "\u00e9", "")),
    st.integers(0, 12),
    st.builds(
        lambda keys: KeyedElement(tuple(sorted(keys.items()))),
        st.dictionaries(
            st.sampled_from(("name", "port")),
            st.one_of(st.text(max_size=3), st.integers(0, 99), st.booleans()),
            min_size=1,
        ),
    ),
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-9, 9),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(max_size=4),
    ).map(SetElement),
)
PATHS = st.lists(STEPS, min_size=1, max_size=4).map(lambda steps: Path(tuple(steps)))
SETS = st.lists(PATHS, max_size=12).map(lambda paths: FieldSet.of(*paths))


@given(SETS)
def test_what_is_written_is_read_again(fields: FieldSet) -> None:
    assert FieldSet.from_v1(fields.to_v1()) == fields
    text = fields.to_v1_text()
    assert FieldSet.from_v1(text) == fields
    assert FieldSet.from_v1(text).to_v1_text() == text


@given(SETS)
def test_a_set_has_its_paths(fields: FieldSet) -> None:
    paths = [*fields.paths()]
    assert FieldSet.of(*paths) == fields
    assert all(fields.has(path) for path in paths)
    assert bool(fields) is bool(paths)


@given(SETS, SETS, PATHS)
def test_operations_are_those_of_sets(
    first: FieldSet, second: FieldSet, path: Path
) -> None:
    for probe in (path, *first.paths(), *second.paths()):
        ours, theirs = first.has(probe), second.has(probe)
        assert first.union(second).has(probe) is (ours or theirs)
        assert first.intersection(second).has(probe) is (ours and theirs)
        assert first.difference(second).has(probe) is (ours and not theirs)
        above = [Path(probe.steps[:size]) for size in range(1, len(probe.steps) + 1)]
        covered = any(second.has(place) for place in above)
        rest = first.recursive_difference(second)
        assert rest.has(probe) is (ours and not covered)


@given(SETS, SETS, SETS)
def test_union_and_intersection_are_commutative_and_associative(
    first: FieldSet, second: FieldSet, third: FieldSet
) -> None:
    assert first.union(second) == second.union(first)
    assert first.intersection(second) == second.intersection(first)
    assert first.union(second).union(third) == first.union(second.union(third))
    common = first.intersection(second).intersection(third)
    assert common == first.intersection(second.intersection(third))


@given(SETS, SETS)
def test_difference_and_intersection_make_up_the_set(
    first: FieldSet, second: FieldSet
) -> None:
    rest, common = first.difference(second), first.intersection(second)
    assert rest.union(common) == first
    assert not rest.intersection(common)


@given(SETS, SETS)
def test_what_does_not_change_is_shared(first: FieldSet, second: FieldSet) -> None:
    both = first.union(second)
    if second:
        assert both.union(FieldSet.from_v1(second.to_v1())) is both
    if first:
        assert first.intersection(both) is first
        assert first.difference(FieldSet()) is first


@given(SETS)
def test_leaves_have_nothing_below_them(fields: FieldSet) -> None:
    leaves = fields.leaves()
    assert {str(path) for path in leaves.paths()} <= {str(p) for p in fields.paths()}
    assert all(not fields.at(path) for path in leaves.paths())


@each_row("seed", range(150))
def test_removing_and_extracting_all_leaves_nothing_and_everything(seed: int) -> None:
    random = Random(f"items {seed}")
    _, _, schema = subjects()[random.choice([*subjects()])]
    value: JSONObject = random_value(random, schema.type, 0)
    fields = fieldset_of(value, schema)
    assert removed(value, schema, FieldSet()) == (value or None)
    left = removed(value, schema, fields)
    if left is not None:
        # What a set cannot name: empty lists, and structs that became empty.
        assert isinstance(left, dict)
        assert not fieldset_of(_without_nulls(left), schema)
    kept = extracted(value, schema, fields.leaves())
    assert fieldset_of(kept if isinstance(kept, dict) else {}, schema) == fields


def _without_nulls(value: JSONObject) -> JSONObject:
    found: JSONObject = {}
    for name, member in value.items():
        if isinstance(member, dict):
            found[name] = _without_nulls(member)
        elif member is not None:
            found[name] = member
    return {name: member for name, member in found.items() if member != {}}


def test_values_of_different_types_are_different_elements() -> None:
    values = (True, "true", 1, "1", None, "null", 0, False, "")
    fields = FieldSet.of(*[Path(("list", SetElement(value))) for value in values])
    assert len([*fields.paths()]) == len(values)
    # Go compares an integer with a double as numbers.
    assert fields.has(Path(("list", SetElement(1.0))))
    assert not fields.has(Path(("list", SetElement(2))))


def test_an_element_of_a_merge_list_is_found_by_its_key() -> None:
    fields = FieldSet.from_v1({"f:spec": {'k:{"name":"a"}': {".": {}, "f:image": {}}}})
    element = Element(7, "name", "a")
    assert fields.has(Path(("spec", element, "image")))
    assert fields.has(Path(("spec", KeyedElement((("name", "a"),)))))
    assert not fields.has(Path(("spec",)))
    assert not fields.has(Path())
    assert [str(path) for path in fields.paths()] == [
        "spec[name=a]",
        "spec[name=a].image",
    ]


def test_numbers_and_texts_are_printed_as_go_prints_them() -> None:
    names = ("<&>\u2028\x7f", "\x00\x1b\n\t\\b", "\b\f")
    assert [FieldSet.of(Path((name,))).to_v1_text() for name in names] == [
        '{"f:<&>\u2028\x7f":{}}',
        r'{"f:\u0000\u001b\n\t\\b":{}}',
        r'{"f:\u0008\u000c":{}}',
    ]
    values = (1.0, -0.0, 0.5, 1e-7, 1e21, 1e20, 123456.75, "<&>\u2028", "\b\x1f\n")
    texts = [FieldSet.of(Path((SetElement(value),))).to_v1_text() for value in values]
    assert texts == [
        '{"v:1":{}}',
        '{"v:0":{}}',
        '{"v:0.5":{}}',
        '{"v:1e-07":{}}',
        '{"v:1e+21":{}}',
        '{"v:100000000000000000000":{}}',
        '{"v:123456.75":{}}',
        r'{"v:\"\\u003c\\u0026\\u003e\\u2028\"":{}}',
        r'{"v:\"\\u0008\\u001f\\n\"":{}}',
    ]


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ({"f:a": {"f:b": 1}}, "a.b"),
        ({"f:a": {"g": {}}}, "a"),
        ({"f:a": {"k:[]": {}}}, "a"),
        ({"k:{": {}}, ""),
        ({"v:": {}}, ""),
        ({"i:1.0": {}}, ""),
        ({"i:9223372036854775808": {}}, ""),
        ({"f": {}}, ""),
        ("[]", ""),
    ],
)
def test_what_is_no_field_set_is_refused_with_its_path(
    document: JSONObject, path: str
) -> None:
    with pytest.raises(ObjectError) as caught:
        FieldSet.from_v1(document)
    assert caught.value.code == "invalid-managed-fields"
    assert str(caught.value.path) == path


def test_what_is_not_json_is_refused() -> None:
    with pytest.raises(DocumentError):
        FieldSet.from_v1("{")


def test_deep_sets_are_refused() -> None:
    document: JSONObject = {}
    for _ in range(5000):
        document = {"f:a": document}
    with pytest.raises(DepthError):
        FieldSet.from_v1(document)
    deep = FieldSet.of(Path(("a",) * 5000))
    same = FieldSet.of(Path(("a",) * 5000))
    for operation in (
        deep.leaves,
        deep.to_v1,
        lambda: deep.union(same),
        lambda: deep.intersection(same),
        lambda: deep.difference(same),
        lambda: deep.recursive_difference(same),
    ):
        with pytest.raises(DepthError):
            operation()


def test_an_element_without_an_index_has_no_pointer() -> None:
    path = Path(("spec", SetElement("a")))
    assert str(path) == "spec[=a]"
    with pytest.raises(ValueError, match="no index"):
        _ = path.pointer


def test_very_many_elements_are_in_the_order_of_their_values() -> None:
    count = 25_000
    fields = FieldSet(frozenset(f"v:{number}" for number in range(count)))
    assert list(fields.to_v1()) == [f"v:{number}" for number in range(count)]
