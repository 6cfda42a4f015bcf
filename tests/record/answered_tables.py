"""Record the tables in which a real kube-apiserver answers objects of every kind.

``SMP_KUBE_APISERVER=build python -m tests.record.answered_tables`` creates the objects
of tests/data/defaults/bases.yaml, and writes tests/data/tables/answered.jsonl.xz: the
version of the server, and then an object a line, as it is served, with its columns
(name, type, format, priority) and its cells.
"""

from __future__ import annotations

from typing import Any, Final

import httpx
import yaml

from smp._values.values import JSONObject
from smp.schema.catalog import kubernetes
from smp.schema.resources import Resource, Resources
from smp.server.errors import UnknownResourceError
from tests.record.applies import write
from tests.support.apiserver import running, version
from tests.support.paths import DATA

OBJECTS: Final = DATA / "defaults" / "bases.yaml"
FILE: Final = DATA / "tables" / "answered.jsonl.xz"
_TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"
_EXISTS: Final = 409


def record() -> None:
    """Write the tables again."""
    lines: list[JSONObject] = [{"kube-apiserver": version()}]
    resources = Resources.builtin(kubernetes())
    with running() as server:
        client = httpx.Client(
            base_url=server.url,
            headers=server.headers,
            verify=False,  # noqa: S501  # of a server on loopback
            trust_env=False,
        )
        with client:
            for obj in yaml.safe_load_all(OBJECTS.read_text()):
                line = _answered(client, resources, obj)
                if line is not None:
                    lines.append(line)
    write(FILE, lines)


def _answered(
    client: httpx.Client, resources: Resources, obj: dict[str, Any]
) -> JSONObject | None:
    try:
        resource = resources.of_kind(obj["apiVersion"], obj["kind"])
    except UnknownResourceError:
        return None
    path = _collection(resource)
    created = client.post(path, json=obj)
    if created.status_code == _EXISTS:
        # The one before it has been printed.
        client.delete(f"{path}/{obj['metadata']['name']}?gracePeriodSeconds=0")
        created = client.post(path, json=obj)
    # Those that have finalizers, which no controller removes, are still there.
    if created.is_error:
        return None
    name = created.json()["metadata"]["name"]
    found = client.get(f"{path}/{name}")
    table = client.get(f"{path}/{name}", headers={"Accept": _TABLE}).json()
    return {
        "object": found.json(),
        "columns": [
            [column["name"], column["type"], column["format"], column["priority"]]
            for column in table["columnDefinitions"]
        ],
        "cells": table["rows"][0]["cells"],
    }


def _collection(resource: Resource) -> str:
    namespace = "/namespaces/default" if resource.namespaced else ""
    return f"{resource.prefix}{namespace}/{resource.plural}"


if __name__ == "__main__":
    record()
