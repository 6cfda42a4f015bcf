"""Record the patches of openshift.dynamic.apply for tests/data/cluster/openshift.yaml.

``pip install --no-deps --target FOLDER openshift==0.13.2``, then
``PYTHONPATH=.:FOLDER python -m tests.record.openshift_applies``.
"""

from __future__ import annotations

import json
from importlib import import_module
from importlib.metadata import version
from typing import Any

from smp.cluster import Cluster
from smp.testing import KubernetesApi
from tests.support.openshift_cases import PATCHES, cases


def main() -> None:
    """Compute the patches for live objects of the server of smp.testing."""
    apply: Any = import_module("openshift.dynamic.apply")
    patches = {}
    with KubernetesApi() as api:
        web = api.client("httpx")
        for case in cases():
            with api.unchanged():
                live = case.start(Cluster(web, documents={}), web)
                _, patches[case.name] = apply.apply_patch(live, case.second)
    recorded = {"openshift": version("openshift"), "patches": patches}
    PATCHES.write_text(json.dumps(recorded, indent=1) + "\n")


if __name__ == "__main__":
    main()
