"""Clients and servers of different versions, and what they do to a union: the rows of
the version-skew matrix.

A union has the members a and b; newer parties also know n. A structured client is
compiled from types, so it drops the fields that it does not know; an unstructured one
keeps whatever it read. A server prunes what it does not know, then normalizes, then
validates. KEP-1027 cites the matrix under Discriminator Field and does not publish it;
its rows are told here as what each party does, and nothing says what arrives or what
becomes of it."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Final, Protocol

from smp import (
    Schema,
    UnionError,
    Violation,
    apply_patch,
    merge_patch,
    normalize_unions,
    validate_unions,
)
from smp.schema.model import ObjectType, Type
from smp.values import JSON, JSONObject


class Client(Protocol):
    """Whoever reads an object, changes it and writes it back."""

    @property
    def sends_patches(self) -> bool: ...
    def decode(self, received: JSONObject) -> JSONObject: ...
    def encode(self, held: JSONObject) -> JSONObject: ...


@dataclass(frozen=True)
class Structured:
    """A client with types: it knows some fields, any string can be its discriminator,
    and "" is left out.
    """

    known: frozenset[str]
    sends_patches: bool = False

    def decode(self, received: JSONObject) -> JSONObject:
        return {name: value for name, value in received.items() if name in self.known}

    def encode(self, held: JSONObject) -> JSONObject:
        return {name: value for name, value in held.items() if value not in ("", None)}


@dataclass(frozen=True)
class Unstructured:
    """A client that holds an object as it came, and may as well send a patch."""

    sends_patches: bool = True

    def decode(self, received: JSONObject) -> JSONObject:
        return copy.deepcopy(received)

    def encode(self, held: JSONObject) -> JSONObject:
        return held


@dataclass
class Server:
    """A server that stores one object with one union below ``name``.

    ``minds_intent``: it also looks at what a patch says; the documents know only of the
    object before and after."""

    schema: Schema
    profile: str
    name: str
    stored: JSONObject | None
    ratchet: bool = False
    minds_intent: bool = False
    candidate: JSONObject = field(default_factory=dict)
    normalized: JSONObject = field(default_factory=dict)

    def read(self) -> JSONObject:
        """Return the union as it is stored."""
        union = (self.stored or {}).get(self.name)
        return union if isinstance(union, dict) else {}

    def put(self, union: JSONObject) -> tuple[Violation, ...]:
        """Create the object or update it. Raises UnionError for what the normalization
        refuses.
        """
        return self._store({self.name: union}, None)

    def patch(self, union: JSONObject) -> tuple[Violation, ...]:
        """Patch the object strategically. Raises UnionError for what the normalization
        refuses.
        """
        patch: JSONObject = {self.name: union}
        return self._store(apply_patch(self.stored or {}, patch, self.schema), patch)

    def _store(
        self, new: JSONObject, patch: JSONObject | None
    ) -> tuple[Violation, ...]:
        self.candidate = _pruned(new, self.schema.type)
        self.normalized = normalize_unions(
            self.stored,
            self.candidate,
            self.schema,
            profile=self.profile,
            patch=patch if self.minds_intent else None,
        ).object
        wrong = validate_unions(
            self.stored,
            self.normalized,
            self.schema,
            profile=self.profile,
            ratchet=self.ratchet,
        )
        self.stored = self.stored if wrong else self.normalized
        return wrong


def _pruned(value: JSONObject, known: Type) -> JSONObject:
    fields = {
        name: known.field(name)
        for name in value
        if isinstance(known, ObjectType) and known.declares(name)
    }
    return {
        name: _below(value[name], each.type)
        for name, each in fields.items()
        if each is not None
    }


def _below(value: JSON, known: Type) -> JSON:
    return _pruned(value, known) if isinstance(value, dict) else value


OLD: Final = Structured(frozenset({"d", "a", "b", "type", "rollingUpdate"}))
NEW: Final = Structured(OLD.known | {"n"})
BLIND: Final = Structured(OLD.known - {"d"})  # from before there was a discriminator
LOOSE: Final = Unstructured()
ANY: Final = (OLD, NEW, LOOSE)
AWARE: Final = (NEW, LOOSE)
# as far as somebody knows who does not know n
CLEAR: Final[JSONObject] = {"a": None, "b": None}


@dataclass(frozen=True)
class Scenario:
    """One row: who does it, and the change that they make, null being a removal."""

    row: str
    clients: tuple[Client, ...]
    change: JSONObject
    creates: bool = False

    def run(
        self, client: Client, server: Server, *, patching: bool = False
    ) -> tuple[Violation, ...]:
        """Let a client do it. Raises UnionError."""
        if patching:
            return server.patch(self.change)
        held = {} if self.creates else client.decode(server.read())
        changed = merge_patch.apply(held, self.change)
        return server.put(client.encode(changed if isinstance(changed, dict) else {}))


SCENARIOS: Final = (
    Scenario("U1", ANY, {}),
    Scenario("U2", (OLD,), {}),
    Scenario("U3", (OLD,), CLEAR),
    Scenario("U4", (OLD,), {**CLEAR, "b": "1"}),
    Scenario("U5", ANY, {"a": "2"}),
    Scenario("U6", ANY, {"a": None, "b": "1"}),
    Scenario("U7", (LOOSE,), {}),
    Scenario("U8", (LOOSE,), CLEAR),
    Scenario("U9", (LOOSE,), {**CLEAR, "b": "1"}),
    Scenario("U10", ANY, {"b": "1"}),
    Scenario("U11", AWARE, {**CLEAR, "n": None}),
    Scenario("U12", ANY, {"a": "1", "b": "1"}),
    Scenario("U13", (LOOSE,), {"a": "1", "b": "1"}),
    Scenario("U14", AWARE, {"n": "1"}),
    Scenario("U15", AWARE, {**CLEAR, "n": "1"}),
    Scenario("U16", (LOOSE,), {"n": "1"}),
    Scenario("U17", AWARE, {"n": "1"}, creates=True),
    Scenario("D1", ANY, {}),
    Scenario("D2", (OLD,), {}),
    Scenario("D3", (OLD,), {**CLEAR, "d": ""}),
    Scenario("D4", (OLD,), {**CLEAR, "d": "B", "b": "1"}),
    Scenario("D5", (BLIND,), {**CLEAR, "b": "1"}),
    Scenario("D6", (BLIND,), {}),
    Scenario("D7", (LOOSE,), {}),
    Scenario("D8", (LOOSE,), {**CLEAR, "d": ""}),
    Scenario("D9", (LOOSE,), {**CLEAR, "d": "B", "b": "1"}),
    Scenario("D10", (LOOSE,), {"b": "1"}),
    Scenario("D11", (LOOSE,), {"n": None, "b": "1"}),
    Scenario("D12", (LOOSE,), {**CLEAR, "n": None, "d": ""}),
    Scenario("D13", ANY, {"a": None}),
    Scenario("D14", AWARE, {"d": "N", "n": "1"}),
    Scenario("D15", ANY, {"d": "B"}),
    Scenario("D16", AWARE, {"d": "B", "a": None, "n": "1"}),
    Scenario("D17", ANY, {"d": "A", "a": "1", "b": "1"}, creates=True),
    Scenario("D17b", ANY, {"d": "A", "a": "1", "b": "1"}),
    Scenario("D18", AWARE, {"d": "N", "a": None, "n": "1"}),
    Scenario("D19", (LOOSE,), {"d": "N", "n": "1"}),
    Scenario("D20", AWARE, {"d": "N", "n": "1"}, creates=True),
    Scenario("D21", ANY, {}),
    Scenario("D22", ANY, {"type": "Recreate"}),
    Scenario("D23", ANY, {"rollingUpdate": "1"}),
)


@dataclass(frozen=True)
class Outcome:
    """What came of a row: what reached the unions, what they became, and what was
    refused.
    """

    candidate: JSONObject
    normalized: JSONObject | None
    violations: tuple[tuple[str, str], ...]
    refused: str = ""


def outcome(
    scenario: Scenario, client: Client, server: Server, *, patching: bool = False
) -> Outcome:
    """Run a row."""
    try:
        wrong = scenario.run(client, server, patching=patching)
    except UnionError as error:
        return Outcome(server.candidate, None, (), error.code)
    found = sorted((str(each.path), each.code) for each in wrong)
    return Outcome(server.candidate, server.normalized, tuple(found))
