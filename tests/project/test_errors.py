"""The public exceptions: what they print, and what they offer as data."""

from __future__ import annotations

import pytest

import smp
from smp.errors import ConflictError, Option, SmpError, UnknownFieldError
from smp.paths import Path


class TestTheHintOfAnError:
    """Advice in words, and an option of the library as data."""

    def test_without_advice_it_is_empty(self) -> None:
        error = SmpError("it failed")
        assert not error.hint
        assert str(error) == "it failed"

    def test_advice_is_the_hint(self) -> None:
        error = SmpError("it failed", hint="try again")
        assert error.hint == "try again"
        assert str(error) == "it failed (try again)"

    def test_an_option_is_worded_as_a_keyword_argument(self) -> None:
        option = Option(name="overwrite", value=True, effect="lets it pass")
        assert (
            SmpError("it failed", option=option).hint == "overwrite=True lets it pass"
        )

    def test_advice_comes_before_the_option(self) -> None:
        option = Option(name="unknown_fields", value="merge", effect="merges it")
        error = SmpError("it failed", hint="a misspelled name", option=option)
        assert error.hint == 'a misspelled name; unknown_fields="merge" merges it'

    def test_a_conflict_names_the_option_that_resolves_it(self) -> None:
        error = ConflictError(())
        assert error.option is not None
        assert (error.option.name, error.option.value) == ("overwrite", True)
        assert error.hint == "overwrite=True lets the manifest win"

    def test_an_unknown_field_names_the_option_that_merges_it(self) -> None:
        schema = smp.kubernetes().schema("apps/v1", "Deployment")
        with pytest.raises(UnknownFieldError) as caught:
            schema.descend("spec", "tempate")
        assert caught.value.option is not None
        assert caught.value.option.name == "unknown_fields"
        assert 'unknown_fields="merge" merges it by RFC 7396' in caught.value.hint


class TestTheReprOfAnError:
    """Class, code, path and problem, for logs and debuggers."""

    def test_it_shows_what_identifies_the_error(self) -> None:
        error = SmpError("it failed", code="failed", path=Path(("spec", "replicas")))
        assert repr(error) == (
            "SmpError(code='failed', path='spec.replicas', problem='it failed')"
        )

    def test_a_subclass_shows_its_own_name_and_code(self) -> None:
        assert repr(smp.PatchError("it failed")) == (
            "PatchError(code='invalid-patch', path='', problem='it failed')"
        )
