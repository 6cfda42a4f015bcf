"""The law of composition, asked of the reference: its *apply* of our composed patch is
its applies in turn.

Its own compose is no measure: it loses ``$patch: delete`` where the first patch lacks
the list, and refuses two order directives."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

from smp.errors import CompositionError, SmpError
from smp.schema.model import Field, Type
from smp.strategic import apply_patch, compose_patches
from smp.values import JSON, JSONArray, JSONObject, same
from tests.support.differential import (
    Place,
    composable,
    misplaced,
    orders_in,
    place_in,
    rewritten,
    stored,
)
from tests.support.makers import Maker, Subject
from tests.support.reference import Reference, as_go_prints

KEPT: Final = "the law holds"
KEPT_LOOSELY: Final = "the law holds, less the order that no directive names"
GRANTED: Final = "the law holds where the elements that the patches name are there (docs/deviations.md)"
REFUSED: Final = "no single patch (CompositionError)"
REFUSED_NEEDLESSLY: Final = (
    "refused, though the reference's own composition keeps the law"
)
FAILING: Final = "the patches themselves fail"
BROKEN: Final = "the law is broken"


Orders: TypeAlias = dict[Place, set[str]]


class Chain(NamedTuple):
    """Two or three patches, and the objects to try them on."""

    subject: Subject
    objects: tuple[JSONObject, ...]
    patches: tuple[JSONObject, ...]


class Outcome(NamedTuple):
    """What became of a chain: one of the words above, and the evidence."""

    chain: Chain
    word: str
    composed: JSON
    expected: JSON = None
    found: JSON = None


def made(seed: int) -> Chain:
    """Make a chain: patches for an object, and what else the composition has to work
    on.
    """
    maker = Maker(seed, size=30, keyless=0)
    subject = maker.subject()
    schema = subject.schema
    live = maker.object(schema)
    count = maker.random.choice((2, 2, 2, 3))
    around = [
        maker.random.choice((live, maker.changed(live, schema))) for _ in range(count)
    ]
    patches = tuple(composable(maker.patch(one, schema), schema.type) for one in around)
    return Chain(
        subject, (live, maker.changed(live, schema), maker.object(schema)), patches
    )


def outcomes(go: Reference, chains: Sequence[Chain]) -> list[Outcome]:
    """Compose each chain, and ask the reference for both ways."""
    expected = in_turn(go, chains)
    composed = [_composed(chain) for chain in chains]
    tries = [
        (at, index)
        for at, patch in enumerate(composed)
        for index in range(len(chains[at].objects))
        if isinstance(patch, dict)
    ]
    requests = [
        {**_apply(chains[at], chains[at].objects[index], composed[at]), "repeat": 4}
        for at, index in tries
    ]
    found = dict(
        zip(tries, (answer["results"] for answer in go.run(requests)), strict=True)
    )
    return [
        _outcome(go, chain, composed[at], expected[at], found, at)
        for at, chain in enumerate(chains)
    ]


def in_turn(go: Reference, chains: Sequence[Chain]) -> list[list[JSON]]:
    """Return for each object of each chain what the patches make of it one after the
    other; None for a failure.
    """
    current: list[list[JSON]] = [[*chain.objects] for chain in chains]
    for turn in range(3):
        tries = [
            (at, index)
            for at, chain in enumerate(chains)
            for index in range(len(chain.objects))
            if turn < len(chain.patches) and current[at][index] is not None
        ]
        answers = go.run(
            [
                _apply(chains[at], current[at][index], chains[at].patches[turn])
                for at, index in tries
            ]
        )
        for (at, index), answer in zip(tries, answers, strict=True):
            result = stored(answer.get("result"))
            current[at][index] = (
                result if _has_keys(result, chains[at].subject.schema.type) else None
            )
    return current


def _has_keys(value: JSON, schema: Type) -> bool:
    """Tell whether a server would take an object: every element of a merge list has its
    merge key.
    """
    lacking: JSONArray = []

    def look(_name: str, member: JSON, field: Field | None) -> JSON:
        if (
            isinstance(member, list)
            and field is not None
            and field.merges
            and field.merge_key
        ):
            lacking.extend(
                e for e in member if isinstance(e, dict) and field.merge_key not in e
            )
        return member

    return (
        isinstance(value, dict)
        and rewritten(value, schema, look) is not None
        and not lacking
    )


def _apply(chain: Chain, original: JSON, patch: JSON) -> JSONObject:
    return {
        "op": "apply",
        **chain.subject.reference,
        "original": original,
        "patch": patch,
    }


def _composed(chain: Chain) -> JSON:
    try:
        return compose_patches(chain.patches, chain.subject.schema)
    except CompositionError:
        return REFUSED
    except SmpError as error:
        return str(error)


def _outcome(
    go: Reference,
    chain: Chain,
    composed: JSON,
    expected: list[JSON],
    found: dict[tuple[int, int], JSON],
    at: int,
) -> Outcome:
    wanted = [
        (index, value) for index, value in enumerate(expected) if value is not None
    ]
    if not wanted:
        return Outcome(chain, FAILING, composed)
    if not isinstance(composed, dict):
        return (
            _refused(go, chain, composed, wanted)
            if composed == REFUSED
            else Outcome(chain, BROKEN, composed)
        )
    word = KEPT
    for index, value in wanted:
        results = found[at, index]
        for result in results if isinstance(results, list) else []:
            if isinstance(result, dict) and misplaced(result):
                continue
            match = _match(chain, value, result)
            if match == BROKEN and not _holds_where_granted(
                go, chain, composed, chain.objects[index]
            ):
                return Outcome(
                    chain,
                    BROKEN,
                    composed,
                    {"of": chain.objects[index], "is": value},
                    results,
                )
            word = GRANTED if match == BROKEN else match if word == KEPT else word
    return Outcome(chain, word, composed)


def _match(chain: Chain, expected: JSON, answer: JSON) -> str:
    if not isinstance(answer, dict) or "result" not in answer:
        return BROKEN
    result = stored(answer["result"])
    if same(expected, result):
        return KEPT
    schema = chain.subject.schema.type
    # The last one counts.
    orders = {
        place: keys
        for patch in chain.patches
        for place, keys in orders_in(patch, schema).items()
    }
    return (
        KEPT_LOOSELY
        if same(_loose(expected, schema, orders), _loose(result, schema, orders))
        else BROKEN
    )


def _holds_where_granted(
    go: Reference, chain: Chain, composed: JSONObject, live: JSONObject
) -> bool:
    """Try again on the live object with all the elements that the patches name."""
    schema = chain.subject.schema
    for patch in chain.patches:
        live = apply_patch(live, _named_elements(patch, schema.type), schema)
    expected = in_turn(go, [chain._replace(objects=(live,))])[0][0]
    answer = go.run([_apply(chain, live, composed)])[0]
    if expected is None:
        return "result" not in answer
    return misplaced(answer) or _match(chain, expected, answer) != BROKEN


def _named_elements(patch: JSONObject, schema: Type) -> JSONObject:
    """Return the patch that creates the elements that a patch names, and changes
    nothing.
    """
    found: JSONObject = {}
    for name, value in patch.items():
        field = schema.field(name)
        if isinstance(value, dict) and field is not None:
            found[name] = _named_elements(value, field.type)
        elif (
            isinstance(value, list)
            and field is not None
            and field.merges
            and field.merge_key
        ):
            merged = [e for e in value if isinstance(e, dict) and "$patch" not in e]
            key = field.merge_key
            found[name] = [
                {**_named_elements(e, field.type.items), key: e[key]} for e in merged
            ]
    return found


def _refused(
    go: Reference, chain: Chain, composed: JSON, wanted: Sequence[tuple[int, JSON]]
) -> Outcome:
    theirs = go.run(
        [{"op": "compose", **chain.subject.reference, "patches": [*chain.patches]}]
    )[0]
    if "result" in theirs:
        answers = go.run(
            [
                _apply(chain, chain.objects[index], theirs["result"])
                for index, _ in wanted
            ]
        )
        if all(
            _match(chain, value, answer) != BROKEN
            for (_, value), answer in zip(wanted, answers, strict=True)
        ):
            return Outcome(chain, REFUSED_NEEDLESSLY, theirs["result"])
    return Outcome(chain, REFUSED, composed)


def _loose(value: JSON, schema: Type, orders: Orders, path: Place = ()) -> JSON:
    """Sort the elements of merge lists that no order directive names; the others keep
    their order.
    """
    if not isinstance(value, dict):
        return value
    result: JSONObject = {}
    for name, member in value.items():
        field, place = schema.field(name), (*path, name)
        if isinstance(member, list) and field is not None:
            elements: JSONArray = [
                _loose(
                    element, field.type.items, orders, place_in(place, element, field)
                )
                for element in member
            ]
            result[name] = (
                _parted(elements, field.merge_key, orders.get(place, set()))
                if field.merges
                else elements
            )
        else:
            result[name] = (
                _loose(member, field.type, orders, place)
                if field is not None
                else member
            )
    return result


def _parted(elements: JSONArray, merge_key: str, named: set[str]) -> JSON:
    keys = [repr(e.get(merge_key) if isinstance(e, dict) else e) for e in elements]
    ordered = [
        element for element, key in zip(elements, keys, strict=True) if key in named
    ]
    others = [
        element for element, key in zip(elements, keys, strict=True) if key not in named
    ]
    return {"ordered": ordered, "others": sorted(others, key=_sorting)}


def _sorting(value: JSON) -> str:
    return json.dumps(as_go_prints(value), sort_keys=True)
