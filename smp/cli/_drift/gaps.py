"""What a run of ``smp drift`` could not read.

Theory of operation. An object that no dump has is missing only where the dumps of its
cluster are whole, and one that no manifest has is extra only where the manifests are.
So each place at which something may have been lost is remembered, by its side and by
its cluster as far as that is known. When both sides are read, a row that would say
"missing" or "extra" of such a cluster becomes "unreadable". What a state keeps of a
pair depends on the pair alone, and stays right for a later run that reads all.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final

# Stands for all clusters, in the place of the name of one.
_ANY: Final = ""
_NOT_READ: Final = "nothing was read of what the cluster has"


class ReadingGaps:
    """Where objects may have been lost, and of which clusters something was read."""

    def __init__(self) -> None:
        # By whether it is the desired side, and by cluster.
        self._reasons: dict[tuple[bool, str], list[str]] = {}
        # The clusters of which something was read, if only that there is no object.
        self.heard: set[str] = set()
        # Why only objects without a manifest may be lost, by cluster.
        self.of_extra: defaultdict[str, list[str]] = defaultdict(list)

    def add(self, cluster: str, reason: str, *, is_desired: bool) -> None:
        """Remember that objects of a cluster may be lost; of any one, if ""."""
        reasons = self._reasons.setdefault((is_desired, cluster), [])
        if reason not in reasons:
            reasons.append(reason)

    @property
    def clusters(self) -> set[str]:
        """The clusters of which objects may be lost; "" where it may be any."""
        return {cluster for _side, cluster in self._reasons}

    def of(self, cluster: str, *, is_desired: bool) -> list[str]:
        """Return what may be lost of a side of a cluster itself; of any, if ""."""
        return self._reasons.get((is_desired, cluster), [])

    def reasons(self, cluster: str, *, is_desired: bool) -> list[str]:
        """Return why objects of a side of a cluster may be lost."""
        found: list[str] = []
        for name in dict.fromkeys((cluster, _ANY)):
            found += self.of(name, is_desired=is_desired)
        # No dump is there, or one without any object, as where a server was down.
        if not found and not is_desired and cluster not in self.heard:
            return [_NOT_READ]
        return found
