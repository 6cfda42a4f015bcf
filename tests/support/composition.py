"""The law of composition, asked of the reference.

Applying one composed patch has to do what applying its patches in turn does. Both sides
of that equation are computed by the *apply* of the reference; only the composed patch
is ours. The *compose* of the reference is not a standard: it loses ``$patch: delete``
where the first patch does not have the list, and refuses two order directives
(deviation 14).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from smp._strategic import apply_patch, compose_patches
from smp._values.values import JSON, JSONArray, JSONObject, same
from smp.errors import CompositionError, SmpError
from smp.schema.model import OPAQUE, Field, Type
from tests.support.differential import composable, rewritten, stored
from tests.support.differential.deviations import is_misplaced_error
from tests.support.makers import Maker, Subject
from tests.support.reference import Reference, as_go_prints

# What may become of a chain of patches.
KEPT: Final = "the law holds"
KEPT_EXCEPT_ORDER: Final = "the law holds, except for the order that no directive names"
KEPT_WHERE_NAMED_ELEMENTS_EXIST: Final = (
    "the law holds where the elements that the patches name exist (docs/deviations.md)"
)
REFUSED: Final = "no single patch (CompositionError)"
REFUSED_NEEDLESSLY: Final = (
    "refused, although the composition of the reference keeps the law"
)
FAILING: Final = "the patches themselves fail"
BROKEN: Final = "the law is broken"

Path: TypeAlias = tuple[str, ...]
"""The field names and merge keys that lead to a list."""
Orders: TypeAlias = dict[Path, set[str]]
"""The lists that patches mention, and of each the printed keys that they order."""


class Chain(NamedTuple):
    """Two or three patches, and the objects to try them on."""

    subject: Subject
    objects: tuple[JSONObject, ...]
    patches: tuple[JSONObject, ...]


class ChainOutcome(NamedTuple):
    """What became of a chain: one of the texts above, and the evidence."""

    chain: Chain
    verdict: str
    composed: JSON
    expected: JSON = None
    actual: JSON = None


def random_chain(seed: int) -> Chain:
    """Make a chain of patches for an object, or for what became of it."""
    maker = Maker(seed, size=30, keyless=0)
    subject = maker.subject()
    schema = subject.schema
    live = maker.object(schema)
    count = maker.random.choice((2, 2, 2, 3))
    patched = [
        maker.random.choice((live, maker.changed(live, schema))) for _ in range(count)
    ]
    patches = tuple(
        composable(maker.patch(target, schema), schema.type) for target in patched
    )
    objects = (live, maker.changed(live, schema), maker.object(schema))
    return Chain(subject, objects, patches)


def outcomes(go: Reference, chains: Sequence[Chain]) -> list[ChainOutcome]:
    """Compose each chain, and compare both ways to apply it."""
    expected = results_in_turn(go, chains)
    composed = [_compose(chain) for chain in chains]
    # All chains go to the reference in one batch: (index of the chain, of the object).
    attempts: list[tuple[int, int]] = []
    requests: list[JSONObject] = []
    for at, chain in enumerate(chains):
        if not isinstance(composed[at], dict):
            continue
        for index, target in enumerate(chain.objects):
            attempts.append((at, index))
            # Several times, as the order of a Go map may show.
            requests.append({**_apply(chain, target, composed[at]), "repeat": 4})
    actual: list[dict[int, JSON]] = [{} for _ in chains]
    for (at, index), answer in zip(attempts, go.run(requests), strict=True):
        actual[at][index] = answer["results"]
    return [
        _outcome(go, chain, composed[at], expected[at], actual[at])
        for at, chain in enumerate(chains)
    ]


def results_in_turn(go: Reference, chains: Sequence[Chain]) -> list[list[JSON]]:
    """Return what the patches of each chain make of its objects, one after the other.

    The results are as a typed server stores them; None stands for a failure.
    """
    current: list[list[JSON]] = [[*chain.objects] for chain in chains]
    for turn in range(3):
        attempts: list[tuple[int, int]] = []
        requests: list[JSONObject] = []
        for at, chain in enumerate(chains):
            if turn >= len(chain.patches):
                continue
            for index, value in enumerate(current[at]):
                if value is not None:
                    attempts.append((at, index))
                    requests.append(_apply(chain, value, chain.patches[turn]))
        for (at, index), answer in zip(attempts, go.run(requests), strict=True):
            result = stored(answer.get("result"))
            accepted = has_merge_keys(result, chains[at].subject.schema.type)
            current[at][index] = result if accepted else None
    return current


def has_merge_keys(value: JSON, type_: Type) -> bool:
    """Tell whether a server would accept a result.

    It has to be an object in which every element of a merge list has its merge key.
    """
    incomplete: JSONArray = []

    def look(_name: str, member: JSON, field: Field | None) -> JSON:
        if not isinstance(member, list) or field is None:
            return member
        if field.merges and field.merge_key:
            objects = [element for element in member if isinstance(element, dict)]
            incomplete.extend(e for e in objects if field.merge_key not in e)
        return member

    if not isinstance(value, dict):
        return False
    rewritten(value, type_, look)
    return not incomplete


def _apply(chain: Chain, original: JSON, patch: JSON) -> JSONObject:
    documents: JSONObject = {"original": original, "patch": patch}
    return {"op": "apply", **chain.subject.reference, **documents}


def _compose(chain: Chain) -> JSON:
    """Return our composed patch, or a text where there is none."""
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
    actual: dict[int, JSON],
) -> ChainOutcome:
    wanted: dict[int, JSON] = {
        index: value for index, value in enumerate(expected) if value is not None
    }
    if not wanted:
        return ChainOutcome(chain, FAILING, composed)
    if composed == REFUSED:
        return _refused(go, chain, wanted)
    if not isinstance(composed, dict):
        return ChainOutcome(chain, BROKEN, composed)
    verdict = KEPT
    for index, value in wanted.items():
        answers = actual[index]
        for answer in answers if isinstance(answers, list) else []:
            if isinstance(answer, dict) and is_misplaced_error(answer):
                continue
            match = _match(chain, value, answer)
            if match == BROKEN:
                live = chain.objects[index]
                if not _holds_where_named_elements_exist(go, chain, composed, live):
                    evidence: JSONObject = {"of": live, "is": value}
                    return ChainOutcome(chain, BROKEN, composed, evidence, answers)
                verdict = KEPT_WHERE_NAMED_ELEMENTS_EXIST
            elif verdict == KEPT:
                verdict = match
    return ChainOutcome(chain, verdict, composed)


def _match(chain: Chain, expected: JSON, answer: JSON) -> str:
    if not isinstance(answer, dict) or "result" not in answer:
        return BROKEN
    result = stored(answer["result"])
    if same(expected, result):
        return KEPT
    type_ = chain.subject.schema.type
    orders: Orders = {}
    for patch in chain.patches:
        # Of two directives for one list the last one counts.
        orders.update(_orders_in(patch, type_))
    if same(
        with_sorted_others(expected, type_, orders),
        with_sorted_others(result, type_, orders),
    ):
        return KEPT_EXCEPT_ORDER
    return BROKEN


def _holds_where_named_elements_exist(
    go: Reference, chain: Chain, composed: JSONObject, live: JSONObject
) -> bool:
    """Try again on the live object with all the elements that the patches name."""
    schema = chain.subject.schema
    for patch in chain.patches:
        live = apply_patch(live, _creation_of_elements(patch, schema.type), schema)
    expected = results_in_turn(go, [chain._replace(objects=(live,))])[0][0]
    answer = go.run([_apply(chain, live, composed)])[0]
    if expected is None:
        return "result" not in answer
    return is_misplaced_error(answer) or _match(chain, expected, answer) != BROKEN


def _creation_of_elements(patch: JSONObject, type_: Type) -> JSONObject:
    """Return the patch that creates the elements a patch names, and nothing else."""
    result: JSONObject = {}
    for name, value in patch.items():
        field = type_.field(name)
        if field is None:
            continue
        if isinstance(value, dict):
            result[name] = _creation_of_elements(value, field.type)
        elif isinstance(value, list) and field.merges and field.merge_key:
            key = field.merge_key
            merged = [e for e in value if isinstance(e, dict) and "$patch" not in e]
            result[name] = [
                {**_creation_of_elements(e, field.type.items), key: e[key]}
                for e in merged
            ]
    return result


def _refused(go: Reference, chain: Chain, wanted: dict[int, JSON]) -> ChainOutcome:
    """Tell whether the reference's own composition would have kept the law."""
    request: JSONObject = {"op": "compose", **chain.subject.reference}
    request["patches"] = [*chain.patches]
    composed = go.run([request])[0].get("result")
    if composed is None:
        return ChainOutcome(chain, REFUSED, REFUSED)
    requests = [_apply(chain, chain.objects[index], composed) for index in wanted]
    answers = go.run(requests)
    for value, answer in zip(wanted.values(), answers, strict=True):
        if _match(chain, value, answer) == BROKEN:
            return ChainOutcome(chain, REFUSED, REFUSED)
    return ChainOutcome(chain, REFUSED_NEEDLESSLY, composed)


def _orders_in(patch: JSONObject, type_: Type, path: Path = ()) -> Orders:
    """Return the lists that a patch mentions, and the keys that it orders."""
    orders: Orders = {}
    for name, value in patch.items():
        directive, _, target = name.partition("/")
        is_directive = name.startswith("$")
        here = (*path, target if is_directive else name)
        keys = orders.setdefault(here, set())
        if directive == "$setElementOrder" and isinstance(value, list):
            for element in value:
                # An entry of an order directive is {merge key: value}, or a scalar.
                key = element
                if isinstance(element, dict) and element:
                    key = next(iter(element.values()))
                keys.add(repr(key))
        elif not is_directive:
            for inner, ordered in _orders_within(value, type_.field(name), here):
                orders.setdefault(inner, set()).update(ordered)
    return orders


def _orders_within(
    value: JSON, field: Field | None, path: Path
) -> Iterator[tuple[Path, set[str]]]:
    type_ = OPAQUE if field is None else field.type
    if isinstance(value, dict):
        yield from _orders_in(value, type_, path).items()
    elif isinstance(value, list):
        for element in value:
            if isinstance(element, dict):
                element_path = _element_path(path, element, field)
                yield from _orders_in(element, type_.items, element_path).items()


def _element_path(path: Path, element: JSON, field: Field | None) -> Path:
    key = None
    if isinstance(element, dict) and field is not None:
        key = element.get(field.merge_key)
    return (*path, repr(key))


def with_sorted_others(
    value: JSON, type_: Type, orders: Orders, path: Path = ()
) -> JSON:
    """Sort the elements of merge lists that no order directive names.

    The elements that are named keep their order, in a list of their own.
    """
    if not isinstance(value, dict):
        return value
    result: JSONObject = {}
    for name, member in value.items():
        field, here = type_.field(name), (*path, name)
        if field is None:
            result[name] = member
        elif isinstance(member, list):
            elements: JSONArray = [
                with_sorted_others(
                    element,
                    field.type.items,
                    orders,
                    _element_path(here, element, field),
                )
                for element in member
            ]
            if field.merges:
                ordered_keys = orders.get(here, set())
                result[name] = _separated(elements, field.merge_key, ordered_keys)
            else:
                result[name] = elements
        else:
            result[name] = with_sorted_others(member, field.type, orders, here)
    return result


def _separated(elements: JSONArray, merge_key: str, ordered_keys: set[str]) -> JSON:
    ordered: JSONArray = []
    others: JSONArray = []
    for element in elements:
        key = element.get(merge_key) if isinstance(element, dict) else element
        (ordered if repr(key) in ordered_keys else others).append(element)
    return {"ordered": ordered, "others": sorted(others, key=_text_as_go_prints)}


def _text_as_go_prints(value: JSON) -> str:
    return json.dumps(as_go_prints(value), sort_keys=True)
