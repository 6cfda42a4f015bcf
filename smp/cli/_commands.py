"""How a command is declared: with its options, its arguments, and what it runs.

All of that is data, as loading click takes as long as reading, patching and printing an
object: _command_line.py reads a usual line by it, and _click.py any other one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any, Final, Literal, TypeAlias

import msgspec

from smp._values.extras import extra_hint
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
    ask for something else, so that both cannot be answered. One that has no effect is
    there for scripts of kubectl's: what it asks for holds anyway.
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
    has_effect: bool = True
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
        if self.is_repeatable and isinstance(self.default, tuple):
            return (
                tuple(map(self.convert, self.default)) if self.convert else self.default
            )
        if self.is_repeatable:
            return ()
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
# An option that may be given any number of times, and one of these that names files.
repeatable: Final = partial(CommandOption, is_repeatable=True)
path_options: Final = partial(repeatable, kind="path")
# An option that is the empty text where it is missing.
text_option: Final = partial(CommandOption, default="")


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

    The docstring of the function is the help of the command. It gets the values of all
    options and arguments as one: what ``settings`` makes of them, where there is that.
    """

    run: Callable[..., int]
    example: str
    options: tuple[CommandOption, ...] = ()
    arguments: tuple[Argument, ...] = ()
    exit_codes: str = "0 done, 2 an error"
    settings: Callable[..., Any] | None = None
    error: int = ERROR
    # Whether flags may have a value, as those of kubectl: --wait=false.
    takes_booleans: bool = False

    def call(self, values: Mapping[str, Any]) -> int:
        """Run the command, and report the errors that users can correct."""
        found = self._with_files(values)
        for option in self.options:
            if not option.has_effect:
                del found[option.name]
        try:
            if self.settings is None:
                return self.run(**found)
            # What has no value has the one of the settings.
            given = {name: found[name] for name in found if found[name] is not None}
            return self.run(self.settings(**given))
        except CommandFailure as failure:
            failure.show()
        except RecursionError:
            CommandFailure(DepthError("a document is nested too deeply")).show()
        except SmpError as error:
            CommandFailure(error).show()
        return self.error

    def _with_files(self, values: Mapping[str, Any]) -> Values:
        """Put the files of -f first; commas part them (Go: pflag, StringSliceVarP)."""
        found = {**values}
        if "filenames" in found:
            texts = found.pop("filenames")
            files = [file for text in texts for file in text.split(",")]
            found["paths"] = (*files, *found.get("paths", ()))
        return found


def import_extra(module: str, what: str, extra: str) -> Any:
    """Import a module that needs the packages of an extra.

    Raises SmpError where they are missing; ``what`` needs them.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise SmpError(
            f"{what} the package {error.name!r}",
            code="missing-extra",
            hint=extra_hint(extra),
        ) from None


class CommandGroup(msgspec.Struct, frozen=True):
    """Commands below one name."""

    help: str
    example: str
    commands: dict[str, Command]
