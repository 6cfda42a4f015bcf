"""Record what kube-apiserver makes of objects before it stores them.

``SMP_KUBE_APISERVER=build python -m tests.record.default_answers URL TOKEN`` asks the
Go program in tests/apiserver/defaulting about random objects, and writes
tests/data/defaults/decoded.jsonl.xz: objects, each with what the program prints.

Then it asks the kube-apiserver at URL, which runs with
``--runtime-config=api/all=true`` and has no objects of its own, and writes
tests/data/defaults/served.jsonl.xz: valid objects, each with what a dry run of POST or
PUT answers (``verb``), without what is allocated. The first line has the version of the
server.
"""

from __future__ import annotations

import json
import lzma
import sys
from collections.abc import Iterator
from random import Random
from typing import Any, Final

from smp._values.values import JSONObject, as_object
from tests.support.apiserver import ApiServer, version
from tests.support.defaulted_manifests import (
    bases,
    compared,
    manifests,
    resource_path,
    variations,
)
from tests.support.defaulted_objects import oracle, undefaulted
from tests.support.paths import DATA

DECODED: Final = DATA / "defaults" / "decoded.jsonl.xz"
SERVED: Final = DATA / "defaults" / "served.jsonl.xz"
# The random test has other seeds.
SEED: Final = 10**6
COUNT: Final = 2000
# Of each kind, and of each object of the file.
MANIFESTS: Final = 40
VARIATIONS: Final = 250
_ACCEPTED: Final = (200, 201)
_DRY_RUN: Final = "?dryRun=All"


def decoded() -> Iterator[dict[str, Any]]:
    """Yield random objects with the answers of the Go program."""
    program = oracle()
    assert program is not None
    asked = undefaulted(SEED, COUNT)
    for obj, answer in zip(asked, program.run(asked), strict=True):
        # What a server cannot decode, it refuses.
        if "error" not in answer:
            yield {"object": obj, "decoded": answer}


def served(server: ApiServer) -> Iterator[dict[str, Any]]:
    """Yield valid objects with the answers of a server."""
    yield {"server": f"kube-apiserver {version()}"}
    random = Random(SEED)
    for obj in manifests(SEED, MANIFESTS):
        yield from _created(server, obj)
    for base in bases():
        yield from _created(server, base)
        for varied in variations(base, random, VARIATIONS):
            yield from _created(server, varied)
        yield from _updated(server, base, random)


def _created(server: ApiServer, obj: JSONObject) -> Iterator[dict[str, Any]]:
    answer = server.request("POST", f"{resource_path(obj)}{_DRY_RUN}", obj)
    if answer.code in _ACCEPTED:
        yield {"verb": "POST", "object": obj, "stored": compared(answer.body)}


def _updated(
    server: ApiServer, base: JSONObject, random: Random
) -> Iterator[dict[str, Any]]:
    """Create an object, ask for updates of it, and delete it."""
    name = as_object(base["metadata"])["name"]
    path = f"{resource_path(base)}/{name}"
    created = server.request("POST", resource_path(base), base)
    if created.code not in _ACCEPTED:
        return
    version_ = as_object(created.body["metadata"])["resourceVersion"]
    for varied in variations(base, random, VARIATIONS // 10):
        metadata = {**as_object(varied["metadata"]), "resourceVersion": version_}
        obj = {**varied, "metadata": metadata}
        answer = server.request("PUT", f"{path}{_DRY_RUN}", obj)
        if answer.code in _ACCEPTED:
            yield {"verb": "PUT", "object": varied, "stored": compared(answer.body)}
    server.request("DELETE", f"{path}?gracePeriodSeconds=0")
    # Some objects wait for a controller that takes their finalizers off.
    server.request(
        "PATCH",
        path,
        {"metadata": {"finalizers": None}},
        content_type="application/merge-patch+json",
    )


def main(url: str, token: str) -> None:
    """Write both records anew."""
    with ApiServer(url, token) as server:
        for path, records in ((DECODED, decoded()), (SERVED, served(server))):
            lines = [json.dumps(r, separators=(",", ":")) + "\n" for r in records]
            path.parent.mkdir(exist_ok=True)
            text = "".join(lines).encode()
            path.write_bytes(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    main(*sys.argv[1:])
