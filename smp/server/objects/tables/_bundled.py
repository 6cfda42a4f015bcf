"""The columns of the built-in resources, as ``kubectl get`` prints them.

They are a table, smp/schema/bundled/columns.json, by the plural name and the group of a
resource. A row is a column: its name and one of the fields of ``_Row`` that say what
its cells show. Go: the column definitions of AddHandlers in k8s.io/kubernetes,
pkg/printers/internalversion/printers.go. Where an API server would have set a default
that the stored object lacks, the default is shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from smp._storage.typed_storage import convert
from smp._values.api_objects import metadata_of
from smp._values.label_selectors import selector_text
from smp._values.times import read_time
from smp._values.values import JSON, JSONObject, as_text, same
from smp.schema.bundle import read_bundled_table
from smp.schema.resources import Resource
from smp.server.errors import StatusError
from smp.server.objects.tables import _cells
from smp.server.objects.tables.columns import (
    AGE,
    NAME,
    Cell,
    Column,
    abridge,
    at,
    has,
    human_duration,
    join,
    text_at,
    time_since,
    values_at,
)

Include: TypeAlias = Literal["None", "Metadata", "Object"]

# What of each object a table has beside the cells; "" is an absent parameter.
_INCLUDES: Final[dict[str, Include]] = {
    "": "Metadata",
    "None": "None",
    "Metadata": "Metadata",
    "Object": "Object",
}


def parse_include(text: str) -> Include:
    """Read the query parameter ``includeObject``; the default is Metadata.

    Raises StatusError.
    """
    include = _INCLUDES.get(text)
    if include is None:
        raise StatusError(
            f"includeObject must be None, Metadata or Object, not {text!r}"
        )
    return include


def table(
    objects: Iterable[JSONObject],
    columns: Iterable[Column],
    *,
    now: datetime,
    include: Include = "Metadata",
    metadata: JSONObject | None = None,
) -> JSONObject:
    """Return the Table of objects.

    ``metadata`` is that of the list (resourceVersion, continue).
    """
    columns = tuple(columns)
    rows: list[JSON] = []
    for obj in objects:
        row: JSONObject = {"cells": [column.cell(obj, now) for column in columns]}
        # kubectl sorts rows by the metadata, and shows labels and namespaces of it.
        if include == "Object":
            row["object"] = obj
        elif include == "Metadata":
            row["object"] = {
                "kind": "PartialObjectMetadata",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": metadata_of(obj),
            }
        rows.append(row)
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata or {},
        "columnDefinitions": [column.definition() for column in columns],
        "rows": rows,
    }


Columns: TypeAlias = tuple[Column, ...]

# A value in a form: paths of which the first with a value counts, how it is changed,
# and what is shown without a value: {a.b|c:lower=<none>}. In brackets it is with what
# belongs to it, which is left out without a value: [:{nodePort}].
_VALUE: Final = re.compile(
    r"(?P<opening>\[(?P<before>[^][{}]*))?"
    r"\{(?P<paths>[^}:=]+)(?::(?P<change>\w+))?(?:=(?P<absent>[^}]*))?\}"
    r"(?(opening)(?P<after>[^][{}]*)\])"
)
_CHANGES: Final[dict[str, Callable[[JSON], str]]] = {
    "duration": lambda value: human_duration(value) if isinstance(value, int) else "",
    "group": lambda value: as_text(value).rpartition("/")[0],  # of an apiVersion
    "lower": lambda value: as_text(value).lower(),
    "modes": _cells.abbreviate_access_modes,
    "selector": selector_text,
    "strip": lambda value: as_text(value).strip(),
}
# What is not shown in brackets: 0 is a field that is not set in Go.
_UNSET: Final = ("", "0")


class _Row(msgspec.Struct, frozen=True, rename={"condition": "if"}):
    """A column of the table; exactly one field says what its cells show.

    ``form`` is a text with values in it. ``cases`` are several texts, joined without
    the empty ones: of each the form behind the first path with a value, "" being one
    that always has. ``integer`` are paths of which the first that is not 0 counts;
    without a value at ``condition`` the cell is ``otherwise``. ``each`` is a path
    through lists, whose elements are shown by ``form``, those that have the values of
    ``where``, at most so many; ``since`` are paths of times, up to that at ``until`` or
    now; ``show`` names a function.
    """

    name: str
    type: str = "string"
    format: str = ""
    wide: bool = False
    form: str = ""
    cases: tuple[tuple[tuple[str, str], ...], ...] = ()
    integer: tuple[str, ...] = ()
    condition: str = ""
    otherwise: str = ""
    boolean: str = ""
    count: tuple[str, ...] = ()
    each: str = ""
    where: dict[str, Any] = {}
    most: int = 0
    separator: str = ","
    since: tuple[str, ...] = ()
    until: str = ""
    show: str = ""
    absent: str | int | None = None


def columns_of(resource: Resource) -> Columns:
    """Return the columns of a built-in resource, by default the name and the age."""
    # The columns are those of the stored version, also of events of events.k8s.io.
    group, stored_in = resource.storage_group, resource.storage_api_version
    columns = _columns(".".join(filter(None, (resource.plural, group))))
    if resource.api_version == stored_in:
        return columns

    def convert_first(show: Cell) -> Cell:
        return lambda obj, now: show(convert(obj, resource.kind, stored_in), now)

    return tuple(replace(each, cell=convert_first(each.cell)) for each in columns)


def scale_columns() -> Columns:
    """Return the columns of a Scale, of whichever resource (Go: printScale)."""
    return _columns("scale")


@cache
def _columns(name: str) -> Columns:
    table = read_bundled_table("columns.json", dict[str, list[str | _Row]])
    rows = table.get(name)
    return (NAME, AGE) if rows is None else tuple(map(_column, rows))


def _column(row: str | _Row) -> Column:
    """Make a column; "Name" and "Age" are those of all objects."""
    if isinstance(row, str):
        return {"Name": NAME, "Age": AGE}[row]
    if row.name == "Name" and not row.show:
        return replace(NAME, priority=int(row.wide))
    return Column(row.name, _show_by(row), row.type, int(row.wide), row.format)


def _show_by(row: _Row) -> Cell:
    absent = "" if row.absent is None else str(row.absent)
    if row.show:
        show: Cell = getattr(_cells, row.show)
        return show
    if row.each:
        return lambda obj, _now: _elements(obj, row)
    if row.cases:
        return lambda obj, _now: join(
            (_choose(obj, group) for group in row.cases), absent, row.separator
        )
    if row.integer:
        return lambda obj, _now: _integer(obj, row)
    if row.boolean:
        return lambda obj, _now: at(obj, row.boolean) is True
    if row.count:
        return lambda obj, _now: sum(_size(at(obj, path)) for path in row.count)
    if row.since:
        return lambda obj, now: _since(obj, row, now)
    return lambda obj, _now: _fill(row.form, obj)


def _choose(obj: JSONObject, cases: Iterable[tuple[str, str]]) -> str:
    forms = (form for path, form in cases if not path or has(obj, path))
    return _fill(next(forms, ""), obj)


def _fill(form: str, obj: JSONObject) -> str:

    def value(match: re.Match[str]) -> str:
        paths = match["paths"].split("|")
        if match["change"]:
            text = _CHANGES[match["change"]](at(obj, paths[0]))
        else:
            text = next(filter(None, (text_at(obj, path) for path in paths)), "")
        text = text or match["absent"] or ""
        if match["opening"]:
            parts = (match["before"], text, match["after"])
            return "" if text in _UNSET else "".join(parts)
        return text

    return _VALUE.sub(value, form)


def _elements(obj: JSONObject, row: _Row) -> str:
    if row.condition and not has(obj, row.condition):
        return row.otherwise
    absent = "" if row.absent is None else str(row.absent)
    texts = list(_element_texts(obj, row))
    if row.most and texts:
        return abridge(texts, row.most)
    return join(texts, absent, row.separator)


def _element_texts(obj: JSONObject, row: _Row) -> Iterator[str]:
    for element in values_at(obj, row.each):
        if not row.form:
            if isinstance(element, str):
                yield element
        elif isinstance(element, dict) and all(
            same(element.get(name), value) for name, value in row.where.items()
        ):
            yield _fill(row.form, element)


def _integer(obj: JSONObject, row: _Row) -> JSON:
    """Return the first integer at one of the paths that is not 0."""
    if row.condition and not has(obj, row.condition):
        return row.otherwise
    values = (at(obj, path) for path in row.integer)
    found = (each for each in values if each and isinstance(each, int))
    return next(found, row.absent or 0)


def _size(value: JSON) -> int:
    return len(value) if isinstance(value, dict | list) else 0


def _since(obj: JSONObject, row: _Row, now: datetime) -> JSON:
    """Return how long ago the first of some times was that is set."""
    times = (at(obj, path) for path in row.since)
    time = next((each for each in times if each), None)
    if time is None and row.absent is not None:
        return row.absent
    end = read_time(at(obj, row.until)) if row.until else None
    return time_since(time, datetime.fromtimestamp(end[0], UTC) if end else now)
