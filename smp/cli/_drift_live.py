"""The live objects of one cluster, as ``smp drift`` asks for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import asdict

from smp._values.codec import decode, encode
from smp._values.values import JSONObject, as_list, as_object
from smp.cli._drift_gaps import ReadingGaps
from smp.cli._drift_records import Record
from smp.cli._errors import CommandFailure
from smp.cli._identity import identity_of
from smp.cli._inputs import Inputs
from smp.cli._live import connect, kind_of, read_definitions
from smp.cli._options import CommandSettings
from smp.documents import Document
from smp.errors import SmpError


class LiveCluster:
    """The live objects of a cluster: those of manifests, and others of their kinds."""

    def __init__(
        self,
        path: str,
        inputs: Inputs,
        gaps: ReadingGaps,
        settings: CommandSettings,
    ) -> None:
        self._path = path
        self._inputs = inputs
        self._gaps = gaps
        keywords: dict[str, Any] = {}
        if settings.namespace:
            keywords["namespace"] = settings.namespace
        self._settings = settings
        self._defined: set[tuple[str, str]] = set()
        context = path.partition(":")[2]
        self._cluster = connect(asdict(settings), context, **keywords)
        # What extra objects are looked for among, and what is not extra.
        self._kinds: dict[tuple[str, str, str], str] = {}
        self._found: set[tuple[str, str, str, str, str]] = set()

    def of(self, desired: list[Record]) -> Iterator[Record]:
        """Read the live objects of manifests, as kubectl would find them.

        One that cannot be read is a problem, and its record has the error.
        """
        manifests = [as_object(decode(record.text)) for record in desired]
        found: list[JSONObject | None] = []
        try:
            found = self._cluster.get_all(manifests)
        except SmpError:
            # One of them is of a kind that the cluster does not have, for example.
            for record, manifest in zip(desired, manifests, strict=True):
                try:
                    found.append(self._cluster.get(manifest))
                except SmpError as error:
                    found.append(None)
                    failure = CommandFailure(error, None, record.label)
                    self._inputs.problems.append(failure)
                    yield _unknown(record, error)
        self._read_definitions(manifests)
        for record, live in zip(desired, found, strict=True):
            _cluster, group, kind, _name = record.key
            # A manifest without a namespace is for that of the context.
            namespace = record.namespace or self._cluster.namespace
            # The cluster answers for each of them.
            self._gaps.hear(record.cluster)
            self._kinds[group, kind, namespace] = record.cluster
            if live is not None:
                record_of_live = record_of(live, record.cluster, self._path)
                self._found.add((*record_of_live.key, record_of_live.namespace))
                yield record_of_live

    def applied(
        self, selector: str, *, is_everywhere: bool
    ) -> Iterator[tuple[Record, Record]]:
        """Read what was applied in a namespace, or in all: its configuration, and it.

        Raises ApiError.
        """
        namespace = "" if is_everywhere else None
        drifts = self._cluster.drift(namespace=namespace, selector=selector)
        self._read_definitions([found.item.object for found in drifts])
        for found in drifts:
            if found.live is not None and found.error is None:
                place = f"{self._path}: last-applied"
                self._gaps.hear("")
                yield (
                    record_of(found.item.object, "", place),
                    record_of(found.live, "", self._path),
                )

    def _read_definitions(self, objects: list[JSONObject]) -> None:
        """Read the definitions of kinds that were not met before."""
        new = [obj for obj in objects if kind_of(obj) not in self._defined]
        self._defined |= {kind_of(obj) for obj in new}
        read_definitions(self._cluster, new, self._inputs, self._settings)

    def others(self) -> Iterator[Record]:
        """List the kinds and namespaces of the manifests: what no manifest is about.

        What a controller made has no manifest, and is skipped.
        """
        for (group, kind, namespace), cluster in self._kinds.items():
            name = f"{kind.lower()}.{group}" if group else kind.lower()
            try:
                listed = self._cluster.list_objects(name, namespace=namespace)
            except SmpError as error:
                failure = CommandFailure(error, None, f"list of {name} in {namespace}")
                self._inputs.problems.append(failure)
                continue
            for live in listed:
                record = record_of(live, cluster, self._path)
                key = (*record.key, record.namespace)
                if key in self._found:
                    continue
                # Those of the whole cluster are listed for each namespace.
                self._found.add(key)
                if is_controlled(live):
                    document = Document(None, self._path, 0)
                    reason = f"{record.label}: a controller made it"
                    self._inputs.skipped.append((document, reason))
                    continue
                yield record


def is_controlled(live: JSONObject) -> bool:
    """Tell whether a controller has made an object."""
    owners = as_object(live.get("metadata")).get("ownerReferences")
    # Go: metav1.GetControllerOf.
    return any(as_object(owner).get("controller") is True for owner in as_list(owners))


def record_of(live: JSONObject, cluster: str, place: str) -> Record:
    """Return a live object of a cluster."""
    identity = identity_of(live)
    return Record(
        cluster,
        identity.api_version,
        identity.kind,
        identity.namespace,
        identity.name,
        encode(live),
        place,
    )


def _unknown(record: Record, error: SmpError) -> Record:
    """Return what stands for the live object of a manifest that could not be read."""
    return Record(
        record.cluster,
        record.api_version,
        record.kind,
        record.namespace,
        record.name,
        b"",
        "",
        error=str(error),
    )
