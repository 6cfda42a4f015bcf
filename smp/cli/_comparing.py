"""How ``smp diff`` compares: what its options and the two sides say does not matter.

Two comparisons of an object are made. The first one finds what the patch leaves out:
what rules set aside, and, of a manifest beside a stored object, what a server makes of
the manifest. There the object after is taken to be as the object before, so that the
patch fits the object before as it is. The second one is the verdict. What normalizers
take for equal counts as no difference there, and stays in the patch.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from functools import partial

from smp._values.path_patterns import pattern_of
from smp._values.values import ABSENT, JSONObject
from smp.cli._errors import say
from smp.cli._inputs import Inputs, name_of
from smp.cli._options import CommandSettings
from smp.comparison import (
    Comparison,
    Rule,
    Rules,
    SetAside,
    compared,
    is_stored,
    read_rules,
)
from smp.errors import DocumentError
from smp.paths import value_at
from smp.schema.model import Schema


class Comparing:
    """The comparisons of one run."""

    def __init__(self, rules: Iterable[Rule], settings: CommandSettings) -> None:
        self._all_fields = settings.all_fields
        self._normalizes_all = bool(settings.rules)
        self._compare = partial(
            compared,
            rules=Rules(tuple(rules)),
            profile=settings.profile,
            leaves_out_server_fields=False,
            reads=False,
            normalizes=False,
        )

    @classmethod
    def of(cls, settings: CommandSettings, inputs: Inputs) -> Comparing:
        """Read the rules of the options. Raises DocumentError."""
        found = read_rule_files(settings, inputs)
        today = date.today()  # noqa: DTZ011  # that of the reader
        for rule in found.expired(today):
            say(f"warning: {rule.label}: the rule expired after {rule.expires}")
        rules = [*found.at(today).all, *settings.ignore]
        for file in settings.ignore_file:
            rules += _rules_in(file, inputs)
        return cls(rules, settings)

    def of_states(
        self, before: JSONObject, after: JSONObject, schema: Schema
    ) -> Comparison:
        """Compare two states of an object, for the patch between them."""
        is_dump = not self._all_fields and is_stored(before) != is_stored(after)
        return self._compare(
            after, before, schema, leaves_out_server_fields=is_dump, reads=is_dump
        )

    def of_configuration(
        self,
        live: JSONObject,
        configuration: JSONObject,
        schema: Schema,
        last_applied: JSONObject | None = None,
    ) -> Comparison:
        """Compare a configuration with the live object, for a three-way patch.

        A configuration does not ask for the fields that it does not have, so these are
        not set aside, unless the last one had them and the patch would prune them.
        """
        found = self._compare(configuration, live, schema)
        asked: list[SetAside] = []
        for entry in found.set_aside:
            is_pruned = value_at(last_applied, entry.path) is not ABSENT
            if entry.desired is not ABSENT or is_pruned:
                asked.append(entry)
        return Comparison(found.differences, tuple(asked), found.aligned)

    def verdict(
        self, before: JSONObject, after: JSONObject, schema: Schema, *, has_live: bool
    ) -> Comparison:
        """Compare two objects of which it is known what the rules set aside.

        ``has_live`` tells that one of them is a live object, and the other one is not.
        """
        normalizes = (has_live and not self._all_fields) or self._normalizes_all
        return self._compare(
            after, before, schema, reads=normalizes, normalizes=normalizes
        )


def read_ignored(path: str) -> Rule:
    """Read the path of --ignore as a rule. Raises ValueError."""
    return Rule(paths=(pattern_of(path),), source=f"--ignore {path}")


def read_rule_files(settings: CommandSettings, inputs: Inputs) -> Rules:
    """Read the files of --rules. Raises DocumentError."""
    rules = Rules()
    for file in settings.rules:
        found = read_rules(inputs.data(file), source=name_of(file))
        rules = Rules((*rules.all, *found.all), (*rules.owners, *found.owners))
    return rules


def _rules_in(file: str, inputs: Inputs) -> list[Rule]:
    """Read a file with a path on each line; ``#`` begins a comment."""
    rules: list[Rule] = []
    source = name_of(file)
    lines = inputs.data(file).decode(errors="replace").splitlines()
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        try:
            pattern = pattern_of(text)
        except ValueError as error:
            raise DocumentError(
                str(error), code="invalid-path", source=source, line=number
            ) from None
        rules.append(Rule(paths=(pattern,), source=source, line=number))
    return rules
