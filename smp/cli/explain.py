"""``smp explain``: what the fields of a kind are, and how they are patched."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from textwrap import wrap
from typing import Any, Final

import msgspec

from smp._values.values import ABSENT, JSON, JSONObject, as_text
from smp.cli._commands import DONE, PARTLY, Argument, Command
from smp.cli._errors import UsageError, inline, printable
from smp.cli._inputs import STDIN, is_on_web
from smp.cli._options import (
    KUSTOMIZE_OPTION,
    LIVE_OPTIONS,
    OBJECT_EXIT_CODES,
    REPORT_FORMATS,
    SCHEMA_OPTIONS,
    SELECTION_OPTIONS,
    SERVER_SIDE_OPTIONS,
    VALIDATE_OPTION,
    ApplySettings,
    Schemas,
    Sources,
    filename_option,
    format_option,
    output_option,
    share_options,
)
from smp.cli._outputs import in_columns, write, write_document
from smp.errors import SmpError, UnknownFieldError, did_you_mean, listing
from smp.schema.catalog import Catalog, kubernetes
from smp.schema.descriptions import Descriptions, TypeDescription
from smp.schema.model import Field, ListType, ObjectType, ScalarType, Schema, Type
from smp.schema.resource_names import Named, find_kind, names_of_definitions
from smp.schema.resources import ResourceName, read_published_resources
from smp.schema.sources import crd
from smp.schema.union_groups import UnionGroup

_COLUMNS: Final = (
    "field",
    "type",
    "required",
    "default",
    "strategy",
    "merge_key",
    "list_type",
    "map_keys",
    "enum",
)

# What a paragraph says of a field beside its type and description.
_DETAILS: Final = _COLUMNS[3:]

# The apiVersion of the core group.
_CORE_VERSION: Final = re.compile(r"v\d+((alpha|beta)\d+)?")

# The index or the key of an element, as error messages write it: containers[name=app].
_INDEX: Final = re.compile(r"\[[^\]]*\]")


def _complete(context: Any, _parameter: object, incomplete: str) -> list[str]:
    """Complete an apiVersion and a kind, or a resource type, and then a path."""
    words: tuple[str, ...] = context.params.get("words") or ()
    # A shell cannot show an error: an unknown name has no completions.
    try:
        catalog = kubernetes(context.params.get("kubernetes"))
        kinds = catalog.kinds()
        if not words:
            resources = [
                resource.plural
                for resource in read_published_resources()
                if (resource.api_version, resource.kind) in kinds
            ]
            api_versions = [api_version for api_version, _ in kinds]
            return _completions([*resources, *api_versions], incomplete)
        if len(words) == 1 and _is_api_version(words[0]):
            members = [kind for api_version, kind in kinds if api_version == words[0]]
            return _completions(members, incomplete)
        named = _named(words, catalog, [])
        parent = incomplete.rpartition(".")[0]
        type_ = _type_at(catalog.schema(named.api_version, named.kind), _names(parent))
    except (SmpError, UsageError):
        return []
    prefix = f"{parent}." if parent else ""
    return _completions(
        [f"{prefix}{field.name}" for field in _fields(type_)], incomplete
    )


def _completions(candidates: Iterable[str], incomplete: str) -> list[str]:
    return [
        candidate
        for candidate in sorted(set(candidates))
        if candidate.startswith(incomplete)
    ]


class ExplainSettings(ApplySettings, frozen=True):
    """The options of ``smp explain``."""

    words: tuple[str, ...] = ()


def run_explain(settings: ExplainSettings) -> int:
    """Show what the fields of a kind are, or why an apply does (not) change them.

    TYPE is a kind or a resource type as kubectl takes it: Deployment, deployments,
    deploy, deployments.apps. Without API_VERSION it is that of the preferred version.
    Shown are the fields of the whole object, or those below PATH.

    Type, patch strategy and merge key are what a strategic merge patch goes by; list
    type and map keys are what server-side apply goes by, and they are not always the
    same. A path is spec.containers.env; keys and indexes in brackets are ignored, so
    that a path from an error message will do. Descriptions of built-in kinds are those
    of the newest bundled version.

    With -f FILE it says of each field of the objects in it why `kubectl apply` changes
    it or does not, and what would change it: `smp explain -f FILE --live FILE [PATH]`.
    Without a PATH, fields that are as expected are left out. With --server-side it says
    of each conflict whose the field is, and what it leads to to give it up, to share
    it, and to take it.
    """
    # A file among the words is meant for -f: no name of a type is so.
    paths = (*settings.paths, *filter(_is_file, settings.words))
    words = tuple(word for word in settings.words if not _is_file(word))
    if settings.live_paths and words and not paths and not settings.kustomizations:
        # Of a type there is nothing live: it is a directory.
        paths, words = words[:1], words[1:]
    settings = msgspec.structs.replace(settings, paths=paths, words=words)
    if paths or settings.kustomizations or settings.live_paths or settings.last_paths:
        # 130 ms; fields need none.
        from smp.cli.apply import Explained, run_apply  # noqa: PLC0415

        return run_apply(
            _require_report(settings), Explained(words[0] if words else "")
        )
    if settings.server_side:
        raise UsageError("--server-side is for what -f FILE --live FILE says")
    if settings.report_format is not None:
        raise UsageError("--format is for what -f FILE --live FILE says")
    if not words:
        raise UsageError("give a type: smp explain deploy, or -f FILE --live FILE")
    sources = Sources()
    inputs = settings.open_inputs()
    catalog = Schemas(settings, inputs, sources).catalog
    for problem in inputs.problems:
        problem.show()
    code = PARTLY if inputs.problems else DONE
    definitions = crd.to_openapi(sources.definitions) if sources.definitions else {}
    descriptions = Descriptions([*sources.openapi, definitions])
    custom = names_of_definitions(sources.definitions)
    named = _named(words, catalog, custom)
    schema = catalog.schema(named.api_version, named.kind)
    facts, type_, rows = _describe_kind(named, schema, descriptions)
    unions = _unions(type_)
    if settings.output == "report":
        write(_heading(facts, unions) + _paragraphs(rows))
        return code
    if settings.output == "table":
        write(_heading({**facts, "description": ""}, unions) + _table(rows))
        return code
    document: JSONObject = {
        **facts,
        "unions": [_union_facts(union) for union in unions],
        "fields": [*rows],
    }
    write_document(document, settings.output)
    return code


def _describe_kind(
    named: Named, schema: Schema, descriptions: Descriptions
) -> tuple[JSONObject, Type, list[JSONObject]]:
    facts: JSONObject = {
        "api_version": named.api_version,
        "kind": named.kind,
        "source": schema.source,
    }
    type_ = schema.type
    description = TypeDescription()
    # A kind is an object, unless a document says less of it.
    if isinstance(type_, ObjectType):
        description = descriptions.of_type(type_.name)
    # The facts of a field are those of its own type and of the strategy by which its
    # parent merges it; the rows below are those of the fields of its type.
    if named.path:
        field = _field_at(schema, named.path)
        for name in _names(named.path):
            description = descriptions.of_field(description, name)
        facts |= {**_facts(field, description), "field": named.path}
        type_ = field.type
    texts = [description.text, description.type_text]
    facts["description"] = "\n\n".join(text for text in texts if text)
    rows = [
        _facts(field, descriptions.of_field(description, field.name))
        for field in _fields(type_)
    ]
    return facts, type_, rows


def _require_report(settings: ExplainSettings) -> ExplainSettings:
    if len(settings.words) > 1:
        raise UsageError(f"an argument too many: {settings.words[1]}")
    if settings.output != "report":
        hint = "; did you mean --format json?" if settings.output == "json" else ""
        raise UsageError(f"-o {settings.output} is for the fields of a kind{hint}")
    form = settings.report_format or "text"
    return msgspec.structs.replace(settings, report_format=form)


# How the names of files end, and no names of types.
_FILES: Final = (".yaml", ".yml", ".json")


def _is_file(word: str) -> bool:
    return word == STDIN or word.endswith(_FILES) or is_on_web(word)


COMMAND: Final = Command(
    run_explain,
    settings=ExplainSettings,
    options=(
        filename_option("Manifests, of which it says why an apply changes what"),
        KUSTOMIZE_OPTION,
        *LIVE_OPTIONS,
        *SERVER_SIDE_OPTIONS,
        *SELECTION_OPTIONS,
        VALIDATE_OPTION,
        *share_options("show_secrets", "mask_env", "strict"),
        *share_options("color", "exclude", "max_bytes"),
        output_option("report", "table", "yaml", "kyaml", "json"),
        format_option(*REPORT_FORMATS),
        *SCHEMA_OPTIONS,
    ),
    arguments=(
        Argument(
            "words",
            kind="text",
            metavar="[API_VERSION] TYPE [PATH]",
            is_required=False,
            is_repeatable=True,
            complete=_complete,
        ),
    ),
    example="explain deploy spec.template.spec.volumes",
    exit_codes=OBJECT_EXIT_CODES,
)


def _is_api_version(word: str) -> bool:
    # The core group has no name: its apiVersion is v1.
    return "/" in word or _CORE_VERSION.fullmatch(word) is not None


def _named(
    words: tuple[str, ...], catalog: Catalog, custom: Iterable[ResourceName]
) -> Named:
    """Return the kind and the path that the words name. Raises UnknownKindError."""
    api_version, rest = "", [*words]
    if _is_api_version(words[0]):
        api_version = rest.pop(0)
    if not rest:
        raise UsageError(f"a kind is missing: smp explain {api_version} KIND")
    type_, *paths = rest
    if len(paths) > 1:
        raise UsageError(f"an argument too many: {paths[1]}")

    # A path from an error message may have dots in its brackets.
    named = find_kind(_INDEX.sub("", type_), catalog, custom, api_version=api_version)
    path = ".".join(part for part in (named.path, *paths) if part)
    return Named(named.api_version, named.kind, path)


def _names(path: str) -> list[str]:
    return [name for name in _INDEX.sub("", path).split(".") if name]


def _type_at(schema: Schema, names: list[str]) -> Type:
    return schema.descend(*names).type if names else schema.type


def _field_at(schema: Schema, path: str) -> Field:
    names = _names(path)
    try:
        return schema.descend(*names)
    except UnknownFieldError as error:
        hint = ""
        # A path of brackets alone names no field.
        if names:
            *parents, unknown = names[: len(error.path.steps)]
            siblings = [field.name for field in _fields(_type_at(schema, parents))]
            hint = did_you_mean(unknown, siblings) or listing("fields", siblings)
        raise UnknownFieldError(
            "the schema does not know this field", path=error.path, hint=hint
        ) from None


def _fields(type_: Type) -> Iterator[Field]:
    """Yield the fields of an object or of elements; ``*`` is any key of a map."""
    if isinstance(type_, ListType):
        yield from _fields(type_.items)
    elif isinstance(type_, ObjectType):
        yield from type_
        if type_.others is not None:
            yield type_.others


def _unions(type_: Type) -> tuple[UnionGroup, ...]:
    if isinstance(type_, ListType):
        return _unions(type_.items)
    return type_.unions if isinstance(type_, ObjectType) else ()


def _facts(field: Field, description: TypeDescription) -> JSONObject:
    type_ = field.type
    facts: JSONObject = {
        "field": field.name,
        "type": _type_text(type_),
        "required": description.is_required,
        "default": None if description.default is ABSENT else description.default,
        "strategy": str(field.strategy),
        "merge_key": field.merge_key,
        "list_type": "",
        "map_keys": [],
        "enum": [],
        "description": description.text,
    }
    # Server-side apply goes by the list type and the map keys
    # (x-kubernetes-list-type, x-kubernetes-list-map-keys).
    if isinstance(type_, ListType):
        facts |= {"list_type": type_.list_type, "map_keys": [*type_.map_keys]}
    # The enum of a scalar, or of the elements of a list.
    while isinstance(type_, ListType):
        type_ = type_.items
    if isinstance(type_, ScalarType):
        facts["enum"] = [*type_.enum]
        if type_.or_any:
            facts["or_any"] = [*type_.or_any]
    return facts


def _type_text(type_: Type) -> str:
    if isinstance(type_, ListType):
        return f"list of {_type_text(type_.items)}"
    if isinstance(type_, ScalarType):
        return type_.name
    if isinstance(type_, ObjectType):
        # An object without declared fields is a map, such as the data of a ConfigMap.
        declares_fields = any(field.name != "*" for field in type_)
        if type_.others is not None and not declares_fields:
            return f"map of {_type_text(type_.others.type)}"
        # The last part of a name such as io.k8s.api.core.v1.Volume.
        return type_.name.rpartition(".")[2] or "object"
    return "any"


def _union_facts(union: UnionGroup) -> JSON:
    return {
        "discriminator": union.discriminator,
        "members": {member.name: member.value for member in union.members},
        "optional": [member.name for member in union.members if member.optional],
        "no_member": [*_values_without_member(union)],
        "how_many": _how_many(union),
        "profile": union.profile,
        "source": union.source,
    }


def _values_without_member(union: UnionGroup) -> list[str]:
    # For a reader it is the same whether a value selects no member or means that
    # nothing is chosen.
    return sorted(union.empty | union.none)


def _how_many(union: UnionGroup) -> str:
    if union.at_least_one:
        return "at least one"
    return "exactly one" if union.required else "at most one"


def _heading(facts: JSONObject, unions: Iterable[UnionGroup]) -> str:
    lines = [
        f"{name.replace('_', ' ') + ':':<13} {_text(value)}"
        for name, value in facts.items()
        if name != "description" and _text(value)
    ]
    lines += [f"{'union:':<13} {_sentence(union)}" for union in unions]
    if facts["description"]:
        lines += ["description:", *_wrap(facts["description"], indent=2)]
    return "".join(f"{line}\n" for line in lines)


def _paragraphs(rows: list[JSONObject]) -> str:
    lines: list[str] = []
    # A scalar has no fields.
    if rows:
        lines += ["", "fields:"]
    for row in rows:
        required = " -required-" if row["required"] else ""
        lines.append(f"  {row['field']} <{row['type']}>{required}")
        details = [
            f"{name.replace('_', ' ')}: {_text(row[name])}"
            for name in _DETAILS
            if _text(row[name])
        ]
        if details:
            lines += _wrap("; ".join(details), indent=4)
        lines += [*_wrap(row["description"], indent=4), ""]
    return "".join(f"{line}\n" for line in lines)


def _table(rows: list[JSONObject]) -> str:
    # A scalar has no fields, so no table.
    if not rows:
        return ""
    cells = [[name.replace("_", " ").upper() for name in _COLUMNS]]
    cells += [[_text(row[name]) for name in _COLUMNS] for row in rows]
    lines = [line.rstrip() for line in in_columns(cells)]
    return "".join(f"{line}\n" for line in ("", *lines))


def _wrap(text: JSON, *, indent: int) -> list[str]:
    """Return the lines of a text, as kubectl explain breaks them: at 80 columns."""
    # A list or an example in a description has lines of its own.
    lines: list[str] = []
    for line in as_text(text).splitlines():
        wrapped = wrap(
            printable(line),
            width=80 - indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        lines += wrapped or [""]
    while lines and not lines[-1]:
        lines.pop()
    return [f"{' ' * indent}{line}".rstrip() for line in lines]


def _sentence(union: UnionGroup) -> str:
    """Describe a union in one line.

    With a discriminator ``type: RollingUpdate -> rollingUpdate (optional), Recreate
    [source]``, without one ``emptyDir, hostPath; at most one [source]``.
    """
    choices = []
    for member in union.members:
        choice = member.name
        if union.discriminator:
            choice = f"{member.value} -> {member.name}"
        if member.optional:
            choice += " (optional)"
        choices.append(choice)
    choices += [value or '""' for value in _values_without_member(union)]
    listing = ", ".join(choices)
    # The value of a discriminator says which member may be set, so no number is shown.
    if union.discriminator:
        return f"{union.discriminator}: {listing} [{union.source}]"
    within = f" in {union.within}" if union.within else ""
    return f"{listing}; {_how_many(union)}{within} [{union.source}]"


def _text(value: JSON) -> str:
    """Write a fact; null and false are left out as the empty text."""
    if value is None or value is False:
        return ""
    if value is True:
        return "yes"
    if isinstance(value, list):
        return ", ".join(printable(str(element)) or '""' for element in value)
    return printable(value) if isinstance(value, str) else inline(value)
