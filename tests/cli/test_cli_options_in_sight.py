"""The help of a command: what it shows at once, and how wide it is."""

from __future__ import annotations

from smp.cli._click import is_for_experts
from tests.support.command import declared_commands, run

# Of some 370; the others are behind --help-all.
_MOST_IN_SIGHT = 180
_WIDTH = 80


def test_few_options_are_in_sight() -> None:
    in_sight = {
        names: [
            option.flags[-1]
            for option in command.options
            if not is_for_experts(names[-1], option)
        ]
        for names, command in declared_commands().items()
    }
    assert sum(map(len, in_sight.values())) <= _MOST_IN_SIGHT, in_sight


def test_what_is_shown_is_what_a_command_does() -> None:
    # Of one command it is the way to look first, of the other it changes nothing.
    assert "--dry-run" in run("cluster", "apply", "--help").stdout
    assert "--dry-run" not in run("apply", "--help").stdout
    assert "--dry-run" in run("apply", "--help-all").stdout


def test_the_help_of_each_command_has_80_columns() -> None:
    groups = {names[:1] for names in declared_commands()}
    wide = [
        f"{' '.join(names)}: {line}"
        for names in sorted({(), *groups, *declared_commands()})
        for option in ("--help", "--help-all")
        for line in run(*names, option).stdout.splitlines()
        if len(line) > _WIDTH
    ]
    assert not wide, "\n".join(wide)
