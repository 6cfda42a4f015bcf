"""Texts that are longer than any number or name: nothing crashes, nothing stays."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

import pytest

import smp
from smp import kubernetes
from smp._storage.defaults import with_defaults
from smp._values.values import JSON, JSONObject
from smp.errors import SmpError
from smp.handler import Options, create
from smp.lint import lint
from smp.managed_fields import FieldSet
from smp.validation import validate_object

POD: Final = kubernetes().schema("v1", "Pod")
POLICY: Final = kubernetes().schema("networking.k8s.io/v1", "NetworkPolicy")
# Python reads at most 4,300 digits.
DIGITS: Final = "9" * 5000
ZEROS: Final = "0" * 5000


def pod(
    quantity: JSON, name: str = "web", limits: JSONObject | None = None
) -> JSONObject:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "containers": [
                {
                    "name": name,
                    "image": "nginx",
                    "resources": {"requests": {"cpu": quantity}, "limits": limits},
                }
            ]
        },
    }


OPERATIONS: Final[Mapping[str, Callable[[JSON], object]]] = {
    "defaults": lambda quantity: with_defaults(pod(quantity), POD),
    "compare": lambda quantity: smp.compare(pod(quantity), pod("1"), POD),
    "apply": lambda quantity: smp.three_way_apply(
        pod(quantity), pod("1"), pod(quantity), POD, defaults=True
    ),
    "explain": lambda quantity: smp.explain_apply(
        pod(quantity), pod("1"), pod(quantity), POD
    ),
    "validate": lambda quantity: validate_object(pod(quantity), POD),
    "lint": lambda quantity: lint(pod(quantity), POD, "manifest"),
}


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=[*OPERATIONS])
@pytest.mark.parametrize(
    "quantity",
    [
        *(DIGITS, f"-{DIGITS}", f"0.{DIGITS}", f"{DIGITS}Ki", f"{DIGITS}m"),
        *(f"1{ZEROS}", f"0.{ZEROS}1", f"1e{DIGITS}", 10**5000),
    ],
    ids=lambda quantity: f"{str(quantity)[:3]}" if isinstance(quantity, str) else "int",
)
def test_a_long_quantity_leads_to_no_other_error(
    operation: Callable[[JSON], object], quantity: JSON
) -> None:
    with suppress(SmpError):
        operation(quantity)


@pytest.mark.parametrize(("request_", "is_refused"), [("1e1000", 1), ("-1e1000", 0)])
def test_a_request_is_compared_with_its_limit(request_: str, is_refused: int) -> None:
    obj = pod(request_, limits={"cpu": "1"})
    found = [violation.message for violation in validate_object(obj, POD)]
    above = f'Invalid value: "{request_}": must be less than or equal to cpu limit of 1'
    below = f'Invalid value: "{request_}": must be greater than or equal to 0'
    # Go: resource.Quantity.Cmp and Sign, as recorded in tests/data/scalars.
    assert (found.count(above), found.count(below)) == (is_refused, 1 - is_refused)


def test_a_long_quantity_is_stored_as_any_other() -> None:
    # tests/data/scalars has one that Go reads and prints.
    body = json.dumps(pod(DIGITS)).encode()
    outcome = create(body, POD, Options(typed=True))
    assert (outcome.code, DIGITS in outcome.body.decode()) == (201, True)


@pytest.mark.parametrize("index", [DIGITS, f"-{DIGITS}"])
def test_a_long_index_in_managed_fields_is_out_of_range(index: str) -> None:
    with pytest.raises(SmpError, match="out of range"):
        FieldSet.from_v1({f"i:{index}": {}})


def test_a_range_with_a_long_prefix_is_invalid() -> None:
    policy: JSONObject = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "podSelector": {},
            "ingress": [{"from": [{"ipBlock": {"cidr": f"10.0.0.0/{DIGITS}"}}]}],
        },
    }
    (violation,) = validate_object(policy, POLICY)
    assert "must be a valid CIDR value" in violation.message


def with_entry(text: str) -> JSONObject:
    entry: JSONObject = {
        "manager": "kubectl",
        "operation": "Update",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {f'k:{{"name":"{text}"}}': {}, f'v:"{text}"': {}},
    }
    obj = pod("1")
    return {**obj, "metadata": {"name": "web", "managedFields": [entry]}}


@pytest.mark.parametrize(
    "make",
    [
        lambda text: pod("1", name=text),
        lambda text: pod(f"1{text}"),
        lambda text: pod(f"0.{'1' * len(text)}"),
        with_entry,
    ],
    ids=["names", "what is no quantity", "quantities", "path elements"],
)
def test_long_texts_are_not_remembered(make: Callable[[str], JSONObject]) -> None:
    """What a client sends must not stay in the memory of a server."""
    options = Options(typed=True, validation=True, manager="test")
    size = 1 << 20

    def send(number: int) -> None:
        text = f"{number}-".ljust(size, "x")
        create(json.dumps(make(text)).encode(), POD, options)

    send(0)
    tracemalloc.start()
    try:
        for number in range(1, 6):
            send(number)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < size
