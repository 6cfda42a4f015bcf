"""``smp openapi``: OpenAPI documents converted, pruned, and generated from Go types."""

from __future__ import annotations

import sys
from collections import Counter
from importlib import import_module
from typing import Any, Final

import click

from smp.cli._click import FILE
from smp.cli._errors import concerning
from smp.cli._inputs import Inputs
from smp.cli._outputs import write_json, write_yaml
from smp.cli._suggestions import SuggestingGroup
from smp.enums import without_enums
from smp.errors import SchemaError
from smp.extras import extra_hint
from smp.schema.conversion import to_v2, to_v3
from smp.unions import PROFILES
from smp.values import JSON

_OUTPUT: Final = click.option(
    "-o",
    "--output",
    type=click.Choice(["json", "yaml"]),
    default="json",
    show_default=True,
    help="Format.",
)


@click.group(
    cls=SuggestingGroup,
    epilog="\b\nExample:\n  smp openapi convert openapi.json --to v3",
)
def command() -> None:
    """Convert, prune and generate OpenAPI documents."""


@command.command(epilog="\b\nExample:\n  smp openapi convert openapi.json --to v3")
@click.argument("document", type=FILE)
@click.option(
    "--to",
    "version",
    type=click.Choice(["v2", "v3"]),
    required=True,
    help="The version to convert to.",
)
@click.option(
    "--defaults/--no-defaults",
    default=True,
    help="v2: keep defaults, which a server leaves out there.",
)
@_OUTPUT
def convert(document: str, version: str, *, defaults: bool, output: str) -> None:
    """Convert an OpenAPI document between v2 and v3.

    Enums, unions and patch strategies survive both ways. What the other version cannot
    say is named on standard error.
    """
    original = Inputs().document(document)
    with concerning(original):
        if version == "v3":
            converted = to_v3(original.value)
        else:
            converted = to_v2(original.value, keep_defaults=defaults)
    _write(converted.document, output)

    lost = Counter(
        str(path.steps[-1]) if path.steps else "the document" for path in converted.lost
    )
    for name, count in sorted(lost.items()):
        plural = "s" if count != 1 else ""
        click.echo(f"smp: not converted: {name}, {count} time{plural}", err=True)


@command.command(
    "prune-enums", epilog="\b\nExample:\n  smp openapi prune-enums openapi.json"
)
@click.argument("document", type=FILE)
@_OUTPUT
def prune_enums(document: str, output: str) -> None:
    """Print an OpenAPI document as it was before enums were published (KEP-2887)."""
    original = Inputs().document(document)
    with concerning(original):
        pruned = without_enums(original.value)
    _write(pruned, output)


@command.command(epilog="\b\nExample:\n  smp openapi generate types.go -o yaml")
@click.argument("paths", type=FILE, nargs=-1, required=True)
@click.option(
    "--profile",
    type=click.Choice(list(PROFILES)),
    default="kep1027",
    show_default=True,
    help="The generation of union markers to read, and of extensions to write.",
)
@click.option(
    "--to",
    "version",
    type=click.Choice(["v2", "v3"]),
    default="v3",
    show_default=True,
    help="The version.",
)
@_OUTPUT
def generate(paths: tuple[str, ...], profile: str, version: str, output: str) -> None:
    """Generate an OpenAPI document from Go types with tags and markers.

    PATHS are Go files, or directories of them. A marker that is misused is an error
    with its file and line.
    """
    # Only this command needs the Go grammar, which is an extra.
    try:
        golang: Any = import_module("smp.schema.sources.golang")
        files: Any = import_module("smp.schema.sources.golang.files")
    except ImportError as error:
        raise SchemaError(
            f"Go types need the package {error.name!r}",
            code="missing-extra",
            hint=extra_hint("go"),
        ) from None
    document = golang.generate(files.read_sources(paths), profile=profile)
    if version == "v2":
        document = to_v2(document).document
    _write(document, output)


def _write(document: JSON, output: str) -> None:
    if output == "yaml":
        write_yaml([("", document)])
    else:
        write_json([document])
    # The notes on standard error come after the document.
    sys.stdout.flush()
