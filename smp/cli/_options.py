"""The options that commands share, and the schemas that they select."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import msgspec

from smp import custom_resources
from smp._values.times import parse_duration
from smp._values.values import JSON, JSONObject, as_object, as_text
from smp.cli._commands import (
    Argument,
    CommandOption,
    path_options,
    repeatable,
    switch,
    text_option,
)
from smp.cli._definitions import Definitions, is_definition
from smp.cli._errors import concerning, say
from smp.cli._inputs import COMPILED, Inputs
from smp.cli._secrets import Masks
from smp.documents import MAX_BYTES, Document, read
from smp.errors import UnknownKindError
from smp.schema.catalog import (
    Catalog,
    bundled_overlay,
    kubernetes,
    read_compiled,
    read_compiled_definitions,
    versions,
)
from smp.schema.model import Schema, UnknownFields
from smp.schema.resource_names import guess, names_of_definitions
from smp.schema.resources import ResourceName, read_published_resources

if TYPE_CHECKING:
    from smp.comparison import Rule

Validation: TypeAlias = Literal["strict", "warn", "ignore", "keep"]
# Those of smp.hazards, which most commands do not load.
Policy: TypeAlias = Literal["warn", "error", "repair"]

_SECOND: Final = 1_000_000_000  # nanoseconds

# So many definitions are better compiled once than read by each command.
_MANY_DEFINITIONS: Final = 50


# The schema of an object whose kind is not known: a JSON merge patch needs none.
WITHOUT_SCHEMA: Final = Schema.inline("any")


READER_OUTPUTS: Final = ("report", "unified")
# The formats of a report with causes and hazards that other programs read.
REPORT_FORMATS: Final = ("json", "sarif", "junit", "gitlab", "markdown", "html")


def read_duration(value: str) -> float:
    """Read a duration in the form of Go: ``30s``, ``1m30s``; a number is seconds.

    Raises ValueError.
    """
    # time.ParseDuration refuses a number alone; here it is not mistaken.
    text = f"{value}s" if value.isdecimal() else value
    nanoseconds = parse_duration(text)
    if nanoseconds is None or nanoseconds < 0:
        raise ValueError(f"{value!r} is not a duration such as 30s or 5m")
    return nanoseconds / _SECOND


class CommandSettings(msgspec.Struct, frozen=True):
    """The options of one run that commands share; each has a subclass with its own."""

    paths: tuple[str, ...] = ()
    kustomizations: tuple[str, ...] = ()
    output: str = "report"
    # A format of smp.reports, in place of the output.
    report_format: str | None = None
    kubernetes: str | None = None
    crd: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()
    openapi: tuple[str, ...] = ()
    profile: str = "kep1027"
    show_secrets: bool = False
    mask_env: bool = False
    color: str = "auto"
    strict: bool = False
    validate: Validation = "warn"
    max_bytes: int = MAX_BYTES
    exclude: tuple[str, ...] = ()
    jobs: int = 0
    stat: bool = False
    quiet: bool = False
    namespace: str = ""
    selector: str = ""
    include_kind: tuple[str, ...] = ()
    ignore: tuple[Rule, ...] = ()
    ignore_file: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    all_fields: bool = False
    defaults: bool = False
    server_side: bool = False
    field_manager: str = ""
    force_conflicts: bool = False
    hazards: Policy = "warn"
    context: str = ""
    kubeconfig: str = ""
    server: str = ""
    token: str = ""
    as_user: str = ""
    as_group: tuple[str, ...] = ()
    insecure: bool = False
    request_timeout: float = 0

    @property
    def unknown_fields(self) -> UnknownFields:
        """What an operation does below a field that the schema does not know."""
        return "merge" if self.keeps_unknown else "error"

    @property
    def keeps_unknown(self) -> bool:
        """Whether fields stay that the schema does not know."""
        return self.validate == "keep"

    @property
    def is_for_a_reader(self) -> bool:
        """Whether the output is for a reader, who must not see secrets."""
        if self.stat or self.quiet or self.explains:
            return True
        return self.output in READER_OUTPUTS

    @property
    def explains(self) -> bool:
        """Whether the output has the causes of what happens to each object."""
        is_report = self.report_format is not None
        return is_report and not self.stat and not self.quiet

    @property
    def selects_by_name(self) -> bool:
        """Whether the names of all objects decide which of them take part."""
        return bool(self.namespace or self.include_kind)

    def open_inputs(self) -> Inputs:
        """Return what reads the inputs of the run."""
        return Inputs(self.max_bytes, self.exclude)

    def masks(self, versions: Mapping[str, JSONObject | None]) -> Masks:
        """Return the masks of one object, made of its versions by role."""
        return Masks(versions, show_secrets=self.show_secrets, mask_env=self.mask_env)


class ApplySettings(CommandSettings, frozen=True):
    """The options of an apply without a cluster."""

    live_paths: tuple[str, ...] = ()
    last_paths: tuple[str, ...] = ()
    overwrite: bool = True


class DriftSettings(CommandSettings, frozen=True):
    """The options of ``smp drift``."""

    live: tuple[str, ...] = ()
    contexts: tuple[str, ...] = ()
    cluster: str = ""
    by_folder: bool = False
    extra: bool = False
    additions: bool = False
    state: str | None = None
    git: str | None = None
    metrics: str | None = None
    all_rows: bool = False
    all_namespaces: bool = False


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

    with_defaults: Callable[[JSONObject], JSONObject]

    def __init__(
        self, settings: CommandSettings, inputs: Inputs, sources: Sources | None = None
    ) -> None:
        self._inputs = inputs
        self._is_strict = settings.strict
        # Each catalog wins over those before it.
        catalog = kubernetes(settings.kubernetes)
        self._builtin = frozenset(catalog.kinds())
        for path in settings.openapi:
            catalog = catalog.merged(_from_openapi(inputs, path, sources))
        self._definitions = Definitions()
        self.with_defaults = self._definitions.with_defaults
        documents: list[Document] = []
        for path in settings.crd:
            data = inputs.compiled(path)
            if data is None:
                found = inputs.documents(path)
                # Manifests have other objects as well. Where there is no definition,
                # reading what there is reports that.
                documents += [d for d in found if is_definition(d.value)] or found
                continue
            with concerning(Document(None, path, 1)):
                compiled, definitions = read_compiled_definitions(data)
            catalog = catalog.merged(compiled)
            self._definitions.add_compiled(definitions)
            if sources is not None:
                sources.definitions += [part.value() for part in definitions]
        if documents:
            catalog = catalog.merged(
                self._definitions.catalog_of(documents, inputs.problems)
            )
        if len(documents) >= _MANY_DEFINITIONS and not settings.quiet:
            say(
                f"note: {len(documents)} definitions take long to read; "
                "smp schema compile makes a file of them for --crd"
            )
        if sources is not None:
            sources.definitions += self._definitions.read
        self.catalog = catalog
        self._server_groups = {
            api_version.rpartition("/")[0] for api_version, _kind in catalog.kinds()
        }
        self._unchecked: dict[str, str] = {}

    def path_of(self, obj: JSONObject) -> str:
        """Return the path of an object on a server.

        The plural of a kind that nothing names is guessed.
        """
        metadata = as_object(obj.get("metadata"))
        namespace = as_text(metadata.get("namespace"))
        return self.resource_of(obj).path(namespace, as_text(metadata.get("name")))

    def resource_of(self, obj: JSONObject) -> ResourceName:
        """Return the resource of an object; one that nothing names is guessed."""
        api_version, kind = as_text(obj.get("apiVersion")), as_text(obj.get("kind"))
        custom = names_of_definitions(self._definitions.read)
        for resource in (*read_published_resources(), *custom):
            if (resource.api_version, resource.kind) == (api_version, kind):
                return resource
        return guess(api_version, kind)

    def is_custom(self, obj: JSONObject) -> bool:
        """Tell whether kubectl has no Go type of the kind of an object."""
        kind = as_text(obj.get("apiVersion")), as_text(obj.get("kind"))
        return kind not in self._builtin

    def of_any(
        self,
        obj: JSONObject,
        without: str = "patched as JSON (RFC 7396)",
        *,
        is_former: bool = False,
    ) -> tuple[Schema, str]:
        """Return the schema of an object, and a note where there is none.

        ``without`` is what happens to an object without a schema. ``is_former`` says
        that the object was there before, so that its kind was known to some server.
        Raises ObjectError where apiVersion or kind is missing, and UnknownKindError.
        """
        try:
            return self.of(obj), ""
        except UnknownKindError as error:
            group, _, _version = as_text(obj.get("apiVersion")).rpartition("/")
            # A server knows all kinds of its own groups: this is a misspelled kind, or
            # one of another version of Kubernetes.
            if self._is_strict or (group in self._server_groups and not is_former):
                raise
            # kubectl sends a JSON merge patch for a kind that it has no Go type of
            # (pkg/cmd/apply/patcher.go, buildMergePatch).
            return WITHOUT_SCHEMA, f"{error.problem}; {without}"

    def unchecked_of(self, schema: Schema) -> str:
        """Say what of the definition of a kind cannot be checked; empty: all can."""
        if schema.structural is None:
            return ""
        kind = f"{schema.api_version} {schema.kind}"
        if kind not in self._unchecked:
            missing = custom_resources.unchecked(schema.structural)
            self._unchecked[kind] = f"{kind}: {missing}" if missing else ""
        return self._unchecked[kind]

    def catalog_with(self, definitions: Iterable[JSONObject]) -> Catalog:
        """Return the catalog with definitions that are those of a cluster."""
        documents = [Document(each, "", 1) for each in definitions]
        described = Definitions().catalog_of(documents, [])
        # The last catalog wins: what an option describes keeps that description.
        return described.merged(self.catalog)

    def of(self, obj: JSONObject) -> Schema:
        """Return the schema of an object.

        Raises UnknownKindError, and ObjectError where apiVersion or kind is missing.
        """
        # The definitions among the inputs are read only for a kind that is missing, so
        # that an invalid one does not matter to the other objects.
        with suppress(UnknownKindError):
            return self._definitions.schema_of(self.catalog, obj)
        return self._definitions.schema_of(self.catalog_with_inputs, obj)

    @cached_property
    def catalog_with_inputs(self) -> Catalog:
        """The catalog with the definitions among the inputs; they are read once."""
        # One that cannot be read is reported as an object of the input.
        documents = self._inputs.loaded_definitions()
        described = self._definitions.catalog_of(documents, [])
        # The last catalog wins: what an option describes keeps that description.
        return described.merged(self.catalog)


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


def filename_option(help_: str) -> CommandOption:
    """Return the option that names manifests, as arguments do.

    Go: k8s.io/cli-runtime/pkg/genericclioptions, FileNameFlags.AddFlags.
    """
    return path_options(
        "-f, --filename",
        f"{help_}: a file, a directory, a URL, or - for standard input; several ones "
        "with commas between them. Repeatable.",
        parameter="filenames",
    )


KUSTOMIZE_OPTION: Final = repeatable(
    "-k, --kustomize",
    "Manifests: what kustomize, or kubectl, makes of a directory. Repeatable.",
    parameter="kustomizations",
    metavar="DIR",
)
FILENAME_OPTION: Final = filename_option("Manifests")
RECURSIVE_OPTION: Final = switch(
    "-R, --recursive", "Take the folders of a directory as well."
)
# Of a command that takes them in any case.
DEEP_OPTION: Final = msgspec.structs.replace(RECURSIVE_OPTION, has_effect=False)
# What -f names may be named without it, too.
PATHS: Final = Argument("paths", is_required=False, is_repeatable=True)

# Go: k8s.io/kubectl/pkg/cmd/apply, ApplyFlags.AddFlags.
OVERWRITE_OPTION: Final = switch(
    "--overwrite",
    "Whether the manifest wins over changes made to the live object, or they are an "
    "error.",
    opposite="--no-overwrite",
    default=True,
)

RULES_OPTION: Final = path_options(
    "--rules",
    "YAML file with rules: which differences do not count, of which kinds and "
    "managers, and why (smp schema rules). Repeatable.",
    variable="SMP_RULES",
)

KUBERNETES_OPTION: Final = CommandOption(
    "--kubernetes",
    "Bundled Kubernetes types. [default: the newest]",
    metavar="VERSION",
    complete=lambda _context, _parameter, incomplete: [
        version for version in versions() if version.startswith(incomplete)
    ],
)

SCHEMA_OPTIONS: Final = (
    KUBERNETES_OPTION,
    path_options(
        "--crd",
        "CustomResourceDefinitions: a file, a directory, or what `smp schema compile` "
        "wrote. Repeatable.",
    ),
    path_options(
        "--openapi",
        "OpenAPI v2 or v3 document, or what `smp schema compile` wrote. Repeatable.",
    ),
)

MASK_OPTIONS: Final = (
    switch("--show-secrets", "Do not mask the values of Secrets."),
    switch(
        "--mask-env", "Mask the values of environment variables of containers, too."
    ),
)
COLOR_OPTION: Final = CommandOption(
    "--color",
    "Colours in what is for a reader; auto: on a terminal, unless NO_COLOR is set.",
    choices=("auto", "always", "never"),
    default="auto",
)

EXCLUDE_OPTION: Final = repeatable(
    "--exclude",
    "Leave out of directories what matches a pattern, with all below it: old, "
    "'*.test.yaml', apps/old. Repeatable.",
    metavar="GLOB",
)

MERGE_OPTIONS: Final = (
    *SCHEMA_OPTIONS,
    EXCLUDE_OPTION,
    switch(
        "--stat",
        "Print a line for each object, and how many there are.",
        excludes=("output",),
    ),
    switch("-q, --quiet", "Print nothing but errors; the exit code is the result."),
    *MASK_OPTIONS,
    switch("--strict", "Take warnings and unknown kinds for failures."),
    CommandOption(
        "--max-bytes",
        "The largest file that is read, in bytes.",
        kind="integer",
        minimum=1,
        default=MAX_BYTES,
        shown_default="1 GiB",
    ),
    CommandOption(
        "--jobs",
        "The number of processes that large inputs are divided among.",
        kind="integer",
        minimum=0,
        default=0,
        shown_default="one for each core",
    ),
    COLOR_OPTION,
)

NAMESPACE_OPTION: Final = text_option(
    "-n, --namespace",
    "The namespace of objects that leave it out; others are an error, as in kubectl.",
    metavar="NAME",
)
# Go: k8s.io/kubectl/pkg/cmd/get, GetOptions.AllNamespaces.
ALL_NAMESPACES: Final = switch("-A, --all-namespaces", "The objects of all namespaces.")

# Go: k8s.io/cli-runtime/pkg/genericclioptions, ConfigFlags.AddFlags.
CONNECTION_OPTIONS: Final = (
    text_option(
        "--context",
        "Context of the configuration of kubectl. [default: the current one]",
        metavar="NAME",
    ),
    text_option(
        "--kubeconfig",
        "Configuration of kubectl. [default: the files of $KUBECONFIG]",
        metavar="FILE",
    ),
    text_option(
        "-s, --server",
        "Address of the API server. [default: that of the context]",
        metavar="URL",
    ),
    text_option("--token", "Bearer token of the requests."),
    text_option("--as", "User to impersonate.", parameter="as_user", metavar="NAME"),
    repeatable("--as-group", "Group to impersonate.", metavar="NAME"),
    switch(
        "--insecure-skip-tls-verify",
        "Do not verify the certificate of the server.",
        parameter="insecure",
    ),
    CommandOption(
        "--request-timeout",
        "The longest time to wait for an answer; 0 is for ever.",
        metavar="DURATION",
        convert=read_duration,
        default="0",
    ),
)

# The inputs of a three-way apply beside the manifest.
LIVE_OPTIONS: Final = (
    path_options(
        "--live",
        "Live objects: files, or cluster[:CONTEXT]. Repeatable.",
        parameter="live_paths",
    ),
    path_options(
        "--last-applied",
        "What was applied last. Repeatable. [default: the annotation of the live "
        "object]",
        parameter="last_paths",
    ),
    *CONNECTION_OPTIONS,
)
# Live objects where these are what a command is about.
LIVE_CLUSTER_OPTIONS: Final = (
    repeatable(
        "--live",
        "cluster[:CONTEXT]: the live objects of the manifests, in place of these.",
        metavar="CLUSTER",
    ),
    *CONNECTION_OPTIONS,
)

SELECTOR_OPTION: Final = text_option(
    "-l, --selector",
    "Take only objects with these labels: app=web,tier!=db,env in (a,b),!c.",
    metavar="LABELS",
)

SELECTION_OPTIONS: Final = (
    NAMESPACE_OPTION,
    SELECTOR_OPTION,
    repeatable(
        "--include-kind",
        "Take only objects of a kind: deploy, deployments, Deployment.apps. "
        "Repeatable.",
        metavar="KIND",
    ),
)

VALIDATE_OPTION: Final = CommandOption(
    "--validate",
    "Unknown fields, which a server drops, and values of a wrong type: an error, a "
    "warning, or nothing; keep: the fields stay, merged by RFC 7396, with a warning.",
    choices=("strict", "warn", "ignore", "keep"),
    # Go: k8s.io/kubectl, pkg/cmd/util, AddValidateFlags and GetValidationDirective.
    synonyms={"": "strict", "true": "strict", "false": "ignore"},
    default="warn",
)


POLICIES_OPTION: Final = path_options(
    "--policies",
    "ValidatingAdmissionPolicies and MutatingAdmissionPolicies with their bindings, "
    "parameters and namespaces: a file or a directory; cluster: those of the current "
    "context of kubectl. Repeatable.",
)


HAZARDS_OPTION: Final = CommandOption(
    "--hazards",
    "What may do harm beside what is asked for, such as elements with one merge key: "
    "warn, fail (error), or send a safe form where there is one (repair).",
    choices=("warn", "error", "repair"),
    default="warn",
)


def profile_option() -> CommandOption:
    """Return the option for the rules of unions, which loads them."""
    from smp.unions import PROFILES  # noqa: PLC0415  # 14 ms; smp patch has no unions

    return CommandOption(
        "--profile",
        "How mutually exclusive fields (unions) are cleared and checked; "
        "validate-only: as by API servers of today; off: not at all.",
        choices=tuple(PROFILES),
        default="kep1027",
    )


def share_options(*names: str) -> tuple[CommandOption, ...]:
    """Return some of the options for objects, by the names of their parameters."""
    options = (*SELECTION_OPTIONS, *MERGE_OPTIONS)
    return tuple(option for option in options if option.name in names)


SERVER_SIDE_OPTIONS: Final = (
    switch("--server-side", "Apply as `kubectl apply --server-side` does."),
    text_option(
        "--field-manager",
        "The manager of a server-side apply. [default: kubectl]",
        metavar="NAME",
    ),
    switch("--force-conflicts", "Take over the fields that other managers own."),
)


def output_option(*outputs: str, help: str = "") -> CommandOption:  # noqa: A002  # as its field
    """Return the option for the format of the output; the first one is the default."""
    return CommandOption("-o, --output", help, choices=outputs, default=outputs[0])


def format_option(*formats: str) -> CommandOption:
    """Return the option for a report that other programs read."""
    return CommandOption(
        "--format",
        "A report for other programs, with causes and hazards, in place of -o.",
        parameter="report_format",
        choices=formats,
        excludes=("output", "stat"),
    )


# Of the commands that go on with other objects where one fails.
OBJECT_EXIT_CODES: Final = (
    "0 done, 1 done with warnings and --strict, 2 an error,\n3 done in part"
)
