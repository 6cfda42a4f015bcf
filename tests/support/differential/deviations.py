"""The deviations that rewriting makes invisible, a row each.

The names are the numbers of docs/deviations.md where there is one rule for a row, and
short words where a row needs several rules.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from smp._values.values import JSONObject, same
from tests.support.differential import rewriting
from tests.support.differential.cases import OPERATIONS, Case
from tests.support.differential.contradictions import contradicts_itself
from tests.support.differential.rewriting import Rule, rewritten

DIFFS: Final = ("two_way", "three_way")
_ALL_DOCUMENTS: Final = ("original", "modified", "current", "patch", "left", "right")
# Errors of the reference where nothing is wrong: on two empty lists (deviation 18), on
# structures in maps (12), and on its own directives (9).
_MISPLACED_ERRORS: Final = (
    "no elements in any of the given slices",
    "merging an object in json but data type is not struct, instead is:",
    "unable to find api field",
)


def is_misplaced_error(answer: JSONObject) -> bool:
    """Tell whether the reference answers with an error where nothing is wrong."""
    return any(text in str(answer.get("error")) for text in _MISPLACED_ERRORS)


def _as_it_is(document: JSONObject) -> JSONObject:
    return document


class Deviation(NamedTuple):
    """How to rewrite a case so that a deviation does not show, and where it can show.

    ``after_error``: only where the reference answers with a misplaced error.
    ``after_failure``: only where it answers with an error, or with a patch whose fields
    contradict its directives. ``in_conflicts``: only where conflicts were looked for.
    ``prepare`` does what no rule for single members can do, before the rule.
    """

    title: str
    rule: Rule
    ops: tuple[str, ...] = OPERATIONS
    documents: tuple[str, ...] = _ALL_DOCUMENTS
    after_error: bool = False
    after_failure: bool = False
    in_conflicts: bool = False
    prepare: Callable[[JSONObject], JSONObject] = _as_it_is

    def rewrite(self, case: Case, theirs: JSONObject) -> Case | None:
        """Return the case without the deviation, or None if it plays no part in it."""
        if case.op not in self.ops:
            return None
        if self.after_error and not is_misplaced_error(theirs):
            return None
        failed = "error" in theirs or contradicts_itself(theirs.get("result"))
        if self.after_failure and not failed:
            return None
        looked_for_conflicts = case.op == "conflicts" or "no-overwrite" in case.options
        if self.in_conflicts and not looked_for_conflicts:
            return None
        documents = dict(case.documents)
        for name, document in case.documents.items():
            if document is not None and name in self.documents:
                type_ = case.subject.schema.type
                documents[name] = rewritten(self.prepare(document), type_, self.rule)
        if same({**documents}, {**case.documents}):
            return None
        return case._replace(documents=documents)


RANDOM_OUTCOME: Final = Deviation(
    "adding and deleting one value has a defined outcome",
    rewriting.unchanged,
    ("apply",),
    prepare=rewriting.without_ambiguous_deletions,
)
"""Deviation 2; it is tried before all others where several take part."""

DEVIATIONS: Final[dict[str, Deviation]] = {
    "3": Deviation(
        "diff distinguishes merge keys of different types",
        rewriting.separate_printed_forms,
        DIFFS,
    ),
    "4": Deviation("integers beyond 64 bits stay integers", rewriting.limit_integers),
    "5": Deviation(
        "an unchanged object is not sent again",
        rewriting.make_replaced_objects_differ,
        DIFFS,
        ("original", "current"),
    ),
    "7": Deviation(
        "looking for conflicts leaves atomic lists in their order",
        rewriting.sort_atomic_lists,
        ("three_way",),
    ),
    "9": Deviation(
        "looking for conflicts ignores directives",
        rewriting.drop_list_directives,
        ("conflicts",),
    ),
    "9 within three-way": Deviation(
        "looking for conflicts ignores directives",
        rewriting.drop_scalar_merge_lists,
        ("three_way",),
        after_error=True,
    ),
    "10": Deviation(
        "lists of scalars are compared as written",
        rewriting.sort_scalar_merge_lists,
        DIFFS,
    ),
    "11": Deviation(
        "repeated merge keys make no patch that fails or contradicts itself",
        rewriting.keep_one_element_of_each_key,
        DIFFS,
        after_failure=True,
    ),
    "11 in conflicts": Deviation(
        "all elements of one merge key are looked at for conflicts",
        rewriting.keep_one_element_of_each_key,
        ("three_way", "conflicts"),
        in_conflicts=True,
    ),
    "12": Deviation(
        "maps of structures merge key by key",
        rewriting.drop_maps_of_structures,
        after_error=True,
    ),
    "25": Deviation(
        "what a side does not retain conflicts with setting it",
        rewriting.drop_retained_keys,
        ("conflicts",),
    ),
    # row 18
    "map as key": Deviation(
        "a structure as a merge key is an error",
        rewriting.drop_elements_with_structured_keys,
    ),
    # row 18
    "repeats": Deviation(
        "atomic lists that repeat values differently conflict",
        rewriting.drop_repetitions_in_atomic_lists,
        ("conflicts", "three_way"),
    ),
    # row 20
    "repeated scalars": Deviation(
        "a repeated value of the live list does not move others",
        rewriting.keep_one_of_each_scalar,
        ("apply",),
        ("original",),
    ),
    # row 19
    "null marker": Deviation(
        "$patch: null is never a marker",
        rewriting.drop_null_markers,
        ("apply",),
    ),
    # row 18
    "empty": Deviation(
        "two empty lists are no error",
        rewriting.drop_empty_lists,
        after_error=True,
    ),
    # row 13
    "empty order": Deviation(
        "an empty order directive reverses nothing",
        rewriting.drop_empty_orders,
        ("apply",),
    ),
    "22": Deviation(
        "a key outside $retainKeys is rejected wherever it stands",
        rewriting.list_all_keys,
        ("apply",),
        ("patch",),
        prepare=rewriting.with_all_keys_listed,
    ),
}
