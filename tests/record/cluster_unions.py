"""Record what becomes of an apply that chooses another member of a union.

``python -m tests.record.cluster_unions`` writes tests/data/cluster/unions.json.xz: for
each union of tests/data/apiserver/unions.yaml, and for changes from one member to
another one, what the real kubectl does on a kube-apiserver; what Cluster.apply does
with ``unions="kubectl"``, which has to be the same; and with ``unions="clear"``, which
has to be accepted. The first member was applied before, or is that of another client.
It prints where that is not so, and how many changes are refused.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from smp._values.values import JSONObject, as_object
from smp.cluster import Cluster
from tests.record.cluster_applies import difference, kubectl_version, proxy_of
from tests.record.unions import choices, object_with, patchable, rows
from tests.support.cluster_proxy import RecordingProxy
from tests.support.cluster_recordings import Entry, write
from tests.support.cluster_sides import cluster_apply, kubectl_apply, played
from tests.support.cluster_situations import Situation


def _changes(
    web: httpx.Client, row: dict[str, Any]
) -> Iterator[tuple[JSONObject, JSONObject]]:
    """Yield members of a row, each with another one."""
    # No PriorityLevelConfiguration of type Exempt may have another name, for one.
    found = [fields for fields in choices(row) if _is_valid(web, row, fields)]
    for at, before in enumerate(found):
        after = found[(at + 1) % len(found)]
        if after != before:
            yield before, after


def _situations(web: httpx.Client, row: dict[str, Any]) -> Iterator[Situation]:
    """Yield the changes of a union, of what was applied and of what others made."""
    api_version, _, kind = row["kind"].partition(" ")
    name = row["type"].removeprefix("io.k8s.")
    for before, after in _changes(web, row):
        title = f"{name}: {json.dumps(before)} to {json.dumps(after)}"
        first, second = object_with(row, before), object_with(row, after)
        yield Situation(title, [{"apply": [first]}, {"apply": [second]}])
        # The same, where only the server knows the first member.
        yield Situation(
            f"{title}, of others",
            [{"others": _created(api_version, kind, first)}, {"apply": [second]}],
        )


def _created(api_version: str, kind: str, obj: JSONObject) -> Any:
    def create(web: httpx.Client) -> str:
        path = _collection(web, api_version, kind)
        web.post(path, params={"fieldManager": "others"}, json=obj)
        return f"{path}/{as_object(obj['metadata'])['name']}"

    return create


def _collection(web: httpx.Client, api_version: str, kind: str) -> str:
    root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
    for each in web.get(root).json()["resources"]:
        if each["kind"] == kind and "/" not in each["name"]:
            within = "/namespaces/default" if each["namespaced"] else ""
            return f"{root}{within}/{each['name']}"
    raise LookupError(kind)


def _is_valid(web: httpx.Client, row: dict[str, Any], fields: JSONObject) -> bool:
    """Tell whether a server takes a new object with a member."""
    api_version, _, kind = row["kind"].partition(" ")
    path = _collection(web, api_version, kind)
    obj = object_with(row, fields)
    return web.post(path, params={"dryRun": "All"}, json=obj).is_success


def _entries(
    situation: Situation, proxy: RecordingProxy, home: Path
) -> tuple[Entry, Entry]:
    """Play a change with kubectl, as kubectl would, and with what is cleared."""
    theirs, _ = played(situation, proxy, kubectl_apply(proxy, home))
    found = []
    for unions in ("kubectl", "clear"):
        steps = [{**step, "options": {"unions": unions}} for step in situation.steps]
        with httpx.Client(base_url=proxy.url, trust_env=False, timeout=60) as client:
            cluster = Cluster(client, documents={}, parallel=1)
            ours, exchanges = played(
                Situation(situation.name, steps), proxy, cluster_apply(cluster)
            )
        expected = theirs if unions == "kubectl" else ours
        applies = [step for step in steps if "apply" in step]
        found.append(Entry(expected, ours, exchanges, applies))
    return found[0], found[1]


def main() -> None:
    """Play all changes, print what is not as it has to be, and write the recording."""
    counts: Counter[str] = Counter()
    entries: dict[str, Entry] = {}
    with proxy_of("kube-apiserver") as proxy, tempfile.TemporaryDirectory() as name:
        for original in rows():
            row = patchable(original)
            if "subresource" in row or row["kind"].endswith("SubjectAccessReview"):
                continue
            counts["unions"] += 1
            for situation in _situations(proxy.client, row):
                kubectl, clear = _entries(situation, proxy, Path(name))
                # The first member cannot be created here, or the second one not at all.
                if any(each.failed for each in kubectl.kubectl.outcomes[:-1]):
                    counts["not created"] += 1
                    continue
                last = clear.ours.outcomes[-1]
                # No apply can change it: the source of a PersistentVolume, for one.
                if "immutable" in "".join(last.errors):
                    counts["immutable"] += 1
                    continue
                counts["changes"] += 1
                counts["refused by kubectl"] += kubectl.kubectl.outcomes[-1].failed
                text = difference(kubectl)
                if last.failed:
                    counts["refused with clear"] += 1
                    text += f"\nclear: {last.errors}"
                if text:
                    print(f"--- {situation.name}\n{text}", flush=True)  # noqa: T201  # a program
                entries[f"{situation.name} (kubectl)"] = kubectl
                entries[f"{situation.name} (clear)"] = clear
    print(dict(counts))  # noqa: T201  # a program
    write("unions", kubectl_version(), entries)


if __name__ == "__main__":
    main()
