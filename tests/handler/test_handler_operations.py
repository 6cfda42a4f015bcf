"""Create and replace, hooks, the options of a query, and retries."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Final

import pytest

from smp import handler
from smp.errors import DocumentError, ObjectError
from smp.handler import MERGE, Admission, Options
from smp.values import JSONObject
from tests.support.handler_objects import (
    DEPLOYMENT,
    MODIFIED,
    REPLICAS,
    STRICT,
    WEB,
    accepted,
    causes,
    dump,
    patch_web,
    refused,
    value_at,
)


def test_hooks_run_in_order_after_the_patch_and_before_unions() -> None:
    seen: list[object] = []

    def default(obj: JSONObject) -> JSONObject:
        seen.append(value_at(obj, "spec", "replicas"))
        return {
            **obj,
            "spec": {**value_at(obj, "spec"), "strategy": {"type": "Recreate"}},
        }

    def admit(request: Admission) -> JSONObject:
        seen.append(
            (
                request.operation,
                request.old is WEB,
                value_at(request.new, "spec", "strategy"),
                request.dry_run,
            )
        )
        strategy = {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}
        return {
            **request.new,
            "spec": {**value_at(request.new, "spec"), "strategy": strategy},
        }

    outcome = accepted(
        patch_web(REPLICAS, options=Options(default=default, admit=admit, dry_run=True))
    )
    assert seen == [5, ("UPDATE", True, {"type": "Recreate"}, True)]
    assert value_at(outcome.object, "spec", "strategy") == {"type": "Recreate"}


def test_a_hook_that_makes_no_difference_leaves_a_no_op_alone() -> None:
    outcome = accepted(
        patch_web(
            {},
            options=Options(default=copy.deepcopy, admit=lambda request: request.new),
        )
    )
    assert outcome.object is WEB


def test_a_hook_refuses() -> None:
    def deny(_: object) -> JSONObject:
        raise handler.ForbiddenError("not on Fridays")

    outcome = patch_web(REPLICAS, options=Options(admit=deny))
    assert isinstance(outcome, handler.Refused)
    assert outcome.code == 403
    assert (
        outcome.status["message"]
        == 'deployments.apps "web" is forbidden: not on Fridays'
    )
    assert outcome.status["details"] == {
        "name": "web",
        "group": "apps",
        "kind": "deployments",
    }


def test_a_hook_that_refuses_in_general() -> None:
    def deny(_: object) -> JSONObject:
        raise handler.StatusError("no")

    assert (
        refused(patch_web(REPLICAS, options=Options(default=deny))).status["message"]
        == "no"
    )


@pytest.mark.parametrize("error", [KeyError("mine"), RecursionError("mine")], ids=repr)
def test_the_error_of_a_hook_is_its_callers(error: Exception) -> None:
    def fail(_: object) -> JSONObject:
        raise error

    for options in (Options(default=fail), Options(admit=fail)):
        with pytest.raises(type(error), match="mine"):
            patch_web(REPLICAS, options=options)


def test_creating() -> None:
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
    several: Any = copy.deepcopy(WEB)
    several["spec"]["template"]["spec"]["volumes"] = [
        {"name": "a", "emptyDir": {}, "nfs": {}}
    ]
    assert [cause[1] for cause in causes(verb(dump(several)))] == [
        "spec.template.spec.volumes[0]"
    ]
    for body in (
        b"",
        b"[]",
        b"null",
        dump({**WEB, "kind": "Pod"}),
        dump({**WEB, "spec": "x"}),
    ):
        assert refused(verb(body)).code == 400


def test_replacing_is_locked_by_the_resource_version() -> None:
    new: Any = copy.deepcopy(WEB)
    new["spec"]["replicas"] = 2
    assert accepted(handler.replace(WEB, dump(new), DEPLOYMENT)).changed
    new["metadata"]["resourceVersion"] = "6"
    assert (
        refused(handler.replace(WEB, dump(new), DEPLOYMENT)).status["message"]
        == MODIFIED
    )


def test_a_stored_object_that_is_none_is_the_callers_error() -> None:
    with pytest.raises(DocumentError):
        handler.patch(b"{", b"{}", MERGE, DEPLOYMENT)
    with pytest.raises(ObjectError):
        handler.patch(b"[]", b"{}", MERGE, DEPLOYMENT)


def test_a_query_changes_the_options() -> None:
    asked = handler.requested(
        Options(), "fieldManager=kubectl&fieldValidation=Strict&dryRun=All&pretty"
    )
    assert asked == Options(field_validation="Strict", dry_run=True)
    assert handler.requested(STRICT, "fieldManager=kubectl") is STRICT
    assert handler.requested(STRICT, "fieldValidation=") == Options(
        field_validation="Warn"
    )


def test_a_query_that_asks_for_what_there_is_not() -> None:
    # Go: k8s.io/apimachinery, meta/v1/validation, ValidateDryRun and
    # ValidateFieldValidation.
    with pytest.raises(handler.InvalidError) as caught:
        handler.requested(Options(), "dryRun=Some&fieldValidation=strict")
    outcome = handler.to_status(caught.value, kind="PatchOptions", group="meta.k8s.io")
    values = 'supported values: "", "Ignore", "Strict", "Warn"'
    assert causes(outcome) == [
        (
            "FieldValueNotSupported",
            "dryRun",
            'Unsupported value: ["Some"]: supported values: "All"',
        ),
        (
            "FieldValueNotSupported",
            "fieldValidation",
            f'Unsupported value: "strict": {values}',
        ),
    ]
    assert str(outcome.status["message"]).startswith(
        'PatchOptions.meta.k8s.io "" is invalid: [dryRun: '
    )


class Register:
    """A value with a version; others write it a few times, each time just before we
    would.
    """

    def __init__(self, others: int) -> None:
        self.value, self.others, self.reads = 0, others, 0

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


def test_retrying_computes_from_the_fresh_value() -> None:
    register = Register(others=3)
    assert handler.retry(register.read, lambda fresh: fresh + 1, register.write) == 31
    assert register.reads == 4


def test_retrying_gives_up_with_a_conflict() -> None:
    register = Register(others=9)
    with pytest.raises(handler.ModifiedError) as caught:
        handler.retry(
            register.read, lambda fresh: fresh + 1, register.write, attempts=2
        )
    assert (register.reads, caught.value.status) == (2, 409)
