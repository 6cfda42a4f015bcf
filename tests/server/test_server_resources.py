"""The table of built-in resources, compared with Kubernetes and its Python client."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import kubernetes.client.api
import pytest

import smp
from smp.schema.resources import (
    VERBS,
    Resource,
    Resources,
    ScalePaths,
    version_sort_key,
)
from smp.server.errors import UnknownResourceError
from smp.server.settings import RuntimeConfig, SettingsError
from tests.record.resources import TABLE, compiled, module, needs_kubernetes

# In a module of the client: method='GET', and
# resource_path='/apis/apps/v1/namespaces/{namespace}/deployments/{name}'.
_REQUEST: Final = re.compile(r"method='(\w+)',\s+resource_path='([^']+)'")
_PATH: Final = re.compile(
    r"/(?:api|apis/(?P<group>[^/]+))/(?P<version>v[^/]+)(?P<namespaced>/namespaces/\{namespace\})?"
    r"/(?P<plural>[a-z]+)(?P<named>/\{name\})?(?:/(?P<subresource>[a-z]+))?"
)
VERB: Final = {
    ("GET", True): "get",
    ("GET", False): "list",
    ("POST", False): "create",
    ("PUT", True): "update",
    ("PATCH", True): "patch",
    ("DELETE", True): "delete",
    ("DELETE", False): "deletecollection",
}
WIDGET: Final = Resource("example.com", "v1", "Widget", "widgets", custom=True)


@cache
def requests_of_the_client() -> frozenset[tuple[str, str, str, str, str, bool]]:
    """Return the requests that the client can make.

    Each is a tuple of group, version, plural name, subresource, verb, and whether it is
    in a namespace.
    """
    requests: set[tuple[str, str, str, str, str, bool]] = set()
    for path in Path(str(kubernetes.client.api.__file__)).parent.glob("*_api.py"):
        requests.update(_requests(path.read_text()))
    return frozenset(requests)


def _requests(source: str) -> Iterator[tuple[str, str, str, str, str, bool]]:
    for method, path in _REQUEST.findall(source):
        match = _PATH.fullmatch(path)
        if match:
            verb = VERB.get((method, bool(match["named"])), "")
            yield (
                match["group"] or "",
                match["version"],
                match["plural"],
                match["subresource"] or "",
                verb,
                bool(match["namespaced"]),
            )


@needs_kubernetes
def test_the_table_is_what_the_published_documents_compile_to() -> None:
    sources = module()
    assert sources is not None
    assert TABLE.read_text() == compiled(sources / "api" / "discovery")


@pytest.mark.skipif(
    int(kubernetes.__version__.partition(".")[0]) < int(smp.versions()[-1][2:]),
    reason="an older client does not know all resources",
)
def test_the_client_knows_every_resource_and_verb() -> None:
    requests = requests_of_the_client()
    assert len(requests) > 500
    for resource in Resources.builtin():
        name = (resource.group, resource.version, resource.plural)
        namespaced = resource.namespaced
        for verb in resource.verbs:
            if verb == "watch":
                continue  # in the client it is a parameter of list
            assert (*name, "", verb, namespaced) in requests
            if verb != "list":  # the objects of all namespaces can be listed, too
                assert (*name, "", verb, not namespaced) not in requests
        for subresource in {"scale", "status"} & {*resource.subresources}:
            for verb in ("get", "patch", "update"):
                assert (*name, subresource, verb, namespaced) in requests
        for subresource in {"scale", "status"} - {*resource.subresources}:
            assert (*name, subresource, "get", namespaced) not in requests


def test_the_catalog_has_every_kind_that_the_client_can_write() -> None:
    """It has each resource with a stable version that can be created and read."""
    requests = requests_of_the_client()
    served = {resource.key for resource in Resources.builtin()}
    for group, version, plural, subresource, verb, namespaced in requests:
        # A cluster serves no alpha and beta versions by default.
        if subresource or verb != "create" or not re.fullmatch(r"v\d+", version):
            continue
        name = (group, version, plural, "")
        get = (*name, "get", namespaced)
        update = (*name, "update", namespaced)
        if get in requests and update in requests:
            assert (group, plural) in served


def test_the_catalog_knows_every_kind_and_list() -> None:
    for minor in (None, "1.25", "1.33"):
        catalog = smp.kubernetes(minor)
        kinds = {*catalog.kinds()}
        for resource in Resources.builtin(catalog):
            assert (resource.api_version, resource.kind) in kinds
            if resource.is_stored:
                assert (resource.api_version, resource.list_kind) in kinds


def test_an_older_catalog_has_the_versions_that_it_knows() -> None:
    old = Resources.builtin(smp.kubernetes("1.31"))
    new = Resources.builtin()
    assert old.find("", "v1", "pods") == new.find("", "v1", "pods")
    assert old.versions("resource.k8s.io") == ()
    everything = RuntimeConfig.parse("api/all=true")
    middle = Resources.builtin(smp.kubernetes("1.33"), everything.serves)
    assert middle.versions("resource.k8s.io") == ("v1beta2", "v1alpha3")
    assert new.find("resource.k8s.io", "v1", "resourceclaims").version == "v1"


def test_one_version_of_a_resource_is_served_and_two_of_the_autoscaler() -> None:
    resources = Resources.builtin()
    keys = [resource.key for resource in resources]
    twice = {key for key in keys if keys.count(key) > 1}
    assert twice == {("autoscaling", "horizontalpodautoscalers")}
    assert resources.versions("autoscaling") == ("v2", "v1")
    old = resources.find("autoscaling", "v1", "horizontalpodautoscalers")
    assert old.storage_api_version == "autoscaling/v2"
    with pytest.raises(UnknownResourceError):
        resources.find("resource.k8s.io", "v1beta2", "resourceclaims")


def test_a_resource_is_found_by_name_and_by_kind() -> None:
    resources = Resources.builtin()
    deployments = resources.find("apps", "v1", "deployments")
    assert resources.of_kind("apps/v1", "Deployment") is deployments
    assert deployments.api_version == "apps/v1"
    assert deployments.prefix == "/apis/apps/v1"
    assert deployments.qualified == "deployments.apps"
    assert deployments.singular == "deployment"
    assert deployments.list_kind == "DeploymentList"
    assert deployments.verbs == VERBS
    assert (deployments.short_names, deployments.categories) == (("deploy",), ("all",))
    assert [*deployments.subresources] == ["scale", "status"]
    assert deployments.scale == ScalePaths(
        selector=("spec", "selector"), default_replicas=1
    )
    pods = resources.of_kind("v1", "Pod")
    assert (pods.api_version, pods.prefix) == ("v1", "/api/v1")
    assert pods.qualified == "pods"
    assert pods.subresources["eviction"].verbs == ("create",)
    assert "deletecollection" not in resources.of_kind("v1", "Namespace").verbs


@pytest.mark.parametrize(
    ("group", "version", "plural"),
    [
        ("apps", "v2", "deployments"),
        ("", "v1", "deployments"),
        ("x.example", "v1", "y"),
    ],
)
def test_a_resource_that_is_not_served_is_an_error(
    group: str, version: str, plural: str
) -> None:
    with pytest.raises(UnknownResourceError) as caught:
        Resources.builtin().find(group, version, plural)
    assert (caught.value.status, caught.value.code) == (404, "unknown-resource")
    with pytest.raises(UnknownResourceError):
        Resources.builtin().of_kind(f"{group}/{version}", plural)


def test_scale_is_only_a_subresource() -> None:
    assert "Scale" not in {resource.kind for resource in Resources.builtin()}


def test_resources_are_added_without_changing_the_table() -> None:
    builtin = Resources.builtin()
    more = builtin.with_resources([WIDGET])
    assert more.find("example.com", "v1", "widgets") is WIDGET
    assert (WIDGET.singular, WIDGET.list_kind) == ("widget", "WidgetList")
    assert WIDGET.storage_api_version == "example.com/v1"
    assert more.groups()[0] == ""
    assert "example.com" in more.groups()
    assert "example.com" not in builtin.groups()
    assert len(more) == len(builtin) + 1


def test_new_versions_of_a_resource_replace_all_former_ones() -> None:
    versions = [
        Resource("example.com", version, "Widget", "widgets")
        for version in ("v1", "v1beta1", "v2")
    ]
    more = Resources.builtin().with_resources(versions[:2]).with_resources(versions[1:])
    assert more.versions("example.com") == ("v2", "v1beta1")
    assert more.in_version("example.com", "v2") == (versions[2],)


def test_versions_are_preferred_as_documented() -> None:
    """Source: "Version priority", in the documentation of definitions' versions."""
    documented = [
        "v10",
        "v2",
        "v1",
        "v11beta2",
        "v10beta3",
        "v3beta1",
        "v12alpha1",
        "v11alpha2",
        "foo1",
        "foo10",
    ]
    assert sorted(documented, key=version_sort_key) == documented


def versions(text: str) -> tuple[str, ...]:
    """Return the versions of a group that are served in 1.33 with a setting."""
    config = RuntimeConfig.parse(text)
    return Resources.builtin(smp.kubernetes("1.33"), config.serves).versions(
        "resource.k8s.io"
    )


@pytest.mark.parametrize(
    ("text", "served"),
    [
        ("", ()),
        ("api/beta=true", ("v1beta2",)),
        ("api/beta", ("v1beta2",)),
        ("api/all=true,api/alpha=false", ("v1beta2",)),
        ("api/all=true,resource.k8s.io/v1beta2=false", ("v1beta1", "v1alpha3")),
        ("resource.k8s.io/v1beta1=true", ("v1beta1",)),
    ],
)
def test_what_names_a_version_most_exactly_counts(
    text: str, served: tuple[str, ...]
) -> None:
    assert versions(text) == served


def test_a_stable_version_can_be_switched_off() -> None:
    config = RuntimeConfig.parse("apps/v1=false")
    assert Resources.builtin(serves=config.serves).versions("apps") == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("api/beta=maybe", "invalid value api/beta=maybe"),
        ("beta=true", "unknown api groups beta"),
    ],
)
def test_another_runtime_config_is_refused(text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        RuntimeConfig.parse(text)


@pytest.mark.parametrize(("version", "has_status"), [("1.36", False), ("1.37", True)])
def test_a_resource_has_a_status_where_its_kind_has_one(
    version: str, has_status: bool
) -> None:
    resources = Resources.builtin(smp.kubernetes(version))
    nodes = resources.find("storage.k8s.io", "v1", "csinodes")
    assert ("status" in nodes.subresources) is has_status
