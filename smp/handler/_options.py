"""What a caller, and the query of a request, decide about the request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeAlias
from urllib.parse import parse_qs

import msgspec
from msgspec.structs import replace

from smp.errors import SmpError
from smp.handler._status import InvalidError
from smp.json_patch import MAX_OPERATIONS
from smp.paths import Path
from smp.unions import OnConflict
from smp.values import JSONObject
from smp.violations import Violation, unsupported

JSON_PATCH: Final = "application/json-patch+json"
MERGE: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
APPLY: Final = "application/apply-patch+yaml"

FieldValidation: TypeAlias = Literal["Ignore", "Warn", "Strict"]
Operation: TypeAlias = Literal["CREATE", "UPDATE"]


class Limits(msgspec.Struct, frozen=True):
    """The limits of a request: bytes, levels of nesting, operations of a JSON Patch.

    Body and operations are those of a Kubernetes API server, which also allows 10,000
    levels: more than the interpreter's stack, and a hundred times what real objects
    have. What the copies of a JSON Patch may add is ``smp.json_patch.MAX_COPIED``.
    """

    body: int = 3 * 1024 * 1024
    depth: int = 100
    operations: int = MAX_OPERATIONS


class Admission(msgspec.Struct, frozen=True):
    """What an admission hook sees: the object before and after the request.

    ``old`` is None for a create; ``new`` is the object as it would be stored.
    """

    operation: Operation
    old: JSONObject | None
    new: JSONObject
    dry_run: bool


_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "field_validation": ("Ignore", "Warn", "Strict"),
    "on_conflict": ("error", "clear"),
}


def _invalid_option(name: str, expected: str) -> SmpError:
    return SmpError(f"the option {name} is {expected}", code="invalid-option")


class Options(msgspec.Struct, frozen=True):
    """How to treat a request.

    ``profile`` is that of unions. ``on_conflict`` says what to do where a strategic
    merge patch gives a value to a member of a union and asks for another one: the
    member is cleared with a warning, as it is after every other request, or the patch
    is refused. With ``ratchet`` what was wrong in the stored object and was not changed
    does not refuse a request; without it, every request has to lead to a valid object
    (KEP-1027, Ratcheting Validation: "the naive solution" of alpha). With
    ``immutable_fields`` an update of a built-in kind may not change what a server lets
    no update change (smp.immutable).

    ``prune`` drops what a typed server drops when it decodes: unknown fields, and
    nulls. ``custom`` says that the object is of a custom resource: its type errors are
    422 with a cause for each, its nulls stay, and strategic patches are refused unless
    ``strategic`` says otherwise. ``resource`` is the plural name that messages use,
    ``deployments.apps``; without it, it is guessed from the kind.

    The hooks ``default`` and ``admit`` return the object to go on with, and never
    change the one they get, which shares its parts with the stored one. What they raise
    is answered if it is a SmpError, and else the caller's.
    """

    profile: str = "kep1027"
    on_conflict: OnConflict = "clear"
    ratchet: bool = True
    immutable_fields: bool = True
    field_validation: FieldValidation = "Warn"
    dry_run: bool = False
    limits: Limits = Limits()
    default: Callable[[JSONObject], JSONObject] | None = None
    admit: Callable[[Admission], JSONObject] | None = None
    prune: bool = True
    custom: bool = False
    strategic: bool | None = None
    resource: str = ""

    def __post_init__(self) -> None:
        """Raise SmpError (code invalid-option) for a value of a wrong type."""
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise _invalid_option(name, " or ".join(choices))
        for name in ("profile", "resource"):
            if not isinstance(getattr(self, name), str):
                raise _invalid_option(name, "a string")
        for name in ("ratchet", "dry_run", "prune", "custom"):
            if not isinstance(getattr(self, name), bool):
                raise _invalid_option(name, "true or false")
        for name in ("default", "admit"):
            hook = getattr(self, name)
            if hook is not None and not callable(hook):
                raise _invalid_option(name, "a function")

    def media_types(self, *, has_schema: bool) -> tuple[str, ...]:
        """Return the media types of the patches that are accepted."""
        strategic = not self.custom if self.strategic is None else self.strategic
        return (
            (JSON_PATCH, MERGE, STRATEGIC)
            if strategic and has_schema
            else (JSON_PATCH, MERGE)
        )


DEFAULT: Final = Options()
_VALIDATIONS: Final[Mapping[str, FieldValidation]] = {
    "": "Warn",
    "Ignore": "Ignore",
    "Strict": "Strict",
    "Warn": "Warn",
}


def requested(options: Options, query: str) -> Options:
    """Return the options as ``dryRun`` and ``fieldValidation`` of a query change them.

    Raises InvalidError. Go: k8s.io/apimachinery, meta/v1/validation,
    ValidatePatchOptions.
    """
    parameters = parse_qs(query, keep_blank_values=True)
    dry_run = parameters.get("dryRun", [])
    validation = parameters.get("fieldValidation", [""])[-1]
    problems: list[Violation] = []
    if not set(dry_run) <= {"All"}:
        problems.append(unsupported(Path(("dryRun",)), [*dry_run], ["All"]))
    if validation not in _VALIDATIONS:
        path = Path(("fieldValidation",))
        problems.append(unsupported(path, validation, _VALIDATIONS))
    if problems:
        raise InvalidError(problems)
    if "fieldValidation" in parameters:
        options = replace(options, field_validation=_VALIDATIONS[validation])
    return replace(options, dry_run=True) if dry_run else options
