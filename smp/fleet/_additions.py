"""What somebody has added to a live object by hand: fields that no manifest has.

No apply removes them, and no three-way comparison shows them: neither side of it ever
had them. But a server writes down who set them. What is left of its managers without
those that apply manifests, and without the parts of Kubernetes, are people with
``kubectl edit`` and ``kubectl patch``, and programs that nobody has named in a rule.
"""

from __future__ import annotations

from typing import Final

from smp._values.values import ABSENT, JSONObject, as_object
from smp.comparison import Rules, compared, is_stored
from smp.managed_fields import FieldSet, Owner, elements_of, fieldset_of, removed
from smp.paths import Path, value_at
from smp.schema.model import Schema

EXTRA_FIELDS: Final = "extra-fields"
# Field managers that write what a manifest says, and how: kubectl (Go:
# pkg/cmd/apply, FieldManagerClientSideApply; csaupgrade; pkg/cmd/create), Helm (Go:
# pkg/kube, ManagedFieldsManager), Argo CD (Go: common, ArgoCDSSAManager), Flux.
_APPLIERS: Final = frozenset(
    {
        "argocd-application-controller",
        "argocd-controller",
        "before-first-apply",
        "helm",
        "helm-controller",
        "kubectl-client-side-apply",
        "kubectl-create",
        "kustomize-controller",
    }
)
# The names of the commands in k8s.io/kubernetes/cmd, which are their field managers.
_CONTROLLERS: Final = frozenset(
    {
        "cloud-controller-manager",
        "kube-apiserver",
        "kube-controller-manager",
        "kube-proxy",
        "kube-scheduler",
        "kubelet",
    }
)


def additions_of(
    manifest: JSONObject,
    live: JSONObject,
    schema: Schema,
    known: tuple[Owner, ...],
    rules: Rules,
) -> list[Path]:
    """Return where live has what the manifest lacks, and a stranger has set.

    Raises what fieldset_of raises.
    """
    wanted = fieldset_of(manifest, schema)
    paths: list[Path] = []
    for owner in known:
        if not _is_stranger(owner, wanted):
            continue
        for path in owner.fields.paths():
            # What was set and is gone by now is owned as well.
            is_there = value_at(live, path) is not ABSENT
            if is_there and not wanted.reaches(elements_of(path)):
                paths.append(path)
    if not paths:
        return []
    # The comparison names the outermost of them, and knows what does not matter.
    without = removed(live, schema, FieldSet.of(*paths))
    comparison = compared(
        as_object(without),
        live,
        schema,
        rules=rules,
        leaves_out_server_fields=False,
        live_is_stored=is_stored(live),
    )
    return [
        difference.path
        for difference in comparison.differences
        if difference.path.steps[0] != "status"
    ]


def _is_stranger(owner: Owner, wanted: FieldSet) -> bool:
    # Controllers write the status, and no manifest is about it.
    if owner.subresource == "status":
        return False
    if owner.manager in _APPLIERS or owner.manager in _CONTROLLERS:
        return False
    # Whoever applies this manifest owns something of it (KEP-555).
    return owner.operation != "Apply" or not owner.fields.intersection(wanted)
