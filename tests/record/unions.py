"""Record which combinations of union members a real kube-apiserver accepts.

``python -m tests.record.unions`` writes two files of tests/data/apiserver again, about
the objects of unions.yaml; fields.json describes their lines.

unions.jsonl.xz: it creates the objects with ``dryRun=All`` (or updates their status):
with no member, each alone, and each pair; with null and with an empty value for a
member, alone and beside another one; with every value of the discriminator, with none,
and with one that does not exist.

union_patches.jsonl.xz: it creates an object with one member, and sends, with
``dryRun=All``, patches that set another one, null or an empty value, and another value
of the discriminator; what kubectl would send to change the member, and what
``smp.three_way_apply`` would; and applies another member on the server.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, Final, NamedTuple

import httpx
import yaml

import smp
from smp._values.values import JSON, JSONObject, as_list, as_object, same
from smp.handler import APPLY, MERGE, STRATEGIC
from smp.schema.catalog import kubernetes
from smp.schema.model import ObjectType, Schema
from smp.schema.union_groups import UnionGroup
from tests.record.applies import refusal, write
from tests.support.apiserver import Answer, ApiServer, running, version
from tests.support.paths import DATA

TABLE: Final = DATA / "apiserver" / "unions.yaml"
FILE: Final = DATA / "apiserver" / "unions.jsonl.xz"
PATCHES: Final = DATA / "apiserver" / "union_patches.jsonl.xz"
# How many members of a union are patched, objects are patched, and changes are made to
# each; and how often a deleted object is looked for.
_MEMBERS: Final = 4
_STARTS: Final = 2
_CHANGES: Final = 2
_PATIENCE: Final = 100


def rows() -> list[dict[str, Any]]:
    """Read the table of objects."""
    found: list[dict[str, Any]] = yaml.safe_load(TABLE.read_text())
    return found


def union_of(type_name: str) -> UnionGroup:
    """Return the union of a type; of several, the first."""
    types = kubernetes(version()).schema("v1", "Pod").types
    type_ = Schema(f"#{type_name}", types).type
    assert isinstance(type_, ObjectType)
    return type_.unions[0]


def discriminator_of(type_name: str) -> tuple[str, list[str]]:
    """Return the discriminator of a type's union, and its values."""
    union = union_of(type_name)
    return union.discriminator, sorted(union.allowed or ())


def combinations(row: dict[str, Any]) -> Iterator[JSONObject]:
    """Yield the members and discriminators to try at the place of a row."""
    discriminator, values = discriminator_of(row["type"])
    seen: list[JSONObject] = []
    for fields in (*_members_alone_and_in_pairs(row), *_unset_members(row)):
        choices = [fields]
        if discriminator:
            chosen = [value for value in (*values, "Bogus") if value]
            choices += [{discriminator: value, **fields} for value in chosen]
        for choice in choices:
            # Some members have an empty value in the table, too.
            if not any(same(choice, other) for other in seen):
                seen.append(choice)
                yield choice


def _members_alone_and_in_pairs(row: dict[str, Any]) -> Iterator[JSONObject]:
    names = [*row["members"]]
    chosen: list[tuple[str, ...]] = [(), *itertools.combinations(names, 1)]
    chosen += itertools.combinations(names, 2)
    for members in chosen:
        for given in itertools.product(*(row["members"][name] for name in members)):
            yield dict(zip(members, given, strict=True))


def _unset_members(row: dict[str, Any]) -> Iterator[JSONObject]:
    """Yield null and an empty value for each member, alone and beside another."""
    for name in row["members"]:
        for value in (None, empty_value(row, name)):
            yield {name: value}
            for other, (sample, *_) in row["members"].items():
                if other != name:
                    yield {name: value, other: sample}
                    break


def empty_value(row: dict[str, Any], name: str) -> JSON:
    """Return the empty value of the type that a member has: {}, [], "", 0 or false."""
    empty: JSON = type(row["members"][name][0])()
    return empty


def object_with(row: dict[str, Any], fields: JSONObject) -> JSONObject:
    """Return the object of a row with some fields at its place."""
    result: dict[str, Any] = deepcopy(row["object"])
    result["apiVersion"], _, result["kind"] = row["kind"].partition(" ")
    if result["kind"] == "CustomResourceDefinition":
        result["metadata"] = {"name": f"cs.{result['spec']['group']}"}
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
    """Yield the lines of unions.jsonl.xz."""
    for row in rows():
        api_version, _, kind = row["kind"].partition(" ")
        path = collection(server, api_version, kind)
        method = "POST"
        if "subresource" in row:
            obj = object_with(row, {})
            server.request("POST", path, obj)
            path = f"{path}/{as_object(obj['metadata'])['name']}/{row['subresource']}"
            method = "PUT"
        for fields in combinations(row):
            obj = object_with(row, fields)
            answer = server.request(method, f"{path}?dryRun=All", obj)
            line: JSONObject = {"type": row["type"], "fields": fields}
            if not is_success(answer):
                line["refused"] = refusal(answer)
            yield line
        if "subresource" in row:
            server.request("DELETE", path.rpartition("/")[0])


def is_success(answer: Answer) -> bool:
    """Tell whether a request was accepted."""
    return answer.code in {httpx.codes.OK, httpx.codes.CREATED}


def patchable(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row whose objects can be patched: a Deployment in place of a Pod."""
    if row["kind"] != "v1 Pod":
        return row
    labels = {"matchLabels": {"a": "b"}}
    template = {"metadata": {"labels": {"a": "b"}}, **row["object"]}
    return {
        **row,
        "kind": "apps/v1 Deployment",
        "object": {"spec": {"selector": labels, "template": template}},
        "at": f"spec.template.{row['at']}",
    }


class Change(NamedTuple):
    """The fields of a union before and after a change."""

    before: JSONObject
    after: JSONObject


def choices(row: dict[str, Any]) -> list[JSONObject]:
    """Return valid fields at the place of a row: each member, and values without one.

    Of many members only the first few.
    """
    type_ = union_of(row["type"])
    found: list[JSONObject] = []
    for name, (sample, *_) in [*row["members"].items()][:_MEMBERS]:
        fields: JSONObject = {name: sample}
        for member in type_.members:
            if type_.discriminator and member.name == name:
                fields = {type_.discriminator: member.value, **fields}
        found.append(fields)
    found += [{type_.discriminator: value} for value in sorted(type_.empty)]
    if type_.default:
        found.append({})
    return found


def patches(row: dict[str, Any], change: Change) -> Iterator[JSONObject]:
    """Yield what patches set at the place of a row, not always with success."""
    before, after = change
    discriminator = union_of(row["type"]).discriminator
    yield after
    cleared = {name: None for name in before if name not in after}
    if cleared:
        yield {**after, **cleared}
        yield {**cleared}
    for name in after:
        if name != discriminator:
            yield {name: after[name]}
            yield {name: empty_value(row, name)}
        else:
            yield {name: after[name]}
            yield {name: "Bogus"}
            yield {name: None}


def recorded_patches(server: ApiServer) -> Iterator[JSONObject]:
    """Yield the lines of union_patches.jsonl.xz."""
    for original in rows():
        row = patchable(original)
        if "subresource" in row or row["kind"].endswith("SubjectAccessReview"):
            continue
        api_version, _, kind = row["kind"].partition(" ")
        path = collection(server, api_version, kind)
        for before, *others in _turns(choices(row)):
            yield from _changed(server, row, path, before, others[:_CHANGES])


def _turns(fields: list[JSONObject]) -> Iterator[list[JSONObject]]:
    """Yield each of the first fields, followed by the others."""
    for at in range(min(len(fields), _STARTS)):
        yield [*fields[at:], *fields[:at]]


def _changed(
    server: ApiServer,
    row: dict[str, Any],
    path: str,
    before: JSONObject,
    others: list[JSONObject],
) -> Iterator[JSONObject]:
    """Create an object with some fields, and change it to each of others."""
    obj = object_with(row, before)
    name = str(as_object(obj["metadata"])["name"])
    created = server.request("POST", path, obj)
    if not is_success(created):
        # No PriorityLevelConfiguration of type Exempt may have another name.
        return
    live = _without_volatile(created.body)
    requests: list[JSON] = []
    for after in others:
        for fields in patches(row, Change(before, after)):
            for media_type in (STRATEGIC, MERGE):
                body = object_with(row, fields)
                del body["metadata"]
                requests.append(_answered(server, row, path, name, media_type, body))
        modified = object_with(row, after)
        schema = kubernetes(version()).schema_of(live)
        for last_applied in (obj, None):
            result = smp.three_way_apply(last_applied, modified, live, schema)
            for way, patch in (
                ("apply", as_object(result.patch)),
                ("kubectl", result.kubectl_patch),
            ):
                request = _answered(server, row, path, name, STRATEGIC, patch)
                owned = last_applied is not None
                requests.append({**request, "way": way, "owned": owned, "to": after})
    yield {"type": row["type"], "live": live, "from": before, "requests": requests}
    server.request("DELETE", f"{path}/{name}")
    wait_for_the_end(server, f"{path}/{name}")

    # The same changes by the server: one manager applies another member.
    applied = server.request(
        "PATCH", f"{path}/{name}?fieldManager=one", obj, content_type=APPLY
    )
    requests = []
    for after in others:
        modified = object_with(row, after)
        requests.append(_answered(server, row, path, name, APPLY, modified))
    live = _without_volatile(applied.body, "managedFields")
    yield {"type": row["type"], "live": live, "from": before, "requests": requests}
    server.request("DELETE", f"{path}/{name}")
    wait_for_the_end(server, f"{path}/{name}")


def _answered(
    server: ApiServer,
    row: dict[str, Any],
    path: str,
    name: str,
    media_type: str,
    body: JSONObject,
) -> JSONObject:
    """Send a patch with dryRun, and return it with its answer."""
    query = "dryRun=All"
    if media_type == APPLY:
        query += "&fieldManager=one"
    answer = server.request(
        "PATCH", f"{path}/{name}?{query}", body, content_type=media_type
    )
    request: JSONObject = {"media_type": media_type, "body": body}
    if is_success(answer):
        request["stored"] = fields_at(row, answer.body)
    else:
        request["refused"] = refusal(answer)
    return request


def fields_at(row: dict[str, Any], obj: JSONObject) -> JSONObject:
    """Return the members and the discriminator at the place of a row."""
    here: Any = obj
    for step in row["at"].split("."):
        here = here[int(step)] if isinstance(here, list) else here.get(step, {})
    names = union_of(row["type"]).fields
    return {name: here[name] for name in sorted(here) if name in names}


def _without_volatile(obj: JSONObject, *kept: str) -> JSONObject:
    """Return an object without what a server allocates."""
    metadata = {**as_object(obj["metadata"])}
    for name in ("uid", "resourceVersion", "creationTimestamp", "managedFields"):
        if name not in kept:
            metadata.pop(name, None)
    for entry in as_list(metadata.get("managedFields")):
        as_object(entry).pop("time", None)
    return {**obj, "metadata": metadata}


def wait_for_the_end(server: ApiServer, path: str) -> None:
    """Wait until an object is deleted; nothing finishes what waits for finalizers."""
    for _ in range(_PATIENCE):
        body: JSONObject = {"metadata": {"finalizers": None}}
        answer = server.request("PATCH", path, body, content_type=MERGE)
        if answer.code == httpx.codes.NOT_FOUND:
            return
        time.sleep(0.1)
    raise TimeoutError(path)


def main() -> None:
    """Record."""
    heading: JSONObject = {"kube-apiserver": version()}
    with running() as server:
        lines: list[JSON] = [heading, *recorded(server)]
        changes: list[JSON] = [heading, *recorded_patches(server)]
    write(FILE, [as_object(line) for line in lines])
    write(PATCHES, [as_object(line) for line in changes])


if __name__ == "__main__":
    main()
