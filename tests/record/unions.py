"""Record which combinations of union members a real kube-apiserver accepts.

``python -m tests.record.unions`` writes tests/data/apiserver/unions.jsonl.xz again. It
creates the objects of tests/data/apiserver/unions.yaml with ``dryRun=All``: with no
member, each alone, and each pair; with every value of the discriminator, with none, and
with one that does not exist. tests/data/apiserver/fields.json describes the lines.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, Final

import httpx
import yaml

from smp.schema.catalog import kubernetes
from smp.schema.model import ObjectType, Schema
from smp.values import JSON, JSONObject, as_list, as_object
from tests.record.applies import refusal, write
from tests.support.apiserver import ApiServer, running, version
from tests.support.paths import DATA

TABLE: Final = DATA / "apiserver" / "unions.yaml"
FILE: Final = DATA / "apiserver" / "unions.jsonl.xz"


def rows() -> list[dict[str, Any]]:
    """Read the table of objects."""
    found: list[dict[str, Any]] = yaml.safe_load(TABLE.read_text())
    return found


def discriminator_of(type_name: str) -> tuple[str, list[str]]:
    """Return the discriminator of a type's union, and its values."""
    types = kubernetes(version()).schema("v1", "Pod").types
    type_ = Schema(f"#{type_name}", types).type
    assert isinstance(type_, ObjectType)
    union = type_.unions[0]
    return union.discriminator, sorted(union.allowed or ())


def combinations(row: dict[str, Any]) -> Iterator[JSONObject]:
    """Yield the members and discriminators to try at the place of a row."""
    discriminator, values = discriminator_of(row["type"])
    names = [*row["members"]]
    chosen: list[tuple[str, ...]] = [(), *itertools.combinations(names, 1)]
    chosen += itertools.combinations(names, 2)
    for members in chosen:
        for given in itertools.product(*(row["members"][name] for name in members)):
            fields: JSONObject = dict(zip(members, given, strict=True))
            if not discriminator:
                yield fields
                continue
            yield fields
            for value in (*values, "Bogus"):
                if value:
                    yield {discriminator: value, **fields}


def object_with(row: dict[str, Any], fields: JSONObject) -> JSONObject:
    """Return the object of a row with some fields at its place."""
    result: dict[str, Any] = deepcopy(row["object"])
    result["apiVersion"], _, result["kind"] = row["kind"].partition(" ")
    if result["kind"] == "CustomResourceDefinition":
        result["metadata"] = {"name": "cs.c.example.com"}
    elif result["kind"] != "SubjectAccessReview":
        result["metadata"] = {"name": "union"}
    here: Any = result
    *above, last = row["at"].split(".")
    for at, step in enumerate(above):
        following = above[at + 1] if at + 1 < len(above) else last
        empty: Any = [] if following.isdigit() else {}
        if isinstance(here, list):
            here = here[int(step)]
        else:
            here = here.setdefault(step, empty)
    if isinstance(here, list):
        if not here:
            here.append({})
        here[int(last)].update(fields)
    else:
        here.setdefault(last, {}).update(fields)
    return result


def collection(server: ApiServer, api_version: str, kind: str) -> str:
    """Return the path of a kind's objects, in the namespace default if it has one."""
    root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
    for resource in as_list(server.request("GET", root).body.get("resources")):
        about = as_object(resource)
        if about["kind"] == kind and "/" not in str(about["name"]):
            namespace = "/namespaces/default" if about["namespaced"] else ""
            return f"{root}{namespace}/{about['name']}"
    raise LookupError(f"the server has no {api_version} {kind}")


def recorded(server: ApiServer) -> Iterator[JSONObject]:
    """Yield the lines of the recording."""
    for row in rows():
        api_version, _, kind = row["kind"].partition(" ")
        path = collection(server, api_version, kind)
        for fields in combinations(row):
            obj = object_with(row, fields)
            answer = server.request("POST", f"{path}?dryRun=All", obj)
            line: JSONObject = {"type": row["type"], "fields": fields}
            if answer.code != httpx.codes.CREATED:
                line["refused"] = refusal(answer)
            yield line


def main() -> None:
    """Record."""
    heading: JSONObject = {"kube-apiserver": version()}
    with running() as server:
        lines: list[JSON] = [heading, *recorded(server)]
    write(FILE, [as_object(line) for line in lines])


if __name__ == "__main__":
    main()
