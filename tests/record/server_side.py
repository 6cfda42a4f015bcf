"""Record what ``kubectl apply --server-side`` makes of objects on a kube-apiserver.

``python -m tests.record.server_side`` runs the real kubectl for each command of
tests/data/apiserver/server_side.yaml, and writes server_side.jsonl beside it: the live
object before, the configuration, and the object after, or what kubectl printed to
standard error.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from smp._values.values import JSON, JSONObject, as_list, as_object, as_text
from smp.documents import dump_yaml, read
from tests.record.field_sets import define
from tests.support.apiserver import ApiServer, running
from tests.support.kubectl import kubectl_path
from tests.support.paths import DATA

SEQUENCES: Final = DATA / "apiserver" / "server_side.yaml"
RECORDED: Final = DATA / "apiserver" / "server_side.jsonl"
_RESOURCES: Final = {
    "ConfigMap": "/api/v1/namespaces/default/configmaps",
    "Deployment": "/apis/apps/v1/namespaces/default/deployments",
    "Every": "/apis/example.com/v1/namespaces/default/everies",
    "Secret": "/api/v1/namespaces/default/secrets",
    "Service": "/api/v1/namespaces/default/services",
}


def sequences() -> Iterator[JSONObject]:
    """Yield the sequences of the file."""
    for document in read(SEQUENCES.read_bytes(), source=str(SEQUENCES)):
        yield as_object(document.value)


def _kubectl(home: Path, words: list[str], body: JSON) -> str:
    """Run kubectl on a document, and return what it prints to standard error."""
    kubectl = kubectl_path()
    assert kubectl is not None
    file = home / "document.yaml"
    file.write_text(dump_yaml([body]))
    ran = subprocess.run(
        [kubectl, "--kubeconfig", home / "config", *words, "-f", file],
        env={"HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode == 0) == (not ran.stderr) or "Warning" in ran.stderr
    return ran.stderr if ran.returncode else ""


def _configure(server: ApiServer, home: Path) -> None:
    config: JSONObject = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [
            {
                "name": "c",
                "cluster": {"server": server.url, "insecure-skip-tls-verify": True},
            }
        ],
        "users": [
            {
                "name": "u",
                "user": {
                    "token": server.headers["Authorization"].removeprefix("Bearer ")
                },
            }
        ],
    }
    (home / "config").write_text(dump_yaml([config]))


def _stored(server: ApiServer, document: JSONObject) -> JSONObject | None:
    name = as_text(as_object(document["metadata"]).get("name"))
    path = f"{_RESOURCES[as_text(document['kind'])]}/{name}"
    answer = server.request("GET", path)
    return answer.body if answer.code == 200 else None


def _lines(server: ApiServer, home: Path) -> Iterator[JSONObject]:
    for sequence in sequences():
        for number, step in enumerate(map(as_object, as_list(sequence["steps"]))):
            body = as_object(step["body"])
            before = _stored(server, body)
            words = as_text(step["kubectl"]).split()
            error = _kubectl(home, words, body)
            if "--server-side" not in words:
                assert not error, error
                continue
            yield {
                "name": f"{sequence['name']}, step {number + 1}",
                "arguments": [*words[1:]],
                "live": before,
                "configuration": body,
                **({"error": error} if error else {"after": _stored(server, body)}),
            }


def _record(server: ApiServer) -> None:
    define(server)
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        _configure(server, home)
        text = "".join(f"{json.dumps(line)}\n" for line in _lines(server, home))
    RECORDED.write_text(text)


if __name__ == "__main__":
    with running() as the_server:
        _record(the_server)
