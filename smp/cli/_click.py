"""The declared commands as commands of click: help, completion, unusual lines."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource

from smp._values.options import BOOLEANS
from smp.cli._command_line import CommandLine, load_command
from smp.cli._commands import (
    COMMANDS,
    NO_PAGER,
    Argument,
    Command,
    CommandGroup,
    CommandOption,
    ValueKind,
)
from smp.cli._errors import report, say
from smp.cli._version import version_line
from smp.errors import did_you_mean, listing

# The length of a dash, a letter and an equals sign.
_SHORT: Final = 3
# Choices that are longer are not written in place of a value.
_MOST_CHOICES: Final = 30
# The headings of options in the help, each with the names of their parameters; what has
# none is for output.
HEADINGS: Final = {
    "Inputs": (
        *("filenames", "recursive", "kustomizations", "live", "live_paths"),
        *("last_paths", "exclude", "patch_file", "text", "patch_type", "as_", "kind"),
        *("contexts", "cluster", "by_folder", "extra", "git", "state", "max_bytes"),
        *("crd", "openapi", "kubernetes", "policies", "context", "kubeconfig"),
        *("server", "token", "as_user", "as_group", "insecure", "request_timeout"),
    ),
    "Selection": (
        *("namespace", "selector", "include_kind", "all_namespaces", "target_only"),
        *("selected", "managers", "unowned", "ignore_not_found", "all"),
    ),
    "Comparison": ("ignore", "ignore_file", "rules", "all_fields", "additions"),
    "Merge": (
        *("overwrite", "server_side", "field_manager", "force_conflicts", "give_up"),
        *("skip_conflicts", "profile", "merge_keys"),
        *("defaults", "prune", "applyset", "tooling", "prune_allowlist", "dry_run"),
        *("force", "order", "cascade", "grace_period", "now", "wait", "conditions"),
        *("timeout", "repair"),
    ),
    "Checks": ("hazards", "validate", "strict", "severity", "codes"),
}
# What few need, and --help-all shows: parameters of all commands, or of one.
FOR_EXPERTS: Final = frozenset(
    {
        *("profile", "max_bytes", "jobs", "mask_env", "openapi"),
        *("order", "ignore_file", "merge_keys", "give_up", "skip_conflicts"),
        *("tooling", "prune_allowlist", "applyset", "by_folder", "metrics", "state"),
        *("on_conflict", "ratchet", "overlay", "feature_gates", "seed", "webhooks"),
        *("runtime_config", "all_fields", "additions", "defaults", "cluster"),
        *("overwrite", "grace_period", "cascade", "kind"),
        *("show_managed_fields", "field_manager", "policies", "kubeconfig"),
        *("color", "include_kind", "last_paths", "tls_cert", "tls_key", "tls_ca"),
        *("pid_file", "token_file", "log_level", "git", "contexts"),
        # As in kubectl, whose commands show none of them (kubectl options).
        *("context", "server", "token", "as_user", "as_group", "insecure"),
        *("request_timeout", "now"),
        # What is read of a cluster by options of an apply, which diff asks seldom.
        *("diff.server_side", "diff.force_conflicts", "diff.prune", "diff.recursive"),
        "diff.dry_run",
    }
)
# The place in the metadata of a context that says that all options are shown.
SHOWS_ALL: Final = "smp.cli.shows_all"
# Spellings of before, and the new ones.
_RENAMED: Final = {
    "--desired": "-f",
    "--summary": "--stat",
    "-o": "--format",
    "--output": "--format",
}
_MOVED: Final = {("cluster", name): name for name in ("diff", "drift")}
# A path that cannot be read is reported by what reads it.
_TYPES: Final[dict[ValueKind, Any]] = {
    "text": None,
    "path": click.Path(allow_dash=True, readable=False),
    "integer": click.INT,
}


class DeclaredCommand(click.Command):
    """A command that is read by click, and not run: it returns its command line."""

    def __init__(self, names: tuple[str, ...], declared: Command) -> None:
        params: list[click.Parameter] = [*map(make_click_argument, declared.arguments)]
        params += map(make_click_option, declared.options)
        self._hidden = {
            option.name
            for option in declared.options
            if is_for_experts(names[-1], option)
        }
        if self._hidden:
            params.append(_help_all())
        super().__init__(
            names[-1],
            params=params,
            callback=lambda **values: CommandLine(names, declared, values),
            help=declared.run.__doc__,
            epilog=_epilog(declared.example, declared.exit_codes),
        )
        self.declared = declared

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments. Raises click.BadParameter."""
        args = self._spell_out(args)
        if self.declared.takes_booleans:
            args = self._without_booleans(ctx, args)
        try:
            # pflag takes -o=report for -o report (Go: FlagSet.parseSingleShortArg).
            rest = super().parse_args(ctx, [*_split_short_options(args)])
        except click.UsageError as error:
            suggestion = self._suggest_option(error)
            if not suggestion:
                raise
            raise click.UsageError(error.message + suggestion, ctx) from None
        self._refuse_excluded(ctx)
        return rest

    def _refuse_excluded(self, ctx: click.Context) -> None:
        given = {
            option.name: option
            for option in self.declared.options
            if ctx.get_parameter_source(option.name) is ParameterSource.COMMANDLINE
        }
        for option in given.values():
            for other in map(given.get, option.excludes):
                # The other options are forms of a report.
                if other is None or ctx.params[other.name] == "report":
                    continue
                flag = option.flags[-1]
                shown = [other.flags[0]]
                shown += [] if other.is_flag else [ctx.params[other.name]]
                reason = f"{flag} and {' '.join(shown)} ask for different outputs"
                raise click.UsageError(f"{reason}: leave one out", ctx)

    def _suggest_option(self, error: click.UsageError) -> str:
        """Return the new spelling of what a command line has; "" for none."""
        flags = [flag for option in self.declared.options for flag in option.flags]
        if isinstance(error, click.NoSuchOption):
            new = _RENAMED.get(error.option_name, "")
            return f" Did you mean {new}?" if new in flags else ""
        # A report for another program was an output.
        if isinstance(error, click.BadParameter) and (
            error.param is not None and error.param.name == "output"
        ):
            value = error.message.partition("'")[2].partition("'")[0]
            if value.startswith("causes"):
                return " Did you mean smp explain -f FILE --live FILE?"
            formats = [o for o in self.declared.options if o.name == "report_format"]
            if formats and value in formats[0].choices:
                return f" Did you mean --format {value}?"
        return ""

    def format_options(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the options under headings; those of experts where all are shown."""
        records: dict[str, list[tuple[str, str]]] = {name: [] for name in HEADINGS}
        records["Output"] = []
        hidden = 0
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is None or isinstance(param, click.Argument):
                continue
            name = param.name or ""
            if name in self._hidden and not ctx.meta.get(SHOWS_ALL):
                hidden += 1
                continue
            heading = "Output"
            for title, names in HEADINGS.items():
                if name in names:
                    heading = title
            records[heading].append(record)
        # A few options need no headings.
        used = {name: some for name, some in records.items() if some}
        for heading, some in used.items():
            with formatter.section(heading if len(used) > 1 else "Options"):
                formatter.write_dl(some)
        if hidden:
            formatter.write_paragraph()
            formatter.write_text(f"--help-all shows {hidden} more options.")

    def _spell_out(self, args: list[str]) -> list[str]:
        """Write values of kubectl as those that options have, and those left out."""
        by_flag = {
            flag: option
            for option in self.declared.options
            for flag in option.flags
            if option.synonyms
        }
        spelled: list[str] = []
        for index, argument in enumerate(args):
            name, equals, text = argument.partition("=")
            option = by_flag.get(name)
            follows = args[index + 1 : index + 2]
            if option is None or (not equals and follows and follows[0][:1] != "-"):
                spelled.append(argument)
            else:
                spelled.append(f"{name}={option.synonyms.get(text, text)}")
        return spelled

    def _without_booleans(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Write ``--wait=true`` as ``--wait``; leave out what is false."""
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
            else:
                plain += [name] if BOOLEANS[text] else option.secondary_opts
        return plain


def is_for_experts(command: str, option: CommandOption) -> bool:
    """Tell whether the help of a command shows an option only where it shows all."""
    return not option.has_effect or bool(
        FOR_EXPERTS & {option.name, f"{command}.{option.name}"}
    )


def _split_short_options(args: list[str]) -> Iterator[str]:
    for arg in args:
        if len(arg) >= _SHORT and arg[0] == "-" and arg[1] != "-" and arg[2] == "=":
            yield arg[:2]
            yield arg[3:]
        else:
            yield arg


def _help_all() -> click.Option:
    def show(context: click.Context, _parameter: click.Parameter, value: bool) -> None:  # noqa: FBT001  # click's
        if value and not context.resilient_parsing:
            context.meta[SHOWS_ALL] = True
            click.echo(context.get_help())
            context.exit()

    return click.Option(
        ["--help-all"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=show,
        help="Show this message with all options.",
    )


def make_click_option(option: CommandOption) -> click.Option:
    """Make an option of click of a declared one."""
    *others, last = option.flags
    flag = f"{last}/{option.opposite}" if option.opposite else last
    settings: dict[str, Any] = {
        "type": _TYPES[option.kind],
        "multiple": option.is_repeatable,
        "required": option.is_required,
        "metavar": option.metavar,
        "help": option.help or None,
    }
    if option.choices:
        settings["type"] = click.Choice(option.choices)
        if sum(map(len, option.choices)) > _MOST_CHOICES:
            settings["metavar"] = last.removeprefix("--").upper()
            one_of = f"One of {', '.join(option.choices)}."
            settings["help"] = f"{option.help} {one_of}".strip()
    elif option.minimum is not None or option.maximum is not None:
        settings["type"] = click.IntRange(option.minimum, option.maximum)
    elif option.convert is not None:
        settings["type"] = _type_of(option.convert)
    if option.is_flag:
        settings["is_flag"] = True
        settings["type"] = None
    # click takes a default that is None for one that is given.
    if option.default is not None:
        settings["default"] = option.default
        is_shown = option.default not in ("", False)
        settings["show_default"] = option.shown_default or is_shown
    if option.variable:
        settings |= {"envvar": option.variable, "show_envvar": True}
    if option.complete:
        settings["shell_complete"] = option.complete
    return click.Option([*others, flag, option.name], **settings)


def _type_of(convert: Callable[[str], Any]) -> Callable[[Any], Any]:
    """Return a type of click that makes a value of a text by a function."""

    def read(value: Any) -> Any:
        # A default may come again as what it was made to be.
        if not isinstance(value, str):
            return value
        try:
            return convert(value)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    return read


def make_click_argument(argument: Argument) -> click.Argument:
    """Make an argument of click of a declared one."""
    return click.Argument(
        [argument.name],
        type=_TYPES[argument.kind],
        nargs=-1 if argument.is_repeatable else 1,
        required=argument.is_required,
        metavar=argument.metavar,
        shell_complete=argument.complete,
    )


def _epilog(example: str, exit_codes: str = "") -> str:
    codes = f"\b\nExit codes: {exit_codes}.\n\n" if exit_codes else ""
    return f"{codes}\b\nExample:\n  smp {example}"


class _Group(click.Group):
    """A group of commands; an unknown one is an error that says which it has."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        known = self.list_commands(ctx)
        # What looks like an option is one that click does not know.
        if name in known or name.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        hint = did_you_mean(name, known) or listing("the commands are", known)
        new = _MOVED.get((ctx.info_name or "", name))
        if new is not None:
            line = " ".join([_program(), new, *args[1:], "--live cluster"])
            hint = f"it is now: {line}"
        elif ctx.parent is None:
            cluster = load_command("cluster")
            if isinstance(cluster, CommandGroup) and name in cluster.commands:
                hint = f"did you mean {_program()} cluster {name}?"
        raise click.UsageError(f"there is no command {name!r}; {hint}", ctx)


class _AllCommands(_Group):
    """The commands, each imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's
        return [*COMMANDS]

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002  # click's
        cmd_name: str,
    ) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        declared = load_command(cmd_name)
        if isinstance(declared, Command):
            return DeclaredCommand((cmd_name,), declared)
        return _Group(
            cmd_name,
            {
                name: DeclaredCommand((cmd_name, name), command)
                for name, command in declared.commands.items()
            },
            help=declared.help,
            epilog=_epilog(declared.example),
        )


@click.group(
    cls=_AllCommands,
    context_settings={"help_option_names": ["--help", "-h"]},
    epilog=_epilog("apply -f new.yaml --live live.yaml -o report"),
)
@click.version_option("", message=version_line())
@click.option(
    NO_PAGER,
    is_flag=True,
    expose_value=False,
    help="Print at once; on a terminal, $PAGER (less -FRX) shows what is printed.",
)
def cli() -> None:
    """Strategic merge patches for Kubernetes objects, computed and applied offline.

    Each path of objects is a YAML or JSON file with any number of
    documents, a directory of such files (*.yaml, *.yml, *.json, at any depth), or - for
    standard input. Errors and notes go to standard error.
    """


def read_with_click(argv: list[str] | None) -> CommandLine | int:
    """Read a command line, or show help or an error and return the exit code."""
    words = sys.argv[1:] if argv is None else argv
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    elif words[:1] in (["version"], ["-v"]):
        # kubectl has options for what it prints of servers.
        words = ["--version"]
    try:
        read = cli.main(args=words, prog_name=_program(), standalone_mode=False)
    except click.Abort:
        raise KeyboardInterrupt from None
    except click.ClickException as error:
        _show(error)
        context = error.ctx if isinstance(error, click.UsageError) else None
        command = context.command if context else None
        if isinstance(command, DeclaredCommand) and error.exit_code:
            return command.declared.error
        return error.exit_code
    return read if isinstance(read, CommandLine | int) else 0


def _program() -> str:
    """Return what the user calls this program: as a plugin of kubectl, by its name."""
    is_plugin = Path(sys.argv[0]).name.startswith("kubectl-")
    return "kubectl smp" if is_plugin else "smp"


def show_usage_error(line: CommandLine, reason: str) -> None:
    """Show why a command line cannot be run, and the usage of its command."""
    context = click.Context(cli, info_name=_program(), **cli.context_settings)
    command: click.Command | None = cli
    for name in line.names:
        if isinstance(command, click.Group):
            command = command.get_command(context, name)
        if command is not None:
            context = click.Context(command, info_name=name, parent=context)
    _show(click.UsageError(reason, context))


def _show(error: click.ClickException) -> None:
    # A group of commands without one shows its help.
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
        return
    say(f"error: {error.format_message()}")
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is not None:
        usage = " ".join(context.get_usage().removeprefix("Usage: ").split())
        report(f"  usage:  {usage}")
        report(f"  hint:   {context.command_path} --help has the options")
