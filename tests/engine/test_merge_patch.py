from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smp import merge_patch
from smp._values.values import JSON, same
from smp.errors import DepthError, ObjectError

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
    def test_rfc_7396_appendix_a(
        self, original: JSON, patch: JSON, result: JSON
    ) -> None:
        assert same(merge_patch.apply(original, patch), result)

    @given(values, values)
    def test_arguments_are_not_changed(self, original: JSON, patch: JSON) -> None:
        before = copy.deepcopy((original, patch))
        merge_patch.apply(original, patch)
        assert same(original, before[0])
        assert same(patch, before[1])

    @given(values, values)
    def test_applying_a_patch_twice_equals_applying_it_once(
        self, original: JSON, patch: JSON
    ) -> None:
        once = merge_patch.apply(original, patch)
        assert same(merge_patch.apply(once, patch), once)

    def test_unpatched_members_are_shared(self) -> None:
        original: dict[str, JSON] = {"a": {"x": [1]}, "b": {"c": 1}, "d": {"y": 1}}
        result = merge_patch.apply(original, {"b": {"c": 2}, "d": {}})
        assert isinstance(result, dict)
        assert result["a"] is original["a"]
        assert result["d"] is original["d"]


class TestDiff:
    @pytest.mark.parametrize(("original", "modified", "patch"), DIFFERENCES)
    def test_the_patch_is_the_smallest(
        self, original: JSON, modified: JSON, patch: JSON
    ) -> None:
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
    def test_only_nulls_cannot_be_expressed(
        self, original: JSON, modified: JSON
    ) -> None:
        try:
            patch = merge_patch.diff(original, modified)
        except ObjectError:
            assert not same(modified, without_nulls(modified))
        else:
            assert same(merge_patch.apply(original, patch), modified)

    @given(st.dictionaries(names, values))
    def test_equal_objects_give_an_empty_patch(self, value: dict[str, JSON]) -> None:
        assert merge_patch.diff(value, copy.deepcopy(value)) == {}

    def test_the_error_about_a_null_has_its_path(self) -> None:
        with pytest.raises(ObjectError) as caught:
            merge_patch.diff({"a": 1}, {"a": {"b": {"c": None}}})
        assert caught.value.code == "null-not-expressible"
        assert caught.value.path.pointer == "/a/b/c"


@pytest.mark.parametrize("operation", [merge_patch.apply, merge_patch.diff])
def test_nesting_beyond_the_stack_raises_a_depth_error(
    operation: Callable[[JSON, JSON], JSON],
) -> None:
    deep: JSON = 1
    other: JSON = 2
    for _ in range(50_000):
        deep, other = {"a": deep}, {"a": other}
    with pytest.raises(DepthError):
        operation(deep, other)
