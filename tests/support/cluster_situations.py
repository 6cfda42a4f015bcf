"""Situations of an apply: what there is, what others did, and what is applied.

tests/data/cluster/situations.yaml and the files of tests/data/cluster/situations have
them. A file may name objects, which its steps change: ``{of: web, set:
{spec.replicas: 3}, unset: [spec.paused]}`` is the object ``web`` with another value at
one path, and none at another one. A path has names and indexes of lists, with dots
between; a name with dots stands in brackets.
"""

from __future__ import annotations

import re
from copy import deepcopy
from functools import cache
from typing import Any, Final

import msgspec

from smp.documents import read_one
from tests.support.paths import DATA

_FOLDER: Final = DATA / "cluster"
_STEP: Final = re.compile(r"\[([^\]]*)\]|([^.\[]+)")


class Situation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Manifests that are applied one after the other, with changes of others between.

    Each step has one of these members:

    ``apply``
        manifests, each in a file of its own
    ``text``
        the text of one file
    ``patch``, ``post``, ``put``, ``delete``
        what another client does to the object at a ``path``, with a ``body``; ``type``
        is that of a patch, strategic-merge by default
    ``served``
        waits until the OpenAPI of a group version is published

    ``differs`` says why a Cluster does something else than kubectl, on purpose.
    ``flags`` of kubectl and ``options`` of Cluster.apply stand beside an apply, and
    ``faults``: answers that the server gives to a method some times.
    """

    name: str
    steps: list[dict[str, Any]]
    differs: str = ""


class _File(msgspec.Struct, forbid_unknown_fields=True):
    situations: list[Situation]
    objects: dict[str, Any] = {}


@cache
def situations() -> list[Situation]:
    """Read all situations."""
    found: list[Situation] = []
    for path in [
        _FOLDER / "situations.yaml",
        *sorted((_FOLDER / "situations").iterdir()),
    ]:
        value = read_one(path.read_bytes(), source=str(path)).value
        if isinstance(value, list):
            value = {"situations": value}
        file = msgspec.convert(value, _File)
        found += [_complete(situation, file.objects) for situation in file.situations]
    names = [each.name for each in found]
    assert len(set(names)) == len(names), "two situations have one name"
    return found


def _complete(situation: Situation, objects: dict[str, Any]) -> Situation:
    steps = []
    for step in situation.steps:
        made = {**step}
        if "apply" in step:
            made["apply"] = [_made(each, objects) for each in step["apply"]]
        steps.append(made)
    return Situation(situation.name, steps, situation.differs)


def _made(given: Any, objects: dict[str, Any]) -> Any:
    """Make the object of a step, from a named one where it asks for that."""
    if isinstance(given, str):
        return objects[given]
    if "of" not in given:
        return given
    made = _made(given["of"], objects)
    made = deepcopy(made)
    for path, value in given.get("set", {}).items():
        *above, last = _steps(path)
        _found(made, above)[last] = _repeated(value)
    for path in given.get("unset", ()):
        *above, last = _steps(path)
        del _found(made, above)[last]
    return made


def _repeated(value: Any) -> Any:
    """Make a long text: ``{text: {repeat: x, times: 1000}}``."""
    if not isinstance(value, dict) or not isinstance(value.get("text"), dict):
        return value
    return {**value, "text": value["text"]["repeat"] * value["text"]["times"]}


def _steps(path: str) -> list[Any]:
    steps = [bracketed or name for bracketed, name in _STEP.findall(path)]
    return [int(step) if step.isdigit() else step for step in steps]


def _found(value: Any, steps: list[Any]) -> Any:
    for step in steps:
        value = _member(value, step)
    return value


def _member(value: Any, step: Any) -> Any:
    return value.setdefault(step, {}) if isinstance(value, dict) else value[step]
