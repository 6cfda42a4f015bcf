"""Quantities of resources in Pods: rounded up to thousandths, and added.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from smp._values.quantities import Quantity, read_quantity
from smp._values.values import JSON, JSONObject, as_list, as_object


def round_to_milli(obj: JSONObject, name: str) -> JSONObject:
    """Round the quantities in a field up to thousandths, away from zero.

    Go: SetDefaults_ResourceList. The text of a quantity that is exact stays.
    """
    resources = as_object(obj.get(name))
    rounded: JSONObject = {}
    for resource, value in resources.items():
        quantity = read_quantity(value)
        if quantity is not None:
            milli = quantity.round_up_to_milli()
            if milli is not quantity:
                rounded[resource] = milli.text
    return {**obj, name: {**resources, **rounded}} if rounded else obj


def of_all_containers(spec: JSONObject, name: str) -> JSONObject:
    """Return what the containers of a Pod have together as limits or requests.

    Init containers run one after the other, beside those that were started before and
    restart always (Go: AggregateContainerRequests, AggregateContainerLimits).
    """
    total: dict[str, Quantity] = {}
    for container in as_list(spec.get("containers")):
        _add(total, _resources(container, name))
    always: dict[str, Quantity] = {}
    most: dict[str, Quantity] = {}
    for container in as_list(spec.get("initContainers")):
        needed = _resources(container, name)
        if as_object(container).get("restartPolicy") == "Always":
            _add(total, needed)
            _add(always, needed)
            _raise(most, always)
        else:
            _add(needed, always)
            _raise(most, needed)
    _raise(total, most)
    return {resource: quantity.text for resource, quantity in total.items()}


def _resources(container: JSON, name: str) -> dict[str, Quantity]:
    resources = as_object(as_object(container).get("resources"))
    found: dict[str, Quantity] = {}
    for resource, value in as_object(resources.get(name)).items():
        quantity = read_quantity(value)
        if quantity is not None:
            found[resource] = quantity
    return found


def _add(total: dict[str, Quantity], more: dict[str, Quantity]) -> None:
    """Add amounts in place (Go: addResourceList)."""
    for resource, quantity in more.items():
        before = total.get(resource)
        total[resource] = quantity if before is None else before.add(quantity)


def _raise(total: dict[str, Quantity], least: dict[str, Quantity]) -> None:
    """Raise amounts in place to at least others (Go: maxResourceList)."""
    for resource, quantity in least.items():
        before = total.get(resource)
        if before is None or before.compare(quantity) < 0:
            total[resource] = quantity
