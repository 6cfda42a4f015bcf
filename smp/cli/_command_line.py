"""The reading of a command line, where it is a usual one.

Theory of operation. ``parse`` reads the command lines that are correct and ordinary, by
the declaration of the command alone. Of anything else (help, completion, an error,
options in a rare form) it says nothing, and click reads the line from its start, by
options that ``_click`` makes of the same declaration. So both can differ only in a line
that ``parse`` takes, and a test compares what they make of it. Whoever has read it,
``Command.call`` runs it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Final

import msgspec

from smp.cli._commands import (
    COMMANDS,
    COMPLETION,
    NO_PAGER,
    Command,
    CommandGroup,
    CommandOption,
    Values,
)

OPTIONS_FILE: Final = ".smp.yaml"


class CommandLine(msgspec.Struct, frozen=True):
    """A command line that is read: the names of the command, and its values."""

    names: tuple[str, ...]
    command: Command
    values: Values


def load_command(name: str) -> Command | CommandGroup:
    """Import the declaration of a command, with the defaults of an options file.

    Raises DocumentError for an options file that is not understood.
    """
    command: Command | CommandGroup = import_module(f"smp.cli.{name}").COMMAND
    path = find_options_file()
    if path is None:
        return command
    reader = import_module("smp.cli._options_file")
    changed: Command | CommandGroup = reader.read_options_file(path).set_defaults(
        command
    )
    return changed


def find_options_file() -> str | None:
    """Find ``.smp.yaml``, here or in a folder above, up to that of the repository."""
    # All without pathlib, which is not loaded otherwise.
    try:
        folder = os.getcwd()  # noqa: PTH109  # see above
    except FileNotFoundError:
        # A folder that was removed has nothing above it.
        return None
    while folder:
        path = f"{folder}{os.sep}{OPTIONS_FILE}"
        if os.path.isfile(path):  # noqa: PTH113  # see above
            return path
        if os.path.exists(f"{folder}{os.sep}.git"):  # noqa: PTH110  # see above
            return None
        folder = folder.rpartition(os.sep)[0]
    return None


def parse(words: Sequence[str]) -> CommandLine | None:
    """Read a command line; None for one that is left to click."""
    # click expands wildcards on Windows, where a shell does not.
    if COMPLETION in os.environ or os.name == "nt":
        return None
    words = words[1:] if words[:1] == [NO_PAGER] else words
    if not words or words[0] not in COMMANDS:
        return None
    command = load_command(words[0])
    count = 1
    if isinstance(command, CommandGroup):
        if len(words) == 1 or words[1] not in command.commands:
            return None
        command = command.commands[words[1]]
        count = 2
    values = _read_values(command, words[count:])
    return None if values is None else CommandLine((*words[:count],), command, values)


def _read_values(command: Command, words: Sequence[str]) -> Values | None:
    options: dict[str, CommandOption] = {}
    for option in command.options:
        options.update(dict.fromkeys(option.flags, option))
        if option.opposite:
            options[option.opposite] = option
    given: dict[str, list[Any]] = {}
    arguments: list[str] = []
    remaining = iter(words)
    for word in remaining:
        # A dash alone is standard input.
        if word == "-" or not word.startswith("-"):
            arguments.append(word)
            continue
        flag, equals, text = word, "", ""
        if word.startswith("--"):
            flag, equals, text = word.partition("=")
        named = options.get(flag)
        if named is None:
            return None
        value: Any
        if named.is_flag:
            if equals:
                return None
            value = flag != named.opposite
        else:
            if not equals:
                # Behind an option without a value there is another option, or nothing.
                text = next(remaining, "--")
                if text.startswith("-") and text != "-":
                    return None
            value = named.value_of(text)
        values = given.setdefault(named.name, [])
        if value is None or (values and not named.is_repeatable):
            return None
        values.append(value)
    # click says which of both it is, or takes them where one is a report.
    if any(
        option.name in given and name in given
        for option in command.options
        for name in option.excludes
    ):
        return None
    return _add_defaults(command, given, arguments)


def _add_defaults(
    command: Command, given: Mapping[str, list[Any]], words: list[str]
) -> Values | None:
    """Add the arguments, and the defaults of the options that are not given."""
    values: Values = {}
    for option in command.options:
        if option.name in given:
            found = given[option.name]
            values[option.name] = tuple(found) if option.is_repeatable else found[0]
        elif option.is_required or option.variable in os.environ:
            return None
        else:
            values[option.name] = option.default_value
    remaining = iter(words)
    for argument in command.arguments:
        if argument.is_repeatable:
            values[argument.name] = tuple(remaining)
            has_value = bool(values[argument.name])
        else:
            values[argument.name] = next(remaining, None)
            has_value = values[argument.name] is not None
        if argument.is_required and not has_value:
            return None
    has_too_many = next(remaining, None) is not None
    return None if has_too_many else values
