"""The rules that the table names, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from smp.validation._judged import Judged
from smp.validation._metadata_checks import (
    owner_references,
    valid_annotations,
    valid_finalizers,
    valid_labels,
)
from smp.validation._network_checks import (
    ingress_path,
    ingress_spec,
    node_ports,
    port_names,
    unique_ports,
)
from smp.validation._pod_checks import (
    host_ports,
    init_containers,
    mounted_volumes,
    same_host_ports,
    unique_init_names,
    unique_mount_paths,
)
from smp.validation._quantity_checks import (
    not_negative,
    positive,
    quantity_not_negative,
    required_capacity,
    required_quantity,
    within_limits,
    within_size,
)
from smp.validation._selector_checks import (
    expression_values,
    known_operator,
    not_empty_selector,
    selected_labels,
    valid_selector,
)
from smp.validation._value_checks import (
    any_of,
    api_group,
    forbidden,
    greater,
    in_range,
    int_or_percent,
    key_formats,
    missing,
    not_less,
    one_of,
    port_or_name,
    refused,
    required,
    required_any,
    supported,
    text_format,
    unique,
)

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
