"""Situations of one object that is applied twice, played by one of several tools."""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable
from typing import Any, Final

import httpx
import msgspec
import yaml

from smp.server.settings import Settings
from smp.testing import KubernetesApi
from tests.support.paths import DATA

RECORDED: Final = DATA / "cluster" / "apply_object.json.xz"
_OF_THE_SERVER: Final = (
    "creationTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "uid",
)
_ANNOTATION: Final = "kubectl.kubernetes.io/last-applied-configuration"


class Situation(msgspec.Struct, frozen=True):
    """A first apply, or an object that was created, what others do, a second apply."""

    name: str
    source: str
    second: dict[str, Any]
    first: dict[str, Any] | None = None
    created: dict[str, Any] | None = None
    others: dict[str, Any] | None = None


class Outcome(msgspec.Struct, frozen=True):
    """The object in the end, and whether the second apply failed."""

    object: dict[str, Any]
    failed: bool


class Recording(msgspec.Struct, frozen=True):
    """The versions of the tools, and what each did, by the name of the situation."""

    versions: dict[str, str]
    played: dict[str, dict[str, Outcome]]


# An API server of today normalizes no unions.
STOCK: Final = Settings(profile="validate-only", seed=0)

# Applies one definition. Raises where that fails.
Apply = Callable[[dict[str, Any]], object]


def situations() -> list[Situation]:
    """Return the situations."""
    text = (DATA / "cluster" / "apply_object.yaml").read_text(encoding="utf-8")
    return msgspec.convert(yaml.safe_load(text), list[Situation])


def recorded() -> Recording:
    """Return what tests/record/object_applies.py recorded."""
    data = lzma.decompress(RECORDED.read_bytes())
    return msgspec.json.decode(data, type=Recording)


def played(situation: Situation, api: KubernetesApi, apply: Apply) -> Outcome:
    """Play a situation on a server, which has its former objects again at the end."""
    web: httpx.Client = api.client("httpx")
    with api.unchanged():
        if situation.created is not None:
            _sent(
                web, "POST", _path(situation.created, is_list=True), situation.created
            )
        if situation.first is not None:
            apply(situation.first)
        if situation.others is not None:
            _sent(web, "PATCH", situation.others["path"], situation.others["body"])
        failed = False
        try:
            apply(situation.second)
        except Exception:  # noqa: BLE001  # each tool has errors of its own
            failed = True
        obj = web.get(_path(situation.second)).json()
    metadata = obj["metadata"]
    for name in _OF_THE_SERVER:
        metadata.pop(name, None)
    metadata.get("annotations", {}).pop(_ANNOTATION, None)
    if not metadata.get("annotations"):
        metadata.pop("annotations", None)
    # The server gives every Service another address.
    for name in ("clusterIP", "clusterIPs"):
        obj.get("spec", {}).pop(name, None)
    return Outcome(obj, failed)


def _path(obj: dict[str, Any], *, is_list: bool = False) -> str:
    group = "apis" if "/" in obj["apiVersion"] else "api"
    plural = obj["kind"].lower() + "s"
    plural = plural.replace("policys", "policies")
    path = f"/{group}/{obj['apiVersion']}/namespaces/default/{plural}"
    return path if is_list else f"{path}/{obj['metadata']['name']}"


def _sent(web: httpx.Client, method: str, path: str, body: Any) -> None:
    kind = "strategic-merge-patch+json" if method == "PATCH" else "json"
    answer = web.request(
        method,
        path,
        params={"fieldManager": "others"},
        content=json.dumps(body),
        headers={"Content-Type": f"application/{kind}"},
    )
    answer.raise_for_status()
