"""Record what webhooks and policies make of requests to a kube-apiserver.

``python -m tests.record.admission`` starts a kube-apiserver (tests.support.apiserver)
and a server for webhooks, plays the cases of tests/data/apiserver/admission.yaml
(tests.support.admission), and writes admission.jsonl beside them. The first line names
the version of the server; each other line is a case: for each request the HTTP status,
the body, the warnings, and the reviews that webhooks got.
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import Final

from tests.support import admission
from tests.support.apiserver import running

# Until policies are known, or are forgotten; nothing tells when.
_PATIENCE: Final = 3.0


def main() -> None:
    """Write the record."""
    with (
        running() as server,
        tempfile.TemporaryDirectory() as directory,
        admission.serving(Path(directory)) as webhooks,
        admission.RECORD.open("w") as file,
    ):
        client = server.client
        version = client.get("/version").json()["gitVersion"]
        file.write(json.dumps({"server": version}) + "\n")
        for obj in admission.world():
            client.post(admission.path_of(obj), json=obj).raise_for_status()
        for case in admission.cases():
            line = admission.play(client, case, webhooks, _wait)
            admission.clean(client, case, webhooks, _wait)
            file.write(json.dumps(line) + "\n")
            file.flush()


def _wait() -> None:
    time.sleep(_PATIENCE)


if __name__ == "__main__":
    main()
