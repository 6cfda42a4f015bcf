"""The version-skew matrix of KEP-1027, acted out by clients and servers.

The cases in spec_cases/unions/*/skew.yaml state what a server receives and what it
stores. The scenarios in tests/support/skew.py state what a client of some version does.
Neither is derived from the other, so their agreement shows that the cases describe what
clients really do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from smp import UnionError
from smp._values.values import JSONObject, same
from smp.cases import Failure, SpecCase, expectations, parse, schema_of
from tests.support.paths import SPEC_CASES
from tests.support.skew import (
    LOOSE,
    NEW,
    OLD,
    SCENARIOS,
    Client,
    Scenario,
    Server,
    SkewOutcome,
    outcome,
)

PROFILES = ("kep2019", "kep1027-draft", "kep1027", "smd", "validate-only")
BY_ROW = {scenario.row: scenario for scenario in SCENARIOS}
ROWS = 41
# The case numbers that KEP-1027 cites from the matrix, and the rows with these cases.
CITED = {
    "#12": "U2",
    "#16": "D2",
    "#22": "U8",
    "#23": "U9",
    "#27": "D8",
    "#28": "D9",
    "#34": "U15",
    "#39": "D18",
}


class Run(NamedTuple):
    """One row under one profile, by one client, with an update or with a patch."""

    case: SpecCase
    scenario: Scenario
    client: Client
    patching: bool

    @property
    def server(self) -> Server:
        (name,) = self.case.object("new")
        old = self.case.document["old"]
        stored = old if isinstance(old, dict) else None
        ratchet = self.case.object("options").get("ratchet") is True
        return Server(
            schema_of(self.case),
            str(self.case.document["profile"]),
            name,
            stored,
            ratchet,
        )


def rows_of(case: SpecCase) -> list[str]:
    return re.findall(r"(?:^|; )([UD]\d+b?), ", case.description)


def cases_of(profile: str) -> list[SpecCase]:
    path = SPEC_CASES / "unions" / profile / "skew.yaml"
    return parse(path.read_text(encoding="utf-8"), source=str(path))


def runs_of(profile: str) -> Iterator[Run]:
    for case in cases_of(profile):
        for row in rows_of(case):
            scenario = BY_ROW[row]
            for client in scenario.clients:
                yield Run(case, scenario, client, patching=False)
                if client.sends_patches and not scenario.creates:
                    yield Run(case, scenario, client, patching=True)


def expected(case: SpecCase) -> SkewOutcome:
    wanted = expectations(case)
    normalized, violations = wanted["normalized"], wanted.get("violations", [])
    if isinstance(normalized, Failure):
        return SkewOutcome(case.object("new"), None, (), normalized.code)
    assert isinstance(normalized, dict)
    assert isinstance(violations, list)
    expected_violations = tuple(
        (str(violation["path"]), str(violation["code"]))
        for violation in violations
        if isinstance(violation, dict)
    )
    return SkewOutcome(case.object("new"), normalized, expected_violations)


@pytest.mark.parametrize("profile", PROFILES)
def test_each_row_has_the_outcome_that_its_case_states(profile: str) -> None:
    for run in runs_of(profile):
        actual = outcome(run.scenario, run.client, run.server, patching=run.patching)
        wanted = expected(run.case)
        assert (run, actual) == (run, wanted)
        assert same(actual.candidate, wanted.candidate)


@pytest.mark.parametrize("profile", PROFILES)
def test_every_row_is_acted_out(profile: str) -> None:
    covered = [run.scenario.row for run in runs_of(profile)]
    assert len(SCENARIOS) == ROWS
    assert [row for row in BY_ROW if row not in covered] == []


@pytest.mark.parametrize("profile", PROFILES)
def test_each_case_that_the_kep_cites_has_a_spec_case(profile: str) -> None:
    text = " ".join(case.description for case in cases_of(profile))
    assert [
        number for number, row in CITED.items() if f"{row}, case {number}:" not in text
    ] == []


@pytest.mark.parametrize("profile", PROFILES)
def test_a_server_stores_nothing_when_it_refuses(profile: str) -> None:
    refused = 0
    for run in runs_of(profile):
        server = run.server
        before = server.stored
        answer = outcome(run.scenario, run.client, server, patching=run.patching)
        if answer.refused or answer.violations:
            refused += 1
            assert server.stored is before
        else:
            assert server.stored == answer.normalized
    assert refused > 0


# The rows in which a patch sets what its own discriminator excludes. A server that is
# given the patch refuses them.
CONFLICTS = {
    "kep2019": {"D16", "D17b"},
    "kep1027-draft": {"D10", "D11", "D16", "D17b", "D23"},
    "kep1027": {"D16", "D17b"},
    "smd": set(),
    "validate-only": set(),
}


def conflicts(run: Run) -> bool:
    server = run.server
    server.reads_patches = True
    try:
        run.scenario.run(run.client, server, patching=True)
    except UnionError as error:
        return error.code == "union-conflict"
    return False


@pytest.mark.parametrize("profile", PROFILES)
def test_a_server_that_reads_the_patch_refuses_one_that_contradicts_itself(
    profile: str,
) -> None:
    assert {
        run.scenario.row for run in runs_of(profile) if run.patching and conflicts(run)
    } == CONFLICTS[profile]


def server_of(profile: str, row: str) -> Server:
    for run in runs_of(profile):
        if run.scenario.row == row:
            return run.server
    raise LookupError(row)


def test_a_server_that_reads_the_patch_does_not_restore_what_it_removed() -> None:
    scenario, server = BY_ROW["D13"], server_of("kep1027-draft", "D13")
    restored: JSONObject = {server.name: {"d": "A", "a": "1"}}
    removed: JSONObject = {server.name: {"d": "A"}}
    assert outcome(scenario, LOOSE, server, patching=True).normalized == restored
    server.reads_patches = True
    assert outcome(scenario, LOOSE, server, patching=True).normalized == removed


def test_a_structured_client_drops_unknown_fields_and_empty_strings() -> None:
    held = OLD.decode({"d": "N", "n": "1", "a": "1"})
    assert held == {"d": "N", "a": "1"}
    assert OLD.encode({**held, "d": ""}) == {"a": "1"}
    assert NEW.decode({"d": "N", "n": "1"}) == {"d": "N", "n": "1"}


def test_an_unstructured_client_keeps_everything() -> None:
    stored: JSONObject = {"d": "N", "n": "1", "other": [1]}
    held = LOOSE.decode(stored)
    assert held == stored
    assert held is not stored
    assert LOOSE.encode({"d": ""}) == {"d": ""}


def test_a_server_prunes_unknown_fields_before_it_normalizes() -> None:
    server = server_of("kep1027", "D18")
    server.put({"d": "N", "n": "1"})
    assert server.candidate == {server.name: {"d": "N"}}
