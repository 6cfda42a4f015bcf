"""``smp explain``: how the fields of a kind are patched."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Final

import click
from click.shell_completion import CompletionItem

from smp.cli._inputs import Inputs
from smp.cli._options import Schemas, Settings, schema_options
from smp.cli._outputs import write, write_json, write_yaml
from smp.errors import SmpError, UnknownFieldError
from smp.schema.catalog import kubernetes
from smp.schema.model import Field, ListType, ObjectType, ScalarType, Schema, Type
from smp.schema.union_groups import UnionGroup
from smp.values import JSON, JSONObject

_COLUMNS: Final = (
    "field",
    "type",
    "strategy",
    "merge_key",
    "list_type",
    "map_keys",
    "enum",
)

# The index or the key of an element, as error messages write it: containers[name=app].
_INDEX: Final = re.compile(r"\[[^\]]*\]")


def _complete_api_version(
    ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem[str]]:
    api_versions = {api_version for api_version, _ in _bundled_kinds(ctx)}
    return _completions(api_versions, incomplete)


def _complete_kind(
    ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem[str]]:
    selected = ctx.params.get("api_version")
    kinds = {
        kind for api_version, kind in _bundled_kinds(ctx) if api_version == selected
    }
    return _completions(kinds, incomplete)


def _complete_path(
    ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem[str]]:
    parent = incomplete.rpartition(".")[0]
    # A shell cannot show an error: an unknown name has no completions.
    try:
        catalog = kubernetes(ctx.params.get("kubernetes"))
        schema = catalog.schema(ctx.params["api_version"], ctx.params["kind"])
        type_ = _type_at(schema, _names(parent))
    except SmpError:
        return []
    prefix = f"{parent}." if parent else ""
    paths = {f"{prefix}{field.name}" for field in _fields(type_)}
    return _completions(paths, incomplete)


def _bundled_kinds(ctx: click.Context) -> tuple[tuple[str, str], ...]:
    try:
        return kubernetes(ctx.params.get("kubernetes")).kinds()
    except SmpError:
        return ()


def _completions(candidates: set[str], incomplete: str) -> list[CompletionItem[str]]:
    return [
        CompletionItem(candidate)
        for candidate in sorted(candidates)
        if candidate.startswith(incomplete)
    ]


@click.command(
    epilog="\b\nExample:\n  smp explain apps/v1 Deployment spec.template.spec.volumes"
)
@click.argument("api_version", shell_complete=_complete_api_version)
@click.argument("kind", shell_complete=_complete_kind)
@click.argument("path", default="", shell_complete=_complete_path)
@schema_options("report", "yaml", "json")
def command(api_version: str, kind: str, path: str, settings: Settings) -> None:
    """Show how the fields of a kind are patched.

    The fields of the whole object, or those below PATH. Type, patch strategy and merge
    key are what a strategic merge patch goes by; list type and map keys are what
    server-side apply goes by, and they are not always the same. A path is
    spec.containers.env; keys and indexes in brackets are ignored, so that a path from
    an error message will do.
    """
    schema = Schemas(settings, Inputs()).catalog.schema(api_version, kind)
    facts: JSONObject = {
        "api_version": api_version,
        "kind": kind,
        "source": schema.source,
    }
    type_ = schema.type
    # The facts of a field are those of its own type and of the strategy by which its
    # parent merges it; the rows below are those of the fields of its type.
    if path:
        field = _field_at(schema, path)
        facts |= {**_facts(field), "field": path}
        type_ = field.type
    unions = _unions(type_)
    rows = [_facts(field) for field in _fields(type_)]

    if settings.output == "report":
        write(_report(facts, unions, rows))
        return
    document: JSONObject = {
        **facts,
        "unions": [_union_facts(union) for union in unions],
        "fields": [*rows],
    }
    if settings.output == "yaml":
        write_yaml([("", document)])
    else:
        write_json([document])


def _names(path: str) -> list[str]:
    return [name for name in _INDEX.sub("", path).split(".") if name]


def _type_at(schema: Schema, names: list[str]) -> Type:
    return schema.descend(*names).type if names else schema.type


def _field_at(schema: Schema, path: str) -> Field:
    """Return the field at a path. Raises UnknownFieldError, with similar names."""
    names = _names(path)
    try:
        return schema.descend(*names)
    except UnknownFieldError as error:
        hint = ""
        # A path of brackets alone names no field.
        if names:
            *parents, unknown = names[: len(error.path.steps)]
            siblings = [field.name for field in _fields(_type_at(schema, parents))]
            similar = get_close_matches(unknown, siblings)
            if similar:
                hint = f"did you mean {' or '.join(similar)}?"
        raise UnknownFieldError(
            "the schema does not know this field", path=error.path, hint=hint
        ) from None


def _fields(type_: Type) -> Iterator[Field]:
    """Yield the fields of an object or of a list's elements.

    The field ``*`` stands for the keys of a map.
    """
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


def _facts(field: Field) -> JSONObject:
    type_ = field.type
    facts: JSONObject = {
        "field": field.name,
        "type": _description(type_),
        "strategy": str(field.strategy),
        "merge_key": field.merge_key,
        "list_type": "",
        "map_keys": [],
        "enum": [],
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
    return facts


def _description(type_: Type) -> str:
    if isinstance(type_, ListType):
        return f"list of {_description(type_.items)}"
    if isinstance(type_, ScalarType):
        return type_.name
    if isinstance(type_, ObjectType):
        # An object without declared fields is a map, such as the data of a ConfigMap.
        declares_fields = any(field.name != "*" for field in type_)
        if type_.others is not None and not declares_fields:
            return f"map of {_description(type_.others.type)}"
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


def _report(
    facts: JSONObject, unions: Iterable[UnionGroup], rows: list[JSONObject]
) -> str:
    """Return the facts one to a line, and the rows as a table."""
    lines = []
    for name, value in facts.items():
        text = _text(value)
        if text:
            lines.append(f"{name.replace('_', ' ') + ':':<13} {text}")
    lines += [f"{'union:':<13} {_sentence(union)}" for union in unions]

    # A scalar has no fields, so no table.
    if rows:
        cells = [[name.replace("_", " ").upper() for name in _COLUMNS]]
        cells += [[_text(row[name]) for name in _COLUMNS] for row in rows]
        columns = range(len(_COLUMNS))
        widths = [max(len(row[column]) for row in cells) for column in columns]
        lines.append("")
        for row in cells:
            padded = [row[column].ljust(widths[column]) for column in columns]
            lines.append("  ".join(padded).rstrip())
    return "".join(f"{line}\n" for line in lines)


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
    return f"{listing}; {_how_many(union)} [{union.source}]"


def _text(value: JSON) -> str:
    if isinstance(value, list):
        return ", ".join(str(element) or '""' for element in value)
    return str(value)
