"""Rules: which differences a comparison sets aside, and what they say about a place."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date
from fnmatch import fnmatchcase
from typing import Any, Final, TypeAlias

import msgspec

from smp._values.label_selectors import LabelSelector
from smp._values.path_patterns import Pattern, PatternStep, pattern_of
from smp._values.values import JSON, as_object, as_text
from smp.comparison._normalizers import ON


class Rule(msgspec.Struct, frozen=True):
    """One rule: about which objects, which of their fields, and what happens there.

    ``kinds`` are patterns such as ``Deployment``, ``Deployment.apps`` and
    ``*.example.com``; ``namespaces`` and ``names`` are patterns as well, and empty ones
    match everything, as does ``labels``. Without ``managers`` and ``normalizers`` the
    differences at the ``paths``, and below them, are set aside; with ``managers`` those
    where such a manager owns the field. ``normalizers`` are switched on or off there.
    Without ``paths`` that is in the whole object. ``line`` is that of a file of rules.
    A rule that ``expires`` counts until the end of that day; ``owner`` and ``ticket``
    say who has to do something about it.
    """

    reason: str = ""
    kinds: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    labels: LabelSelector = LabelSelector()
    paths: tuple[Pattern, ...] = ()
    managers: tuple[str, ...] = ()
    normalizers: dict[str, bool] = {}
    source: str = ""
    line: int = 0
    owner: str = ""
    ticket: str = ""
    expires: date | None = None

    @property
    def label(self) -> str:
        """The reason, or where the rule is."""
        if self.reason:
            return self.reason
        return f"{self.source}:{self.line}" if self.line else self.source or "a rule"

    def concerns(self, obj: dict[str, Any]) -> bool:
        """Tell whether the rule is about an object."""
        metadata = as_object(obj.get("metadata"))
        group = as_text(obj.get("apiVersion")).rpartition("/")[0]
        kind = as_text(obj.get("kind"))
        # Each condition that a rule states has to hold.
        if self.kinds and not any(_is_kind(kind, group, p) for p in self.kinds):
            return False
        name, namespace = metadata.get("name"), metadata.get("namespace")
        if self.names and not _matches(as_text(name), self.names):
            return False
        if self.namespaces and not _matches(as_text(namespace), self.namespaces):
            return False
        return self.labels.matches(obj)

    def trusts(self, manager: str) -> bool:
        """Tell whether the rule sets aside what a field manager owns."""
        return _matches(manager, self.managers)


class Ownership(msgspec.Struct, frozen=True):
    """Who owns the objects that a rule chooses: a name, or the value of a label."""

    rule: Rule
    owner: str = ""
    label: str = ""

    def owner_of(self, obj: dict[str, Any]) -> str:
        """Return the owner of an object; "" where this does not say it."""
        if not self.rule.concerns(obj):
            return ""
        metadata = as_object(obj.get("metadata"))
        return self.owner or as_text(as_object(metadata.get("labels")).get(self.label))


class Rules(msgspec.Struct, frozen=True):
    """The rules of a comparison, and who owns what.

    A later one wins over those before it.
    """

    all: tuple[Rule, ...] = ()
    owners: tuple[Ownership, ...] = ()

    def owner_of(self, obj: dict[str, Any]) -> str:
        """Return the owner of an object; "" where there is none."""
        found = [ownership.owner_of(obj) for ownership in self.owners]
        return next((owner for owner in reversed(found) if owner), "")

    def at(self, today: date) -> Rules:
        """Return those that have not expired."""
        expired = self.expired(today)
        kept = tuple(rule for rule in self.all if rule not in expired)
        return Rules(kept, self.owners)

    def expired(self, today: date) -> tuple[Rule, ...]:
        """Return those that have expired."""
        return tuple(
            rule
            for rule in self.all
            if rule.expires is not None and rule.expires < today
        )

    @classmethod
    def ignoring(cls, *paths: str, reason: str = "") -> Rules:
        """Make rules that set aside differences at paths of all objects.

        Raises ValueError for what is not a path.
        """
        patterns = tuple(pattern_of(path) for path in paths)
        return cls((Rule(reason, paths=patterns),) if patterns else ())

    def concerning(self, objects: Iterable[dict[str, Any]]) -> tuple[Rule, ...]:
        """Return the rules that are about one of some versions of an object."""
        versions = [*objects]
        return tuple(
            rule for rule in self.all if any(rule.concerns(obj) for obj in versions)
        )


def _is_kind(kind: str, group: str, pattern: str) -> bool:
    """Tell whether a pattern is that of a kind; without a dot, in any group.

    ``Event.`` is the one of the core group, as ``kubectl get events.`` has it.
    """
    of_kind, dot, of_group = pattern.partition(".")
    # Kinds and groups are told apart by case, as a server does.
    if not fnmatchcase(kind, of_kind):
        return False
    return not dot or fnmatchcase(group, of_group)


def _matches(text: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(text, pattern) for pattern in patterns)


# A rule, and what is left of one of its patterns at the place.
_Rest: TypeAlias = tuple[Rule, Pattern]


class Reach(msgspec.Struct, frozen=True):
    """The rules that reach a place, and those that may reach what is below it.

    ``ignoring`` is the rule that sets aside all differences there, ``trusting`` are
    those that set aside what managers own, ``switches`` the normalizers that rules have
    switched on or off.
    """

    ignoring: Rule | None = None
    trusting: tuple[Rule, ...] = ()
    switches: dict[str, bool] = {}
    rests: tuple[_Rest, ...] = ()

    def member(self, name: str) -> Reach:
        """Return what the rules say about a member of an object."""
        # Most places are reached by no pattern, and what holds above holds here.
        if not self.rests:
            return self
        return self._narrow(lambda step: step.names(name))

    def element(self, index: int, element: JSON) -> Reach:
        """Return what the rules say about an element of a list."""
        if not self.rests:
            return self
        return self._narrow(lambda step: step.selects(index, element))

    @property
    def whole_list(self) -> Rule | None:
        """The rule that sets aside each element of a list, and so the list."""
        for rule, pattern in self.rests:
            is_last = len(pattern) == 1 and pattern[0].selects_each
            if is_last and not rule.managers and not rule.normalizers:
                return rule
        return None

    def has(self, normalizer: str) -> bool:
        """Tell whether a normalizer is on."""
        return self.switches.get(normalizer, normalizer in ON)

    def _narrow(self, selects: Callable[[PatternStep], bool]) -> Reach:
        reach = self
        rests: list[_Rest] = []
        for rule, pattern in self.rests:
            # A pattern that goes another way cannot reach anything below.
            if not selects(pattern[0]):
                continue
            if len(pattern) > 1:
                rests.append((rule, pattern[1:]))
            else:
                reach = reach.with_rule(rule)
        return msgspec.structs.replace(reach, rests=tuple(rests))

    def with_rule(self, rule: Rule) -> Reach:
        """Return what is said where a rule reaches the place."""
        # A rule with switches ignores nothing: it says how to compare.
        if rule.normalizers:
            switches = {**self.switches, **rule.normalizers}
            return msgspec.structs.replace(self, switches=switches)
        if rule.managers:
            return msgspec.structs.replace(self, trusting=(*self.trusting, rule))
        return msgspec.structs.replace(self, ignoring=rule)


NOWHERE: Final = Reach()


def reach_of(rules: Iterable[Rule]) -> Reach:
    """Return what rules say about a whole object."""
    reach = NOWHERE
    rests: list[_Rest] = []
    for rule in rules:
        rests += [(rule, pattern) for pattern in rule.paths]
        if not rule.paths:
            reach = reach.with_rule(rule)
    return msgspec.structs.replace(reach, rests=tuple(rests))
