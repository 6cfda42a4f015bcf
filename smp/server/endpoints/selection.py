"""Which objects of a collection a list, a watch or a deletion is about. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from smp.server.endpoints.query import ListOptions
from smp.server.registry.target import Target
from smp.wire import decode

# Whether an object, as it is stored, is selected.
Selects: TypeAlias = Callable[[bytes], bool]


def scope(target: Target, options: ListOptions) -> str:
    """Return what the keys of all that can be selected begin with."""
    namespace = (
        options.fields.required_value("metadata.namespace")
        if target.resource.namespaced
        else None
    )
    narrowed = replace(target, namespace=target.namespace or namespace or "")
    all_namespaces = target.resource.namespaced and not narrowed.namespace
    return (
        narrowed.prefix
        if all_namespaces
        else narrowed.prefix + (options.fields.required_value("metadata.name") or "")
    )


def selection(options: ListOptions) -> Selects:
    """Return the predicate of the label and the field selector."""
    labels, fields = options.labels, options.fields
    if not options.selects:
        return lambda _: True

    def selects(value: bytes) -> bool:
        obj = decode(value)
        return isinstance(obj, dict) and labels.matches(obj) and fields.matches(obj)

    return selects
