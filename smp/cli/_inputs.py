"""Reading documents from files, directories and standard input."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import BufferedReader, BytesIO
from itertools import chain, islice
from typing import BinaryIO, Final

import msgspec

from smp._values.api_objects import set_metadata
from smp._values.values import JSON, as_object
from smp.cli._errors import CommandFailure, concerning, printable, report, say
from smp.cli._identity import ObjectIdentity, identity_at_a_glance, identity_of
from smp.cli._kustomize import built
from smp.cli._objects import Entry, Listing, Object, TextPart, is_object, numbered
from smp.documents import (
    MAX_BYTES,
    Chunk,
    Document,
    Positions,
    chunks,
    dump_json,
    flatten_lists,
    parse,
    positions,
    read_one,
)
from smp.errors import DocumentError

STDIN: Final = "-"
_WEB: Final = ("http://", "https://")
_PATIENCE: Final = 30  # seconds for the answer of a server

# How zlib begins at its highest level; no YAML or JSON text begins so.
COMPILED: Final = b"\x78\xda"

_SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})
NOT_AN_OBJECT: Final = "not a Kubernetes object: no apiVersion, no kind"
_WHAT_AN_OBJECT_HAS: Final = "an object has apiVersion and kind"
FOR_ANOTHER_TOOL: Final = "not an object of a cluster: another tool reads it"

# Go: sigs.k8s.io/kustomize/api, konfig.RecognizedKustomizationFileNames.
KUSTOMIZATIONS: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_CHART: Final = "Chart.yaml"
_TEMPLATES: Final = "templates"
RENDER_FIRST: Final = "run helm template first"
# Files that have apiVersion or kind, and that no cluster stores.
_FILES_OF_OTHER_TOOLS: Final = frozenset(
    {
        *KUSTOMIZATIONS,
        "Chart.lock",
        _CHART,
        "helmfile.yaml",
        "requirements.yaml",
        "skaffold.yaml",
    }
)
_GROUPS_OF_OTHER_TOOLS: Final = frozenset({"kustomize.config.k8s.io", "skaffold"})

_NULL: Final = b"null\n"

# The byte order marks (Unicode 15, section 23.8).
_UTF8_MARK: Final = b"\xef\xbb\xbf"
_UTF16_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")
_DEFINITION: Final = b"CustomResourceDefinition"
_BLOCK: Final = 2**20
# So many paths of one input are listed in turns with other inputs.
_MOST_OPEN_FILES: Final = 16

# What every object has, in YAML and in JSON.
_OBJECT: Final = (b"apiVersion", b"kind")
# What a document may have before its content. The pattern is compiled on use.
_BEFORE_CONTENT: Final = rb"(?:(?:---)?[ \t]*(?:[#%][^\n]*)?\r?\n)*"


class Lines(msgspec.Struct, frozen=True):
    """Whole lines of a file: where they begin and end, and the number of the first."""

    start: int
    end: int
    number: int


class Inputs:
    """What one run of a command reads.

    ``skipped`` are the documents that take no part, each with the reason; ``problems``
    the documents and files that cannot be read; ``definitions`` the
    CustomResourceDefinitions among the objects.
    """

    def __init__(
        self,
        max_bytes: int = MAX_BYTES,
        exclude: Sequence[str] = (),
        *,
        is_recursive: bool = True,
    ) -> None:
        self.max_bytes = max_bytes
        self.exclude = exclude
        self._is_recursive = is_recursive
        self.skipped: list[tuple[Document, str]] = []
        self.problems: list[CommandFailure] = []
        self.definitions: list[Entry] = []
        # The documents of the current path that cannot be read, and are no objects.
        self._broken: list[CommandFailure] = []
        # The paths whose objects are listed while they are computed.
        self._paths_as_read: list[str] = []
        # What each of several inputs skips that are listed in turns.
        self._skipped_by_listings: list[list[tuple[Document, str]]] = []
        self._stdin_is_read = False
        self._open_file: BinaryIO | None = None
        self._open_path = ""
        # The objects of a list stand in one part of a text.
        self._positions: list[Positions] = []
        self._positions_of = "", -1

    def data(self, path: str) -> bytes:
        """Read a file or standard input. Raises DocumentError."""
        with self._opened(path) as (file, _is_regular):
            return file.read()

    @contextmanager
    def _opened(self, path: str) -> Iterator[tuple[BinaryIO, bool]]:
        """Open a file or standard input, and tell whether it can be read again."""
        # A second read would return an empty text.
        if path == STDIN and self._stdin_is_read:
            raise DocumentError(
                "standard input can be read only once",
                code="unreadable",
                source=name_of(path),
            )
        try:
            if path == STDIN:
                self._stdin_is_read = True
                # sys.stdin is None where the caller closed it.
                yield getattr(sys.stdin, "buffer", BytesIO()), False
                return
            if is_on_web(path):
                yield BytesIO(_fetch(path)), False
                return
            with open(path or ".", "rb") as file:  # noqa: PTH123  # without pathlib
                yield file, stat.S_ISREG(os.fstat(file.fileno()).st_mode)
        # open() raises ValueError for a path with a null character.
        except (OSError, ValueError) as error:
            raise unreadable(path, _reason_of(error)) from None

    def files(self, path: str, suffixes: Collection[str] = _SUFFIXES) -> list[str]:
        """List the files of a directory, at any depth; a file is its own list.

        What ``exclude`` matches, and the templates of charts, are left out. Raises
        DocumentError for a directory without files of these suffixes.
        """
        # data() reports a path that does not exist.
        if path == STDIN or not os.path.isdir(path or "."):  # noqa: PTH112  # without pathlib
            return [path]
        from pathlib import Path  # noqa: PLC0415  # loading it takes longer than a file

        all_files: list[Path] = []
        for folder, folders, names in os.walk(path):
            if not self._is_recursive:
                folders.clear()
            if _CHART in names and _TEMPLATES in folders:
                folders.remove(_TEMPLATES)
            folders[:] = [each for each in folders if self._takes(folder, each)]
            taken = [each for each in names if self._takes(folder, each)]
            all_files += [Path(folder) / name for name in taken]
        # In the order of kubectl (Go: filepath.Walk): by the names in each folder.
        all_files.sort(key=lambda file: file.parts)
        files = [str(file) for file in all_files if file.suffix in suffixes]
        # The files that kubectl diff hands to KUBECTL_EXTERNAL_DIFF are called after
        # their objects: ``apps.v1.Deployment.shop.web``.
        if not files and suffixes == _SUFFIXES and self._is_recursive:
            files = [str(file) for file in all_files]
        if not files:
            raise DocumentError(
                "no document found in the directory",
                code="no-documents",
                source=path,
                hint="files end in "
                + ", ".join(sorted(suffixes))
                + ("" if self._is_recursive else "; -R looks in all folders"),
            )
        return files

    def _takes(self, folder: str, name: str) -> bool:
        """Tell whether no glob of ``exclude`` matches the end of a path."""
        if not self.exclude:
            return True
        from pathlib import PurePath  # noqa: PLC0415  # see files

        path = PurePath(folder, name)
        return not any(path.match(glob.rstrip("/")) for glob in self.exclude if glob)

    def compiled(self, path: str) -> bytes | None:
        """Return the content of a file of `smp schema compile`, and None for others.

        Raises DocumentError.
        """
        if path == STDIN or os.path.isdir(path or "."):  # noqa: PTH112  # without pathlib
            return None
        with self._opened(path) as (file, is_regular):
            # The first bytes of a pipe cannot be read twice.
            if is_regular and file.read(len(COMPILED)) == COMPILED:
                return COMPILED + file.read()
        return None

    def document(self, path: str) -> Document:
        """Read the only document of a file. Raises DocumentError."""
        return read_one(self.data(path), source=name_of(path))

    def documents(self, path: str) -> list[Document]:
        """Read every document of a file or of the files of a directory.

        A broken document is a problem that leaves the others alone. Raises
        DocumentError for a path that cannot be read, and what is wrong with one that
        has no document.
        """
        problems, skipped = len(self.problems), len(self.skipped)
        self._broken.clear()
        documents: list[Document] = []
        for chunk, _is_regular in self.chunks_of(path):
            documents += self._parsed(chunk, any_document=False)
        if not documents:
            self._raise_without_objects(path, problems, skipped)
        return documents

    def entries(
        self,
        paths: Iterable[str],
        kustomizations: Iterable[str] = (),
        *,
        any_document: bool = False,
    ) -> list[Entry]:
        """List every Kubernetes object of files, directories and kustomizations.

        Other documents are skipped, unless ``any_document`` of a file will do. A broken
        document is a problem that leaves the others alone. Raises DocumentError for a
        path that cannot be read, and for one without any object, but not for a
        directory of kubectl diff.
        """
        entries: list[Entry] = []
        for path in paths:
            entries += self._entries_of(path, any_document=any_document)
        for directory in kustomizations:
            for chunk in chunks(BytesIO(built(directory)), directory, self.max_bytes):
                entries += self._entries_in(chunk, is_regular=False, any_document=False)
        # A manifest often has a CustomResourceDefinition and objects of its kind.
        self.definitions += [
            entry for entry in entries if entry.identity.kind == _DEFINITION.decode()
        ]
        return [*numbered(entries)]

    def entries_as_read(
        self, paths: Sequence[str], *, any_document: bool = False
    ) -> Iterable[Entry]:
        """List the same objects while the first ones are computed, where possible.

        That is where one path is all there is, and it can be read again. Only the first
        object raises then; what is wrong later with the path is a problem.
        """
        [*others, path] = paths
        if others or not can_be_read_again(path):
            return self.entries(paths, any_document=any_document)
        self._paths_as_read.append(path)
        return numbered(self._entries_until_error(path, any_document=any_document))

    def listing(
        self,
        paths: Sequence[str],
        kustomizations: Sequence[str] = (),
        *,
        at_once: bool = False,
    ) -> Listing:
        """List the objects of ``entries``, where possible as far as they are asked for.

        That is where they can be read again. What is wrong with a path that has no
        object is raised now. A file that cannot be read to its end raises DocumentError
        where it is listed.
        """
        skipped = len(self.skipped)
        may_wait = len(paths) <= _MOST_OPEN_FILES and all(map(can_be_read_again, paths))
        if at_once or kustomizations or not may_wait:
            listing = Listing(self.entries(paths, kustomizations))
            self._skipped_by_listings.append(self.skipped[skipped:])
            del self.skipped[skipped:]
            return listing
        self._paths_as_read += paths
        parts: list[Iterable[Entry]] = []
        for path in paths:
            # Several inputs are listed in turns; what is skipped is reported for one
            # after the other.
            reader = Inputs(self.max_bytes, self.exclude)
            reader.problems = self.problems
            self._skipped_by_listings.append(reader.skipped)
            entries = reader._entries_of(path, any_document=False)  # its own class
            first = [*islice(entries, 1)]
            parts.append(chain(first, entries))
        return Listing(numbered(chain.from_iterable(parts)))

    def end_listings(self) -> None:
        """Count what was skipped where objects were listed."""
        for skipped in self._skipped_by_listings:
            self.skipped += skipped
        self._skipped_by_listings.clear()

    def _entries_until_error(self, path: str, *, any_document: bool) -> Iterator[Entry]:
        has_object = False
        try:
            for entry in self._entries_of(path, any_document=any_document):
                has_object = True
                yield entry
        except DocumentError as error:
            # The objects before it are printed by now.
            if not has_object:
                raise
            self.problems.append(CommandFailure(error))

    def _entries_of(self, path: str, *, any_document: bool) -> Iterator[Entry]:
        problems, skipped = len(self.problems), len(self.skipped)
        self._broken.clear()
        has_object = False
        # A directory has documents that are meant for other tools.
        any_document = any_document and not os.path.isdir(path or ".")  # noqa: PTH112  # without pathlib
        for chunk, is_regular in self.chunks_of(path):
            for entry in self._entries_in(
                chunk, is_regular=is_regular, any_document=any_document
            ):
                has_object = True
                yield entry
        if not has_object and not self._is_for_objects_to_come(path):
            self._raise_without_objects(path, problems, skipped)

    def _is_for_objects_to_come(self, path: str) -> bool:
        """Tell whether a directory has only files without content, of kubectl diff.

        It writes an empty file for an object that is to be created or removed (Go:
        k8s.io/kubectl, pkg/cmd/diff, DiffVersion.Print), and ``null`` for a Secret.
        """
        files = self.files(path)
        # No pipe is opened a second time.
        return files != [path] and all(
            os.path.splitext(file)[1] not in _SUFFIXES  # noqa: PTH122  # without pathlib
            and os.path.getsize(file) <= len(_NULL)  # noqa: PTH202  # without pathlib
            and self.data(file) in {b"", _NULL}
            for file in files
        )

    def _raise_without_objects(self, path: str, problems: int, skipped: int) -> None:
        """Raise what is wrong with a path that has no object.

        Nothing is where it has files of other tools, such as a kustomization.
        ``problems`` and ``skipped`` are how many there were before the path was read.
        """
        if len(self.problems) > problems:
            failure = self.problems.pop(problems)
            for other in self.problems[problems:]:
                failure.block += f"\n{other.block}"
            raise failure
        reasons = {reason for _document, reason in self.skipped[skipped:]}
        if FOR_ANOTHER_TOOL in reasons:
            return
        if self._broken:
            raise self._broken[0]
        if not reasons:
            raise DocumentError(
                "no document found", code="empty-document", source=name_of(path)
            )
        charts = [reason for reason in reasons if reason.endswith(RENDER_FIRST)]
        raise without_object(path, min(charts, default=_WHAT_AN_OBJECT_HAS))

    def load(self, entry: Entry) -> Object:
        """Parse an entry as an object. Raises Failure."""
        document = self.load_document(entry)
        with concerning(document, entry.label):
            obj = Object.of(document)
        if entry.written is None:
            return obj
        # kubectl puts the namespace into the object (Go: resource.SetNamespace).
        value = set_metadata(obj.value, namespace=entry.identity.namespace)
        return Object(value, document)

    def load_document(self, entry: Entry) -> Document:
        """Parse an entry. Raises Failure."""
        data = self.data_of(entry)
        try:
            documents = parse(
                Chunk(data, entry.source, entry.line, list_of=entry.list_of)
            )
        except DocumentError as error:
            raise CommandFailure(explain(error, data)) from None
        if len(documents) == 1:
            [document] = documents
            identity = identity_of(as_object(document.value))
            if identity == (entry.written or entry.identity):
                return document
        raise CommandFailure(
            DocumentError(
                "the document is not the object that it begins as",
                code="unreadable",
                source=entry.source,
                line=entry.line,
                hint="has the file changed since it was listed?",
            )
        )

    def loaded_definitions(self) -> list[Document]:
        """Parse the CustomResourceDefinitions among the objects that can be parsed."""
        again = Inputs(self.max_bytes, self.exclude)
        for path in self._paths_as_read:
            # What is wrong with the path is reported where its objects are listed.
            with suppress(DocumentError, CommandFailure):
                if self._may_define(path):
                    again.entries([path])
        self.definitions += again.definitions
        self._paths_as_read.clear()
        documents: list[Document] = []
        for entry in self.definitions:
            with suppress(CommandFailure):
                documents.append(self.load(entry).document)
        return documents

    def read_definitions_of(self, paths: Iterable[str]) -> None:
        """Have the CustomResourceDefinitions of paths read where a kind is missing."""
        self._paths_as_read += [path for path in paths if can_be_read_again(path)]

    def _may_define(self, path: str) -> bool:
        """Tell whether files may have a definition: a search is faster than a list."""
        for file in self.files(path):
            with self._opened(file) as (stream, _is_regular):
                before = stream.read(len(_DEFINITION))
                # An encoding of two bytes for each character.
                if before[:2] in _UTF16_MARKS:
                    return True
                while block := stream.read(_BLOCK):
                    text = before + block
                    if _DEFINITION in text:
                        return True
                    before = text[-len(_DEFINITION) :]
        return False

    def chunks_of(self, path: str) -> Iterator[tuple[Chunk, bool]]:
        """Yield the parts of files, and whether each can be read again.

        Raises DocumentError.
        """
        files = self.files(path)
        for file in files:
            name = name_of(file)
            if files != [path] and self.skips(file):
                continue
            try:
                with self._opened(file) as (stream, is_regular):
                    for chunk in chunks(stream, name, self.max_bytes):
                        yield chunk, is_regular
            except DocumentError as error:
                # A file that is named has to be readable; of a directory, the others
                # are read.
                if files == [path]:
                    raise
                self.problems.append(CommandFailure(error))

    def skips(self, file: str) -> bool:
        """Tell whether another tool reads a file of a directory; remember it then."""
        if not is_for_another_tool(file):
            return False
        reason = _templates_of(file) or FOR_ANOTHER_TOOL
        self.skipped.append((Document(None, name_of(file), 1), reason))
        return True

    def lines_of(self, path: str, lines: Lines | None = None) -> Iterator[Chunk]:
        """Yield the lines of a file of NDJSON, and the parts of any other text.

        With ``lines`` those of a file of lines. Raises DocumentError.
        """
        name = name_of(path)
        with self._opened(path) as (raw, is_regular):
            file = raw if isinstance(raw, BufferedReader) else BufferedReader(raw)  # type: ignore[type-var]
            if lines is None:
                first, line_break, _rest = file.peek(_BLOCK).partition(b"\n")
                first = first.removeprefix(_UTF8_MARK)
                # JSON for readers has its first line break behind a brace.
                is_lines = first.lstrip()[:1] == b"{" and len(first.strip()) > 1
                if not is_lines and line_break:
                    yield from chunks(file, name, self.max_bytes)
                    return
                lines = Lines(0, 0, 1)
            # A pipe begins where it is.
            if lines.start:
                file.seek(lines.start)
            position = lines.start
            for number, line in enumerate(file, start=lines.number):
                # Some editors and shells write a byte order mark before a text.
                text = line.removeprefix(_UTF8_MARK) if number == 1 else line
                if text.strip():
                    start = position + len(line) - len(text)
                    yield Chunk(text, name, number, start if is_regular else None)
                position += len(line)
                if position == lines.end:
                    return

    def _parsed(self, chunk: Chunk, *, any_document: bool) -> list[Document]:
        """Parse a part of a text; what is wrong with it is remembered."""
        try:
            return parse(chunk)
        except DocumentError as error:
            # Directories hold the files of many tools, and not all of them are sound.
            if not any_document and not any(key in chunk.data for key in _OBJECT):
                document = Document(None, chunk.source, error.line or chunk.line)
                self.skipped.append((document, error.problem))
                self._broken.append(CommandFailure(error))
            else:
                self.problems.append(CommandFailure(explain(error, chunk.data)))
            return []

    def _entries_in(
        self, chunk: Chunk, *, is_regular: bool, any_document: bool
    ) -> Iterator[Entry]:
        identity = identity_at_a_glance(chunk.data)
        if identity is not None:
            entry = _entry_of(chunk, identity, is_regular=is_regular)
            if any_document or not is_of_another_tool(identity):
                yield entry
            else:
                document = Document(None, entry.source, entry.line)
                self.skipped.append((document, FOR_ANOTHER_TOOL))
            return
        documents = self._parsed(chunk, any_document=any_document)
        for index, document in enumerate(documents):
            identity = identity_of(as_object(document.value))
            if not any_document and not is_object(document.value):
                self.skipped.append((document, NOT_AN_OBJECT))
                continue
            if not any_document and is_of_another_tool(identity):
                self.skipped.append((document, FOR_ANOTHER_TOOL))
                continue
            # It is kept as JSON, which takes less room than its values.
            data = dump_json(document.value, indent=None).encode()
            part = part_of(chunk, index, is_regular=is_regular)
            yield Entry(identity, chunk.source, document.line, data, part=part)

    def data_of(self, entry: Entry) -> bytes:
        """Return the text of an entry. Raises Failure."""
        if entry.data is not None or entry.part is None:
            return entry.data or b""
        return self._read(entry.part)

    def _read(self, part: TextPart) -> bytes:
        try:
            file = self._open_file
            if file is None or self._open_path != part.source:
                self.close()
                file = open(part.source, "rb")  # noqa: PTH123, SIM115  # kept open
                self._open_file, self._open_path = file, part.source
            file.seek(part.offset)
            return file.read(part.length)
        except OSError as error:
            raise CommandFailure(unreadable(part.source, _reason_of(error))) from None

    def positions(self, part: TextPart | None) -> Positions | None:
        """Return where the fields of an object stand in its file; None without one.

        None as well where the file cannot be read any more as it was.
        """
        if part is None:
            return None
        if self._positions_of != (part.source, part.offset):
            self._positions_of = part.source, part.offset
            self._positions = []
            with suppress(CommandFailure, DocumentError):
                self._positions = positions(self._chunk_of(part))
        if part.index >= len(self._positions):
            return None
        return self._positions[part.index]

    def _chunk_of(self, part: TextPart) -> Chunk:
        return Chunk(self._read(part), part.source, part.line, list_of=part.list_of)

    def value_of(self, part: TextPart) -> JSON:
        """Parse an object that can be read again. Raises Failure."""
        chunk = self._chunk_of(part)
        try:
            values = [
                value
                for document in parse(chunk)
                for value in flatten_lists(document.value)
            ]
        except DocumentError as error:
            raise CommandFailure(explain(error, chunk.data)) from None
        return values[part.index] if part.index < len(values) else None

    def new_problems(self) -> list[CommandFailure]:
        """Return the problems since the last time."""
        new = [*self.problems]
        self.problems.clear()
        return new

    def new_skipped(self) -> list[str]:
        """Return what was skipped since the last time: its place, and why."""
        new = [
            f"{document.source}:{document.line}: {reason}"
            for document, reason in self.skipped
        ]
        self.skipped.clear()
        return new

    def close(self) -> None:
        """Close the file that was read last."""
        if self._open_file is not None:
            self._open_file.close()
            self._open_file = None

    def skip(self, entries: Iterable[Entry], reason: str) -> None:
        """Remember objects that take no part."""
        for entry in entries:
            document = Document(None, entry.source, entry.line)
            self.skipped.append((document, f"{entry.label}: {reason}"))

    def report_skipped(self) -> None:
        """Count and name on standard error what was skipped."""
        if self.skipped:
            plural = "s" if len(self.skipped) > 1 else ""
            say(f"skipped {len(self.skipped)} document{plural}:")
        for document, reason in self.skipped:
            line = f"{document.source}:{document.line}: {reason}"
            report(f"  {printable(line)}")


def _entry_of(chunk: Chunk, identity: ObjectIdentity, *, is_regular: bool) -> Entry:
    line = chunk.line
    if not chunk.data[:1].isalpha():
        before_content = re.match(_BEFORE_CONTENT, chunk.data)
        if before_content is not None:
            line += before_content[0].count(b"\n")
    part = part_of(chunk, 0, is_regular=is_regular)
    data = None if part else chunk.data
    return Entry(identity, chunk.source, line, data, chunk.list_of, part=part)


def part_of(chunk: Chunk, index: int, *, is_regular: bool) -> TextPart | None:
    """Return where a document of a chunk stands in a file that can be read again."""
    if not is_regular or chunk.offset is None:
        return None
    return TextPart.of(chunk, index)


def can_be_read_again(path: str) -> bool:
    """Tell whether a path is a file or a directory, not a pipe."""
    return os.path.isfile(path) or os.path.isdir(path)  # noqa: PTH112, PTH113  # without pathlib


def is_of_another_tool(identity: ObjectIdentity) -> bool:
    group, _kind = identity.group_kind
    return group in _GROUPS_OF_OTHER_TOOLS


def is_on_web(path: str) -> bool:
    """Tell whether a path is the URL of a file on a web server."""
    return path.startswith(_WEB)


def is_for_another_tool(path: str) -> bool:
    """Tell whether a file is read by another tool, though it looks like an object."""
    return os.path.basename(path) in _FILES_OF_OTHER_TOOLS  # noqa: PTH119  # without pathlib


def _templates_of(path: str) -> str:
    """Say what is left out beside a Chart.yaml; empty for nothing."""
    from pathlib import Path  # noqa: PLC0415  # see Inputs.files

    file = Path(path)
    if file.name != _CHART:
        return ""
    templates = (file.parent / _TEMPLATES).rglob("*")
    count = sum(each.suffix in _SUFFIXES for each in templates)
    plural = "" if count == 1 else "s"
    return f"{count} template{plural} of a chart: {RENDER_FIRST}" if count else ""


def _reason_of(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def unreadable(
    path: str, reason: object, failure: type[DocumentError] = DocumentError
) -> DocumentError:
    """Make the error of a file that cannot be read."""
    text = f"cannot read the file: {reason}"
    return failure(text, code="unreadable", source=name_of(path))


def without_object(path: str, hint: str = _WHAT_AN_OBJECT_HAS) -> DocumentError:
    """Make the error of a path without any object."""
    text = "no Kubernetes object found"
    return DocumentError(text, code="no-objects", source=name_of(path), hint=hint)


def explain(error: DocumentError, data: bytes) -> DocumentError:
    """Add what is likely wrong with a document that cannot be parsed."""
    if b"{{" in data:
        error.advice = "it looks like a template; render it first (helm template)"
    return error


def _fetch(url: str) -> bytes:
    """Read a URL. Raises OSError. Go: k8s.io/cli-runtime/pkg/resource, URLVisitor."""
    from urllib.request import urlopen  # noqa: PLC0415  # 60 ms, for URLs alone

    with urlopen(url, timeout=_PATIENCE) as answer:  # noqa: S310  # http alone
        data: bytes = answer.read()
    return data


def name_of(path: str) -> str:
    """Return the name that messages call a file by."""
    return "<stdin>" if path == STDIN else path
