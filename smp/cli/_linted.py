"""What ``smp lint`` finds in the parts of a file, each with its place in the text."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from smp.cli._errors import Failure
from smp.cli._identity import Identity, identity_at_a_glance, identity_of
from smp.cli._inputs import (
    FOR_ANOTHER_TOOL,
    NOT_AN_OBJECT,
    Inputs,
    explained,
    is_of_another_tool,
)
from smp.cli._objects import Entry, Object
from smp.cli._options import WITHOUT_SCHEMA, Schemas
from smp.cli._patch_files import Target, patch_files
from smp.cli._run import Row
from smp.documents import Chunk, Document, Position, Positions, parse, positions
from smp.errors import DocumentError, SmpError, UnknownKindError
from smp.hazards import Hazard
from smp.lint import Form, finding, form_of, has_directive, lint
from smp.paths import Path
from smp.schema.model import Schema
from smp.values import JSON, JSONObject, as_object

# A comment that takes back what is found on its line, or on the line below it.
_IGNORED: Final = re.compile(rb"#\s*smp-lint:\s*ignore=([a-z0-9,-]+)")
_WITHOUT_KIND: Final = "a patch without apiVersion and kind; --kind says what it is of"


class Part(Row, frozen=True):
    """A part of a file, with the objects in it as far as they are known.

    ``former`` has for each document the place of another one with the same object in
    the same file; empty for the first one. ``is_named`` says that the file is an
    argument, and not found in a directory. ``target`` is there where a kustomization
    lists the file as a patch.
    """

    former: tuple[str, ...] = ()
    is_named: bool = False
    target: Target | None = None


class LintedDocument(msgspec.Struct, frozen=True):
    """What was found in a document, each with its place in the file ``source``."""

    identity: Identity
    form: Form
    source: str
    line: int
    findings: tuple[tuple[Hazard, Position], ...] = ()


class Linted(msgspec.Struct, frozen=True):
    """What was found in a part of a file.

    ``kinds`` are those for which there is no schema; ``skipped`` has the lines of
    documents that take no part, and why; ``problems`` are blocks for standard error,
    about the part that begins at a line of ``source``.
    """

    source: str
    line: int
    documents: tuple[LintedDocument, ...] = ()
    kinds: tuple[str, ...] = ()
    skipped: tuple[tuple[Document, str], ...] = ()
    problems: tuple[str, ...] = ()


class Asked(msgspec.Struct, frozen=True):
    """What the options say of the texts."""

    as_: str = ""
    patch_type: str = ""
    kind: Schema | None = None
    ignored: frozenset[str] = frozenset()


def parts_of(inputs: Inputs, paths: Sequence[str]) -> Iterator[Part]:
    """Yield the parts of all files. What cannot be read is a problem of the inputs."""
    for path in paths:
        try:
            files = inputs.files(path)
            is_named = files == [path]
            # kustomize knows which files are patches, and of what.
            patches = {} if is_named else patch_files(inputs, files)
            source = ""
            places: dict[tuple[object, str], str] = {}
            for chunk, is_regular in inputs.chunks_of(path):
                if chunk.source != source:
                    source, places = chunk.source, {}
                identities = _identities(chunk)
                former = []
                for identity, line in identities:
                    key = (identity.key, identity.namespace)
                    is_one = identity.name and not identity.is_generated
                    former.append(places.get(key, "") if is_one else "")
                    places.setdefault(key, f"{chunk.source}:{line}")
                can_reread = is_regular and chunk.offset is not None
                entry = Entry(
                    identities[0][0] if identities else Identity(),
                    chunk.source,
                    chunk.line,
                    chunk.offset or 0,
                    len(chunk.data),
                    None if can_reread else chunk.data,
                    chunk.list_of,
                )
                is_definition = entry.identity.kind == "CustomResourceDefinition"
                if is_definition and not can_reread:
                    inputs.definitions.append(entry)
                yield Part(
                    entry,
                    former=tuple(former),
                    is_named=is_named,
                    target=patches.get(os.path.normpath(source)),
                )
        except DocumentError as error:
            inputs.problems.append(Failure(error))


def _identities(chunk: Chunk) -> list[tuple[Identity, int]]:
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


class Linter:
    """What is done with each part: parse it, and lint its documents."""

    def __init__(self, inputs: Inputs, schemas: Schemas, asked: Asked) -> None:
        self._inputs = inputs
        self._schemas = schemas
        self._asked = asked
        self._schemas_of_targets: dict[Target, Schema | None] = {}

    def result(self, part: Part) -> Linted:
        """Return what was found in a part; what is wrong with it is a problem."""
        try:
            return self.linted(part)
        except Failure as failure:
            entry = part.entry
            blocks = tuple(failure.blocks)
            return Linted(entry.source, entry.line, problems=blocks)

    def linted(self, part: Part) -> Linted:
        """Return what was found in a part. Raises Failure."""
        entry = part.entry
        data = self._inputs.data_of(entry)
        chunk = Chunk(data, entry.source, entry.line, list_of=entry.list_of)
        # Not all text that looks like an object when it is listed can be read.
        try:
            documents = parse(chunk)
        except DocumentError as error:
            return _broken(chunk, error, part)
        texts = _Texts(chunk)
        kind = self._schema_of_patches(part)
        linted: list[LintedDocument] = []
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
                raise Failure(error, document, identity.label) from None
            findings: list[tuple[Hazard, Position]] = []
            for hazard in found:
                if hazard.code in self._asked.ignored:
                    continue
                position = texts.position(number, hazard.path)
                if not texts.ignores(hazard.code, position.line):
                    findings.append((hazard, position))
            # In the order of the lines that a reader goes through.
            findings.sort(key=lambda found: (found[1].line, found[1].column))
            linted.append(
                LintedDocument(
                    identity, form, chunk.source, document.line, tuple(findings)
                )
            )
        return Linted(
            entry.source, entry.line, tuple(linted), tuple(kinds), tuple(skipped)
        )

    def _schema_of_patches(self, part: Part) -> Schema | None:
        """Return the schema of what patches without apiVersion and kind are of."""
        target = part.target
        if self._asked.kind is not None or target is None or not target.kind:
            return self._asked.kind
        if target not in self._schemas_of_targets:
            # Few runs come here. Of several versions, clients prefer the first one.
            from smp.schema.resource_names import (  # noqa: PLC0415  # see above
                version_sort_key,
            )

            catalog = self._schemas.catalog
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
            self._schemas_of_targets[target] = schema
        return self._schemas_of_targets[target]

    def _reason_to_skip(self, value: JSON, part: Part, kind: Schema | None) -> str:
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
        if not is_listed and not has_directive(value):
            return NOT_AN_OBJECT
        return "" if kind is not None else _WITHOUT_KIND

    def _of_document(
        self,
        value: JSON,
        former: str,
        kind: Schema | None,
        kinds: list[str],
        part: Part,
    ) -> tuple[Form, list[Hazard]]:
        """Return what a document is, and what was found; add its kind to the unknown.

        ``kind`` is the schema of a patch without apiVersion and kind.
        """
        if not isinstance(value, dict):
            return "json", [*lint(value, kind, "json")]
        found: list[Hazard] = []
        if kind is None or "kind" in value or "apiVersion" in value:
            obj = Object(value, Document(value, "", 1))
            schema = self._schema_of(obj, found, kinds)
        else:
            named: JSONObject = {"apiVersion": kind.api_version, "kind": kind.kind}
            obj = Object(named, Document(named, "", 1))
            schema = kind
        custom = self._schemas.is_custom(obj)
        form, guessed = self._form(value, schema, part, custom=custom)
        # A patch may stand beside what it patches, and a dump may repeat an object.
        if former and form == "manifest":
            found.append(finding("repeated-object", _NAME, "manifest", place=former))
        found += lint(value, schema, form, custom=custom, guessed=guessed)
        return form, found

    def _schema_of(
        self, obj: Object, found: list[Hazard], kinds: list[str]
    ) -> Schema | None:
        """Return the schema of an object; None where there is none, which is noted."""
        try:
            schema, _note = self._schemas.of_any(obj)
        except UnknownKindError as error:
            # A group of Kubernetes itself has no such kind in this version.
            found.append(
                finding(
                    "unknown-kind",
                    _KIND,
                    "manifest",
                    kind=obj.identity.kind,
                    api_version=obj.identity.api_version,
                    remedy=error.advice or _OTHER_VERSION,
                )
            )
            return None
        if schema is WITHOUT_SCHEMA:
            identity = obj.identity
            kinds.append(f"{identity.api_version} {identity.kind}")
            return None
        return schema

    def _form(
        self, value: JSONObject, schema: Schema | None, part: Part, *, custom: bool
    ) -> tuple[Form, bool]:
        """Return what an object is, and whether that was found by its content."""
        asked = self._asked
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


_NAME: Final = Path(("metadata", "name"))
_KIND: Final = Path(("kind",))
_OTHER_VERSION: Final = "use a version of the API that servers still serve"


def _broken(chunk: Chunk, error: DocumentError, part: Part) -> Linted:
    """Return what is wrong with a part that cannot be parsed."""
    place = Document(None, chunk.source, error.line or chunk.line)
    # Directories hold the files of many tools, and not all of them are sound.
    is_object = b"apiVersion" in chunk.data or b"kind" in chunk.data
    if not part.is_named and not is_object:
        return Linted(chunk.source, place.line, skipped=((place, error.problem),))
    # A sound text but for this, and kubectl refuses it as well.
    if error.code == "duplicate-key":
        hazard = finding("repeated-name", Path(), "manifest", problem=error.problem)
        document = LintedDocument(
            part.entry.identity,
            "manifest",
            chunk.source,
            chunk.line,
            ((hazard, Position(place.line, error.column or 1)),),
        )
        return Linted(chunk.source, place.line, (document,))
    failure = Failure(explained(error, chunk.data))
    return Linted(chunk.source, place.line, problems=tuple(failure.blocks))


class _Texts:
    """The lines of a part, looked at only where something is found."""

    def __init__(self, chunk: Chunk) -> None:
        self._chunk = chunk
        self._found: list[Positions] | None = None
        self._ignored: dict[int, bytes] | None = None

    def position(self, number: int, path: Path) -> Position:
        """Return where a path of a document stands."""
        if self._found is None:
            self._found = positions(self._chunk)
        return self._found[number].of(path)

    def ignores(self, code: str, line: int) -> bool:
        """Tell whether a comment on a line, or on the one above, names a code."""
        if self._ignored is None:
            self._ignored = {}
            for number, text in enumerate(self._chunk.data.split(b"\n")):
                comment = _IGNORED.search(text)
                if comment is not None:
                    self._ignored[number + self._chunk.line] = comment[1]
        for commented in (line, line - 1):
            if code.encode() in self._ignored.get(commented, b"").split(b","):
                return True
        return False
