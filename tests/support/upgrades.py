"""Questions about the migration to server-side apply, and client-go's answers.

The Go program in tests/managed_fields/upgrades answers; its first comment describes the
requests. ``ours`` answers the same requests with ``smp.managed_fields``.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any, Final

import pytest

from smp._values.values import JSON, JSONArray, JSONObject, as_list, as_object
from smp.errors import SmpError
from smp.managed_fields import FieldSet, owners_of_fields, upgrade, upgrade_patch
from tests.support.field_sets import random_set
from tests.support.paths import DATA, ROOT
from tests.support.reference import Reference, reference

GO_MODULE: Final = ROOT / "tests" / "managed_fields" / "upgrades"
CASES: Final = DATA / "managed_fields" / "upgrade_cases.yaml"

_MANAGERS: Final = ("alice", "bob", "carol", "dave")


def oracle() -> Reference | None:
    """Return the Go program, or None where it cannot be built."""
    return reference(GO_MODULE)


needs_oracle: Final = pytest.mark.skipif(
    f"__import__('sys').modules[{__name__!r}].oracle() is None",
    reason="tests/managed_fields/upgrades was not built (SMP_GO=build), or cannot be",
)


def request_of(case: JSONObject) -> JSONObject:
    """Return the request that a case of upgrade_cases.yaml asks."""
    entries: JSONArray = []
    for written in as_list(case["entries"]):
        entry: JSONObject = {"apiVersion": "example.com/v1", **as_object(written)}
        fields = entry.pop("fields")
        entries.append({**entry, "fieldsType": "FieldsV1", "fieldsV1": fields})
    kept = {name: case[name] for name in case if name not in ("name", "entries")}
    if "set" in kept:
        kept["set"] = json.dumps(kept["set"])
    return {**kept, "object": _object(entries)}


def requests(seed: int, count: int) -> list[JSONObject]:
    """Return random requests, most of them for an upgrade."""
    random = Random(f"upgrades {seed}")
    made: list[JSONObject] = []
    for _ in range(count):
        entries: JSONArray = [_entry(random) for _ in range(random.randint(0, 6))]
        if random.random() < 0.25:
            fields = FieldSet.from_v1(_readable_set(random))
            if entries and random.random() < 0.7:
                # Part of what an entry owns.
                fields = _readable(as_object(random.choice(entries)))
                fields = random.choice((fields.leaves(), fields))
            made.append(
                {
                    "op": "owners",
                    "operation": random.choice(("Apply", "Update")),
                    "set": fields.to_v1_text(),
                    "object": _object(entries),
                }
            )
            continue
        # Go takes several managers in a random order; both take these as they are.
        managers = sorted(random.sample(_MANAGERS, random.choice((1, 1, 1, 2, 3))))
        made.append(
            {
                "op": "upgrade",
                "from": [*managers],
                "to": random.choice(_MANAGERS),
                "subresource": random.choice(("", "", "status")),
                "object": _object(entries),
            }
        )
    return made


def _object(entries: JSONArray) -> JSONObject:
    metadata: JSONObject = {"name": "web", "resourceVersion": "7"}
    return {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "metadata": {**metadata, "managedFields": entries},
    }


def _entry(random: Random) -> JSONObject:
    entry: JSONObject = {
        "manager": random.choice(_MANAGERS),
        "operation": random.choice(("Apply", "Update", "Update")),
        "apiVersion": random.choice(("v1", "v1", "v2")),
        "time": f"2026-01-0{random.randint(1, 9)}T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": json.loads(random_set(random)),
    }
    if random.random() < 0.25:
        entry["subresource"] = random.choice(("status", "scale"))
    if random.random() < 0.1:
        del entry["time"]
    return entry


def _readable_set(random: Random) -> str:
    while True:
        text = random_set(random)
        try:
            FieldSet.from_v1(text)
        except SmpError:
            continue
        return text


def _readable(entry: JSONObject) -> FieldSet:
    try:
        return FieldSet.from_v1(as_object(entry["fieldsV1"]))
    except SmpError:
        return FieldSet()


def ours(request: JSONObject) -> JSONObject:
    """Answer a request as the Go program does; any error is ``{"error": true}``."""
    obj = as_object(request["object"])
    if request["op"] == "owners":
        fields = FieldSet.from_v1(str(request["set"]))
        operation = str(request["operation"])
        found = owners_of_fields(obj, fields, operation=operation)
        return {"managers": [owner.manager for owner in found]}
    arguments: dict[str, Any] = {
        "from_managers": as_list(request["from"]),
        "to_manager": str(request["to"]),
        "subresource": str(request.get("subresource", "")),
    }
    try:
        upgraded = upgrade(obj, **arguments)
        patch = upgrade_patch(obj, **arguments)
    except SmpError:
        return {"error": True}
    metadata = as_object(upgraded["metadata"])
    answer: JSONObject = {"managedFields": metadata["managedFields"]}
    if len(arguments["from_managers"]) == 1:
        answer["patch"] = None if patch is None else [*patch]
    return comparable(answer)


def expected(request: JSONObject, answer: JSONObject) -> JSONObject:
    """Return the answer of the Go program as ``ours`` has to give it."""
    if "error" in answer and not _has_work(request):
        # Go reads the entry that applies even where there is nothing to upgrade.
        entries = as_object(as_object(request["object"])["metadata"])["managedFields"]
        answer = {"managedFields": entries}
        if len(as_list(request["from"])) == 1:
            answer["patch"] = None
    return comparable(answer)


def _has_work(request: JSONObject) -> bool:
    metadata = as_object(as_object(request["object"])["metadata"])
    return any(
        entry.get("manager") in as_list(request["from"])
        and entry.get("operation") == "Update"
        and entry.get("subresource", "") == request.get("subresource", "")
        for entry in map(as_object, as_list(metadata["managedFields"]))
    )


def comparable(answer: JSONObject) -> JSONObject:
    """Return an answer with every readable fieldsV1 as Go prints it.

    Go prints that of the entry that applies again, even where nothing changes.
    """
    if "error" in answer:
        return {"error": True}
    if "managedFields" not in answer:
        return answer
    compared: JSONObject = {"managedFields": _printed(answer["managedFields"])}
    patch = answer.get("patch")
    if isinstance(patch, list):
        first, *rest = patch
        value = as_object(first)["value"]
        patch = [{**as_object(first), "value": _printed(value)}, *rest]
    if "patch" in answer:
        compared["patch"] = patch
    return compared


def _printed(entries: JSON) -> JSON:
    printed: JSONArray = []
    for entry in as_list(entries):
        members = as_object(entry)
        try:
            fields = FieldSet.from_v1(as_object(members["fieldsV1"])).to_v1()
        except SmpError:
            printed.append(entry)
        else:
            printed.append({**members, "fieldsV1": fields})
    return printed
