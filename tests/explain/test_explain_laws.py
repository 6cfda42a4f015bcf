"""Laws of causes, over triples of manifests that users write."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

import smp
from smp.errors import SmpError
from smp.explain import Cause, explain_apply
from smp.explain._remedies import edited
from smp.paths import value_at
from smp.schema.model import Schema
from smp.three_way import three_way_apply
from smp.values import ABSENT, JSON, Absent, JSONObject, as_object, printed, same
from tests.support.makers.manifests import KINDS, ManifestMaker

CATALOG = smp.kubernetes()
law = settings(max_examples=60, deadline=None)
# The causes of a value that is in live, and not in the result.
GONE = {
    "canonical",
    "changed-by-ambiguous-key",
    "deleted-by-null",
    "filled-in",
    "lost-by-ambiguous-key",
    "lost-in-list",
    "lost-with-parent",
    "not-as-asked",
    "overwrites-controller",
    "overwritten",
    "pruned",
    "retain-keys",
    "set",
    "union",
    "zero-value",
}


class Triple:
    """A last-applied configuration, a manifest and a live object, from a seed."""

    def __init__(self, kind: str, seed: int) -> None:
        maker = ManifestMaker(f"explain {seed}", kind, "web")
        choose = random.Random(seed)  # no secrets
        self.schema: Schema = CATALOG.schema(KINDS[kind].api_version, kind)
        first = maker.manifest()
        self.last_applied: JSONObject | None = first
        self.manifest = maker.changed(first, choose.randrange(6))
        self.live = maker.changed(first, choose.randrange(6))
        if choose.random() < 0.5:  # a coin
            self.live = smp.with_defaults(self.live, self.schema)
        if choose.random() < 0.2:  # one of five
            self.last_applied = None

    def causes(self) -> tuple[Cause, ...]:
        return explain_apply(self.last_applied, self.manifest, self.live, self.schema)

    def applied(self) -> smp.ApplyResult:
        return three_way_apply(self.last_applied, self.manifest, self.live, self.schema)


def is_applicable(triple: Triple) -> bool:
    try:
        triple.applied()
    except SmpError:
        return False
    return True


TRIPLES = st.builds(
    Triple, st.sampled_from(sorted(KINDS)), st.integers(0, 2**32)
).filter(is_applicable)


def leaves(value: JSON | Absent, names: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield each scalar with the names of the fields on the way to it."""
    if isinstance(value, dict):
        if not value:
            yield f"{names} {{}}"
        for name, member in value.items():
            yield from leaves(member, (*names, name))
    elif isinstance(value, list):
        if not value:
            yield f"{names} []"
        for element in value:
            yield from leaves(element, names)
    elif value is not None and not isinstance(value, Absent):
        yield f"{names} {type(value).__name__} {printed(value)}"


def names_of(path: smp.Path) -> tuple[str, ...]:
    return tuple(step for step in path.steps if isinstance(step, str))


@law
@given(TRIPLES)
def test_what_live_loses_has_a_cause(triple: Triple) -> None:
    result = triple.applied().object
    lost = Counter(leaves(triple.live)) - Counter(leaves(result))
    # What was empty may have grown.
    lost = Counter({leaf: n for leaf, n in lost.items() if leaf[-1] not in "]}"})
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
    if applied.unmet:
        return
    missing = {*leaves(triple.manifest)} - {*leaves(applied.object)}
    assert all(leaf.endswith(("{}", "[]")) for leaf in missing)


@law
@given(TRIPLES)
def test_a_remedy_does_what_it_says(triple: Triple) -> None:
    for cause in triple.causes():
        remedy = cause.remedy
        if remedy is None:
            continue
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
        assert same(value_at(again.object, cause.path), remedy.wanted)


@law
@given(TRIPLES)
def test_each_path_has_one_cause_and_nothing_is_mutated(triple: Triple) -> None:
    texts = [smp.wire.encode(value) for value in (triple.manifest, triple.live)]
    causes = triple.causes()
    about_values = [
        cause.path
        for cause in causes
        if cause.code not in {"element-order", "lost-in-list", "matched-by-key"}
    ]
    assert len({*about_values}) == len(about_values)
    assert texts == [smp.wire.encode(value) for value in (triple.manifest, triple.live)]


@law
@given(TRIPLES)
def test_an_apply_of_what_is_there_changes_nothing(triple: Triple) -> None:
    causes = explain_apply(triple.live, triple.live, triple.live, triple.schema)
    assert all(same(cause.before, cause.after) for cause in causes)
    assert not [cause for cause in causes if cause.before is ABSENT]
