"""The options that commands share, and the schemas that they lead to."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial, reduce, wraps
from typing import Any, Final, TypeAlias

import click
import msgspec

from smp.cli._errors import concerning
from smp.cli._inputs import Inputs
from smp.cli._objects import Object
from smp.documents import Document, read
from smp.errors import UnknownKindError
from smp.schema.catalog import (
    Catalog,
    bundled_overlay,
    kubernetes,
    read_compiled,
    versions,
)
from smp.schema.model import Schema, UnknownFields
from smp.unions import PROFILES

Handler: TypeAlias = Callable[..., None]
Decorator: TypeAlias = Callable[[Handler], Handler]

FILE: Final = click.Path(allow_dash=True)
_COMPILED: Final = b"\x78\xda"  # how zlib begins at its highest level, and no text does


class Settings(msgspec.Struct, frozen=True):
    """The shared options of one run."""

    output: str = "yaml"
    kubernetes: str | None = None
    crd: tuple[str, ...] = ()
    openapi: tuple[str, ...] = ()
    unknown_fields: UnknownFields = "error"
    profile: str = "kep1027"
    show_secrets: bool = False
    color: str = "auto"


class Schemas:
    """The schemas of the objects of one run; CustomResourceDefinitions among the inputs
    serve their own kinds.
    """

    def __init__(self, settings: Settings, inputs: Inputs) -> None:
        self._inputs = inputs
        described = [_from_openapi(inputs, path) for path in settings.openapi]
        described += map(_from_crd, inputs.documents(settings.crd))
        self.catalog = reduce(
            Catalog.merged, described, kubernetes(settings.kubernetes)
        )

    def of(self, each: Object) -> Schema:
        """Return the schema of an object. Raises UnknownKindError, and ObjectError for
        half a kind.
        """
        try:
            return self.catalog.schema_of(each.value)
        except UnknownKindError:
            if not self._inputs.definitions:
                raise
        return self._with_definitions.schema_of(each.value)

    @cached_property
    def _with_definitions(self) -> Catalog:
        # What the command line names counts more than what happens to lie among the
        # inputs.
        return reduce(
            Catalog.merged, [*map(_from_crd, self._inputs.definitions), self.catalog]
        )


def _from_openapi(inputs: Inputs, path: str) -> Catalog:
    data = inputs.data(path)
    document = Document(None, path, 1)
    with concerning(document):
        compiled = data.startswith(_COMPILED)
        described = (
            read_compiled(data)
            if compiled
            else Catalog.from_openapi([each.value for each in read(data, source=path)])
        )
        # A server publishes the same gaps and errors in its unions as the bundled
        # versions do.
        return described.with_overlay(bundled_overlay())


def _from_crd(document: Document) -> Catalog:
    with concerning(document):
        return Catalog.from_crd(document.value)


def _complete_version(
    _ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[str]:
    return [version for version in versions() if version.startswith(incomplete)]


_SCHEMA: Final[tuple[Decorator, ...]] = (
    click.option(
        "--kubernetes",
        metavar="VERSION",
        shell_complete=_complete_version,
        help="Bundled Kubernetes types. [default: the newest]",
    ),
    click.option(
        "--crd",
        type=FILE,
        multiple=True,
        help="File with CustomResourceDefinitions. Repeatable.",
    ),
    click.option(
        "--openapi",
        type=FILE,
        multiple=True,
        help="OpenAPI v2 or v3 document, or what `smp schema compile` wrote. Repeatable.",
    ),
)
_MERGE: Final[tuple[Decorator, ...]] = (
    *_SCHEMA,
    click.option(
        "--unknown-fields",
        type=click.Choice(["error", "merge"]),
        default="error",
        show_default=True,
        help="Below a field that the schema does not know: refuse, or merge by RFC 7396 and warn.",
    ),
    click.option(
        "--show-secrets", is_flag=True, help="Do not mask the values of Secrets."
    ),
    click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        show_default=True,
        help="Colours in reports; auto: on a terminal, unless NO_COLOR is set.",
    ),
)

profile_option: Final[Decorator] = click.option(
    "--profile",
    type=click.Choice(list(PROFILES)),
    default="kep1027",
    show_default=True,
    help="How mutually exclusive fields (unions) are cleared and checked; off: not at all.",
)


def schema_options(*outputs: str) -> Decorator:
    """Add the options of a command that looks at schemas; the first output is the
    default.
    """
    return partial(_adding, _SCHEMA, outputs)


def merge_options(*outputs: str) -> Decorator:
    """Add the options of a command that patches objects; the first output is the
    default.
    """
    return partial(_adding, _MERGE, outputs)


def _adding(
    options: tuple[Decorator, ...], outputs: tuple[str, ...], function: Handler
) -> Handler:
    """Wrap the function of a command so that it gets its shared options as one
    ``settings``.
    """
    names = frozenset(Settings.__struct_fields__)

    @wraps(function)
    def handler(**values: Any) -> None:
        shared = {name: values.pop(name) for name in names & values.keys()}
        function(**values, settings=Settings(**shared))

    output = click.option(
        "-o",
        "--output",
        type=click.Choice(outputs),
        default=outputs[0],
        show_default=True,
    )
    decorators: list[Decorator] = [output, *options]
    decorated: Handler = handler
    for decorate in reversed(decorators):
        decorated = decorate(decorated)
    return decorated
