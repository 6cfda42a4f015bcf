"""``smp explain``: how the fields of a kind are patched."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
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

_COLUMNS: Final = ("field", "type", "strategy", "merge_key", "list_type", "map_keys")
_INDEX: Final = re.compile(r"\[[^\]]*\]")


def _complete_api_version(
    ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem[str]]:
    return _items({api_version for api_version, _ in _bundled_kinds(ctx)}, incomplete)


def _complete_kind(
    ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem[str]]:
    wanted = ctx.params.get("api_version")
    return _items(
        {kind for api_version, kind in _bundled_kinds(ctx) if api_version == wanted},
        incomplete,
    )


def _complete_path(
    ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem[str]]:
    parent = incomplete.rpartition(".")[0]
    try:
        schema = kubernetes(ctx.params.get("kubernetes")).schema(
            ctx.params["api_version"], ctx.params["kind"]
        )
        fields = _fields(
            schema.descend(*_steps(parent)).type if parent else schema.type
        )
    except SmpError:
        return []
    return _items(
        {f"{parent}.{field.name}".lstrip(".") for field in fields}, incomplete
    )


def _bundled_kinds(ctx: click.Context) -> tuple[tuple[str, str], ...]:
    try:
        return kubernetes(ctx.params.get("kubernetes")).kinds()
    except SmpError:
        return ()


def _items(words: set[str], incomplete: str) -> list[CompletionItem[str]]:
    return [
        CompletionItem(word) for word in sorted(words) if word.startswith(incomplete)
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
    field = _at(schema, path) if path else None
    facts: JSONObject = {
        "api_version": api_version,
        "kind": kind,
        "source": schema.source,
    }
    facts |= {**_facts(field), "field": path} if field else {}
    known = field.type if field else schema.type
    rows = [_facts(each) for each in _fields(known)]
    _WRITERS[settings.output]({**facts, "unions": [*map(_union, _unions(known))]}, rows)


def _unions(known: Type) -> tuple[UnionGroup, ...]:
    if isinstance(known, ListType):
        return _unions(known.items)
    return known.unions if isinstance(known, ObjectType) else ()


def _union(union: UnionGroup) -> JSON:
    """Tell of one union what a user has to know, and where it comes from."""
    return {
        "discriminator": union.discriminator,
        "members": {member.name: member.value for member in union.members},
        "optional": [member.name for member in union.members if member.optional],
        "no_member": [*sorted(union.empty | union.none)],
        "how_many": "exactly one" if union.required else "at most one",
        "profile": union.profile,
        "source": union.source,
    }


def _steps(path: str) -> list[str]:
    return [step for step in _INDEX.sub("", path).split(".") if step]


def _at(schema: Schema, path: str) -> Field:
    steps = _steps(path)
    try:
        return schema.descend(*steps)
    except UnknownFieldError as error:
        depth = len(error.path.steps)
        siblings = [
            each.name
            for each in _fields(
                schema.descend(*steps[: depth - 1]).type if depth > 1 else schema.type
            )
        ]
        close = get_close_matches(steps[depth - 1], siblings) if steps else []
        hint = f"did you mean {' or '.join(close)}?" if close else ""
        raise UnknownFieldError(
            "the schema does not know this field", path=error.path, hint=hint
        ) from None


def _fields(known: Type) -> Iterator[Field]:
    """Yield the fields of an object or of a list's elements; ``*`` stands for the keys
    of a map.
    """
    if isinstance(known, ListType):
        yield from _fields(known.items)
    elif isinstance(known, ObjectType):
        yield from known
        if known.others is not None:
            yield known.others


def _facts(field: Field) -> JSONObject:
    known = field.type
    lists = known if isinstance(known, ListType) else None
    return {
        "field": field.name,
        "type": _described(known),
        "strategy": str(field.strategy),
        "merge_key": field.merge_key,
        "list_type": lists.list_type if lists else "",
        "map_keys": [*lists.map_keys] if lists else [],
        "enum": [*known.enum] if isinstance(known, ScalarType) else [],
    }


def _described(known: Type) -> str:
    if isinstance(known, ListType):
        return f"list of {_described(known.items)}"
    if isinstance(known, ScalarType):
        return known.name
    if isinstance(known, ObjectType):
        is_map = known.others is not None and not any(
            True for each in known if each.name != "*"
        )
        return (
            f"map of {_described(known.others.type)}"
            if is_map and known.others
            else _short(known)
        )
    return "any"


def _short(known: ObjectType) -> str:
    return known.name.rpartition(".")[2] or "object"


def _write_table(facts: JSONObject, rows: list[JSONObject]) -> None:
    stated = {
        name: value for name, value in facts.items() if value and name != "unions"
    }
    about = "".join(
        f"{name.replace('_', ' ') + ':':<13} {_text(value)}\n"
        for name, value in stated.items()
    )
    about += "".join(
        f"{'union:':<13} {_sentence(union)}\n" for union in _dicts(facts["unions"])
    )
    if not rows:
        write(about)
        return
    cells = [
        [name.replace("_", " ").upper() for name in _COLUMNS],
        *([_text(row[name]) for name in _COLUMNS] for row in rows),
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = (
        "  ".join(
            text.ljust(width) for text, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in cells
    )
    write(about + "\n" + "\n".join(lines) + "\n")


def _dicts(value: JSON) -> list[JSONObject]:
    return (
        [each for each in value if isinstance(each, dict)]
        if isinstance(value, list)
        else []
    )


def _sentence(union: JSONObject) -> str:
    """Say a union in one line: ``type: RollingUpdate -> rollingUpdate (optional),
    Recreate; at most one [source]``.
    """
    members, optional, none = union["members"], union["optional"], union["no_member"]
    if not (
        isinstance(members, dict)
        and isinstance(optional, list)
        and isinstance(none, list)
    ):
        return ""
    choices = [
        _choice(name, value, union["discriminator"], optional)
        for name, value in members.items()
    ]
    choices += [str(value) or '""' for value in none]
    prefix = f"{union['discriminator']}: " if union["discriminator"] else ""
    count = "" if union["discriminator"] else f"; {union['how_many']}"
    return f"{prefix}{', '.join(choices)}{count} [{union['source']}]"


def _choice(name: str, value: JSON, discriminator: JSON, optional: list[JSON]) -> str:
    mark = " (optional)" if name in optional else ""
    return (f"{value} -> {name}" if discriminator else name) + mark


def _text(value: JSON) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


_WRITERS: Final[dict[str, Callable[[JSONObject, list[JSONObject]], None]]] = {
    "report": _write_table,
    "yaml": lambda facts, rows: write_yaml([("", {**facts, "fields": [*rows]})]),
    "json": lambda facts, rows: write_json([{**facts, "fields": [*rows]}]),
}
