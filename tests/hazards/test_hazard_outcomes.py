"""The hazards of situations, beside what a real server stored after kubectl apply.

The situations are spec cases, each with the outcome of a kube-apiserver.
"""

from __future__ import annotations

from functools import cache

from smp import merge_patch
from smp._values.values import JSON, JSONObject, as_list, as_object, printed, same
from smp.cases import SpecCase, parse
from smp.paths import Element, Path, value_at
from smp.schema.model import Schema
from smp.three_way import find_hazards
from tests.support.leaves import (
    indices,
    keys_of_path,
    leaves_of_object,
    lost_leaves,
    under,
)
from tests.support.makers.triples import CATALOG
from tests.support.paths import SPEC_CASES


class Outcome:
    """A situation, and what the server stored; None where it refused the patch."""

    def __init__(self, case: SpecCase) -> None:
        api_version, _, kind = str(case.document["kind"]).partition(" ")
        self.schema: Schema = CATALOG.schema(api_version, kind)
        last_applied = case.document.get("last_applied")
        self.last_applied = last_applied if isinstance(last_applied, dict) else None
        self.modified = case.object("modified")
        self.live = case.object("live")
        self.stored: JSONObject | None = None
        answer = case.object("client_side")
        if "changed" in answer:
            changed = as_object(answer["changed"])
            self.stored = as_object(merge_patch.apply(self.live, changed))
        self.hazards = find_hazards(
            self.last_applied, self.modified, self.live, self.schema
        )

    def paths(self, prefix: str) -> list[Path]:
        """Return the paths of the hazards whose codes begin so.

        Servers clear no member of a union, but refuse some unions.
        """
        return [
            each.path
            for each in self.hazards
            if each.code.startswith(prefix) and each.code != "lost-by-union"
        ]


@cache
def outcomes() -> list[tuple[str, Outcome, JSONObject]]:
    """Return the situations in which the server took the patch, with what it stored."""
    found: list[tuple[str, Outcome, JSONObject]] = []
    for file in sorted((SPEC_CASES / "causes").glob("*.yaml")):
        for case in parse(file.read_text(encoding="utf-8"), source=file.name):
            outcome = Outcome(case)
            if outcome.stored is not None:
                found.append((case.description, outcome, outcome.stored))
    assert len(found) > 60
    return found


def test_what_the_server_lost_is_in_a_hazard() -> None:
    count = 0
    for name, outcome, stored in outcomes():
        configurations = (outcome.last_applied, outcome.modified)
        reported = {indices(path) for path in outcome.paths("lost-")}
        type_ = outcome.schema.type
        for place in lost_leaves(configurations, outcome.live, stored, type_):
            assert under(place, reported), (name, place)
            count += 1
    assert count >= 17


def test_what_a_hazard_calls_lost_is_not_stored() -> None:
    count = 0
    for name, outcome, stored in outcomes():
        type_ = outcome.schema.type
        kept = {place.identity for place in leaves_of_object(stored, type_)}
        for path in outcome.paths("lost-"):
            count += 1
            value = value_at(outcome.live, path)
            if isinstance(value, dict | list):
                within = {indices(path)}
                places = leaves_of_object(outcome.live, type_)
                below = {each.identity for each in places if under(each, within)}
                assert below - kept, (name, path)
            else:
                assert not same(value_at(stored, path), value), (name, path)
    assert count >= 15


def test_an_element_that_is_deleted_with_another_one_is_not_stored() -> None:
    count = 0
    for name, outcome, stored in outcomes():
        for path in outcome.paths("deleted-with-duplicate"):
            count += 1
            # Of the elements of this key, the server has fewer than the manifest.
            elements = [
                [
                    each
                    for each in as_list(value_at(obj, Path(path.steps[:-1])))
                    if keys_of_path(path)[-1] == _key(each, path)
                ]
                for obj in (stored, outcome.modified)
            ]
            assert len(elements[0]) < len(elements[1]), (name, path)
    assert count > 5


def _key(element: JSON, path: Path) -> str:
    step = path.steps[-1]
    assert isinstance(step, Element)
    return f"[{printed(as_object(element).get(step.merge_key))}]"


def test_what_a_hazard_says_stays_is_stored() -> None:
    count = 0
    for name, outcome, stored in outcomes():
        places = leaves_of_object(stored, outcome.schema.type)
        keys = [place.keys for place in places]
        for path in (*outcome.paths("pair-restored"), *outcome.paths("key-changed")):
            count += 1
            steps = keys_of_path(path)
            assert any(each[: len(steps)] == steps for each in keys), (name, path)
        for path in outcome.paths("write-only"):
            count += 1
            assert ("data", str(path.steps[-1])) in keys, (name, path)
    assert count >= 3
