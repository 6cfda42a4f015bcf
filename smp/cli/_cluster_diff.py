"""``smp diff`` where a server says what an apply changes, as for kubectl diff."""

from __future__ import annotations

from msgspec.structs import replace

from smp.cli._cluster_inputs import connected, merge_keywords, read_manifests
from smp.cli._cluster_options import MergeSettings
from smp.cli._cluster_printing import print_report
from smp.cli._comparing import Comparing


def show_diff(cluster: str, settings: MergeSettings) -> int:
    """Ask a server in a dry run what an apply would change; return the exit code.

    With --prune it has the objects that would be deleted, also those of an ApplySet.
    """
    context = cluster.partition(":")[2] or settings.context
    settings = replace(settings, context=context)
    manifests = read_manifests(settings)
    comparing = Comparing.of(settings, manifests.inputs)
    keywords = merge_keywords(settings, manifests)
    found = connected(settings).diff(manifests.objects, **keywords)
    return print_report(manifests, [*found], settings, "smp diff", comparing)
