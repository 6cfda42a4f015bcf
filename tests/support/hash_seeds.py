"""Operations whose answers once depended on the seed of Python's hashes."""

from __future__ import annotations

from typing import Any

import smp


def conflicting() -> list[str]:
    """Return conflicts of patches that name one element several times."""
    catalog = smp.kubernetes()
    service = catalog.schema("v1", "Service")
    retained = ["port", "name", "protocol", "targetPort"]
    conflicts = smp.find_conflicts(
        {"spec": {"ports": [{"port": 53, "$patch": "delete"}]}},
        {
            "spec": {
                "ports": [
                    {"port": 53, "name": "dns"},
                    {"port": 53, "name": "tcp", "$retainKeys": retained},
                ]
            }
        },
        service,
    )
    pod = catalog.schema("v1", "Pod")
    applied = _pod("/", "/")
    try:
        smp.three_way_patch(applied, applied, _pod("/x"), pod, overwrite=False)
    except smp.ConflictError as error:
        conflicts += error.conflicts
    return [str(conflict) for conflict in conflicts]


def _pod(*paths: str) -> dict[str, Any]:
    volumes = [{"name": "h", "hostPath": {"path": path}} for path in paths]
    return {"spec": {"volumes": volumes}}
