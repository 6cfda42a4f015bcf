"""What the rules say about the place where a comparison is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

import msgspec

from smp._values.path_patterns import Pattern, PatternStep
from smp._values.values import JSON
from smp.comparison._normalizers import ON
from smp.comparison._rules import Rule

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
