"""``smp doctor``: what is installed, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from smp.cli._commands import DONE, FOUND, Command
from smp.cli._errors import printable
from smp.cli._installation import Installation, installation
from smp.cli._options import output_option
from smp.cli._outputs import write, write_json


def run_doctor(*, output: str) -> int:
    """Print what is installed, and what is wrong with it.

    That is this package and the packages that it requires, whether the engine is
    compiled, the extras, and the programs that commands and tests use. Another
    distribution with a package smp, which overwrites files of this one, is a problem.

    Exit codes: 0 no problem, 1 a problem, 2 an error.
    """
    found = installation()
    if output == "json":
        write_json([msgspec.to_builtins(found)])
    else:
        write("".join(f"{printable(line)}\n" for line in _lines(found)))
    return FOUND if found.problems else DONE


COMMAND: Final = Command(
    run_doctor,
    example="doctor -o json",
    options=(output_option("text", "json", help="Format."),),
)


def _lines(found: Installation) -> Iterator[str]:
    yield f"smp {found.version}, in {found.location}"
    engine: str = found.engine
    if found.compiled_modules:
        engine += f", {found.compiled_modules} libraries"
    yield f"  engine      {engine}"
    yield f"  python      {found.python}, {found.platform}"
    yield f"  kubernetes  {found.kubernetes[0]} to {found.kubernetes[-1]}"
    named = [f"{each.name} {each.version or 'is missing'}" for each in found.packages]
    yield f"  packages    {', '.join(named) or 'not known: nothing installed smp'}"
    yield "extras"
    for extra in found.extras:
        yield f"  {extra.name:10}  {extra.purpose}"
        named = [
            f"{each.name} {each.version or 'is missing'}" for each in extra.packages
        ]
        if named:
            yield f"              {', '.join(named)}"
        if extra.install:
            yield f"              {extra.install}"
    yield "programs"
    for program in found.programs:
        place = "not found"
        if program.path:
            place = f"{program.version or program.problem} ({program.path})"
        yield f"  {program.name:14}  {place}; for {program.purpose}"
    for problem in found.problems:
        yield f"problem: {problem.sentence}"
        yield f"  hint: {problem.hint}"
    if not found.problems:
        yield "no problem found"
