"""``smp diff`` where a server says what an apply changes, as for kubectl diff."""

from __future__ import annotations

from typing import Any

from smp.cli._cluster_inputs import connected, merge_keywords, read_manifests
from smp.cli._cluster_printing import print_report, settings_of


def show_diff(cluster: str, options: dict[str, Any]) -> int:
    """Ask a server in a dry run what an apply would change; return the exit code.

    With --prune it has the objects that would be deleted, also those of an ApplySet.
    """
    context = cluster.partition(":")[2] or options["context"]
    options = options | {"context": context}
    options["field_manager"] = options["field_manager"] or None
    manifests = read_manifests(options)
    keywords = merge_keywords(options, manifests)
    found = connected(options).diff(manifests.objects, **keywords)
    return print_report(manifests, [*found], settings_of(options), "smp diff")
