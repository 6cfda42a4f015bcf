"""What the unions of the bundled overlay do: clear, refuse, and validate."""

from __future__ import annotations

import pytest

from smp._values.values import JSONObject
from smp.errors import UnionError
from smp.schema.catalog import kubernetes, versions
from smp.schema.model import Schema
from smp.schema.union_groups import UnionGroup
from smp.unions import PROFILES, normalize_unions, validate_unions
from tests.support.overlay_rows import CLEARING, CORE, TYPES, schema_of, unions_of
from tests.support.rows import each_row


def newest_version_with(name: str) -> str:
    """Return the newest bundled version that has a type."""
    for version in reversed(versions()):
        if kubernetes(version).load(name) is not None:
            return version
    raise LookupError(name)


NEWEST = {name: newest_version_with(name) for name in TYPES}
PLAIN: list[tuple[str, UnionGroup]] = []
DISCRIMINATED: list[tuple[str, UnionGroup]] = []
for _name in TYPES:
    for _union in unions_of(_name, NEWEST[_name]):
        if _union.at_least_one or _union.within:
            continue
        (DISCRIMINATED if _union.discriminator else PLAIN).append((_name, _union))


def name_of_type(value: object) -> str:
    return value if isinstance(value, str) else ""


@each_row("profile", CLEARING[:3])
@each_row(("name", "union"), PLAIN, ids=name_of_type)
def test_a_new_member_clears_the_others(
    name: str, union: UnionGroup, profile: str
) -> None:
    schema = schema_of(name, NEWEST[name])
    for before in union.names:
        for after in {*union.names} - {before}:
            result = normalize_unions(
                {before: "x"}, {before: "x", after: "y"}, schema, profile=profile
            )
            assert result.object == {after: "y"}
            assert [str(change.path) for change in result.changes] == [before]


@each_row("profile", CLEARING[:3])
@each_row(("name", "union"), PLAIN, ids=name_of_type)
def test_two_new_members_are_an_error(
    name: str, union: UnionGroup, profile: str
) -> None:
    first, second = union.names[:2]
    both: JSONObject = {first: "x", second: "y"}
    schema = schema_of(name, NEWEST[name])
    with pytest.raises(UnionError) as caught:
        normalize_unions({}, both, schema, profile=profile)
    assert f"newly set: {first}, {second}" in str(caught.value)
    # A create adds nothing to what was there: validation says what is wrong.
    assert normalize_unions(None, both, schema, profile=profile).object == both
    violations = validate_unions(None, both, schema, profile=profile)
    # Servers accept several states of a container, and do not validate that. Of others
    # a row has the answers, which test_recorded_unions.py compares with a server's.
    found = {violation.code for violation in violations}
    assert found == ({"union-several"} if union.validated else set())
    details = [answer.detail for answer in union.answers.get("several", ())]
    for violation in violations:
        assert not details or violation.message.endswith(tuple(details))


@each_row(("name", "union"), PLAIN, ids=name_of_type)
def test_the_profile_of_a_row_precedes_structured_merge_diff(
    name: str, union: UnionGroup
) -> None:
    first, second = union.names[:2]
    both: JSONObject = {first: "x", second: "y"}
    result = normalize_unions(
        {first: "x"}, both, schema_of(name, NEWEST[name]), profile="smd"
    )
    assert result.object == {second: "y"}


@each_row("profile", PROFILES)
@each_row(("name", "union"), PLAIN, ids=name_of_type)
def test_plain_members_are_validated(
    name: str, union: UnionGroup, profile: str
) -> None:
    schema = schema_of(name, NEWEST[name])
    for member in union.names:
        assert validate_unions(None, {member: "x"}, schema, profile=profile) == ()
    first, second = union.names[:2]
    none = codes_of(schema, {}, profile)
    several = codes_of(schema, {first: 1, second: 1}, profile)
    if profile == "off" or not union.validated:
        assert (none, several) == ([], [])
    else:
        required = any(each.required for each in unions_of(name, NEWEST[name]))
        assert none == (["union-none"] if required else [])
        assert several == ["union-several"]


def codes_of(schema: Schema, obj: JSONObject, profile: str = "kep1027") -> list[str]:
    """Return the codes of the violations, each once: some have several causes."""
    violations = validate_unions(None, obj, schema, profile=profile)
    return [*dict.fromkeys([violation.code for violation in violations])]


@each_row(("name", "union"), DISCRIMINATED, ids=name_of_type)
def test_a_new_discriminator_clears_what_it_does_not_select(
    name: str, union: UnionGroup
) -> None:
    schema = schema_of(name, NEWEST[name])
    values = [*union.by_value, *union.empty, *union.none]
    for member in union.members:
        old: JSONObject = {union.discriminator: member.value, member.name: "x"}
        assert validate_unions(None, old, schema) == ()
        for value in set(values) - {member.value}:
            result = normalize_unions(old, {**old, union.discriminator: value}, schema)
            assert result.object == {union.discriminator: value}


@each_row(("name", "union"), DISCRIMINATED, ids=name_of_type)
def test_discriminated_members_are_validated(name: str, union: UnionGroup) -> None:
    schema = schema_of(name, NEWEST[name])
    if not union.validated:
        assert codes_of(schema, {union.names[0]: "x", union.names[-1]: "y"}) == []
        return
    assert codes_of(schema, {union.discriminator: "Lost"}) == ["unsupported-value"]
    for value in union.empty | union.none:
        assert codes_of(schema, {union.discriminator: value}) == []
        assert codes_of(schema, {union.discriminator: value, union.names[0]: "x"}) == [
            "member-forbidden"
        ]
    for member in union.members:
        assert codes_of(schema, {union.discriminator: member.value}) == (
            [] if member.optional else ["member-required"]
        )
    assert codes_of(schema, {}) == (
        ["discriminator-required"] if union.required and not union.default else []
    )


AT_LEAST_ONE = [
    (name, union)
    for name in TYPES
    for union in unions_of(name, NEWEST[name])
    if union.at_least_one
]


@each_row("profile", PROFILES)
@each_row(("name", "union"), AT_LEAST_ONE, ids=name_of_type)
def test_one_member_of_several_that_go_together_is_required(
    name: str, union: UnionGroup, profile: str
) -> None:
    schema = schema_of(name, NEWEST[name])
    assert codes_of(schema, {}, profile) == ([] if profile == "off" else ["union-none"])
    for member in union.names:
        fields: JSONObject = {member: "x"}
        obj: JSONObject = {union.within: fields} if union.within else fields
        assert codes_of(schema, obj, profile) == []


def test_an_empty_value_next_to_value_from_is_not_a_second_member() -> None:
    # Clients in Go write an empty string for an unset value, and servers accept it.
    schema = schema_of(f"{CORE}EnvVar")
    source: JSONObject = {"valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    both: JSONObject = {"name": "POD", "value": "", **source}
    olds: list[JSONObject | None] = [
        None,
        both,
        {"name": "POD", **source},
        {"name": "POD"},
    ]
    for old in olds:
        assert normalize_unions(old, both, schema).object == both
    assert normalize_unions(
        {"name": "POD", "value": "a"}, {"name": "POD", "value": "a", **source}, schema
    ).object == {
        "name": "POD",
        **source,
    }


def test_the_selectors_of_a_peer_go_together_and_an_ip_block_excludes_both() -> None:
    schema = schema_of("io.k8s.api.networking.v1.NetworkPolicyPeer")
    selectors: JSONObject = {
        "namespaceSelector": {},
        "podSelector": {"matchLabels": {"app": "web"}},
    }
    block: JSONObject = {"ipBlock": {"cidr": "10.0.0.0/8"}}
    assert normalize_unions(None, selectors, schema).object == selectors
    assert normalize_unions(block, {**block, **selectors}, schema).object == selectors
    assert normalize_unions(selectors, {**block, **selectors}, schema).object == block
    assert {str(v.path) for v in validate_unions(None, {**block, **selectors}, schema)}
    with pytest.raises(UnionError):
        normalize_unions({}, {**block, **selectors}, schema)


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet"])
@pytest.mark.parametrize(
    "profile", ["kep1027", "kep1027-draft", "validate-only", "off"]
)
def test_a_strategy_without_its_type_is_a_rolling_update(
    kind: str, profile: str
) -> None:
    field = "strategy" if kind == "Deployment" else "updateStrategy"
    manifest: JSONObject = {"spec": {field: {"rollingUpdate": {}}}}
    schema = kubernetes().schema("apps/v1", kind)
    stored: JSONObject = {
        "spec": {field: {"type": "RollingUpdate", "rollingUpdate": {}}}
    }
    for old in (None, manifest, stored):
        assert (
            normalize_unions(old, manifest, schema, profile=profile).object == manifest
        )
    assert validate_unions(None, manifest, schema, profile=profile) == ()
