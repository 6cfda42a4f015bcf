"""The options that the commands of ``smp cluster`` share; most are kubectl's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from smp.options import BOOLEANS
from smp.times import parse_duration

CommandT = TypeVar("CommandT", bound=Callable[..., Any])

_SECOND: Final = 1_000_000_000  # nanoseconds


class KubectlCommand(click.Command):
    """A command whose flags may have a value, as those of kubectl: ``--wait=false``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments. Raises click.BadParameter."""
        flags = {
            name: option
            for option in self.params
            if isinstance(option, click.Option) and option.is_flag
            for name in option.opts
        }
        plain: list[str] = []
        for argument in args:
            name, equals, text = argument.partition("=")
            option = flags.get(name)
            if option is None or not equals:
                plain.append(argument)
            elif text not in BOOLEANS:
                raise click.BadParameter(f"{text!r} is not true or false", ctx, option)
            elif BOOLEANS[text]:
                plain.append(name)
            else:
                # A flag without an opposite is false where it is left out.
                plain += option.secondary_opts
        return super().parse_args(ctx, plain)


def duration(value: Any) -> float:
    """Read a duration in the form of Go: ``30s``, ``1m30s``; a number is seconds."""
    if isinstance(value, int | float):
        return value
    # time.ParseDuration refuses a number alone; here it is not mistaken.
    text = f"{value}s" if str(value).isdecimal() else str(value)
    nanoseconds = parse_duration(text)
    if nanoseconds is None or nanoseconds < 0:
        raise click.BadParameter(f"{value!r} is not a duration such as 30s or 5m")
    return nanoseconds / _SECOND


def joined(*decorators: Callable[[Any], Any]) -> Callable[[CommandT], CommandT]:
    """Join decorators to one; the first one is the first in the help."""

    def decorate(function: CommandT) -> CommandT:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


# Go: k8s.io/cli-runtime/pkg/genericclioptions, ConfigFlags.AddFlags.
CONNECTION: Final = joined(
    click.option(
        "-n",
        "--namespace",
        metavar="NAME",
        default="",
        help="The namespace of objects that leave it out; others are an error.",
    ),
    click.option(
        "--context",
        metavar="NAME",
        default="",
        help="Context of the configuration. [default: the current one]",
    ),
    click.option(
        "--kubeconfig",
        metavar="FILE",
        default="",
        help="Configuration of kubectl. [default: the files of $KUBECONFIG]",
    ),
)
# Go: cmdutil.AddLabelSelectorFlagVar.
SELECTOR: Final = click.option(
    "-l",
    "--selector",
    metavar="LABELS",
    default="",
    help="Take only objects with these labels: app=web,tier!=db,env in (a,b),!c.",
)
# Go: k8s.io/cli-runtime/pkg/genericclioptions, FileNameFlags.AddFlags.
FILES: Final = joined(
    click.option(
        "-f",
        "--filename",
        "paths",
        metavar="PATH",
        multiple=True,
        help="Manifests: a file, a directory, or - for standard input. Repeatable.",
    ),
    click.option(
        "-R",
        "--recursive",
        is_flag=True,
        help="Take the folders of a directory as well.",
    ),
    click.option(
        "-k",
        "--kustomize",
        "kustomizations",
        metavar="DIR",
        multiple=True,
        help="What kustomize, or kubectl, makes of a directory.",
    ),
    SELECTOR,
)
# Go: k8s.io/kubectl/pkg/cmd/apply, ApplyFlags.AddFlags; --unions and --hazards are
# of this package.
MERGE: Final = joined(
    click.option(
        "--server-side", is_flag=True, help="Let the server merge, by field managers."
    ),
    click.option(
        "--force-conflicts",
        is_flag=True,
        help="Take over the fields that other managers own.",
    ),
    click.option(
        "--field-manager",
        metavar="NAME",
        default=None,
        help="Manager of the fields. [default: kubectl-client-side-apply, and kubectl"
        " with --server-side]",
    ),
    click.option(
        "--overwrite/--no-overwrite",
        default=True,
        show_default=True,
        help="Whether the manifest wins over changes made to the live object, or they"
        " are an error.",
    ),
    click.option(
        "--unions",
        type=click.Choice(["clear", "kubectl"]),
        default="clear",
        show_default=True,
        help="Clear what the choice of the manifest excludes, or send kubectl's patch.",
    ),
    click.option(
        "--hazards",
        type=click.Choice(["warn", "error", "repair", "ignore"]),
        default="warn",
        show_default=True,
        help="What may do harm beside what is asked for: warn, write nothing (error),"
        " send a safe patch where there is one (repair), or do not look for it.",
    ),
    click.option(
        "--prune",
        is_flag=True,
        help="Delete what a former apply made and this one does not have: with"
        " --applyset its members, with -l objects with these labels.",
    ),
    click.option(
        "--applyset",
        metavar="[RESOURCE[.GROUP]/]NAME",
        default="",
        help="Parent object of the ApplySet of the objects (KEP-3659).",
    ),
    click.option(
        "--prune-allowlist",
        metavar="GROUP/VERSION/KIND",
        multiple=True,
        help="Prune only objects of this kind; the group of v1 is core. Repeatable.",
    ),
)
# As in the commands that work offline, by their Settings.
SHOWN: Final = joined(
    click.option(
        "--show-secrets", is_flag=True, help="Do not mask the values of Secrets."
    ),
    click.option(
        "--mask-env",
        is_flag=True,
        help="Mask the values of environment variables of containers, too.",
    ),
    click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        show_default=True,
        help="Colours in what is for a reader.",
    ),
)
# Go: cmdutil.AddDryRunFlag.
DRY_RUN: Final = click.option(
    "--dry-run",
    type=click.Choice(["none", "client", "server"]),
    default="none",
    show_default=True,
    help="Write nothing: predict what would be done (client), or ask the server.",
)
# Go: k8s.io/kubectl/pkg/cmd/delete, DeleteFlags.AddFlags.
DELETION: Final = joined(
    click.option(
        "--cascade",
        type=click.Choice(["background", "foreground", "orphan"]),
        default="background",
        show_default=True,
        help="What becomes of the objects that depend on a deleted one.",
    ),
    click.option(
        "--grace-period",
        type=click.IntRange(min=0),
        default=None,
        help="Seconds to end in for a deleted object. [default: its own]",
    ),
)


def output_option(*outputs: str, default: str = "") -> Callable[[Any], Any]:
    """Return the option for what is printed; a line for each object by default."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice(outputs),
        default=default or None,
        show_default=bool(default),
        help="What is printed."
        + ("" if default else " [default: a line for each object]"),
    )


# Go: k8s.io/kubectl/pkg/cmd/get, GetOptions.AllNamespaces.
ALL_NAMESPACES: Final = click.option(
    "-A", "--all-namespaces", is_flag=True, help="The objects of all namespaces."
)
