"""A case: read from the text of a file, checked, and asked what it expects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from smp.cases._text import spans
from smp.documents import read_one
from smp.errors import DocumentError
from smp.values import JSON, JSONObject, type_name

# The files of a directory of cases are all that have one of the suffixes, less the
# schema itself.
SCHEMA_NAME: Final = "case.schema.json"
SUFFIXES: Final = (".yaml", ".json")

PATCH_OPERATIONS: Final = (
    "two_way",
    "two_way_result",
    "three_way",
    "result",
    "composed",
    "composed_result",
    "conflicts",
)
UNION_OPERATIONS: Final = ("normalized", "changes", "violations")
OPERATIONS: Final = (*PATCH_OPERATIONS, *UNION_OPERATIONS)
_SHAPES: Final[dict[str, tuple[type, ...]]] = {
    **dict.fromkeys(("description", "source", "kind", "kubernetes", "profile"), (str,)),
    **dict.fromkeys(
        (
            "schema",
            "options",
            "original",
            "modified",
            "live",
            "patch",
            "left",
            "right",
            "new",
        ),
        (dict,),
    ),
    **dict.fromkeys(("last_applied", "old"), (dict, type(None))),
    "patches": (list,),
    **dict.fromkeys(OPERATIONS, (dict,)),
    **dict.fromkeys(("conflicts", "changes", "violations"), (list,)),
    "derived": (bool,),
    "error": (dict,),
    "deviation": (int,),
    "reference": (dict,),
}
_DEFAULTS: Final = ("kubernetes", "profile")
_OF_FILE: Final = frozenset({"description", "kind", "schema", "cases", *_DEFAULTS})
_WORDS: Final = {
    "options": frozenset(
        {"overwrite", "preconditions", "unknown_fields", "on_conflict", "ratchet"}
    ),
    "error": frozenset(OPERATIONS),
    "reference": frozenset(PATCH_OPERATIONS),
}
_SCHEMA: Final = frozenset({"kind", "schema"})


@dataclass(frozen=True, slots=True)
class Failure:
    """What an operation comes to that raises an error; two of one code are alike."""

    code: str
    problem: str = ""


Result: TypeAlias = "JSON | Failure"


@dataclass(frozen=True, slots=True)
class SpecCase:
    """One case: its members over the defaults of its file, and where it stands."""

    index: int
    document: JSONObject
    source: str
    line: int

    @property
    def description(self) -> str:
        """What the case shows."""
        return str(self.document.get("description", f"case {self.index}"))

    @property
    def name(self) -> str:
        """The description as an identifier, for lists of cases and for selecting one."""
        return (
            re.sub(r"[^\w.$]+", "-", self.description).strip("-")
            or f"case-{self.index}"
        )

    def object(self, name: str) -> JSONObject:
        """Return a member that is an object, or an empty one where there is none."""
        value = self.document.get(name)
        return value if isinstance(value, dict) else {}

    def given(self, name: str) -> JSONObject:
        """Return an input. Raises DocumentError where the case lacks it."""
        if name not in self.document:
            raise self.error(f"an expectation needs the input {name!r}")
        return self.object(name)

    def error(self, problem: str) -> DocumentError:
        """Make the error for a case that is none, or cannot be run."""
        problem = f"{self.description}: {problem}"
        return DocumentError(
            problem, code="invalid-case", source=self.source, line=self.line
        )


def parse(text: str, *, source: str = "<input>") -> list[SpecCase]:
    """Read the cases of one file. Raises DocumentError for what is no case file,
    unknown members included.
    """
    file = parse_file(text, source)
    members = file["cases"]
    lines = [start + 1 for start, _ in spans(text.splitlines())]
    cases = [
        _case(
            each,
            file,
            SpecCase(index, {}, source, lines[index] if index < len(lines) else 1),
        )
        for index, each in enumerate(members if isinstance(members, list) else [])
    ]
    _require_distinct(cases)
    return cases


def parse_file(text: str, source: str) -> JSONObject:
    """Read a whole file as a value. Raises DocumentError for what is no case file."""
    file = read_one(text, source=source).value
    if not isinstance(file, dict) or not isinstance(file.get("cases"), list):
        raise DocumentError(
            "a case file is an object with a list of cases",
            code="invalid-case",
            source=source,
        )
    if unknown := file.keys() - _OF_FILE:
        raise DocumentError(
            f"a case file has no {sorted(unknown)}", code="invalid-case", source=source
        )
    return file


def expectations(case: SpecCase) -> dict[str, Result]:
    """Return what the case expects of each operation, the defaults included.

    By default a two-way patch leads to ``modified``, and composed patches to what they
    do in turn.
    """
    stated, errors = case.document, case.object("error")
    expected: dict[str, Result] = {
        name: Failure(str(code)) for name, code in errors.items()
    }
    expected |= {name: stated[name] for name in OPERATIONS if name in stated}
    if "two_way" in stated and "modified" in stated:
        expected.setdefault("two_way_result", stated["modified"])
    if "patches" in stated and "result" in stated and "composed" not in errors:
        expected.setdefault("composed_result", stated["result"])
    return {name: expected[name] for name in OPERATIONS if name in expected}


def last_applied(case: SpecCase) -> JSONObject | None:
    """Return the last-applied configuration: where it is not stated ``original``, where
    that is not either None.
    """
    stated = case.document.get("last_applied", case.document.get("original"))
    return stated if isinstance(stated, dict) else None


def old_object(case: SpecCase) -> JSONObject | None:
    """Return the object before an update; None where it is created."""
    stated = case.document.get("old")
    return stated if isinstance(stated, dict) else None


def patches(case: SpecCase) -> list[JSONObject]:
    """Return the patches to compose."""
    found = case.document.get("patches")
    return (
        [patch for patch in found if isinstance(patch, dict)]
        if isinstance(found, list)
        else []
    )


def _case(members: JSON, file: JSONObject, place: SpecCase) -> SpecCase:
    if not isinstance(members, dict):
        raise place.error(f"a case is an object, not {type_name(members)}")
    names = _DEFAULTS if _SCHEMA & members.keys() else (*_DEFAULTS, *_SCHEMA)
    defaults = {name: file[name] for name in names if name in file}
    case = SpecCase(place.index, {**defaults, **members}, place.source, place.line)
    for problem in _problems(case):
        raise case.error(problem)
    return case


def _problems(case: SpecCase) -> Iterator[str]:
    for name, value in case.document.items():
        if name not in _SHAPES:
            yield f"there is no {name!r}"
        elif type(value) not in _SHAPES[name]:
            yield f"{name!r} cannot be {type_name(value)}"
    if missing := {"description", "source"} - case.document.keys():
        yield f"it lacks {sorted(missing)}"
    if len(_SCHEMA & case.document.keys()) != 1:
        yield "it takes a kind or a schema, its own or its file's, and not both"
    for name, known in _WORDS.items():
        if unknown := case.object(name).keys() - known:
            yield f"{name!r} has no {sorted(unknown)}"
    if both := case.object("error").keys() & case.document.keys() - {"conflicts"}:
        yield f"{sorted(both)} cannot both fail and have a result"


def _require_distinct(cases: list[SpecCase]) -> None:
    seen: set[str] = set()
    for case in cases:
        if case.name in seen:
            raise case.error("another case of this file has the same description")
        seen.add(case.name)
