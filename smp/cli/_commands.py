"""How a command is declared, and read where its line is a usual one.

Theory of operation. Loading click takes as long as reading, patching and printing an
object. So commands are declared as data: a ``Command`` has its options, arguments and
what it runs. ``parse`` reads the command lines that are correct and ordinary, by that
declaration alone. Of anything else (help, completion, an error, options in a rare form)
it says nothing, and click reads the line from its start, by options that ``_click``
makes of the same declaration. So both can differ only in a line that ``parse`` takes,
and a test compares what they make of it. Whoever has read it, ``Command.call`` runs it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any, Final, Literal, TypeAlias

import msgspec

from smp.cli._errors import CommandFailure
from smp.errors import DepthError, SmpError

Values: TypeAlias = dict[str, Any]
# Takes a context, a parameter and the beginning of a word, all of click.
Complete: TypeAlias = Callable[[Any, Any, str], list[Any]]
ValueKind: TypeAlias = Literal["text", "path", "integer"]

# Each has COMMAND in the module of its name, which is imported when the command is run,
# so that no command waits for what the others import.
COMMANDS: Final = (
    "apply",
    "blame",
    "cluster",
    "completion",
    "diff",
    "doctor",
    "drift",
    "explain",
    "lint",
    "mcp",
    "openapi",
    "patch",
    "schema",
    "serve",
    "test",
)
# The exit codes of all commands, but for those that have the codes of kubectl.
DONE: Final = 0
FOUND: Final = 1
ERROR: Final = 2
PARTLY: Final = 3

OPTIONS_FILE: Final = ".smp.yaml"
# Stands before the command, as for git.
NO_PAGER: Final = "--no-pager"
# A shell asks click for completions with this variable.
COMPLETION: Final = "_SMP_COMPLETE"
_MOST_DIGITS: Final = 18  # of a value that is an integer


class CommandOption(msgspec.Struct, frozen=True):
    """An option of a command.

    ``names`` are those on the command line, as ``-q, --quiet``, the last one with the
    name of the parameter, unless ``parameter`` is that. ``opposite`` is the name that
    switches it off. ``convert`` makes the value of a text, also of the default, or
    raises ValueError with what is wrong. ``excludes`` are parameters of options that
    ask for something else, so that both cannot be answered.
    """

    names: str
    help: str = ""
    parameter: str = ""
    metavar: str | None = None
    kind: ValueKind = "text"
    choices: tuple[str, ...] = ()
    # What other values stand for, and "" where there is no value.
    synonyms: dict[str, str] = {}
    minimum: int | None = None
    maximum: int | None = None
    convert: Callable[[str], Any] | None = None
    is_flag: bool = False
    opposite: str = ""
    is_repeatable: bool = False
    is_required: bool = False
    # A tuple where it is repeatable.
    default: str | int | bool | tuple[str, ...] | None = None
    # What the help shows in place of the default.
    shown_default: str = ""
    # The variable of the environment that has the value where the option is missing.
    variable: str = ""
    excludes: tuple[str, ...] = ()
    complete: Complete | None = None

    @property
    def flags(self) -> tuple[str, ...]:
        """The names, one by one."""
        return tuple(self.names.split(", "))

    @property
    def name(self) -> str:
        """The parameter of the function that has the value."""
        return self.parameter or self.flags[-1].removeprefix("--").replace("-", "_")

    @property
    def default_value(self) -> Any:
        """The value where the option is missing."""
        if self.is_repeatable:
            return self.default or ()
        if self.is_flag and self.default is None:
            return False
        if self.convert is not None and isinstance(self.default, str):
            return self.convert(self.default)
        return self.default

    def value_of(self, text: str) -> Any:
        """Return the value that a word of the command line has; None without one."""
        if self.choices:
            return text if text in self.choices else None
        if self.convert is not None:
            try:
                return self.convert(text)
            except ValueError:
                return None
        if self.kind != "integer":
            return text
        if not (text.isascii() and text.isdecimal()) or len(text) > _MOST_DIGITS:
            return None
        number = int(text)
        is_low = self.minimum is not None and number < self.minimum
        is_high = self.maximum is not None and number > self.maximum
        return None if is_low or is_high else number


# An option that has no value, but is there or not.
switch: Final = partial(CommandOption, is_flag=True)


class Argument(msgspec.Struct, frozen=True):
    """An argument of a command: a path, or words where it is repeatable."""

    name: str
    kind: ValueKind = "path"
    metavar: str | None = None
    is_required: bool = True
    is_repeatable: bool = False
    complete: Complete | None = None


class Command(msgspec.Struct, frozen=True):
    """A command: what it is called with, and the function that returns its exit code.

    The docstring of the function is the help of the command. Values of ``shared``
    options are handed to it as one: what ``settings`` makes of them.
    """

    run: Callable[..., int]
    example: str
    options: tuple[CommandOption, ...] = ()
    arguments: tuple[Argument, ...] = ()
    exit_codes: str = "0 done, 2 an error"
    settings: Callable[..., Any] | None = None
    shared: frozenset[str] = frozenset()
    error: int = ERROR
    # Whether flags may have a value, as those of kubectl: --wait=false.
    takes_booleans: bool = False

    def call(self, values: Mapping[str, Any]) -> int:
        """Run the command, and report the errors that users can correct."""
        shared: Values = {}
        own: Values = {}
        for name, value in self._with_files(values).items():
            target = shared if name in self.shared else own
            target[name] = value
        try:
            if self.settings is not None:
                own["settings"] = self.settings(**shared)
            return self.run(**own)
        except CommandFailure as failure:
            failure.show()
        except RecursionError:
            CommandFailure(DepthError("a document is nested too deeply")).show()
        except SmpError as error:
            CommandFailure(error).show()
        return self.error

    def _with_files(self, values: Mapping[str, Any]) -> Values:
        """Return the values, with the files of -f before those of arguments.

        Commas part the files of one option (Go: pflag, StringSliceVarP).
        """
        found = {**values}
        if "filenames" in found:
            texts = found.pop("filenames")
            files = [file for text in texts for file in text.split(",")]
            found["paths"] = (*files, *found.get("paths", ()))
        return found


class CommandGroup(msgspec.Struct, frozen=True):
    """Commands below one name."""

    help: str
    example: str
    commands: dict[str, Command]


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
    """Return the values of all options and arguments, or None."""
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
