"""Clients and servers of different versions, and what they do to a union.

These are the rows of the version-skew matrix, which KEP-1027 cites in its section
Discriminator Field and does not publish. A row states what each party does; what
the server receives and what it stores follow from that.

A union has the members a and b; newer parties also know n. A structured client is
compiled from types, so it drops the fields that it does not know. An unstructured
client keeps everything it read. A server prunes what it does not know, then normalizes,
then validates.
"""

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
from smp._values.values import JSONObject
from smp.schema.model import ObjectType, Type


class Client(Protocol):
    """Reads an object, changes it and writes it back."""

    @property
    def sends_patches(self) -> bool: ...
    def decode(self, received: JSONObject) -> JSONObject: ...
    def encode(self, held: JSONObject) -> JSONObject: ...


@dataclass(frozen=True)
class Structured:
    """A client with Go types: it knows some fields, and omits empty ones.

    Its discriminator is a string, so that it also keeps values it does not know.
    """

    fields: frozenset[str]
    sends_patches: bool = False

    def decode(self, received: JSONObject) -> JSONObject:
        return {name: value for name, value in received.items() if name in self.fields}

    def encode(self, held: JSONObject) -> JSONObject:
        return {name: value for name, value in held.items() if value not in ("", None)}


@dataclass(frozen=True)
class Unstructured:
    """A client without types: it keeps objects as they are, and may send patches."""

    sends_patches: bool = True

    def decode(self, received: JSONObject) -> JSONObject:
        return copy.deepcopy(received)

    def encode(self, held: JSONObject) -> JSONObject:
        return held


@dataclass
class Server:
    """A server that stores one object, whose union is in the field ``name``.

    With ``reads_patches`` the normalization gets the patch, too. The documents know
    only the object before and after.
    """

    schema: Schema
    profile: str
    name: str
    stored: JSONObject | None
    ratchet: bool = False
    reads_patches: bool = False
    candidate: JSONObject = field(default_factory=dict)
    normalized: JSONObject = field(default_factory=dict)

    def read(self) -> JSONObject:
        """Return the union as it is stored."""
        union = (self.stored or {}).get(self.name)
        return union if isinstance(union, dict) else {}

    def put(self, union: JSONObject) -> tuple[Violation, ...]:
        """Create the object or update it.

        Raises UnionError for what the normalization refuses.
        """
        return self._store({self.name: union}, None)

    def patch(self, union: JSONObject) -> tuple[Violation, ...]:
        """Apply a strategic merge patch to the object.

        Raises UnionError for what the normalization refuses.
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
            patch=patch if self.reads_patches else None,
        ).object
        violations = validate_unions(
            self.stored,
            self.normalized,
            self.schema,
            profile=self.profile,
            ratchet=self.ratchet,
        )
        if not violations:
            self.stored = self.normalized
        return violations


def _pruned(value: JSONObject, type_: Type) -> JSONObject:
    result: JSONObject = {}
    for name, member in value.items():
        if not isinstance(type_, ObjectType) or not type_.declares(name):
            continue
        field = type_.field(name)
        if field is not None and isinstance(member, dict):
            result[name] = _pruned(member, field.type)
        elif field is not None:
            result[name] = member
    return result


OLD: Final = Structured(frozenset({"d", "a", "b", "type", "rollingUpdate"}))
NEW: Final = Structured(OLD.fields | {"n"})
# A client from before the union had a discriminator.
BLIND: Final = Structured(OLD.fields - {"d"})
LOOSE: Final = Unstructured()
ANY: Final = (OLD, NEW, LOOSE)
AWARE: Final = (NEW, LOOSE)
# What clears the union for a client that does not know n.
CLEAR: Final[JSONObject] = {"a": None, "b": None}


@dataclass(frozen=True)
class Scenario:
    """One row: the clients that act, and the change they make; null removes a field."""

    row: str
    clients: tuple[Client, ...]
    change: JSONObject
    creates: bool = False

    def run(
        self, client: Client, server: Server, *, patching: bool = False
    ) -> tuple[Violation, ...]:
        """Let a client make the change. Raises UnionError."""
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
class SkewOutcome:
    """The object that reached the unions, what it became, and what was refused."""

    candidate: JSONObject
    normalized: JSONObject | None
    violations: tuple[tuple[str, str], ...]
    refused: str = ""


def outcome(
    scenario: Scenario, client: Client, server: Server, *, patching: bool = False
) -> SkewOutcome:
    """Act out a row."""
    try:
        violations = scenario.run(client, server, patching=patching)
    except UnionError as error:
        return SkewOutcome(server.candidate, None, (), error.code)
    reported = sorted((str(violation.path), violation.code) for violation in violations)
    return SkewOutcome(server.candidate, server.normalized, tuple(reported))
