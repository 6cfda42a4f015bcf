"""Record what the real Helm 4 sends when a chart is upgraded, and what becomes of it.

``SMP_HELM=build python -m tests.record.helm`` plays the story of tests.support.helm on
a kube-apiserver and writes tests/data/cluster/helm.jsonl.xz: the versions of both, then
for each step its exit code, what was printed, the writes of the Deployment with the
answers to those that were refused, and the Deployment after it. Uids, times and
resourceVersions are left out.
"""

from __future__ import annotations

from smp._values.values import JSONObject
from tests.record.applies import write
from tests.record.cluster_applies import proxy_of
from tests.support import apiserver
from tests.support.helm import FILE, helm_version, played, real_helm


def main() -> None:
    """Record."""
    heading: JSONObject = {
        "helm": helm_version(),
        "kube-apiserver": apiserver.version(),
    }
    with proxy_of("kube-apiserver") as proxy:
        steps: list[JSONObject] = [
            {**each._asdict()} for each in played(proxy, real_helm(proxy))
        ]
    write(FILE, [heading, *steps])


if __name__ == "__main__":
    main()
