"""Record what a real kube-apiserver says of objects that are wrong in one place.

``SMP_KUBE_APISERVER=build python -m tests.record.refusals`` asks it with
``dryRun=All`` to create each mutation of tests.support.mutated_objects, and to update
the unchanged object to it, and writes tests/data/validation/answers.jsonl.xz. The
first line has the version of the server. The others are, in the order of the bases, one
line for each: ``base`` is its number, ``stored`` what the server made of it, and
``answers`` are ``[verb, path, value]`` with the code of the answer and, of a 422, its
causes as ``[reason, field, message]``. A value that is left out stands for ABSENT.
"""

from __future__ import annotations

import argparse
import json
import lzma
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final

from smp._values.values import JSON, Absent, JSONArray, JSONObject, as_list, as_object
from tests.support.apiserver import Answer, ApiServer, running, version
from tests.support.defaulted_manifests import resource_path
from tests.support.mutated_objects import Mutation, bases, mutated, mutations
from tests.support.paths import DATA

FILE: Final = DATA / "validation" / "answers.jsonl.xz"
_ACCEPTED: Final = (200, 201)
_INVALID: Final = 422
# Mutations of each base by each verb.
MOST: Final = 60
_SEED: Final = 1


def outcome(answer: Answer) -> JSONArray:
    """Return the code, and the causes of a refusal."""
    if answer.code != _INVALID:
        return [answer.code]
    causes: JSONArray = []
    for listed in as_list(as_object(answer.body.get("details")).get("causes")):
        cause = as_object(listed)
        causes.append([cause.get("reason"), cause.get("field"), cause.get("message")])
    return [answer.code, causes]


def _line(verb: str, mutation: Mutation, answer: Answer) -> JSONArray:
    step: JSONArray = [verb, [*mutation.path]]
    if not isinstance(mutation.value, Absent):
        step.append(mutation.value)
    return [step, *outcome(answer)]


def delete(server: ApiServer, at: str) -> None:
    """Delete an object, whatever finalizers it has."""
    for _ in range(2):
        server.request("DELETE", f"{at}?gracePeriodSeconds=0")
        free: JSONObject = {"metadata": {"finalizers": None}}
        server.request("PATCH", at, free, "application/merge-patch+json")


def recorded(server: ApiServer, most: int) -> Iterator[JSONObject]:
    """Yield the lines of the recording."""
    yield {"server": f"kube-apiserver {version()}"}
    random = Random(_SEED)
    for number, base in enumerate(bases()):
        every = mutations(base)
        path = resource_path(base)
        created = server.request("POST", path, base)
        if created.code not in _ACCEPTED:
            raise ValueError(f"{base}: {created.body}")
        name = as_object(base["metadata"])["name"]
        at = f"{path}/{name}"
        stored = server.request("GET", at).body
        metadata = as_object(stored["metadata"])
        answers: JSONArray = []
        chosen = every if len(every) <= most else random.sample(every, most)
        for mutation in chosen:
            # What an author updates is the stored object, changed in one place.
            changed = mutated(stored, mutation)
            answer = server.request("PUT", f"{at}?dryRun=All", changed)
            answers.append(_line("PUT", mutation, answer))
        delete(server, at)
        chosen = every if len(every) <= most else random.sample(every, most)
        for mutation in chosen:
            new = mutated(base, mutation)
            answer = server.request("POST", f"{path}?dryRun=All", new)
            answers.append(_line("POST", mutation, answer))
        metadata.pop("managedFields", None)
        yield {"base": number, "stored": stored, "answers": answers}


def main() -> None:
    """Record."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--most", type=int, default=MOST)
    parser.add_argument("--to", type=Path, default=FILE)
    arguments = parser.parse_args()
    with running() as server:
        lines: list[JSON] = [*recorded(server, arguments.most)]
    text = "".join([json.dumps(line, separators=(",", ":")) + "\n" for line in lines])
    arguments.to.write_bytes(
        lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME)
    )


if __name__ == "__main__":
    main()
