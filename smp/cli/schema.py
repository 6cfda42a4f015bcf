"""``smp schema``: the bundled Kubernetes versions, and compiling OpenAPI documents."""

from __future__ import annotations

from pathlib import Path

import click

from smp.cli._errors import concerning
from smp.cli._inputs import STDIN, Inputs
from smp.cli._options import FILE
from smp.cli._outputs import write, write_bytes
from smp.documents import Document, read
from smp.errors import DocumentError
from smp.schema.catalog import compile_openapi, versions


@click.group(epilog="\b\nExample:\n  smp schema versions")
def command() -> None:
    """Compile schemas, and list the bundled ones."""


@command.command("versions", epilog="\b\nExample:\n  smp schema versions")
def list_versions() -> None:
    """Print the bundled Kubernetes versions, oldest first."""
    write("".join(f"{version}\n" for version in versions()))


@command.command(
    "compile",
    epilog="\b\nExample:\n"
    "  smp schema compile openapi.json -o cluster.types --source 'our cluster'",
)
@click.argument("document", type=FILE)
@click.option(
    "-o",
    "--output",
    type=FILE,
    required=True,
    help="File to write; - is standard output.",
)
@click.option(
    "--source",
    required=True,
    metavar="TEXT",
    help="Where the document comes from; error messages name it.",
)
def compile_document(document: str, output: str, source: str) -> None:
    """Compile an OpenAPI document to a small file.

    DOCUMENT is OpenAPI v2 or v3; the file is for --openapi of the other commands. Equal
    documents give equal bytes.
    """
    inputs = Inputs()
    with concerning(Document(None, document, 1)):
        parts = read(inputs.data(document), source=document)
        compiled = compile_openapi([part.value for part in parts], source=source)
    if output == STDIN:
        write_bytes(compiled)
        return
    try:
        Path(output).write_bytes(compiled)
    except OSError as error:
        raise DocumentError(
            f"cannot write the file: {error.strerror}", code="unwritable", source=output
        ) from None
