"""How objects are applied: kubectl's flags, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Final, Literal, TypeAlias, get_args

import msgspec

from smp._values.options import require_options
from smp._values.path_patterns import pattern_of
from smp.errors import ObjectError
from smp.hazards import Policy

DryRun: TypeAlias = Literal["none", "client", "server"]
Validation: TypeAlias = Literal["strict", "warn", "ignore"]
Order: TypeAlias = Literal["kind", "given"]
Cascade: TypeAlias = Literal["Background", "Foreground", "Orphan"]
Unions: TypeAlias = Literal["clear", "kubectl"]

# Go: k8s.io/kubectl/pkg/cmd/apply, FieldManagerClientSideApply and
# fieldManagerServerSideApply.
CLIENT_SIDE_MANAGER: Final = "kubectl-client-side-apply"
SERVER_SIDE_MANAGER: Final = "kubectl"


class ApplyOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of an apply; kubectl's flags of these names, with their defaults.

    ``field_manager`` is kubectl's where it is None. ``unions`` says whether what a
    union excludes is cleared in the patch, or kubectl's own patch is sent. ``hazards``
    says what is done about what may do harm beside what is asked for: "warn" lists them
    in the results, "error" writes nothing where an object has one, "repair" sends a
    safe patch where there is one, "ignore" does not look for them. With ``strict``
    nothing is written where an object has a hazard, where its prediction does not
    converge, or where the server would refuse it.
    ``give_up`` are patterns of paths that a server-side apply leaves out of the
    manifests, so that they belong to their other managers; with ``skip_conflicts`` it
    leaves out what is a conflict, and applies the rest.
    ``timeout`` are seconds, for the deletion that ``force`` waits for. ``wait`` are
    the seconds to wait until the objects are ready, None for no wait.

    ``applyset`` names the parent of an ApplySet, as ``[RESOURCE[.GROUP]/]NAME``, whose
    other members are pruned; ``tooling`` is what its annotation of the tool says.
    ``prune`` is a label selector: objects with these labels that an apply made, and
    this one does not have, are pruned, of the kinds in ``prune_allowlist``. Without
    ``prunes`` nothing is deleted by either, and nothing leaves an ApplySet: for a run
    that lacks objects whose manifests cannot be read.
    """

    field_manager: str | None = None
    server_side: bool = False
    force_conflicts: bool = False
    give_up: tuple[str, ...] = ()
    skip_conflicts: bool = False
    force: bool = False
    dry_run: DryRun = "none"
    overwrite: bool = True
    validate: Validation = "strict"
    order: Order = "kind"
    unions: Unions = "clear"
    hazards: Policy = "warn"
    strict: bool = False
    cascade: Cascade = "Background"
    grace_period: int | None = None
    timeout: float | None = None
    wait: float | None = None
    applyset: str | None = None
    tooling: str = ""
    prune: str | None = None
    prune_allowlist: tuple[tuple[str, str], ...] = ()
    prunes: bool = True

    def __post_init__(self) -> None:
        """Raise SmpError (code invalid-option) for another value of an option.

        A dry run that is misspelled would write.
        """
        require_options(self, _CHOICES, _TYPES)

    @property
    def predicts_refusals(self) -> bool:
        """Whether it is said what the server would refuse; other runs ask it."""
        return self.strict or self.dry_run == "client"

    def require_consistent(self) -> None:
        """Raise ObjectError for options that exclude each other.

        Go: ApplyOptions.Validate.
        """
        # kubectl names its flags, which the options of Python are called after.
        for flag, is_set in (
            ("--force-conflicts", self.force_conflicts),
            ("--give-up", self.give_up),
            ("--skip-conflicts", self.skip_conflicts),
        ):
            if is_set and not self.server_side:
                raise _exclude(f"{flag} only works with --server-side")
        if self.skip_conflicts and self.force_conflicts:
            raise _exclude("--skip-conflicts cannot be used with --force-conflicts")
        for text in self.give_up:
            try:
                pattern_of(text)
            except ValueError as error:
                raise _exclude(str(error)) from None
        if self.dry_run == "client" and self.server_side:
            raise _exclude(
                "--dry-run=client doesn't work with --server-side"
                " (did you mean --dry-run=server instead?)"
            )
        if self.force and self.server_side:
            raise _exclude("--force cannot be used with --server-side")
        if self.force and self.dry_run == "server":
            raise _exclude("--dry-run=server cannot be used with --force")
        # Go: ApplyOptions.Validate and ApplySet.
        if self.prune and self.applyset:
            raise _exclude("--selector is incompatible with --applyset")
        if self.prune and self.server_side:
            raise _exclude(
                "--prune is in alpha and doesn't currently work on objects"
                " created by server-side apply"
            )
        if self.prune and self.force:
            raise _exclude("--force cannot be used with --prune")

    def require_objects(self, items: Sequence[object]) -> None:
        """Raise ObjectError where a run without objects would prune all that there is.

        Go: ApplyOptions.Run.
        """
        if (self.prune or self.applyset) and self.prunes and not items:
            raise ObjectError(
                "no objects passed to apply",
                code="no-objects",
                hint="all that a former apply made would be pruned",
            )

    @property
    def manager(self) -> str:
        """The field manager."""
        # Go: GetApplyFieldManagerFlag.
        default = SERVER_SIDE_MANAGER if self.server_side else CLIENT_SIDE_MANAGER
        return self.field_manager or default

    @property
    def dry_run_query(self) -> tuple[tuple[str, str], ...]:
        """The query of a request that writes nothing, where that is wanted."""
        return (("dryRun", "All"),) if self.dry_run == "server" else ()

    def query(self, *, manager: str = "") -> tuple[tuple[str, str], ...]:
        """Return the query of a write."""
        # The parameters in the order of their names, as Go encodes them.
        return (
            *self.dry_run_query,
            ("fieldManager", manager or self.manager),
            ("fieldValidation", self.validate.capitalize()),
        )


_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "dry_run": get_args(DryRun),
    "validate": get_args(Validation),
    "order": get_args(Order),
    "unions": get_args(Unions),
    "hazards": get_args(Policy),
    "cascade": get_args(Cascade),
}
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    **dict.fromkeys(("field_manager", "applyset", "prune"), (str, NoneType)),
    **dict.fromkeys(("server_side", "force_conflicts", "skip_conflicts"), (bool,)),
    **dict.fromkeys(("force", "overwrite", "strict", "prunes"), (bool,)),
    **dict.fromkeys(("give_up", "prune_allowlist"), (tuple, list)),
    **dict.fromkeys(("timeout", "wait"), (int, float, NoneType)),
    "grace_period": (int, NoneType),
    "tooling": (str,),
}


def _exclude(problem: str) -> ObjectError:
    return ObjectError(problem, code="invalid-options")
