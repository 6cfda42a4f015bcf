"""Create and replace, hooks, the options of a query, and retries."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Final

import pytest

from smp import handler
from smp._values.values import JSONObject
from smp.errors import DocumentError, ObjectError
from smp.handler import MERGE, Admission, Options
from tests.support.handler_objects import (
    DEPLOYMENT,
    MODIFIED,
    REPLICAS,
    STRICT,
    WEB,
    accepted,
    causes,
    dump,
    message_of,
    patch_web,
    refused,
    value_at,
)


def test_hooks_run_in_order_after_the_patch_and_before_unions() -> None:
    seen: list[object] = []

    def default(obj: JSONObject) -> JSONObject:
        seen.append(value_at(obj, "spec", "replicas"))
        spec = {**value_at(obj, "spec"), "strategy": {"type": "Recreate"}}
        return {**obj, "spec": spec}

    def admit(request: Admission) -> JSONObject:
        assert request.old is WEB
        strategy = value_at(request.new, "spec", "strategy")
        seen.append((request.operation, strategy, request.dry_run))
        both = {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}
        spec = {**value_at(request.new, "spec"), "strategy": both}
        return {**request.new, "spec": spec}

    options = Options(default=default, admit=admit, dry_run=True)
    outcome = accepted(patch_web(REPLICAS, options=options))
    assert seen == [5, ("UPDATE", {"type": "Recreate"}, True)]
    assert value_at(outcome.object, "spec", "strategy") == {"type": "Recreate"}


def test_hooks_without_effect_give_back_the_stored_object() -> None:
    options = Options(default=copy.deepcopy, admit=lambda request: request.new)
    outcome = accepted(patch_web({}, options=options))
    assert outcome.object is WEB


def test_a_hook_can_forbid_a_patch() -> None:
    def deny(_: object) -> JSONObject:
        raise handler.ForbiddenError("not on Fridays")

    outcome = patch_web(REPLICAS, options=Options(admit=deny))
    assert isinstance(outcome, handler.Refused)
    assert outcome.code == 403
    status = outcome.status
    assert status["message"] == 'deployments.apps "web" is forbidden: not on Fridays'
    assert status["details"] == {"name": "web", "group": "apps", "kind": "deployments"}


def test_a_status_error_of_a_hook_is_a_refusal() -> None:
    def deny(_: object) -> JSONObject:
        raise handler.StatusError("no")

    assert message_of(patch_web(REPLICAS, options=Options(default=deny))) == "no"


@pytest.mark.parametrize("error", [KeyError("mine"), RecursionError("mine")], ids=repr)
def test_any_other_error_of_a_hook_is_raised(error: Exception) -> None:
    def fail(_: object) -> JSONObject:
        raise error

    for options in (Options(default=fail), Options(admit=fail)):
        with pytest.raises(type(error), match="mine"):
            patch_web(REPLICAS, options=options)


def test_create_fills_in_the_kind_and_runs_admission() -> None:
    seen: list[Admission] = []

    def admit(request: Admission) -> JSONObject:
        seen.append(request)
        return request.new

    body = {"metadata": {"generateName": "web-"}, "spec": {"replicas": 1}}
    outcome = accepted(handler.create(dump(body), DEPLOYMENT, Options(admit=admit)))
    assert outcome.object == {"apiVersion": "apps/v1", "kind": "Deployment", **body}
    assert (outcome.code, outcome.changed) == (201, True)
    assert [(request.operation, request.old) for request in seen] == [("CREATE", None)]


Verb = Callable[[bytes], handler.Outcome]
VERBS: Final[dict[str, Verb]] = {
    "create": lambda body: handler.create(body, DEPLOYMENT),
    "replace": lambda body: handler.replace(WEB, body, DEPLOYMENT),
}


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_a_whole_object_is_checked_as_a_patched_one(verb: Verb) -> None:
    invalid: Any = copy.deepcopy(WEB)
    volume = {"name": "a", "emptyDir": {}, "nfs": {}}
    invalid["spec"]["template"]["spec"]["volumes"] = [volume]
    # Go: k8s.io/kubernetes, pkg/apis/core/validation, validateVolumeSource.
    assert causes(verb(dump(invalid))) == [
        (
            "FieldValueForbidden",
            "spec.template.spec.volumes[0].nfs",
            "Forbidden: may not specify more than 1 volume type",
        )
    ]
    for body in (
        b"",
        b"[]",
        b"null",
        dump({**WEB, "kind": "Pod"}),
        dump({**WEB, "spec": "x"}),
    ):
        assert refused(verb(body)).code == 400


def test_replacing_an_old_resource_version_is_a_conflict() -> None:
    new: Any = copy.deepcopy(WEB)
    new["spec"]["replicas"] = 2
    outcome = accepted(handler.replace(WEB, dump(new), DEPLOYMENT))
    assert outcome.object == new
    new["metadata"]["resourceVersion"] = "6"
    assert message_of(handler.replace(WEB, dump(new), DEPLOYMENT)) == MODIFIED


def test_an_invalid_stored_object_is_an_error_of_the_caller() -> None:
    with pytest.raises(DocumentError):
        handler.patch(b"{", b"{}", MERGE, DEPLOYMENT)
    with pytest.raises(ObjectError):
        handler.patch(b"[]", b"{}", MERGE, DEPLOYMENT)


def test_a_query_changes_the_options() -> None:
    query = "fieldManager=kubectl&fieldValidation=Strict&dryRun=All&pretty"
    options = handler.requested(Options(), query)
    assert options == Options(
        field_validation="Strict", dry_run=True, manager="kubectl"
    )
    assert handler.requested(STRICT, "pretty=true") is STRICT
    options = handler.requested(STRICT, "fieldValidation=")
    assert options == Options(field_validation="Warn")


def test_a_query_with_unsupported_values_is_invalid() -> None:
    # Go: k8s.io/apimachinery, meta/v1/validation, ValidateDryRun and
    # ValidateFieldValidation.
    with pytest.raises(handler.InvalidError) as caught:
        handler.requested(Options(), "dryRun=Some&fieldValidation=strict")
    outcome = handler.to_status(caught.value)
    dry_run = 'Unsupported value: ["Some"]: supported values: "All"'
    field_validation = (
        'Unsupported value: "strict": supported values: "", "Ignore", "Strict", "Warn"'
    )
    assert causes(outcome) == [
        ("FieldValueNotSupported", "dryRun", dry_run),
        ("FieldValueNotSupported", "fieldValidation", field_validation),
    ]
    start = 'PatchOptions.meta.k8s.io "" is invalid: [dryRun: '
    assert message_of(outcome).startswith(start)


class VersionedValue:
    """A value that is its own version, and that other writers change, too.

    Each of the first writes comes after another writer has added 10, and fails.
    """

    def __init__(self, others: int) -> None:
        self.value = 0
        self.others = others
        self.reads = 0

    def read(self) -> int:
        self.reads += 1
        return self.value

    def write(self, fresh: int, computed: int) -> int | None:
        if self.others:
            self.others -= 1
            self.value += 10
        if fresh != self.value:
            return None
        self.value = computed
        return computed


def add_one(value: int) -> int:
    return value + 1


def test_a_retry_computes_from_the_fresh_value() -> None:
    stored = VersionedValue(others=3)
    assert handler.retry(stored.read, add_one, stored.write) == 31
    assert stored.reads == 4


def test_too_many_retries_are_a_conflict() -> None:
    stored = VersionedValue(others=9)
    with pytest.raises(handler.ModifiedError) as caught:
        handler.retry(stored.read, add_one, stored.write, attempts=2)
    assert (stored.reads, caught.value.status) == (2, 409)
