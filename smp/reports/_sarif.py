"""SARIF 2.1.0 (OASIS, Static Analysis Results Interchange Format).

The rules are those of all findings that there can be, so they are written before the
first object, and each result after the other. A rule that stands for all codes of an
origin is that of a hierarchical id: violation/invalid (section 3.27.5).
"""

from __future__ import annotations

import ntpath
import os
import re
from collections.abc import Iterator
from functools import partial
from typing import Final
from urllib.parse import quote

from smp import __version__
from smp._values.findings import Finding, Meaning, Origin, Place
from smp._values.values import JSON, JSONObject
from smp.documents import dump_json
from smp.explain import CAUSES
from smp.hazards import HAZARDS
from smp.lint import LINT
from smp.reports._json import findings_text
from smp.reports._model import ObjectReport
from smp.reports._printing import Printer
from smp.reports._values import LONGEST, cut, printable, sentence_of
from smp.violations import REFUSED, VIOLATIONS

_SCHEMA: Final = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
    "sarif-schema-2.1.0.json"
)
# A drive, or the two slashes before the name of a server.
_WINDOWS: Final = re.compile(r"[A-Za-z]:[\\/]|\\\\")
_BLANK: Final = re.compile(r"\{(\w+)\}")
# What stands for the blanks of a sentence in the text of its rule.
_BLANKS: Final = {
    "controller": "a controller",
    "owners": "other managers",
    "by": "",
    "unknown": "it was never applied",
    "key": "",
    "why": "the rules of a union change it",
    "rule": "the profile of unions",
    "count": "several",
    "other_keys": "other keys",
}

# The name that messages give standard input.
_NO_FILE: Final = "<stdin>"
_ROOT: Final = "%SRCROOT%"


def make_printer(_title: str) -> Printer:
    """Return the printer of the findings of objects as the results of one run."""
    driver: JSONObject = {
        "name": "smp",
        "version": __version__,
        "fullName": "smp, the strategic merge patch engine for Python",
        "rules": [_rule(id_, meaning) for id_, meaning in rules()],
    }
    opening = (
        f'{{"$schema": "{_SCHEMA}",\n"version": "2.1.0",\n"runs": [{{\n'
        f'"tool": {{"driver": {dump_json(driver)}}},\n'
        '"columnKind": "unicodeCodePoints",\n'
        '"results": ['
    )
    closing = "]}]}\n"
    results = partial(findings_text, write=_result)
    return Printer(results, f"{opening}\n", ",\n", f"\n{closing}", opening + closing)


def rules() -> Iterator[tuple[str, Meaning]]:
    """Yield the rules of all findings that there can be.

    Their ids are the origin and the code; one without a code stands for all codes of
    its origin.
    """
    for code, reason in CAUSES.items():
        if reason.severity != "none":
            meaning = Meaning(reason.sentence, "", reason.source, reason.severity)
            yield f"cause/{code}", meaning
    # What lint finds is reported as hazards are.
    tables = {"hazard": {**HAZARDS, **LINT}, "violation": VIOLATIONS}
    for origin, table in tables.items():
        for code, meaning in table.items():
            yield f"{origin}/{code}", meaning
    yield "violation", REFUSED
    told = "a user should know this about the operation"
    yield "warning", Meaning(told, severity="warning")
    yield "failure", Meaning("the object could not be read or computed")


def rule_id(origin: Origin, code: str) -> str:
    """Return the id of the rule of a finding, or one below it."""
    return f"{origin}/{code}" if code else origin


def _general(sentence: str) -> str:
    """Fill in the blanks of a sentence, for a rule that has no values."""

    def words(blank: re.Match[str]) -> str:
        return _BLANKS.get(blank[1], "...")

    return " ".join(_BLANK.sub(words, sentence).split())


def _rule(id_: str, meaning: Meaning) -> JSON:
    # Section 3.49.7: a name that differs from the id.
    words = re.split(r"[-/]", id_ if "/" in id_ else f"any-{id_}")
    sentence = _general(meaning.sentence)
    sentence = f"{sentence[:1].upper()}{sentence[1:]}."
    help_text = sentence
    if meaning.remedy:
        help_text += f" Remedy: {_general(meaning.remedy)}."
    if meaning.source:
        help_text += f" Source: {_general(meaning.source)}."
    return {
        "id": id_,
        "name": "".join(word.capitalize() for word in words),
        "shortDescription": {"text": sentence},
        "help": {"text": help_text},
        "defaultConfiguration": {"level": meaning.severity},
    }


def _result(report: ObjectReport, finding: Finding, fingerprint: str) -> JSONObject:
    where = str(finding.path) or report.label
    # Section 3.33: the name is the last part of the qualified one for most languages;
    # of a path, that would be a name without its place.
    logical: JSONObject = {
        "name": cut(printable(where), LONGEST),
        "fullyQualifiedName": printable(f"{report.label}: {finding.path}"),
        "kind": "member" if finding.path.steps else "object",
    }
    location: JSONObject = {"logicalLocations": [logical]}
    physical = _physical(finding.place or report.place)
    if physical is not None:
        location["physicalLocation"] = physical
    return {
        "ruleId": rule_id(finding.origin, finding.code),
        "level": finding.severity,
        "message": {"text": sentence_of(report, finding)},
        "locations": [location],
        "partialFingerprints": {"objectPathCode/v1": fingerprint},
        "properties": {"input": finding.input},
    }


def _physical(place: Place) -> JSON:
    """Return a place as a physical location; None for what is no file."""
    if not place.file or place.file == _NO_FILE:
        return None
    uri = uri_of(place.file)
    artifact: JSONObject = {"uri": uri}
    # Section 3.4.4: a relative reference is relative to a base, which a viewer knows.
    if not uri.startswith("file:"):
        artifact["uriBaseId"] = _ROOT
    location: JSONObject = {"artifactLocation": artifact}
    if place.line:
        region: JSONObject = {"startLine": place.line}
        if place.column:
            region["startColumn"] = place.column
        location["region"] = region
    return location


def uri_of(file: str) -> str:
    """Return the name of a file as a URI reference (RFC 3986, RFC 8089).

    A file below the working directory has a relative one, as tools expect them that
    show findings beside the lines of a repository.
    """
    if _WINDOWS.match(file):
        drive, rest = ntpath.splitdrive(file.replace("\\", "/"))
        path = _quote(rest)
        if drive.startswith("//"):
            return f"file:{_quote(drive)}{path}"
        return f"file:///{drive}{path}"
    file = relative_file(file)
    # A colon in the first segment would be that of a scheme; quote() escapes it.
    path = _quote(file)
    return f"file://{path}" if file.startswith("/") else path


def relative_file(file: str) -> str:
    """Return a file with slashes, relative where it is in the working directory."""
    if os.sep == "\\":
        file = file.replace("\\", "/")
    below = os.getcwd().replace(os.sep, "/").rstrip("/")  # noqa: PTH109  # a text
    file = file.removeprefix(f"{below}/")
    while file.startswith("./"):
        file = file[2:]
    return file


def _quote(file: str) -> str:
    try:
        # The bytes of a name that is not UTF-8, as Python hands them over.
        return quote(file, safe="/", errors="surrogateescape")
    except UnicodeEncodeError:
        return quote(printable(file), safe="/")
