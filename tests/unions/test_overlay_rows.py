"""What the rows of the bundled overlay say of each bundled version of Kubernetes."""

from __future__ import annotations

from functools import cache

import pytest

from smp._values.values import JSONObject, as_object
from smp.schema.catalog import kubernetes, versions
from smp.schema.model import ListType, ObjectType
from smp.schema.union_groups import UnionGroup
from smp.unions import validate_unions
from tests.support.overlay_rows import (
    CORE,
    ROWS,
    TYPES,
    names_in,
    schema_of,
    unions_of,
)
from tests.support.rows import each_row

# The fields of each type that exclude no other. A field that is not listed here and not
# in the overlay is new in Kubernetes, and has to be put into one of them.
OTHER_FIELDS = {
    "admissionregistration.v1.WebhookClientConfig": {"caBundle"},
    "apiextensions.v1.WebhookClientConfig": {"caBundle"},
    "authorization.v1.SubjectAccessReviewSpec": {"extra", "groups", "uid", "user"},
    "admissionregistration.v1.ParamRef": {"namespace", "parameterNotFoundAction"},
    "admissionregistration.v1alpha1.ParamRef": {"namespace", "parameterNotFoundAction"},
    "admissionregistration.v1beta1.ParamRef": {"namespace", "parameterNotFoundAction"},
    "ExternalMetricSource": {"metric"},
    "ObjectMetricSource": {"describedObject", "metric"},
    "PodsMetricSource": {"metric"},
    "ResourceMetricSource": {"name"},
    "ContainerResourceMetricSource": {"container", "name"},
    "batch.v1.PodFailurePolicyRule": {"action"},
    "networking.v1.IngressServiceBackend": {"name"},
    "core.v1.DownwardAPIVolumeFile": {"mode", "path", "user"},
    "core.v1.EnvFromSource": {"prefix"},
    "core.v1.EnvVar": {"name"},
    "core.v1.PersistentVolumeSpec": {
        "accessModes",
        "capacity",
        "claimRef",
        "mountOptions",
        "nodeAffinity",
        "persistentVolumeReclaimPolicy",
        "storageClassName",
        "volumeAttributesClassName",
        "volumeMode",
    },
    "core.v1.PodResourceClaim": {"name"},
    "core.v1.Probe": {
        "failureThreshold",
        "initialDelaySeconds",
        "periodSeconds",
        "successThreshold",
        "terminationGracePeriodSeconds",
        "timeoutSeconds",
    },
    "core.v1.Volume": {"name"},
    "policy.v1.PodDisruptionBudgetSpec": {"selector", "unhealthyPodEvictionPolicy"},
    "resource.v1.DeviceRequest": {"name"},
    "ResourceSliceSpec": {
        "devices",
        "driver",
        "partitionTypeAttribute",
        "pool",
        "sharedCounters",
        "skipNodeOperations",
    },
    "resource.v1beta2.DeviceRequest": {"name"},
    "scheduling.v1alpha2.PodGroupResourceClaim": {"name"},
    "scheduling.v1alpha3.PodGroupResourceClaim": {"name"},
    "scheduling.v1beta1.PodGroupResourceClaim": {"name"},
}


def claimed_versions(versions_of_row: str) -> set[str]:
    """Return the bundled versions that a row such as "1.27-1.30" or "1.31+" claims."""
    minors = [int(version.partition(".")[2]) for version in versions()]
    first = int(versions_of_row[2:4])
    last = max(minors) if versions_of_row.endswith("+") else int(versions_of_row[-2:])
    return {f"1.{minor}" for minor in minors if first <= minor <= last}


def versions_with(name: str) -> set[str]:
    """Return the bundled versions that have a type."""
    return {
        version for version in versions() if kubernetes(version).load(name) is not None
    }


def fields_in_unions(unions: tuple[UnionGroup, ...]) -> set[str]:
    """Return the members of unions, and their discriminators."""
    fields: set[str] = set()
    for union in unions:
        fields |= {union.within} if union.within else {*union.names}
        if union.discriminator:
            fields.add(union.discriminator)
    return fields


@each_row("name", TYPES)
def test_a_type_has_its_unions_in_the_versions_that_the_rows_claim(name: str) -> None:
    claimed: set[str] = set()
    for row in ROWS:
        types = as_object(row["types"])
        if name in types:
            claimed |= claimed_versions(str(types[name]))
    without_members: set[str] = set()
    if name == f"{CORE}PodResourceClaim":
        # The type is older than its members, which came in 1.31.
        without_members = {"1.26", "1.27", "1.28", "1.29", "1.30"}
    existing = versions_with(name)
    assert claimed == existing - without_members
    for version in existing:
        sources = [union.source for union in unions_of(name, version)]
        from_rows = [source for source in sources if source != "x-kubernetes-unions"]
        assert bool(from_rows) is (version in claimed)


@each_row("name", TYPES)
def test_every_field_is_in_a_union_or_known_to_exclude_no_other(name: str) -> None:
    others: set[str] = set()
    for suffix, fields in OTHER_FIELDS.items():
        if name.endswith(suffix):
            others = fields
    checked = 0
    for version in versions_with(name):
        unions = unions_of(name, version)
        if unions:
            document = as_object(kubernetes(version).load(name))
            expected = set(names_in(document["fields"])) - others
            assert fields_in_unions(unions) == expected
            checked += 1
    assert checked > 0


def test_every_member_is_a_field_of_some_version() -> None:
    for row in ROWS:
        for name in names_in(row["types"]):
            fields: set[str] = set()
            for version in versions_with(name):
                document = as_object(kubernetes(version).load(name))
                fields |= set(names_in(document["fields"]))
            members = set(names_in(row["members"]))
            if "within" in row:
                members = {str(row["within"])}
            if name.startswith("io.k8s.api.flowcontrol.v1beta1."):
                # This version of the API was gone before its field exempt came.
                members.discard("exempt")
            assert members <= fields


@cache
def object_types(version: str) -> dict[str, ObjectType]:
    """Return every named object that a kind leads to."""
    catalog = kubernetes(version)
    found: dict[str, ObjectType] = {}
    queue = [catalog.schema(*kind).type for kind in catalog.kinds()]
    while queue:
        type_ = queue.pop()
        if isinstance(type_, ListType):
            queue.append(type_.items)
        elif isinstance(type_, ObjectType) and type_.name not in found:
            if type_.name:
                found[type_.name] = type_
            queue += [field.type for field in type_]
    return found


def keys_of_elements(version: str) -> dict[str, set[str]]:
    """Return the merge keys and map keys of the lists of each type of elements."""
    keys: dict[str, set[str]] = {}
    for type_ in object_types(version).values():
        for field in type_:
            list_type = field.type
            if not isinstance(list_type, ListType):
                continue
            if isinstance(list_type.items, ObjectType):
                key_names = keys.setdefault(list_type.items.name, set())
                key_names.update({field.merge_key, *list_type.map_keys} - {""})
    return keys


@pytest.mark.parametrize("version", versions())
def test_no_merge_key_is_in_a_union(version: str) -> None:
    keys = keys_of_elements(version)
    assert keys[f"{CORE}EnvVar"] == keys[f"{CORE}Volume"] == {"name"}
    for name in TYPES:
        if version in versions_with(name):
            fields = fields_in_unions(unions_of(name, version))
            assert not fields & keys.get(name, set())


@pytest.mark.parametrize("version", versions())
def test_the_unions_of_every_type_can_be_read(version: str) -> None:
    sources: list[str] = []
    for type_ in object_types(version).values():
        sources += [union.source for union in type_.unions]
    assert len(sources) - sources.count("x-kubernetes-unions") >= 26


def test_every_row_states_what_a_reviewer_has_to_check() -> None:
    for row in ROWS:
        members = {"types", "members", "source"}
        if "at_least_one" not in row:
            members |= {"exactly_one"}
            is_plain = "discriminator" not in row
            if "within" not in row:
                members |= {"profile"} if is_plain else {"discriminator", "empty"}
        assert members <= row.keys()
        assert str(row["source"]).startswith(("Go: ", "API: ", "as before 1.37"))


def test_what_was_published_right_stays_and_what_was_wrong_is_replaced() -> None:
    (mode,) = unions_of("io.k8s.api.scheduling.v1beta1.DisruptionMode", "1.37")
    (response,) = unions_of("io.k8s.api.flowcontrol.v1.LimitResponse")
    assert (mode.source, mode.generation) == (
        "x-kubernetes-unions",
        "fields-to-discriminateBy",
    )
    assert ([*response.by_value], [*response.empty], response.generation) == (
        ["Queue"],
        ["Reject"],
        "members",
    )


@pytest.mark.parametrize("version", versions())
def test_every_discriminator_of_a_built_in_type_has_known_values(version: str) -> None:
    # KEP-1027, cases 34 and 39: an unknown value has to fail.
    for name, type_ in object_types(version).items():
        for union in type_.unions:
            assert (name, union.closed) == (name, bool(union.discriminator))


def test_a_member_that_came_later_leaves_its_value_to_the_earlier_versions() -> None:
    name = "io.k8s.api.flowcontrol.v1beta3.PriorityLevelConfigurationSpec"
    (before,), (after,) = unions_of(name, "1.27"), unions_of(name, "1.28")
    assert (before.names, before.empty) == (("limited",), frozenset({"Exempt"}))
    assert (after.names, after.empty) == (("exempt", "limited"), frozenset())
    assert before.allowed == after.allowed == frozenset({"Exempt", "Limited"})


def test_a_value_that_came_later_is_unknown_to_the_earlier_versions() -> None:
    strategy: JSONObject = {"type": "Recreate"}
    name = "io.k8s.api.apps.v1.StatefulSetUpdateStrategy"
    assert validate_unions(None, strategy, schema_of(name, "1.37")) == ()
    (violation,) = validate_unions(None, strategy, schema_of(name, "1.36"))
    assert violation.code == "unsupported-value"
