"""How a command line is declared, and read where it is a usual one.

Theory of operation. Loading click takes as long as reading, patching and printing an
object. So commands that are run for one object are declared as data: a ``Command`` has
its options, arguments and what it runs. ``parse`` reads the command lines that are
correct and ordinary, by that declaration alone. Of anything else (help, completion, an
error, options in a rare form) it says nothing, and click reads the line from its start,
by options that ``_click`` makes of the same declaration. So both can differ only in a
line that ``parse`` takes, and a test compares what they make of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Final, TypeAlias

import msgspec

Values: TypeAlias = dict[str, Any]
# Takes a context, a parameter and the beginning of a word, all of click.
Complete: TypeAlias = Callable[[Any, Any, str], list[Any]]

# The commands that are declared as data, each in the module of its name.
DECLARED: Final = frozenset(
    {"apply", "blame", "diff", "drift", "explain", "lint", "patch"}
)

# A shell asks click for completions with this variable.
_COMPLETION: Final = "_SMP_COMPLETE"
_MOST_DIGITS: Final = 18  # of a value that is an integer


class Option(msgspec.Struct, frozen=True):
    """An option of a command.

    ``flags`` are its names on the command line, the last one with the name of the
    parameter, unless ``parameter`` is that. With ``minimum`` its value is an integer.
    ``opposite`` is the name that switches it off.
    """

    flags: tuple[str, ...]
    help: str = ""
    parameter: str = ""
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    minimum: int | None = None
    is_path: bool = False
    is_flag: bool = False
    opposite: str = ""
    is_repeatable: bool = False
    default: str | int | bool | None = None
    # What the help shows in place of the default.
    shown_default: str = ""
    # The variable of the environment that has the value where the option is missing.
    variable: str = ""
    complete: Complete | None = None

    @property
    def name(self) -> str:
        """The parameter of the function that has the value."""
        return self.parameter or self.flags[-1].removeprefix("--").replace("-", "_")

    def value_of(self, text: str) -> str | int | None:
        """Return the value that a word of the command line has; None without one."""
        if self.choices:
            return text if text in self.choices else None
        if self.minimum is None:
            return text
        if not (text.isascii() and text.isdecimal()) or len(text) > _MOST_DIGITS:
            return None
        number = int(text)
        return number if number >= self.minimum else None


class Argument(msgspec.Struct, frozen=True):
    """An argument of a command: a path, or words where it is repeatable."""

    name: str
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
    options: tuple[Option, ...]
    settings: Callable[..., Any]
    shared: frozenset[str]
    arguments: tuple[Argument, ...] = ()
    epilog: str = ""

    def call(self, values: Mapping[str, Any]) -> int:
        """Run the command with the values of its options and arguments."""
        shared: Values = {}
        own: Values = {}
        for name, value in values.items():
            target = shared if name in self.shared else own
            target[name] = value
        return self.run(**own, settings=self.settings(**shared))


class Parsed(msgspec.Struct, frozen=True):
    """A command line that is read."""

    name: str
    command: Command
    values: Values


def parse(words: Sequence[str]) -> Parsed | None:
    """Read a command line; None for one that is left to click."""
    # click expands wildcards on Windows, where a shell does not.
    if not words or _COMPLETION in os.environ or os.name == "nt":
        return None
    name, *rest = words
    if name not in DECLARED:
        return None
    command: Command = import_module(f"smp.cli.{name}").COMMAND
    values = _values(command, rest)
    return None if values is None else Parsed(name, command, values)


def _values(command: Command, words: Sequence[str]) -> Values | None:
    """Return the values of all options and arguments, or None."""
    options: dict[str, Option] = {}
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
        value: str | int | None
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
    return _completed(command, given, arguments)


def _completed(
    command: Command, given: Mapping[str, list[Any]], words: list[str]
) -> Values | None:
    """Add the arguments, and the defaults of the options that are not given."""
    values: Values = {}
    for option in command.options:
        of_option = given.get(option.name)
        if of_option is None and option.variable in os.environ:
            return None
        if option.is_repeatable:
            values[option.name] = tuple(of_option or ())
        elif of_option is not None:
            [values[option.name]] = of_option
        else:
            is_off = option.is_flag and option.default is None
            values[option.name] = False if is_off else option.default
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
