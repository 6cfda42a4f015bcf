"""What has to be true of every error that a user of the library gets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from smp._values.values import ABSENT, JSON, as_list, as_object, same
from smp.errors import SmpError
from smp.paths import Element, Step

_CODE: Final = re.compile(r"[a-z]+(-[a-z0-9]+)+|conflict")
_STATUSES: Final = {400, 409, 413, 415, 422}


def assert_reported(error: SmpError, *documents: JSON) -> None:
    """Assert that an error says what is wrong in a form that programs can use.

    It is of a class of its own, with a code in kebab-case and the status of a client
    error. Its text begins with the path. With documents given, the path leads to an
    existing place in one of them, or to a missing member of an existing place.
    """
    assert type(error) is not SmpError
    assert _CODE.fullmatch(error.code), error.code
    assert error.status in _STATUSES
    assert error.problem
    if error.path.steps:
        assert str(error).startswith(f"{error.path}: ")
    if documents:
        parents = error.path.steps[:-1]
        assert any(_leads_into(document, parents) for document in documents), error


@contextmanager
def only_reported_errors() -> Iterator[None]:
    """Let a block end in an error of the library; it has to be well reported."""
    try:
        yield
    except SmpError as error:
        assert_reported(error)


def _leads_into(document: JSON, steps: tuple[Step, ...]) -> bool:
    """Tell whether a path leads to a value of a document.

    An element with a patch merge key is found by it: its index is that in the merged
    list, which may be longer than the lists of the documents.
    """
    if not steps:
        return True
    step, rest = steps[0], steps[1:]
    if isinstance(step, str):
        members = as_object(document)
        return step in members and _leads_into(members[step], rest)
    elements = as_list(document)
    if isinstance(step, int):
        return step < len(elements) and _leads_into(elements[step], rest)
    assert isinstance(step, Element)
    for element in elements:
        key = as_object(element).get(step.merge_key, ABSENT)
        if same(key, step.value) and _leads_into(element, rest):
            return True
    return False
