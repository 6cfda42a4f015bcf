"""The state of an object is what kstatus says of it."""

from __future__ import annotations

import json
import lzma
from collections import Counter
from typing import Any

from smp.cluster.plan.readiness import readiness
from tests.support.paths import DATA

# Until a Pod that cannot be scheduled has failed, kstatus looks at its age.
_IN_FUTURE = "2100-01-01T00:00:00Z"


def _recorded() -> list[dict[str, Any]]:
    data = lzma.decompress((DATA / "cluster" / "readiness.jsonl.xz").read_bytes())
    return [json.loads(line) for line in data.splitlines()]


def test_every_object_is_judged_as_kstatus_judges_it() -> None:
    states: Counter[str] = Counter()
    for row in _recorded():
        obj = row["object"]
        is_new = obj["metadata"].get("creationTimestamp") == _IN_FUTURE
        found = readiness(obj, waited=0 if is_new else 3600)
        state = "".join(word.capitalize() for word in found.state.split("-"))
        # kstatus has no state for a Pod in a phase that does not exist.
        if "error" in row:
            assert state == "InProgress"
            continue
        assert (state, found.message) == (row["status"], row["message"]), obj
        states[state] += 1
    # The recording has enough of each.
    assert min(states.values()) > 100
    assert states.keys() == {"Current", "InProgress", "Failed", "Terminating"}
