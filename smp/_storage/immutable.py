"""Immutable fields of built-in kinds: what an update may not change.

The rules are data, see smp._storage.immutable_table. Objects are compared as they are
stored, with their defaults; an empty list or map equals an absent one, an empty struct
does not, and quantities are equal by their amount (Go: apiequality.Semantic.DeepEqual).

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Iterator
from typing import Final

from smp._storage.defaults import with_defaults
from smp._storage.immutable_table import allow, rules_by_kind
from smp._storage.semantic_equality import decode, is_changed, is_empty, is_nil, read_at
from smp._storage.typed_storage import stored
from smp._storage.update_rules import UPDATE_RULES
from smp._values.values import (
    ABSENT,
    JSON,
    Absent,
    JSONObject,
    as_list,
    as_object,
    as_text,
    same,
)
from smp.schema.model import Schema
from smp.violations import Violation

# Kinds of which a default depends on what may change: completions on parallelism.
_DEPENDING_DEFAULTS: Final = frozenset({("batch", "Job")})


def find_changed_immutable_fields(
    old: JSONObject, new: JSONObject, schema: Schema, *, is_stored: bool = False
) -> tuple[Violation, ...]:
    """Return a violation for each immutable field that an update changes.

    What the new object shares with the old one is not looked at. With ``is_stored`` it
    is as a server stores it, with its defaults. A kind that is not in the table has no
    immutable fields. Raises RecursionError.
    """
    kind = (schema.api_version.rpartition("/")[0], schema.kind)
    if kind == ("", "Secret") and "stringData" in new:
        # A server moves stringData into data first (Go: core/v1 conversion).
        data = {**as_object(read_at(new, ("data",)))}
        for name, text in as_object(read_at(new, ("stringData",))).items():
            # Half of a surrogate pair, which no request can have, changes data as well.
            encoded = as_text(text).encode(errors="surrogatepass")
            data[name] = b2a_base64(encoded, newline=False).decode()
        new = {**new, "data": data}
    if kind not in rules_by_kind() and kind not in UPDATE_RULES:
        return ()
    filled = new
    if kind in _DEPENDING_DEFAULTS and not is_stored:
        filled = with_defaults(stored(new, schema, old), schema, old=old)
    found = [*find_immutable_changes(kind, old, filled)]
    # What both have and differs in any spelling is among what differs at all.
    if not found:
        return ()
    if len([*find_immutable_changes(kind, old, filled, of_both=True)]) == len(found):
        return tuple(found)
    # What is written otherwise, or left out, may be the same as it is stored.
    before = with_defaults(stored(old, schema), schema)
    after = with_defaults(stored(new, schema), schema, old=before)
    # Values are shown as they were written.
    written = {each.path: each for each in find_immutable_changes(kind, old, new)}
    as_filled = find_immutable_changes(kind, before, after)
    return tuple(written.get(each.path, each) for each in as_filled)


def find_immutable_changes(
    kind: tuple[str, str], old: JSONObject, new: JSONObject, *, of_both: bool = False
) -> Iterator[Violation]:
    """Yield a violation for each immutable field that differs between two objects.

    They are compared as they are, without defaults. With ``of_both`` it is asked by
    table, and only in what both have.
    """
    for each in rules_by_kind().get(kind, ()):
        above, last = each.steps[:-1], each.steps[-1]
        before = as_object(read_at(old, above)).get(last, ABSENT)
        after = as_object(read_at(new, above)).get(last, ABSENT)
        if before is after or not each.holds(old, new):
            continue
        only = each.rule.only
        if only == "decrease" and not _is_less(after, before):
            continue
        if only in ("removal", "change") and is_empty(after) != (only == "removal"):
            continue
        if each.rule.length:
            lists = as_list(decode(before)), as_list(decode(after))
            if len(lists[0]) != len(lists[1]):
                if not of_both:
                    yield each.violation(after)
                return
            continue
        value = after
        if each.rule.opaque:
            # Raw JSON, in which null and empty are values (Go: runtime.RawExtension).
            if not same(decode(before), decode(after)):
                yield each.violation(value)
            continue
        if each.rule.unordered:
            before, after = _set_of(before), _set_of(after)
        allowed = each.allowed
        for side, paths in ((before, each.once), (after, each.kept)):
            for steps in paths:
                if is_nil(read_at(decode(side), steps)):
                    allowed = allow(allowed, steps)
        if allowed is not None and is_changed(before, after, allowed, of_both=of_both):
            yield each.violation(value)
    if kind in UPDATE_RULES and not of_both:
        yield from UPDATE_RULES[kind](old, new)


def _is_less(after: JSON | Absent, before: JSON | Absent) -> bool:
    """Tell whether a number became less; one that is left out is zero."""
    count = after if isinstance(after, int) else 0
    return isinstance(before, int) and count < before


def _set_of(value: JSON | Absent) -> JSON:
    """Return the texts of a list in order, each once."""
    return [*sorted({as_text(element) for element in as_list(decode(value))})]
