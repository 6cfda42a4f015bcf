"""What ``smp lint`` finds in the parts of a file, each with its place in the text.

kustomize knows which files of a directory are patches, and of what.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

import msgspec

from smp._values.values import JSON, JSONObject, as_list, as_object, as_text
from smp.cli._errors import CommandFailure
from smp.cli._identity import ObjectIdentity, identity_at_a_glance, identity_of
from smp.cli._inputs import (
    FOR_ANOTHER_TOOL,
    KUSTOMIZATIONS,
    NOT_AN_OBJECT,
    STDIN,
    Inputs,
    explain,
    is_for_another_tool,
    is_of_another_tool,
    part_of,
)
from smp.cli._objects import Entry, ObjectRow
from smp.cli._options import WITHOUT_SCHEMA, CommandSettings, Schemas
from smp.custom_resources import unchecked
from smp.documents import Chunk, Document, Positions, parse, positions, read
from smp.errors import DocumentError, SmpError, UnknownKindError
from smp.hazards import Hazard
from smp.lint import Form, finding, form_of, has_directive, lint
from smp.paths import Path
from smp.reports import Finding, ObjectReport, Place
from smp.schema.model import Schema
from smp.schema.resources import version_sort_key
from smp.schema.sources.crd import structural_schemas

if TYPE_CHECKING:
    from smp.cli._policies import CommandPolicies


class PatchTarget(msgspec.Struct, frozen=True):
    """The kind of what a patch is applied to; each part may be empty."""

    group: str = ""
    version: str = ""
    kind: str = ""


def patch_files(inputs: Inputs, files: Iterable[str]) -> dict[str, PatchTarget]:
    """Return the patches that kustomizations among the files list, with their targets.

    A kustomization that cannot be read lists none: kustomize says what is wrong.
    """
    found: dict[str, PatchTarget] = {}
    for file in files:
        if not is_for_another_tool(file):
            continue
        try:
            documents = read(inputs.data(file), source=file)
        except SmpError:
            continue
        folder = os.path.dirname(file)  # noqa: PTH120  # without pathlib
        for document in documents:
            for path, target in _patches_of(as_object(document.value)):
                found[os.path.normpath(os.path.join(folder, path))] = target  # noqa: PTH118  # without pathlib
    return found


def _patches_of(kustomization: JSONObject) -> Iterator[tuple[str, PatchTarget]]:
    """Yield the paths of patches in a kustomization, with their targets.

    Reference of kustomization.yaml: patches, patchesStrategicMerge, patchesJson6902. A
    path without a target is of a patch that names its object.
    """
    listed: list[JSON] = []
    for field in ("patches", "patchesJson6902", "patchesStrategicMerge"):
        listed += as_list(kustomization.get(field))
    for entry in listed:
        # A text of several lines is a patch itself.
        if isinstance(entry, str):
            if "\n" not in entry:
                yield entry, PatchTarget()
            continue
        members = as_object(entry)
        target = as_object(members.get("target"))
        path = as_text(members.get("path"))
        if path:
            yield (
                path,
                PatchTarget(
                    as_text(target.get("group")),
                    as_text(target.get("version")),
                    as_text(target.get("kind")),
                ),
            )


# A comment that takes back what is found on its line, or on the line below it.
_IGNORED: Final = re.compile(rb"#\s*smp-lint:\s*ignore=([a-z0-9,-]+)")
# What a document is, in words.
FORM_NAMES: Final[dict[Form, str]] = {
    "manifest": "manifest",
    "live": "live object",
    "strategic": "strategic merge patch",
    "merge": "JSON merge patch",
    "json": "JSON Patch",
}
# What a server adds to the metadata of an object, and no manifest has.
_OF_DUMPS: Final = (b"managedFields", b"resourceVersion")
_WITHOUT_KIND: Final = "a patch without apiVersion and kind; --kind says what it is of"


class LintedPart(ObjectRow, frozen=True):
    """A part of a file, with the objects in it as far as they are known.

    ``former`` has for each document the place of another one with the same object;
    empty for the first one. ``is_named`` says that the file is an
    argument, and not found in a directory. ``target`` is there where a kustomization
    lists the file as a patch.
    """

    former: tuple[str, ...] = ()
    is_named: bool = False
    target: PatchTarget | None = None


class Linted(msgspec.Struct, frozen=True):
    """What was found in a part of a file.

    ``reports`` are those of its documents, and of what could not be read; ``forms``
    what the documents are. ``kinds`` are those for which there is no schema;
    ``unchecked`` are the kinds whose definitions have rules that cannot be checked,
    each with how many. ``skipped`` has the lines of documents that take no part, and
    why; ``problems`` are blocks for standard error.
    """

    reports: tuple[ObjectReport, ...] = ()
    forms: tuple[Form, ...] = ()
    kinds: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    skipped: tuple[tuple[Document, str], ...] = ()
    problems: tuple[str, ...] = ()


class LintSettings(CommandSettings, frozen=True):
    """The options of ``smp lint``."""

    live: tuple[str, ...] = ()
    as_: str = ""
    patch_type: str = ""
    kind: str = ""
    severity: str = "warning"
    codes: tuple[str, ...] = ()


def parts_of(inputs: Inputs, paths: Sequence[str]) -> Iterator[LintedPart]:
    """Yield the parts of all files. What cannot be read is a problem of the inputs."""
    # Where each object was seen first.
    places: dict[tuple[object, str], str] = {}
    for path in paths:
        try:
            files = inputs.files(path)
            is_named = files == [path]
            # kustomize knows which files are patches, and of what; of a file that is
            # named, the kustomization beside it.
            patches = patch_files(inputs, _beside(path) if is_named else files)
            for chunk, is_regular in inputs.chunks_of(path):
                target = patches.get(os.path.normpath(chunk.source))
                identities = _identities(chunk)
                # A patch stands beside what it patches, a dump beside its manifest.
                is_dump = any(name in chunk.data for name in _OF_DUMPS)
                source = "" if target is not None or is_dump else chunk.source
                former = _find_former(identities, places, source)
                place = part_of(chunk, 0, is_regular=is_regular)
                entry = Entry(
                    identities[0][0] if identities else ObjectIdentity(),
                    chunk.source,
                    chunk.line,
                    None if place else chunk.data,
                    chunk.list_of,
                    part=place,
                )
                is_definition = entry.identity.kind == "CustomResourceDefinition"
                if is_definition and place is None:
                    inputs.definitions.append(entry)
                yield LintedPart(entry, former=former, is_named=is_named, target=target)
        except DocumentError as error:
            inputs.problems.append(CommandFailure(error))


def _find_former(
    identities: list[tuple[ObjectIdentity, int]],
    places: dict[tuple[object, str], str],
    source: str,
) -> tuple[str, ...]:
    """Return where each object was seen before; note where it is now, in a source."""
    former = []
    for identity, line in identities:
        key = (identity.key, identity.namespace)
        is_one = identity.name and not identity.is_generated
        former.append(places.get(key, "") if is_one else "")
        if source:
            places.setdefault(key, f"{source}:{line}")
    return tuple(former)


def _beside(path: str) -> list[str]:
    """Return the kustomization in the folder of a file; none for standard input."""
    folder = os.path.dirname(path)  # noqa: PTH120  # without pathlib
    candidates = [os.path.join(folder, name) for name in KUSTOMIZATIONS]  # noqa: PTH118  # without pathlib
    if path == STDIN:
        return []
    return [each for each in candidates if os.path.isfile(each)]  # noqa: PTH113  # without pathlib


def _identities(chunk: Chunk) -> list[tuple[ObjectIdentity, int]]:
    """Return which objects are in a part, and their lines; none if it is broken."""
    identity = identity_at_a_glance(chunk.data)
    if identity is not None:
        return [(identity, chunk.line)]
    try:
        documents = parse(chunk)
    except (DocumentError, RecursionError):
        return []
    return [
        (identity_of(as_object(document.value)), document.line)
        for document in documents
    ]


class Linter(msgspec.Struct):
    """What is done with each part: parse it, and lint its documents."""

    inputs: Inputs
    schemas: Schemas
    settings: LintSettings
    # What patches are of that do not say it themselves.
    kind: Schema | None
    policies: CommandPolicies | None
    schemas_of_targets: dict[PatchTarget, Schema | None] = {}
    unchecked: dict[str, str] = {}

    def result(self, part: LintedPart) -> Linted:
        """Return what was found in a part; what is wrong with it is a problem."""
        try:
            return self.linted(part)
        except CommandFailure as failure:
            return _fail(failure, Place(part.entry.source, part.entry.line))

    def linted(self, part: LintedPart) -> Linted:
        """Return what was found in a part. Raises Failure."""
        entry = part.entry
        data = self.inputs.data_of(entry)
        chunk = Chunk(data, entry.source, entry.line, list_of=entry.list_of)
        # Not all text that looks like an object when it is listed can be read.
        try:
            documents = parse(chunk)
        except DocumentError as error:
            return _broken(chunk, error, part)
        texts = _Texts(chunk)
        kind = self._schema_of_patches(part)
        reports: list[ObjectReport] = []
        forms: list[Form] = []
        kinds: list[str] = []
        skipped: list[tuple[Document, str]] = []
        for number, document in enumerate(documents):
            reason = self._reason_to_skip(document.value, part, kind)
            if reason:
                skipped.append((document, reason))
                continue
            identity = identity_of(as_object(document.value))
            former = part.former[number] if number < len(part.former) else ""
            try:
                form, found = self._of_document(
                    document.value, former, kind, kinds, part
                )
            except SmpError as error:
                raise CommandFailure(error, document, identity.label) from None
            forms.append(form)
            place = Place(chunk.source, document.line)
            findings = self._place(found, texts, number)
            report = _report_of(identity, place, form, findings)
            reports.append(_note_costs(report, data))
        return Linted(
            tuple(reports),
            tuple(forms),
            tuple(kinds),
            tuple(filter(None, self.unchecked.values())),
            tuple(skipped),
        )

    def _place(
        self, found: Iterable[Hazard], texts: _Texts, number: int
    ) -> Iterator[Hazard]:
        """Yield what was found in a document and not taken back, with its place."""
        for hazard in found:
            if hazard.code not in self.settings.codes:
                place = texts.place_of(number, hazard.path)
                if not texts.ignores(hazard.code, place.line):
                    yield msgspec.structs.replace(hazard, place=place)

    def _schema_of_patches(self, part: LintedPart) -> Schema | None:
        """Return the schema of what patches without apiVersion and kind are of."""
        target = part.target
        if self.kind is not None or target is None or not target.kind:
            return self.kind
        if target not in self.schemas_of_targets:
            # Of several versions, clients prefer the first one.
            catalog = self.schemas.catalog
            matching: list[tuple[str, str]] = []
            for api_version, name in catalog.kinds():
                group, _, version = api_version.rpartition("/")
                is_meant = name == target.kind and target.group in ("", group)
                if is_meant and target.version in ("", version):
                    matching.append((version, api_version))
            matching.sort(key=lambda found: version_sort_key(found[0]))
            schema = None
            if matching:
                schema = catalog.schema(matching[0][1], target.kind)
            self.schemas_of_targets[target] = schema
        return self.schemas_of_targets[target]

    def _reason_to_skip(
        self, value: JSON, part: LintedPart, kind: Schema | None
    ) -> str:
        """Say why a document takes no part; empty where it does."""
        if isinstance(value, list):
            is_patch = form_of(value, None, custom=False) == "json"
            return "" if is_patch else NOT_AN_OBJECT
        if not isinstance(value, dict):
            return NOT_AN_OBJECT
        # A kustomization that is named: kustomize reads it, and no cluster stores it.
        if is_of_another_tool(identity_of(value)):
            return FOR_ANOTHER_TOOL
        if "kind" in value or "apiVersion" in value:
            return ""
        # Directories hold the files of many tools.
        is_listed = part.is_named or part.target is not None
        if not is_listed and not has_directive(value, kind):
            return NOT_AN_OBJECT
        return "" if kind is not None else _WITHOUT_KIND

    def _of_document(
        self,
        value: JSON,
        former: str,
        kind: Schema | None,
        kinds: list[str],
        part: LintedPart,
    ) -> tuple[Form, list[Hazard]]:
        """Return what a document is, and what was found; note an unknown kind."""
        if not isinstance(value, dict):
            return "json", [*lint(value, kind, "json")]
        found: list[Hazard] = []
        named: JSONObject = value
        schema = kind
        if kind is None or "kind" in value or "apiVersion" in value:
            schema = self._schema_of(value, found, kinds)
        else:
            named = {"apiVersion": kind.api_version, "kind": kind.kind}
        if schema is not None:
            self._note_unchecked(schema, value)
        custom = self.schemas.is_custom(named)
        form, guessed = self._form(value, schema, part, custom=custom)
        # A patch may stand beside what it patches, and a dump may repeat an object.
        if former and form == "manifest":
            found.append(finding("repeated-object", _NAME, "manifest", place=former))
        found += lint(value, schema, form, custom=custom, guessed=guessed)
        if self.policies is not None and form == "manifest":
            _, verdict = self.policies.review(value)
            for code, messages in (
                ("denied-by-policy", [message for message, _ in verdict.denials]),
                ("warned-by-policy", verdict.warnings),
                ("unknown-to-policy", verdict.unknown),
            ):
                for text in messages:
                    found.append(finding(code, Path(), "manifest", message=text))
        return form, found

    def _note_unchecked(self, schema: Schema, value: JSONObject) -> None:
        kind = f"{schema.api_version} {schema.kind}"
        schemas: dict[str, JSONObject] = {}
        is_definition = schema.kind == "CustomResourceDefinition"
        if schema.structural is not None:
            schemas[kind] = schema.structural
        elif is_definition:
            found = structural_schemas(value)
            schemas = {f"{each[0]} {each[1]}": found[each].schema for each in found}
        for name, structural in schemas.items():
            if name not in self.unchecked:
                missing = unchecked(structural)
                # A rule of a definition that does not compile is an error of it.
                is_told = missing and (missing.lacks_extra or not is_definition)
                self.unchecked[name] = f"{name}: {missing}" if is_told else ""

    def _schema_of(
        self, obj: JSONObject, found: list[Hazard], kinds: list[str]
    ) -> Schema | None:
        """Return the schema of an object; None where there is none, which is noted."""
        identity = identity_of(obj)
        try:
            schema, _note = self.schemas.of_any(obj)
        except UnknownKindError as error:
            # A group of Kubernetes itself has no such kind in this version.
            found.append(
                finding(
                    "unknown-kind",
                    _KIND,
                    "manifest",
                    kind=identity.kind,
                    api_version=identity.api_version,
                    remedy=error.advice or _OTHER_VERSION,
                )
            )
            return None
        if schema is WITHOUT_SCHEMA:
            kinds.append(f"{identity.api_version} {identity.kind}")
            return None
        return schema

    def _form(
        self,
        value: JSONObject,
        schema: Schema | None,
        part: LintedPart,
        *,
        custom: bool,
    ) -> tuple[Form, bool]:
        """Return what an object is, and whether that was found by its content."""
        asked = self.settings
        is_patch = asked.as_ == "patch" or part.target is not None
        if asked.as_ == "manifest":
            return "manifest", False
        if asked.as_ == "live":
            return "live", False
        form = form_of(value, schema, custom=custom) or "manifest"
        if form in ("manifest", "live") and not is_patch:
            return form, True
        if asked.patch_type == "merge" or custom:
            return "merge", not is_patch
        return "strategic", not is_patch


_RULES: Final = b"x-kubernetes-validations"
_NAME: Final = Path(("metadata", "name"))
_KIND: Final = Path(("kind",))
_OTHER_VERSION: Final = "use a version of the API that servers still serve"


def _note_costs(report: ObjectReport, data: bytes) -> ObjectReport:
    if report.kind != "CustomResourceDefinition" or _RULES not in data:
        return report
    notes = (*report.notes, "what its rules cost is not estimated")
    return msgspec.structs.replace(report, notes=notes)


def _report_of(
    identity: ObjectIdentity, place: Place, form: Form, findings: Iterable[Finding]
) -> ObjectReport:
    placed = [(each.place or place, each) for each in findings]
    placed.sort(key=lambda each: (each[0].line, each[0].column))
    return ObjectReport(
        *identity.head,
        place,
        "checked",
        findings=tuple(each for _place, each in placed),
        notes=(f"read as a {FORM_NAMES[form]}",),
    )


def _fail(failure: CommandFailure, place: Place) -> Linted:
    report = ObjectReport.of_failure(failure.block, "failed", place)
    return Linted((report,), problems=(failure.block,))


def _broken(chunk: Chunk, error: DocumentError, part: LintedPart) -> Linted:
    document = Document(None, chunk.source, error.line or chunk.line)
    # Directories hold the files of many tools, and not all of them are sound.
    is_object = b"apiVersion" in chunk.data or b"kind" in chunk.data
    if not part.is_named and not is_object:
        return Linted(skipped=((document, error.problem),))
    # A sound text but for this, and kubectl refuses it as well.
    if error.code == "duplicate-key":
        problem = "; ".join(filter(None, (error.problem, error.hint)))
        hazard = finding("repeated-name", Path(), "manifest", problem=problem)
        place = Place(chunk.source, document.line, error.column or 1)
        found = msgspec.structs.replace(hazard, place=place)
        whole = Place(chunk.source, chunk.line)
        report = _report_of(part.entry.identity, whole, "manifest", [found])
        return Linted((report,), ("manifest",))
    place = Place(chunk.source, document.line)
    return _fail(CommandFailure(explain(error, chunk.data)), place)


class _Texts:
    """The lines of a part, looked at only where something is found."""

    def __init__(self, chunk: Chunk) -> None:
        self._chunk = chunk

    @cached_property
    def _positions(self) -> list[Positions]:
        return positions(self._chunk)

    @cached_property
    def _ignored(self) -> dict[int, bytes]:
        """The codes that a comment names, by its line."""
        lines = enumerate(self._chunk.data.split(b"\n"), self._chunk.line)
        found = [(number, _IGNORED.search(text)) for number, text in lines]
        return {number: comment[1] for number, comment in found if comment}

    def place_of(self, number: int, path: Path) -> Place:
        position = self._positions[number].of(path)
        return Place(self._chunk.source, position.line, position.column)

    def ignores(self, code: str, line: int) -> bool:
        """Tell whether a comment on a line, or on the one above, names a code."""
        codes = [self._ignored.get(each, b"").split(b",") for each in (line, line - 1)]
        return any(code.encode() in named for named in codes)
