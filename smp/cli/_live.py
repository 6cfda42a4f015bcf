"""Live objects of files, or of the cluster of the current context."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from smp._values.api_objects import drop_managed_fields
from smp._values.values import JSONObject
from smp.cli._errors import CommandFailure
from smp.cli._identity import identity_of
from smp.cli._inputs import Inputs
from smp.cli._objects import Entry, Listing, numbered
from smp.cli._options import CommandSettings
from smp.documents import dump_json

if TYPE_CHECKING:
    from smp.cluster import Cluster


def connect(context: str | None = None, **keywords: Any) -> Cluster:
    """Connect to the cluster of a context. Raises ConfigurationError."""
    from smp.cluster import Cluster  # noqa: PLC0415  # 150 ms; most runs read files

    ignore_unverified()
    return Cluster.connect(context, **keywords)


def ignore_unverified() -> None:
    """Be quiet of servers that are not verified, as kubectl is.

    urllib3 would warn of each request where the configuration of kubectl has
    insecure-skip-tls-verify, which is what its user asked for.
    """
    warnings.filterwarnings("ignore", message="Unverified HTTPS request is being made")


# In place of the path of a file; a file of this name is ./cluster.
CLUSTER: Final = "cluster"


def pair_with_live(
    paths: Sequence[str],
    entries: Listing,
    inputs: Inputs,
    settings: CommandSettings,
    *,
    at_once: bool,
) -> tuple[Listing, Listing]:
    """List live objects: those of files, and those that ``entries`` have in a cluster.

    Returns the entries and the live objects. What leaves out its namespace has that of
    its live object in the cluster, as in kubectl. Raises DocumentError,
    ConfigurationError and ApiError.
    """
    if CLUSTER not in paths:
        return entries, inputs.listing(paths, at_once=at_once)
    files = [path for path in paths if path != CLUSTER]
    found = inputs.listing(files, at_once=at_once).all() if files else []
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
    live_objects = connect(**keywords).get_all([*objects.values()])
    namespaces: dict[int, str] = {}
    for number, obj in zip(objects, live_objects, strict=True):
        if obj is None:
            continue
        live = obj
        # kubectl get shows them on demand only; a server-side apply goes by them.
        if not settings.server_side:
            live = drop_managed_fields(live)
        data = dump_json(live).encode()
        identity = identity_of(live)
        namespaces[number] = identity.namespace
        found.append(Entry(identity, "the cluster", 1, 0, len(data), data))
    named = [entry.in_namespace(namespaces.get(entry.number, "")) for entry in entries]
    return Listing(named), Listing(numbered(found))
