"""The version-skew matrix, played by clients and servers, comes to what
spec_cases/unions/*/skew.yaml say.

The cases say what reaches the unions and what becomes of it; the scenarios say who did
what. Neither knows the other: that they meet shows that the rows are what happens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from smp import UnionError
from smp.cases import Failure, SpecCase, expectations, parse, schema_of
from smp.values import JSONObject, same
from tests.support.paths import SPEC_CASES
from tests.support.skew import (
    LOOSE,
    NEW,
    OLD,
    SCENARIOS,
    Client,
    Outcome,
    Scenario,
    Server,
    outcome,
)

PROFILES = ("kep2019", "kep1027-draft", "kep1027", "smd", "validate-only")
BY_ROW = {scenario.row: scenario for scenario in SCENARIOS}
ROWS = 41
# Case numbers of the matrix that KEP-1027 cites, and their rows.
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


class Play(NamedTuple):
    """One row under one profile, by one client, in one way."""

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


def plays(profile: str) -> Iterator[Play]:
    for case in cases_of(profile):
        for scenario in map(BY_ROW.__getitem__, rows_of(case)):
            for client in scenario.clients:
                yield Play(case, scenario, client, patching=False)
                if client.sends_patches and not scenario.creates:
                    yield Play(case, scenario, client, patching=True)


def expected(case: SpecCase) -> Outcome:
    wanted = expectations(case)
    normalized, violations = wanted["normalized"], wanted.get("violations", [])
    if isinstance(normalized, Failure):
        return Outcome(case.object("new"), None, (), normalized.code)
    assert isinstance(normalized, dict)
    assert isinstance(violations, list)
    found = (
        (str(each["path"]), str(each["code"]))
        for each in violations
        if isinstance(each, dict)
    )
    return Outcome(case.object("new"), normalized, tuple(found))


@pytest.mark.parametrize("profile", PROFILES)
def test_each_row_comes_to_what_the_profile_says(profile: str) -> None:
    for play in plays(profile):
        actual = outcome(
            play.scenario, play.client, play.server, patching=play.patching
        )
        wanted = expected(play.case)
        assert (play, actual) == (play, wanted)
        assert same(actual.candidate, wanted.candidate)


@pytest.mark.parametrize("profile", PROFILES)
def test_every_row_is_played(profile: str) -> None:
    played = [play.scenario.row for play in plays(profile)]
    assert len(SCENARIOS) == ROWS
    assert [row for row in BY_ROW if row not in played] == []


@pytest.mark.parametrize("profile", PROFILES)
def test_the_cases_that_the_document_cites_are_there(profile: str) -> None:
    text = " ".join(case.description for case in cases_of(profile))
    assert [
        number for number, row in CITED.items() if f"{row}, case {number}:" not in text
    ] == []


@pytest.mark.parametrize("profile", PROFILES)
def test_a_server_keeps_what_it_has_where_it_refuses(profile: str) -> None:
    refused = 0
    for play in plays(profile):
        server = play.server
        before = server.stored
        answer = outcome(play.scenario, play.client, server, patching=play.patching)
        if answer.refused or answer.violations:
            refused += 1
            assert server.stored is before
        else:
            assert server.stored == answer.normalized
    assert refused > 0


# Rows in which a patch sets what its own discriminator excludes; with the intent known
# they are refused.
CONFLICTS = {
    "kep2019": {"D16", "D17b"},
    "kep1027-draft": {"D10", "D11", "D16", "D17b", "D23"},
    "kep1027": {"D16", "D17b"},
    "smd": set(),
    "validate-only": set(),
}


def conflicts(play: Play) -> bool:
    server = play.server
    server.minds_intent = True
    try:
        play.scenario.run(play.client, server, patching=True)
    except UnionError as error:
        return error.code == "union-conflict"
    return False


@pytest.mark.parametrize("profile", PROFILES)
def test_a_patch_that_contradicts_itself_is_refused_where_its_intent_counts(
    profile: str,
) -> None:
    assert {
        play.scenario.row
        for play in plays(profile)
        if play.patching and conflicts(play)
    } == CONFLICTS[profile]


# The parties themselves


def server_of(profile: str, row: str) -> Server:
    return next(play for play in plays(profile) if play.scenario.row == row).server


def test_what_a_patch_removed_is_brought_back_only_where_its_intent_does_not_count() -> (
    None
):
    scenario, server = BY_ROW["D13"], server_of("kep1027-draft", "D13")
    assert outcome(scenario, LOOSE, server, patching=True).normalized == {
        server.name: {"d": "A", "a": "1"}
    }
    server.minds_intent = True
    assert outcome(scenario, LOOSE, server, patching=True).normalized == {
        server.name: {"d": "A"}
    }


def test_a_structured_client_drops_fields_and_keeps_strings() -> None:
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


def test_a_server_prunes_what_it_does_not_know_before_anything_else() -> None:
    server = server_of("kep1027", "D18")
    server.put({"d": "N", "n": "1"})
    assert server.candidate == {server.name: {"d": "N"}}
