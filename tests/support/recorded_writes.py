"""Recorded sequences of writes, and what smp makes of each of them.

tests/record/apply_sequences.py recorded them, and tests/data/managed_fields/fields.json
describes the lines.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final, NamedTuple

import httpx

import smp
from smp._storage.conformance import ConformanceRule, conform
from smp._storage.typed_storage import stored
from smp._values.api_objects import drop_managed_fields
from smp._values.values import JSON, JSONObject, as_list, as_object, same
from smp.managed_fields import Serving
from smp.schema.model import Schema
from tests.support.differences import differences
from tests.support.makers.histories import definitions, subjects
from tests.support.makers.manifests import KINDS
from tests.support.makers.widgets import API_VERSIONS, crd
from tests.support.makers.writes import WIDGET

# A server writes them, and no write can.
_VOLATILE: Final = ("uid", "resourceVersion", "creationTimestamp", "generation")
_LARGE: Final = 1e21
_NOT_READY: Final = "node.kubernetes.io/not-ready"
_TEMPLATE_GENERATION: Final = "f:deprecated.daemonset.template.generation"
CLUSTER_SCOPED: Final = {
    name
    for kinds in (KINDS, subjects())
    for name, kind in kinds.items()
    if not kind.namespaced
}


BESIDES: Final[dict[str, tuple[str, ...]]] = {
    "DaemonSet": (r"metadata\.annotations(\.deprecated\.daemonset\..*)?",),
    "Job": (
        r"spec\.selector",
        r"spec\.template\.metadata\.labels(\..*)?",
        r"metadata\.labels(\.(batch\.kubernetes\.io/)?(controller-uid|job-name))?",
    ),
    "Namespace": (r"spec\.finalizers", r"status\.phase", r"metadata\.labels(\..*)?"),
    "PersistentVolume": (r"status\.lastPhaseTransitionTime", r"metadata\.finalizers"),
    "PersistentVolumeClaim": (r"metadata\.finalizers",),
    "Pod": (r"spec\.(priority|preemptionPolicy|tolerations)", r"status\..*"),
    "ResourceSlice": (r"spec\.devices\.\d+\.taints\.\d+\.timeAdded",),
    "Service": (
        r"spec\.(clusterIPs?|ipFamilies|ipFamilyPolicy)",
        r"spec\.(ports\.\d+\.nodePort|healthCheckNodePort)",
        r"spec\.(external|internal)TrafficPolicy",
        r"spec\.allocateLoadBalancerNodePorts",
    ),
}
"""What a server decides besides the write, by kind: allocated values, admission and
bookkeeping (docs/deviations.md)."""


class Step(NamedTuple):
    """A recorded write: the object before it, the request, the answer."""

    where: str
    kind: str
    record: dict[str, Any]
    live: JSONObject | None
    """The stored object before the write, in the version of the request."""
    now: datetime
    version: str
    """The minor version of the server."""

    @property
    def answer(self) -> JSONObject | None:
        answer: JSONObject | None = self.record.get("answer")
        return answer

    @property
    def after(self) -> JSONObject | None:
        """The object after the write, stored or not: a dry run answers it, too."""
        if self.record.get("subresource") == "scale":
            if "dry_run" in self.record:
                # The answer is a Scale, and nothing is stored.
                return None
            live = self.record.get("live", self.live)
            return live and {**live, "apiVersion": self.schema.api_version}
        return self.answer

    @property
    def schema(self) -> Schema:
        version = self.record.get("api_version", main_version(self.kind))
        return schema_of(version, self.kind, self.version)

    @property
    def serving(self) -> Serving:
        return serving_of(self.kind, self.schema.api_version, self.version)


def main_version(kind: str) -> str:
    """Return the version in which the stored object of a kind is recorded."""
    if kind == WIDGET:
        return API_VERSIONS[0]
    return subjects()[kind].main_version if kind in subjects() else KINDS[kind][0]


def is_custom(kind: str) -> bool:
    """Tell whether objects of a kind are custom resources."""
    return kind == WIDGET or (kind in subjects() and subjects()[kind].custom)


@cache
def serving_of(kind: str, api_version: str, version: str) -> Serving:
    """Return how the recorded server serves a kind."""
    if not is_custom(kind):
        return Serving(kubernetes=version)
    versions = API_VERSIONS if kind == WIDGET else [*subjects()[kind].versions]
    others = {
        each: schema_of(each, kind, version) for each in versions if each != api_version
    }
    has_status = kind == WIDGET or subjects()[kind].has_status
    return Serving(
        has_status,
        others,
        custom=True,
        kubernetes=version,
        storage=main_version(kind),
    )


@cache
def schema_of(api_version: str, kind: str, version: str) -> Schema:
    """Return the schema of a kind in the recordings."""
    if kind == WIDGET:
        return smp.Catalog.from_crd(crd()).schema(api_version, kind)
    if is_custom(kind):
        return smp.Catalog.from_crd(definitions()).schema(api_version, kind)
    return smp.kubernetes(".".join(version.split(".")[:2])).schema(api_version, kind)


def steps_of(
    number: int, sequence: dict[str, Any], version: str = "1.36"
) -> Iterator[Step]:
    """Yield the steps of a recorded sequence, from a server of a minor version."""
    kind = sequence["kind"]
    first_version = main_version(kind)
    live: JSONObject | None = None
    for at, recorded in enumerate(sequence["steps"]):
        record = {**recorded, "body": as_read(recorded["body"])}
        before = live
        if live is not None and "api_version" in record:
            before = {**live, "apiVersion": record["api_version"]}
            before = record.get("before", before)
        now = datetime(2024, 1, 1, 0, at, tzinfo=UTC)
        yield Step(f"{number}.{at}", kind, record, before, now, version)
        answer = record.get("answer")
        if "live" in record:
            live = record["live"]
        elif (
            answer is not None
            and "dry_run" not in record
            and (answer["kind"], answer["apiVersion"]) == (kind, first_version)
        ):
            live = answer


def as_read(value: JSON) -> Any:
    """Return a body as documents are read: 2.0 as 2, as a server prints it."""
    if isinstance(value, float) and value.is_integer() and abs(value) < _LARGE:
        return int(value)
    if isinstance(value, dict):
        return {name: as_read(member) for name, member in value.items()}
    if isinstance(value, list):
        return [as_read(element) for element in value]
    return value


def without_volatile(obj: JSONObject) -> JSONObject:
    """Return an object without what a server writes besides."""
    metadata = {**as_object(obj.get("metadata"))}
    for name in _VOLATILE:
        metadata.pop(name, None)
    return {**obj, "metadata": metadata}


def managed_fields(obj: JSONObject | None) -> JSON:
    """Return the managedFields of an object."""
    return as_object(as_object(obj).get("metadata")).get("managedFields")


# What a field manager refuses, and not what is behind it: validation, the storage.
FIELD_MANAGER: Final = (
    "Apply failed with ",
    "failed to create ",
    "failed to convert ",
    "failed to merge ",
    "failed to prune ",
    "invalid object type",
    "metadata.managedFields must be nil",
    # What another version takes for wrong in the live object.
    ".metadata.",
    ".spec.",
    # What is said of the preconditions in a configuration.
    "the object has been modified",
    "uid mismatch",
)


def problems_of(step: Step) -> list[str]:
    """Return in what smp differs from the server; nothing where it does not."""
    if step.record["verb"] == "apply":
        return _problems_of_apply(step)
    if step.record["verb"] == "delete":
        return []
    return _problems_of_update(step)


def _problems_of_apply(step: Step) -> list[str]:
    record = step.record
    refused = record.get("refused")
    expected = str(refused["message"]) if refused else ""
    if refused and refused["reason"] == "Conflict":
        # The library does not know how the resource is called.
        expected = re.sub(
            r'^Operation cannot be fulfilled on \S+ "\S*": ', "", expected
        )
    if not expected.startswith(FIELD_MANAGER):
        expected = ""
    try:
        result = smp.server_side_apply(
            step.live,
            record["body"],
            step.schema,
            manager=record["manager"],
            force=record.get("force", False),
            subresource=record.get("subresource", ""),
            profile="off",
            serving=step.serving,
            now=step.now,
        )
    except smp.SmpError as error:
        before = ("the name of the object", "the namespace of the")
        is_missing = record["code"] == httpx.codes.NOT_FOUND
        if refused and (is_missing or refused["message"].startswith(before)):
            # It is refused before a field manager sees it.
            return []
        # Go prints the members of a map in any order.
        if sorted(error.problem.split("\n")) == sorted(expected.split("\n")):
            return _problems_of_conflicts(error, record["refused"])
        return [f"error: {error.problem!r}, not {expected!r}"]
    if expected:
        return [f"accepted, not {expected!r}"]
    if refused or step.after is None:
        # What is behind the field manager refused it, or it is not recorded.
        return []
    found = object_problems(result.object, step.after, step.kind)
    changed = step.live is None or _version(step.answer) != _version(step.live)
    # An object without finalizers that is to be deleted is gone, and not written.
    is_gone = record.get("live", step.live) is None
    if (
        result.changed != changed
        and not found
        and not is_gone
        and "dry_run" not in record
    ):
        found.append(f"changed: {result.changed}")
    return found


def _version(obj: JSONObject | None) -> JSON:
    return as_object(as_object(obj)["metadata"]).get("resourceVersion")


def _problems_of_conflicts(error: smp.SmpError, refused: JSONObject) -> list[str]:
    if not isinstance(error, smp.ApplyConflictError):
        return []
    causes = [conflict.cause for conflict in error.conflicts]
    causes.sort(key=lambda cause: (str(cause["message"]), str(cause["field"])))
    return [] if causes == refused["causes"] else [f"causes: {causes}"]


def _problems_of_update(step: Step) -> list[str]:
    after = step.after
    if after is None or step.answer is None:
        return []
    record = step.record
    tracked = smp.managed_fields.track(
        step.live,
        _requested(step, after),
        step.schema,
        manager=record["manager"],
        subresource=record.get("subresource", ""),
        serving=step.serving,
        now=step.now,
    )
    return _entries_problems(tracked, after)


def _requested(step: Step, after: JSONObject) -> JSONObject:
    """Return the object that a write asks for, with the managedFields that it sent.

    It is the object after the write, but for what a server decides about built-in
    kinds after it has tracked the write, such as the address of a Service.
    """
    body = step.record["body"]
    verb = step.record["verb"]
    live = step.live
    is_whole = verb in {"create", "update"}
    requested = after
    if step.kind != WIDGET and step.record.get("subresource") != "scale":
        if is_whole:
            asked = body
        elif verb == "merge":
            asked = smp.merge_patch.apply(live, body)
        elif verb == "strategic":
            asked = smp.apply_patch(as_object(live), body, step.schema)
        else:
            asked = smp.json_patch.apply(live, _lenient(live, body))
        requested = decoded(as_object(asked), step.schema)
    sent: JSON = managed_fields(live)
    if is_whole:
        sent = managed_fields(body)
    elif verb == "json":
        for operation in body:
            if operation["path"] == "/metadata/managedFields":
                sent = operation["value"]
    elif "managedFields" in as_object(as_object(body).get("metadata")):
        sent = managed_fields(body)
    metadata = {**as_object(requested["metadata"])}
    metadata.pop("managedFields", None)
    if sent is not None:
        metadata["managedFields"] = sent
    return {**requested, "metadata": metadata}


def decoded(obj: JSONObject, schema: Schema) -> JSONObject:
    """Return an object of a built-in kind as a server decodes it, with its defaults."""
    # Go decodes a null in a map of texts to an empty text: it is no absent one.
    rule = ConformanceRule(prunes=True, keeps_nulls=True)
    known = conform(obj, None, schema, rule)
    named = {**known, "apiVersion": schema.api_version, "kind": schema.kind}
    return smp.with_defaults(stored(named, schema), schema)


def _lenient(live: JSON, operations: list[JSONObject]) -> list[JSONObject]:
    """Return a JSON Patch that adds a member that it is to replace, but that is absent.

    So does the library of a server (Go: evanphx/json-patch), though RFC 6902 forbids
    it.
    """
    lenient: list[JSONObject] = []
    for operation in operations:
        try:
            smp.json_patch.apply(live, [operation])
        except smp.SmpError:
            lenient.append({**operation, "op": "add"})
        else:
            lenient.append(operation)
    return lenient


def _without_bookkeeping(entries: JSON) -> JSON:
    """Return entries without the annotation that counts the templates of a DaemonSet.

    A server has it in its own types as a field, which it prints as an annotation.
    """
    if _TEMPLATE_GENERATION not in json.dumps(entries):
        return entries
    kept: list[JSON] = []
    for entry in map(as_object, as_list(entries)):
        fields = deepcopy(as_object(entry["fieldsV1"]))
        metadata = as_object(fields.get("f:metadata"))
        annotations = as_object(metadata.get("f:annotations"))
        if annotations.pop(_TEMPLATE_GENERATION, None) is not None:
            if annotations in ({}, {".": {}}):
                del metadata["f:annotations"]
            if not metadata:
                del fields["f:metadata"]
        if fields:
            kept.append({**entry, "fieldsV1": fields})
    return kept


def object_problems(found: JSONObject, after: JSONObject, kind: str) -> list[str]:
    """Return in what an object differs from the one that a server had."""
    result = _entries_problems(found, after)
    # A request names it in its URL.
    metadata = {"namespace": "default", **as_object(found.get("metadata"))}
    if kind in CLUSTER_SCOPED:
        del metadata["namespace"]
    ours = drop_managed_fields(without_volatile({**found, "metadata": metadata}))
    theirs = drop_managed_fields(without_volatile(after))
    if kind == "Node":
        # Its admission taints a new node.
        ours, theirs = _without_taint(ours), _without_taint(theirs)
    for each in differences(ours, theirs):
        path = ".".join(each.path)
        if not any(re.fullmatch(row, path) for row in BESIDES.get(kind, ())):
            result.append(f"object: {each}")
    return result


def _without_taint(node: JSONObject) -> JSONObject:
    spec = {**as_object(node.get("spec"))}
    taints = as_list(spec.pop("taints", None))
    left = [each for each in taints if as_object(each)["key"] != _NOT_READY]
    return {**node, "spec": {**spec, "taints": left} if left else spec}


def _entries_problems(ours: JSONObject, theirs: JSONObject) -> list[str]:
    found = _without_bookkeeping(managed_fields(ours))
    expected = _without_bookkeeping(managed_fields(theirs))
    if same(found, expected):
        return []
    return [f"managedFields: {found}\n   not {expected}"]
