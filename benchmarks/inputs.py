"""The rows of the benchmark: each operation on each case, and its input.

The inputs are made from a seed, so that every run and every machine has the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final, Literal, NamedTuple, TypeAlias

from benchmarks.manifests import compact
from benchmarks.stories import (
    Story,
    deployment,
    large_config_map,
    pod,
    service,
    small_config_map,
    volumes,
)
from smp._values.values import JSONObject

Operation: TypeAlias = Literal["apply", "two_way", "three_way"]


class Case(NamedTuple):
    """A story, and how many bytes of input each operation has on it, roughly."""

    name: str
    api_version: str
    kind: str
    make: Callable[[], Story]
    sizes: dict[Operation, int]

    def row(self, operation: Operation) -> Row:
        """Return an operation on the case, also one whose size is not documented."""
        size = self.sizes.get(operation, 0)
        return Row(self.name, operation, self.api_version, self.kind, self.make, size)


CASES: Final = (
    Case(
        "ConfigMap, small",
        "v1",
        "ConfigMap",
        small_config_map,
        {"apply": 709, "two_way": 415, "three_way": 1_380},
    ),
    Case(
        "Deployment, 5 containers",
        "apps/v1",
        "Deployment",
        deployment,
        {"apply": 11_779, "two_way": 5_632, "three_way": 20_715},
    ),
    Case(
        "Pod, 100 containers, 200 env",
        "v1",
        "Pod",
        pod,
        {"apply": 154_000, "two_way": 267_000, "three_way": 421_000},
    ),
    Case(
        "Pod, 100 containers x 200 env",
        "v1",
        "Pod",
        partial(pod, variables=200),
        {"apply": 963_000, "three_way": 2_850_000},
    ),
    Case(
        "Service, 50 ports",
        "v1",
        "Service",
        service,
        {"apply": 8_300, "three_way": 18_700},
    ),
    Case(
        "Pod, 1,000 volumes, one changed",
        "v1",
        "Pod",
        volumes,
        {"apply": 67_000, "three_way": 165_000},
    ),
    Case(
        "Pod, 1,000 volumes, all changed",
        "v1",
        "Pod",
        partial(volumes, all_change=True),
        {"apply": 165_000},
    ),
    Case(
        "ConfigMap, 500 KB",
        "v1",
        "ConfigMap",
        large_config_map,
        {"apply": 545_000, "three_way": 1_630_000},
    ),
)


@dataclass(frozen=True)
class Row:
    """One operation on one case; ``size`` is the expected number of bytes of input."""

    name: str
    operation: Operation
    api_version: str
    kind: str
    make: Callable[[], Story]
    size: int

    def __str__(self) -> str:
        return f"{self.name}: {self.operation.replace('_', '-')}"

    @cached_property
    def story(self) -> Story:
        """The objects of the case."""
        return self.make()

    @cached_property
    def documents(self) -> dict[str, JSONObject]:
        """The arguments of the operation in their order.

        Their names are those that the reference program uses.
        """
        story = self.story
        if self.operation == "apply":
            return {"original": story.live, "patch": story.patch}
        if self.operation == "two_way":
            return {"original": story.last_applied, "modified": story.modified}
        return {
            "original": story.last_applied,
            "modified": story.modified,
            "current": story.annotated or story.live,
        }

    @cached_property
    def texts(self) -> tuple[bytes, ...]:
        """The documents as JSON without spaces."""
        return tuple(compact(document).encode() for document in self.documents.values())


def rows() -> Iterator[Row]:
    """Yield every row of the benchmark; the objects of a row are made on first use."""
    for case in CASES:
        for operation in case.sizes:
            yield case.row(operation)
