"""The files of ``smp drift``: compressed ones too, and those of a store with a URL.

Arrow opens both (arrow.apache.org/docs/python/filesystems.html): its streams raise for
a compressed text that ends early; s3, gs, abfs, hdfs and file are schemes of its URLs.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from io import BufferedReader
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Final
from urllib.parse import quote, unquote

from smp.cli._inputs import STDIN, Inputs, is_on_web, name_of, unreadable
from smp.errors import DocumentError

_COMPRESSIONS: Final = {".gz": "gzip", ".zst": "zstd"}
_DIGEST: Final = 16
_BLOCK: Final = 1 << 20
# A column in a path: Hive writes the rows of each value to a folder of their own, in
# percent encoding, and those without a value to one with this name.
_CLUSTER: Final = "cluster="
_NO_VALUE: Final = "__HIVE_DEFAULT_PARTITION__"


class DamagedFileError(DocumentError):
    """A file was opened, and its content is not what its name says."""


class FleetInputs(Inputs):
    """Inputs that may be compressed, or be named by a URL."""

    @contextmanager
    def _opened(self, path: str) -> Iterator[tuple[BinaryIO, bool]]:
        suffix = os.path.splitext(_name_in(path))[1]  # noqa: PTH122  # a URL too
        compression = _COMPRESSIONS.get(suffix)
        is_plain = compression is None and not is_url(path)
        if path == STDIN or is_plain or is_on_web(path):
            with super()._opened(path) as opened:
                yield opened
            return
        import pyarrow as pa  # noqa: PLC0415  # an extra

        failure = DocumentError
        try:
            system, place = arrow_file(path)
            # Arrow takes a compressed text without any byte for an empty one.
            if compression is not None and system.get_file_info(place).size == 0:
                raise DamagedFileError(
                    "the compressed file is empty",
                    code="unreadable",
                    source=name_of(path),
                )
            with system.open_input_stream(place, compression=compression) as stream:
                failure = DamagedFileError
                yield BufferedReader(stream), False
        except (OSError, pa.ArrowException) as error:
            raise unreadable(path, error, failure) from None

    def files(self, path: str, suffixes: Collection[str] = ()) -> list[str]:
        """List the files of a directory, compressed ones too. Raises DocumentError.

        A file is its own list.
        """
        if not suffixes:
            return super().files(path)
        if is_on_web(path):
            return [path]
        if not is_url(path):
            found = super().files(path, {*suffixes, *_COMPRESSIONS})
            return [file for file in found if file == path or _ends_in(file, suffixes)]
        import pyarrow as pa  # noqa: PLC0415  # an extra
        import pyarrow.fs as pafs  # noqa: PLC0415  # an extra

        try:
            system, place = arrow_file(path)
            if system.get_file_info(place).type != pafs.FileType.Directory:
                return [path]
            selector = pafs.FileSelector(place, recursive=True)
            infos = system.get_file_info(selector)
        except (OSError, pa.ArrowException) as error:
            raise DocumentError(
                f"cannot list the files: {error}", code="unreadable", source=path
            ) from None
        root, mark, query = path.partition("?")
        root, below = root.rstrip("/"), len(place.rstrip("/"))
        return sorted(
            f"{root}{quote(info.path[below:])}{mark}{query}"
            for info in infos
            if info.is_file and _ends_in(info.path, suffixes)
        )

    def digest(self, path: str) -> bytes:
        """Return a hash of a file as it is stored. Raises DocumentError."""
        hashed = blake2b(digest_size=_DIGEST)
        # A file of this machine is not decompressed for that.
        opened = self._opened if is_url(path) else super()._opened
        with opened(path) as (stream, _is_regular):
            while block := stream.read(_BLOCK):
                hashed.update(block)
        return hashed.digest()


def is_compressed(path: str) -> bool:
    """Tell whether the name of a file says that it is compressed."""
    return os.path.splitext(_name_in(path))[1] in _COMPRESSIONS  # noqa: PTH122  # a URL too


def is_url(path: str) -> bool:
    """Tell whether a path names a file in a store."""
    return "://" in path


def arrow_file(path: str) -> tuple[Any, str]:
    """Return the file system of a path, and the path in it.

    Raises DocumentError for a URL of no store that Arrow knows.
    """
    import pyarrow as pa  # noqa: PLC0415  # an extra
    import pyarrow.fs as pafs  # noqa: PLC0415  # an extra

    if not is_url(path):
        return pafs.LocalFileSystem(), path
    try:
        system, place = pafs.FileSystem.from_uri(path)
    except (OSError, pa.ArrowException) as error:
        raise DocumentError(
            f"cannot open the URL: {error}", code="unreadable", source=path
        ) from None
    return system, place


def plain_name(path: str) -> str:
    """Return the name of a file, less how it is compressed and what is asked for."""
    name = _name_in(path)
    stem, suffix = os.path.splitext(name)  # noqa: PTH122  # a URL too
    return stem if suffix in _COMPRESSIONS else name


def _name_in(path: str) -> str:
    """Return a path without the options that a URL has for its file system."""
    return path.partition("?")[0] if is_url(path) else path


def cluster_in(path: str) -> str:
    """Return the cluster that a folder ``cluster=NAME`` names; "" without one."""
    found = ""
    for part in PurePosixPath(path.replace(os.sep, "/")).parts[:-1]:
        # The path of a URL is quoted itself.
        part = unquote(part) if is_url(path) else part  # noqa: PLW2901  # see above
        if part.startswith(_CLUSTER):
            value = unquote(part.removeprefix(_CLUSTER))
            found = "" if value == _NO_VALUE else value
    return found


def folder_below(path: str, file: str) -> str:
    """Return the folder of a directory that a file is in; "" for a file right in it."""
    if is_url(path):
        root, place = (plain_name(each).rstrip("/") for each in (path, file))
        folders = unquote(place.removeprefix(root).strip("/")).split("/")
    else:
        folders = [*Path(file).relative_to(path).parts]
    return folders[0] if len(folders) > 1 else ""


def _ends_in(path: str, suffixes: Collection[str]) -> bool:
    return os.path.splitext(plain_name(path))[1] in suffixes  # noqa: PTH122  # a URL too
