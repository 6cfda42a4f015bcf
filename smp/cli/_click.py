"""Declared commands (``_commands``) as commands of click."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click

from smp.cli._commands import Argument, Command, Option
from smp.cli._errors import UsageError

# A path that cannot be read is reported by what reads it.
FILE: Final = click.Path(allow_dash=True, readable=False)


def as_click_command(name: str, declared: Command) -> click.Command:
    """Make a command of click of a declared one."""
    params: list[click.Parameter] = [as_argument(part) for part in declared.arguments]
    params += [as_option(option) for option in declared.options]

    @click.pass_context
    def call(ctx: click.Context, /, **values: Any) -> None:
        try:
            ctx.exit(declared.call(values))
        except UsageError as error:
            raise click.UsageError(str(error), ctx) from None

    return click.Command(
        name,
        params=params,
        callback=call,
        help=declared.run.__doc__,
        epilog=declared.epilog,
    )


def as_option(option: Option) -> click.Option:
    """Make an option of click of a declared one."""
    names, settings = _option_settings(option)
    return click.Option(names, **settings)


def option_decorator(option: Option) -> Callable[[Callable[..., Any]], Any]:
    """Make a decorator of click, for a command that is a function."""
    names, settings = _option_settings(option)
    return click.option(*names, **settings)


def _option_settings(option: Option) -> tuple[list[str], dict[str, Any]]:
    *others, last = option.flags
    flag = f"{last}/{option.opposite}" if option.opposite else last
    settings: dict[str, Any] = {
        "multiple": option.is_repeatable,
        "metavar": option.metavar,
        "help": option.help or None,
    }
    if option.choices:
        settings["type"] = click.Choice(option.choices)
    elif option.minimum is not None:
        settings["type"] = click.IntRange(min=option.minimum)
    elif option.is_path:
        settings["type"] = FILE
    if option.is_flag:
        settings["is_flag"] = True
    # click takes a default that is None for one that is given.
    if option.default is not None:
        settings["default"] = option.default
        settings["show_default"] = option.shown_default or bool(option.default)
    if option.variable:
        settings |= {"envvar": option.variable, "show_envvar": True}
    if option.complete:
        settings["shell_complete"] = option.complete
    return [*others, flag, option.name], settings


def as_argument(argument: Argument) -> click.Argument:
    """Make an argument of click of a declared one."""
    return click.Argument(
        [argument.name],
        type=None if argument.is_repeatable else FILE,
        nargs=-1 if argument.is_repeatable else 1,
        required=argument.is_required,
        metavar=argument.metavar,
        shell_complete=argument.complete,
    )
