"""``smp schema``: the bundled Kubernetes versions, and compiling OpenAPI documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import resources
from pathlib import Path
from typing import Final

from smp._values.values import JSON
from smp.cli._commands import (
    DONE,
    ERROR,
    PARTLY,
    Argument,
    Command,
    CommandGroup,
    CommandOption,
    text_option,
)
from smp.cli._definitions import is_definition
from smp.cli._errors import CommandFailure, concerning, say
from smp.cli._inputs import STDIN, Inputs
from smp.cli._objects import Object
from smp.cli._options import EXCLUDE_OPTION
from smp.cli._outputs import write, write_bytes
from smp.comparison import SCHEMA_NAME
from smp.documents import Document
from smp.errors import DocumentError
from smp.schema.catalog import compile_definitions, compile_openapi, versions


def list_versions() -> int:
    """Print the bundled Kubernetes versions, oldest first."""
    write("".join(f"{version}\n" for version in versions()))
    return DONE


def print_rules_schema() -> int:
    """Print the JSON Schema of the files for --rules of smp diff."""
    schema = resources.files("smp.comparison").joinpath(SCHEMA_NAME)
    write(schema.read_text())
    return DONE


def compile_documents(
    *, paths: tuple[str, ...], output: str, source: str, exclude: tuple[str, ...]
) -> int:
    """Compile schemas to a small file, which is read much faster.

    PATHS have either OpenAPI v2 or v3 documents, for --openapi of the other commands,
    or CustomResourceDefinitions, for --crd; their descriptions, and other documents
    among definitions, are left out. One that cannot be read is an error, and the others
    are compiled. Equal documents give equal bytes.
    """
    inputs = Inputs(exclude=exclude)
    documents = [part for path in paths for part in inputs.documents(path)]
    definitions = [document for document in documents if is_definition(document.value)]
    for problem in inputs.problems:
        problem.show()
    failed = len(inputs.problems)
    if definitions:
        valid = [*_keep_compilable(definitions)]
        failed += len(definitions) - len(valid)
        if not valid:
            return ERROR
        compiled = compile_definitions(valid, source=source)
    else:
        with concerning(documents[0]):
            compiled = compile_openapi(
                [part.value for part in documents], source=source or paths[0]
            )
    if output == STDIN:
        write_bytes(compiled)
    else:
        try:
            Path(output).write_bytes(compiled)
        except OSError as error:
            raise DocumentError(
                f"cannot write the file: {error.strerror}",
                code="unwritable",
                source=output,
            ) from None
    left_out = len(documents) - len(definitions)
    if definitions and left_out:
        say(
            f"note: left out, as no CustomResourceDefinition: {left_out} "
            f"document{'s' if left_out > 1 else ''}"
        )
    return PARTLY if failed else DONE


def _keep_compilable(definitions: Iterable[Document]) -> Iterator[JSON]:
    for document in definitions:
        obj = Object.of(document)
        try:
            with concerning(document, obj.label or obj.place):
                compile_definitions(document.value)
        except CommandFailure as failure:
            failure.show()
        else:
            yield document.value


COMMAND: Final = CommandGroup(
    "Compile schemas, and list the bundled ones.",
    example="schema versions",
    commands={
        "versions": Command(list_versions, example="schema versions"),
        "rules": Command(print_rules_schema, example="schema rules"),
        "compile": Command(
            compile_documents,
            example="schema compile openapi.json -o cluster.types"
            " --source 'our cluster'",
            options=(
                CommandOption(
                    "-o, --output",
                    "File to write; - is standard output.",
                    kind="path",
                    is_required=True,
                ),
                text_option(
                    "--source",
                    "Where the documents come from; error messages name it. [default: "
                    "the first of PATHS, and of CustomResourceDefinitions their "
                    "number]",
                    metavar="TEXT",
                ),
                EXCLUDE_OPTION,
            ),
            arguments=(Argument("paths", is_repeatable=True),),
            exit_codes="0 done, 2 an error, 3 done in part",
        ),
    },
)
