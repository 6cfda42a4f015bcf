"""What a comparison finds: the differences that count, and those that do not."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import msgspec

from smp.paths import Path

# What sets a difference aside that no normalizer does.
RULE: Final = "rule"


class Difference(msgspec.Struct, frozen=True):
    """A path at which two objects differ; the side that lacks it is ``ABSENT``.

    With ``is_order`` the sides are the keys of a list, in the order of the elements.
    """

    path: Path
    desired: Any
    live: Any
    is_order: bool = False


class SetAside(msgspec.Struct, frozen=True):
    """A difference that does not count, and why.

    ``by`` is the name of a normalizer, or ``rule``. ``reason`` is the reason of the
    rule, or what the normalizer takes the two values for.
    """

    path: Path
    desired: Any
    live: Any
    by: str
    reason: str

    @property
    def label(self) -> str:
        """What it is counted as: the normalizer, or the reason of the rule."""
        return self.reason if self.by == RULE else self.by


class Comparison(msgspec.Struct, frozen=True):
    """The differences of two objects that count, and those that were set aside.

    ``aligned`` is the desired object, with the values of the live one wherever a
    difference was set aside. It is for judging, and not to be applied.
    """

    differences: tuple[Difference, ...]
    set_aside: tuple[SetAside, ...]
    aligned: dict[str, Any]

    @property
    def is_equal(self) -> bool:
        """Whether no difference counts."""
        return not self.differences

    @property
    def counts(self) -> dict[str, int]:
        """How many differences were set aside, by normalizer and reason of a rule."""
        return dict(Counter(entry.label for entry in self.set_aside))
