"""What the commands of ``smp cluster`` work on: manifests, and a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

import msgspec

from smp._values.values import JSONObject
from smp.cli._cluster_options import ClusterSettings, MergeSettings
from smp.cli._errors import CommandFailure, UsageError, say
from smp.cli._inputs import FOR_ANOTHER_TOOL, RENDER_FIRST, Inputs
from smp.cli._live import connect
from smp.cli._objects import Entry
from smp.cli._options import CommandSettings
from smp.cli._selection import select_by
from smp.cluster import Cluster
from smp.cluster.plan.exchange import Progress
from smp.errors import DocumentError


class Manifests(msgspec.Struct, frozen=True):
    """The objects that a command is given: those of files, each with its place.

    Others have no place. ``is_live`` tells that they were read from the cluster.
    """

    inputs: Inputs
    entries: tuple[Entry, ...]
    objects: tuple[JSONObject, ...]
    is_live: bool = False


def read_objects(
    settings: ClusterSettings, cluster: Cluster, *, is_live: bool = False
) -> Manifests:
    """Return the objects of manifests, or those that RESOURCE and NAMES mean.

    With ``is_live`` a RESOURCE alone is all of its objects; else that takes --all or
    labels. Raises UsageError, and what ``list_objects`` raises.
    """
    words, selector = settings.names, settings.selector
    is_all = settings.all
    if is_all and selector:
        raise UsageError("--all and labels (-l) ask for different objects")
    has_files = bool(settings.paths or settings.kustomizations)
    if has_files == bool(words):
        reason = "give either a RESOURCE with NAMES, or manifests: -f FILE, -k DIR"
        raise UsageError(reason)
    if has_files:
        return read_manifests(settings)
    select_by(selector)
    within = "" if settings.all_namespaces else None
    objects: list[JSONObject] = []
    listed = False
    for resource, names in _parse_names(words):
        if names:
            # Go: resource.Builder.visitByResource and visitByName.
            if is_all or selector:
                raise UsageError("give either NAMES, or labels (-l) or --all")
            objects += cluster.name_objects(resource, names)
            continue
        listed = True
        # Go: resource.Builder.visitorResult.
        if not (is_live or selector or is_all):
            raise UsageError("give NAMES, labels (-l), or --all")
        objects += cluster.list_objects(resource, namespace=within, selector=selector)
    return Manifests(Inputs(), (), tuple(objects), is_live=listed)


def _parse_names(words: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Return resources, each with names: ``deploy web``, ``deploy/web svc/web``."""
    # A path is a slip: kubectl takes words for resources, too.
    if words[0].endswith((".yaml", ".yml", ".json")):
        raise UsageError(f"there is no such resource; did you mean -f {words[0]}?")
    # Go: resource.Builder.ResourceTypeOrNameArgs, splitResourceTypeName.
    if any("/" in word for word in words):
        pairs = [word.split("/") for word in words]
        if any(len(pair) != 2 or "" in pair for pair in pairs):  # noqa: PLR2004  # a pair
            raise UsageError("with RESOURCE/NAME, all arguments are of that form")
        return [(resource, [name]) for resource, name in pairs]
    resources = [name for name in words[0].split(",") if name]
    return [(resource, [*words[1:]]) for resource in resources]


def read_manifests(settings: MergeSettings) -> Manifests:
    """Read the objects of files, directories and kustomizations, those with labels.

    What cannot be read is among the problems of the inputs; the rest is read. Raises
    DocumentError for a path without any object.
    """
    paths, kustomizations = settings.paths, settings.kustomizations
    if not paths and not kustomizations:
        raise UsageError("give the manifests: -f FILE, or -k DIR")
    has_labels = select_by(settings.selector)
    is_recursive = settings.recursive
    inputs = Inputs(settings.max_bytes, settings.exclude, is_recursive=is_recursive)
    entries: list[Entry] = []
    objects: list[JSONObject] = []
    with closing(inputs):
        for entry in inputs.entries(paths, kustomizations):
            try:
                obj = inputs.load(entry).value
            except CommandFailure as failure:
                inputs.problems.append(failure)
                continue
            # Go: resource.Builder.LabelSelectorParam, which filters files as well.
            if has_labels(obj):
                entries.append(msgspec.structs.replace(entry, number=len(entries)))
                objects.append(obj)
    # kubectl takes every document for an object. Those of kustomize and the like are
    # none of a cluster, and may lie beside them.
    for document, reason in inputs.skipped:
        if reason == FOR_ANOTHER_TOOL or reason.endswith(RENDER_FIRST):
            say(f"note: {document.source}: {reason}")
            continue
        error = DocumentError(
            reason, code="not-an-object", source=document.source, line=document.line
        )
        inputs.problems.append(CommandFailure(error))
    inputs.skipped.clear()
    return Manifests(inputs, tuple(entries), tuple(objects))


def connected(
    settings: CommandSettings, progress: Callable[[Progress], None] | None = None
) -> Cluster:
    """Connect to a cluster. Raises ConfigurationError.

    With a namespace, an object of another one is an error, as it is for kubectl.
    """
    # Go: ConfigFlags.ToRawKubeConfigLoader, RequireNamespace.
    keywords: dict[str, Any] = {"progress": progress}
    if settings.namespace:
        keywords |= {"namespace": settings.namespace, "enforce_namespace": True}
    return connect(settings, **keywords)


def merge_keywords(settings: MergeSettings, manifests: Manifests) -> dict[str, Any]:
    """Return the keywords of an apply and of a diff. Raises UsageError.

    Where a manifest cannot be read, nothing is pruned: it may be that of the object.
    """
    selector = settings.selector
    keywords = {
        name: getattr(settings, name)
        for name in (
            "server_side",
            "force_conflicts",
            "give_up",
            "skip_conflicts",
            "overwrite",
            "hazards",
            "applyset",
            "tooling",
        )
    }
    keywords["field_manager"] = settings.field_manager or None
    # As by servers of today, which clear nothing.
    is_stock = settings.profile in ("validate-only", "off")
    keywords["unions"] = "kubectl" if is_stock else "clear"
    # Go: ApplyOptions.Run, which prunes where there is no error.
    keywords["prunes"] = not manifests.inputs.problems
    # Go: ApplyOptions.Validate.
    if settings.applyset and not settings.prune:
        raise UsageError("--applyset requires --prune")
    if settings.tooling and not settings.applyset:
        raise UsageError("--tooling requires --applyset")
    if settings.applyset and (selector or settings.prune_allowlist):
        raise UsageError("--applyset does not work with -l and --prune-allowlist")
    if settings.prune and not settings.applyset:
        if not selector:
            raise UsageError("--prune requires --applyset, or the labels of -l")
        keywords["prune"] = selector
        keywords["prune_allowlist"] = tuple(
            map(check_allowed_kind, settings.prune_allowlist)
        )
    return keywords


def check_allowed_kind(text: str) -> tuple[str, str]:
    # Go: prune.ParseResources.
    parts = text.split("/")
    if len(parts) != 3:  # noqa: PLR2004  # the parts of its form
        raise UsageError(f"--prune-allowlist is GROUP/VERSION/KIND, and not {text}")
    group, version, kind = parts
    # The group without a name is core there.
    return version if group in ("", "core") else f"{group}/{version}", kind
