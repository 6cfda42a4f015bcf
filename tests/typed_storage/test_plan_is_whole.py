"""A plan that was interrupted while it was worked out is not kept in part."""

from __future__ import annotations

import pytest

import smp
from smp._storage.typed_storage import stored
from smp._values.values import JSONObject
from smp.schema.model import ObjectType

POD: JSONObject = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a"},
    "spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": "1000m"}}}]},
}


@pytest.mark.parametrize("after", range(1, 11))
def test_an_interrupted_plan_is_worked_out_again(
    after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = smp.kubernetes("1.30").schema("v1", "Pod")
    monkeypatch.setattr(schema.types, "plans", {})
    expected = stored(POD, schema)
    schema.types.plans.clear()
    calls = 0
    declares = ObjectType.declares

    def interrupted(self: ObjectType, name: str) -> bool:
        nonlocal calls
        calls += 1
        if calls == after:
            raise SystemExit
        return declares(self, name)

    monkeypatch.setattr(ObjectType, "declares", interrupted)
    with pytest.raises(SystemExit):
        stored(POD, schema)
    assert stored(POD, schema) == expected
