"""Recordings of the situations of an apply, and servers that replay them."""

from __future__ import annotations

import lzma
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

import httpx
import msgspec

from tests.support.cluster_proxy import Exchange
from tests.support.cluster_sides import Played
from tests.support.paths import DATA

_FOLDER: Final = DATA / "cluster"


class Entry(msgspec.Struct, frozen=True):
    """What kubectl and Cluster.apply did, and the exchanges of the latter.

    ``applies`` are the steps, for what is not in the file of situations.
    """

    kubectl: Played
    ours: Played
    exchanges: list[list[Exchange]]
    applies: list[dict[str, Any]] = []


class Recording(msgspec.Struct, frozen=True):
    """The situations on one server, by their names, and the version of kubectl."""

    kubectl: str
    entries: dict[str, Entry]


class _Kept(msgspec.Struct):
    """A recording in a file: bodies that are in it many times are there once."""

    kubectl: str
    bodies: list[str]
    entries: dict[str, tuple[Played, list[list[list[Any]]], list[dict[str, Any]]]]


def read(server: str) -> Recording:
    """Read what is recorded of a server; nothing where there is no recording."""
    path = _FOLDER / f"{server}.json.xz"
    if not path.exists():
        return Recording("", {})
    kept = msgspec.json.decode(lzma.decompress(path.read_bytes()), type=_Kept)
    bodies = [text.encode() for text in kept.bodies]
    entries = {}
    for name, (theirs, steps, applies) in kept.entries.items():
        exchanges = [
            [
                _exchange([*each[:4], bodies[each[4]], *each[5:7], bodies[each[7]]])
                for each in step
            ]
            for step in steps
        ]
        entries[name] = Entry(theirs, theirs, exchanges, applies)
    return Recording(kept.kubectl, entries)


def _exchange(members: list[Any]) -> Exchange:
    names = Exchange.__struct_fields__
    return Exchange(**dict(zip(names, members, strict=True)))


def write(server: str, kubectl: str, entries: dict[str, Entry]) -> None:
    """Write a recording."""
    numbers: dict[bytes, int] = {}
    kept = {}
    for name, entry in entries.items():
        steps = []
        for step in entry.exchanges:
            rows = []
            for each in step:
                body = numbers.setdefault(each.body, len(numbers))
                answer = numbers.setdefault(each.answer, len(numbers))
                rows.append(
                    [
                        each.method,
                        each.path,
                        each.query,
                        each.content_type,
                        body,
                        each.status,
                        each.headers,
                        answer,
                    ]
                )
            steps.append(rows)
        kept[name] = (entry.kubectl, steps, entry.applies)
    bodies = [body.decode() for body in numbers]
    data = msgspec.json.encode(_Kept(kubectl, bodies, kept))
    path = _FOLDER / f"{server}.json.xz"
    path.write_bytes(lzma.compress(data, preset=9 | lzma.PRESET_EXTREME))


class Replay:
    """A server that answers from the exchanges of an apply.

    Writes have to come as they were recorded. A read is answered as it was after the
    writes that came before it; it may be asked more often than it was, or not at all.
    """

    def __init__(self, exchanges: list[Exchange]) -> None:
        self.sent: list[Exchange] = []
        self._writes = (each for each in exchanges if each.is_write)
        # The answers to each read, after so many writes.
        self._reads: dict[str, dict[int, list[Exchange]]] = {}
        epoch = 0
        for each in exchanges:
            if each.is_write:
                epoch += 1
                continue
            epochs = self._reads.setdefault(_target(each), {})
            epochs.setdefault(epoch, []).append(each)

    def answer(self, request: httpx.Request) -> httpx.Response:
        """Answer a request."""
        path, _, query = request.url.raw_path.decode().partition("?")
        sent = Exchange(
            request.method,
            path,
            parse_qsl(query, keep_blank_values=True),
            request.headers.get("Content-Type", ""),
            request.content,
            0,
            [],
            b"",
        )
        if sent.is_write:
            self.sent.append(sent)
            recorded = next(self._writes)
        else:
            epochs = self._reads[_target(sent)]
            epoch = max(number for number in epochs if number <= len(self.sent))
            answers = epochs[epoch]
            recorded = answers.pop(0) if len(answers) > 1 else answers[0]
        headers = [*recorded.headers]
        return httpx.Response(recorded.status, headers=headers, content=recorded.answer)


def _target(exchange: Exchange) -> str:
    # A recording has lists in place of pairs.
    query = urlencode([(name, value) for name, value in exchange.query])
    return f"{exchange.path}?{query}"
