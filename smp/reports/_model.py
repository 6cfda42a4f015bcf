"""The data that all formats print."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import msgspec

from smp._values.findings import Failure, Finding, Place, Severity
from smp.paths import Path
from smp.schema.model import ANY, Type

if TYPE_CHECKING:
    from smp.explain import Cause
    from smp.hazards import Hazard

LEVELS: Final[tuple[Severity, ...]] = ("error", "warning", "note")
Verdict: TypeAlias = Literal[
    "new", "changed", "unchanged", "removed", "renamed", "failed", "checked"
]
Head: TypeAlias = tuple[str, str, str, str]


class ObjectReport(msgspec.Struct, frozen=True):
    """What happens to one object, and why.

    ``place`` is where the object comes from. Of an apply, ``last_applied``, ``live``
    and ``desired`` are its inputs and ``result`` is what it leads to; of a comparison
    of two states, ``live`` is the one and ``result`` the other, and ``desired`` is
    None; an object that was only looked at is "checked". ``causes`` are all of them,
    ``findings`` what a user should look at, of the causes too. ``notes`` say what the
    report is based on. ``error`` says why the object could not be computed; it is empty
    where it was. By ``type_`` the versions are laid side by side. ``details`` are more
    members of the JSON. ``outcome`` is what a command calls an object that is not what
    it should be, where it fails for each of those, whatever their findings.
    """

    api_version: str
    kind: str
    namespace: str
    name: str
    place: Place
    verdict: Verdict
    last_applied: dict[str, Any] | None = None
    live: dict[str, Any] | None = None
    desired: dict[str, Any] | None = None
    result: dict[str, Any] | None = None
    patch: Any = None
    causes: tuple[Cause, ...] = ()
    hazards: tuple[Hazard, ...] = ()
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    error: str = ""
    type_: Type = ANY
    details: dict[str, Any] = {}
    outcome: str = ""

    @classmethod
    def of_failure(
        cls, error: str, code: str, place: Place, head: Head = ("", "", "", "")
    ) -> ObjectReport:
        """Return the report of what could not be read or computed, and why.

        ``head`` is apiVersion, kind, namespace and name, as far as they are known.
        """
        headline = error.partition("\n")[0].removeprefix("smp: error: ")
        finding = Failure(code, Path(), headline, place=place)
        return cls(*head, place, "failed", findings=(finding,), error=error)

    @property
    def label(self) -> str:
        """The object for a reader: ``apps/v1 Deployment shop/web``, or its place."""
        name = self.name
        if self.namespace and name:
            name = f"{self.namespace}/{name}"
        parts = [self.api_version, self.kind, name or self.namespace]
        return " ".join(part for part in parts if part) or str(self.place)

    @property
    def level(self) -> Severity | None:
        """The worst level of the findings; None where there is none."""
        levels = {finding.severity for finding in self.findings}
        return next((level for level in LEVELS if level in levels), None)

    def add_fingerprints(self) -> Iterator[tuple[Finding, str]]:
        """Yield the findings, each with what it alone is known by in later runs."""
        # An atomic list can lose several elements: the findings are of one path then.
        same: Counter[str] = Counter()
        for finding in self.findings:
            fingerprint = self.fingerprint(finding)
            same[fingerprint] += 1
            yield finding, f"{fingerprint}:{same[fingerprint]}"

    def fingerprint(self, finding: Finding) -> str:
        """Return what a finding is known by in later runs, whatever line it is on."""
        # Neither the version of the API nor the index of an element is a part of it.
        group, slash, _version = self.api_version.rpartition("/")
        parts = [
            group if slash else "",
            self.kind,
            self.namespace,
            self.name,
            finding.origin,
            finding.code,
            finding.input,
            str(finding.path),
        ]
        text = "\0".join(parts).encode(errors="backslashreplace")
        return hashlib.sha256(text).hexdigest()[:32]


def finding_of_cause(cause: Cause) -> Cause | None:
    """Return a cause that a user should look at; None for what is as expected.

    Most causes say that the manifest sets a field, or leaves it to others. Those are in
    every report that has the causes, but a tool that counts findings, or a comment on a
    pull request, is for what has to be looked at.
    """
    return None if cause.severity == "none" else cause
