"""The rules that the table names: what each finds wrong with an object.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from smp.defaults import amount_of
from smp.label_selectors import Operator, Requirement
from smp.names import MAX_ANNOTATIONS, annotations_size, label_key_problems
from smp.paths import Key, Path, Step
from smp.validation._formats import FORMATS, percent, port_name
from smp.validation._table import Row
from smp.values import (
    ABSENT,
    JSON,
    Absent,
    JSONObject,
    as_list,
    as_object,
    as_text,
    printed,
)
from smp.violations import Reason, Violation, unsupported

Value: TypeAlias = "JSON | Absent"
_CODES: Final[Mapping[str, str]] = {
    "FieldValueDuplicate": "duplicate-value",
    "FieldValueForbidden": "forbidden-value",
    "FieldValueInvalid": "invalid-value",
    "FieldValueNotFound": "not-found-value",
    "FieldValueRequired": "required-value",
    "FieldValueTooLong": "too-long-value",
}
# Go: field.ErrorType.String.
_NAMES: Final[Mapping[str, str]] = {
    "FieldValueDuplicate": "Duplicate value",
    "FieldValueForbidden": "Forbidden",
    "FieldValueInvalid": "Invalid value",
    "FieldValueNotFound": "Not found",
    "FieldValueRequired": "Required value",
    "FieldValueTooLong": "Too long",
}
_WITH_VALUE: Final = (
    "FieldValueDuplicate",
    "FieldValueInvalid",
    "FieldValueNotFound",
)
_MOST_PORTS: Final = 65535


class Judged:
    """An object that is judged by a row, and what was found wrong with it.

    ``value`` is that of the row's field. ``old`` is the object before the update.
    """

    __slots__ = ("found", "obj", "old", "row", "steps", "value")

    def __init__(
        self, row: Row, steps: tuple[Step, ...], obj: JSONObject, old: JSONObject
    ) -> None:
        self.row = row
        self.steps = steps
        self.obj = obj
        self.old = old
        self.value: Value = ABSENT
        self.found: list[Violation] = []

    def add(
        self,
        reason: Reason,
        message: str,
        value: Value = ABSENT,
        below: tuple[Step, ...] = (),
    ) -> None:
        """Add a violation of the value, or of one below it (Go: field.Error)."""
        text = _NAMES[reason]
        if reason in _WITH_VALUE:
            text += f": {shown(value)}"
        if message:
            text += f": {message}"
        path = Path((*self.steps, *below))
        self.found.append(Violation(_CODES[reason], path, reason, text, value))

    def invalid(self, value: Value, message: str, *below: Step) -> None:
        """Add a violation of a value that is not valid (Go: field.Invalid)."""
        self.add("FieldValueInvalid", message, value, below)

    def required(self, message: str, *below: Step) -> None:
        """Add a violation of a value that is missing (Go: field.Required)."""
        self.add("FieldValueRequired", message, ABSENT, below)


def shown(value: Value) -> str:
    """Return a value as the message of a cause has it (Go: field.Error.ErrorBody)."""
    if isinstance(value, Absent):
        return "null"
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def at(value: Value, steps: tuple[str, ...]) -> Value:
    """Return the value at a path, or ABSENT."""
    for step in steps:
        if not isinstance(value, dict):
            return ABSENT
        value = value.get(step, ABSENT)
    return value


def is_missing(value: Value) -> bool:
    """Tell whether a value is what Go takes for unset; an empty struct is set."""
    if isinstance(value, Absent) or value is None or value is False:
        return True
    if isinstance(value, (str, list)):
        return not value
    return isinstance(value, int) and value == 0


def _elements(judged: Judged) -> list[JSONObject]:
    return [as_object(element) for element in as_list(judged.value)]


def required(judged: Judged) -> None:
    """Require a value that is not empty; with ``key``, a key of a map."""
    key = judged.row.key
    if not key and is_missing(judged.value):
        judged.required(judged.row.message)
    elif key and key not in as_object(judged.value):
        judged.required(judged.row.message, Key(key))


def missing(judged: Judged) -> None:
    """Require another value than the one that ``when`` describes."""
    judged.required(judged.row.message)


def forbidden(judged: Judged) -> None:
    """Forbid a value, which is set even where it is zero: it is a pointer in Go."""
    value = judged.value
    if value is not ABSENT and value is not None and value not in ([], ""):
        judged.add("FieldValueForbidden", judged.row.message)


def refused(judged: Judged) -> None:
    """Refuse a value that is set, and none of ``values``, as not valid."""
    row, value = judged.row, judged.value
    if value is ABSENT or value is None or value in ([], "") or value in row.values:
        return
    # A number that is zero is set, but where another value than zero is refused.
    if not (row.values and value == 0):
        judged.invalid(value, row.message)


def in_range(judged: Judged) -> None:
    """Compare an integer with ``minimum`` and ``maximum``.

    With ``zero`` "unset" zero counts as absent, with "judged" absent counts as zero.
    """
    row, value = judged.row, judged.value
    # A field that is no pointer in Go is zero where it is absent.
    if is_missing(value) and row.zero == "judged":
        value = 0
    if isinstance(value, bool) or not isinstance(value, int):
        return
    if value == 0 and row.zero == "unset":
        return
    if (row.minimum is not None and value < row.minimum) or (
        row.maximum is not None and value > row.maximum
    ):
        judged.invalid(value, row.message)


def _is_text_of(judged: Judged, text: JSON, below: tuple[Step, ...]) -> None:
    if not isinstance(text, str):
        return
    if judged.row.format == "label-key":
        problems = label_key_problems(text)
    else:
        problems = [FORMATS[judged.row.format](text)]
    for problem in problems:
        if problem:
            judged.add("FieldValueInvalid", problem, text, below)


def text_format(judged: Judged) -> None:
    """Check the format of a text, or with ``each`` of the texts in a list.

    The empty text is absent, unless ``zero`` is "judged". With ``key`` the texts are
    those that the elements have in that field, and the cause names the list.
    """
    row, value = judged.row, judged.value
    if row.key:
        for element in _elements(judged):
            _is_text_of(judged, element.get(row.key, ""), ())
    elif row.each:
        for index, text in enumerate(as_list(value)):
            _is_text_of(judged, text, (index,))
    elif not is_missing(value):
        _is_text_of(judged, as_text(value), ())
    elif row.zero == "judged":
        _is_text_of(judged, "", ())


def key_formats(judged: Judged) -> None:
    """Check the format of the keys of a map; a cause names the key."""
    for key in as_object(judged.value):
        _is_text_of(judged, key, (Key(key),))


def supported(judged: Judged) -> None:
    """Support ``values`` only (Go: field.NotSupported).

    With ``key`` the value is that of the object in the field, and the cause shows it.
    The empty value is absent, unless ``zero`` is "judged".
    """
    row, value = judged.row, judged.value
    values: list[JSON] = [*row.values]
    if row.each:
        for index, element in enumerate(as_list(value)):
            if element not in values:
                path = Path((*judged.steps, index))
                judged.found.append(unsupported(path, element, values))
        return
    if is_missing(value) and row.zero != "judged":
        return
    if is_missing(value):
        value = ""
    if not isinstance(value, Absent) and value not in values:
        judged.found.append(unsupported(Path(judged.steps), value, values))


def one_of(judged: Judged) -> None:
    """Refuse other texts than ``values``, as not valid."""
    value = judged.value
    if not is_missing(value) and value not in judged.row.values:
        judged.invalid(value, judged.row.message)


def valid_labels(judged: Judged) -> None:
    """Check the keys and the values of labels (Go: ValidateLabels)."""
    # Go walks a map at random; here the order is that of the object.
    for key, value in as_object(judged.value).items():
        for key_problem in label_key_problems(key):
            judged.invalid(key, key_problem)
        problem = FORMATS["label-value"](as_text(value))
        if problem:
            judged.invalid(value, problem)


def valid_annotations(judged: Judged) -> None:
    """Check the keys of annotations, and their size (Go: ValidateAnnotations)."""
    annotations = as_object(judged.value)
    for key in annotations:
        # Go: the case of a key does not matter.
        for problem in label_key_problems(key.lower()):
            judged.invalid(key, problem)
    if annotations_size(annotations) > MAX_ANNOTATIONS:
        judged.add("FieldValueTooLong", f"may not be more than {MAX_ANNOTATIONS} bytes")


def valid_finalizers(judged: Judged) -> None:
    """Check the names of finalizers (Go: ValidateFinalizers, and that of core)."""
    finalizers = [as_text(name) for name in as_list(judged.value)]
    for name in finalizers:
        for problem in label_key_problems(name):
            judged.invalid(name, problem)
    # Go: metav1.FinalizerOrphanDependents and FinalizerDeleteDependents.
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        listed: list[JSON] = [*finalizers]
        judged.invalid(
            listed, "finalizer orphan and foregroundDeletion cannot be both set"
        )


def owner_references(judged: Judged) -> None:
    """Check what owner references name (Go: ValidateOwnerReferences)."""
    controller = ""
    for reference in _elements(judged):
        api_version = as_text(reference.get("apiVersion"))
        # Go: schema.FromAPIVersionAndKind reads what is malformed as empty.
        if not api_version or api_version.count("/") > 1:
            judged.invalid(api_version, "version must not be empty", "apiVersion")
        for name in ("kind", "name", "uid"):
            if is_missing(reference.get(name, ABSENT)):
                judged.invalid("", "must not be empty", name)
        # Go: BannedOwners.
        if api_version == "v1" and reference.get("kind") == "Event":
            judged.add(
                "FieldValueInvalid",
                "/v1, Kind=Event is disallowed from being an owner",
                reference,
            )
        if reference.get("controller") is True:
            kind = as_text(reference.get("kind"))
            named = f"{kind}/{as_text(reference.get('name'))}"
            if controller:
                judged.invalid(
                    judged.value,
                    'Only one reference can have Controller set to true. Found "true"'
                    f" in references for {controller} and {named}",
                )
            controller = controller or named


def required_quantity(judged: Judged) -> None:
    """Require a quantity above zero under ``key``.

    Go: core ValidatePersistentVolumeClaimSpec.
    """
    row = judged.row
    value = as_object(judged.value).get(row.key, ABSENT)
    if isinstance(value, Absent):
        judged.required("", Key(row.key))
        return
    amount = amount_of(value)
    if amount is not None and amount <= 0:
        judged.invalid(printed(value), "must be greater than zero", Key(row.key))


def not_negative(judged: Judged) -> None:
    """Refuse quantities below zero (Go: ValidateResourceQuantityValue)."""
    for name, value in as_object(judged.value).items():
        amount = amount_of(value)
        if amount is not None and amount < 0:
            judged.invalid(
                printed(value), "must be greater than or equal to 0", Key(name)
            )


def positive(judged: Judged) -> None:
    """Refuse a quantity that is not above zero."""
    value = judged.value
    if isinstance(value, Absent):
        return
    amount = amount_of(value)
    if amount is not None and amount <= 0:
        judged.invalid(printed(value), judged.row.message)


def quantity_not_negative(judged: Judged) -> None:
    """Refuse a quantity below zero (Go: ValidateNonnegativeQuantity)."""
    value = judged.value
    if isinstance(value, Absent):
        return
    amount = amount_of(value)
    if amount is not None and amount < 0:
        judged.invalid(printed(value), "must be greater than or equal to 0")


def within_size(judged: Judged) -> None:
    """Compare the bytes of all values with ``maximum``.

    Those of the maps ``values`` are texts, and those of the map ``key`` are base64. Go:
    core ValidateConfigMap, ValidateSecret.
    """
    row = judged.row
    size = 0
    for name in row.values:
        for text in as_object(judged.obj.get(name)).values():
            size += len(as_text(text).encode())
    for text in as_object(judged.obj.get(row.key)).values():
        encoded = as_text(text)
        size += len(encoded) * 3 // 4 - encoded.count("=")
    if row.maximum is not None and size > row.maximum:
        # Go names the whole of a ConfigMap by a path of one empty name.
        below = () if row.field else (Key(""),)
        message = f"may not be more than {row.maximum} bytes"
        judged.add("FieldValueTooLong", message, ABSENT, below)


def required_any(judged: Judged) -> None:
    """Require one of the keys ``values`` in a map; there is a cause for each."""
    keys = as_object(judged.value)
    for key in judged.row.values:
        if key in keys:
            return
    for key in judged.row.values:
        judged.required(judged.row.message, Key(key))


def api_group(judged: Judged) -> None:
    """Require an apiVersion with a group (Go: autoscaling ValidateAPIVersion)."""
    text = as_text(judged.value)
    # Go: schema.ParseGroupVersion: the version alone is that of the core group.
    if "/" not in text:
        judged.invalid(text, judged.row.message)


def any_of(judged: Judged) -> None:
    """Require one of the fields ``values`` of the object in the field."""
    value = judged.value
    if isinstance(value, dict):
        for name in judged.row.values:
            if not is_missing(value.get(name, ABSENT)):
                return
        judged.required(judged.row.message)


def within_limits(judged: Judged) -> None:
    """Compare requests with limits (Go: validateResourceRequirements)."""
    limits = as_object(judged.obj.get("limits"))
    for name, value in as_object(judged.value).items():
        amount, limit = amount_of(value), amount_of(limits.get(name))
        if amount is None or limit is None:
            continue
        text = printed(limits[name])
        # Go: helper.IsOvercommitAllowed: huge pages and extended resources are not.
        if name.startswith("hugepages-") or "/" in name:
            if amount != limit:
                judged.invalid(
                    printed(value), f"must be equal to {name} limit of {text}"
                )
        elif amount > limit:
            judged.invalid(
                printed(value),
                f"must be less than or equal to {name} limit of {text}",
            )


def int_or_percent(judged: Judged) -> None:
    """Check a number or a percentage (Go: apps ValidatePositiveIntOrPercent)."""
    value = judged.value
    if isinstance(value, str):
        problem = percent(value)
        if problem:
            judged.invalid(value, problem)
    elif isinstance(value, int) and value < 0:
        judged.invalid(value, "must be greater than or equal to 0")


def port_or_name(judged: Judged) -> None:
    """Check a port, or the name of one (Go: core ValidatePortNumOrName)."""
    value = judged.value
    if isinstance(value, str):
        problem = port_name(value)
        if problem:
            judged.invalid(value, problem)
    elif isinstance(value, int) and not 1 <= value <= _MOST_PORTS:
        judged.invalid(value, "must be between 1 and 65535, inclusive")


def unique(judged: Judged) -> None:
    """Refuse elements that have the same text in ``key``; empty texts do not count."""
    row = judged.row
    seen: set[str] = set()
    for index, element in enumerate(_elements(judged)):
        name = element.get(row.key)
        if not isinstance(name, str) or not name:
            continue
        if name in seen:
            judged.add("FieldValueDuplicate", "", name, (index, row.key))
        seen.add(name)


def unique_init_names(judged: Judged) -> None:
    """Refuse init containers with the name of another container.

    Go: core validateInitContainers.
    """
    seen: set[str] = set()
    for container in as_list(judged.obj.get("containers")):
        seen.add(as_text(as_object(container).get("name")))
    for index, container in enumerate(_elements(judged)):
        name = as_text(container.get("name"))
        if name and name in seen:
            judged.add("FieldValueDuplicate", "", name, (index, "name"))
        seen.add(name)


def init_containers(judged: Judged) -> None:
    """Forbid the probes of init containers that end.

    Go: core validateInitContainers.
    """
    for index, container in enumerate(_elements(judged)):
        # One that is restarted is a sidecar, which has probes.
        if container.get("restartPolicy") == "Always":
            continue
        for name in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
            if container.get(name) is not None:
                judged.add(
                    "FieldValueForbidden", judged.row.message, ABSENT, (index, name)
                )


def host_ports(judged: Judged) -> None:
    """Refuse a port of the host that two containers take.

    Go: core AccumulateUniqueHostPorts.
    """
    seen: set[str] = set()
    for index, container in enumerate(_elements(judged)):
        for at_port, listed in enumerate(as_list(container.get("ports"))):
            port = as_object(listed)
            number = port.get("hostPort")
            # Go: a port of zero is no port of the host.
            if not number:
                continue
            protocol, ip = as_text(port.get("protocol")), as_text(port.get("hostIP"))
            text = f"{protocol}/{ip}/{number}"
            if text in seen:
                below = (index, "ports", at_port, "hostPort")
                judged.add("FieldValueDuplicate", "", text, below)
            seen.add(text)


def same_host_ports(judged: Judged) -> None:
    """Require that ports of the host are those of the containers.

    A Pod has them by default, and those of a template get them later. Go: core
    validatePodHostNetworkDeps.
    """
    if judged.obj.get("hostNetwork") is not True:
        return
    for index, container in enumerate(_elements(judged)):
        for at_port, listed in enumerate(as_list(container.get("ports"))):
            port = as_object(listed)
            number = port.get("hostPort")
            if number and number != port.get("containerPort"):
                judged.invalid(
                    number,
                    judged.row.message,
                    index,
                    "ports",
                    at_port,
                    "hostPort",
                )


def mounted_volumes(judged: Judged) -> None:
    """Require that what containers mount are volumes of the Pod.

    The mounts are the elements in the field ``key`` of each container. Go: core
    ValidateVolumeMounts and ValidateVolumeDevices. A volume that is refused itself has
    no name to mount there. The claims of a StatefulSet become volumes of its Pods (Go:
    apps volumesToAddForTemplates).
    """
    *above, last = judged.row.field.split(".")
    spec, old = at(judged.obj, (*above,)), at(judged.old, (*above,))
    names: set[str] = set()
    for volume in as_list(at(spec, ("volumes",))):
        name = as_text(as_object(volume).get("name"))
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


def unique_mount_paths(judged: Judged) -> None:
    """Refuse two mounts at one path (Go: core ValidateVolumeMounts)."""
    seen: set[str] = set()
    for index, mount in enumerate(_elements(judged)):
        path = as_text(mount.get("mountPath"))
        if path in seen:
            judged.invalid(path, judged.row.message, index, "mountPath")
        seen.add(path)


def _requirements(selector: JSON) -> list[Requirement] | None:
    """Read a LabelSelector (Go: metav1.LabelSelectorAsSelector).

    None for one that is not valid.
    """
    members = as_object(selector)
    requirements: list[Requirement] = []
    for key, value in as_object(members.get("matchLabels")).items():
        if FORMATS["label-key"](key) or FORMATS["label-value"](as_text(value)):
            return None
        requirements.append(Requirement(key, "in", (as_text(value),)))
    for listed in as_list(members.get("matchExpressions")):
        expression = as_object(listed)
        operator = _OPERATORS.get(as_text(expression.get("operator")))
        key = as_text(expression.get("key"))
        values = tuple([as_text(value) for value in as_list(expression.get("values"))])
        if operator is None or FORMATS["label-key"](key):
            return None
        # Go: labels.NewRequirement: these two have values, and the others none.
        if (operator in ("in", "notin")) != bool(values):
            return None
        for value in values:
            if FORMATS["label-value"](value):
                return None
        requirements.append(Requirement(key, operator, values))
    return requirements


_OPERATORS: Final[Mapping[str, Operator]] = {
    "In": "in",
    "NotIn": "notin",
    "Exists": "exists",
    "DoesNotExist": "!",
}


def printed_selector(selector: JSONObject) -> JSONObject:
    """Return a LabelSelector as Go prints it: in the order of its structs."""
    result: JSONObject = {}
    if selector.get("matchLabels"):
        result["matchLabels"] = _sorted(as_object(selector["matchLabels"]))
    expressions: list[JSON] = []
    for listed in as_list(selector.get("matchExpressions")):
        expression = as_object(listed)
        fields: JSONObject = {}
        for name in ("key", "operator", "values"):
            if name in expression:
                fields[name] = expression[name]
        expressions.append(fields)
    if expressions:
        result["matchExpressions"] = expressions
    return result


def _sorted(labels: JSONObject) -> JSONObject:
    return {key: labels[key] for key in sorted(labels)}


def valid_selector(judged: Judged) -> None:
    """Refuse a LabelSelector that cannot be read, beside what is wrong in it."""
    selector = judged.value
    if isinstance(selector, dict) and _requirements(selector) is None:
        judged.invalid(printed_selector(selector), judged.row.message)


def not_empty_selector(judged: Judged) -> None:
    """Refuse a LabelSelector that selects everything."""
    selector = judged.value
    if isinstance(selector, dict):
        for name in ("matchLabels", "matchExpressions"):
            if selector.get(name):
                return
        judged.invalid({}, judged.row.message)


def selected_labels(judged: Judged) -> None:
    """Require that the selector in ``key`` matches the labels, the value.

    ``zero`` "judged" says that an empty selector is asked, too, and without a selector
    none matches. Go: labels.Selector.Matches.
    """
    selector = at(judged.obj, (judged.row.key,))
    labels = as_object(judged.value)
    requirements: list[Requirement] | None = []
    if judged.row.format == "labels":
        requirements = [
            Requirement(key, "in", (as_text(value),))
            for key, value in as_object(selector).items()
        ]
    elif isinstance(selector, dict):
        requirements = _requirements(selector)
    elif judged.row.zero == "judged":
        # Go: a selector that is nil selects nothing.
        judged.invalid(_sorted(labels) or None, judged.row.message)
        return
    if requirements is None:
        return
    for requirement in requirements:
        if not requirement.matches(labels):
            judged.invalid(_sorted(labels) or None, judged.row.message)
            return


def expression_values(judged: Judged) -> None:
    """Compare the values of an expression with its operator.

    Go: metav1 ValidateLabelSelectorRequirement, core ValidateNodeSelectorRequirement.
    """
    operator = judged.obj.get("operator")
    values = as_list(judged.value)
    if operator in ("In", "NotIn"):
        if not values:
            judged.required("must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            judged.add(
                "FieldValueForbidden",
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            )
    # Only the requirements of Nodes have these operators.
    elif operator in ("Gt", "Lt") and "Gt" in judged.row.values and len(values) != 1:
        judged.required(
            "must be specified single value when `operator` is 'Lt' or 'Gt'"
        )


def known_operator(judged: Judged) -> None:
    """Refuse other operators of an expression than ``values``."""
    value = as_text(judged.value)
    if value not in judged.row.values:
        judged.invalid(value, judged.row.message)


def greater(judged: Judged) -> None:
    """Require that the value is greater than that of the field ``key``."""
    value, other = judged.value, judged.obj.get(judged.row.key, 0)
    if isinstance(value, int) and isinstance(other, int) and value <= other:
        judged.invalid(value, judged.row.message)


def not_less(judged: Judged) -> None:
    """Require that the value is not less than that of the field ``key``."""
    value, other = judged.value, judged.obj.get(judged.row.key, 0)
    if isinstance(value, int) and isinstance(other, int) and value < other:
        judged.invalid(value, judged.row.message)


def port_names(judged: Judged) -> None:
    """Require names of several ports (Go: core validateServicePort)."""
    ports = _elements(judged)
    for index, port in enumerate(ports):
        if len(ports) > 1 and is_missing(port.get("name", ABSENT)):
            judged.required("", index, "name")


def node_ports(judged: Judged) -> None:
    """Forbid ports of the nodes (Go: core validateService)."""
    for index, port in enumerate(_elements(judged)):
        if port.get("nodePort"):
            below = (index, "nodePort")
            judged.add("FieldValueForbidden", judged.row.message, ABSENT, below)


def unique_ports(judged: Judged) -> None:
    """Refuse a port with the protocol and the number of another one.

    Go: core validateService.
    """
    seen: set[tuple[str, str]] = set()
    nodes: set[tuple[str, str]] = set()
    for index, port in enumerate(_elements(judged)):
        protocol = as_text(port.get("protocol"))
        node_port, number = port.get("nodePort"), port.get("port")
        if node_port:
            if (protocol, printed(node_port)) in nodes:
                below = (index, "nodePort")
                judged.add("FieldValueDuplicate", "", node_port, below)
            nodes.add((protocol, printed(node_port)))
        if (protocol, printed(number)) in seen:
            # Go compares and prints a port with these two fields only.
            shown_port: JSONObject = {
                "Name": "",
                "Protocol": protocol,
                "AppProtocol": None,
                "Port": number,
                "TargetPort": 0,
                "NodePort": 0,
            }
            judged.add("FieldValueDuplicate", "", shown_port, (index,))
        seen.add((protocol, printed(number)))


def ingress_spec(judged: Judged) -> None:
    """Require rules or a backend (Go: networking ValidateIngressSpec)."""
    rules = judged.obj.get("rules", ABSENT)
    if is_missing(rules) and judged.obj.get("defaultBackend") is None:
        judged.invalid(judged.obj, judged.row.message)


def ingress_path(judged: Judged) -> None:
    """Require an absolute path, unless it is up to the controller.

    Go: networking validateHTTPIngressPath.
    """
    path = as_text(judged.value)
    # ImplementationSpecific leaves the meaning of an empty path to the controller.
    needs_one = judged.obj.get("pathType") in ("Exact", "Prefix")
    if (path or needs_one) and not path.startswith("/"):
        judged.invalid(path, judged.row.message)


def required_capacity(judged: Judged) -> None:
    """Require a storage capacity (Go: core ValidatePersistentVolumeSpec)."""
    capacity = as_object(judged.value)
    # Go reports an empty capacity twice.
    if not capacity:
        judged.required("")
    if set(capacity) != {"storage"}:
        text = shown(_sorted(capacity) or None)
        judged.found.append(
            Violation(
                "unsupported-value",
                Path(judged.steps),
                "FieldValueNotSupported",
                f'Unsupported value: {text}: supported values: "storage"',
                judged.value,
            )
        )
    for name, value in capacity.items():
        amount = amount_of(value)
        if amount is not None and amount <= 0:
            judged.invalid(printed(value), "must be greater than zero", Key(name))


Check: TypeAlias = Callable[[Judged], None]
CHECKS: Final[Mapping[str, Check]] = {
    "any-of": any_of,
    "api-group": api_group,
    "annotations": valid_annotations,
    "expression-values": expression_values,
    "finalizers": valid_finalizers,
    "forbidden": forbidden,
    "format": text_format,
    "greater": greater,
    "host-ports": host_ports,
    "init-containers": init_containers,
    "int-or-percent": int_or_percent,
    "keys": key_formats,
    "labels": valid_labels,
    "ingress-spec": ingress_spec,
    "missing": missing,
    "mounts": mounted_volumes,
    "node-ports": node_ports,
    "not-empty-selector": not_empty_selector,
    "not-less": not_less,
    "not-negative": quantity_not_negative,
    "one-of": one_of,
    "operator": known_operator,
    "ingress-path": ingress_path,
    "owner-references": owner_references,
    "port-names": port_names,
    "port-or-name": port_or_name,
    "positive": positive,
    "quantities": not_negative,
    "range": in_range,
    "refused": refused,
    "requests": within_limits,
    "required": required,
    "required-any": required_any,
    "required-capacity": required_capacity,
    "required-quantity": required_quantity,
    "same-host-ports": same_host_ports,
    "selects": selected_labels,
    "size": within_size,
    "supported": supported,
    "unique": unique,
    "unique-init-names": unique_init_names,
    "unique-mount-paths": unique_mount_paths,
    "unique-ports": unique_ports,
    "valid-selector": valid_selector,
}

# The rules that judge a value that is absent; the others find nothing wrong with it.
JUDGE_ABSENT: Final = frozenset(
    {
        "any-of",
        "api-group",
        "expression-values",
        "ingress-path",
        "ingress-spec",
        "missing",
        "operator",
        "required",
        "required-any",
        "required-capacity",
        "required-quantity",
        "selects",
    }
)
