"""The files of smp/schema/bundled: types, tables of facts, and what holds in a version.

A table is JSON. It is decoded into a struct when it is first asked for, and kept.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

import msgspec

import smp.schema

Table = TypeVar("Table")

# A wheel is installed as files, so the folder can be opened by its path.
FOLDER: Final = f"{smp.schema.__path__[0]}/bundled"
# Those that were asked for, by file and type.
_TABLES: Final[dict[tuple[str, object], Any]] = {}


def read_bundled_file(name: str) -> bytes:
    """Return the bytes of a file of the bundle."""
    # pathlib and importlib.resources take longer to import than everything else that
    # most commands do.
    with open(f"{FOLDER}/{name}", "rb") as file:  # noqa: PTH123  # see above
        return file.read()


def read_bundled_table(name: str, type_: type[Table]) -> Table:
    """Return a table of the bundle, decoded into a type."""
    table: Table | None = _TABLES.get((name, type_))
    if table is None:
        table = msgspec.json.decode(read_bundled_file(name), type=type_)
        _TABLES[name, type_] = table
    return table


def holds_in(version: str, since: str, until: str) -> bool:
    """Tell whether a minor version, such as 1.33, is within a range of them.

    A range without ``since`` or ``until`` is open there.
    """
    minor = version_number(version)
    if since and minor < version_number(since):
        return False
    return not until or minor <= version_number(until)


def version_number(version: str) -> list[int]:
    """Return a version as numbers, because 1.9 is less than 1.10."""
    return [int(part) for part in version.split(".")]
