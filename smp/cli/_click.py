"""The declared commands as commands of click: help, completion, unusual lines."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import click

from smp._values.options import BOOLEANS
from smp.cli._commands import (
    COMMANDS,
    Argument,
    Command,
    CommandLine,
    CommandOption,
    ValueKind,
    load_command,
)
from smp.cli._errors import printable, report
from smp.cli._version import version_line
from smp.errors import did_you_mean, listing

# The length of a dash, a letter and an equals sign.
_SHORT: Final = 3
# What other programs take for the same.
_ALIASES: Final = {"version": ["--version"], "-v": ["--version"]}
# A path that cannot be read is reported by what reads it.
_TYPES: Final[dict[ValueKind, Any]] = {
    "text": None,
    "path": click.Path(allow_dash=True, readable=False),
    "integer": click.INT,
}


class DeclaredCommand(click.Command):
    """A command that is read by click, and not run: it returns its command line."""

    def __init__(self, names: tuple[str, ...], declared: Command) -> None:
        params: list[click.Parameter] = [*map(as_argument, declared.arguments)]
        params += map(as_option, declared.options)
        super().__init__(
            names[-1],
            params=params,
            callback=lambda **values: CommandLine(names, declared, values),
            help=declared.run.__doc__,
            epilog=_epilog(declared.example, declared.exit_codes),
        )
        self._declared = declared

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments. Raises click.BadParameter."""
        if self._declared.takes_booleans:
            args = self._without_booleans(ctx, args)
        try:
            # pflag takes -o=report for -o report (Go: FlagSet.parseSingleShortArg).
            return super().parse_args(ctx, [*_split_short_options(args)])
        except click.UsageError as error:
            suggestion = self._suggest_option(error.message)
            if not suggestion:
                raise
            raise click.UsageError(error.message + suggestion, ctx) from None

    def _suggest_option(self, problem: str) -> str:
        """Name the option that an argument too many may be meant for; "" for none."""
        flags = [flag for option in self._declared.options for flag in option.flags]
        _, found, extra = problem.partition("Got unexpected extra argument")
        first = extra.removeprefix("s").strip(" ()").partition(" ")[0]
        for flag in ("-f", "--desired"):
            if found and flag in flags:
                return f"; did you mean {flag} {first}?"
        return ""

    def _without_booleans(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Replace flags with a value by those without: ``--wait=true`` by ``--wait``.

        A flag without an opposite is false where it is left out.
        """
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


def _split_short_options(args: list[str]) -> Iterator[str]:
    for arg in args:
        if len(arg) >= _SHORT and arg[0] == "-" and arg[1] != "-" and arg[2] == "=":
            yield arg[:2]
            yield arg[3:]
        else:
            yield arg


def as_option(option: CommandOption) -> click.Option:
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


def as_argument(argument: Argument) -> click.Argument:
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
        """Find the command that the arguments begin with."""
        name = args[0]
        known = self.list_commands(ctx)
        # What looks like an option is one that click does not know.
        if name in known or name.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        hint = did_you_mean(name, known) or listing("the commands are", known)
        raise click.UsageError(f"there is no command {name!r}; {hint}", ctx)


class _AllCommands(_Group):
    """The commands, each imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's
        """Name the commands."""
        return [*COMMANDS]

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002  # click's
        cmd_name: str,
    ) -> click.Command | None:
        """Import a command."""
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
    elif words:
        words = [*_ALIASES.get(words[0], words[:1]), *words[1:]]
    try:
        read = cli.main(args=words, prog_name=_program(), standalone_mode=False)
    except click.Abort:
        raise KeyboardInterrupt from None
    except click.ClickException as error:
        _show(error)
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
    """Show an error of click as all others are shown."""
    # A group of commands without one shows its help.
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
        return
    report(f"smp: error: {printable(error.format_message())}")
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is not None:
        usage = " ".join(context.get_usage().removeprefix("Usage: ").split())
        report(f"  usage:  {usage}")
        report(f"  hint:   {context.command_path} --help has the options")
