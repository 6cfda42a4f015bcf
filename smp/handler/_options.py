"""What a caller, and the query of a request, decide about the request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import NoneType
from typing import Any, Final, Literal, TypeAlias, get_args
from urllib.parse import parse_qs

import msgspec
from msgspec.structs import replace

from smp._values.options import require_options
from smp.errors import SmpError
from smp.handler._field_managers import manager_problems
from smp.handler._status import InvalidOptionsError, UnsupportedMediaTypeError
from smp.json_patch import MAX_OPERATIONS
from smp.managed_fields import SERVING, Serving
from smp.paths import Path
from smp.unions import OnConflict
from smp.violations import Violation, forbidden, require, unsupported

JSON_PATCH: Final = "application/json-patch+json"
MERGE: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
APPLY: Final = "application/apply-patch+yaml"


FieldValidation: TypeAlias = Literal["Ignore", "Warn", "Strict"]
Operation: TypeAlias = Literal["CREATE", "UPDATE"]
Prepare: TypeAlias = Callable[[dict[str, Any] | None, dict[str, Any]], dict[str, Any]]


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
    old: dict[str, Any] | None
    new: dict[str, Any]
    dry_run: bool


_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "field_validation": get_args(FieldValidation),
    "on_conflict": get_args(OnConflict),
}

_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    **dict.fromkeys(("profile", "resource", "subresource"), (str,)),
    **dict.fromkeys(("ratchet", "immutable_fields", "validation", "dry_run"), (bool,)),
    **dict.fromkeys(("prune", "custom", "typed", "unconditional"), (bool,)),
    **dict.fromkeys(("strategic", "force"), (bool, NoneType)),
    "serving": (Serving,),
    "manager": (str, NoneType),
}


class Options(msgspec.Struct, frozen=True):
    """How to treat a request: change one of the presets, STOCK_SERVER and the like.

    ``profile`` is that of unions. ``on_conflict`` says what to do where a request
    gives a value to a member of a union and asks for another one: the member is cleared
    with a warning, or the request is refused. With ``ratchet`` what was wrong in the
    stored object and was not changed does not refuse a request; without it, every
    request has to lead to a valid object (KEP-1027, Ratcheting Validation: "the naive
    solution" of alpha). With ``immutable_fields`` an update of a built-in kind may not
    change what a server lets no update change (smp._storage.immutable). With
    ``validation`` a built-in kind, and the metadata of a custom resource, are judged as
    a server does (smp.validation), which expects an object with its defaults.

    With ``typed`` the object is as a typed server stores it: zero values are dropped,
    times and quantities are canonical, and built-in kinds get their defaults
    (smp._storage.typed_storage, smp._storage.defaults).

    ``prune`` drops what a typed server drops when it decodes: unknown fields, and
    nulls. ``custom`` says that the object is of a custom resource: its type errors are
    422 with a cause for each, its nulls stay, and strategic patches are refused unless
    ``strategic`` says otherwise. ``resource`` is the plural name that messages use,
    ``deployments.apps``; without it, it is guessed from the kind.

    ``manager`` is the field manager of the request: what it writes is noted in
    metadata.managedFields (smp.managed_fields.track), through the ``subresource``. None
    notes nothing; an apply needs one. ``force`` takes over fields with conflicts, and
    is for an apply only: None says that the request has no word about it. ``serving``
    says how the kind is served (smp.managed_fields.Serving).

    The hook ``prepare(old, new)`` returns the new object with what the endpoint does
    not write as it was: the status, where it is a subresource. ``old`` is None for a
    create. It is called before managed fields are noted, but for an apply, whose result
    it gets; it need not keep managedFields then.

    The hooks ``default`` and ``admit`` return the object to go on with, and never
    change the one they get, which shares its parts with the stored one. What they raise
    is answered if it is a SmpError, and else the caller's.
    """

    profile: str = "kep1027"
    on_conflict: OnConflict = "clear"
    ratchet: bool = True
    immutable_fields: bool = True
    validation: bool = False
    field_validation: FieldValidation = "Warn"
    dry_run: bool = False
    limits: Limits = Limits()
    default: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    admit: Callable[[Admission], dict[str, Any]] | None = None
    prepare: Prepare | None = None
    manager: str | None = None
    force: bool | None = None
    subresource: str = ""
    serving: Serving = SERVING
    typed: bool = False
    prune: bool = True
    custom: bool = False
    unconditional: bool = True
    strategic: bool | None = None
    resource: str = ""

    def __post_init__(self) -> None:
        """Raise SmpError (code invalid-option) for a value of a wrong type."""
        require_options(self, _CHOICES, _TYPES)
        for name in ("default", "admit", "prepare"):
            hook = getattr(self, name)
            if hook is not None and not callable(hook):
                raise SmpError(
                    f"the option {name} is a function", code="invalid-option"
                )

    def media_types(self, *, has_schema: bool) -> tuple[str, ...]:
        """Return the media types of the patches that are accepted."""
        strategic = not self.custom if self.strategic is None else self.strategic
        if strategic and has_schema:
            return (JSON_PATCH, MERGE, STRATEGIC, APPLY)
        return (JSON_PATCH, MERGE, APPLY)

    def patch_type(self, media_type: str, *, has_schema: bool = True) -> str:
        """Return a media type without parameters such as charset.

        Raises UnsupportedMediaTypeError. Case matters (Go: endpoints/handlers/patch.go,
        PatchResource).
        """
        chosen = media_type.partition(";")[0]
        accepted = self.media_types(has_schema=has_schema)
        if chosen in accepted:
            return chosen
        raise UnsupportedMediaTypeError(
            "the body of the request was in an unknown format - accepted media types"
            f" include: {', '.join(accepted)}"
        )


DEFAULT: Final = Options()
STOCK_SERVER: Final = Options(profile="validate-only", typed=True, validation=True)
"""A request as kube-apiserver treats it: with all of its rules, unions only judged."""
NORMALIZING_SERVER: Final = Options(typed=True, validation=True)
"""The same, but unions are normalized (KEP-1027): a request clears what it replaces."""
_VALIDATIONS: Final[Mapping[str, FieldValidation]] = {
    "": "Warn",
    "Ignore": "Ignore",
    "Strict": "Strict",
    "Warn": "Warn",
}


# What the options of each method are called in a Status (Go: metav1.PatchOptions).
_KINDS: Final = {
    "PATCH": "PatchOptions",
    "POST": "CreateOptions",
    "PUT": "UpdateOptions",
}
# Go: metav1's conversion of a query, Convert_Slice_string_To_bool.
_FALSE: Final = ("false", "0")
MANAGER: Final = Path(("fieldManager",))
MANAGER_REQUIRED: Final = require(MANAGER, "is required for apply patch")
FORCE_FORBIDDEN: Final = forbidden(
    Path(("force",)), "may not be specified for non-apply patch"
)


def requested(
    options: Options, query: str, *, method: str = "PATCH", media_type: str = ""
) -> Options:
    """Return the options as the query of a request changes them.

    These are ``dryRun``, ``fieldValidation``, ``fieldManager`` and ``force``;
    ``media_type`` is that of a PATCH: only an apply can be forced, and it has to name
    its manager. Raises UnsupportedMediaTypeError and InvalidOptionsError. Go:
    k8s.io/apimachinery, meta/v1/validation, ValidatePatchOptions.
    """
    if method == "PATCH" and media_type:
        options.patch_type(media_type)
    parameters: dict[str, list[str]] = {}
    if query:
        parameters = parse_qs(query, keep_blank_values=True)
    dry_run = parameters.get("dryRun", [])
    validation = parameters.get("fieldValidation", [""])[0]
    manager = parameters.get("fieldManager", [""])[0]
    is_apply = media_type.partition(";")[0].strip() == APPLY
    problems: list[Violation] = []
    if method == "PATCH" and is_apply and not manager:
        problems.append(MANAGER_REQUIRED)
    elif method == "PATCH" and not is_apply and "force" in parameters:
        problems.append(FORCE_FORBIDDEN)
    problems += manager_problems(manager, MANAGER)
    if not set(dry_run) <= {"All"}:
        problems.append(unsupported(Path(("dryRun",)), [*dry_run], ["All"]))
    if validation not in _VALIDATIONS:
        path = Path(("fieldValidation",))
        problems.append(unsupported(path, validation, _VALIDATIONS))
    if problems:
        raise InvalidOptionsError(problems, _KINDS[method])
    changes: dict[str, object] = {}
    if "fieldValidation" in parameters:
        changes["field_validation"] = _VALIDATIONS[validation]
    if manager:
        changes["manager"] = manager
    if is_apply and "force" in parameters:
        changes["force"] = parameters["force"][0].lower() not in _FALSE
    if dry_run:
        changes["dry_run"] = True
    return replace(options, **changes) if changes else options
