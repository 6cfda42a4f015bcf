"""Laws of causes, over triples of objects that others change, too."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

import smp
from smp._storage.typed_storage import stored
from smp._values.values import (
    ABSENT,
    JSON,
    Absent,
    JSONObject,
    as_object,
    printed,
    same,
)
from smp.explain import Remedy, explain_apply
from smp.managed_fields import Step, simulate
from smp.paths import edited, value_at
from smp.three_way import three_way_apply
from tests.support.makers.triples import Triple

# SMP_TRIPLES says how many triples each law looks at.
law = settings(max_examples=int(os.environ.get("SMP_TRIPLES", "50")), deadline=None)
# The causes of a value that is in live, and not in the result.
GONE = {
    "canonical",
    "changed-by-ambiguous-key",
    "deleted-by-null",
    "deleted-by-repeated-key",
    "filled-in",
    "lost-by-ambiguous-key",
    "lost-in-list",
    "lost-with-parent",
    "not-as-asked",
    "nulls",
    "overwrites-controller",
    "overwritten",
    "pruned",
    "repeated-key",
    "retain-keys",
    "server-set",
    "set",
    "union",
    "zero-value",
}


TRIPLES = st.builds(Triple, st.integers(0, 2**32)).filter(Triple.is_applicable)


class Leaf(NamedTuple):
    """A scalar or an empty value, by the names of the fields on the way to it."""

    names: tuple[str, ...]
    text: str

    @property
    def is_empty(self) -> bool:
        return self.text in ("{}", "[]")


def leaves(value: JSON | Absent, names: tuple[str, ...] = ()) -> Iterator[Leaf]:
    """Yield each leaf of a value; null is none."""
    if isinstance(value, dict):
        if not value:
            yield Leaf(names, "{}")
        for name, member in value.items():
            yield from leaves(member, (*names, name))
    elif isinstance(value, list):
        if not value:
            yield Leaf(names, "[]")
        for element in value:
            yield from leaves(element, names)
    elif value is not None and not isinstance(value, Absent):
        yield Leaf(names, f"{type(value).__name__} {printed(value)}")


def names_of(path: smp.Path) -> tuple[str, ...]:
    return tuple(step for step in path.steps if isinstance(step, str))


@law
@given(TRIPLES)
def test_what_live_loses_has_a_cause(triple: Triple) -> None:
    result = triple.applied().object
    lost = Counter(leaves(triple.live)) - Counter(leaves(result))
    # What was empty may have grown.
    lost = Counter({leaf: n for leaf, n in lost.items() if not leaf.is_empty})
    for cause in triple.causes():
        if cause.code in GONE:
            lost -= Counter(leaves(cause.before, names_of(cause.path)))
    assert not lost


@law
@given(TRIPLES)
def test_what_the_manifest_wants_holds_or_is_unmet_with_a_cause(triple: Triple) -> None:
    applied = triple.applied()
    # Where a patch merge key stands for several elements, a cause names one by more.
    explained = {names_of(cause.path) for cause in triple.causes()}
    for path in applied.unmet:
        names = names_of(path)
        above = {names[:n] for n in range(len(names) + 1)}
        # Of elements of one key, the causes are of what one of them lacks.
        beside = {other for other in explained if other[: len(names) - 1] == names[:-1]}
        assert above & explained or beside, path
    # What is missing beside that is an empty value that nothing was put into, or an
    # element that was merged into another one.
    unmet = {names_of(path) for path in applied.unmet}
    unmet |= {
        names_of(cause.path)
        for cause in triple.causes()
        if cause.code in {"deleted-by-repeated-key", "repeated-key", "server-set"}
    }
    missing = Counter(leaves(triple.manifest)) - Counter(leaves(applied.object))
    for leaf in missing:
        above = {leaf.names[:n] for n in range(len(leaf.names) + 1)}
        assert leaf.is_empty or above & unmet, leaf


@law
@given(TRIPLES)
def test_a_remedy_does_what_it_says(triple: Triple) -> None:
    for cause in triple.causes():
        remedy = cause.remedy
        if remedy is None:
            continue
        obj = reached(triple, remedy)
        assert holds(value_at(obj, cause.path), remedy.wanted), cause


def reached(triple: Triple, remedy: Remedy) -> JSONObject:
    """Return the object that a remedy leads to, which has to converge."""
    if remedy.way == "replace":
        assert not remedy.edits
        return smp.with_defaults(stored(triple.manifest, triple.schema), triple.schema)
    if remedy.way != "apply":
        assert not remedy.edits
        force = remedy.way == "forced server-side"
        step = Step("kubectl", triple.manifest, "kubectl apply", force=force)
        (state,) = simulate(triple.live, [step], triple.schema, profile="off").states
        assert state.error is None
        return as_object(state.object)
    inputs = {
        "last-applied": as_object(triple.last_applied),
        "manifest": triple.manifest,
    }
    for edit in remedy.edits:
        inputs[edit.input] = edited(inputs[edit.input], edit.path, edit.value)
    is_known = triple.last_applied is not None or inputs["last-applied"]
    again = three_way_apply(
        inputs["last-applied"] if is_known else None,
        inputs["manifest"],
        triple.live,
        triple.schema,
    )
    assert again.converged
    return again.object


def holds(value: JSON | Absent, wanted: JSON | Absent) -> bool:
    """Tell whether a value is what is wanted, with defaults beside it."""
    if not isinstance(wanted, dict) or not isinstance(value, dict):
        return same(value, wanted)
    return all(holds(value.get(name, ABSENT), wanted[name]) for name in wanted)


@law
@given(TRIPLES)
def test_each_path_that_differs_has_a_cause(triple: Triple) -> None:
    objects = [triple.manifest, triple.live, triple.applied().object]
    if triple.last_applied is not None:
        objects.append(triple.last_applied)
    counts = [Counter(leaves(obj)) for obj in objects]
    explained = {names_of(cause.path) for cause in triple.causes()}
    for leaf in {leaf for count in counts for leaf in count}:
        if len({count[leaf] for count in counts}) > 1 and not leaf.is_empty:
            above = {leaf.names[:n] for n in range(len(leaf.names) + 1)}
            assert above & explained, leaf


@law
@given(TRIPLES)
def test_each_path_has_one_cause_and_nothing_is_mutated(triple: Triple) -> None:
    texts = [smp.wire.encode(value) for value in (triple.manifest, triple.live)]
    causes = triple.causes()
    # An element that only the inputs have is at its index there: so is one of a
    # repeated key, which has no other name, if live has it and the result does not.
    about_values = [
        cause.path.steps
        for cause in causes
        if cause.code not in {"element-order", "lost-in-list", "matched-by-key"}
        and not (cause.after is ABSENT and cause.before is ABSENT)
        and not (cause.after is ABSENT and isinstance(cause.path.steps[-1], int))
    ]
    assert len({*about_values}) == len(about_values)
    # The cause of a whole value is that of all that is in it.
    for steps in about_values:
        assert not {steps[:n] for n in range(len(steps))} & {*about_values}
    assert texts == [smp.wire.encode(value) for value in (triple.manifest, triple.live)]


@law
@given(TRIPLES)
def test_an_apply_of_what_is_there_changes_nothing(triple: Triple) -> None:
    causes = explain_apply(triple.live, triple.live, triple.live, triple.schema)
    assert all(same(cause.before, cause.after) for cause in causes)
    assert not [cause for cause in causes if cause.before is ABSENT]
