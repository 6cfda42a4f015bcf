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
    check_mounted_volumes,
    host_ports,
    init_containers,
    pod_field,
    same_host_ports,
    unique_init_names,
    unique_mount_paths,
)
from smp.validation._quantity_checks import (
    not_negative,
    positive,
    quantity_not_negative,
    require_capacity,
    require_quantity,
    within_limits,
    within_size,
)
from smp.validation._selector_checks import (
    check_known_operator,
    expression_values,
    not_empty_selector,
    select_labels,
    valid_selector,
)
from smp.validation._value_checks import (
    all_of,
    alone,
    any_of,
    apart,
    api_group,
    distinct,
    forbidden,
    greater,
    in_range,
    includes,
    int_or_percent,
    joined_name,
    key_formats,
    missing,
    not_less,
    one_of,
    port_or_name,
    refuse_empty,
    refused,
    require,
    require_any,
    supported,
    text_format,
    unique,
    wrong,
)

Check: TypeAlias = Callable[[Judged], None]
CHECKS: Final[Mapping[str, Check]] = {
    "all-of": all_of,
    "alone": alone,
    "any-of": any_of,
    "apart": apart,
    "api-group": api_group,
    "annotations": valid_annotations,
    "distinct": distinct,
    "expression-values": expression_values,
    "finalizers": valid_finalizers,
    "forbidden": forbidden,
    "format": text_format,
    "greater": greater,
    "host-ports": host_ports,
    "init-containers": init_containers,
    "includes": includes,
    "int-or-percent": int_or_percent,
    "joined-name": joined_name,
    "keys": key_formats,
    "labels": valid_labels,
    "ingress-spec": ingress_spec,
    "missing": missing,
    "mounts": check_mounted_volumes,
    "node-ports": node_ports,
    "not-empty": refuse_empty,
    "not-empty-selector": not_empty_selector,
    "not-less": not_less,
    "not-negative": quantity_not_negative,
    "one-of": one_of,
    "operator": check_known_operator,
    "ingress-path": ingress_path,
    "owner-references": owner_references,
    "pod-field": pod_field,
    "port-names": port_names,
    "port-or-name": port_or_name,
    "positive": positive,
    "quantities": not_negative,
    "range": in_range,
    "refused": refused,
    "requests": within_limits,
    "required": require,
    "required-any": require_any,
    "required-capacity": require_capacity,
    "required-quantity": require_quantity,
    "same-host-ports": same_host_ports,
    "selects": select_labels,
    "size": within_size,
    "supported": supported,
    "unique": unique,
    "unique-init-names": unique_init_names,
    "unique-mount-paths": unique_mount_paths,
    "unique-ports": unique_ports,
    "valid-selector": valid_selector,
    "wrong": wrong,
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
        "wrong",
    }
)
