"""Record which definitions a kube-apiserver refuses, and where.

``python -m tests.record.definitions`` starts a kube-apiserver (tests.support.apiserver)
and asks it about the definitions of tests/data/custom_resources/definitions.yaml, each
with one or two changes of damages.yaml that the seed chooses: most do damage, some look
odd and are taken. It writes definitions.jsonl.xz beside them: the version of the server
and the seed, and then a line for each: the definition, its changes, the HTTP status,
and the reasons and fields of the causes.

``keyword_types.jsonl`` beside it has keywords of a schema, deep in a definition, with
values of other types; the server answers 400 where it cannot decode one.
"""

from __future__ import annotations

import json
import lzma
import random
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from typing import Any, Final, TypeAlias

import httpx
import yaml

from smp._values.values import JSONObject
from tests.support.apiserver import ApiServer, running, version
from tests.support.paths import DATA
from tests.support.server_definitions import definition_of

_DIRECTORY: Final = DATA / "custom_resources"
RECORD: Final = _DIRECTORY / "definitions.jsonl.xz"
KEYWORDS: Final = _DIRECTORY / "keyword_types.jsonl"
_SEED: Final = 20261124
_COUNT: Final = 560
_SELDOM: Final = 0.12
_OFTEN: Final = 0.45
_URL: Final = (
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    "?dryRun=All&fieldValidation=Ignore"
)
STRICT: Final = _URL.replace("Ignore", "Strict")
# Where a value is written; None takes it away.
Edit: TypeAlias = "tuple[list[Any], Any]"
# How often a change is of a kind.
_KINDS: Final = {
    "condition": 1,
    "default": 1,
    "definition": 1,
    "keyword": 2,
    "list": 1,
    "rule": 3,
}


@cache
def bases() -> dict[str, JSONObject]:
    """Read the definitions that are changed, by their plural names."""
    specs = yaml.safe_load((_DIRECTORY / "definitions.yaml").read_text())
    return {name: _definition(spec) for name, spec in specs.items()}


def _definition(spec: dict[str, Any]) -> JSONObject:
    metadata: JSONObject = {"name": f"{spec['names']['plural']}.{spec['group']}"}
    if spec["group"].endswith(".k8s.io"):
        url = "https://github.com/kubernetes/kubernetes/pull/1"
        metadata["annotations"] = {"api-approved.kubernetes.io": url}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": spec,
    }


def change(definition: JSONObject, edits: list[Edit]) -> JSONObject:
    """Return a definition with changes."""
    changed: Any = json.loads(json.dumps(definition))
    for path, value in edits:
        at = changed
        for step in path[:-1]:
            at = at[step] if isinstance(step, int) else at.setdefault(step, {})
        if value is not None:
            if isinstance(at, list) and path[-1] == len(at):
                at.append(None)
            at[path[-1]] = deepcopy(value)
        elif isinstance(at, list):
            del at[path[-1]]
        else:
            at.pop(path[-1], None)
    return dict(changed)


@cache
def answers() -> tuple[dict[str, Any], ...]:
    """Read the record, without its first line."""
    with lzma.open(RECORD, "rt") as file:
        return tuple(json.loads(line) for line in file)[1:]


@cache
def _damages() -> dict[str, Any]:
    return dict(yaml.safe_load((_DIRECTORY / "damages.yaml").read_text()))


def damage(chance: random.Random, definition: JSONObject) -> Edit:
    """Choose a change of a definition."""
    known = _damages()
    (kind,) = chance.choices([*_KINDS], [*_KINDS.values()])
    path, schema = chance.choice(_schemas(definition))
    lists = [each for each in _schemas(definition) if each[1].get("type") == "array"]
    if kind == "list" and lists:
        path, schema = chance.choice(lists)
    of = schema.get("items", {}) if kind == "list" else schema
    key = chance.choice([*of.get("properties", {}), "nope"])
    if kind == "condition":
        steps, value = chance.choice(("allOf", "anyOf", "oneOf", "not")), None
        condition = chance.choice(known["conditions"])
        value = condition if steps == "not" else [condition, {}]
        if chance.random() < _SELDOM:
            steps, value = "anyOf", [{"type": "integer"}, {"type": "string"}]
    elif kind == "rule":
        steps = "x-kubernetes-validations"
        value = [_rule(chance, schema)]
    else:
        steps, values = chance.choice(known[kind])
        value = chance.choice(values)
    whole = [] if kind == "definition" else path
    named = [key if step == "{key}" else step for step in steps.split("/")]
    numbered = [int(step) if step.lstrip("-").isdecimal() else step for step in named]
    return [*whole, *numbered], json.loads(json.dumps(value).replace("{key}", key))


def _schemas(definition: Any) -> list[tuple[list[Any], dict[str, Any]]]:
    """Return all schemas of a definition, with their paths."""
    found: list[tuple[list[Any], dict[str, Any]]] = []
    for index, each in enumerate(definition["spec"]["versions"]):
        steps: list[Any] = ["spec", "versions", index, "schema", "openAPIV3Schema"]
        left = [(steps, each["schema"]["openAPIV3Schema"])]
        while left:
            path, schema = left.pop()
            found.append((path, schema))
            left += [
                ([*path, "properties", name], inner)
                for name, inner in schema.get("properties", {}).items()
            ]
            for keyword in ("items", "additionalProperties"):
                if isinstance(schema.get(keyword), dict):
                    left.append(([*path, keyword], schema[keyword]))
    return found


def _rule(chance: random.Random, schema: dict[str, Any]) -> dict[str, Any]:
    value = "self"
    properties = [*schema.get("properties", {})]
    if properties and chance.random() > _SELDOM:
        value = f"self.{chance.choice(properties)}"
    test = chance.choice(_damages()["rules"])
    test = test.replace("#", chance.choice(_damages()["literals"]))
    rule = {"rule": test.replace("$", value)}
    if chance.random() < _OFTEN:
        rule.update(chance.choice(_damages()["beside"]))
    return rule


@cache
def keywords() -> tuple[dict[str, Any], ...]:
    """Read the record of keywords, without its first line."""
    return tuple(map(json.loads, KEYWORDS.read_text().splitlines()))[1:]


def with_keyword(each: dict[str, Any]) -> JSONObject:
    """Return a definition with a keyword below items and additionalProperties."""
    schema: JSONObject = {"type": "string", each["keyword"]: each["value"]}
    schema = {"type": "array", "items": schema}
    schema = {"type": "object", "properties": {"a": schema}}
    schema = {"type": "object", "additionalProperties": schema}
    return definition_of("Order", {"v1": {"type": "array", "items": schema}})


def record_keywords(server: ApiServer) -> None:
    """Write the record of keywords anew."""
    lines: list[dict[str, Any]] = [{"server": version()}]
    for each in keywords():
        answer = server.request("POST", STRICT, with_keyword(each))
        lines.append({**each, "code": answer.code})
    KEYWORDS.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def main() -> None:
    """Write the record."""
    with running() as server, lzma.open(RECORD, "wt") as file:
        record_keywords(server)
        file.write(json.dumps({"server": version(), "seed": _SEED}) + "\n")
        for line in ask(server, bases(), _SEED, _COUNT):
            file.write(json.dumps(line) + "\n")


def ask(
    server: ApiServer, definitions: dict[str, JSONObject], seed: int, count: int
) -> Iterator[dict[str, Any]]:
    """Yield what a server answers to definitions, as they are and with changes."""
    chance = random.Random(seed)  # not for secrets
    asked: list[tuple[str, list[Edit]]] = [(name, []) for name in definitions]
    for _ in range(count):
        name = chance.choice([*definitions])
        edits = [damage(chance, definitions[name])]
        if chance.random() < _SELDOM:
            edits.append(damage(chance, definitions[name]))
        asked.append((name, edits))
    for name, edits in asked:
        try:
            changed = change(definitions[name], edits)
        except (AttributeError, IndexError, KeyError, TypeError):
            # The first of two changes took away where the other one stands.
            continue
        try:
            answer = server.request("POST", _URL, changed)
        except httpx.RemoteProtocolError:
            # The handler of the server ends in a panic.
            continue
        details: Any = answer.body.get("details") or {}
        causes = {
            (cause.get("reason", ""), cause.get("field", ""))
            for cause in details.get("causes") or ()
        }
        yield {
            "base": name,
            "edits": edits,
            "code": answer.code,
            "causes": sorted(causes),
        }


if __name__ == "__main__":
    main()
