"""What an update may not change, where Go has code: see ``smp._storage.immutable``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from smp._storage.semantic_equality import is_changed, is_empty, is_nil, read_at
from smp._values.quantities import Quantity, read_quantity
from smp._values.values import (
    ABSENT,
    JSON,
    Absent,
    JSONObject,
    as_list,
    as_object,
    as_text,
    same,
    value_key,
)
from smp.paths import Key, Path, Step
from smp.schema.go_structs import print_struct
from smp.violations import Reason, Violation


def make_violation(
    steps: Sequence[Step],
    value: JSON | Absent,
    message: str,
    reason: Reason = "FieldValueInvalid",
    *,
    struct: str = "",
) -> Violation:
    """Make the violation of a value that may not be what it became.

    ``struct`` is the Go type that a server prints.
    """
    text = f"Forbidden: {message}"
    if reason == "FieldValueInvalid":
        shown = "null" if isinstance(value, Absent) else print_struct(value, struct)
        text = f"Invalid value: {shown}: {message}"
    return Violation("field-immutable", Path(tuple(steps)), reason, text, value)


_ADDED_TOLERATIONS: Final = frozenset(
    {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}
)


# The effects of tolerations for a taint that evicts.
_EVICTING: Final = (None, "", "NoExecute")


def _compare_pods(old: JSONObject, new: JSONObject) -> Iterator[Violation]:
    """Compare what a Pod may change in one direction only. Go: ValidatePodUpdate."""
    yield from _compare_annotations(old, new)
    steps = ("spec", "activeDeadlineSeconds")
    before, after = read_at(old, steps), read_at(new, steps)
    if type(before) is int and type(after) is int and before < after:
        message = "must be less than or equal to previous value"
        yield make_violation(steps, after, message)
    yield from _compare_tolerations(old, new)
    gates = read_at(old, ("spec", "schedulingGates"))
    known = {as_text(as_object(gate).get("name")) for gate in as_list(gates)}
    for index, gate in enumerate(as_list(read_at(new, ("spec", "schedulingGates")))):
        name = as_text(as_object(gate).get("name"))
        if name not in known:
            # Go: validateOnlyDeletedSchedulingGates.
            message = "only deletion is allowed, but found new scheduling gate"
            place = ("spec", "schedulingGates", index, "name")
            yield make_violation(
                place, name, f"{message} '{name}'", "FieldValueForbidden"
            )
    if not is_empty(gates):
        yield from _compare_gated_pod(old, new)


_APP_ARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_MIRROR: Final = "kubernetes.io/config.mirror"


def _compare_annotations(old: JSONObject, new: JSONObject) -> Iterator[Violation]:
    """Compare annotations of the kubelet. Go: ValidatePodSpecificAnnotationUpdates."""
    steps = ("metadata", "annotations")
    before, after = as_object(read_at(old, steps)), as_object(read_at(new, steps))
    for name in {**before, **after}:
        if same(before.get(name, ABSENT), after.get(name, ABSENT)):
            continue
        verb = "remove or update" if name in before else "add"
        message = ""
        if name.startswith(_APP_ARMOR):
            message = f"may not {verb} AppArmor annotations"
        elif name == _MIRROR:
            message = f"may not {verb} mirror pod annotation"
        if message:
            place = (*steps, Key(name))
            yield make_violation(place, ABSENT, message, "FieldValueForbidden")


def _compare_gated_pod(old: JSONObject, new: JSONObject) -> Iterator[Violation]:
    """Compare what a Pod with scheduling gates may add to where it is scheduled.

    Go: validateNodeSelectorMutation, validateNodeAffinityMutation.
    """
    steps: tuple[str, ...] = ("spec", "nodeSelector")
    before, after = as_object(read_at(old, steps)), as_object(read_at(new, steps))
    if any(not same(after.get(name, ABSENT), before[name]) for name in before):
        message = "only additions to spec.nodeSelector are allowed"
        message += " (no mutations or deletions)"
        yield make_violation(steps, after, message)
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    steps = ("spec", "affinity", "nodeAffinity", required, "nodeSelectorTerms")
    old_terms, new_terms = as_list(read_at(old, steps)), as_list(read_at(new, steps))
    if old_terms and len(old_terms) != len(new_terms):
        message = "no additions/deletions to non-empty NodeSelectorTerms list are"
        yield make_violation(steps, [*new_terms], f"{message} allowed")
        return
    for index, old_term in enumerate(old_terms):
        new_term = new_terms[index]
        if not _has_only_additions(as_object(old_term), as_object(new_term)):
            message = "only additions are allowed (no mutations or deletions)"
            yield make_violation((*steps, index), new_term, message)


def _has_only_additions(old: JSONObject, new: JSONObject) -> bool:
    """Tell whether a term is the old one, with more at its end.

    Go: validateNodeSelectorTermHasOnlyAdditions.
    """
    names = ("matchExpressions", "matchFields")
    if all(is_empty(old.get(name)) for name in names):
        return all(is_empty(new.get(name)) for name in names)
    for name in names:
        before, after = as_list(old.get(name)), as_list(new.get(name))
        if is_changed([*before], after[: len(before)]):
            return False
    return True


def _compare_tolerations(old: JSONObject, new: JSONObject) -> Iterator[Violation]:
    """Compare tolerations: only additions are allowed.

    Go: pkg/apis/core/validation, validateOnlyAddedTolerations. The admission plugin
    DefaultTolerationSeconds adds its own tolerations again where an update drops them.
    """
    before = as_list(read_at(old, ("spec", "tolerations")))
    after = as_list(read_at(new, ("spec", "tolerations")))
    if before is after:
        return
    # Lists of tolerations may be long.
    kept = {_toleration_key(other) for other in after}
    for toleration in before:
        key = as_text(as_object(toleration).get("key"))
        if key in _ADDED_TOLERATIONS:
            others = [as_object(other) for other in after]
            keys = [
                other.get("key") for other in others if other.get("effect") in _EVICTING
            ]
            if key not in keys and None not in keys:
                continue
        if _toleration_key(toleration) not in kept:
            message = "existing toleration can not be modified except its"
            message += " tolerationSeconds"
            steps = ("spec", "tolerations")
            yield make_violation(steps, [*after], message, "FieldValueForbidden")
            return


def _toleration_key(toleration: JSON) -> object:
    members: JSONObject = {}
    for name, value in as_object(toleration).items():
        if name != "tolerationSeconds" and not is_empty(value):
            members[name] = value
    return value_key(members)


def _compare_addresses(old: JSONObject, new: JSONObject) -> Iterator[Violation]:
    """Compare the addresses of Services, which may be left out and not changed.

    Go: pkg/registry/core/service/storage, patchAllocatedValues and normalizeClusterIPs;
    pkg/apis/core/validation, validateUpgradeDowngradeClusterIPs.
    """
    if old.get("spec", ABSENT) is new.get("spec", ABSENT):
        return
    for service in (old, new):
        if read_at(service, ("spec", "type")) == "ExternalName":
            return
    was = as_text(read_at(old, ("spec", "clusterIP")))
    # An address that is left out is the one that was allocated.
    address = as_text(read_at(new, ("spec", "clusterIP"))) or was
    allocated = as_list(read_at(old, ("spec", "clusterIPs")))
    addresses = as_list(read_at(new, ("spec", "clusterIPs"))) or allocated
    if address != was and same(addresses, allocated):
        addresses = [address]
    if was == address == "None":
        type_ = as_text(read_at(new, ("spec", "type")))
        # Go: ValidateService; an address that the object has is judged by its table.
        if type_ in ("NodePort", "LoadBalancer") and "clusterIP" not in as_object(
            new.get("spec")
        ):
            message = f"may not be set to 'None' for {type_} services"
            yield make_violation(("spec", "clusterIPs", 0), "None", message)
        return
    if was and addresses and addresses[0] != was:
        steps = ("spec", "clusterIPs", 0)
        yield make_violation(steps, [*addresses], "may not change once set")
        return
    if address != "None":
        yield from _compare_families(old, new, [as_text(each) for each in addresses])


def _compare_families(
    old: JSONObject, new: JSONObject, addresses: list[str]
) -> Iterator[Violation]:
    """Compare the families of the addresses, which what is left out follows.

    Go: pkg/registry/core/service/storage, initIPFamilyFields; pkg/apis/core/validation,
    ValidateServiceClusterIPsRelatedFields.
    """
    steps = ("spec", "ipFamilyPolicy")
    policy = as_text(read_at(new, steps)) or as_text(read_at(old, steps))
    names = ("spec", "ipFamilies")
    families, former = as_list(read_at(new, names)), as_list(read_at(old, names))
    for index, (family, address) in enumerate(zip(families, addresses, strict=False)):
        expected = "IPv6" if ":" in address else "IPv4"
        if family in ("IPv4", "IPv6") and family != expected:
            message = f"expected an {family} value as indicated by"
            message += f" `ipFamilies[{index}]`"
            yield make_violation(("spec", "clusterIPs", index), address, message)
            return
    if policy == "SingleStack":
        if same([*families], [*former]):
            # Go: the second one goes, as the policy says.
            return
        if len(families) > 1:
            message = "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP"
            yield make_violation(steps, policy, f"{message} families are specified")
    elif families and len(former) > len(families):
        # Go: reducedIPFamilies.
        message = "must be 'SingleStack' to release the secondary IP family"
        yield make_violation(steps, policy, message)


def _job(old: JSONObject, new: JSONObject) -> Iterator[Violation]:
    """Compare completions, which an Indexed Job may change with its parallelism.

    Go: pkg/apis/batch/validation, validateCompletions.
    """
    before = read_at(old, ("spec", "completions"))
    after = read_at(new, ("spec", "completions"))
    if before is after or not is_changed(before, after):
        return
    message = "field is immutable"
    if read_at(new, ("spec", "completionMode")) == "Indexed":
        if is_empty(after) or same(after, read_at(new, ("spec", "parallelism"))):
            return
        message = "can only be modified in tandem with spec.parallelism"
    yield make_violation(("spec", "completions"), after, message)


# Labels of nodes that may be renamed (Go: getMaskNodeSelectorLabelChangeEqualities).
_RENAMED_LABELS: Final = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}


def _persistent_volume(old: JSONObject, new: JSONObject) -> Iterator[Violation]:
    """Compare where a volume is reached from, which may be set once.

    Go: pkg/apis/core/validation, validatePvNodeAffinity.
    """
    steps = ("spec", "nodeAffinity")
    before, after = read_at(old, steps), read_at(new, steps)
    if is_empty(before) or before is after:
        return
    if is_changed(_add_new_labels(before), _add_new_labels(after)):
        message = "field is immutable, except for updating from beta label to GA"
        yield make_violation(("nodeAffinity",), after, message)


def _add_new_labels(affinity: JSON | Absent) -> JSONObject:
    """Return a node affinity of a volume with the newer names of labels."""
    required = as_object(as_object(affinity).get("required"))
    terms: list[JSON] = []
    for term in as_list(required.get("nodeSelectorTerms")):
        members: JSONObject = {}
        for name, requirements in as_object(term).items():
            renamed: list[JSON] = []
            for each in as_list(requirements):
                key = as_text(as_object(each).get("key"))
                renamed.append(
                    {**as_object(each), "key": _RENAMED_LABELS.get(key, key)}
                )
            members[name] = renamed
        terms.append(members)
    return {"required": {**required, "nodeSelectorTerms": terms}}


def _service_cidr(old: JSONObject, new: JSONObject) -> Iterator[Violation]:
    """Compare the CIDRs: one of another family may be added.

    Go: pkg/apis/networking/validation, ValidateServiceCIDRUpdate.
    """
    steps = ("spec", "cidrs")
    before, after = as_list(read_at(old, steps)), as_list(read_at(new, steps))
    if len(before) != len(after) and (len(before), len(after)) != (1, 2):
        yield make_violation(steps, read_at(new, steps), "field is immutable")
        return
    for index, value in enumerate(before):
        if not same(value, after[index]):
            yield make_violation((*steps, index), after[index], "field is immutable")


def _claim(old: JSONObject, new: JSONObject) -> Iterator[Violation]:
    """Compare the size of a claim with the one that it has reached.

    Go: pkg/apis/core/validation, ValidatePersistentVolumeClaimUpdate.
    """
    yield from _storage_class(old, new)
    steps = ("spec", "resources", "requests", "storage")
    was, wanted = _read_size(old, steps), _read_size(new, steps)
    reached = _read_size(old, ("status", "capacity", "storage"))
    if was is None or wanted is None or reached is None:
        return
    if wanted.compare(was) < 0 and wanted.compare(reached) <= 0:
        message = "field can not be less than status.capacity"
        yield make_violation(steps, ABSENT, message, "FieldValueForbidden")


def _read_size(claim: JSONObject, steps: Sequence[str]) -> Quantity | None:
    value = read_at(claim, steps)
    return read_quantity("0" if isinstance(value, Absent) else value)


_CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"


def _storage_class(old: JSONObject, new: JSONObject) -> Iterator[Violation]:
    """Compare the annotation that was the class before there was a field for it.

    Go: validateStorageClassUpgradeFromAnnotation, validateStorageClassUpgradeFromNil.
    """
    steps = ("metadata", "annotations")
    before = as_text(as_object(read_at(old, steps)).get(_CLASS_ANNOTATION))
    after = as_text(as_object(read_at(new, steps)).get(_CLASS_ANNOTATION))
    names = ("spec", "storageClassName")
    named = read_at(new, names)
    chosen = as_text(named)
    is_added = bool(before) and not is_nil(named) and is_nil(read_at(old, names))
    if after != before and (after or not is_added or chosen != before):
        yield make_violation((*steps, _CLASS_ANNOTATION), after, "field is immutable")
    if is_added and chosen != before:
        message = "spec is immutable after creation except resources.requests and"
        message += " volumeAttributesClassName for bound claims"
        yield make_violation(("spec",), ABSENT, message, "FieldValueForbidden")


def _csi_node(old: JSONObject, new: JSONObject) -> Iterator[Violation]:
    """Compare drivers of one name.

    Go: pkg/apis/storage/validation, ValidateCSINodeUpdate.
    """
    steps = ("spec", "drivers")
    known: dict[str, JSON] = {}
    for driver in as_list(read_at(old, steps)):
        known.setdefault(as_text(as_object(driver).get("name")), driver)
    for driver in as_list(read_at(new, steps)):
        before = known.get(as_text(as_object(driver).get("name")))
        if before is not None and is_changed(before, driver, {"allocatable": None}):
            message = "field is immutable"
            yield make_violation(steps, driver, message, struct="CSINodeDriver")


def _definition(old: JSONObject, new: JSONObject) -> Iterator[Violation]:
    """Compare the versions with those in which objects may be stored.

    Go: apiextensions-apiserver, ValidateCustomResourceDefinitionStoredVersions.
    """
    versions = as_list(read_at(new, ("spec", "versions")))
    names = {as_text(as_object(version).get("name")) for version in versions}
    steps = ("status", "storedVersions")
    for index, stored_version in enumerate(as_list(read_at(old, steps))):
        name = as_text(stored_version)
        if name not in names:
            message = f"missing from spec.versions; {name} was previously a storage"
            message += " version, and must remain in spec.versions until a storage"
            message += f" migration ensures no data remains persisted in {name} and"
            message += f" removes {name} from status.storedVersions"
            yield make_violation((*steps, index), name, message)


# What a row of the table cannot say.
UPDATE_RULES: Final[
    Mapping[tuple[str, str], Callable[[JSONObject, JSONObject], Iterator[Violation]]]
] = {
    ("", "PersistentVolume"): _persistent_volume,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "Pod"): _compare_pods,
    ("", "Service"): _compare_addresses,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _definition,
    ("batch", "Job"): _job,
    ("networking.k8s.io", "ServiceCIDR"): _service_cidr,
    ("storage.k8s.io", "CSINode"): _csi_node,
}
