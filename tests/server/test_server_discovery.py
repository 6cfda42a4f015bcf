"""Discovery documents, beside those that Kubernetes publishes, and read by the real
kubectl.
"""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

import smp
from smp.server.errors import UnknownResourceError
from smp.server.objects import discovery
from smp.server.objects.resources import Resource, Resources, ScalePaths
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
    """Return what a server publishes to clients that do not know the aggregated form."""
    answers = {
        "/api": discovery.api_versions(resources),
        "/apis": discovery.api_groups(resources),
        **{
            one.prefix: discovery.api_resources(resources, one.group, one.version)
            for one in resources
        },
    }
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


def as_kubectl_prints(one: Resource) -> tuple[str, ...]:
    names = (
        one.plural,
        ",".join(one.short_names),
        one.api_version,
        str(one.namespaced).lower(),
        one.kind,
    )
    return *names, ",".join(sorted(one.verbs)), ",".join(one.categories)


@needs_kubectl
@pytest.mark.parametrize("form", [published, legacy])
def test_kubectl_lists_the_resources(form: Any) -> None:
    resources = BUILTIN.with_resources(WIDGETS[:1])
    with Loopback(form(resources)) as server:
        listed = read_table(server.printed("api-resources", "-o", "wide"))
        versions = server.printed("api-versions").split()
    assert sorted(listed) == sorted(map(as_kubectl_prints, resources))
    assert versions == sorted({one.api_version for one in resources})


@needs_kubectl
def test_kubectl_reads_the_version_of_the_server() -> None:
    with Loopback(published(BUILTIN)) as server:
        printed = json.loads(server.printed("version", "-o", "json"))
    assert printed["serverVersion"]["minor"] == smp.kubernetes().version.split(".")[1]


@needs_kubernetes
def test_the_documents_are_those_that_kubernetes_publishes() -> None:
    """Of the versions that are preferred, and without subresources that are not served."""
    sources = module()
    assert sources is not None
    theirs = json.loads(
        (sources / "api" / "discovery" / "aggregated_v2.json").read_bytes()
    )
    ours = by_place(discovery.aggregated(BUILTIN, core=False))
    for place, resource in by_place(theirs).items():
        if place in ours:
            assert ours[place] == resource
    assert len(ours) == len([one for one in BUILTIN if one.group])


@needs_kubernetes
@pytest.mark.parametrize(
    "one", [one for one in BUILTIN if one.plural in {"deployments", "nodes", "pods"}]
)
def test_the_older_documents_are_those_that_kubernetes_publishes(one: Resource) -> None:
    sources = module()
    assert sources is not None
    name = one.prefix[1:].replace("/", "__")
    theirs = json.loads((sources / "api" / "discovery" / f"{name}.json").read_bytes())
    ours = discovery.api_resources(BUILTIN, one.group, one.version)
    assert {**ours, "resources": None} == {
        "apiVersion": "v1",
        **theirs,
        "resources": None,
    }
    expected = {row["name"]: row for row in theirs["resources"]}
    for row in rows(ours):
        assert {"storageVersionHash": None, **expected[row["name"]]} == {
            **row,
            "storageVersionHash": expected[row["name"]].get("storageVersionHash"),
        }


def rows(document: Any) -> list[Any]:
    found: list[Any] = document["resources"]
    return found


def by_place(document: Any) -> dict[tuple[str, str, str], Any]:
    """Index the resources of an aggregated document, without what we leave out or
    Kubernetes' record leaves empty.
    """
    found = {}
    for group in document["items"]:
        for version in group["versions"]:
            for resource in version["resources"]:
                kept = [one["subresource"] for one in resource.pop("subresources", [])]
                resource["subresources"] = sorted({*kept} & {"scale", "status"})
                resource["responseKind"] = resource["responseKind"]["kind"]
                found[
                    group["metadata"]["name"], version["version"], resource["resource"]
                ] = resource
    return found


def test_scale_is_answered_with_a_scale() -> None:
    documents: Any = discovery.aggregated(
        BUILTIN.with_resources(WIDGETS[:1]), core=False
    )
    found = by_place_of_kinds(documents)
    assert found["deployments", "scale"] == {
        "group": "autoscaling",
        "version": "v1",
        "kind": "Scale",
    }
    assert found["deployments", "status"] == {
        "group": "apps",
        "version": "v1",
        "kind": "Deployment",
    }
    assert found["widgets", "scale"]["kind"] == "Scale"


def by_place_of_kinds(document: Any) -> dict[tuple[str, str], Any]:
    return {
        (resource["resource"], one["subresource"]): one["responseKind"]
        for group in document["items"]
        for version in group["versions"]
        for resource in version["resources"]
        for one in resource.get("subresources", [])
    }


def test_the_core_group_has_no_name() -> None:
    document: Any = discovery.aggregated(BUILTIN, core=True)
    assert [group["metadata"] for group in document["items"]] == [{}]
    assert discovery.api_versions(BUILTIN)["versions"] == ["v1"]


def test_the_preferred_version_comes_first() -> None:
    resources = Resources(reversed(WIDGETS))
    group = discovery.api_group(resources, "example.com")
    assert group["preferredVersion"] == {
        "groupVersion": "example.com/v1",
        "version": "v1",
    }
    document: Any = discovery.aggregated(resources, core=False)
    assert [version["version"] for version in document["items"][0]["versions"]] == [
        "v1",
        "v1beta1",
    ]


def test_a_group_or_version_that_is_not_served_is_unknown() -> None:
    for group in ("example.com", ""):
        with pytest.raises(UnknownResourceError):
            discovery.api_group(BUILTIN, group)
    with pytest.raises(UnknownResourceError):
        discovery.api_resources(BUILTIN, "apps", "v2")


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        (
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json",
            True,
        ),
        (
            "application/json, application/json; as=APIGroupDiscoveryList; v=v2; g=apidiscovery.k8s.io; q=0.9",
            True,
        ),
        (
            "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json",
            False,
        ),
        ("application/json", False),
        ("", False),
    ],
)
def test_the_aggregated_form_is_given_on_request_only(
    accept: str, wanted: bool
) -> None:
    assert discovery.wants_aggregated(accept) is wanted
