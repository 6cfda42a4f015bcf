"""The options that the commands of ``smp cluster`` share; most are kubectl's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from msgspec.structs import replace

from smp.cli._commands import CommandOption, repeatable, switch, text_option
from smp.cli._options import (
    COLOR_OPTION,
    CONNECTION_OPTIONS,
    EXCLUDE_OPTION,
    FILENAME_OPTION,
    HAZARDS_OPTION,
    KUSTOMIZE_OPTION,
    MASK_OPTIONS,
    NAMESPACE_OPTION,
    OVERWRITE_OPTION,
    RECURSIVE_OPTION,
    SELECTOR_OPTION,
    CommandSettings,
    output_option,
    profile_option,
    read_duration,
)

if TYPE_CHECKING:
    from smp.cluster.plan.options import Cascade, DryRun


class MergeSettings(CommandSettings, frozen=True):
    """The options of an apply to a cluster, which a diff has as well."""

    recursive: bool = False
    overwrite: bool = True
    give_up: tuple[str, ...] = ()
    skip_conflicts: bool = False
    prune: bool = False
    applyset: str = ""
    tooling: str = ""
    prune_allowlist: tuple[str, ...] = ()
    dry_run: DryRun = "none"


class ClusterSettings(MergeSettings, frozen=True):
    """The options of the commands of ``smp cluster``, of which each has some."""

    # A line for each object, where it is empty.
    output: str = ""
    names: tuple[str, ...] = ()
    # That of an ApplySet.
    name: str | None = None
    all: bool = False
    all_namespaces: bool = False
    ignore_not_found: bool = False
    show_managed_fields: bool = False
    conditions: tuple[str, ...] = ()
    force: bool = False
    order: str = "kind"
    cascade: str = "background"
    grace_period: int | None = None
    now: bool = False
    wait: bool = False
    timeout: float = 0
    repair: bool = False

    @property
    def propagation(self) -> Cascade:
        """What becomes of the objects that depend on a deleted one, in the API."""
        return cast("Cascade", self.cascade.capitalize())


def timeout_option(help_: str, default: str) -> CommandOption:
    """Return the option for the longest time of a command."""
    return CommandOption(
        "--timeout", help_, metavar="DURATION", convert=read_duration, default=default
    )


def print_option(*outputs: str) -> CommandOption:
    """Return the option for what is printed; a line for each object by default."""
    option = output_option(
        *outputs, help="What is printed. [default: a line for each object]"
    )
    return replace(option, default=None)


CONNECTION: Final = (NAMESPACE_OPTION, *CONNECTION_OPTIONS)
# Go: k8s.io/cli-runtime/pkg/genericclioptions, FileNameFlags.AddFlags, and
# cmdutil.AddLabelSelectorFlagVar.
FILES: Final = (
    FILENAME_OPTION,
    RECURSIVE_OPTION,
    KUSTOMIZE_OPTION,
    EXCLUDE_OPTION,
    SELECTOR_OPTION,
)
TOOLING: Final = text_option(
    "--tooling",
    "The tool that the ApplySet belongs to, such as kubectl/v1.37, and still does. "
    "[default: smp]",
    metavar="NAME/VERSION",
)
# Go: k8s.io/kubectl/pkg/cmd/apply, ApplyFlags.AddFlags; --give-up,
# --skip-conflicts, --profile, --hazards and --tooling are of this package.
MERGE: Final = (
    switch("--server-side", "Let the server merge, by field managers."),
    switch("--force-conflicts", "Take over the fields that other managers own."),
    repeatable(
        "--give-up",
        "Leave a field out of the manifests, so that it belongs to its other managers: "
        "spec.replicas. Repeatable.",
        metavar="PATH",
    ),
    switch(
        "--skip-conflicts",
        "Leave out the fields that are a conflict, and apply the rest.",
    ),
    CommandOption(
        "--field-manager",
        "Manager of the fields. [default: kubectl-client-side-apply, and kubectl with "
        "--server-side]",
        metavar="NAME",
    ),
    OVERWRITE_OPTION,
    replace(
        profile_option(),
        help="Clear what the choice of the manifest excludes, or send kubectl's patch "
        "(validate-only and off).",
    ),
    replace(
        HAZARDS_OPTION,
        help="What may do harm beside what is asked for: warn, write nothing (error), "
        "send a safe patch where there is one (repair), or do not look for it.",
        choices=("warn", "error", "repair", "ignore"),
    ),
    switch(
        "--prune",
        "Delete what a former apply made and this one does not have: with --applyset "
        "its members, with -l objects with these labels.",
    ),
    text_option(
        "--applyset",
        "Parent object of the ApplySet of the objects (KEP-3659).",
        metavar="[RESOURCE[.GROUP]/]NAME",
    ),
    TOOLING,
    repeatable(
        "--prune-allowlist",
        "Prune only objects of this kind; the group of v1 is core. Repeatable.",
        metavar="GROUP/VERSION/KIND",
    ),
)
# As in the commands that work offline, by their Settings.
SHOWN: Final = (*MASK_OPTIONS, COLOR_OPTION)
# Go: cmdutil.AddDryRunFlag.
DRY_RUN: Final = CommandOption(
    "--dry-run",
    "Write nothing: predict what would be done (client), or ask the server.",
    choices=("none", "client", "server"),
    # Go: k8s.io/kubectl, pkg/cmd/util, GetDryRunStrategy.
    synonyms={"": "client", "true": "client", "unchanged": "client", "false": "none"},
    default="none",
)
# Go: k8s.io/kubectl/pkg/cmd/delete, DeleteFlags.AddFlags.
DELETION: Final = (
    CommandOption(
        "--cascade",
        "What becomes of the objects that depend on a deleted one.",
        choices=("background", "foreground", "orphan"),
        default="background",
    ),
    CommandOption(
        "--grace-period",
        "Seconds to end in for a deleted object. [default: its own]",
        kind="integer",
        minimum=0,
    ),
)
