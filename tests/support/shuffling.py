"""Values with the keys of their objects in another order."""

from __future__ import annotations

import random

from smp._values.values import JSON


def shuffled(value: JSON, draw: random.Random) -> JSON:
    """Return the value with the keys of all objects in another order."""
    if isinstance(value, dict):
        names = [*value]
        draw.shuffle(names)
        return {name: shuffled(value[name], draw) for name in names}
    if isinstance(value, list):
        return [shuffled(element, draw) for element in value]
    return value
