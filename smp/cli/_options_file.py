"""The options file of a repository: ``.smp.yaml``, with defaults of options.

It is in the current folder or in one above it, up to the one that has ``.git``. An
option of the command line takes the place of what the file has. A name is that of an
option without its dashes; a path is relative to the file.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from smp import documents
from smp._values.values import JSON, type_name
from smp.cli._commands import Command, CommandGroup, CommandOption
from smp.errors import DocumentError, did_you_mean

# What a repository has once, for all who work on it. Not what is read or written.
_ALLOWED: Final = (
    *("crd", "exclude", "ignore", "ignore-file", "kubernetes", "mask-env", "openapi"),
    *("profile", "rules", "strict", "validate"),
)


class OptionsFile(msgspec.Struct, frozen=True):
    """An options file that was found: its path, and the values by option."""

    path: str
    values: dict[str, JSON]

    def options_of(self, command: Command) -> list[str]:
        """Name the options of a command that the file has."""
        names = {_long_name(option) for option in command.options}
        return [name for name in self.values if name in names]

    def set_defaults(self, command: Command | CommandGroup) -> Command | CommandGroup:
        """Return a command whose options have the values of the file as defaults.

        Raises DocumentError for a value that an option does not take.
        """
        if isinstance(command, CommandGroup):
            inner = command.commands
            changed = {name: self._set_defaults(inner[name]) for name in inner}
            return replace(command, commands=changed)
        return self._set_defaults(command)

    def _set_defaults(self, command: Command) -> Command:
        options = tuple(
            replace(option, default=self._default_of(option), shown_default="")
            if _long_name(option) in self.values
            else option
            for option in command.options
        )
        return replace(command, options=options)

    def _default_of(self, option: CommandOption) -> Any:
        name = _long_name(option)
        value = self.values[name]
        if option.is_flag:
            if not isinstance(value, bool):
                raise self._error(f"{name} is {type_name(value)}, not true or false")
            return value
        values = value if isinstance(value, list) else [value]
        if len(values) > 1 and not option.is_repeatable:
            raise self._error(f"{name} takes one value")
        read = tuple(self._text_of(option, each) for each in values)
        return read if option.is_repeatable else read[0]

    def _text_of(self, option: CommandOption, value: JSON) -> str:
        """Return a value as the command line has it."""
        name = _long_name(option)
        # A version without quotes is a number, and 1.30 then the same one as 1.3.
        if not isinstance(value, str):
            reason = f"{name} has {type_name(value)}, where a text belongs: quote it"
            raise self._error(reason)
        value = option.synonyms.get(value, value)
        if option.kind == "path":
            return os.path.relpath(Path(self.path).parent / value)
        if option.value_of(value) is None:
            allowed = f": {', '.join(option.choices)}" if option.choices else ""
            raise self._error(f"{name} cannot be {value!r}{allowed}")
        return value

    def _error(self, reason: str) -> DocumentError:
        return _wrong(self.path, reason)


def read_options_file(path: str) -> OptionsFile:
    """Read an options file. Raises DocumentError for one that is not understood."""
    shown = os.path.relpath(path)
    value = documents.read_one(Path(path).read_bytes(), source=shown).value
    if not isinstance(value, dict):
        raise _wrong(shown, f"{type_name(value)}, where options belong")
    for name in value:
        if name not in _ALLOWED:
            hint = did_you_mean(name, _ALLOWED) or f"there are: {', '.join(_ALLOWED)}"
            if name == "owners":
                hint = "owners stand in the file of rules"
            raise _wrong(shown, f"no option {name!r} for an options file", hint)
    return OptionsFile(shown, value)


def _wrong(path: str, reason: str, hint: str = "") -> DocumentError:
    return DocumentError(reason, code="invalid-options-file", source=path, hint=hint)


def _long_name(option: CommandOption) -> str:
    return option.flags[-1].removeprefix("--")
