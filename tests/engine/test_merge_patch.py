from __future__ import annotations

import copy

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from smp import merge_patch
from smp.errors import CompositionError, DepthError, ObjectError
from smp.values import JSON, same

# RFC 7396, appendix A: original, patch, result.
APPENDIX: list[tuple[JSON, JSON, JSON]] = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    (["a", "b"], ["c", "d"], ["c", "d"]),
    ({"a": "b"}, ["c"], ["c"]),
    ({"a": "foo"}, None, None),
    ({"a": "foo"}, "bar", "bar"),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]

# original, modified, the one smallest patch
DIFFERENCES: list[tuple[JSON, JSON, JSON]] = [
    ({"a": 1}, {"a": 1}, {}),
    ({"a": 1, "b": 2}, {"b": 2}, {"a": None}),
    ({"a": 1}, {"a": True}, {"a": True}),
    ({"a": 1}, {"a": 1.0}, {"a": 1.0}),
    ({"a": {"b": 1, "c": [1]}}, {"a": {"b": 1, "c": [True]}}, {"a": {"c": [True]}}),
    ({"a": {"b": 1}}, {"a": {}}, {"a": {"b": None}}),
    ({"a": [1]}, {"a": {}}, {"a": {}}),
    ({"a": {"b": 1}}, {"a": []}, {"a": []}),
    ({"a": {"b": None}}, {"a": {"b": None, "c": 1}}, {"a": {"c": 1}}),
    ({"a": None}, {}, {"a": None}),
    ({}, {"a": [None]}, {"a": [None]}),
    ([1], {"a": 1}, {"a": 1}),
    ({"a": 1}, [1], [1]),
]

names = st.sampled_from("abc")
scalars = st.sampled_from([None, True, False, 0, 1, 0.0, 1.0, "", "x"])
values: st.SearchStrategy[JSON] = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=3)
    ),
    max_leaves=10,
)


def without_nulls(value: JSON) -> JSON:
    if isinstance(value, dict):
        return {
            name: without_nulls(member)
            for name, member in value.items()
            if member is not None
        }
    return value


class TestApply:
    @pytest.mark.parametrize(("original", "patch", "result"), APPENDIX)
    def test_the_appendix_of_the_rfc(
        self, original: JSON, patch: JSON, result: JSON
    ) -> None:
        assert same(merge_patch.apply(original, patch), result)

    @given(values, values)
    def test_arguments_stay_as_they_are(self, original: JSON, patch: JSON) -> None:
        before = copy.deepcopy((original, patch))
        merge_patch.apply(original, patch)
        assert same(original, before[0])
        assert same(patch, before[1])

    @given(values, values)
    def test_again_changes_nothing(self, original: JSON, patch: JSON) -> None:
        once = merge_patch.apply(original, patch)
        assert same(merge_patch.apply(once, patch), once)

    def test_what_is_not_patched_is_shared(self) -> None:
        original: dict[str, JSON] = {"a": {"x": [1]}, "b": {"c": 1}, "d": {"y": 1}}
        result = merge_patch.apply(original, {"b": {"c": 2}, "d": {}})
        assert isinstance(result, dict)
        assert result["a"] is original["a"]
        assert result["d"] is original["d"]


class TestDiff:
    @pytest.mark.parametrize(("original", "modified", "patch"), DIFFERENCES)
    def test_patch(self, original: JSON, modified: JSON, patch: JSON) -> None:
        assert same(merge_patch.diff(original, modified), patch)

    @given(values, values.map(without_nulls))
    def test_applying_the_difference_gives_modified(
        self, original: JSON, modified: JSON
    ) -> None:
        before = copy.deepcopy((original, modified))
        patch = merge_patch.diff(original, modified)
        assert same(merge_patch.apply(original, patch), modified)
        assert same([original, modified], list(before))

    @given(values, values)
    def test_a_null_is_carried_or_refused(self, original: JSON, modified: JSON) -> None:
        try:
            patch = merge_patch.diff(original, modified)
        except ObjectError as error:
            assert error.code == "null-not-expressible"
            assert not same(modified, without_nulls(modified))
        else:
            assert same(merge_patch.apply(original, patch), modified)

    @given(st.dictionaries(names, values))
    def test_equal_objects_differ_by_nothing(self, value: dict[str, JSON]) -> None:
        assert merge_patch.diff(value, copy.deepcopy(value)) == {}

    def test_a_null_that_cannot_be_said_has_its_path(self) -> None:
        with pytest.raises(ObjectError) as caught:
            merge_patch.diff({"a": 1}, {"a": {"b": {"c": None}}})
        assert caught.value.code == "null-not-expressible"
        assert caught.value.path.pointer == "/a/b/c"


class TestCompose:
    @given(values, values, values)
    def test_one_patch_does_what_both_do(
        self, original: JSON, first: JSON, second: JSON
    ) -> None:
        before = copy.deepcopy((first, second))
        try:
            both = merge_patch.compose(first, second)
        except CompositionError:
            assume(False)
            raise
        in_turn = merge_patch.apply(merge_patch.apply(original, first), second)
        assert same(merge_patch.apply(original, both), in_turn)
        assert same([first, second], list(before))

    @given(values, values, values)
    def test_associative(self, first: JSON, second: JSON, third: JSON) -> None:
        try:
            left = merge_patch.compose(merge_patch.compose(first, second), third)
            right = merge_patch.compose(first, merge_patch.compose(second, third))
        except CompositionError:
            return
        assert same(left, right)

    @pytest.mark.parametrize("first", [None, 1, []])
    def test_an_object_replaced_and_then_patched_cannot_be_said(
        self, first: JSON
    ) -> None:
        with pytest.raises(CompositionError) as caught:
            merge_patch.compose({"a": {"b": first}}, {"a": {"b": {"c": 1}}})
        assert caught.value.path.pointer == "/a/b"


@pytest.mark.parametrize(
    "operation", [merge_patch.apply, merge_patch.diff, merge_patch.compose]
)
def test_absurd_depth(operation: object) -> None:
    deep: JSON = 1
    deeper: JSON = 2
    for _ in range(50_000):
        deep, deeper = {"a": deep}, {"a": deeper}
    assert callable(operation)
    with pytest.raises(DepthError):
        operation(deep, deeper)
