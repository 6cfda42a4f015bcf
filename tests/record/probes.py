"""Record what a kube-apiserver says of small objects that are odd in one place.

``SMP_KUBE_APISERVER=build python -m tests.record.probes`` asks it with ``dryRun=All``
and strict field validation to create each object of tests/data/validation/
probes.jsonl.xz, and writes the answers there. The first line has the version of the
server; the others are the object, what is odd, the code, and the fields of the causes.
"""

from __future__ import annotations

import json
import lzma
from functools import cache
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


def fields_of(body: Any) -> list[str]:
    """Return the fields of the causes of an answer, each once."""
    causes = (body.get("details") or {}).get("causes") or ()
    return sorted({cause.get("field", "") for cause in causes})


def main() -> None:
    """Write the record anew."""
    asked = probes()
    lines: list[dict[str, Any]] = [{"server": version()}]
    with running() as server:
        for probe in asked:
            answer = server.request(
                "POST", address_of(probe["object"]), probe["object"]
            )
            facts = {"code": answer.code, "fields": fields_of(answer.body)}
            lines.append({"object": probe["object"], "about": probe["about"], **facts})
    with lzma.open(FILE, "wt") as file:
        for line in lines:
            file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
