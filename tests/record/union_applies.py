"""Record what structured-merge-diff v4.3.0 does with unions under server-side apply.

It is run by hand, from the root of the repository; it needs Go:

    python -m tests.record.union_applies spec_cases/server_side_apply/unions/smd.yaml

The program in tests/unions/oracle runs the steps of each case. Their results are
written into the file: the object and its owners, the conflicts, or that there is an
error. Of the objects it sees ``spec`` alone.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from smp._values.codec import decode_object
from smp._values.values import JSON, JSONArray, JSONObject, as_list, as_object, as_text
from smp.cases import SpecCase, in_order, parse, updated_text, with_results
from tests.support.paths import ROOT
from tests.support.reference import Reference

GO_MODULE: Final = ROOT / "tests" / "unions" / "oracle"
# The code of a configuration that the program refuses to normalize.
_REFUSED: Final = "union-contradiction"


def steps(case: SpecCase) -> list[JSONObject]:
    """Return the steps of a case."""
    return [as_object(step) for step in as_list(case.document.get("steps"))]


def request(case: SpecCase) -> JSONObject:
    """Return what the program is asked about a case."""
    (version,) = as_list(as_object(case.object("crd")["spec"])["versions"])
    schema = as_object(as_object(version)["schema"])["openAPIV3Schema"]
    properties = as_object(as_object(schema)["properties"])
    asked: JSONArray = []
    for step in steps(case):
        (write,) = {"apply", "update"} & step.keys()
        spec = as_object(step[write]).get("spec", {})
        asked.append(
            {
                write: {"spec": spec},
                "manager": step["manager"],
                "force": step.get("force", False),
            }
        )
    return {
        "types": [
            {"name": "spec", "map": _map(as_object(properties["spec"]))},
            {
                "name": "root",
                "map": {"fields": [{"name": "spec", "type": {"namedType": "spec"}}]},
            },
        ],
        "type": "root",
        "steps": asked,
    }


def _map(schema: JSONObject) -> JSONObject:
    """Return a struct of scalars as structured-merge-diff describes it."""
    fields: JSONArray = []
    for name, property_ in as_object(schema["properties"]).items():
        type_ = as_object(property_)["type"]
        scalar = "numeric" if type_ in ("integer", "number") else type_
        fields.append({"name": name, "type": {"scalar": scalar}})
    return {"fields": fields, "unions": schema["x-kubernetes-unions"]}


def results(case: SpecCase, answers: JSONArray) -> JSONArray:
    """Return the results of the steps of a case, as the program answered."""
    found: JSONArray = []
    # The last operation of each manager, which a conflict names.
    words: dict[str, str] = {}
    for step, member in zip(steps(case), answers, strict=True):
        answer = as_object(member)
        sent = as_object(step.get("apply", step.get("update")))
        manager = as_text(step["manager"])
        if "error" in answer:
            found.append({"error": _REFUSED})
            continue
        if "conflicts" in answer:
            conflicts: JSONArray = []
            for each in as_list(answer["conflicts"]):
                conflict = as_object(each)
                other = words[as_text(conflict["manager"])]
                conflicts.append(
                    {"field": conflict["field"], "message": f"conflict with {other}"}
                )
            found.append({"conflicts": in_order(conflicts)})
            continue
        words[manager] = f'"{manager}"'
        if "update" in step:
            words[manager] += f" using {sent['apiVersion']}"
        owners: JSONObject = {
            name: decode_object(as_text(fields))
            for name, fields in sorted(as_object(answer["owners"]).items())
        }
        names = {name: sent[name] for name in ("apiVersion", "kind", "metadata")}
        found.append(
            {"object": {**names, **as_object(answer["object"])}, "owners": owners}
        )
    return found


def recorded(go: Reference, text: str, source: str) -> str:
    """Return the text of a file with what the program does."""
    changes: dict[int, JSONObject] = {}
    for case in parse(text, source=source):
        (answer,) = go.run([request(case)])
        made = results(case, as_list(answer["results"]))
        changes[case.index] = {"steps": with_results(list[JSON](steps(case)), made)}
    return updated_text(text, changes, source=source)


def main(paths: list[str]) -> None:
    """Record the files."""
    with Reference(GO_MODULE) as go:
        for path in map(Path, paths):
            text = path.read_text(encoding="utf-8")
            path.write_text(recorded(go, text, str(path)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
