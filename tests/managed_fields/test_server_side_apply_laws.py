"""The laws of server-side apply, over manifests that users write."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import smp
from smp import managed_fields
from smp._storage.typed_storage import stored
from smp._values.values import JSON, JSONObject, as_object, same
from smp.errors import SmpError
from smp.managed_fields import FieldSet, extracted, fieldset_of
from smp.schema.model import Schema
from smp.unions import validate_unions
from tests.support.makers.manifests import KINDS, ManifestMaker

CATALOG = smp.kubernetes()
NOW = datetime(2026, 1, 1, tzinfo=UTC)
# As a server of today applies; two laws are about unions.
OFF = "off"
law = settings(max_examples=40, deadline=None)


class Manifests:
    """Two manifests of one object, and its schema, from a seed."""

    def __init__(self, kind: str, seed: int) -> None:
        self.maker = ManifestMaker(f"laws {seed}", kind, "web")
        self.schema: Schema = CATALOG.schema(KINDS[kind].api_version, kind)
        self.first = without_nulls(self.maker.manifest())
        self.second = without_nulls(self.maker.changed(self.first, 6))

    def apply(
        self,
        live: JSONObject | None,
        configuration: JSONObject,
        manager: str,
        *,
        force: bool = True,
        profile: str = OFF,
    ) -> JSONObject:
        return smp.server_side_apply(
            live,
            configuration,
            self.schema,
            manager=manager,
            force=force,
            profile=profile,
            now=NOW,
        ).object


def without_nulls(manifest: JSONObject) -> JSONObject:
    """Return a manifest without nulls, which own what they do not set."""
    return as_object(smp.merge_patch.apply({}, manifest))


def is_applicable(case: Manifests) -> bool:
    """Tell whether a server takes both manifests: no element twice, no wrong type."""
    if "stringData" in case.first or "stringData" in case.second:
        # It is written into data whenever it is applied, by no rule of ownership.
        return False
    try:
        case.apply(case.apply(None, case.first, "a"), case.second, "b")
    except SmpError:
        return False
    return True


CASES = st.builds(
    Manifests, st.sampled_from(sorted(KINDS)), st.integers(0, 2**32)
).filter(is_applicable)


def content(obj: JSONObject) -> JSONObject:
    metadata = {**as_object(obj.get("metadata"))}
    metadata.pop("managedFields", None)
    return {**obj, "metadata": metadata}


def unordered(value: JSON) -> JSON:
    """Return a value with its lists in an order that does not depend on applies.

    An empty object that has grown since is extracted as null, and goes with what it
    has grown by, as on a server; so empty objects and nulls are left out.
    """
    if isinstance(value, dict):
        members: dict[str, JSON] = {}
        for name, content in value.items():
            member = unordered(content)
            if member is not None:
                members[name] = member
        return members or None
    if isinstance(value, list):
        return [*sorted(map(unordered, value), key=repr)]
    return value


def extracted_by(obj: JSONObject, schema: Schema, fields: FieldSet) -> JSON:
    return unordered(extracted(content(obj), schema, fields))


def owned(obj: JSONObject, manager: str) -> FieldSet:
    fields = FieldSet()
    for owner in managed_fields.owners(obj):
        if owner.manager == manager:
            fields = fields.union(owner.fields)
    return fields


@law
@given(CASES)
def test_applying_twice_changes_nothing(case: Manifests) -> None:
    live = case.apply(case.apply(None, case.first, "a"), case.second, "b")
    again = smp.server_side_apply(
        live, case.second, case.schema, manager="b", profile=OFF
    )
    assert not again.changed
    assert again.object is live


@law
@given(CASES)
def test_an_apply_to_nothing_is_the_configuration_and_its_defaults(
    case: Manifests,
) -> None:
    applied = content(case.apply(None, case.first, "a"))
    expected = smp.with_defaults(stored(case.first, case.schema), case.schema)
    assert same(applied, expected)


@law
@given(CASES)
def test_what_others_own_without_a_conflict_stays(case: Manifests) -> None:
    live = case.apply(None, case.first, "a")
    try:
        result = case.apply(live, case.second, "b", force=False)
    except smp.ApplyConflictError as error:
        # Forced, the conflicts are what is taken, and nothing else.
        result = case.apply(live, case.second, "b")
        taken = FieldSet.of(*[conflict.path for conflict in error.conflicts])
        assert owned(result, "a") == owned(live, "a").difference(taken)
    else:
        assert owned(result, "a") == owned(live, "a")
    theirs = owned(result, "a").leaves()
    before = extracted_by(live, case.schema, theirs)
    assert same(extracted_by(result, case.schema, theirs), before)


@law
@given(CASES)
def test_what_is_owned_is_there_or_was_dropped_as_a_zero_value(
    case: Manifests,
) -> None:
    live = case.apply(case.apply(None, case.first, "a"), case.second, "b")
    there = fieldset_of(content(live), case.schema)
    applied = fieldset_of(case.first, case.schema).union(
        fieldset_of(case.second, case.schema)
    )
    both = owned(live, "a").union(owned(live, "b"))
    assert not both.difference(there).difference(applied)


@law
@given(CASES)
def test_a_manager_owns_what_it_applied_last(case: Manifests) -> None:
    live = case.apply(None, case.first, "a")
    result = case.apply(live, case.second, "a")
    expected = fieldset_of(case.second, case.schema)
    never = managed_fields.FieldSet.of(
        *[smp.Path((name,)) for name in ("apiVersion", "kind", "metadata")],
        *[smp.Path(("metadata", name)) for name in ("name", "namespace")],
    )
    reset = managed_fields.reset_fields(case.schema)
    assert owned(result, "a") == expected.recursive_difference(reset).difference(never)


@law
@given(CASES)
def test_release_is_the_inverse_of_an_apply(case: Manifests) -> None:
    before = case.apply(None, case.first, "a")
    try:
        applied = case.apply(before, case.second, "b", force=False)
    except smp.ApplyConflictError:
        # What is taken from another manager does not come back.
        return
    released = managed_fields.release(applied, case.schema, "b")
    assert owned(released, "b") == FieldSet()
    assert owned(released, "a") == owned(before, "a")
    theirs = owned(before, "a").leaves()
    assert same(
        extracted_by(released, case.schema, theirs),
        extracted_by(before, case.schema, theirs),
    )


@law
@given(CASES)
def test_nothing_is_mutated(case: Manifests) -> None:
    live = case.apply(None, case.first, "a")
    texts = [smp.wire.encode(value) for value in (live, case.second)]
    with suppress(SmpError):
        case.apply(live, case.second, "b", profile="kep2019")
    assert [smp.wire.encode(value) for value in (live, case.second)] == texts


@pytest.mark.parametrize("profile", ["kep1027-draft", "kep2019"])
@law
@given(case=CASES)
def test_there_are_never_two_members_after_a_normalized_apply(
    profile: str, case: Manifests
) -> None:
    try:
        live = case.apply(None, case.first, "a", profile=profile)
        result = case.apply(live, case.second, "b", profile=profile)
    except SmpError:
        # A configuration that contradicts itself is refused.
        return
    violations = validate_unions(content(live), content(result), case.schema)
    assert not [each for each in violations if each.code == "union-several"]


@law
@given(CASES)
def test_a_remedy_does_what_the_normalized_apply_does(case: Manifests) -> None:
    live = case.apply(None, case.first, "a", profile=OFF)
    try:
        result = smp.server_side_apply(
            live, case.second, case.schema, manager="b", force=True, profile="kep2019"
        )
    except SmpError:
        return
    if result.remark is None or result.remark.remedy is None:
        return
    remedy = result.remark.remedy
    before = live
    if remedy.means == "drop":
        before = case.apply(live, remedy.body, remedy.manager, force=False)
    elif remedy.means == "take":
        before = smp.json_patch.apply(live, remedy.body)
    elif remedy.means == "patch":
        patched = as_object(smp.merge_patch.apply(live, remedy.body))
        before = managed_fields.track(live, patched, case.schema, manager="b")
    after = case.apply(before, remedy.then, "b", force=remedy.force)
    assert same(content(after), content(result.object))
