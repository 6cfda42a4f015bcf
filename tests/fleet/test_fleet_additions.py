"""Fields that were added by hand, by the managers that a server has written down."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from smp import fleet
from smp._values.values import JSON, JSONObject
from smp.comparison import Rules, read_rules
from tests.support.paths import DATA

TIME = "2026-01-02T03:04:05Z"
MANIFEST: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {
                "containers": [
                    {"name": "a", "image": "a:1", "ports": [{"containerPort": 80}]}
                ]
            },
        },
    },
}


def fields_of_containers(*containers: tuple[str, JSONObject]) -> JSONObject:
    """Return fieldsV1 with what is owned of some containers."""
    found: JSONObject = {
        f'k:{{"name":"{name}"}}': fields for name, fields in containers
    }
    template: JSONObject = {"f:spec": {"f:containers": found}}
    return {"f:spec": {"f:template": template}}


def entry(manager: str, fields: JSONObject, **more: str) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
        "manager": manager,
        "operation": "Update",
        "time": TIME,
        **more,
    }


# As a server (1.36) writes it down for kubectl apply.
APPLIED = entry(
    "kubectl-client-side-apply",
    {
        "f:spec": {
            "f:replicas": {},
            "f:selector": {},
            "f:template": {
                "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
                "f:spec": {
                    "f:containers": {
                        'k:{"name":"a"}': {
                            ".": {},
                            "f:image": {},
                            "f:imagePullPolicy": {},
                            "f:name": {},
                            "f:ports": {
                                ".": {},
                                'k:{"containerPort":80,"protocol":"TCP"}': {
                                    ".": {},
                                    "f:containerPort": {},
                                    "f:protocol": {},
                                },
                            },
                        }
                    }
                },
            },
        }
    },
)
PRIVILEGED: JSONObject = {"f:securityContext": {".": {}, "f:privileged": {}}}


def live_with(
    *entries: dict[str, Any], image: str = "a:1", **more: Any
) -> dict[str, Any]:
    """Return the live object, with what is added to its container."""
    live: dict[str, Any] = json.loads(json.dumps(MANIFEST))
    live["metadata"] |= {"uid": "1", "managedFields": [APPLIED, *entries]}
    live["spec"]["replicas"] = 1
    [container] = live["spec"]["template"]["spec"]["containers"]
    container |= {"imagePullPolicy": "IfNotPresent", **more, "image": image}
    container["ports"][0]["protocol"] = "TCP"
    return live


def compared(
    live: JSONObject,
    manifest: JSONObject = MANIFEST,
    *,
    rules: Rules | None = None,
    additions: bool = True,
) -> dict[str, Any]:
    names = ("cluster", "group", "version", "kind", "namespace", "name")
    pair: dict[str, Any] = dict.fromkeys(names, "")
    pair |= {"desired": json.dumps(manifest), "live": json.dumps(live)}
    batch = pa.RecordBatch.from_pylist([pair])
    [row] = fleet.compare(
        batch, rules=rules or Rules(()), additions=additions
    ).to_pylist()
    found: dict[str, Any] = row
    return found


def test_what_was_added_by_hand_is_named_on_request() -> None:
    by_hand = entry("kubectl-edit", fields_of_containers(("a", PRIVILEGED)))
    live = live_with(by_hand, securityContext={"privileged": True})
    # No apply changes it, so it is no drift.
    assert compared(live, additions=False)["verdict"] == "same"
    row = compared(live)
    container = "spec.template.spec.containers[name=a]"
    assert row["verdict"] == "extra-fields"
    assert row["paths"] == [f"{container}.securityContext"]
    assert row["causes"] == ["extra-fields"]
    assert row["managers"] == [f"kubectl-edit Update {TIME}"]
    assert (row["patch"], row["heals"]) == (None, None)
    # What drifted as well has both.
    changed = live_with(by_hand, image="b:1", securityContext={"privileged": True})
    row = compared(changed)
    assert row["verdict"] == "drift"
    assert row["paths"] == [f"{container}.image", f"{container}.securityContext"]
    assert row["causes"][1:] == ["extra-fields"]
    rules = read_rules(
        "version: 1\nrules:\n- reason: known\n  managers: [kubectl-edit]\n"
        "  paths: [spec.template.spec.containers]\n"
    )
    assert compared(live, rules=rules)["verdict"] == "same"


def test_what_cannot_be_read_of_managers_is_an_error_of_its_row() -> None:
    """Nobody knows what was added, and a server that decodes them would refuse them."""
    by_hand = entry("kubectl-edit", fields_of_containers(("a", PRIVILEGED)))
    failures: list[object] = []
    managers: tuple[JSON, ...] = (
        {},
        "kubectl-edit",
        [7],
        [{**by_hand, "fieldsV1": "f:spec"}],
        [{**by_hand, "fieldsV1": {"f:spec": []}}],
        [{**by_hand, "fieldsV1": {"spec": {}}}],
        [{**by_hand, "fieldsType": "FieldsV9"}],
    )
    for broken in managers:
        live = live_with(securityContext={"privileged": True})
        live["metadata"]["managedFields"] = broken
        row = compared(live)
        if row["verdict"] != "unreadable" or "managedFields" not in row["error"]:
            failures.append((broken, row["verdict"], row["error"]))
        # What drifted is known without them.
        changed = live_with(image="b:1")
        changed["metadata"]["managedFields"] = broken
        verdicts = compared(changed)["verdict"], compared(live, additions=False)
        if (verdicts[0], verdicts[1]["verdict"]) != ("drift", "same"):
            failures.append((broken, verdicts))
    assert failures == []
    # Whoever it was, the field was added.
    for name in ("time", "manager"):
        live["metadata"]["managedFields"] = [{**by_hand, name: 7}]
        assert compared(live)["verdict"] == "extra-fields"


def test_only_what_strangers_have_set_and_no_manifest_has_counts() -> None:
    fields = fields_of_containers(("a", PRIVILEGED))
    added: dict[str, Any] = {"securityContext": {"privileged": True}}
    image = fields_of_containers(("a", {"f:image": {}}))
    ported = fields_of_containers(
        (
            "a",
            {
                "f:ports": {
                    'k:{"containerPort":80,"protocol":"TCP"}': {
                        ".": {},
                        "f:protocol": {},
                    }
                }
            },
        )
    )
    sidecar = {"name": "debug", "image": "d:1"}
    debug = fields_of_containers(
        ("debug", {".": {}, "f:name": {}, "f:image": {}, "f:resources": {}})
    )
    with_sidecar = live_with(entry("kubectl-patch", debug))
    with_sidecar["spec"]["template"]["spec"]["containers"].append(sidecar)
    applied = fields_of_containers(("a", {".": {}, "f:name": {}, **PRIVILEGED}))
    cases: dict[str, tuple[JSONObject, str]] = {
        "unknown": (live_with(entry("mystery", fields), **added), "extra-fields"),
        "controller": (
            live_with(entry("kube-controller-manager", fields), **added),
            "same",
        ),
        "almost its name": (
            live_with(entry("kube-controller", fields), **added),
            "extra-fields",
        ),
        "applier": (live_with(entry("argocd-controller", fields), **added), "same"),
        "applies the manifest": (
            live_with(entry("mine", applied, operation="Apply"), **added),
            "same",
        ),
        "applies something else": (
            live_with(entry("mine", fields, operation="Apply"), **added),
            "extra-fields",
        ),
        "status": (
            live_with(entry("mystery", fields, subresource="status"), **added),
            "same",
        ),
        "gone by now": (live_with(entry("kubectl-edit", fields)), "same"),
        "the manifest's value": (live_with(entry("kubectl-edit", image)), "same"),
        "the manifest's port": (live_with(entry("kubectl-edit", ported)), "same"),
        "container": (with_sidecar, "extra-fields"),
        "nobody": (live_with(**added), "same"),
    }
    found = {name: compared(live)["verdict"] for name, (live, _) in cases.items()}
    assert found == {name: verdict for name, (_, verdict) in cases.items()}
    assert compared(with_sidecar)["paths"] == [
        "spec.template.spec.containers[name=debug]"
    ]


def test_what_kubectl_added_on_a_real_server_is_found() -> None:
    recorded = json.loads((DATA / "fleet" / "additions.json").read_text())
    live = {each["metadata"]["name"]: each for each in recorded["live"]}
    pod, container = "spec.template.spec", "spec.template.spec.containers[name=a]"
    patched = {
        f"{container}.securityContext": "kubectl-patch",
        f"{pod}.hostNetwork": "kubectl-patch",
    }
    # What each command of kubectl was told to add, and a server adds with it.
    added = {
        "web": {**patched, "spec.replicas": "kubectl"},
        "ssa": {**patched, "spec.template.metadata.annotations": "kubectl-rollout"},
        "created": {"metadata.labels": "kubectl-label"},
        "clean": {},
        "cm": {"data.b": "kubectl-patch"},
        "s": {
            "spec.ports[port=80].targetPort": "kubectl-patch",
            "spec.sessionAffinity": "kubectl-patch",
            "spec.sessionAffinityConfig": "kubectl-patch",
        },
    }
    found = {}
    for manifest in recorded["desired"]:
        name = manifest["metadata"]["name"]
        assert compared(live[name], manifest, additions=False)["verdict"] == "same"
        row = compared(live[name], manifest)
        managers = [manager.split()[0] for manager in row["managers"]]
        found[name] = dict(zip(row["paths"], managers, strict=True))
    assert found == added
