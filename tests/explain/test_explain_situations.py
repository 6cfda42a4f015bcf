"""A situation for each code of a cause, and the page that lists them."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

import smp
from smp._values.values import ABSENT, JSON, JSONObject
from smp.errors import SmpError
from smp.explain import Cause, explain_apply
from smp.explain._causes import CAUSES, Remedy
from smp.hazards import HAZARDS
from tests.support.examples import python_examples, run_example
from tests.support.paths import DOCS

PAGE = DOCS / "causes.md"
CATALOG = smp.kubernetes()
API_VERSIONS = {"Deployment": "apps/v1", "StatefulSet": "apps/v1"}


class Situation(msgspec.Struct, frozen=True):
    """Three specs of one object, and the cause that a path has."""

    code: str
    path: str
    last_applied: dict[str, Any] | None
    manifest: dict[str, Any]
    live: dict[str, Any]
    kind: str = "Deployment"
    defaults: bool = False
    remedy: str = ""
    hazards: smp.hazards.Policy = "warn"

    def cause(self) -> Cause:
        schema = CATALOG.schema(API_VERSIONS.get(self.kind, "v1"), self.kind)
        last = None if self.last_applied is None else self.object(self.last_applied)
        causes = explain_apply(
            last,
            self.object(self.manifest),
            self.object(self.live),
            schema,
            defaults=self.defaults,
            unknown_fields="merge",
            hazards=self.hazards,
        )
        found = [cause for cause in causes if str(cause.path) == self.path]
        codes = [cause.code for cause in found]
        assert self.code in codes, [(str(c.path), c.code) for c in causes]
        return found[codes.index(self.code)]

    def object(self, content: dict[str, Any]) -> JSONObject:
        obj: JSONObject = {
            "apiVersion": API_VERSIONS.get(self.kind, "v1"),
            "kind": self.kind,
            "metadata": {"name": "web", **content.get("metadata", {})},
        }
        for name in ("spec", "data", "status"):
            if name in content:
                obj[name] = content[name]
        return obj


def spec(**fields: Any) -> dict[str, Any]:
    return {"spec": fields}


def containers(*elements: dict[str, Any]) -> dict[str, Any]:
    return spec(template={"spec": {"containers": [*elements]}})


def ports(*elements: dict[str, Any]) -> dict[str, Any]:
    return spec(ports=[*elements])


APP = {"name": "app", "image": "web:1"}
MANAGED = [
    {
        "manager": "kubelet",
        "operation": "Update",
        "apiVersion": "apps/v1",
        "time": "2026-01-02T03:04:05Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:paused": {}}},
    }
]
UDP = {"port": 53, "protocol": "UDP", "name": "dns"}
HTTP = {"port": 80, "protocol": "TCP", "name": "http"}
TCP = {"port": 53, "protocol": "TCP", "name": "dns-tcp"}
KEEP = "to keep it, put it into the manifest"
NULL = "to remove it, set it to null in the manifest"
FORGET = (
    "to leave it to others, take it out of the manifest and out of the last-applied "
    "configuration"
)
REPLACE = (
    "replace the object (kubectl replace), which loses all that is only in the live "
    "object"
)
ROLLING = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
SITUATIONS = [
    Situation("set", "spec.paused", spec(), spec(paused=True), spec()),
    Situation(
        "overwritten",
        "spec.minReadySeconds",
        spec(minReadySeconds=1),
        spec(minReadySeconds=1),
        spec(minReadySeconds=9),
        remedy=FORGET,
    ),
    Situation(
        "overwrites-controller",
        "spec.replicas",
        spec(replicas=2),
        spec(replicas=2),
        spec(replicas=5),
        remedy=FORGET,
    ),
    Situation(
        "deleted-by-null",
        "spec.paused",
        spec(),
        spec(paused=None),
        spec(paused=True),
        remedy="to keep it, take the null out of the manifest",
    ),
    Situation(
        "pruned",
        "spec.paused",
        spec(paused=True),
        spec(),
        spec(paused=True),
        remedy=KEEP,
    ),
    Situation("equal", "spec.paused", None, spec(paused=True), spec(paused=True)),
    Situation("already-gone", "spec.paused", spec(paused=True), spec(), spec()),
    Situation(
        "live-only", "spec.paused", spec(), spec(), spec(paused=True), remedy=NULL
    ),
    Situation(
        "live-only",
        "spec.template.spec.containers[name=sidecar]",
        containers(APP),
        containers(APP),
        containers(APP, {"name": "sidecar", "image": "proxy"}),
        remedy="to remove it, add it to the last-applied configuration",
    ),
    Situation(
        "owned-by-others",
        "spec.paused",
        spec(),
        spec(),
        {**spec(paused=True), "metadata": {"managedFields": MANAGED}},
        remedy=NULL,
    ),
    Situation("server-set", "status", spec(), spec(), {"status": {"replicas": 1}}),
    Situation(
        "server-default",
        "spec.revisionHistoryLimit",
        spec(),
        spec(),
        spec(revisionHistoryLimit=10),
    ),
    Situation(
        "allocated",
        "spec.clusterIP",
        spec(),
        spec(),
        spec(clusterIP="10.0.0.7"),
        kind="Service",
    ),
    Situation(
        "last-applied-annotation",
        "metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]",
        {"metadata": {"annotations": {}}},
        {"metadata": {"annotations": {}}},
        {
            "metadata": {
                "annotations": {
                    "kubectl.kubernetes.io/last-applied-configuration": "{}\n"
                }
            }
        },
    ),
    Situation(
        "retain-keys",
        "spec.strategy.rollingUpdate",
        spec(strategy={"type": "RollingUpdate"}),
        spec(strategy={"type": "Recreate"}),
        spec(strategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}),
    ),
    Situation(
        "union",
        "spec.updateStrategy.rollingUpdate",
        spec(),
        spec(updateStrategy={"type": "OnDelete"}),
        spec(updateStrategy=ROLLING),
        kind="StatefulSet",
    ),
    Situation(
        "lost-with-parent",
        "spec.template.spec.containers[name=app].resources.limits.memory",
        containers({**APP, "resources": {"limits": {"cpu": "1"}}}),
        containers(APP),
        containers({**APP, "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}),
        remedy=KEEP,
    ),
    Situation(
        "lost-in-list",
        "spec.template.spec.containers[name=app].args",
        containers({**APP, "args": ["a"]}),
        containers({**APP, "args": ["a", "b"]}),
        containers({**APP, "args": ["a", "injected"]}),
        remedy="to keep it, put it into the list in the manifest",
    ),
    Situation(
        "lost-by-ambiguous-key",
        "spec.ports[port=53,protocol=UDP]",
        ports(HTTP, TCP),
        ports(HTTP),
        ports(HTTP, TCP, UDP),
        kind="Service",
    ),
    Situation(
        "removed-by-repair",
        "spec.ports[port=8080]",
        ports(),
        ports(HTTP),
        ports({**HTTP, "port": 8080}),
        kind="Service",
        hazards="repair",
    ),
    Situation(
        "changed-by-ambiguous-key",
        "spec.ports[port=53,protocol=UDP].targetPort",
        ports(TCP),
        ports({**TCP, "targetPort": 53}),
        ports(UDP, TCP),
        kind="Service",
        remedy=f"to keep it, {REPLACE}",
    ),
    Situation(
        "repeated-key",
        "spec.ports[port=53,protocol=TCP].targetPort",
        ports(TCP),
        ports({**TCP, "targetPort": 53}),
        ports(UDP, TCP),
        kind="Service",
        remedy=f"to get it, {REPLACE}",
    ),
    Situation(
        "deleted-by-repeated-key",
        "spec.ports[port=53,protocol=TCP]",
        ports(TCP, UDP),
        ports(TCP),
        ports(TCP, UDP),
        kind="Service",
        remedy=f"to get it, {REPLACE}",
    ),
    Situation(
        "never-applied",
        "spec.paused",
        None,
        spec(),
        spec(paused=True),
        remedy=NULL,
    ),
    Situation(
        "nulls",
        "spec.template.spec.tolerations",
        spec(),
        spec(template={"spec": {"tolerations": [{"key": "a", "value": None}]}}),
        spec(),
        remedy="write it in the manifest as the server stores it",
    ),
    Situation(
        "matched-by-key",
        "spec.template.spec.containers[name=app]",
        containers(APP),
        containers({**APP, "image": "web:2"}),
        containers({**APP, "imagePullPolicy": "Always"}),
    ),
    Situation(
        "element-order",
        "spec.template.spec.containers",
        containers(APP, {"name": "b", "image": "b"}),
        containers({"name": "b", "image": "b"}, APP),
        containers(APP, {"name": "b", "image": "b"}),
    ),
    Situation(
        "zero-value",
        "spec.paused",
        spec(),
        spec(paused=False),
        spec(),
        defaults=True,
        remedy="leave it out of the manifest: the server stores the same",
    ),
    Situation(
        "canonical",
        "spec.template.spec.containers[name=app].resources.limits.cpu",
        containers(APP),
        containers({**APP, "resources": {"limits": {"cpu": "1000m"}}}),
        containers(APP),
        defaults=True,
        remedy="write it in the manifest as the server stores it",
    ),
    Situation(
        "filled-in",
        "spec.revisionHistoryLimit",
        spec(),
        spec(paused=True),
        spec(),
        defaults=True,
    ),
    Situation("nothing-to-delete", "spec.paused", spec(), spec(paused=None), spec()),
]


@pytest.mark.parametrize(
    "situation", SITUATIONS, ids=[f"{each.code} {each.path}" for each in SITUATIONS]
)
def test_a_path_has_the_cause(situation: Situation) -> None:
    cause = situation.cause()
    assert cause.sentence
    assert "{" not in cause.sentence + cause.rule
    assert (cause.remedy.sentence if cause.remedy else "") == situation.remedy


# No input is known that leads to these with the engine as it is.
UNREACHED = {"not-as-asked", "not-pruned", "unknown-field"}


# That of a server-side apply (tests/cli/test_cli_server_side.py).
OF_SERVER_SIDE_APPLY = {"conflict"}


def test_each_code_has_a_situation() -> None:
    found = {each.code for each in SITUATIONS}
    assert found | UNREACHED | OF_SERVER_SIDE_APPLY == {*CAUSES}


def test_the_page_lists_each_code() -> None:
    text = PAGE.read_text()
    assert [code for code in CAUSES if f"`{code}`" not in text] == []


def test_the_examples_of_the_page_run() -> None:
    # The first of them has what the others begin with.
    run_example("\n".join(python_examples(PAGE)), "causes.md")


def test_the_owner_is_named_with_its_operation_and_time() -> None:
    (situation,) = [each for each in SITUATIONS if each.code == "owned-by-others"]
    assert "kubelet (Update since 2026-01-02T03:04:05Z)" in situation.cause().sentence


def test_what_cannot_be_applied_cannot_be_explained() -> None:
    schema = CATALOG.schema("v1", "ConfigMap")
    with pytest.raises(SmpError):
        explain_apply(
            None, {"metadata": {"name": "b"}}, {"metadata": {"name": "a"}}, schema
        )


def test_a_repaired_apply_is_explained_as_what_it_is() -> None:
    schema = smp.kubernetes().schema("v1", "Service")
    metadata: JSON = {"name": "web"}
    tcp: JSON = {"port": 53, "protocol": "TCP"}
    udp: JSON = {"port": 53, "protocol": "UDP"}

    def service(*ports: JSON) -> JSONObject:
        return {"metadata": metadata, "spec": {"ports": [*ports]}}

    inputs = (service(tcp), service(), service(tcp, udp), schema)
    gone = [cause for cause in explain_apply(*inputs) if cause.after is ABSENT]
    assert "lost-by-ambiguous-key" in [cause.code for cause in gone]
    repaired = explain_apply(*inputs, hazards="repair")
    assert [cause.before for cause in repaired if cause.after is ABSENT] == [tcp]
    with pytest.raises(smp.HazardError):
        explain_apply(*inputs, hazards="error")


def test_each_report_of_users_is_answered() -> None:
    """By codes that there are, or by a page."""
    section = PAGE.read_text().split("## What users have reported")[1].split("## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")][1:]
    assert len(rows) == 16
    for row in rows:
        _, _report, causes, hazards, _ = row.split("|")
        for code in re.findall(r"`([a-z-]+)`", causes):
            assert code in CAUSES, row
        codes = re.findall(r"`([a-z]+(?:-[a-z]+)+)`", hazards)
        assert {*codes} <= {*HAZARDS}, row
        pages = re.findall(r"\]\(([a-z_]+\.md)\)", hazards)
        assert codes or pages, row
        assert all((DOCS / page).exists() for page in pages), row


def test_only_the_causes_that_are_wanted_are_explained() -> None:
    schema = CATALOG.schema("apps/v1", "Deployment")
    versions: list[JSONObject] = []
    # The keys of the tolerations, by the number of replicas.
    for count, keys in ((1, "a"), (2, "b"), (3, "ac")):
        tolerations: JSON = [{"key": key} for key in keys]
        pod: JSONObject = {"spec": {"tolerations": tolerations}}
        spec: JSONObject = {"replicas": count, "template": pod}
        metadata: JSONObject = {"name": "web", "labels": {"a": str(count)}}
        versions.append({"metadata": metadata, "spec": spec})
    last, manifest, live = versions
    every = explain_apply(last, manifest, live, schema)
    codes = {cause.code for cause in every}
    assert {"overwritten", "overwrites-controller", "lost-in-list"} <= codes
    for code in codes:

        def is_wanted(_path: smp.Path, found: str, wanted: str = code) -> bool:
            return found == wanted

        some = explain_apply(last, manifest, live, schema, shows=is_wanted)
        assert some == tuple(cause for cause in every if cause.code == code)


def test_a_cause_far_down_is_found_where_there_is_no_room_to_try_a_remedy() -> None:
    node: JSONObject = {"fields": {"v": "string", "m": "#Node"}}
    schema = smp.Schema.inline(node, {"Node": node})
    versions: list[JSONObject] = [{"v": "1"}, {"v": "2"}, {"v": "3"}]
    # An apply of the whole object takes four frames for each level.
    for _ in range(205):
        versions = [{"m": version} for version in versions]
    last, manifest, live = versions
    causes = explain_apply(last, manifest, live, schema)
    assert [cause.code for cause in causes] == ["overwritten"]


def test_no_replace_is_proposed_that_a_server_refuses() -> None:
    [repeated] = [each for each in SITUATIONS if each.code == "repeated-key"]
    assert isinstance(repeated.cause().remedy, Remedy)
    for name in ("uid", "resourceVersion"):
        live = {**repeated.live, "metadata": {name: "5"}}
        manifest = {**repeated.manifest, "metadata": {name: "4"}}
        other = msgspec.structs.replace(repeated, live=live, manifest=manifest)
        assert other.cause().remedy is None
