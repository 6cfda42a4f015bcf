"""One situation of an apply, played on an API server by kubectl or by a Cluster."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import httpx
import msgspec

from smp._values.values import JSON, JSONObject, as_object
from smp.cluster import Cluster
from smp.cluster.plan.apply import Run
from smp.cluster.plan.failures import ApiError
from smp.errors import SmpError
from tests.support.cluster_proxy import Exchange, Fault, RecordingProxy
from tests.support.cluster_situations import Situation
from tests.support.kubectl import kubectl_path

# What differs between two objects of one name, and between two writes.
_OF_THE_SERVER: Final = {
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "time",
    "lastTransitionTime",
    "lastPhaseTransitionTime",
    "deletionTimestamp",
}
_ALLOCATED: Final = {
    "clusterIP",
    "clusterIPs",
    "nodePort",
    "healthCheckNodePort",
    "webhookClientConfig",
}
# Jobs have it in labels, too.
_UID: Final = re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_LOGGED: Final = re.compile(r"[IWE]\d{4} ")
_WITHOUT_FINALIZERS: Final = '{"metadata":{"finalizers":null}}'
_PATIENCE: Final = 60  # seconds
# What kubectl warns of in its own words, and the codes of these warnings here.
_WARNINGS: Final = {
    "is missing the kubectl.kubernetes.io/last-applied-configuration": (
        "no-last-applied"
    ),
    "Detected changes to resource": "being-deleted",
    "failed to migrate": "not-migrated",
    "server rejected managed fields migration": "not-migrated",
    "failed to re-apply configuration": "not-migrated",
}
# Errors of kubectl itself, which has longer texts for them, and their codes here.
_OWN_ERRORS: Final = {
    "conflicts with changes made from original to current": "conflict",
    "invalid JSON document": "invalid-json",
    "does not contain declared merge key": "missing-merge-key",
    "no objects passed to apply": "empty-document",
    "invalid object to validate": "not-an-object",
    "unable to decode": "not-a-string",
    "Server-side apply not available": "unsupported-media-type",
    "context deadline exceeded": "timeout",
    "kind not set": "missing-kind",
    "apiVersion not set": "missing-kind",
    "error converting YAML to JSON": "invalid-yaml",
    "is not a list: no Items field": "not-an-object",
}
# Where kubectl looks for it, and what it advises.
_CONTEXT: Final = re.compile(
    r'resource mapping not found for name: "[^"]*" namespace: "[^"]*" from "[^"]*": '
    r"|\nensure CRDs are installed first"
)
# What a server warns of where kubectl lists kinds, to prune them.
_OF_LISTS: Final = "Warning: v1 Endpoints is deprecated"
_VOLATILE: Final = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r'("resourceVersion":)"\d+"', r'\1"0"'),
        (r'("path":"/metadata/resourceVersion","value":)"\d+"', r'\1"0"'),
        (r'"time":"[^"]*"', '"time":""'),
        (r'"uid":"[0-9a-f-]{36}"', '"uid":""'),
        (r'"creationTimestamp":"[^"]*"', '"creationTimestamp":""'),
        (r'"10\.\d+\.\d+\.\d+"', '"(address)"'),
    )
)
# The names of what was applied, and of its file, which stand before an error.
_ABOUT: Final = re.compile(
    r"error when applying patch:\n.*?\nfor: \"[^\"]*\": "
    r"|error when retrieving current configuration of:\n"
    r".*?\nfrom [a-z ]*for: \"[^\"]*\": "
    r"|error when [a-z ]+ \"[^\"\n]*\": ",
    re.DOTALL,
)


class Sent(msgspec.Struct, frozen=True, array_like=True):
    """A write, for comparison.

    ``body`` has its keys in order, numbers as they are written, and ``size`` is the
    number of its bytes: bodies that are equal in both differ in the order of keys only.
    """

    method: str
    path: str
    query: list[tuple[str, str]]
    content_type: str
    body: str
    size: int


class Outcome(msgspec.Struct, frozen=True):
    """What one apply sent, what was printed of it, and whether it failed.

    ``sent`` has the writes. ``errors`` are the lines of the errors without the names of
    files, and the warnings: those of the server as they are, others by their codes.
    """

    sent: list[Sent]
    lines: list[str]
    errors: list[str]
    failed: bool


class Played(msgspec.Struct, frozen=True):
    """The outcomes of the applies of a situation, and the objects at its end."""

    outcomes: list[Outcome]
    objects: dict[str, Any]


# Applies the manifests of a step: what was printed, the errors, whether it failed.
Apply = Callable[[dict[str, Any]], tuple[list[str], list[str], bool]]


def played(
    situation: Situation, proxy: RecordingProxy, apply: Apply
) -> tuple[Played, list[list[Exchange]]]:
    """Play a situation on a server, and leave nothing behind.

    Returns what was played, and the exchanges of each apply.
    """
    outcomes = []
    recorded = []
    touched: dict[str, None] = {}
    try:
        for step in situation.steps:
            proxy.taken()
            proxy.faults = [Fault(**fault) for fault in step.get("faults", ())]
            if "apply" not in step and "text" not in step:
                change(proxy.client, step, touched)
                continue
            lines, errors, failed = apply(step)
            proxy.faults = []
            exchanges = proxy.taken()
            sent = [each for each in exchanges if each.is_write]
            touched.update(dict.fromkeys(filter(None, map(_object_path, sent))))
            outcomes.append(
                Outcome([*map(essence, sent)], sorted(lines), sorted(errors), failed)
            )
            recorded.append(exchanges)
        objects = {path: _read(proxy.client, path) for path in touched}
    finally:
        _tidy(proxy.client, touched)
    return Played(outcomes, objects), recorded


def change(web: httpx.Client, step: dict[str, Any], touched: dict[str, None]) -> None:
    """Do what another client does, directly at the server."""
    if "others" in step:
        # What it makes is deleted at the end.
        made = step["others"](web)
        if made:
            touched[made] = None
        return
    if "served" in step:
        _until_served(web, step["served"])
        return
    method = next(name for name in ("patch", "post", "put", "delete") if name in step)
    change = step[method]
    type_ = "json"
    if method == "patch":
        type_ = f"{change.get('type', 'strategic-merge')}-patch+json"
    answer = web.request(
        method,
        change["path"],
        params={"fieldManager": change.get("manager", "others")},
        content=json.dumps(change.get("body", {})),
        headers={"Content-Type": f"application/{type_}"},
    )
    assert answer.is_success, (change, answer.text)
    if method == "post":
        touched[f"{change['path']}/{change['body']['metadata']['name']}"] = None


def _until_served(web: httpx.Client, group_version: str) -> None:
    """Wait until kubectl finds a new kind, and its schema."""
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        listed = web.get(f"/apis/{group_version}")
        paths = web.get("/openapi/v3").json()["paths"]
        if listed.is_success and f"apis/{group_version}" in paths:
            document = web.get(paths[f"apis/{group_version}"]["serverRelativeURL"])
            if "fieldValidation" in document.text:
                return
        time.sleep(0.1)
    raise TimeoutError(group_version)


def essence(sent: Exchange) -> Sent:
    """Return what is compared of a request."""
    # kubectl ends some bodies with a line break.
    text = sent.body.decode().removesuffix("\n")
    # What a server has put into an object differs each time.
    for pattern, replacement in _VOLATILE:
        text = pattern.sub(replacement, text)
    body = ""
    if text:
        value = json.loads(text, parse_float=_as_written, parse_int=_as_written)
        body = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return Sent(
        sent.method,
        sent.path,
        sorted(sent.query),
        sent.content_type,
        body,
        len(text.encode()),
    )


def _as_written(number: str) -> JSON:
    return {"number": number}


def _object_path(sent: Exchange) -> str:
    """Return the path of the object that was written; empty for a dry run."""
    if ("dryRun", "All") in sent.query or sent.status >= httpx.codes.BAD_REQUEST:
        return ""
    if sent.method != "POST":
        return sent.path
    name = msgspec.json.decode(sent.answer)["metadata"]["name"]
    return f"{sent.path}/{name}"


def _read(web: httpx.Client, path: str) -> JSON:
    answer = web.get(path)
    if answer.status_code == httpx.codes.NOT_FOUND:
        return None
    return comparable(answer.json())


def _tidy(web: httpx.Client, touched: Iterable[str]) -> None:
    """Delete objects, the last one first, and wait until they are gone."""
    merge = {"Content-Type": "application/merge-patch+json"}
    for path in reversed([*touched]):
        answer = web.delete(path, params={"gracePeriodSeconds": "0"})
        deadline = time.monotonic() + _PATIENCE
        while answer.status_code != httpx.codes.NOT_FOUND:
            assert time.monotonic() < deadline, path
            # No controller runs that would remove these.
            if "customresourcedefinitions" not in path:
                web.patch(path, content=_WITHOUT_FINALIZERS, headers=merge)
            live = web.get(path)
            if re.fullmatch(r"/api/v1/namespaces/[^/]+", path) and live.is_success:
                bare = {**live.json(), "spec": {"finalizers": []}}
                web.put(f"{path}/finalize", json=bare)
            answer = web.get(path)


def comparable(value: JSON) -> JSON:
    """Leave out what differs between two servers, and from write to write."""
    if isinstance(value, dict):
        return {
            name: comparable(member)
            for name, member in value.items()
            if name not in _OF_THE_SERVER
            and (name not in _ALLOCATED or member == "None")
        }
    if isinstance(value, list):
        elements = [comparable(element) for element in value]
        # The entries of managedFields are in the order of their times.
        if any("fieldsV1" in as_object(element) for element in elements):
            elements.sort(key=repr)
        return elements
    return _UID.sub("(uid)", value) if isinstance(value, str) else value


def kubectl_apply(proxy: RecordingProxy, folder: Path) -> Apply:
    """Return what applies with the real kubectl, whose files are in a folder."""
    config = folder / "kubeconfig"
    config.write_text(json.dumps(kubeconfig(proxy.url)))
    environment = {
        "HOME": str(folder),
        "PATH": os.defpath,
        "KUBECTL_APPLYSET": "true",
        "KUBECONFIG": str(config),
    }

    def apply(step: dict[str, Any]) -> tuple[list[str], list[str], bool]:
        texts = [step["text"]] if "text" in step else [*map(json.dumps, step["apply"])]
        files = []
        for number, text in enumerate(texts):
            path = folder / f"{number}.yaml"
            path.write_text(text, encoding="utf-8")
            files += ["-f", str(path)]
        done = subprocess.run(
            [str(kubectl_path()), "apply", *files, *step.get("flags", [])],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            env=environment,
        )
        printed = done.stdout.replace(" (server dry run)", "").replace(" (dry run)", "")
        # What a definition defines is not there for the next one.
        if any(_is_definition(each) for each in proxy.exchanges):
            shutil.rmtree(folder / ".kube", ignore_errors=True)
        return (
            printed.splitlines(),
            errors_of_kubectl(
                done.stderr, is_pruning="--prune" in step.get("flags", ())
            ),
            bool(done.returncode),
        )

    return apply


def _is_definition(each: Exchange) -> bool:
    return each.is_write and "customresourcedefinitions" in each.path


def kubeconfig(url: str) -> JSONObject:
    """Return a configuration of kubectl for a server that asks for no credentials."""
    context: JSONObject = {"cluster": "a", "user": "a", "namespace": "default"}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "a", "cluster": {"server": url}}],
        "users": [{"name": "a", "user": {}}],
        "contexts": [{"name": "a", "context": context}],
        "current-context": "a",
    }


def errors_of_kubectl(text: str, *, is_pruning: bool = False) -> list[str]:
    """Return the lines of standard error that say what went wrong."""
    found = []
    for words, code in _OWN_ERRORS.items():
        if words in text:
            return [code]
    # How a conflict can be resolved is the hint of the error here.
    text, has_hint, _ = text.partition("Please review the fields above")
    if has_hint:
        text = re.sub(r"^error: ", "Error from server (Conflict): ", text)
    for line in _CONTEXT.sub("", _ABOUT.sub("", text)).splitlines():
        # The log of kubectl has a time, and the number of the process.
        if _LOGGED.match(line) or (is_pruning and line.startswith(_OF_LISTS)):
            continue
        codes = [
            code
            for words, code in _WARNINGS.items()
            if line.startswith("Warning: ") and words in line
        ]
        found.append(codes[0] if codes else line.rstrip())
    lines = [_UID.sub("(uid)", line.removeprefix("error: ")) for line in found if line]
    return _deduplicated(lines)


def _deduplicated(lines: list[str]) -> list[str]:
    """Leave out what a server has warned of before, as client-go does."""
    seen: set[str] = set()
    found = []
    for line in lines:
        if line.startswith("Warning: ") and line in seen:
            continue
        seen.add(line)
        found.append(line)
    return found


def cluster_apply(cluster: Cluster) -> Apply:
    """Return what applies with a Cluster, as kubectl would."""

    def apply(step: dict[str, Any]) -> tuple[list[str], list[str], bool]:
        given = step["text"] if "text" in step else step["apply"]
        try:
            run = cluster.apply(given, **options_of(step))
        except SmpError as error:
            return [], lines_of(error), True
        # smp cluster apply ends so; a list without items has no other error.
        if not run.results:
            return [], ["empty-document"], True
        return outcome_of(run)

    return apply


def _worded(error: SmpError, *, is_one: bool) -> list[str]:
    """Return the lines of an error as kubectl prints it, alone or among others."""
    # Go: cmdutil.checkErr, and MultipleErrors.
    if isinstance(error, ApiError) and error.reason == "Invalid" and not is_one:
        text = f"Error from server (Invalid): {error.message}"
        return [line.rstrip() for line in text.splitlines()]
    return lines_of(error)


def lines_of(error: SmpError) -> list[str]:
    """Return the lines of an error, or its code where kubectl has longer ones."""
    is_own = not isinstance(error, ApiError) or error.code != "conflict"
    if is_own and error.code in _OWN_ERRORS.values():
        return [error.code]
    return [line.rstrip() for line in error.problem.splitlines()]


def options_of(step: dict[str, Any]) -> dict[str, Any]:
    """Return the options of an apply that is compared with kubectl."""
    # kubectl knows no unions, and takes the objects as they are given.
    return {"order": "given", "unions": "kubectl", **step.get("options", {})}


def outcome_of(run: Run) -> tuple[list[str], list[str], bool]:
    """Return what kubectl would print of a run, its errors, and whether it failed."""
    lines = [str(result) for result in run.results if result.error is None]
    errors = []
    count = len(run.results) - len(lines)
    for result in run.results:
        for warning in result.warnings:
            # kubectl does not know the other ones.
            if warning.code == "server":
                errors.append(f"Warning: {warning.message}")
            elif warning.code in _WARNINGS.values():
                errors.append(str(warning.code))
        if result.error is not None:
            errors += _worded(result.error, is_one=count == 1)
    errors = [_UID.sub("(uid)", line) for line in errors]
    return lines, _deduplicated(errors), bool(run.errors)
