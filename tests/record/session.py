"""Record what a kube-apiserver answers to one long session of a client.

``SMP_KUBE_APISERVER=build python -m tests.record.session`` sends the requests of
tests/data/servers/session.jsonl.xz in their order to a new server, and writes the
answers there. The first line has the version of the server; the others are the method,
the path, the body with its type, the code, and the fields of the causes.
"""

from __future__ import annotations

import json
import lzma
import time
from functools import cache
from typing import Any, Final

import httpx

from tests.record.probes import causes_of
from tests.support.apiserver import running, version
from tests.support.paths import DATA

FILE: Final = DATA / "servers" / "session.jsonl.xz"
_DEFINITIONS: Final = "/customresourcedefinitions"
_PATIENCE: Final = 6.0  # seconds until a server serves what was defined


@cache
def session() -> tuple[dict[str, Any], ...]:
    """Read the record, without its first line."""
    with lzma.open(FILE, "rt") as file:
        return tuple(json.loads(line) for line in file)[1:]


def send(client: httpx.Client, asked: dict[str, Any]) -> tuple[int, list[list[str]]]:
    """Send a request, and return the code and the causes of the answer."""
    content = json.dumps(asked["body"]) if "body" in asked else None
    headers = {"content-type": asked["type"]} if "body" in asked else {}
    answer = client.request(
        asked["method"], asked["path"], content=content, headers=headers
    )
    is_json = "json" in answer.headers.get("content-type", "")
    is_status = is_json and answer.status_code >= 400
    return answer.status_code, causes_of(answer.json()) if is_status else []


def main() -> None:
    """Write the record anew."""
    lines: list[dict[str, Any]] = [{"server": version()}]
    was_defining = False
    with running() as server:
        for asked in session():
            is_defining = asked["path"].endswith(_DEFINITIONS)
            if was_defining and not is_defining:
                time.sleep(_PATIENCE)
            was_defining = is_defining
            code, causes = send(server.client, asked)
            lines.append({**asked, "code": code, "causes": causes})
    with lzma.open(FILE, "wt") as file:
        for line in lines:
            file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
