"""New objects of built-in kinds, beside what a kube-apiserver 1.36.3 said of them.

tests.record.dry_runs asked it. What is judged otherwise is listed with its reason.
"""

from __future__ import annotations

from typing import Any, Final

from smp.schema.catalog import kubernetes
from smp.server.settings import Settings
from tests.record.dry_runs import causes, dry_runs
from tests.support.server_app import serving

# By the name of the object.
KNOWN: Final = {
    "p101": "the ServiceAccount that a cluster adds is not missed here",
    "p183": "operators behind a feature gate",
    "p274": "the volume of a file with variables",
    "p307": "the form of the names of Windows users",
    "o359": "an empty list of policies is filled in first",
    "i421": "an annotation beside the field that replaces it",
    "o485": "a ratio beside the quotient of two quantities",
    "o694": "topologies with the same expressions",
    "n780": "an annotation that is JSON",
    "o886": "expressions of devices",
    "o887": "names in the constraints of devices",
}
# Refused here for what is wrong in the object, there for what is wrong around it.
OTHER_CODES: Final = {"p204", "p205"}


def test_new_objects_are_taken_or_refused_as_by_a_server() -> None:
    wrong: list[Any] = []
    known: set[str] = set()
    same = refused = 0
    with serving(settings=Settings(catalog=kubernetes("1.36"))) as server:
        for asked in dry_runs():
            name = asked["object"].get("metadata", {}).get("name", "")
            answer = server.call("POST", asked["path"], asked["object"])
            if answer.status_code == asked["code"]:
                if asked["causes"]:
                    refused += 1
                    same += causes(answer.json()) == asked["causes"]
            elif name in KNOWN:
                known.add(name)
            elif name not in OTHER_CODES:
                wrong.append((name, asked, answer.status_code, answer.text))
    assert not wrong
    assert known == set(KNOWN)
    assert same / refused > 0.8
