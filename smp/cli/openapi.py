"""``smp openapi``: OpenAPI documents converted, pruned, and generated from Go types."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Final

from msgspec.structs import replace

from smp._storage.enums import without_enums
from smp._values.values import JSON
from smp.cli._commands import (
    DONE,
    Argument,
    Command,
    CommandGroup,
    CommandOption,
    import_extra,
    switch,
)
from smp.cli._errors import concerning, say
from smp.cli._inputs import Inputs
from smp.cli._options import output_option, profile_option
from smp.cli._outputs import write_document
from smp.schema.conversion import to_v2, to_v3


def convert(*, document: str, version: str, defaults: bool, output: str) -> int:
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
        say(f"not converted: {name}, {count} time{plural}")
    return DONE


def prune_enums(*, document: str, output: str) -> int:
    """Print an OpenAPI document as it was before enums were published (KEP-2887)."""
    original = Inputs().document(document)
    with concerning(original):
        pruned = without_enums(original.value)
    _write(pruned, output)
    return DONE


def generate(*, paths: tuple[str, ...], profile: str, version: str, output: str) -> int:
    """Generate an OpenAPI document from Go types with tags and markers.

    PATHS are Go files, or directories of them. A marker that is misused is an error
    with its file and line. Those that are not published, as ranges and patterns of
    values, are named on standard error: the first of each name, and how many there are.
    """
    golang = import_extra("smp.schema.sources.golang", "Go types need", "go")
    unpublished: list[str] = []
    document = golang.generate(
        golang.read_sources(paths), profile=profile, unpublished=unpublished
    )
    if version == "v2":
        document = to_v2(document).document
    _write(document, output)
    by_name: dict[str, list[str]] = {}
    for text in unpublished:
        # FILE:LINE: +NAME(ARGUMENTS)=VALUE
        name = text.partition(": +")[2].partition("=")[0]
        by_name.setdefault(name, []).append(text)
    for name, [first, *others] in by_name.items():
        more = f" (and {len(others)} more of +{name})" if others else ""
        say(f"not published: {first}{more}")
    return DONE


def _write(document: JSON, output: str) -> None:
    write_document(document, output)
    # The notes on standard error come after the document.
    sys.stdout.flush()


_OUTPUT: Final = output_option("json", "yaml", "kyaml", help="Format.")
_VERSION: Final = CommandOption("--to", parameter="version", choices=("v2", "v3"))
_DOCUMENT: Final = (Argument("document"),)

COMMAND: Final = CommandGroup(
    "Convert, prune and generate OpenAPI documents.",
    example="openapi convert openapi.json --to v3",
    commands={
        "convert": Command(
            convert,
            example="openapi convert openapi.json --to v3",
            options=(
                replace(_VERSION, help="The version to convert to.", is_required=True),
                switch(
                    "--defaults",
                    "v2: keep defaults, which a server leaves out there.",
                    opposite="--no-defaults",
                    default=True,
                ),
                _OUTPUT,
            ),
            arguments=_DOCUMENT,
        ),
        "prune-enums": Command(
            prune_enums,
            example="openapi prune-enums openapi.json",
            options=(_OUTPUT,),
            arguments=_DOCUMENT,
        ),
        "generate": Command(
            generate,
            example="openapi generate types.go -o yaml",
            options=(
                replace(
                    profile_option(),
                    help="The generation of union markers to read, and of extensions "
                    "to write.",
                ),
                replace(_VERSION, help="The version.", default="v3"),
                _OUTPUT,
            ),
            arguments=(Argument("paths", is_repeatable=True),),
        ),
    },
)
