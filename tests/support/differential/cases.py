"""One question to both sides, made from a seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeAlias

from smp._values.values import JSONObject
from smp.errors import SmpError
from smp.schema.model import Schema
from tests.support.engines import three_way_patch
from tests.support.makers import Maker, Subject, subjects

Documents: TypeAlias = dict[str, JSONObject | None]


class Case(NamedTuple):
    """One question to both sides.

    ``options`` are those of a three-way patch: "preconditions" and "no-overwrite".
    """

    op: str
    subject: Subject
    documents: Documents
    options: tuple[str, ...] = ()

    @property
    def request(self) -> JSONObject:
        """The question as the reference program reads it."""
        options: JSONObject = {}
        if "preconditions" in self.options:
            options["preconditions"] = True
        if "no-overwrite" in self.options:
            options["overwrite"] = False
        return {"op": self.op, **self.subject.reference, **self.documents, **options}

    def document(self, name: str) -> JSONObject:
        """Return a document that this operation cannot do without."""
        document = self.documents[name]
        assert document is not None
        return document


def random_case(op: str, seed: int, *, broken: bool = False) -> Case:
    """Make the case of an operation and a seed.

    In a broken case about half of the documents have faults.
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


def subjects_by_name() -> Mapping[str, Subject]:
    """Return the schemas under test by name."""
    return {subject.name: subject for subject in subjects()}


def _for_apply(maker: Maker, schema: Schema) -> Documents:
    if maker.random.random() < 0.6:
        live = maker.object(schema)
        return {"original": live, "patch": maker.patch(live, schema)}
    # What kubectl would send: order directives beside deletions, for lists that have
    # elements of other owners.
    last_applied, modified, live = maker.triple(schema)
    try:
        patch = three_way_patch(last_applied, modified, live, schema)
    except SmpError:
        patch = maker.patch(live, schema)
    return {"original": live, "patch": patch}


def _for_two_way(maker: Maker, schema: Schema) -> Documents:
    original = maker.object(schema)
    return {"original": original, "modified": maker.changed(original, schema)}


def _for_three_way(maker: Maker, schema: Schema) -> Documents:
    last_applied, modified, live = maker.triple(schema)
    return {"original": last_applied, "modified": modified, "current": live}


def _for_conflicts(maker: Maker, schema: Schema) -> Documents:
    live = maker.object(schema)
    left = maker.patch(live, schema)
    if maker.random.random() < 0.5:
        right = maker.patch(live, schema)
    else:
        right = maker.changed(left, schema)
    return {"left": left, "right": right}


_DOCUMENTS: Final[dict[str, Callable[[Maker, Schema], Documents]]] = {
    "apply": _for_apply,
    "two_way": _for_two_way,
    "three_way": _for_three_way,
    "conflicts": _for_conflicts,
}
_PATCHES: Final = ("patch", "left", "right")
OPERATIONS: Final = tuple(_DOCUMENTS)
