"""Tables of which each row is checked, in one test that names the rows that fail."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeAlias

import pytest

Test: TypeAlias = Callable[..., None]


def each_row(
    arguments: str | tuple[str, ...],
    rows: Iterable[Any] | Callable[[], Iterable[Any]],
    ids: Callable[[Any], object] = repr,
) -> Callable[[Test], Test]:
    """Call a test with each row, as ``pytest.mark.parametrize`` does, but as one test.

    This is for tables whose rows are checked faster than a test begins and ends.
    ``ids`` names a value of a row; a ``pytest.param`` has its own id. Rows that take
    long to make are those of a function: they are made when the test runs.
    """
    names = (arguments,) if isinstance(arguments, str) else arguments

    def decorate(test: Test) -> Test:
        @wraps(test)
        def check_rows(*instance: object, **fixtures: object) -> None:
            table = [*(rows() if callable(rows) else rows)]
            assert table, "the table is empty"
            failures: dict[str, Exception] = {}
            for number, row in enumerate(table):
                if isinstance(row, type(pytest.param())):
                    values, name = row.values, row.id
                else:
                    values = (row,) if isinstance(arguments, str) else row
                    name = "-".join(str(ids(value))[:80] for value in values)
                try:
                    chosen = dict(zip(names, values, strict=True))
                    test(*instance, **chosen, **fixtures)
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001
                    wrapped = AssertionError(f"{name}: {error}")
                    wrapped.__cause__ = error
                    failures[f"{number} {name}"] = wrapped
            if failures:
                message = f"{len(failures)} of {len(table)} rows: {', '.join(failures)}"
                raise ExceptionGroup(message, [*failures.values()])

        signature = inspect.signature(test)
        others = [
            each for each in signature.parameters.values() if each.name not in names
        ]
        seen_by_pytest = signature.replace(parameters=others)
        check_rows.__signature__ = seen_by_pytest  # type: ignore[attr-defined]
        return check_rows

    return decorate
