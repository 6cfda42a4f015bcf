"""Which combinations of union members an API server accepts, as it was recorded.

tests/record/unions.py recorded it, and tests/data/apiserver/fields.json describes it.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import pytest

import smp
from smp.enums import validate_enums
from smp.unions import validate_unions
from tests.record.applies import read
from tests.record.unions import FILE, object_with, rows

HEADING, LINES = read(FILE)
CATALOG: Final = smp.kubernetes(HEADING["kube-apiserver"])
ROWS: Final = {row["type"]: row for row in rows()}


def explanation(line: dict[str, Any]) -> str:
    """Return why the verdict on a combination is another than the server's."""
    type_name = line["type"].rpartition(".")[2]
    fields = line["fields"]
    texts = " ".join(c["message"] for c in line.get("refused", {}).get("causes", []))
    if type_name == "PersistentVolumeSpec" and "flexVolume" in fields:
        return "Go does not count flexVolume among the sources of a PersistentVolume"
    if type_name == "ResourceSliceSpec" and fields.get("allNodes") is False:
        return "allNodes: false counts as unset, and is refused for itself"
    if "if and only if `name` is 'exempt'" in texts:
        return "a rule about the name of the object"
    if type_name == "DaemonSetUpdateStrategy" and "Unsupported value" in texts:
        return "an enum, not a union: this one is not validated"
    return ""


@pytest.mark.parametrize("type_name", ROWS)
def test_a_combination_is_refused_as_by_the_server(type_name: str) -> None:
    row = ROWS[type_name]
    schema = CATALOG.schema(*row["kind"].split())
    verdicts: Counter[bool] = Counter()
    for line in LINES:
        if line["type"] != type_name:
            continue
        obj = object_with(row, line["fields"])
        found = (*validate_unions(None, obj, schema), *validate_enums(obj, schema))
        is_refused = "refused" in line
        verdicts[is_refused] += 1
        if bool(found) != is_refused:
            assert explanation(line), (line, found)
    # Each row has combinations of both verdicts.
    assert verdicts[True]
    assert verdicts[False]
