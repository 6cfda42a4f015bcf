"""A case: read from the text of its file, checked, and what it expects.

Its steps are writes of one object by several managers, one after the other. Each states
what is stored after it, or why it is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias

import msgspec

from smp._values.values import (
    JSON,
    JSONArray,
    JSONObject,
    as_list,
    as_object,
    as_text,
    type_name,
)
from smp.cases._text import spans
from smp.documents import read_one
from smp.errors import DocumentError
from smp.managed_fields import Step, Verb

_START: Final = datetime(2026, 1, 1, tzinfo=UTC)
# How a step writes, and the type of what it writes.
_WRITES: Final[dict[str, tuple[Verb, type]]] = {
    "apply": ("apply", dict),
    "update": ("update", dict),
    "merge_patch": ("merge patch", dict),
    "strategic_merge_patch": ("strategic merge patch", dict),
    "json_patch": ("JSON patch", list),
    "scale": ("scale", int),
}
_INPUTS: Final[dict[str, type]] = {
    **{name: type_ for name, (_verb, type_) in _WRITES.items()},
    "manager": str,
    "force": bool,
    "subresource": str,
    "crd": dict,
}
# What a step states: the object that is stored, that nothing was written, or what is
# wrong.
_RESULTS: Final[dict[str, type]] = {
    "object": dict,
    "owners": dict,
    "changed": bool,
    "conflicts": list,
    "error": str,
    "message": str,
}
STEP_RESULTS: Final = frozenset(_RESULTS)
_MEMBERS: Final = {**_INPUTS, **_RESULTS}


class CaseStep(msgspec.Struct, frozen=True):
    """One write, ``time`` as a server writes it into managedFields, and its result."""

    write: Step
    time: str
    crd: JSONObject | None
    result: JSONObject

    @classmethod
    def of(cls, index: int, document: JSONObject) -> CaseStep:
        """Read a step that has no ``step_problem``."""
        (name,) = _WRITES.keys() & document.keys()
        write = Step(
            as_text(document["manager"]),
            document[name],
            _WRITES[name][0],
            force=document.get("force") is True,
            subresource=as_text(document.get("subresource")),
        )
        return cls(
            write=write,
            time=step_time(index),
            crd=as_object(document["crd"]) if "crd" in document else None,
            result={name: document[name] for name in STEP_RESULTS & document.keys()},
        )


def step_time(index: int) -> str:
    """Return the time of a step: the first one is a second after the year began."""
    time = _START + timedelta(seconds=index + 1)
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def in_order(conflicts: JSONArray) -> JSONArray:
    """Return conflicts in the order of a case: by the other manager, then by field."""

    def position(conflict: JSON) -> tuple[str, str]:
        members = as_object(conflict)
        return as_text(members.get("message")), as_text(members.get("field"))

    return sorted(conflicts, key=position)


def with_results(steps: JSONArray, results: JSONArray) -> JSONArray:
    """Return steps with other results."""
    new: JSONArray = []
    for step, result in zip(steps, results, strict=True):
        inputs = {
            name: value
            for name, value in as_object(step).items()
            if name not in STEP_RESULTS
        }
        new.append({**inputs, **as_object(result)})
    return new


def step_problem(document: JSON) -> str:
    """Return what is wrong with a step, or an empty text."""
    if not isinstance(document, dict):
        return f"a step must be an object, not {type_name(document)}"
    for name, value in document.items():
        if name not in _MEMBERS:
            return f"unknown member {name!r} of a step"
        if type(value) is not _MEMBERS[name]:
            return f"{name!r} of a step cannot be {type_name(value)}"
    if len(_WRITES.keys() & document.keys()) != 1:
        return f"a step has one of {', '.join(_WRITES)}"
    if "manager" not in document:
        return "a step has a manager"
    return ""


# The files of a directory of cases are all that have one of the suffixes, except the
# schema itself.
SCHEMA_NAME: Final = "case.schema.json"
SUFFIXES: Final = (".yaml", ".json")

# The operations, each with the types that its result may have, in the order in which
# they are run and reported; ``error`` may name each of them.
_PATCHES: Final[dict[str, tuple[type, ...]]] = {
    "two_way": (dict,),
    "two_way_result": (dict,),
    "three_way": (dict,),
    "result": (dict,),
    "composed": (dict,),
    "composed_result": (dict,),
    "conflicts": (list,),
}
_APPLIES: Final[dict[str, tuple[type, ...]]] = {
    "applied": (dict,),
    "applied_patch": (dict,),
    "kubectl_patch": (dict,),
    "unmet": (list,),
    "causes": (dict,),
    "hazards": (list,),
}
_SERVERS: Final = {"client_side": (dict,), "server_side": (dict,)}
_UNIONS: Final = {"normalized": (dict,), "changes": (list,), "violations": (list,)}
_OPERATIONS: Final = {**_PATCHES, **_APPLIES, **_SERVERS, **_UNIONS}
APPLY_OPERATIONS: Final = tuple(_APPLIES)
SERVER_OPERATIONS: Final = tuple(_SERVERS)
UNION_OPERATIONS: Final = tuple(_UNIONS)
# Writes by several managers: each of the steps states its own result.
STEPS: Final = "steps"

_OBJECT_OR_NULL: Final = (dict, type(None))
# The members of a case, and the types that their values may have.
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "description": (str,),
    "source": (str,),
    "kind": (str,),
    "schema": (dict,),
    "crd": (dict,),
    "kubernetes": (str,),
    "profile": (str,),
    "options": (dict,),
    # inputs
    "original": (dict,),
    "modified": (dict,),
    "live": (dict,),
    "last_applied": _OBJECT_OR_NULL,
    "history": (list,),
    "patch": (dict,),
    "patches": (list,),
    "left": (dict,),
    "right": (dict,),
    "old": _OBJECT_OR_NULL,
    "new": (dict,),
    # expectations
    **_OPERATIONS,
    STEPS: (list,),
    "error": (dict,),
    # about the expectations
    "derived": (bool,),
    "deviation": (int,),
    "reference": (dict,),
}
# The keys of members that are objects.
_KEYS: Final = {
    "options": frozenset(
        {"overwrite", "preconditions", "unknown_fields", "on_conflict", "ratchet"}
    ),
    "error": frozenset(_OPERATIONS),
    "reference": frozenset(_PATCHES),
}
# What a file states for its cases. A case names its schema by a kind or brings one.
_DEFAULTS: Final = ("kubernetes", "profile")
_SCHEMA: Final = frozenset({"kind", "schema", "crd"})
_FILE_MEMBERS: Final = frozenset({"description", "cases", *_SCHEMA, *_DEFAULTS})


class Failure(msgspec.Struct, frozen=True):
    """The result of an operation that raises an error; only the code is compared."""

    code: str
    problem: str = ""


Result: TypeAlias = "JSON | Failure"


class SpecCase(msgspec.Struct, frozen=True):
    """One case: its members with the defaults of its file, and its place there.

    ``problem`` says why it is malformed; running it raises that.
    """

    index: int
    document: dict[str, Any]
    source: str
    line: int
    problem: str = ""

    @property
    def description(self) -> str:
        """What the case shows."""
        return str(self.document.get("description", f"case {self.index}"))

    @property
    def name(self) -> str:
        """The description as an identifier, to list and to select cases."""
        name = re.sub(r"[^\w.$]+", "-", self.description).strip("-")
        return name or f"case-{self.index}"

    def object(self, name: str) -> dict[str, Any]:
        """Return a member that is an object, and an empty one if there is none."""
        return as_object(self.document.get(name))

    def required(self, name: str) -> dict[str, Any]:
        """Return an input that is an object.

        Raises DocumentError where the case lacks it.
        """
        if name not in self.document:
            raise self.error(f"an expectation needs the input {name!r}")
        return self.object(name)

    def error(self, problem: str) -> DocumentError:
        """Make the error for a case that is malformed or cannot be run."""
        return DocumentError(
            f"{self.description}: {problem}",
            code="invalid-case",
            source=self.source,
            line=self.line,
        )


def parse(text: str, *, source: str = "<input>") -> list[SpecCase]:
    """Read the cases of one file.

    A case may be malformed, which leaves the others alone. Raises DocumentError for a
    malformed file, unknown members included.
    """
    file = parse_file(text, source)
    # Cases that are not written in block style have no lines of their own.
    lines = [start + 1 for start, _ in spans(text.splitlines())]
    cases: list[SpecCase] = []
    names: set[str] = set()
    for index, members in enumerate(as_list(file["cases"])):
        line = lines[index] if index < len(lines) else 1
        own = as_object(members)
        # A case with a kind or a schema of its own does not take that of the file.
        inherited = _DEFAULTS if _SCHEMA & own.keys() else (*_DEFAULTS, *_SCHEMA)
        defaults = {name: file[name] for name in inherited if name in file}
        case = SpecCase(index, {**defaults, **own}, source, line)
        problem = next(_problems(case), "")
        if not isinstance(members, dict):
            problem = f"a case must be an object, not {type_name(members)}"
        # A case is selected by its name, which comes from its description.
        elif case.name in names:
            problem = problem or "another case of this file has the same description"
        names.add(case.name)
        cases.append(msgspec.structs.replace(case, problem=problem))
    return cases


def parse_file(text: str, source: str) -> JSONObject:
    """Read a whole file as a value. Raises DocumentError for a malformed file."""
    # A case may be about 1.0, which is another value than 1.
    file = read_one(text, source=source, keep_floats=True).value
    if not isinstance(file, dict) or not isinstance(file.get("cases"), list):
        raise DocumentError(
            "a case file must be an object with a list of cases",
            code="invalid-case",
            source=source,
        )
    unknown = file.keys() - _FILE_MEMBERS
    if unknown:
        problem = f"unknown members {sorted(unknown)} of a case file"
        raise DocumentError(problem, code="invalid-case", source=source)
    return file


def expectations(case: SpecCase) -> dict[str, Result]:
    """Return what the case expects of each operation, in the order of operations.

    Three expectations have defaults (spec_cases/README.md, "Operations"): a two-way
    patch leads to ``modified``, composed patches to what they do in turn, and kubectl
    sends the patch of an apply.
    """
    document, errors = case.document, case.object("error")
    expected: dict[str, Result] = {}
    for name in _OPERATIONS:
        if name in document:
            expected[name] = document[name]
        elif name in errors:
            expected[name] = Failure(str(errors[name]))
        elif name == "two_way_result" and {"two_way", "modified"} <= document.keys():
            expected[name] = document["modified"]
        elif (
            name == "composed_result"
            and "composed" not in errors
            and {"patches", "result"} <= document.keys()
        ):
            expected[name] = document["result"]
        elif name == "kubectl_patch" and "applied_patch" in document:
            expected[name] = document["applied_patch"]
    if STEPS in document:
        expected[STEPS] = [step.result for step in steps(case)]
    return expected


def last_applied(case: SpecCase) -> dict[str, Any] | None:
    """Return the last-applied configuration, None if there is none.

    Where the case does not state it, ``original`` takes its place.
    """
    value = case.document.get("last_applied", case.document.get("original"))
    return value if isinstance(value, dict) else None


def old_object(case: SpecCase) -> JSONObject | None:
    """Return the object before an update; None where it is created."""
    value = case.document.get("old")
    return value if isinstance(value, dict) else None


def profile_of(case: SpecCase) -> str:
    """Return the profile that the unions of a case follow."""
    return str(case.document.get("profile", "kep1027"))


def steps(case: SpecCase) -> list[CaseStep]:
    """Return the steps of a case, in order."""
    values = as_list(case.document.get(STEPS))
    return [CaseStep.of(index, as_object(value)) for index, value in enumerate(values)]


def patches(case: SpecCase) -> list[dict[str, Any]]:
    """Return the patches to compose."""
    values = as_list(case.document.get("patches"))
    return [patch for patch in values if isinstance(patch, dict)]


def _problems(case: SpecCase) -> Iterator[str]:
    document = case.document
    for name, value in document.items():
        # A misspelled expectation would never be run, so no unknown member is allowed.
        if name not in _TYPES:
            yield f"unknown member {name!r}"
        # type(), because to isinstance() a bool is an int.
        elif type(value) not in _TYPES[name]:
            yield f"{name!r} cannot be {type_name(value)}"
    for name in ("description", "source"):
        if name not in document:
            yield f"the case has no member {name!r}; every case needs one"
    if len(_SCHEMA & document.keys()) != 1:
        yield "a case needs a kind, a schema or a crd, its own or its file's; only one"
    for step in as_list(document.get(STEPS)):
        problem = step_problem(step)
        if problem:
            yield problem
    for name, allowed in _KEYS.items():
        unknown = case.object(name).keys() - allowed
        if unknown:
            yield f"{name!r} has unknown keys {sorted(unknown)}"
    # A case may state the conflicts of a three-way patch and that it fails with them.
    both = case.object("error").keys() & document.keys() - {"conflicts"}
    if both:
        yield f"{sorted(both)} cannot both fail and have a result"
