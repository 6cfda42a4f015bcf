"""Discovery documents, compared with those of Kubernetes and read by kubectl."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

import smp
from smp.schema.resources import Resource, Resources, ScalePaths
from smp.server.errors import UnknownResourceError
from smp.server.objects import discovery
from tests.record.resources import module, needs_kubernetes
from tests.support.kubectl import needs_kubectl
from tests.support.loopback import Answer, Loopback, encoded, published

BUILTIN: Final = Resources.builtin()
WIDGETS: Final = (
    Resource(
        "example.com",
        "v1",
        "Widget",
        "widgets",
        short_names=("wg",),
        categories=("all",),
        scale=ScalePaths(),
    ),
    Resource(
        "example.com", "v1beta1", "Widget", "widgets", namespaced=False, custom=True
    ),
)


def legacy(resources: Resources) -> dict[str, Answer]:
    """Return the documents for clients that do not know the aggregated form."""
    answers = {
        "/api": discovery.api_versions(resources),
        "/apis": discovery.api_groups(resources),
    }
    for resource in resources:
        answers[resource.prefix] = discovery.api_resources(
            resources, resource.group, resource.version
        )
    return {path: Answer(encoded(document)) for path, document in answers.items()}


def read_table(text: str) -> list[tuple[str, ...]]:
    """Read the columns of a table that kubectl prints, whose cells may be empty."""
    header, *lines = text.splitlines()
    words = header.split()
    starts = [header.index(word) for word in words]
    ends = [*starts[1:], None]
    return [
        tuple(line[start:end].strip() for start, end in zip(starts, ends, strict=True))
        for line in lines
    ]


def as_kubectl_prints(resource: Resource) -> tuple[str, ...]:
    """Return the cells of a resource in ``kubectl api-resources -o wide``."""
    return (
        resource.plural,
        ",".join(resource.short_names),
        resource.api_version,
        str(resource.namespaced).lower(),
        resource.kind,
        ",".join(sorted(resource.verbs)),
        ",".join(resource.categories),
    )


@needs_kubectl
@pytest.mark.parametrize("form", [published, legacy])
@pytest.mark.slow
def test_kubectl_lists_the_resources(form: Any) -> None:
    resources = BUILTIN.with_resources(WIDGETS[:1])
    with Loopback(form(resources)) as server:
        listed = read_table(server.printed("api-resources", "-o", "wide"))
        versions = server.printed("api-versions").split()
    # kubectl lists the preferred version of a resource that has two.
    assert sorted(listed) == sorted(
        as_kubectl_prints(resource)
        for resource in resources
        if resource.custom
        or resource.api_version == resource.storage_api_version
        or resource.group != resource.storage_group
    )
    assert versions == sorted({resource.api_version for resource in resources})


@needs_kubectl
def test_kubectl_reads_the_version_of_the_server() -> None:
    with Loopback(published(BUILTIN)) as server:
        printed = json.loads(server.printed("version", "-o", "json"))
    assert printed["serverVersion"]["minor"] == smp.kubernetes().version.split(".")[1]


@needs_kubernetes
def test_the_documents_are_those_that_kubernetes_publishes() -> None:
    """Only preferred versions are served, and two subresources."""
    sources = module()
    assert sources is not None
    path = sources / "api" / "discovery" / "aggregated_v2.json"
    theirs = resources_by_name(json.loads(path.read_bytes()))
    ours = resources_by_name(discovery.aggregate(BUILTIN, core=False))
    for name, resource in theirs.items():
        if name in ours:
            assert ours[name] == resource
    assert len(ours) == len([resource for resource in BUILTIN if resource.group])


@needs_kubernetes
@pytest.mark.parametrize(
    "resource",
    [
        resource
        for resource in BUILTIN
        if resource.plural in {"deployments", "nodes", "pods"}
    ],
)
def test_the_older_documents_are_those_that_kubernetes_publishes(
    resource: Resource,
) -> None:
    sources = module()
    assert sources is not None
    name = resource.prefix[1:].replace("/", "__")
    path = sources / "api" / "discovery" / f"{name}.json"
    theirs = {"apiVersion": "v1", **json.loads(path.read_bytes())}
    ours: Any = discovery.api_resources(BUILTIN, resource.group, resource.version)
    expected = {row["name"]: row for row in theirs.pop("resources")}
    rows = ours.pop("resources")
    assert ours == theirs
    for row in rows:
        their_row = expected[row["name"]]
        their_row.pop("storageVersionHash", None)
        row.pop("storageVersionHash", None)
        assert row == their_row


def resources_by_name(document: Any) -> dict[tuple[str, str, str], Any]:
    """Index the resources of an aggregated document by group, version and plural name.

    Subresources that we do not serve are left out, and of a response kind the members
    that are empty in Kubernetes' record.
    """
    indexed = {}
    for group in document["items"]:
        for version in group["versions"]:
            for resource in version["resources"]:
                names = {
                    subresource["subresource"]
                    for subresource in resource.pop("subresources", [])
                }
                resource["subresources"] = sorted(names & {"scale", "status"})
                resource["responseKind"] = resource["responseKind"]["kind"]
                key = (
                    group["metadata"]["name"],
                    version["version"],
                    resource["resource"],
                )
                indexed[key] = resource
    return indexed


def test_scale_is_answered_with_a_scale() -> None:
    resources = BUILTIN.with_resources(WIDGETS[:1])
    kinds = subresource_kinds(discovery.aggregate(resources, core=False))
    scale = {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert kinds["deployments", "scale"] == scale
    deployment = {"group": "apps", "version": "v1", "kind": "Deployment"}
    assert kinds["deployments", "status"] == deployment
    assert kinds["widgets", "scale"] == scale


def subresource_kinds(document: Any) -> dict[tuple[str, str], Any]:
    """Return the kinds of subresources by the plural name and the subresource."""
    kinds = {}
    for group in document["items"]:
        for version in group["versions"]:
            for resource in version["resources"]:
                for subresource in resource.get("subresources", []):
                    key = (resource["resource"], subresource["subresource"])
                    kinds[key] = subresource["responseKind"]
    return kinds


def test_the_core_group_has_no_name() -> None:
    document: Any = discovery.aggregate(BUILTIN, core=True)
    assert [group["metadata"] for group in document["items"]] == [{}]
    assert discovery.api_versions(BUILTIN)["versions"] == ["v1"]


def test_the_preferred_version_comes_first() -> None:
    resources = Resources(reversed(WIDGETS))
    group = discovery.api_group(resources, "example.com")
    preferred = {"groupVersion": "example.com/v1", "version": "v1"}
    assert group["preferredVersion"] == preferred
    document: Any = discovery.aggregate(resources, core=False)
    versions = document["items"][0]["versions"]
    assert [version["version"] for version in versions] == ["v1", "v1beta1"]


def test_a_group_or_version_that_is_not_served_is_unknown() -> None:
    for group in ("example.com", ""):
        with pytest.raises(UnknownResourceError):
            discovery.api_group(BUILTIN, group)
    with pytest.raises(UnknownResourceError):
        discovery.api_resources(BUILTIN, "apps", "v2")


@pytest.mark.parametrize(
    ("accept", "is_wanted"),
    [
        (
            (
                "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
                "application/json"
            ),
            True,
        ),
        (
            (
                "application/json, application/json; as=APIGroupDiscoveryList; v=v2; "
                "g=apidiscovery.k8s.io; q=0.9"
            ),
            True,
        ),
        (
            (
                "application/json;g=apidiscovery.k8s.io;v=v2beta1;"
                "as=APIGroupDiscoveryList,application/json"
            ),
            False,
        ),
        ("application/json", False),
        ("", False),
    ],
)
def test_the_aggregated_form_is_given_on_request_only(
    accept: str, is_wanted: bool
) -> None:
    assert discovery.wants_aggregated(accept) is is_wanted
