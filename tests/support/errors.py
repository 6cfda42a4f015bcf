"""What has to be true of every error that a user of the library gets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from smp.errors import SmpError
from smp.paths import Path
from smp.values import JSON

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
        parent = Path(error.path.steps[:-1]).pointer
        assert any(_leads_into(document, parent) for document in documents), error


@contextmanager
def only_reported_errors() -> Iterator[None]:
    """Let a block end in an error of the library; it has to be well reported."""
    try:
        yield
    except SmpError as error:
        assert_reported(error)


def _leads_into(document: JSON, pointer: str) -> bool:
    """Tell whether a JSON Pointer (RFC 6901) leads to a value of a document."""
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(document, dict) and name in document:
            document = document[name]
        elif isinstance(document, list) and name.isdigit():
            if int(name) >= len(document):
                return False
            document = document[int(name)]
        else:
            return False
    return True
