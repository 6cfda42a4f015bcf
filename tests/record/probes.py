"""Record what a kube-apiserver says of new objects that are odd in one place.

``SMP_KUBE_APISERVER=build python -m tests.record.probes`` asks it with ``dryRun=All``
and strict field validation to create each object of tests/data/validation/
probes.jsonl.xz, and writes the answers there. With the name of a file it adds the
objects in that, a JSON list of ``{"about": TEXT, "object": OBJECT}``. The first line
has the version of the server; the others are what is odd, the object, the code, and the
causes: their fields and reasons.
"""

from __future__ import annotations

import json
import lzma
import sys
from functools import cache
from pathlib import Path
from typing import Any, Final

from smp.schema.resources import read_published_resources
from tests.support.apiserver import running, version
from tests.support.paths import DATA

FILE: Final = DATA / "validation" / "probes.jsonl.xz"
_OPTIONS: Final = "?dryRun=All&fieldValidation=Strict"


@cache
def probes() -> tuple[dict[str, Any], ...]:
    """Read the record, without its first line."""
    with lzma.open(FILE, "rt") as file:
        return tuple(json.loads(line) for line in file)[1:]


@cache
def _roots() -> dict[tuple[str, str], str]:
    roots: dict[tuple[str, str], str] = {}
    for each in read_published_resources():
        root = f"/apis/{each.api_version}" if each.group else f"/api/{each.api_version}"
        within = "/namespaces/default" if each.namespaced else ""
        roots[each.api_version, each.kind] = f"{root}{within}/{each.plural}"
    return roots


def address_of(obj: dict[str, Any]) -> str:
    """Return where an object is created."""
    return _roots()[obj["apiVersion"], obj["kind"]] + _OPTIONS


def causes_of(body: Any) -> list[list[str]]:
    """Return the fields of the causes of an answer with their reasons, each once."""
    causes = (body.get("details") or {}).get("causes") or ()
    found = {(cause.get("field", ""), cause.get("reason", "")) for cause in causes}
    return [[*cause] for cause in sorted(found)]


def main(added: list[str]) -> None:
    """Write the record anew."""
    asked = list(probes())
    for name in added:
        asked += json.loads(Path(name).read_text())
    lines: list[dict[str, Any]] = [{"server": version()}]
    with running() as server:
        for probe in asked:
            obj = probe["object"]
            answer = server.request("POST", address_of(obj), obj)
            facts = {"code": answer.code, "causes": causes_of(answer.body)}
            lines.append({"about": probe["about"], "object": obj, **facts})
    with lzma.open(FILE, "wt") as file:
        for line in lines:
            file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
