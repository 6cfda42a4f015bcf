"""Three-way apply: its result, its warnings, and the last-applied configuration."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

import smp
from smp import _strategic as strategic
from smp import merge_patch
from smp._storage.typed_storage import stored
from smp._storage.update import drop_by_strategy
from smp._strategic import unknown_field_warnings
from smp._values.last_applied import LAST_APPLIED
from smp._values.values import JSON, JSONObject, as_object, same
from tests.support.kubectl import capture_apply, needs_kubectl

SCHEMA = smp.kubernetes().schema("apps/v1", "Deployment")


def deployment(**spec: object) -> JSONObject:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"template": {"spec": spec}},  # type: ignore[dict-item]  # keyword arguments are JSON here
    }


def container(name: str, **fields: object) -> JSONObject:
    return {"name": name, **fields}  # type: ignore[dict-item]  # keyword arguments are JSON here


def test_the_object_is_the_live_one_with_the_patch_applied() -> None:
    last = deployment(
        containers=[container("app", image="a:1", env=[container("A", value="1")])]
    )
    modified = deployment(containers=[container("app", image="a:2")])
    app = container("app", image="a:1", env=[container("A", value="1")])
    live = deployment(containers=[container("mesh", image="m"), app])
    before = copy.deepcopy((last, modified, live))
    result = smp.three_way_apply(last, modified, live, SCHEMA)
    assert result.patch == smp.three_way_patch(last, modified, live, SCHEMA)
    assert same(result.object, smp.apply_patch(live, result.patch, SCHEMA))
    assert result.object == deployment(
        containers=[container("mesh", image="m"), container("app", image="a:2")]
    )
    assert result.converged
    assert result.warnings == ()
    assert (last, modified, live) == before


def test_a_missing_last_applied_configuration_is_reported() -> None:
    live = deployment(
        containers=[container("app", image="a:1", env=[container("A", value="1")])]
    )
    modified = deployment(containers=[container("app", image="a:1")])
    missing = smp.three_way_apply(None, modified, live, SCHEMA)
    empty = smp.three_way_apply({}, modified, live, SCHEMA)
    assert [hazard.code for hazard in missing.hazards] == ["no-last-applied"]
    assert empty.hazards == ()
    assert same(missing.object, live)


@pytest.mark.parametrize("field", ["apiVersion", "kind"])
def test_identity_must_not_change(field: str) -> None:
    live = deployment(containers=[])
    with pytest.raises(smp.PreconditionError) as caught:
        smp.three_way_apply(None, {**live, field: "other"}, live, SCHEMA)
    assert caught.value.problem == f"{field} must not change"


def test_the_name_must_not_change() -> None:
    live = deployment(containers=[])
    with pytest.raises(smp.PreconditionError) as caught:
        smp.three_way_apply(None, {**live, "metadata": {"name": "other"}}, live, SCHEMA)
    assert caught.value.problem == "metadata.name must not change"


def test_a_change_that_an_apply_cannot_make_is_reported_as_unmet() -> None:
    # Both ports are 53, so the change meant for the second one hits the first.
    last: JSONObject = {
        "spec": {
            "ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]
        }
    }
    modified: JSONObject = {
        "spec": {
            "ports": [
                {"port": 53, "protocol": "UDP"},
                {"port": 53, "protocol": "TCP", "name": "dns-tcp"},
            ]
        }
    }
    result = smp.three_way_apply(
        last, modified, last, smp.kubernetes().schema("v1", "Service")
    )
    assert not result.converged
    assert [str(path) for path in result.unmet] == ["spec.ports[port=53].name"]


POD = smp.kubernetes().schema("v1", "Pod")


def pod(*containers: JSONObject) -> JSONObject:
    return {"spec": {"containers": [*containers]}}


def test_what_live_lost_comes_back_without_what_the_configuration_dropped() -> None:
    # Another client removed the container p, and the new manifest its variable B.
    env: list[JSON] = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]
    last = pod(container("a"), container("p", env=env))
    modified = pod(container("a"), container("p", env=env[:1]))
    result = smp.three_way_apply(last, modified, pod(container("a")), POD)
    assert result.object == modified
    assert result.converged
    spec: JSONObject = {
        "$setElementOrder/containers": [{"name": "a"}, {"name": "p"}],
        "containers": [container("p", env=env[:1])],
    }
    assert result.patch == {"spec": spec}
    assert [(w.code, w.path.decoded) for w in result.warnings] == [
        ("strict-decoding", "spec.containers[1].$setElementOrder/env"),
        ("strict-decoding", "spec.containers[1].env[1].$patch"),
    ]
    assert result.warnings[0].message == (
        "kubectl's patch has a directive in a new value, which a server refuses: strict"
        ' decoding error: unknown field "spec.containers[1].$setElementOrder/env"'
    )
    # The patch of kubectl brings back an element that is nothing but its merge key.
    stored = smp.apply_patch(pod(container("a")), result.kubectl_patch, POD)
    assert stored == pod(container("a"), container("p", env=[*env[:1], container("B")]))


def test_an_unmet_path_names_the_field_that_differs() -> None:
    """A server lets TCP and UDP share a port; a patch takes one for the other."""
    udp: JSONObject = {"name": "alt", "port": 8080, "protocol": "UDP"}
    rows: list[tuple[JSONObject, list[str]]] = [
        # TCP is the default, and all that is written is there.
        ({"name": "alt", "port": 8080}, ["protocol"]),
        ({"name": "alt", "port": 8080, "protocol": "TCP"}, []),
        ({"name": "new", "port": 8080, "protocol": "UDP"}, []),
        ({"name": "new", "port": 8080}, ["protocol"]),
    ]
    live: JSONObject = {"spec": {"ports": [udp]}}
    schema = smp.kubernetes().schema("v1", "Service")
    wrong = []
    for port, expected in rows:
        result = smp.three_way_apply(None, {"spec": {"ports": [port]}}, live, schema)
        paths = [f"spec.ports[port=8080].{name}" for name in expected]
        if [str(path) for path in result.unmet] != paths:
            wrong.append((port, result.unmet))
    assert wrong == []


def test_what_is_deleted_and_still_there_is_unmet() -> None:
    schema = smp.Schema.inline(
        {
            "fields": {
                "a": "string",
                "list": {"is": {"items": "string"}, "strategy": "merge"},
            }
        }
    )
    last: JSONObject = {"a": "1", "list": ["x", "y"]}
    unmet = strategic.unmet_paths(last, {"list": ["x"]}, last, schema)
    assert [str(path) for path in unmet] == ["list", "a"]
    element: JSONObject = {"fields": {"name": "string", "x": "string"}}
    schema = smp.Schema.inline(
        {
            "fields": {
                "l": {"is": {"items": element}, "strategy": "merge", "key": "name"}
            }
        }
    )
    last = {"l": [{"name": "a", "x": "1"}, {"name": "b"}]}
    modified: JSONObject = {"l": [{"name": "a"}]}
    unmet = strategic.unmet_paths(last, modified, last, schema)
    assert [str(path) for path in unmet] == ["l[name=a].x", "l[name=b]"]


@pytest.mark.parametrize(
    "modified",
    [
        {"strategy": {"type": "Recreate", "rollingUpdate": None}},
        {"replicas": None},
        {"template": {"metadata": {"labels": {"gone": None, "none": None}}}},
        {"template": {"spec": {"containers": [{"name": "new", "image": None}]}}},
        {"template": {"spec": {"containers": [{"name": "app", "env": None}]}}},
        {"template": {"spec": {"affinity": {"nodeAffinity": None}}}},
        {
            "template": {
                "spec": {
                    "containers": [{"name": "app"}],
                    "tolerations": [{"key": "a", "value": None}],
                }
            }
        },
    ],
)
def test_a_null_that_does_what_it_asks_for_is_met(modified: JSONObject) -> None:
    live: JSONObject = {
        "spec": {
            "replicas": 3,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
            "template": {
                "metadata": {"labels": {"gone": "1", "kept": "2"}},
                "spec": {"containers": [container("app", env=[container("A")])]},
            },
        }
    }
    result = smp.three_way_apply(live, {"spec": modified}, live, SCHEMA)
    assert result.unmet == ()


def test_a_null_for_a_field_that_is_still_there_is_unmet() -> None:
    # The profile writes the discriminator that the null takes away.
    schema = smp.kubernetes().schema("apps/v1", "StatefulSet")
    strategy: JSONObject = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
    live: JSONObject = {"spec": {"updateStrategy": strategy}}
    modified: JSONObject = {
        "spec": {"updateStrategy": {"type": None, "rollingUpdate": {"partition": 2}}}
    }
    result = smp.three_way_apply({}, modified, live, schema, profile="kep2019")
    assert [str(path) for path in result.unmet] == ["spec.updateStrategy.type"]
    assert smp.apply_patch(live, as_object(result.patch), schema) == result.object
    (warning,) = result.warnings
    assert warning.message == (
        "kubectl's patch leaves this field as it is, and so does a server that does not"
        " normalize unions"
    )


def test_unknown_fields_merge_on_request_and_are_reported() -> None:
    kept: JSONObject = {"kept": 1, "list": [1]}
    live: JSONObject = {**deployment(containers=[]), "extra": kept}
    extra: JSONObject = {"list": [2]}
    modified: JSONObject = {**deployment(containers=[]), "extra": extra}
    with pytest.raises(smp.UnknownFieldError) as caught:
        smp.three_way_apply(None, modified, live, SCHEMA)
    assert str(caught.value.path) == "extra"
    result = smp.three_way_apply(None, modified, live, SCHEMA, unknown_fields="merge")
    assert result.object["extra"] == {"kept": 1, "list": [2]}
    assert [(w.code, str(w.path)) for w in result.warnings] == [
        ("unknown-field", "extra"),
    ]


def test_without_overwrite_a_conflict_stops_the_apply() -> None:
    last = deployment(containers=[container("app", image="a:1")])
    live = deployment(containers=[container("app", image="a:1-hotfix")])
    modified = deployment(containers=[container("app", image="a:2")])
    with pytest.raises(smp.ConflictError) as caught:
        smp.three_way_apply(last, modified, live, SCHEMA, overwrite=False)
    (conflict,) = caught.value.conflicts
    assert str(conflict.path) == "spec.template.spec.containers[name=app].image"
    assert conflict.path.pointer == "/spec/template/spec/containers/0/image"
    assert (conflict.base, conflict.ours, conflict.theirs) == (
        "a:1",
        "a:2",
        "a:1-hotfix",
    )


def test_the_annotation_is_read_as_it_was_written() -> None:
    modified = deployment(containers=[container("app", image="a<b>&\u2028é")])
    annotated = smp.with_last_applied(modified)
    assert smp.last_applied_configuration(modified) is None
    metadata: JSONObject = {"name": "web", "namespace": "shop", "annotations": {}}
    assert smp.last_applied_configuration(annotated) == {
        **modified,
        "metadata": metadata,
    }
    assert smp.with_last_applied(annotated) == annotated


@pytest.mark.parametrize("text", ["{", "[]", "null", 5])
def test_a_broken_annotation_is_an_error_with_its_path(text: object) -> None:
    live: JSONObject = {"metadata": {"annotations": {LAST_APPLIED: text}}}  # type: ignore[dict-item]
    with pytest.raises(smp.DocumentError) as caught:
        smp.last_applied_configuration(live)
    assert caught.value.path.pointer.startswith(
        "/metadata/annotations/kubectl.kubernetes.io~1last-applied"
    )


@needs_kubectl
def test_the_annotation_is_the_one_that_kubectl_writes() -> None:
    live = deployment(containers=[container("app", image="a:1")])
    modified = deployment(
        containers=[
            container("app", image="a:2", args=["--x=<&>", "é\u2028"], tty=True)
        ]
    )
    sent = capture_apply(live, modified, live)
    assert sent is not None
    metadata = sent["metadata"]
    assert isinstance(metadata, dict)
    expected = smp.with_last_applied(modified)["metadata"]
    assert isinstance(expected, dict)
    annotations = expected["annotations"]
    assert isinstance(annotations, dict)
    assert metadata["annotations"] == {LAST_APPLIED: annotations[LAST_APPLIED]}


def test_an_apply_over_bytes_has_the_same_result() -> None:
    live = deployment(containers=[container("app", image="a:1")])
    modified = deployment(containers=[container("app", image="a:2")])
    live_text, modified_text = json.dumps(live).encode(), json.dumps(modified).encode()
    over_bytes = smp.wire.three_way_apply(live_text, modified_text, live_text, SCHEMA)
    over_dicts = smp.three_way_apply(live, modified, live, SCHEMA)
    assert json.loads(over_bytes.object) == over_dicts.object
    assert json.loads(over_bytes.patch) == over_dicts.patch
    assert over_bytes.converged
    without = smp.wire.three_way_apply(None, modified_text, live_text, SCHEMA)
    assert [hazard.code for hazard in without.hazards] == ["no-last-applied"]
    with pytest.raises(smp.DocumentError):
        smp.wire.three_way_apply(None, b"{", live_text, SCHEMA)
    with pytest.raises(smp.ObjectError):
        smp.wire.three_way_apply(None, b"[]", live_text, SCHEMA)


def test_a_list_without_a_patch_merge_key_is_compared_by_index() -> None:
    items: JSONObject = {"fields": {"name": "string", "n": "integer"}}
    schema = smp.Schema.inline(
        {"fields": {"list": {"items": items, "list_type": "map", "map_keys": ["name"]}}}
    )
    with pytest.raises(smp.ConflictError) as caught:
        smp.three_way_patch(
            {"list": [{"name": "a", "n": 1}]},
            {"list": [{"name": "b", "n": 1}]},
            {"list": [{"name": "c", "n": 1}]},
            schema,
            overwrite=False,
        )
    (conflict,) = caught.value.conflicts
    assert str(conflict.path) == "list[0].name"
    assert (conflict.ours, conflict.theirs, conflict.base) == ("b", "c", "a")


def test_without_ratchet_all_is_judged_and_only_changes_are_normalized() -> None:
    union: JSONObject = {
        "fields-to-discriminateBy": {"a": "A", "b": "B"},
        "profile": "kep1027-draft",
        "members": {"a": "A", "b": "B"},
    }
    items: JSONObject = {"fields": {"a": "string", "b": "string"}, "unions": [union]}
    schema = smp.Schema.inline({"fields": {"list": {"items": items}, "x": "string"}})
    live: JSONObject = {"list": [{"a": "1", "b": "1"}]}
    result = smp.three_way_apply({}, {"x": "y"}, live, schema, ratchet=False)
    assert result.object == {**live, "x": "y"}


def test_a_value_of_another_type_may_hold_unknown_fields() -> None:
    schema = smp.Schema.inline(
        {
            "fields": {"text": "string", "list": {"items": "string"}, "free": "any"},
            "values": "string",
        }
    )
    for patch, paths in [
        ({"text": {"$setElementOrder/x": [], "y": {}, "z": 1}}, ["text.y"]),
        ({"text": [{"y": {}}]}, ["text[0].y"]),
        ({"list": {"y": []}}, ["list.y"]),
        ({"free": [{"y": {}}]}, []),
        ({"$setElementOrder": {"y": {}}}, []),
    ]:
        as_json: JSONObject = json.loads(json.dumps(patch))
        warnings = unknown_field_warnings(as_json, schema)
        assert [str(warning.path) for warning in warnings] == paths


def test_unknown_fields_of_a_deep_patch_are_bounded() -> None:
    schema = smp.Schema.inline("#T", {"T": {"fields": {"t": "#T"}}})
    patch: JSONObject = {}
    for _ in range(1000):
        patch = {"t": patch}
    with pytest.raises(smp.DepthError):
        unknown_field_warnings(patch, schema)


def test_a_default_is_no_drift() -> None:
    schema = smp.kubernetes("1.36").schema("v1", "Pod")
    container: JSONObject = {
        "name": "app",
        "image": "app:2",
        "resources": {"limits": {"cpu": "1000m"}},
    }
    spec: JSONObject = {"hostNetwork": False, "containers": [container]}
    about: JSONObject = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web"},
    }
    before: JSONObject = {**about, "spec": {**spec, "dnsPolicy": "Default"}}
    modified: JSONObject = {**about, "spec": spec}

    # As a server stores what is created.
    live = smp.with_defaults(stored(before, schema), schema)
    again = smp.three_way_apply(before, before, live, schema, defaults=True)
    assert same(again.object, live)
    assert again.converged

    # What the configuration no longer has gets its default.
    result = smp.three_way_apply(before, modified, live, schema, defaults=True)
    assert as_object(result.object["spec"])["dnsPolicy"] == "ClusterFirst"
    assert result.converged


def test_templates_are_counted_of_the_built_in_kind_alone() -> None:
    spec: JSONObject = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version: JSONObject = {"name": "v1", "served": True, "storage": True}
    version["schema"] = {
        "openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}
    }
    names: JSONObject = {"plural": "daemonsets", "kind": "DaemonSet"}
    definition: JSONObject = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "spec": {"group": "apps.example.com", "names": names, "versions": [version]},
    }
    schema = smp.Catalog.from_crd(definition).schema("apps.example.com/v1", "DaemonSet")
    about: JSONObject = {"apiVersion": "apps.example.com/v1", "kind": "DaemonSet"}
    # As where it was copied from a built-in one.
    annotations: JSONObject = {"deprecated.daemonset.template.generation": "1"}
    metadata: JSONObject = {"name": "agent", "annotations": annotations}
    live: JSONObject = {**about, "metadata": metadata, "spec": {"template": {"a": 1}}}
    modified: JSONObject = {**live, "spec": {"template": {"a": 2}}}
    result = smp.three_way_apply(live, modified, live, schema, defaults=True)
    assert as_object(result.object["metadata"])["annotations"] == annotations


UNMET_STATUS: list[tuple[str, str, JSONObject, JSONObject, list[str]]] = [
    ("apps/v1", "Deployment", {}, {"status": {"replicas": 3}}, ["status.replicas"]),
    (
        "apps/v1",
        "Deployment",
        {"status": {"replicas": 2}},
        {"status": {"replicas": 3}},
        ["status.replicas"],
    ),
    (
        "apps/v1",
        "Deployment",
        {"status": {"replicas": 3}},
        {"status": {"replicas": 3}},
        [],
    ),
    ("apps/v1", "Deployment", {"status": {"replicas": 3}}, {"status": {}}, []),
    # What generators write asks for nothing, and is not written either.
    ("v1", "Service", {}, {"status": {"loadBalancer": {}}}, []),
    (
        "apps/v1",
        "Deployment",
        {"status": {"replicas": 3}},
        {"status": {"replicas": 0, "conditions": []}},
        [],
    ),
    (
        "storage.k8s.io/v1",
        "VolumeAttachment",
        {"status": {"attached": True}},
        {"status": {"attached": False}},
        [],
    ),
    ("v1", "Node", {}, {"status": {"phase": "Ready"}}, ["status.phase"]),
    (
        "certificates.k8s.io/v1",
        "CertificateSigningRequest",
        {"spec": {"request": "YQ==", "signerName": "a/b"}},
        {"spec": {"request": "YQ==", "signerName": "a/c"}},
        ["spec.signerName"],
    ),
]


def test_a_field_that_the_server_keeps_as_it_is_is_unmet() -> None:
    # Go: PrepareForUpdate of the strategies in pkg/registry.
    failures: list[object] = []
    for api_version, kind, live, modified, unmet in UNMET_STATUS:
        schema = smp.kubernetes().schema(api_version, kind)
        result = smp.three_way_apply(None, modified, live, schema)
        found = [str(path) for path in result.unmet]
        if found != unmet:
            failures.append((kind, modified, found))
        # The patch leads there, and nothing is predicted that no server stores.
        if "status" in live or "status" in "".join(unmet):
            assert same(as_object(result.object).get("status"), live.get("status"))
            assert "status" not in result.patch
        assert same(smp.apply_patch(live, result.patch, schema), result.object)
    assert not failures


SPEC_OF_THING: JSONObject = {
    "type": "object",
    "properties": {"a": {"type": "integer"}},
}


def test_a_status_is_dropped_where_the_definition_has_the_subresource() -> None:
    # Go: apiextensions-apiserver, customResourceStrategy.PrepareForUpdate.
    status: JSONObject = {"type": "object", "properties": {"b": {"type": "integer"}}}
    live: JSONObject = {"spec": {"a": 1}, "status": {"b": 1}}
    modified: JSONObject = {"spec": {"a": 2}, "status": {"b": 2}}
    rows: tuple[tuple[JSONObject, JSONObject, list[str]], ...] = (
        ({"status": {}}, {"b": 1}, ["status.b"]),
        ({}, {"b": 2}, []),
    )
    for subresources, kept, unmet in rows:
        version: JSONObject = {"name": "v1", "served": True, "storage": True}
        version["subresources"] = subresources
        properties: JSONObject = {"spec": SPEC_OF_THING, "status": status}
        version["schema"] = {
            "openAPIV3Schema": {"type": "object", "properties": properties}
        }
        names: JSONObject = {"plural": "things", "kind": "Thing"}
        definition: JSONObject = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "spec": {"group": "example.com", "names": names, "versions": [version]},
        }
        schema = smp.Catalog.from_crd(definition).schema("example.com/v1", "Thing")
        result = smp.three_way_apply(live, modified, live, schema)
        assert same(result.object, {"spec": {"a": 2}, "status": kept})
        assert [str(path) for path in result.unmet] == unmet
        assert merge_patch.apply(live, result.patch) == result.object


def test_a_server_side_apply_tells_of_a_status_that_the_server_drops() -> None:
    # As a kube-apiserver 1.36.3 stores them, without a Warning header.
    rows: tuple[tuple[str, str, JSONObject, str, JSON, list[str]], ...] = (
        ("apps/v1", "Deployment", {"replicas": 3}, "", {}, ["ignored-status"]),
        ("apps/v1", "Deployment", {"replicas": 3}, "status", {"replicas": 3}, []),
        ("apps/v1", "Deployment", {}, "", {}, []),
        # A kubelet registers its node and reports its status in one request.
        ("v1", "Node", {"phase": "Running"}, "", {"phase": "Running"}, []),
    )
    failures: list[object] = []
    for api_version, kind, status, subresource, kept, codes in rows:
        schema = smp.kubernetes().schema(api_version, kind)
        head: JSONObject = {"apiVersion": api_version, "kind": kind}
        head["metadata"] = {"name": "a"}
        sent: JSONObject = {**head, "status": status}
        # Over an object that is there, but for a creation through the main resource.
        live = None if kind == "Node" else head
        result = smp.server_side_apply(
            live, sent, schema, manager="m", subresource=subresource
        )
        stored_status = as_object(as_object(result.object).get("status"))
        found = [warning.code for warning in result.warnings]
        if not as_object(kept).items() <= stored_status.items() or found != codes:
            failures.append((kind, status, stored_status, found))
    assert not failures


def test_another_uid_or_version_is_refused() -> None:
    # As kube-apiserver 1.36.3 answers it: 409 for the version, 422 for the uid.
    schema = smp.kubernetes("1.36").schema("v1", "ConfigMap")
    metadata = {"name": "a", "resourceVersion": "5", "uid": "b"}
    live = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}

    def refused(**changed: str | None) -> list[str]:
        manifest = {**live, "metadata": {"name": "a", **changed}, "data": {"k": "v"}}
        result = smp.three_way_apply(None, manifest, live, schema)
        return [f"{each.code} {each.path}" for each in result.violations]

    assert refused(resourceVersion="4", uid="c") == [
        "field-immutable metadata.uid",
        "other-version metadata.resourceVersion",
    ]
    assert refused(resourceVersion="5", uid="b") == []
    assert refused(resourceVersion="") == []
    assert refused(resourceVersion="0") == []
    assert refused(resourceVersion=None) == []
    # What is stored is a version, whatever it is.
    metadata["resourceVersion"] = "0"
    assert refused(resourceVersion="4") == ["other-version metadata.resourceVersion"]
    assert refused(resourceVersion="0") == []


def test_an_apply_leaves_the_finalizers_of_a_namespace() -> None:
    # As kube-apiserver 1.36.3 answers it: only the subresource finalize changes them.
    schema = smp.kubernetes("1.36").schema("v1", "Namespace")
    metadata = {"name": "a"}
    live = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": metadata,
        "spec": {"finalizers": ["kubernetes"]},
    }
    manifest = {**live, "spec": {"finalizers": ["kubernetes", "example.com/b"]}}
    result = smp.three_way_apply(None, manifest, live, schema, defaults=True)
    assert result.object["spec"] == live["spec"]
    assert [*map(str, result.unmet)] == ["spec.finalizers"]


def test_what_was_allocated_takes_the_place_of_no_wrong_spec() -> None:
    schema = smp.kubernetes().schema("v1", "Service")
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}}
    live = {**service, "spec": {"type": "ClusterIP", "clusterIP": "10.0.0.1"}}
    for spec in ([1], "a", 1):
        result = smp.three_way_apply(None, {**service, "spec": spec}, live, schema)
        assert (result.object["spec"], result.unmet) == (spec, ())


@pytest.mark.parametrize("odd", ["x", None, [1], 5])
def test_what_a_service_lists_besides_ports_is_not_lost(odd: Any) -> None:
    """Node ports are kept where the ports are a list of objects alone."""
    schema = smp.kubernetes().schema("v1", "Service")
    port: JSONObject = {"port": 80, "protocol": "TCP"}
    spec: JSON = {"type": "NodePort", "ports": [port, odd]}
    former: JSON = {"type": "NodePort", "ports": [{**port, "nodePort": 30080}]}
    new: JSONObject = {"apiVersion": "v1", "kind": "Service", "spec": spec}
    kept = drop_by_strategy(new, schema, {**new, "spec": former})
    assert same(kept["spec"], spec)
