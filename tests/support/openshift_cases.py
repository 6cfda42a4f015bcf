"""What users of openshift.dynamic.apply met (tests/data/cluster/openshift.yaml)."""

from __future__ import annotations

import json
from typing import Any, Final

import httpx
import msgspec

from smp._values.values import JSON, JSONObject
from smp.cluster import Cluster
from smp.documents import read_one
from tests.support.paths import DATA

CASES: Final = DATA / "cluster" / "openshift.yaml"
PATCHES: Final = DATA / "cluster" / "openshift.json"
_PLURALS: Final = {"NetworkPolicy": "networkpolicies"}


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A case of the file, whose head describes the members."""

    name: str
    first: dict[str, Any]
    second: dict[str, Any]
    path: str
    wanted: Any
    others: dict[str, Any] = {}
    theirs: bool = False

    @property
    def address(self) -> str:
        """The path of the object on a server."""
        api_version, kind = self.first["apiVersion"], self.first["kind"]
        root = "apis" if "/" in api_version else "api"
        plural = _PLURALS.get(kind, f"{kind.lower()}s")
        name = self.first["metadata"]["name"]
        return f"/{root}/{api_version}/namespaces/default/{plural}/{name}"

    def start(self, cluster: Cluster, web: httpx.Client) -> JSONObject:
        """Make the live object, and return it."""
        if self.theirs:
            collection = self.address.rpartition("/")[0]
            web.post(collection, json=self.first).raise_for_status()
        else:
            cluster.apply(self.first).raise_for_errors()
        if self.others:
            self.patch(web, self.others, "strategic-merge").raise_for_status()
        live: JSONObject = web.get(self.address).json()
        return live

    def patch(self, web: httpx.Client, body: JSON, kind: str) -> httpx.Response:
        """Patch the object as another client does."""
        return web.patch(
            self.address,
            params={"fieldManager": "others"},
            content=json.dumps(body),
            headers={"Content-Type": f"application/{kind}-patch+json"},
        )

    def is_as_wanted(self, obj: JSONObject) -> bool:
        """Tell whether an object has what is wanted, in any order."""
        found: Any = obj
        for step in self.path.split("."):
            found = found[int(step)] if step.isdigit() else found.get(step)
        if isinstance(found, list) and isinstance(self.wanted, dict):
            members = {
                name: sorted(element.get(name) for element in found)
                for name in self.wanted
            }
            return members == self.wanted
        if isinstance(found, list):
            return sorted(found, key=repr) == sorted(self.wanted, key=repr)
        return bool(found == self.wanted)


def cases() -> list[Case]:
    """Read the cases."""
    value = read_one(CASES.read_bytes(), source=str(CASES)).value
    return msgspec.convert(value, list[Case])


def patches() -> dict[str, JSONObject]:
    """Read the patches of openshift.dynamic.apply, by the names of the cases."""
    found: dict[str, JSONObject] = json.loads(PATCHES.read_text())["patches"]
    return found
