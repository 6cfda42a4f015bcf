"""What a kube-apiserver said of mutated objects, and what this library says of them.

tests.record.refusals has the form of the recording.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator
from functools import cache, partial
from typing import Any, NamedTuple

import smp
from smp import handler
from smp._values.values import ABSENT, JSONObject, as_list, as_object
from smp.schema.catalog import Catalog
from smp.schema.model import Schema
from smp.schema.resources import Resource, Resources
from smp.server.objects import subresources
from tests.record.refusals import FILE
from tests.support.mutated_objects import Mutation, bases, mutated
from tests.support.typed_objects import VERSION

# The causes of a Status: reason, field and message.
Causes = tuple[tuple[str, str, str], ...]
_ACCEPTED = (200, 201)
_INVALID = 422


class Refusal(NamedTuple):
    """One request: whether the server refused it, and whether this library does.

    ``expected`` and ``causes`` are those of the server and of this library, None where
    the request is accepted.
    """

    kind: str
    verb: str
    mutation: Mutation
    expected: Causes | None
    causes: Causes | None


def lines() -> list[dict[str, Any]]:
    """Return the lines of the recording; the first one names the server."""
    return [
        json.loads(line) for line in lzma.decompress(FILE.read_bytes()).splitlines()
    ]


@cache
def catalog() -> Catalog:
    """Return the types of the recorded version."""
    return smp.kubernetes(VERSION)


@cache
def resources() -> dict[tuple[str, str], Resource]:
    """Return the resources by apiVersion and kind."""
    served = Resources.builtin(catalog())
    return {(resource.api_version, resource.kind): resource for resource in served}


def compared(share: int = 1) -> Iterator[Refusal]:
    """Yield the recorded requests, of so many one."""
    originals = bases()
    number = 0
    for line in lines()[1:]:
        base = originals[line["base"]]
        for step, code, *rest in line["answers"]:
            number += 1
            # A wrong type is 400, a dry run may conflict: nothing was validated.
            if number % share or code not in (*_ACCEPTED, _INVALID):
                continue
            verb, path, *value = step
            mutation = Mutation(tuple(path), value[0] if value else ABSENT)
            expected: Causes | None = None
            if code == _INVALID:
                expected = tuple((cause[0], cause[1], cause[2]) for cause in rest[0])
            causes = _causes(verb, base, line["stored"], mutation)
            yield Refusal(str(base["kind"]), verb, mutation, expected, causes)


def _causes(
    verb: str, base: JSONObject, stored: JSONObject, mutation: Mutation
) -> Causes | None:
    """Return the causes for which the handler refuses a request, or None."""
    schema = catalog().schema_of(base)
    options = _options(schema)
    if verb == "POST":
        body = json.dumps(mutated(base, mutation))
        outcome = handler.create(body, schema, options)
    else:
        body = json.dumps(mutated(stored, mutation))
        outcome = handler.replace(stored, body, schema, options)
    if isinstance(outcome, handler.Accepted):
        return None
    causes = as_list(as_object(outcome.status.get("details")).get("causes"))
    found = []
    for listed in causes:
        cause = as_object(listed)
        reason, field = str(cause.get("reason")), str(cause.get("field"))
        found.append((reason, field, str(cause.get("message"))))
    return tuple(found)


def _options(schema: Schema) -> handler.Options:
    """Return the options that the server has for a built-in kind."""
    resource = resources()[schema.api_version, schema.kind]
    return handler.Options(
        typed=True,
        validation=True,
        manager="test",
        profile="validate-only",
        prepare=partial(_prepared, resource),
    )


def _prepared(
    resource: Resource, old: JSONObject | None, new: JSONObject
) -> JSONObject:
    if old is None:
        return subresources.on_create(new, resource)
    return subresources.on_update(old, new, resource)
