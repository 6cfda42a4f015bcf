"""What a caller decides about a request: media types, limits, hooks, and what the query
of a request asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias
from urllib.parse import parse_qs

from smp.handler._refusals import InvalidError
from smp.json_patch import MAX_OPERATIONS
from smp.paths import Path
from smp.values import JSONObject
from smp.violations import unsupported

JSON_PATCH: Final = "application/json-patch+json"
MERGE: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
APPLY: Final = "application/apply-patch+yaml"

FieldValidation: TypeAlias = Literal["Ignore", "Warn", "Strict"]


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a request may ask for: bytes of its body, levels of nesting, operations
    of a JSON Patch.

    Body and operations are those of a Kubernetes API server, which also allows 10,000
    levels: more than the interpreter's stack, and a hundred times what real objects
    have. What the copies of a JSON Patch may add is ``smp.json_patch.MAX_COPIED``.
    """

    body: int = 3 * 1024 * 1024
    depth: int = 100
    operations: int = MAX_OPERATIONS


@dataclass(frozen=True, slots=True)
class Admission:
    """What an admission hook sees: the object before (None for a create) and as it
    would be stored.
    """

    operation: Literal["CREATE", "UPDATE"]
    old: JSONObject | None
    new: JSONObject
    dry_run: bool


@dataclass(frozen=True, slots=True)
class Options:
    """How to treat a request.

    ``profile`` is that of unions. ``prune`` drops what a typed server drops when it
    decodes: unknown fields, and nulls. ``custom`` says that the object is of a custom
    resource: its type errors are 422 with a cause for each, its nulls stay, and
    strategic patches are refused unless ``strategic`` says otherwise. ``resource`` is
    the plural name that messages use, ``deployments.apps``; without it, it is guessed
    from the kind.

    The hooks ``default`` and ``admit`` return the object to go on with, and never
    change the one they get, which shares its parts with the stored one. What they raise
    is answered if it is a SmpError, and else the caller's.
    """

    profile: str = "kep1027"
    field_validation: FieldValidation = "Warn"
    dry_run: bool = False
    limits: Limits = field(default_factory=Limits)
    default: Callable[[JSONObject], JSONObject] | None = None
    admit: Callable[[Admission], JSONObject] | None = None
    prune: bool = True
    custom: bool = False
    strategic: bool | None = None
    resource: str = ""

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
    """Return the options as the query of a request changes them: ``dryRun`` and
    ``fieldValidation``.

    Raises InvalidError. Go: k8s.io/apimachinery, meta/v1/validation,
    ValidatePatchOptions.
    """
    asked = parse_qs(query, keep_blank_values=True)
    dry_run, validation = (
        asked.get("dryRun", []),
        asked.get("fieldValidation", [""])[-1],
    )
    problems = [
        *(
            []
            if set(dry_run) <= {"All"}
            else [unsupported(Path(("dryRun",)), [*dry_run], ["All"])]
        ),
        *(
            []
            if validation in _VALIDATIONS
            else [unsupported(Path(("fieldValidation",)), validation, _VALIDATIONS)]
        ),
    ]
    if problems:
        raise InvalidError(problems)
    if "fieldValidation" in asked:
        options = replace(options, field_validation=_VALIDATIONS[validation])
    return replace(options, dry_run=True) if dry_run else options
