"""Other libraries that patch or compare dicts.

Each function returns the one that prepares a row, or raises ImportError.
"""

from __future__ import annotations

import json
from functools import partial
from importlib import import_module
from typing import Final

from benchmarks.inputs import Row
from benchmarks.manifests import compact
from benchmarks.ours import Prepare, in_process, result_of
from benchmarks.timing import Run
from smp._values.last_applied import LAST_APPLIED

_MODELS: Final = {
    "v1": "kube_models.api_v1.io.k8s.api.core.v1",
    "apps/v1": "kube_models.apis_apps_v1.io.k8s.api.apps.v1",
}


def openshift() -> Prepare:
    """Three-way: the code of Ansible's kubernetes.core."""
    apply_patch = import_module("openshift.dynamic.apply").apply_patch

    def prepare(row: Row) -> Run | None:
        if row.operation != "three_way":
            return None
        last_applied, modified, live = [json.loads(text) for text in row.texts]
        annotations = live["metadata"].setdefault("annotations", {})
        annotations[LAST_APPLIED] = compact(last_applied)
        return partial(apply_patch, live, modified)

    return in_process(prepare)


def kubesdk() -> Prepare:
    """Two-way: what its client does for an update, from its models to the patch."""
    sdk = import_module("kubesdk")

    def prepare(row: Row) -> Run | None:
        if row.operation != "two_way":
            return None
        model = getattr(import_module(_MODELS[row.api_version]), row.kind)
        before, after = [
            model.from_dict(json.loads(text), lazy=False) for text in row.texts
        ]

        def run() -> object:
            diff = sdk.json_patch_from_diff(before.to_dict(), after.to_dict())
            return sdk.jsonpatch_to_smp(before, diff)

        return run

    return in_process(prepare)


def oper8() -> Prepare:
    """Apply, on a deep copy."""
    merge = import_module("oper8.patch_strategic_merge").patch_strategic_merge

    def prepare(row: Row) -> Run | None:
        if row.operation != "apply":
            return None
        original, patch = [json.loads(text) for text in row.texts]
        return partial(merge, original, patch)

    return in_process(prepare)


def jsonpatch() -> Prepare:
    """Diff two configurations, or apply the patch that leads to the same result."""
    rfc_6902 = import_module("jsonpatch")

    def prepare(row: Row) -> Run:
        before, after, *_ = [json.loads(text) for text in row.texts]
        if row.operation != "apply":
            return partial(rfc_6902.make_patch, before, after)
        patch = rfc_6902.make_patch(before, result_of(row))
        return partial(patch.apply, before)

    return in_process(prepare)


def deepdiff() -> Prepare:
    """Diff two configurations."""
    diff = import_module("deepdiff").DeepDiff

    def prepare(row: Row) -> Run | None:
        if row.operation == "apply":
            return None
        before, after, *_ = [json.loads(text) for text in row.texts]
        return partial(diff, before, after)

    return in_process(prepare)
