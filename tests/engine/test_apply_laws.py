"""Laws of three-way applies, over real types with unions, and over odd documents."""

from __future__ import annotations

import json
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

import smp
from smp import _strategic as strategic
from smp._storage.update import (
    UpdateRequest,
    asks_for_anything,
    drop_by_strategy,
    drop_status,
    normalize_update,
)
from smp._strategic import identity_of, is_directive
from smp._values.last_applied import ApplyInputs
from smp._values.values import JSON, JSONArray, JSONObject, as_list, as_object, same
from smp.errors import SmpError
from smp.schema.model import Field, Schema, Type
from tests.support.makers import Maker
from tests.support.makers.subjects import subjects
from tests.support.repeated_keys import random_case
from tests.support.strategies import seeds

DEPLOYMENT: Final = smp.kubernetes().schema("apps/v1", "Deployment")
PROFILES: Final = ("kep1027", "kep1027-draft", "kep2019", "smd", "validate-only", "off")
# Types with unions and lists; as roots they have dense objects.
TYPES: Final = (
    "apps.v1.DaemonSetSpec",
    "apps.v1.DeploymentSpec",
    "apps.v1.StatefulSetSpec",
    "core.v1.Container",
    "core.v1.PersistentVolumeSpec",
    "core.v1.PodSpec",
    "core.v1.Probe",
    "core.v1.ServiceSpec",
    "networking.v1.IngressSpec",
    "policy.v1.PodDisruptionBudgetSpec",
)
# How many objects of a configuration get a null.
NULLED: Final = 0.2


class Apply:
    """The arguments of a three-way apply, made from a seed.

    Some documents have nulls, repeated elements or values of another type.
    """

    def __init__(self, seed: int) -> None:
        maker = Maker(seed, rate=0.35, size=40, keyless=0)
        choose = maker.random.choice
        roots = [Schema(f"#io.k8s.api.{name}", DEPLOYMENT.types) for name in TYPES]
        self.schema = choose([*roots, subjects()[-1].schema])
        self.profile = choose(PROFILES)
        self.last_applied, self.modified, self.live = maker.triple(self.schema)
        if choose((True, False)):
            self.modified = maker.spoiled(self.modified, self.schema, patch=False)
        if choose((True, False)):
            self.live = maker.spoiled(self.live, self.schema, patch=False)
        if self.last_applied is not None and choose((True, False)):
            base = maker.spoiled(self.last_applied, self.schema, patch=False)
            self.last_applied = base
        if choose(range(10)) == 0:
            self.live = {}

    def __repr__(self) -> str:
        documents = [self.last_applied, self.modified, self.live]
        return f"{self.schema.document} {self.profile} {json.dumps(documents)}"

    def result(self) -> smp.ApplyResult | None:
        """Return the result; None where the documents cannot be applied."""
        try:
            return smp.three_way_apply(
                self.last_applied,
                self.modified,
                self.live,
                self.schema,
                profile=self.profile,
            )
        except SmpError:
            return None


applies = st.builds(Apply, seeds)


@given(applies)
def test_the_patch_leads_from_live_to_the_object(apply: Apply) -> None:
    result = apply.result()
    if result is not None:
        after = smp.apply_patch(apply.live, as_object(result.patch), apply.schema)
        assert same(after, result.object)


@given(applies)
def test_the_object_is_the_patched_one_normalized(apply: Apply) -> None:
    result = apply.result()
    if result is None:
        return
    patch, _ = strategic.drop_leftovers(apply.live, result.kubectl_patch, apply.schema)
    normalized = normalize_update(
        apply.live,
        smp.apply_patch(apply.live, patch, apply.schema),
        apply.schema,
        UpdateRequest(apply.profile, patch=patch, configuration=apply.modified),
    )
    # A patch that replaces a list takes nulls out of it, which live may have.
    assert same(without_nulls(result.object), without_nulls(normalized.object))


def without_nulls(value: JSON) -> JSON:
    if isinstance(value, dict):
        kept: JSONObject = {}
        for name, member in value.items():
            if member is not None and not is_directive(name):
                kept[name] = without_nulls(member)
        return kept
    if isinstance(value, list):
        return [without_nulls(element) for element in value]
    return value


@given(applies)
def test_the_patch_of_kubectl_is_the_three_way_patch(apply: Apply) -> None:
    result = apply.result()
    if result is None:
        return
    patch = smp.three_way_patch(
        apply.last_applied, apply.modified, apply.live, apply.schema
    )
    if result.kubectl_patch == patch:
        assert json.dumps(result.kubectl_patch) == json.dumps(patch)
        return
    # Row 5 of docs/deviations.md: kubectl sends some objects that do not change; what
    # is sent whole loses the nulls that no stored object has.
    assert same(
        without_nulls(smp.apply_patch(apply.live, result.kubectl_patch, apply.schema)),
        without_nulls(smp.apply_patch(apply.live, patch, apply.schema)),
    )
    stripped, _ = strategic.drop_leftovers(apply.live, patch, apply.schema)
    if not result.changes and same(stripped, patch):
        assert json.dumps(result.patch) == json.dumps(patch)


@given(applies)
def test_what_a_patch_finds_to_be_met_need_not_be_visited_again(apply: Apply) -> None:
    base, modified, live = apply.last_applied, apply.modified, apply.live
    schema = apply.schema
    try:
        inputs = ApplyInputs(base, modified, live)
        computed = strategic.compute_patch(inputs, schema, notes_met=True)
        patched = smp.apply_patch(live, computed.patch, schema)
        unmet = strategic.unmet_paths(base or {}, modified, patched, schema)
    except SmpError:
        return
    known = strategic.unmet_paths(base or {}, modified, patched, schema, computed)
    assert known == unmet
    assert not (computed.exact and unmet)


@given(applies)
def test_over_bytes_the_result_is_the_same(apply: Apply) -> None:
    result = apply.result()
    if result is None:
        return
    last_applied = apply.last_applied
    over_bytes = smp.wire.three_way_apply(
        None if last_applied is None else json.dumps(last_applied).encode(),
        json.dumps(apply.modified).encode(),
        json.dumps(apply.live).encode(),
        apply.schema,
        profile=apply.profile,
    )
    assert same(json.loads(over_bytes.object), result.object)
    assert same(json.loads(over_bytes.patch), result.patch)
    assert same(json.loads(over_bytes.kubectl_patch), result.kubectl_patch)
    assert over_bytes.unmet == result.unmet
    assert over_bytes.warnings == result.warnings


@given(seeds)
def test_no_directive_goes_into_a_value_that_is_new_to_live(seed: int) -> None:
    maker = Maker(seed, rate=0.35, size=60, keyless=0)
    schema = maker.subject().schema
    triple = maker.triple(schema)
    try:
        result = smp.three_way_apply(*triple, schema)
    except SmpError:
        return
    live = triple.live
    assert (
        strategic.leftover_directives(
            live, as_object(result.patch), result.object, schema
        )
        == []
    )


@given(seeds)
def test_repeated_merge_keys_put_no_directive_into_a_new_element(seed: int) -> None:
    case = random_case(seed)
    documents, schema = case.documents, case.subject.schema
    base = as_object(documents["original"])
    live = as_object(documents.get("current", base))
    try:
        result = smp.three_way_apply(
            base, as_object(documents["modified"]), live, schema, profile="off"
        )
    except SmpError:
        return
    assert same(smp.apply_patch(live, as_object(result.patch), schema), result.object)
    assert (
        strategic.leftover_directives(
            live, as_object(result.patch), result.object, schema
        )
        == []
    )


@given(seeds)
def test_an_apply_has_converged_if_the_object_is_what_was_asked_for(seed: int) -> None:
    maker = Maker(seed, rate=0.35, size=60, keyless=0)
    schema = maker.subject().schema
    last_applied, modified, live = maker.triple(schema)
    modified = with_nulls(modified, maker)
    try:
        result = smp.three_way_apply(last_applied, modified, live, schema)
    except SmpError:
        return
    # Of some kinds a server drops what it is asked for.
    kept = drop_by_strategy(result.object, schema, live)
    kept = drop_status(kept, modified, schema, live)
    if kept.get("status") is live.get("status") and not asks_for_anything(
        modified.get("status", True)
    ):
        # What tools generate into a manifest is missed by nobody.
        modified = {**modified, "status": live.get("status")}
    asked = is_as_asked(last_applied or {}, modified, kept, schema.type)
    assert result.converged == asked


def with_nulls(value: JSON, maker: Maker) -> JSONObject:
    """Put nulls into some objects, for names that they lack."""
    result = nulled(value, maker)
    assert isinstance(result, dict)
    return result


def nulled(value: JSON, maker: Maker) -> JSON:
    if isinstance(value, dict):
        result = {name: nulled(member, maker) for name, member in value.items()}
        if maker.random.random() < NULLED:
            names = ("replicas", "a", "image", "value", "valueFrom", "emptyDir", "spec")
            result.setdefault(maker.random.choice(names), None)
        return result
    if isinstance(value, list):
        return [nulled(element, maker) for element in value]
    return value


def is_as_asked(base: JSON, modified: JSON, obj: JSON, type_: Type) -> bool:
    """Tell what unmet paths are about, in the plain way: for unique merge keys."""
    if not isinstance(modified, dict) or not isinstance(obj, dict):
        return same(without_nulls(modified), obj)
    last = as_object(base)
    for name in {**last, **modified}:
        value = modified.get(name)
        if value is None:
            # A null, or a name that only the last-applied configuration has.
            if name in obj:
                return False
            continue
        field = type_.field(name)
        before, after = last.get(name), obj.get(name)
        if field is None or field.replaces:
            is_met = same(without_nulls(value), after)
        elif isinstance(value, list) and field.merges:
            is_met = has_as_asked(as_list(before), value, after, field)
        else:
            is_met = is_as_asked(before, value, after, field.type)
        if not is_met:
            return False
    return True


def has_as_asked(base: JSONArray, modified: JSONArray, obj: JSON, field: Field) -> bool:
    """Tell the same of a merge list; to a server all map keys identify an element."""
    if not isinstance(obj, list):
        return False

    def by_key(elements: JSONArray) -> dict[object, JSON]:
        return {
            identity_of(e, field) if isinstance(e, dict) else repr(e): e
            for e in elements
        }

    last, wanted, there = by_key(base), by_key(modified), by_key(obj)
    if there.keys() & last.keys() - wanted.keys():
        return False
    for name, element in wanted.items():
        if name not in there:
            return False
        if isinstance(element, dict) and not is_as_asked(
            last.get(name), element, there[name], field.type.items
        ):
            return False
    return True
