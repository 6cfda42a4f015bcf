"""``smp doctor``: what is installed, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator

import click
import msgspec

from smp.cli._errors import printable
from smp.cli._installation import Installation, installation
from smp.cli._outputs import write, write_json
from smp.cli._run import DONE, FOUND


@click.command(epilog="\b\nExample:\n  smp doctor -o json")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Format.",
)
@click.pass_context
def command(ctx: click.Context, /, output: str) -> None:
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
    ctx.exit(FOUND if found.problems else DONE)


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
