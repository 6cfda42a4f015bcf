"""What a new or changed object gets that depends on other objects.

Services get addresses and node ports, Pods the value of their PriorityClass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import aclosing
from typing import Final

from smp._storage import service_addresses, workloads
from smp._values.api_objects import metadata_of
from smp._values.values import JSONObject, as_list, as_object, as_text, value_at
from smp.handler import ForbiddenError, InvalidError
from smp.paths import Path
from smp.server.errors import invalid, raise_invalid
from smp.server.registry.envelope import unpack
from smp.server.registry.objects import snapshot
from smp.server.registry.state import ServerState
from smp.server.registry.target import Target

_ATTEMPTS: Final = 100
_RUNTIMES: Final = ("node.k8s.io", "v1", "runtimeclasses")
_CLASSES: Final = ("scheduling.k8s.io", "v1", "priorityclasses")


async def completed(
    state: ServerState,
    target: Target,
    obj: JSONObject,
    *,
    is_new: bool,
    is_dry_run: bool = False,
) -> JSONObject:
    """Return an object with what only a server knows.

    Raises InvalidError for an address or a node port that another Service has, and
    ForbiddenError for a PriorityClass that does not exist.
    """
    match target.resource.key:
        case ("", "services") if is_new and target.subresource:
            # Created through its status, it is given no address (Go: core/service/
            # storage, REST.beginCreate is that of the Service itself).
            raise_invalid(service_addresses.find_unlisted(obj))
            return obj
        case ("", "services"):
            if is_new:
                raise_invalid(service_addresses.find_outside(obj, dry_run=is_dry_run))
            return await _service(state, target, obj)
        case ("", "pods") if is_new:
            raise_invalid(workloads.find_unmade(obj))
            await _check_runtime_class(state, obj)
            obj, problem = workloads.set_priority(obj, await _priority(state, obj))
            if problem:
                raise ForbiddenError(problem)
            obj = workloads.add_gated_condition(obj, state.admission_context().now)
            return workloads.set_quality(workloads.add_tolerations(obj))
        case ("batch", "jobs") if is_new:
            return workloads.set_selector(obj)
        case ("", "nodes") if is_new:
            return workloads.add_not_ready(obj)
        case _:
            return obj


async def _service(state: ServerState, target: Target, obj: JSONObject) -> JSONObject:
    name = f"{target.namespace}/{as_text(metadata_of(obj).get('name'))}"
    # Read once: later ones are noted as they are allocated.
    if not state.service_values:
        state.service_values.update(await _all_values(state, target))
    while True:
        allocation = _Allocation(name, state.service_values)
        try:
            allocated = allocation.of(obj)
        except InvalidError:
            if not await _forget_former(state, target, allocation):
                raise
            continue
        # Another value than the first is only taken where the holder still exists.
        if not await _forget_former(state, target, allocation):
            addresses, ports = service_addresses.wanted(allocated)
            state.service_values.update(dict.fromkeys((*addresses, *ports), name))
            return allocated


class _Allocation:
    """One try to allocate; ``taken`` has the values that another Service has."""

    def __init__(self, name: str, holders: Mapping[str, str]) -> None:
        self._name = name
        self._holders = holders
        self._chosen: set[str] = set()
        self.taken: dict[str, str] = {}

    def of(self, obj: JSONObject) -> JSONObject:
        """Return the Service with all values. Raises InvalidError."""
        addresses, ports = service_addresses.wanted(obj)
        # What the client asks for by itself has to be free.
        for address in addresses:
            if not self._is_free(address):
                value = as_list(value_at(obj, ("spec", "clusterIPs"))) or [address]
                detail = (
                    f"failed to allocate IP {address}: provided IP is already allocated"
                )
                path = Path(("spec", "clusterIPs"))
                raise InvalidError([invalid(path, value, detail)])
        for port in ports:
            if not self._is_free(port):
                specs = as_list(value_at(obj, ("spec", "ports")))
                numbers = [str(as_object(each).get("nodePort")) for each in specs]
                path = Path(("spec", "ports", numbers.index(port), "nodePort"))
                detail = "provided port is already allocated"
                raise InvalidError([invalid(path, int(port), detail)])
        return service_addresses.allocate(
            obj,
            self._pick(service_addresses.address),
            self._pick(service_addresses.node_port),
        )

    def _is_free(self, value: str) -> bool:
        # A Service may keep what it has.
        holder = self._holders.get(value, self._name)
        if holder == self._name:
            return True
        self.taken[value] = holder
        return False

    def _pick(self, candidate: Callable[[str, int], str]) -> service_addresses.Pick:
        def first_free(place: str) -> str:
            for attempt in range(_ATTEMPTS):
                # The same name leads to the same candidates in every run.
                found = candidate(self._name + place, attempt)
                if found not in self._chosen and self._is_free(found):
                    self._chosen.add(found)
                    return found
            raise ForbiddenError("the range is full")

        return first_free


async def _forget_former(
    state: ServerState, target: Target, allocation: _Allocation
) -> bool:
    """Forget the values of Services that are gone or have others; tell if any were."""
    collection = Target(target.resource)
    has_former = False
    for value, holder in allocation.taken.items():
        # The Service may have been deleted, or may have another value by now.
        stored = await state.store.get(collection.prefix + holder)
        if stored is not None:
            addresses, ports = service_addresses.wanted(unpack(stored, target.resource))
            if value in (*addresses, *ports):
                continue
        del state.service_values[value]
        has_former = True
    return has_former


async def _all_values(state: ServerState, target: Target) -> dict[str, str]:
    """Return which Service has which address and node port, by its name."""
    collection = Target(target.resource)
    holders: dict[str, str] = {}
    pages = snapshot(state.store, collection.prefix)
    async with aclosing(pages):
        async for page in pages:
            for stored in page.items:
                addresses, ports = service_addresses.wanted(
                    unpack(stored, target.resource)
                )
                name = stored.key.removeprefix(collection.prefix)
                holders |= dict.fromkeys((*addresses, *ports), name)
    return holders


async def _check_runtime_class(state: ServerState, pod: JSONObject) -> None:
    """Require the RuntimeClass of a Pod. Go: plugin/pkg/admission/runtimeclass."""
    name = as_text(value_at(pod, ("spec", "runtimeClassName")))
    classes = Target(state.kinds.resources.find(*_RUNTIMES))
    if name and await state.store.get(classes.named(name).key) is None:
        raise ForbiddenError(f'pod rejected: RuntimeClass "{name}" not found')
    if not name and value_at(pod, ("spec", "overhead")):
        raise ForbiddenError(
            "pod rejected: Pod Overhead set without corresponding RuntimeClass defined"
            " Overhead"
        )


async def _priority(state: ServerState, pod: JSONObject) -> JSONObject:
    """Return the PriorityClass of a Pod. Go: plugin/pkg/admission/priority."""
    name = as_text(value_at(pod, ("spec", "priorityClassName")))
    classes = Target(state.kinds.resources.find(*_CLASSES))
    if name:
        stored = await state.store.get(classes.named(name).key)
        if stored is None:
            raise ForbiddenError(f"no PriorityClass with name {name} was found")
        return unpack(stored, classes.resource)
    # Without a name it is that of the default class, if there is one.
    page = await state.store.list(classes.prefix)
    for stored in page.items:
        priority = unpack(stored, classes.resource)
        if priority.get("globalDefault") is True:
            return priority
    return {}
