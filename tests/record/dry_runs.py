"""Record what a kube-apiserver says of new objects of its own kinds, stored by nobody.

``python -m tests.record.dry_runs`` starts a kube-apiserver (tests.support.apiserver),
sends the requests of tests/data/servers/dry_runs.jsonl.xz again, and writes their
answers there. The first line names the version of the server. Each other line is a POST
in the namespace default: its area, its path, the object, the HTTP status, and the
fields of the causes with their reasons.
"""

from __future__ import annotations

import json
import lzma
from functools import cache
from typing import Any, Final

from tests.support.apiserver import ApiServer, running
from tests.support.paths import DATA

RECORD: Final = DATA / "servers" / "dry_runs.jsonl.xz"


@cache
def dry_runs() -> tuple[dict[str, Any], ...]:
    """Read the record, without its first line."""
    lines = lzma.decompress(RECORD.read_bytes()).decode().splitlines()
    return tuple(json.loads(line) for line in lines[1:])


def causes(body: dict[str, Any]) -> list[list[str]]:
    """Return the fields and the reasons of the causes of a Status."""
    found = body.get("details", {}).get("causes", [])
    return [[cause.get("field", ""), cause["reason"]] for cause in found]


def main() -> None:
    """Write the record."""
    with running() as server:
        write(server, dry_runs())


def write(server: ApiServer, requests: tuple[dict[str, Any], ...]) -> None:
    """Ask a server, and write what it answers."""
    version = server.request("GET", "/version").body["gitVersion"]
    lines = [json.dumps({"server": version})]
    for asked in requests:
        answer = server.request("POST", asked["path"], asked["object"])
        body: Any = answer.body
        found = causes(body) if answer.code >= 400 else []
        line = {**asked, "code": answer.code, "causes": found}
        lines.append(json.dumps(line, separators=(",", ":")))
    RECORD.write_bytes(lzma.compress("\n".join([*lines, ""]).encode()))


if __name__ == "__main__":
    main()
