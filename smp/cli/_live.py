"""Live objects of files, or of the cluster of the current context."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec.structs import asdict

from smp._values.api_objects import drop_managed_fields
from smp._values.values import JSONObject, as_text
from smp.cli._errors import CommandFailure, UsageError, say
from smp.cli._identity import identity_of
from smp.cli._inputs import Inputs
from smp.cli._objects import Entry, Listing, numbered
from smp.cli._options import CommandSettings
from smp.documents import dump_json
from smp.errors import ObjectError, SmpError
from smp.schema.catalog import kubernetes

if TYPE_CHECKING:
    from smp.cluster import Cluster


def connect(settings: CommandSettings, context: str = "", **keywords: Any) -> Cluster:
    """Connect to the cluster of a context, by the options of a command.

    Raises ConfigurationError.
    """
    # 150 ms; most runs read files.
    from smp.cluster import Cluster, ConnectionOverrides  # noqa: PLC0415

    ignore_unverified()
    return Cluster.connect(
        context or settings.context or None,
        kubeconfig=settings.kubeconfig or None,
        overrides=ConnectionOverrides.of_options(asdict(settings)),
        **keywords,
    )


def ignore_unverified() -> None:
    """Be quiet of servers that are not verified, as kubectl is.

    urllib3 would warn of each request where the configuration of kubectl has
    insecure-skip-tls-verify, which is what its user asked for.
    """
    warnings.filterwarnings("ignore", message="Unverified HTTPS request is being made")


# In place of the path of a file; a file of this name is ./cluster.
CLUSTER: Final = "cluster"


def is_cluster(path: str) -> bool:
    """Tell whether a path is a live cluster: ``cluster`` or ``cluster:CONTEXT``."""
    return path == CLUSTER or path.startswith(f"{CLUSTER}:")


def cluster_of(paths: Sequence[str]) -> str | None:
    """Return the one live cluster among paths, if there is one. Raises UsageError."""
    found = [*filter(is_cluster, paths)]
    if len(found) > 1:
        raise UsageError("give one cluster for --live")
    return found[0] if found else None


def pair_with_live(
    paths: Sequence[str], entries: Listing, inputs: Inputs, settings: CommandSettings
) -> tuple[Listing, Listing]:
    """List live objects: those of files, and those that ``entries`` have in a cluster.

    Returns the entries and the live objects. What leaves out its namespace has that of
    its live object in the cluster, as in kubectl. Raises DocumentError, UsageError,
    ConfigurationError and ApiError.
    """
    cluster, at_once = cluster_of(paths), settings.selects_by_name
    if cluster is None:
        return entries, inputs.listing(paths, at_once=at_once)
    files = [path for path in paths if path != cluster]
    found = inputs.listing(files, at_once=at_once).all() if files else []
    # kubectl get shows them on demand only; a server-side apply goes by them.
    lives = live_objects(
        cluster, entries, inputs, settings, has_managers=settings.server_side
    )
    found += lives.values()
    named = [
        entry.in_namespace(lives[entry.number].identity.namespace)
        if entry.number in lives
        else entry
        for entry in entries
    ]
    return Listing(named), Listing(numbered(found))


def live_objects(
    cluster: str,
    entries: Iterable[Entry],
    inputs: Inputs,
    settings: CommandSettings,
    *,
    has_managers: bool,
) -> dict[int, Entry]:
    """Read the live objects of manifests, by the numbers of their entries.

    The definitions of their kinds are read as well, for ``inputs``. Raises
    ConfigurationError and ApiError.
    """
    objects: dict[int, JSONObject] = {}
    for entry in entries:
        # A server makes a new object of a generated name each time; what cannot be
        # read is reported where it is computed.
        if entry.identity.name:
            with suppress(CommandFailure):
                objects[entry.number] = inputs.load(entry).value
    keywords: dict[str, Any] = {}
    if settings.namespace:
        keywords["namespace"] = settings.namespace
    context = cluster.partition(":")[2]
    connected = connect(settings, context, **keywords)
    found: dict[int, Entry] = {}
    lives = connected.get_all([*objects.values()])
    defined = read_definitions(
        connected, map(kind_of, objects.values()), settings.kubernetes
    )
    for problem in defined.problems:
        say(f"warning: {problem}")
    # One among the manifests is what the cluster will have: the last one counts.
    inputs.definitions[:0] = [_entry_of(found, "") for found in defined.found]
    for number, obj in zip(objects, lives, strict=True):
        if obj is not None:
            live = obj if has_managers else drop_managed_fields(obj)
            found[number] = _entry_of(live, f"the {cluster}")
    return found


def _entry_of(obj: JSONObject, source: str) -> Entry:
    return Entry(identity_of(obj), source, 1, dump_json(obj).encode())


def kind_of(obj: JSONObject) -> tuple[str, str]:
    """Return apiVersion and kind of an object."""
    return as_text(obj.get("apiVersion")), as_text(obj.get("kind"))


class ClusterDefinitions(msgspec.Struct, frozen=True):
    """The definitions of kinds in a cluster, and why others cannot be read."""

    found: list[JSONObject]
    problems: list[str]


def read_definitions(
    cluster: Cluster, kinds: Iterable[tuple[str, str]], release: str | None
) -> ClusterDefinitions:
    """Read the definitions of custom resources from their cluster.

    ``kinds`` are apiVersion and kind; those of a ``release`` of Kubernetes have none.
    What cannot be read is a warning.
    """
    bundled = frozenset(kubernetes(release).kinds())
    custom = [place for place in dict.fromkeys(kinds) if place not in bundled]
    defined = ClusterDefinitions([], [])
    for place, found in cluster.definitions(custom).items() if custom else ():
        if not isinstance(found, SmpError):
            defined.found.append(found)
        # A kind that the cluster lacks is told where its objects are read.
        elif found.code != "no-kind-match":
            text = f"{' '.join(place)}: its definition cannot be read: {found}"
            defined.problems.append(text)
    return defined


def in_place_of(
    paths: Sequence[str], entries: Listing, inputs: Inputs, settings: CommandSettings
) -> Listing:
    """Return the live objects of manifests, where --live names a cluster.

    An object that is not found is a problem. Raises as ``pair_with_live`` does.
    """
    if not paths:
        return entries
    cluster = cluster_of(paths)
    if cluster is None or len(paths) > 1:
        raise UsageError("--live is a cluster here: live objects in files are PATHS")
    lives = live_objects(cluster, entries, inputs, settings, has_managers=True)
    for entry in entries:
        if entry.number not in lives:
            error = ObjectError("not found in the cluster", code="not-found")
            inputs.problems.append(CommandFailure(error, entry, entry.label))
    return Listing(numbered(lives.values()))
