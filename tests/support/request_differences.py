"""The classes of what differs from a kube-apiserver, with the reason for each.

``python -m tests.support.request_differences`` replays the recorded requests, and
writes the table of docs/server.md again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from smp._values.values import as_object, as_text
from smp.server.settings import Settings
from tests.record.applies import read
from tests.support.makers.requests import subjects
from tests.support.paths import ROOT
from tests.support.recorded_requests import FILE, Comparison, comparisons
from tests.support.server_app import serving

DOCUMENT: Final = ROOT / "docs" / "server.md"
# Unions are judged as by a server that does not know KEP-1027.
PROFILE: Final = "validate-only"
_BEGIN, _END = "<!-- differences -->\n", "<!-- /differences -->"


def replayed() -> list[Comparison]:
    """Send all recorded requests to the application."""
    _, lines = read(FILE)
    with serving(Settings(profile=PROFILE)) as server:
        return [*comparisons(server, lines)]


class DifferenceClass(NamedTuple):
    """A class of requests, and why they are answered in another way."""

    name: str
    reason: str
    has: Callable[[Comparison], bool]


def _message(compared: Comparison) -> str:
    return as_text(as_object(compared.theirs.body).get("message"))


def _says(*patterns: str) -> Callable[[Comparison], bool]:
    """Match the message of the kube-apiserver."""
    expression = re.compile("|".join(patterns))
    return lambda compared: bool(expression.search(_message(compared)))


def _is(method: str, *kinds: str) -> Callable[[Comparison], bool]:
    return lambda compared: (
        method in compared.step["method"]
        and (not kinds or compared.kind in kinds)
        and compared.theirs.accepted
    )


def _stored(*fields: str) -> Callable[[Comparison], bool]:
    """Match what the kube-apiserver has of some fields or values."""

    def has(compared: Comparison) -> bool:
        if not compared.theirs.accepted:
            return False
        text = repr((compared.their_state, compared.theirs.body))
        return any(field in text for field in fields)

    return has


def _all(*conditions: Callable[[Comparison], bool]) -> Callable[[Comparison], bool]:
    return lambda compared: all(condition(compared) for condition in conditions)


def _accepted_only_here(compared: Comparison) -> bool:
    return compared.ours.accepted and not compared.theirs.accepted


def _refused_only_here(compared: Comparison) -> bool:
    return compared.theirs.accepted and not compared.ours.accepted


def _is_strategic(compared: Comparison) -> bool:
    return "strategic" in compared.step.get("content_type", "")


def _is_watch_list(compared: Comparison) -> bool:
    events: Any = compared.theirs.body
    is_watch = "sendInitialEvents=true" in compared.step["path"]
    return is_watch and isinstance(events, list)


def _is_custom(compared: Comparison) -> bool:
    return subjects()[compared.kind].custom


# The first class that a request is in counts.
CLASSES: Final = (
    DifferenceClass(
        "a `resourceVersion` that is no number",
        "500 there; here 400, or 409 in an object",
        _says("strconv.ParseUint"),
    ),
    DifferenceClass(
        "malformed strategic merge patches",
        "500 there, or the connection ends; `$retainKeys` is merged into maps; here"
        " 400 or 422, it is the client's error",
        _all(
            _is_strategic,
            lambda compared: (
                compared.theirs.code >= 500 or "$" in repr(compared.step.get("body"))
            ),
        ),
    ),
    DifferenceClass(
        "CustomResourceDefinitions",
        "controllers there write the status and finalizers between the requests",
        lambda compared: compared.kind == "CustomResourceDefinition",
    ),
    DifferenceClass(
        "rules of built-in kinds",
        "ranges, formats and references that are not checked here, see above",
        _accepted_only_here,
    ),
    DifferenceClass(
        "bodies that Go reads and others do not",
        "invalid UTF-8 in a text, and numbers out of range in DeleteOptions",
        _all(
            _refused_only_here,
            lambda compared: "not JSON" in repr(as_object(compared.ours.body)),
        ),
    ),
    DifferenceClass(
        "names and merges that only this server refuses",
        "a generateName with a capital letter, a list in a map of texts",
        _refused_only_here,
    ),
    DifferenceClass(
        "which of two errors is found first",
        "an invalid object that exists already, or with several faults",
        lambda compared: compared.same_verdict and not compared.same_code,
    ),
    DifferenceClass(
        "initial events of a watch",
        "the store of the recording could not tell its progress in a second: there an"
        " error in the stream, here the events",
        _is_watch_list,
    ),
    DifferenceClass(
        "what controllers and admission plugins add to new objects",
        "above all protection finalizers of volumes and claims: here nothing would"
        " remove them",
        _all(
            _is("POST"),
            _stored("-protection'", "'tolerations'", "'taints'", "controller-uid"),
        ),
    ),
    DifferenceClass(
        "managed fields",
        "fields that a server drops or keeps after it has noted who wrote them: behind"
        " a feature gate, or immutable",
        _is("P", "StatefulSet", "PersistentVolume", "PersistentVolumeClaim", "Pod"),
    ),
    DifferenceClass(
        "numbers of custom resources",
        "0 replicas are left out of a Scale there",
        _all(_is("P"), _is_custom),
    ),
    DifferenceClass(
        "objects and pages of a list",
        "a cluster has PriorityClasses of its own; continue tokens",
        _is("GET"),
    ),
    DifferenceClass(
        "generations and versions",
        "of a deleted Pod; the `resourceVersion` of a dry run",
        lambda compared: compared.same_code,
    ),
)


def counts(compared: Iterable[Comparison]) -> dict[str, int]:
    """Return how many requests each class has."""
    found: Counter[str] = Counter()
    for each in compared:
        if not (each.same_verdict and each.same_code and each.same_object):
            found[next(row.name for row in CLASSES if row.has(each))] += 1
    return dict(found)


def table(compared: list[Comparison]) -> str:
    """Return the text about the requests in docs/server.md."""
    total = len(compared)
    verdicts = sum(each.same_verdict for each in compared)
    codes = sum(each.same_code for each in compared)
    objects = sum(each.same_object for each in compared)
    lines = [
        (
            f"Of {total:,} requests {verdicts / total:.1%} have the same verdict"
            f" (accepted or refused), {codes / total:.1%} the same code,"
        ),
        f"and {objects / total:.1%} lead to the same objects, answered and stored.",
        "",
        "| what differs | requests | why |",
        "|---|--:|---|",
    ]
    found = counts(compared)
    lines += [
        f"| {row.name} | {found[row.name]} | {row.reason} |"
        for row in CLASSES
        if row.name in found
    ]
    return "\n".join([*lines, ""])


def documented() -> str:
    """Return the text that docs/server.md has."""
    return DOCUMENT.read_text().partition(_BEGIN)[2].partition(_END)[0]


def main() -> None:
    """Write the text again."""
    text = DOCUMENT.read_text()
    DOCUMENT.write_text(text.replace(documented(), f"\n{table(replayed())}\n"))


if __name__ == "__main__":
    main()
