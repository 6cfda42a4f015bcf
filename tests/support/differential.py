"""smp beside the reference: one case, two answers, and the deviations that may explain
a difference.

A deviation is explained by rewriting: the documents of a case are changed so that this
deviation cannot show (scalar lists sorted, say), and both sides are asked again. Where
they agree on that and differed before, the deviation is the reason; nothing else is
forgiven."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple, TypeAlias, TypeGuard

from smp.errors import ConflictError, SmpError
from smp.schema.catalog import kubernetes
from smp.schema.model import OPAQUE, Field, ObjectType, ScalarType, Schema, Type
from smp.strategic import KUBECTL_PRECONDITIONS, find_conflicts
from smp.values import ABSENT, JSON, Absent, JSONObject, printed, same
from tests.support.engines import apply_patch, three_way_patch, two_way_patch
from tests.support.makers import EVERY, Maker, Subject, subjects
from tests.support.reference import Reference, as_go_prints

Documents: TypeAlias = dict[str, JSONObject | None]
Rule: TypeAlias = "Callable[[str, JSON, Field | None], JSON | Absent]"

DIRECTIVES: Final = (
    "$patch",
    "$retainKeys",
    "$setElementOrder",
    "$deleteFromPrimitiveList",
)
MISPLACED_ERRORS: Final = (
    "no elements in any of the given slices",
    "merging an object in json but data type is not struct, instead is:",
    "unable to find api field",
)
# What cannot be compared may stand after the first conflict.
INCOMPARABLE: Final = (
    "nested-list",
    "mixed-list",
    "null-element",
    "not-an-object",
    "missing-merge-key",
    "invalid-merge-key",
    "no-merge-key",
    "unknown-field",
)
CONFLICT: Final = "conflicts with changes made from original to current"


class Case(NamedTuple):
    """One question to both sides."""

    op: str
    subject: Subject
    documents: Documents
    options: tuple[str, ...] = ()  # "preconditions", "no-overwrite"

    @property
    def request(self) -> JSONObject:
        """The question as the reference takes it."""
        options: JSONObject = (
            {"preconditions": True} if "preconditions" in self.options else {}
        )
        options |= {"overwrite": False} if "no-overwrite" in self.options else {}
        return {"op": self.op, **self.subject.reference, **self.documents, **options}


def made(op: str, seed: int, *, broken: bool = False) -> Case:
    """Make the case of an operation and a seed; a broken one has faults in about half
    of its documents.
    """
    maker = Maker(seed)
    subject = maker.subject()
    documents = _DOCUMENTS[op](maker, subject.schema)
    if broken:
        for name, document in documents.items():
            if document is not None and maker.random.random() < 0.6:
                documents[name] = maker.spoiled(
                    document, subject.schema, patch=name in _PATCHES
                )
    options = [
        option
        for option in ("preconditions", "no-overwrite")
        if maker.random.random() < 0.4
    ]
    return Case(op, subject, documents, tuple(options) if op == "three_way" else ())


def _for_apply(maker: Maker, schema: Schema) -> Documents:
    if maker.random.random() < 0.6:
        live = maker.object(schema)
        return {"original": live, "patch": maker.patch(live, schema)}
    last_applied, modified, live = maker.triple(schema)
    # what kubectl would send: order directives beside deletions, in lists with elements
    # of others
    try:
        return {
            "original": live,
            "patch": three_way_patch(last_applied, modified, live, schema),
        }
    except SmpError:
        return {"original": live, "patch": maker.patch(live, schema)}


def _for_two_way(maker: Maker, schema: Schema) -> Documents:
    original = maker.object(schema)
    return {"original": original, "modified": maker.changed(original, schema)}


def _for_three_way(maker: Maker, schema: Schema) -> Documents:
    last_applied, modified, live = maker.triple(schema)
    return {"original": last_applied, "modified": modified, "current": live}


def _for_conflicts(maker: Maker, schema: Schema) -> Documents:
    live = maker.object(schema)
    left = maker.patch(live, schema)
    right = (
        maker.patch(live, schema)
        if maker.random.random() < 0.5
        else maker.changed(left, schema)
    )
    return {"left": left, "right": right}


_DOCUMENTS: Final[dict[str, Callable[[Maker, Schema], Documents]]] = {
    "apply": _for_apply,
    "two_way": _for_two_way,
    "three_way": _for_three_way,
    "conflicts": _for_conflicts,
}
_PATCHES: Final = ("patch", "left", "right")
OPERATIONS: Final = tuple(_DOCUMENTS)


def ours(case: Case) -> JSONObject:
    """Return the answer of smp, in the form of the reference's answers."""
    try:
        return {"result": _OURS[case.op](case, case.subject.schema)}
    except ConflictError as error:
        return {"error": CONFLICT, "code": error.code}
    except SmpError as error:
        return {"error": str(error), "code": error.code}


def _three_way(case: Case, schema: Schema) -> JSON:
    checks = KUBECTL_PRECONDITIONS if "preconditions" in case.options else ()
    base, modified, live = (
        case.documents["original"],
        _document(case, "modified"),
        _document(case, "current"),
    )
    return three_way_patch(
        base,
        modified,
        live,
        schema,
        overwrite="no-overwrite" not in case.options,
        preconditions=checks,
    )


def _document(case: Case, name: str) -> JSONObject:
    document = case.documents[name]
    assert document is not None
    return document


_OURS: Final[dict[str, Callable[[Case, Schema], JSON]]] = {
    "apply": lambda case, schema: apply_patch(
        _document(case, "original"), _document(case, "patch"), schema
    ),
    "two_way": lambda case, schema: two_way_patch(
        _document(case, "original"), _document(case, "modified"), schema
    ),
    "three_way": _three_way,
    "conflicts": lambda case, schema: bool(
        find_conflicts(_document(case, "left"), _document(case, "right"), schema)
    ),
}


# What counts as agreement


def agree(case: Case, own: JSONObject, theirs: JSONObject) -> bool:
    """Tell whether two answers say the same: equal results, or an error on both sides."""
    if "result" not in own or "result" not in theirs:
        conflict = CONFLICT not in str(theirs.get("error")) or own.get("code") in (
            "conflict",
            *INCOMPARABLE,
        )
        return conflict and "result" not in own and "result" not in theirs
    result = as_go_prints(own["result"])
    if case.op == "apply":
        return same(result, theirs["result"])
    return same(_unordered(result), _unordered(theirs["result"]))


def agree_as_stored(case: Case, own: JSONObject, theirs: JSONObject) -> bool:
    """Tell whether the results are equal once the reference's is what a typed server
    makes of it (deviation 1).

    Where the live object itself has nulls or directive words, they are of no account on
    our side either."""
    if case.op != "apply" or "result" not in own or "result" not in theirs:
        return False
    live, result = case.documents["original"], as_go_prints(own["result"])
    return same(
        result if same(live, stored(live)) else stored(result), stored(theirs["result"])
    )


def stored(value: JSON) -> JSON:
    """Return what a typed server decodes of a value: no directive words, and no nulls
    in objects.
    """
    if isinstance(value, dict):
        kept = {
            name: stored(member) for name, member in value.items() if member is not None
        }
        return {
            name: member
            for name, member in kept.items()
            if not name.startswith(DIRECTIVES)
        }
    return [*map(stored, value)] if isinstance(value, list) else value


def _unordered(patch: JSON) -> JSON:
    """Give the lists of values to delete one order: it has no meaning."""
    if isinstance(patch, dict):
        return {
            name: _one_order(name, _unordered(member)) for name, member in patch.items()
        }
    return [*map(_unordered, patch)] if isinstance(patch, list) else patch


def _one_order(name: str, value: JSON) -> JSON:
    deletions = isinstance(value, list) and name.startswith("$deleteFromPrimitiveList")
    return sorted(value, key=repr) if isinstance(value, list) and deletions else value


# Rewriting

_SALT: Final = itertools.count(10**6)


def rewritten(value: JSONObject, schema: Type, rule: Rule) -> JSONObject:
    """Put every member of every object through a rule, which sees the field, outermost
    first.
    """
    result: JSONObject = {}
    for name, member in value.items():
        field = schema.field(name.partition("/")[2] if name.startswith("$") else name)
        kept = rule(name, member, field)
        if kept is not ABSENT:
            result[name] = _inside(kept, OPAQUE if field is None else field.type, rule)
    return result


def _inside(value: JSON, schema: Type, rule: Rule) -> JSON:
    if isinstance(value, dict):
        return rewritten(value, schema, rule)
    return (
        [_inside(element, schema.items, rule) for element in value]
        if isinstance(value, list)
        else value
    )


def _everywhere(scalar: Callable[[JSON], JSON]) -> Rule:
    def deep(value: JSON) -> JSON:
        if isinstance(value, dict):
            return {name: deep(member) for name, member in value.items()}
        return [*map(deep, value)] if isinstance(value, list) else scalar(value)

    return lambda _name, value, _field: deep(value)


def _told_apart(value: JSON) -> JSON:
    if isinstance(value, float) and value.is_integer():
        return value + 0.25
    return (
        f"text {value}"
        if isinstance(value, str)
        and (value[:1].isdigit() or value in ("true", "false"))
        else value
    )


def _small(value: JSON) -> JSON:
    beyond = (
        isinstance(value, int)
        and not isinstance(value, bool)
        and not -(2**63) <= value < 2**63
    )
    return 10**15 + value % 10**9 if beyond and isinstance(value, int) else value


def _scalar_merge_list(value: JSON, field: Field | None) -> bool:
    return (
        isinstance(value, list)
        and field is not None
        and field.merges
        and not field.merge_key
    )


def _sorted_scalars(_name: str, value: JSON, field: Field | None) -> JSON:
    if not isinstance(value, list) or not _scalar_merge_list(value, field):
        return value
    return (
        value
        if any(isinstance(element, dict | list) for element in value)
        else sorted(value, key=printed)
    )


def _sorted_atomic(_name: str, value: JSON, field: Field | None) -> JSON:
    if not isinstance(value, list) or field is None or field.merges:
        return value
    return (
        value
        if any(isinstance(element, dict | list) for element in value)
        else sorted(value, key=printed)
    )


def _no_scalar_lists(_name: str, value: JSON, field: Field | None) -> JSON | Absent:
    return ABSENT if _scalar_merge_list(value, field) else value


def _salted(_name: str, value: JSON, field: Field | None) -> JSON:
    replaced = isinstance(value, dict) and field is not None and field.replaces
    return (
        {**value, "salt": next(_SALT)}
        if replaced and isinstance(value, dict)
        else value
    )


def _one_of_each(_name: str, value: JSON, field: Field | None) -> JSON:
    if not isinstance(value, list) or field is None or not field.merges:
        return value
    firsts: dict[str, JSON] = {}
    for element in value:
        key = element.get(field.merge_key) if isinstance(element, dict) else element
        firsts.setdefault(
            printed(key) if not isinstance(key, dict | list) else repr(element), element
        )
    return [*firsts.values()]


def _unrepeated(name: str, value: JSON, field: Field | None) -> JSON:
    return (
        _one_of_each(name, value, field) if _scalar_merge_list(value, field) else value
    )


def _no_maps_of_structures(
    _name: str, value: JSON, field: Field | None
) -> JSON | Absent:
    others = (
        field.type.others
        if field is not None and isinstance(field.type, ObjectType)
        else None
    )
    if others is None:
        return value
    if not isinstance(others.type, ScalarType):
        return ABSENT
    members = value.items() if isinstance(value, dict) else ()
    return (
        {
            name: member
            for name, member in members
            if not isinstance(member, dict | list)
        }
        if members
        else value
    )


def _no_parallel_lists(name: str, value: JSON, _field: Field | None) -> JSON | Absent:
    return (
        ABSENT
        if name.startswith(("$setElementOrder", "$deleteFromPrimitiveList"))
        else value
    )


def _no_structured_keys(_name: str, value: JSON, field: Field | None) -> JSON:
    if not isinstance(value, list) or field is None or not field.merges:
        return value
    keys = [
        element.get(field.merge_key) if isinstance(element, dict) else element
        for element in value
    ]
    return [
        element
        for element, key in zip(value, keys, strict=True)
        if not isinstance(key, dict | list)
    ]


def _no_repeats(_name: str, value: JSON, field: Field | None) -> JSON:
    if not isinstance(value, list) or field is None or field.merges:
        return value
    return [
        element
        for at, element in enumerate(value)
        if isinstance(element, dict) or element not in value[:at]
    ]


def _no_empty_order(name: str, value: JSON, _field: Field | None) -> JSON | Absent:
    return ABSENT if name.startswith("$setElementOrder") and value == [] else value


def _no_null_marker(name: str, value: JSON, _field: Field | None) -> JSON | Absent:
    return ABSENT if name == "$patch" and value is None else value


def _not_empty(_name: str, value: JSON, _field: Field | None) -> JSON | Absent:
    return ABSENT if value == [] else value


def composable(patch: JSONObject, schema: Type) -> JSONObject:
    """Take out of a patch what makes the reference's own outcome depend on more than
    the patch.

    That is what is random (deviation 2), twin elements, and ``$patch`` inside an
    element: the reference executes it, drops its object or stores it, by how much of
    the element is there already."""
    return rewritten(_definite(patch, inside=False), schema, _one_of_each)


def _definite(patch: JSONObject, *, inside: bool) -> JSONObject:
    unfit = {f"$deleteFromPrimitiveList/{name}" for name in patch} | (
        {"$patch"} if inside else set()
    )
    return {
        name: _inner_definite(value, inside=inside)
        for name, value in patch.items()
        if name not in unfit
    }


def _inner_definite(value: JSON, *, inside: bool) -> JSON:
    if isinstance(value, dict):
        return _definite(value, inside=inside)
    return (
        [_definite_element(element) for element in value]
        if isinstance(value, list)
        else value
    )


def _definite_element(element: JSON) -> JSON:
    if not isinstance(element, dict):
        return _inner_definite(element, inside=True)
    marker = {"$patch": element["$patch"]} if "$patch" in element else {}
    return {**_definite(element, inside=True), **marker}


def _certain(patch: JSONObject) -> JSONObject:
    """Take every list of deletions out of a patch that stands beside the list that it
    deletes from.
    """
    unfit = {f"$deleteFromPrimitiveList/{name}" for name in patch}
    return {
        name: _inner_certain(value)
        for name, value in patch.items()
        if name not in unfit
    }


def _inner_certain(value: JSON) -> JSON:
    if isinstance(value, dict):
        return _certain(value)
    return [*map(_inner_certain, value)] if isinstance(value, list) else value


def misplaced(answer: JSONObject) -> bool:
    """Tell whether the reference fails where there is nothing wrong (deviations 9 and
    12, two empty lists).
    """
    return any(text in str(answer.get("error")) for text in MISPLACED_ERRORS)


Place: TypeAlias = tuple[str, ...]  # the names and the merge keys that lead to a list


def orders_in(
    patch: JSONObject, schema: Type, path: Place = ()
) -> dict[Place, set[str]]:
    """Return the lists that a patch mentions, and of each the printed keys that it
    orders.
    """
    found: dict[Place, set[str]] = {}
    for name, value in patch.items():
        word, _, target = name.partition("/")
        place = (*path, target if word.startswith("$") else name)
        keys = found.setdefault(place, set())
        if word == "$setElementOrder" and isinstance(value, list):
            keys |= {
                repr(next(iter(e.values())) if isinstance(e, dict) and e else e)
                for e in value
            }
        elif not word.startswith("$"):
            for inner, ordered in _orders_within(value, schema.field(name), place):
                found.setdefault(inner, set()).update(ordered)
    return found


def _orders_within(
    value: JSON, field: Field | None, place: Place
) -> Iterator[tuple[Place, set[str]]]:
    known = OPAQUE if field is None else field.type
    if isinstance(value, dict):
        yield from orders_in(value, known, place).items()
    for element in value if isinstance(value, list) else ():
        if isinstance(element, dict):
            yield from orders_in(
                element, known.items, place_in(place, element, field)
            ).items()


def place_in(place: Place, element: JSON, field: Field | None) -> Place:
    """Return the place of an element of the list at a place."""
    key = (
        element.get(field.merge_key)
        if isinstance(element, dict) and field is not None
        else None
    )
    return (*place, repr(key))


class Deviation(NamedTuple):
    """A row of docs/deviations.md: how to rewrite a case so that it does not show, and
    where it can.
    """

    title: str
    rule: Rule
    ops: tuple[str, ...] = OPERATIONS
    documents: tuple[str, ...] = (
        "original",
        "modified",
        "current",
        "patch",
        "left",
        "right",
    )
    # only where the reference answers one of its misplaced errors
    after_error: bool = False
    # a rewriting that no rule for single members can do
    whole: Callable[[JSONObject], JSONObject] = copy.copy

    def rewrite(self, case: Case, theirs: JSONObject) -> Case | None:
        """Return the case without the deviation, or None where it is not in it."""
        if case.op not in self.ops or (self.after_error and not misplaced(theirs)):
            return None
        documents = {name: self._document(case, name) for name in case.documents}
        return (
            None
            if same({**documents}, {**case.documents})
            else case._replace(documents=documents)
        )

    def _document(self, case: Case, name: str) -> JSONObject | None:
        document = case.documents[name]
        if document is None or name not in self.documents:
            return document
        return rewritten(self.whole(document), case.subject.schema.type, self.rule)


CHANCE: Final = Deviation(
    "adding and deleting one value has a defined outcome",
    lambda _, value, __: value,
    ("apply",),
    whole=_certain,
)
_DIFFS: Final = ("two_way", "three_way")
DEVIATIONS: Final[dict[str, Deviation]] = {
    "3": Deviation(
        "diff tells keys of different types apart", _everywhere(_told_apart), _DIFFS
    ),
    "4": Deviation("integers beyond 64 bit stay integers", _everywhere(_small)),
    "5": Deviation(
        "an unchanged object is not sent again",
        _salted,
        _DIFFS,
        ("original", "current"),
    ),
    "7": Deviation(
        "looking for conflicts leaves atomic lists in their order",
        _sorted_atomic,
        ("three_way",),
    ),
    "9": Deviation(
        "conflicts pass over directives", _no_parallel_lists, ("conflicts",)
    ),
    "9 within three-way": Deviation(
        "the same", _no_scalar_lists, ("three_way",), after_error=True
    ),
    "10": Deviation(
        "lists of scalars are compared as written", _sorted_scalars, _DIFFS
    ),
    "11": Deviation(
        "elements of one key pair up by occurrence",
        _one_of_each,
        (*_DIFFS, "conflicts"),
    ),
    "12": Deviation(
        "maps of structures merge key by key", _no_maps_of_structures, after_error=True
    ),
    "map as key": Deviation(
        "a structure as a merge key is an error", _no_structured_keys
    ),
    "repeats": Deviation(
        "atomic lists that repeat values differently conflict",
        _no_repeats,
        ("conflicts", "three_way"),
    ),
    "repeated scalars": Deviation(
        "a repeated live value leaves no gap", _unrepeated, ("apply",), ("original",)
    ),
    "null marker": Deviation("a null marker never marks", _no_null_marker, ("apply",)),
    "empty": Deviation("two empty lists are no error", _not_empty, after_error=True),
    "empty order": Deviation(
        "an empty order directive reverses nothing", _no_empty_order, ("apply",)
    ),
}


class Verdict(NamedTuple):
    """What became of a case: ``reason`` is "" for agreement, a deviation's name, or
    None: unexplained.
    """

    case: Case
    ours: JSONObject
    theirs: JSONObject
    reason: str | None


def compare(go: Reference, cases: Sequence[Case]) -> list[Verdict]:
    """Ask both sides, and explain the differences."""
    answers = go.run([case.request for case in cases])
    verdicts = [
        _judged(case, answer) for case, answer in zip(cases, answers, strict=True)
    ]
    return [
        verdict if verdict.reason is not None else _explained(go, verdict)
        for verdict in verdicts
    ]


def _judged(case: Case, theirs: JSONObject) -> Verdict:
    own = ours(case)
    if agree(case, own, theirs):
        return Verdict(case, own, theirs, "")
    return Verdict(
        case, own, theirs, "1" if agree_as_stored(case, own, theirs) else None
    )


def _explained(go: Reference, verdict: Verdict) -> Verdict:
    for explain in EXPLANATIONS:
        reason = explain(go, verdict)
        if reason is not None:
            return verdict._replace(reason=reason)
    return verdict


def _asked(go: Reference, case: Case) -> Verdict:
    return _judged(case, go.run([case.request])[0])


def _by_one_deviation(go: Reference, verdict: Verdict) -> str | None:
    for name, deviation in DEVIATIONS.items():
        case = deviation.rewrite(verdict.case, verdict.theirs)
        if case is not None and _asked(go, case).reason is not None:
            return name
    return None


def _by_deviations(go: Reference, verdict: Verdict) -> str | None:
    """Take one deviation after the other out of a case until both sides agree; chance
    (2) before all others.
    """
    names: list[str] = []
    for name, deviation in [("2", CHANCE), *DEVIATIONS.items(), *DEVIATIONS.items()]:
        case = deviation.rewrite(verdict.case, verdict.theirs)
        if case is None or name in names:
            continue
        names.append(name)
        verdict = _asked(go, case)
        if verdict.reason is not None:
            return " and ".join(names)
    return None


def _by_chance(go: Reference, verdict: Verdict) -> str | None:
    """Deviation 2: the reference's own outcome is random, and ours is among its
    outcomes.
    """
    answers = go.run([{**verdict.case.request, "repeat": 400}])[0].get("results")
    outcomes = (
        [answer for answer in answers if isinstance(answer, dict)]
        if isinstance(answers, list)
        else []
    )
    return (
        "2"
        if any(_judged(verdict.case, one).reason is not None for one in outcomes)
        else None
    )


def _by_lookup(go: Reference, verdict: Verdict) -> str | None:
    """The reference's own two ways to look a schema up disagree; ours is one of its
    answers.
    """
    schema = verdict.case.subject.schema
    if not schema.kind or not isinstance(schema.type, ObjectType):
        return None
    lookup: JSONObject = {
        "lookup": "openapi",
        "definitions_name": _defined(go),
        "root": schema.type.name,
    }
    case = verdict.case._replace(
        subject=verdict.case.subject._replace(reference=lookup)
    )
    asked = _asked(go, case)
    explained = (
        asked.reason is not None or _by_deviations(go, asked) or _by_panic(go, asked)
    )
    return "lookups" if explained else None


def _by_equality(go: Reference, verdict: Verdict) -> str | None:
    """Deviation 21: the reference looks for faults in values that are equal everywhere,
    and here there is one.
    """
    if (
        "result" not in verdict.ours
        or "result" in verdict.theirs
        or verdict.case.op not in _DIFFS
    ):
        return None
    given = {
        name: document
        for name, document in verdict.case.documents.items()
        if document is not None
    }
    left = _unequal([*given.values()], verdict.case.subject.schema.type)
    unequal = dict(zip(given, left, strict=True))
    asked = _asked(
        go, verdict.case._replace(documents={**verdict.case.documents, **unequal})
    )
    explained = asked.reason is not None or _by_deviations(go, asked) is not None
    return "21" if explained and not same({**unequal}, {**given}) else None


def _unequal(sides: Sequence[JSONObject], schema: Type) -> list[JSONObject]:
    """Take out of objects the objects and lists that are equal in all of them that have
    anything there.
    """
    left: list[JSONObject] = [{} for _ in sides]
    for name in dict.fromkeys(itertools.chain(*sides)):
        values = [side.get(name, ABSENT) for side in sides]
        for side, kept in zip(
            left, _unequal_values(values, schema.field(name)), strict=True
        ):
            if kept is not ABSENT:
                side[name] = kept
    return left


def _unequal_values(
    values: Sequence[JSON | Absent], field: Field | None
) -> Sequence[JSON | Absent]:
    present = [value for value in values if _says(value)]
    if len(present) < 2:
        return values
    if all(same(value, present[0]) for value in present):
        scalar = isinstance(present[0], str | int | float)
        return values if scalar else [ABSENT] * len(values)
    objects = [value for value in present if isinstance(value, dict)]
    lists = [value for value in present if isinstance(value, list)]
    left: Sequence[JSON] = present
    if len(objects) == len(present):
        left = _unequal(objects, OPAQUE if field is None else field.type)
    elif len(lists) == len(present) and field is not None and field.merge_key:
        left = [_unequal_elements(elements, lists, field) for elements in lists]
    remaining = iter(left)
    return [next(remaining) if _says(value) else value for value in values]


def _says(value: JSON | Absent) -> TypeGuard[JSON]:
    return (
        value is not ABSENT
        and value is not None
        and not (isinstance(value, dict | list) and not value)
    )


def _unequal_elements(
    elements: Sequence[JSON], lists: Sequence[Sequence[JSON]], field: Field
) -> list[JSON]:
    """Leave of each element what differs from its namesakes, and its merge key."""

    def left(element: JSON) -> JSON:
        name = element.get(field.merge_key) if isinstance(element, dict) else None
        twins = [
            e
            for other in lists
            for e in other
            if isinstance(e, dict) and same(e.get(field.merge_key), name)
        ]
        if not isinstance(element, dict) or len(twins) < 2:
            return element
        at = next(index for index, twin in enumerate(twins) if twin is element)
        return {**_unequal(twins, field.type.items)[at], field.merge_key: name}

    return [*map(left, elements)]


def _by_panic(_go: Reference, verdict: Verdict) -> str | None:
    """The reference panics on a structure where a scalar belongs, such as the value of
    ``$patch``.
    """
    cause = str(verdict.theirs.get("panic"))
    return (
        "panic"
        if any(text in cause for text in ("uncomparable type", "unhashable type"))
        else None
    )


def _by_first_conflict(go: Reference, verdict: Verdict) -> str | None:
    """The reference stops at the first conflict, before what it cannot compare either:
    a side with itself.
    """
    if (
        verdict.case.op != "conflicts"
        or "code" not in verdict.ours
        or verdict.theirs.get("result") is not True
    ):
        return None
    if verdict.ours["code"] == "mixed-list":  # of two sides that are well by themselves
        return "first conflict"
    alone = [
        verdict.case._replace(documents={"left": one, "right": one})
        for one in verdict.case.documents.values()
    ]
    answers = go.run([case.request for case in alone])
    return None if all("result" in answer for answer in answers) else "first conflict"


Explanation: TypeAlias = Callable[[Reference, Verdict], "str | None"]
EXPLANATIONS: Final[tuple[Explanation, ...]] = (
    _by_one_deviation,
    _by_chance,
    _by_deviations,
    _by_equality,
    _by_lookup,
    _by_first_conflict,
    _by_panic,
)


@cache
def _defined(go: Reference) -> str:
    """Teach the reference the definitions of the newest Kubernetes as published, once."""
    version = f"v{kubernetes().version}.0-local"
    path = (
        files("kubernetes_validate")
        / "kubernetes-json-schema"
        / version
        / "_definitions.json"
    )
    text = path.read_text().replace("#/$defs/", "#/components/schemas/")
    go.define("kubernetes", json.loads(text)["$defs"])
    return "kubernetes"


def prepared(go: Reference) -> Reference:
    """Teach the reference the schemas that are not built into it."""
    go.define("every", EVERY)
    return go


def by_name() -> Mapping[str, Subject]:
    """Return the schemas under test by name."""
    return {subject.name: subject for subject in subjects()}


def shown(verdict: Verdict) -> str:
    """Print a verdict so that it can be asked again."""
    return json.dumps(
        {
            "request": verdict.case.request,
            "ours": verdict.ours,
            "theirs": verdict.theirs,
        }
    )
