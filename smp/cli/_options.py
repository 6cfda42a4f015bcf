"""The options that commands share, and the schemas that they select."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import Any, Final, Literal, TypeAlias

import click
import msgspec

from smp.cli._definitions import Definitions
from smp.cli._errors import Failure, concerning
from smp.cli._inputs import COMPILED, Inputs
from smp.cli._objects import Object
from smp.documents import MAX_BYTES, Document, read
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
from smp.values import JSON, JSONObject, as_text

Validation: TypeAlias = Literal["strict", "warn", "ignore"]
Handler: TypeAlias = Callable[..., None]
Decorator: TypeAlias = Callable[[Handler], Handler]

FILE: Final = click.Path(allow_dash=True)

# So many definitions are better compiled once than read by each command.
_MANY_DEFINITIONS: Final = 50


# The schema of an object whose kind is not known: a JSON merge patch needs none.
WITHOUT_SCHEMA: Final = Schema.inline("any")


READER_OUTPUTS: Final = ("report", "unified", "side-by-side")


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
    strict: bool = False
    validate: Validation = "warn"
    max_bytes: int = MAX_BYTES
    jobs: int = 0
    summary: bool = False
    quiet: bool = False
    namespace: str = ""
    selector: str = ""
    include_kind: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    ignore_file: tuple[str, ...] = ()
    all_fields: bool = False

    @property
    def is_for_a_reader(self) -> bool:
        """Whether the output is for a reader, who must not see secrets."""
        return self.summary or self.quiet or self.output in READER_OUTPUTS


class Sources(msgspec.Struct):
    """The OpenAPI documents and CustomResourceDefinitions that options name."""

    openapi: list[JSON] = []
    definitions: list[JSON] = []


class Schemas:
    """The schemas of the objects of one run.

    CustomResourceDefinitions among the inputs describe their kinds as well. The
    documents that the options name are added to ``sources``, for a command that shows
    more of them than what an engine needs.
    """

    def __init__(
        self,
        settings: Settings,
        inputs: Inputs,
        sources: Sources | None = None,
    ) -> None:
        self._inputs = inputs
        self._is_strict = settings.strict
        # Each catalog wins over those before it.
        catalog = kubernetes(settings.kubernetes)
        self._builtin = frozenset(catalog.kinds())
        for path in settings.openapi:
            catalog = catalog.merged(_from_openapi(inputs, path, sources))
        texts: list[str] = []
        for path in settings.crd:
            compiled = inputs.compiled(path)
            if compiled is None:
                texts.append(path)
            else:
                with concerning(Document(None, path, 1)):
                    catalog = catalog.merged(read_compiled(compiled))
        documents = inputs.documents(texts)
        self._definitions = Definitions()
        if documents:
            catalog = catalog.merged(self._definitions.catalog_of(documents))
        if len(documents) >= _MANY_DEFINITIONS and not settings.quiet:
            click.echo(
                f"smp: note: {len(documents)} definitions take long to read; "
                "smp schema compile makes a file of them for --crd",
                err=True,
            )
        if sources is not None:
            sources.definitions += [document.value for document in documents]
        self.catalog = catalog
        self._server_groups = {
            api_version.rpartition("/")[0] for api_version, _kind in catalog.kinds()
        }
        self._catalog_with_inputs: Catalog | None = None

    def with_defaults(self, obj: JSONObject) -> JSONObject:
        """Return an object with what a server fills in for a kind of a definition."""
        return self._definitions.with_defaults(obj)

    def is_custom(self, obj: Object) -> bool:
        """Tell whether kubectl has no Go type of the kind of an object."""
        identity = obj.identity
        return (identity.api_version, identity.kind) not in self._builtin

    def of_any(self, obj: Object) -> tuple[Schema, str]:
        """Return the schema of an object, and a note where there is none.

        Raises ObjectError where apiVersion or kind is missing.
        """
        try:
            return self.of(obj), ""
        except UnknownKindError as error:
            group, _, _version = as_text(obj.value.get("apiVersion")).rpartition("/")
            # A server knows all kinds of its own groups: this is a misspelled kind, or
            # one of another version of Kubernetes.
            if self._is_strict or group in self._server_groups:
                raise
            # kubectl sends a JSON merge patch for a kind that it has no Go type of
            # (pkg/cmd/apply/patcher.go, buildMergePatch).
            return WITHOUT_SCHEMA, f"{error.problem}; patched as JSON (RFC 7396)"

    def of(self, obj: Object) -> Schema:
        """Return the schema of an object.

        Raises UnknownKindError, and ObjectError where apiVersion or kind is missing.
        """
        # The definitions among the inputs are read only for a kind that is missing, so
        # that an invalid one does not matter to the other objects.
        try:
            return self._definitions.schema_of(self.catalog, obj.value)
        except UnknownKindError:
            if not self._inputs.definitions:
                raise
        if self._catalog_with_inputs is None:
            documents = []
            for entry in self._inputs.definitions:
                # One that cannot be parsed is reported as an object of the input.
                with suppress(Failure):
                    documents.append(self._inputs.load(entry).document)
            described = self._definitions.catalog_of(documents)
            # The last catalog wins: what an option describes keeps that description.
            self._catalog_with_inputs = described.merged(self.catalog)
        return self._definitions.schema_of(self._catalog_with_inputs, obj.value)


def _from_openapi(inputs: Inputs, path: str, sources: Sources | None) -> Catalog:
    data = inputs.data(path)
    with concerning(Document(None, path, 1)):
        if data.startswith(COMPILED):
            catalog = read_compiled(data)
        else:
            documents = [document.value for document in read(data, source=path)]
            catalog = Catalog.from_openapi(documents)
            if sources is not None:
                sources.openapi.extend(documents)
        # The unions that a server publishes have the same gaps and errors as those of
        # the bundled versions.
        return catalog.with_overlay(bundled_overlay())


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
        help="CustomResourceDefinitions: a file, a directory, or what `smp schema "
        "compile` wrote. Repeatable.",
    ),
    click.option(
        "--openapi",
        type=FILE,
        multiple=True,
        help="OpenAPI v2 or v3 document, or what `smp schema compile` wrote. "
        "Repeatable.",
    ),
)
_MERGE: Final[tuple[Decorator, ...]] = (
    *_SCHEMA,
    click.option(
        "--unknown-fields",
        type=click.Choice(["error", "merge"]),
        default="error",
        show_default=True,
        help="Below a field that the schema does not know: refuse, or merge by RFC "
        "7396 and warn.",
    ),
    click.option(
        "--summary",
        is_flag=True,
        help="Print a line for each object, and how many there are.",
    ),
    click.option(
        "-q",
        "--quiet",
        is_flag=True,
        help="Print nothing but errors; the exit code is the result.",
    ),
    click.option(
        "--show-secrets", is_flag=True, help="Do not mask the values of Secrets."
    ),
    click.option(
        "--strict",
        is_flag=True,
        help="Take warnings and unknown kinds for failures.",
    ),
    click.option(
        "--max-bytes",
        type=click.IntRange(min=1),
        default=MAX_BYTES,
        show_default="1 GiB",
        help="The largest file that is read, in bytes.",
    ),
    click.option(
        "--jobs",
        type=click.IntRange(min=0),
        default=0,
        show_default="one for each core",
        help="The number of processes that large inputs are divided among.",
    ),
    click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        show_default=True,
        help="Colours in what is for a reader; auto: on a terminal, unless NO_COLOR "
        "is set.",
    ),
)

_SELECTION: Final[tuple[Decorator, ...]] = (
    click.option(
        "-n",
        "--namespace",
        metavar="NAME",
        default="",
        help="The namespace of new objects that leave it out; others are an error, as "
        "in kubectl.",
    ),
    click.option(
        "-l",
        "--selector",
        metavar="LABELS",
        default="",
        help="Take only objects with these labels: app=web,tier!=db,env in (a,b),!c.",
    ),
    click.option(
        "--include-kind",
        metavar="KIND",
        multiple=True,
        help="Take only objects of a kind: deploy, deployments, Deployment.apps. "
        "Repeatable.",
    ),
)

profile_option: Final[Decorator] = click.option(
    "--profile",
    type=click.Choice(list(PROFILES)),
    default="kep1027",
    show_default=True,
    help="How mutually exclusive fields (unions) are cleared and checked; off: not at "
    "all.",
)


validate_option: Final[Decorator] = click.option(
    "--validate",
    type=click.Choice(["strict", "warn", "ignore"]),
    default="warn",
    show_default=True,
    help="Unknown fields and values of a wrong type: an error, a warning, or nothing. "
    "A server drops unknown fields in any case.",
)


def schema_options(*outputs: str) -> Decorator:
    """Add the options of a command that reads schemas.

    The first output is the default.
    """
    return _with_settings(_SCHEMA, outputs)


def merge_options(*outputs: str) -> Decorator:
    """Add the options of a command that patches objects.

    The first output is the default.
    """
    return _with_settings(_MERGE, outputs)


def selecting_options(*outputs: str) -> Decorator:
    """Add the options of a command that patches objects that are selected.

    The first output is the default.
    """
    return _with_settings((*_SELECTION, *_MERGE), outputs)


def _with_settings(
    options: tuple[Decorator, ...], outputs: tuple[str, ...]
) -> Decorator:
    """Make a decorator by which a command gets shared options as its ``settings``."""
    output = click.option(
        "-o",
        "--output",
        type=click.Choice(outputs),
        default=outputs[0],
        show_default=True,
    )

    def decorate(command: Handler) -> Handler:
        @wraps(command)
        def with_settings(**values: Any) -> None:
            shared = {
                name: values.pop(name)
                for name in Settings.__struct_fields__
                if name in values
            }
            command(**values, settings=Settings(**shared))

        # click shows the option that was added last first.
        decorators: list[Decorator] = [output, *options]
        decorated: Handler = with_settings
        for add_option in reversed(decorators):
            decorated = add_option(decorated)
        return decorated

    return decorate
