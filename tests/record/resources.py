"""Compile the table of built-in resources from the discovery documents that Kubernetes
publishes.

``python -m tests.record.resources`` writes smp/schema/bundled/resources.json again from
the Go module k8s.io/kubernetes, which ``go mod download k8s.io/kubernetes@VERSION``
brings."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from smp._values.values import JSON, JSONObject
from tests.support.paths import ROOT

VERSION: Final = "v1.37.1"
TABLE: Final = ROOT / "smp" / "schema" / "bundled" / "resources.json"


@cache
def module() -> Path | None:
    """Find the sources of Kubernetes; None where they are not in Go's module cache."""
    go = shutil.which("go")
    if go is None:
        return None
    listed = subprocess.run(
        [go, "env", "GOMODCACHE"], capture_output=True, text=True, check=True
    )
    directory = Path(listed.stdout.strip()) / "k8s.io" / f"kubernetes@{VERSION}"
    return directory if directory.is_dir() else None


needs_kubernetes = pytest.mark.skipif(
    f"__import__('sys').modules[{__name__!r}].module() is None",
    reason=f"no go, or k8s.io/kubernetes {VERSION} is not in its module cache",
)


def compiled(discovery: Path) -> str:
    """Compile the discovery documents in a directory to the text of the table, one
    resource a line.
    """
    rows = [
        *_core(_read(discovery / "api__v1.json")),
        *_groups(_read(discovery / "aggregated_v2.json")),
    ]
    source = f"k8s.io/kubernetes {VERSION}, api/discovery"
    lines = ",\n".join(f"    {json.dumps(row)}" for row in rows)
    return (
        f'{{\n  "source": {json.dumps(source)},\n  "resources": [\n{lines}\n  ]\n}}\n'
    )


def _core(document: dict[str, Any]) -> Iterator[JSONObject]:
    """Read the core group, which is published in the older form."""
    subresources: dict[str, list[dict[str, Any]]] = {}
    for resource in document["resources"]:
        plural, _, name = resource["name"].partition("/")
        if name:
            kind = {
                "group": resource.get("group", ""),
                "version": resource.get("version", "v1"),
                "kind": resource["kind"],
            }
            published = {**resource, "subresource": name, "responseKind": kind}
            subresources.setdefault(plural, []).append(published)
    for resource in document["resources"]:
        if "/" not in resource["name"]:
            identity = (
                resource["kind"],
                resource["name"],
                resource["singularName"],
                resource["namespaced"],
            )
            own = subresources.get(resource["name"], [])
            yield _row(("", "v1"), identity, resource, own)


def _groups(document: dict[str, Any]) -> Iterator[JSONObject]:
    for group in document["items"]:
        for version in group["versions"]:
            for resource in version["resources"]:
                identity = (
                    resource["responseKind"]["kind"],
                    resource["resource"],
                    resource["singularResource"],
                    resource["scope"] != "Cluster",
                )
                yield _row(
                    (group["metadata"]["name"], version["version"]),
                    identity,
                    resource,
                    resource.get("subresources", []),
                )


def _row(
    place: tuple[str, str],
    identity: tuple[str, str, str, bool],
    published: dict[str, Any],
    subresources: list[dict[str, Any]],
) -> JSONObject:
    group, version = place
    kind, plural, singular, namespaced = identity
    row: JSONObject = {
        "group": group,
        "version": version,
        "kind": kind,
        "plural": plural,
        "namespaced": namespaced,
    }
    if singular != kind.lower():
        row["singular"] = singular
    row |= {
        word: published[key]
        for word, key in (("short_names", "shortNames"), ("categories", "categories"))
        if key in published
    }
    if len(published["verbs"]) < 8:
        row["verbs"] = published["verbs"]
    others: list[JSON] = []
    for subresource in subresources:
        name = subresource["subresource"]
        if name == "status":
            row["status"] = True
        elif name == "scale":
            # as the API documents each of them
            row["scale"] = {"selector": ["spec", "selector"], "default_replicas": 1}
        else:
            answered = subresource["responseKind"]
            others.append(
                {
                    "name": name,
                    "group": answered["group"],
                    "version": answered["version"],
                    "kind": answered["kind"],
                    "verbs": subresource["verbs"],
                }
            )
    if others:
        row["other_subresources"] = others
    return row


def _read(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_bytes())
    return document


if __name__ == "__main__":
    sources = module()
    if sources is None:
        raise SystemExit(f"go mod download k8s.io/kubernetes@{VERSION}")
    TABLE.write_text(compiled(sources / "api" / "discovery"))
