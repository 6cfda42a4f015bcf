"""The compiled OpenAPI documents of servers, kept on disk between runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, MutableMapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final

# With the form of what is kept, so that versions of this package do not disturb each
# other.
_FOLDER: Final = "smp/openapi-2"


def cache_directory() -> Path:
    """Return the folder of this user for what can be made again."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base, _FOLDER)


class DiskDocuments(MutableMapping[str, bytes]):
    """Documents in a folder, each in a file that is named by a digest of its address.

    The address has the hash of the document, so what is kept never becomes wrong. A
    folder that cannot be read or written keeps nothing: no error is raised.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = cache_directory() if folder is None else folder

    def _file(self, address: str) -> Path:
        return self._folder / sha256(address.encode()).hexdigest()

    def __getitem__(self, address: str) -> bytes:
        try:
            return self._file(address).read_bytes()
        except OSError:
            raise KeyError(address) from None

    def __setitem__(self, address: str, data: bytes) -> None:
        # A disk that is full or read-only makes the next run slower, no more.
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            # Another process never sees a part of a file.
            with NamedTemporaryFile(dir=self._folder, delete=False) as file:
                file.write(data)
            Path(file.name).replace(self._file(address))

    def __delitem__(self, address: str) -> None:
        try:
            self._file(address).unlink()
        except OSError:
            raise KeyError(address) from None

    def __iter__(self) -> Iterator[str]:
        """Yield nothing: the addresses are not kept, only their digests."""
        return iter(())

    def __len__(self) -> int:
        with suppress(OSError):
            return sum(1 for _ in self._folder.iterdir())
        return 0
