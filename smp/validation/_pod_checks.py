"""The rules about Pods: their containers, ports, volumes and mounts.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from smp._values.names import label_key_problems
from smp._values.quantities import DECIMAL, Quantity, read_quantity, sum_containers
from smp._values.values import (
    ABSENT,
    JSON,
    JSONObject,
    as_list,
    as_object,
    as_text,
    objects_in,
    same,
)
from smp.paths import Element, Key, Path, Step
from smp.validation._formats import FORMATS
from smp.validation._judged import Checks, Judged, Value, at, elements
from smp.violations import Violation, unsupported, violation_of

_NOTHING: Final = Quantity(0, "", 0, DECIMAL)
# Go: k8s.io/kubernetes, pkg/apis/core/pods, ConvertDownwardAPIFieldLabel.
_KNOWN_TO_CONVERT: Final = (
    "metadata.annotations",
    "metadata.labels",
    "spec.host",
    "spec.restartPolicy",
    "spec.schedulerName",
    "status.phase",
)
_WITH_KEY: Final = re.compile(r"(.*)\['(.*)'\]", re.DOTALL)


def unique_beside(judged: Judged) -> None:
    """Refuse containers with the name of another one, also of the lists it ``reads``.

    Go: core validateInitContainers, validateEphemeralContainers.
    """
    seen: set[str] = set()
    for member in judged.row.reads:
        for container in as_list(judged.obj.get(member)):
            seen.add(as_text(as_object(container).get("name")))
    for index, container in enumerate(elements(judged)):
        name = as_text(container.get("name"))
        if name and name in seen:
            judged.add("FieldValueDuplicate", "", name, (index, "name"))
        seen.add(name)


def init_containers(judged: Judged) -> None:
    """Forbid the probes of init containers that end.

    Go: core validateInitContainers.
    """
    for index, container in enumerate(elements(judged)):
        # One that is restarted is a sidecar, which has probes.
        if container.get("restartPolicy") == "Always":
            continue
        for name in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
            if container.get(name) is not None:
                judged.add(
                    "FieldValueForbidden", judged.row.message, ABSENT, (index, name)
                )


def _list_host_ports(judged: Judged) -> list[tuple[tuple[Step, ...], JSONObject]]:
    found: list[tuple[tuple[Step, ...], JSONObject]] = []
    for index, container in enumerate(elements(judged)):
        for at_port, listed in enumerate(as_list(container.get("ports"))):
            port = as_object(listed)
            # Go: a port of zero is no port of the host.
            if port.get("hostPort"):
                found.append(((index, "ports", at_port, "hostPort"), port))
    return found


def host_ports(judged: Judged) -> None:
    """Refuse a port of the host that two containers take.

    Go: core AccumulateUniqueHostPorts.
    """
    seen: set[str] = set()
    for below, port in _list_host_ports(judged):
        protocol, ip = as_text(port.get("protocol")), as_text(port.get("hostIP"))
        text = f"{protocol}/{ip}/{port['hostPort']}"
        if text in seen:
            judged.add("FieldValueDuplicate", "", text, below)
        seen.add(text)


def same_host_ports(judged: Judged) -> None:
    """Require that ports of the host are those of the containers.

    A Pod has them by default, and those of a template get them later. Go: core
    validatePodHostNetworkDeps.
    """
    if judged.obj.get("hostNetwork") is not True:
        return
    for below, port in _list_host_ports(judged):
        if port["hostPort"] != port.get("containerPort"):
            judged.invalid(port["hostPort"], judged.row.message, *below)


def check_one_source(judged: Judged) -> None:
    """Require that the two fields for the source of a claim say the same.

    Go: core ValidatePersistentVolumeClaimSpec.
    """
    one, other = judged.obj.get("dataSource"), judged.obj.get("dataSourceRef")
    if not isinstance(one, dict) or not isinstance(other, dict):
        return
    is_same = same(one.get("apiGroup"), other.get("apiGroup"))
    for member in ("kind", "name"):
        is_same = is_same and as_text(one.get(member)) == as_text(other.get(member))
    if not is_same:
        # Go prints the path of the field, which has no members that are published.
        judged.invalid({}, "must match dataSourceRef")


def check_mounted_volumes(judged: Judged) -> None:
    """Require that what containers mount are volumes of the Pod.

    The mounts are the elements in the field ``key`` of each container. Go: core
    ValidateVolumeMounts and ValidateVolumeDevices. A volume that is refused itself has
    no name to mount there. The claims of a StatefulSet become volumes of its Pods (Go:
    apps volumesToAddForTemplates).
    """
    *above, last = judged.row.field.split(".")
    spec, old = at(judged.obj, (*above,)), at(judged.old, (*above,))
    names: set[str] = set()
    mounted: set[str] = set()
    for volume in as_list(at(spec, ("volumes",))):
        name = as_text(as_object(volume).get("name"))
        if not {"persistentVolumeClaim", "ephemeral"}.intersection(as_object(volume)):
            mounted.add(name)
        # Go: core ValidateVolumes keeps the volumes that are valid themselves.
        if name and not FORMATS["dns-label"](name):
            names.add(name)
    claims = judged.obj.get("volumeClaimTemplates", ABSENT)
    for claim in as_list(claims):
        names.add(as_text(as_object(as_object(claim).get("metadata")).get("name")))
    # A container that stays as it was, beside the same volumes, was judged before.
    former: list[JSON] = []
    same_volumes = at(spec, ("volumes",)) is at(old, ("volumes",))
    if same_volumes and claims is judged.old.get("volumeClaimTemplates", ABSENT):
        former = as_list(at(old, (last,)))
    looked_at = {id(container) for container in former}
    for index, listed in enumerate(as_list(judged.value)):
        if id(listed) in looked_at:
            continue
        # Go: core IsMatchedVolume.
        mounts = as_list(as_object(listed).get(judged.row.key))
        for at_mount, mount in enumerate(mounts):
            name = as_text(as_object(mount).get("name"))
            if name not in names:
                below = (index, judged.row.key, at_mount, "name")
                judged.add("FieldValueNotFound", "", name, below)
            elif name in mounted and judged.row.key == "volumeDevices":
                message = "can only use volume source type of PersistentVolumeClaim or"
                message += " Ephemeral for block mode"
                judged.invalid(name, message, index, judged.row.key, at_mount, "name")


def find_mounts_of_refused(
    obj: JSONObject, violations: Iterable[Violation]
) -> Iterator[Violation]:
    """Yield the mounts of volumes in which these violations are.

    To a server there are no such volumes (Go: core ValidateVolumes, of which
    ValidateVolumeMounts gets the valid ones).
    """
    refused: dict[tuple[Step, ...], set[int]] = {}
    for violation in violations:
        steps = violation.path.steps
        for place, step in enumerate(steps):
            index = step.index if isinstance(step, Element) else step
            if place and steps[place - 1] == "volumes" and isinstance(index, int):
                refused.setdefault(steps[: place - 1], set()).add(index)
    for above, indexes in refused.items():
        spec: Value = obj
        for step in above:
            spec = as_object(spec).get(str(step), ABSENT)
        names: tuple[set[str], set[str]] = (set(), set())
        for index, volume in enumerate(objects_in(as_object(spec).get("volumes"))):
            names[index in indexes].add(as_text(volume.get("name")))
        valid, missing = names
        claims = as_object(obj.get("spec")).get("volumeClaimTemplates")
        for claim in objects_in(claims):
            valid.add(as_text(as_object(claim.get("metadata")).get("name")))
        for steps, name in _find_mounts(as_object(spec)):
            # What is no name is none of a volume in any case.
            if name in missing - valid and not FORMATS["dns-label"](name):
                path = Path((*above, *steps, "name"))
                yield violation_of("FieldValueNotFound", path, "", name)


def _find_mounts(spec: JSONObject) -> Iterator[tuple[tuple[Step, ...], str]]:
    """Yield the places of the mounts in a Pod, and the names of their volumes."""
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(objects_in(spec.get(field))):
            for key in ("volumeMounts", "volumeDevices"):
                for number, mount in enumerate(objects_in(container.get(key))):
                    yield (field, index, key, number), as_text(mount.get("name"))


def check_variable_files(judged: Judged) -> None:
    """Require that files of variables are in volumes of the Pod that are emptyDir.

    Go: core validateFileKeyRefVolumes.
    """
    volumes: dict[str, JSONObject] = {}
    for volume in objects_in(judged.obj.get("volumes")):
        volumes[as_text(volume.get("name"))] = volume
    for index, container in enumerate(elements(judged)):
        for at_variable, variable in enumerate(objects_in(container.get("env"))):
            file = at(variable, ("valueFrom", "fileKeyRef"))
            if not isinstance(file, dict):
                continue
            name = as_text(file.get("volumeName"))
            below = (index, "env", at_variable, "valueFrom", "fileKeyRef", "volumeName")
            if name not in volumes:
                judged.add("FieldValueNotFound", "", name, below)
            elif not isinstance(volumes[name].get("emptyDir"), dict):
                message = "referenced volume must be of type emptyDir"
                judged.invalid(name, message, *below)


def unique_mount_paths(judged: Judged) -> None:
    """Refuse two mounts at one path (Go: core ValidateVolumeMounts)."""
    seen: set[str] = set()
    for index, mount in enumerate(elements(judged)):
        path = as_text(mount.get("mountPath"))
        if path in seen:
            judged.invalid(path, judged.row.message, index, "mountPath")
        seen.add(path)


def pod_field(judged: Judged) -> None:
    """Support the fields ``values`` of a Pod, and its labels and annotations by key.

    Go: core validateObjectFieldSelector.
    """
    path, supported = as_text(judged.value), [*judged.row.values]
    subscripted = _WITH_KEY.fullmatch(path)
    problem = ""
    if subscripted:
        if subscripted[1] not in ("metadata.annotations", "metadata.labels"):
            problem = "field label does not support subscript"
        else:
            key = subscripted[2]
            if subscripted[1] == "metadata.annotations":
                key = key.lower()
            for wrong in label_key_problems(key):
                judged.invalid(key, wrong)
    elif path not in supported and path not in _KNOWN_TO_CONVERT:
        problem = "field label not supported"
    elif path and path not in supported and path != "spec.host":
        values: list[JSON] = [*supported]
        judged.found.append(unsupported(Path(judged.steps), path, values))
    if path and problem:
        judged.invalid(path, f"error converting fieldPath: {problem}: {path}")


# Seconds that a Pod has to end where it does not say.
_GRACE: Final = 30
_POD_RESOURCES: Final = ("cpu", "memory")
_FIELD_RESOURCES: Final = (
    *("limits.cpu", "limits.ephemeral-storage", "limits.memory"),
    *("requests.cpu", "requests.ephemeral-storage", "requests.memory"),
)
_CPU_DIVISORS: Final = ("1m", "1")
_BYTE_DIVISORS: Final = (
    *("1", "1k", "1M", "1G", "1T", "1P", "1E"),
    *("1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"),
)


def sleeps(judged: Judged) -> None:
    """Refuse a hook that sleeps longer than the Pod has to end.

    Go: core validateSleepAction.
    """
    grace = judged.obj.get("terminationGracePeriodSeconds", _GRACE)
    most = grace if isinstance(grace, int) else _GRACE
    for index, container in enumerate(elements(judged)):
        for hook in ("postStart", "preStop"):
            seconds = at(container, ("lifecycle", hook, "sleep", "seconds"))
            if isinstance(seconds, int) and not 0 <= seconds <= most:
                message = (
                    "must be non-negative and less than terminationGracePeriodSeconds"
                    f" ({most})"
                )
                below = (index, "lifecycle", hook, "sleep")
                judged.invalid(seconds, message, *below)


def container_fields(judged: Judged) -> None:
    """Forbid the fields ``values`` of containers."""
    for index, container in enumerate(elements(judged)):
        for path in judged.row.values:
            steps = (*path.split("."),)
            if at(container, steps) not in (ABSENT, None):
                below: tuple[Step, ...] = (index, *steps)
                judged.add("FieldValueForbidden", judged.row.message, ABSENT, below)


def container_values(judged: Judged) -> None:
    """Refuse containers that have one of ``values`` in the field ``key``."""
    steps = (*judged.row.key.split("."),)
    for index, container in enumerate(elements(judged)):
        value = at(container, steps)
        if value in judged.row.values:
            judged.invalid(value, judged.row.message, index, *steps)


def check_targets(judged: Judged) -> None:
    """Require containers that are there (Go: core validateEphemeralContainers)."""
    others = [
        each for name in judged.row.reads for each in as_list(judged.obj.get(name))
    ]
    known = ["", *[as_object(other).get("name") for other in others]]
    for index, container in enumerate(elements(judged)):
        target = as_text(container.get("targetContainerName"))
        if target not in known:
            judged.add("FieldValueNotFound", "", target, (index, "targetContainerName"))


def above_containers(judged: Judged) -> None:
    """Refuse requests of a Pod below those of its containers together.

    Go: k8s.io/component-helpers, resource, AggregateContainerRequests.
    """
    totals = sum_containers(judged.obj, "requests")
    for name, value in as_object(judged.value).items():
        total, quantity = totals.get(name, _NOTHING), read_quantity(value)
        if quantity is not None and total.compare(quantity) > 0:
            message = judged.row.message.format(other=total.text)
            judged.invalid(value, message, Key(name))


def claimed_names(judged: Judged) -> None:
    """Require that the claims of containers are those of the Pod.

    Go: core validateResourceClaimNames.
    """
    claims = as_list(judged.obj.get("resourceClaims"))
    known = [as_object(claim).get("name") for claim in claims]
    for index, container in enumerate(elements(judged)):
        for number, claim in enumerate(as_list(at(container, ("resources", "claims")))):
            name = as_object(claim).get("name")
            if name not in known:
                is_empty = "" if known else " which is empty"
                message = (
                    f"must be one of the names in pod.spec.resourceClaims{is_empty}"
                )
                below = (index, "resources", "claims", number)
                judged.add("FieldValueNotFound", message, name, below)


def pod_resources(judged: Judged) -> None:
    """Support the resources that a whole Pod may have (Go: pod-level resources)."""
    for name in as_object(judged.value):
        if name not in _POD_RESOURCES and not name.startswith("hugepages-"):
            path = Path((*judged.steps, Key(name)))
            values: list[JSON] = ["cpu", "hugepages-", "memory"]
            judged.found.append(unsupported(path, name, values))


def resource_field(judged: Judged) -> None:
    """Support the resources of containers that a field may show, and divisors.

    Go: core validateContainerResourceFieldSelector.
    """
    selector = as_object(judged.value)
    resource = as_text(selector.get("resource"))
    pages = resource.startswith(("limits.hugepages-", "requests.hugepages-"))
    if resource and resource not in _FIELD_RESOURCES and not pages:
        path = Path((*judged.steps, "resource"))
        judged.found.append(unsupported(path, resource, [*_FIELD_RESOURCES]))
    quantity = read_quantity(selector.get("divisor"))
    name = resource.partition(".")[2]
    divisors = _CPU_DIVISORS if name == "cpu" else _BYTE_DIVISORS
    if quantity is not None and not quantity.equals(_NOTHING):
        known = [read_quantity(each) for each in divisors]
        if not any(each is not None and each.equals(quantity) for each in known):
            shown = " and ".join(divisors) if name == "cpu" else ", ".join(divisors)
            message = (
                f"only divisor's values {shown} are supported with the {name} resource"
            )
            judged.invalid(resource, message, "divisor")


def privileged_mounts(judged: Judged) -> None:
    """Forbid mounts that are propagated both ways by a container without privileges.

    Go: core validateMountPropagation, which does not say which mount it is.
    """
    is_privileged = at(judged.obj, ("securityContext", "privileged")) is True
    for mount in elements(judged):
        if mount.get("mountPropagation") == "Bidirectional" and not is_privileged:
            below = ("mountPropagation",)
            judged.add("FieldValueForbidden", judged.row.message, ABSENT, below)


def mounts_and_devices(judged: Judged) -> None:
    """Refuse a mount that is a device as well (Go: core ValidateVolumeMounts)."""
    devices = [as_object(each) for each in as_list(judged.obj.get("volumeDevices"))]
    names = [device.get("name") for device in devices]
    paths = [device.get("devicePath") for device in devices]
    for index, mount in enumerate(elements(judged)):
        name, path = mount.get("name"), mount.get("mountPath")
        if name in names:
            message = "must not already exist in volumeDevices"
            judged.invalid(name, message, index, "name")
        if path in paths:
            message = "must not already exist as a path in volumeDevices"
            judged.invalid(path, message, index, "mountPath")


def projected_paths(judged: Judged) -> None:
    """Refuse two projections to one path (Go: validateProjectionSources)."""
    seen: set[str] = set()
    for source in elements(judged):
        paths: list[JSON] = []
        for name in ("configMap", "secret", "downwardAPI"):
            items = as_list(at(source, (name, "items")))
            paths += [as_object(item).get("path") for item in items]
        path = at(source, ("clusterTrustBundle", "path"))
        paths += [path] if isinstance(path, str) else []
        for path in paths:
            if isinstance(path, str) and path in seen:
                judged.invalid(path, "conflicting duplicate paths")
            seen.add(as_text(path))


CHECKS: Final[Checks] = {
    "above-containers": above_containers,
    "claimed": claimed_names,
    "container-fields": container_fields,
    "container-values": container_values,
    "host-ports": host_ports,
    "init-containers": init_containers,
    "mounts": check_mounted_volumes,
    "mounts-and-devices": mounts_and_devices,
    "one-source": check_one_source,
    "pod-field": pod_field,
    "pod-resources": pod_resources,
    "privileged-mounts": privileged_mounts,
    "projected-paths": projected_paths,
    "resource-field": resource_field,
    "same-host-ports": same_host_ports,
    "sleeps": sleeps,
    "targets": check_targets,
    "unique-beside": unique_beside,
    "unique-mount-paths": unique_mount_paths,
    "variable-files": check_variable_files,
}
