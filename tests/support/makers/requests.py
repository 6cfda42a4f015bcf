"""Requests to an API server, as clients send them, right and wrong.

A ``RequestMaker`` makes the requests of one sequence from a seed, each from the objects
that are stored before it. tests/data/apiserver/requests.yaml has what they are made of:
objects of each kind, and changes of them. A change is sent in any way there is: as one
of the four patches, in a PUT or in a POST. Besides there are values of any type at any
place, metadata, subresources, deletions, lists, watches, and what is malformed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from copy import deepcopy
from random import Random
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

import yaml

from smp._values.values import JSON, JSONObject, as_list, as_object
from smp.handler import APPLY, JSON_PATCH, MERGE, STRATEGIC
from tests.support.makers.manifests import KINDS as DRAWN
from tests.support.makers.manifests import ManifestMaker
from tests.support.paths import DATA

SOURCE: Final = DATA / "apiserver" / "requests.yaml"
NAMESPACE: Final = "space"
VERSION: Final = "(version)"
"""Stands for the resourceVersion of the object x before the request."""

_JSON: Final = "application/json"
_SERVER_METADATA: Final = (
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "generation",
    "managedFields",
)
# The merge keys of lists that changes go into.
_MERGE_KEYS: Final = {
    "containers": "name",
    "env": "name",
    "volumes": "name",
    "webhooks": "name",
    "taints": "key",
}


_INVALID_BYTE: Final = "(byte 255)"


def encoded(text: str) -> bytes:
    """Return the bytes of a body, with a byte that is not UTF-8 where it stands so."""
    return text.encode().replace(_INVALID_BYTE.encode(), b"\xff")


class Subject(NamedTuple):
    """A kind of object, and what to change in it."""

    name: str
    root: str
    """The path of the group and version, such as /apis/apps/v1."""
    plural: str
    manifest: JSONObject
    good: Sequence[JSONObject]
    bad: Sequence[JSONObject]
    status: Sequence[JSONObject]
    namespaced: bool
    custom: bool

    @property
    def collection(self) -> str:
        """The path of the objects of this kind."""
        if self.namespaced:
            return f"{self.root}/namespaces/{NAMESPACE}/{self.plural}"
        return f"{self.root}/{self.plural}"

    @property
    def object_name(self) -> str:
        """The name of the object that a sequence is about."""
        return str(as_object(self.manifest["metadata"])["name"])


class Request(NamedTuple):
    """A request; the body is a JSON value, or the text that is sent."""

    method: str
    path: str
    content_type: str = ""
    body: JSON = None
    text: str | None = None
    accept: str = ""


@functools.cache
def document() -> dict[str, Any]:
    """Return what requests are made of."""
    read: dict[str, Any] = yaml.safe_load(SOURCE.read_text())
    return read


@functools.cache
def subjects() -> dict[str, Subject]:
    """Return the kinds of objects that requests are about."""
    *_, template_good, template_bad = document()["anchors"]
    found: dict[str, Subject] = {}
    for name, row in document()["kinds"].items():
        root, _, plural = row["at"].rpartition("/")
        good, bad = [*row["good"]], [*row["bad"]]
        if row.get("template"):
            good += template_good
            bad += template_bad
        found[name] = Subject(
            name=name,
            root=f"/{root}",
            plural=plural,
            manifest=row["manifest"],
            good=good,
            bad=bad,
            status=row.get("status", []),
            namespaced=row.get("scope") != "cluster",
            custom=row.get("custom", False),
        )
    return found


def with_change(obj: JSONObject, change: JSONObject) -> JSONObject:
    """Return an object with the values of a change, whose paths are below it."""
    changed: Any = deepcopy(obj)
    for path, value in change.items():
        *steps, last = path.split(".")
        place: Any = changed
        for step in steps:
            if isinstance(place, list):
                place = place[int(step)] if int(step) < len(place) else {}
                continue
            if not isinstance(place.get(step), dict | list):
                place[step] = {}
            place = place[step]
        if isinstance(place, list):
            place[int(last) : int(last) + 1] = [deepcopy(value)]
        else:
            place[last] = deepcopy(value)
    result: JSONObject = changed
    return result


def partial(obj: JSONObject, change: JSONObject, *, strategic: bool) -> JSONObject:
    """Return a change as a merge patch, or as a strategic merge patch.

    A list is sent as a whole, or, where it has a merge key, the element alone.
    """
    whole = with_change(obj, change)
    patch: JSONObject = {}
    for path in change:
        _copy(whole, path.split("."), patch, strategic=strategic)
    return patch


def _copy(source: Any, steps: list[str], target: Any, *, strategic: bool) -> None:
    name, *rest = steps
    value = source.get(name)
    if not rest:
        target[name] = value
        return
    if isinstance(value, list):
        key = _MERGE_KEYS.get(name, "") if strategic else ""
        at = int(rest[0])
        element = value[at] if at < len(value) else None
        if key and rest[1:] and isinstance(element, dict):
            part = {key: element.get(key)}
            _copy(element, rest[1:], part, strategic=strategic)
            target[name] = [part]
        else:
            target[name] = value
        return
    target.setdefault(name, {})
    _copy(value, rest, target[name], strategic=strategic)


def operations(obj: JSONObject, change: JSONObject, random: Random) -> list[JSON]:
    """Return a change as the operations of a JSON Patch."""
    found: list[JSON] = []
    for path, value in change.items():
        steps = path.split(".")
        place: Any = obj
        depth = 0
        # What is absent above the place is added with it.
        while depth < len(steps) - 1:
            inner = (
                place[int(steps[depth])]
                if isinstance(place, list) and int(steps[depth]) < len(place)
                else place.get(steps[depth])
                if isinstance(place, dict)
                else None
            )
            if not isinstance(inner, dict | list):
                break
            place, depth = inner, depth + 1
        added: JSON = deepcopy(value)
        for step in reversed(steps[depth + 1 :]):
            added = {step: added}
        pointer = "".join(f"/{_escaped(step)}" for step in steps[: depth + 1])
        present = (
            int(steps[depth]) < len(place)
            if isinstance(place, list)
            else steps[depth] in place
        )
        if added is None and present and random.random() < 0.6:
            found.append({"op": "remove", "path": pointer})
        elif present and random.random() < 0.7:
            found.append({"op": "replace", "path": pointer, "value": added})
        else:
            found.append({"op": "add", "path": pointer, "value": added})
    return found


def _escaped(step: str) -> str:
    return step.replace("~", "~0").replace("/", "~1")


# Values of every JSON type, for any place.
_ANY: Final[tuple[JSON, ...]] = (
    None,
    "",
    "Bogus",
    "text with spaces",
    {},
    [],
    [None],
    {"a": None},
    {"unknown": 1},
    0,
    -1,
    7,
    1.5,
    2.0,
    99999999999,
    True,
    False,
    "80",
    ["a"],
    [{}],
)
_METADATA: Final[tuple[JSONObject, ...]] = (
    {"metadata.labels": {"a": "1"}},
    {"metadata.labels": {"example.com/a": "x.y-z_1"}},
    {"metadata.labels": {"a b": "1"}},
    {"metadata.labels": {"a": "-x"}},
    {"metadata.labels": {"a": "x" * 64}},
    {"metadata.labels": {"a": 1}},
    {"metadata.labels": {"a": None}},
    {"metadata.labels": {}},
    {"metadata.labels": None},
    {"metadata.labels": ["a"]},
    {"metadata.labels.new": "v"},
    {"metadata.annotations": {"note": "any text, é, <&>"}},
    {"metadata.annotations": {"no note": "x"}},
    {"metadata.annotations": {"note": True}},
    {"metadata.annotations": {}},
    {"metadata.annotations.new": "v"},
    {"metadata.annotations": {"long": "x" * 262145}},
    {"metadata.finalizers": ["example.com/a"]},
    {"metadata.finalizers": ["example.com/a", "example.com/a"]},
    {"metadata.finalizers": ["plain"]},
    {"metadata.finalizers": ["no finalizer"]},
    {"metadata.finalizers": []},
    {"metadata.finalizers": [""]},
    {"metadata.ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p"}]},
    {
        "metadata.ownerReferences": [
            {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
        ]
    },
    {
        "metadata.ownerReferences": [
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": name,
                "uid": name,
                "controller": True,
            }
            for name in ("p", "q")
        ]
    },
    {"metadata.ownerReferences": []},
    {"metadata.generation": 9},
    {"metadata.creationTimestamp": "2001-01-01T00:00:00Z"},
    {"metadata.creationTimestamp": None},
    {"metadata.creationTimestamp": "yesterday"},
    {"metadata.deletionTimestamp": "2001-01-01T00:00:00Z"},
    {"metadata.deletionGracePeriodSeconds": 5},
    {"metadata.selfLink": "/a"},
    {"metadata.generateName": "x-"},
    {"metadata.unknown": 1},
    {"metadata": None},
    {"metadata": "text"},
    {"metadata.managedFields": []},
    {"metadata.managedFields": [{}]},
    {"metadata.managedFields": None},
    {"unknown": 1},
    {"spec.unknown": {"deep": 1}},
)
_IDENTITY: Final[tuple[JSONObject, ...]] = (
    {"apiVersion": "other.example.com/v1"},
    {"apiVersion": ""},
    {"apiVersion": None},
    {"apiVersion": 1},
    {"kind": "Other"},
    {"kind": ""},
    {"kind": None},
    {"kind": ["Pod"]},
    {"metadata.name": "other"},
    {"metadata.name": ""},
    {"metadata.name": None},
    {"metadata.name": "No Name"},
    {"metadata.name": 5},
    {"metadata.namespace": "other"},
    {"metadata.namespace": None},
    {"metadata.namespace": ""},
    {"metadata.uid": "00000000-0000-4000-8000-000000000009"},
    {"metadata.uid": None},
    {"metadata.uid": ""},
    {"metadata.resourceVersion": VERSION},
    {"metadata.resourceVersion": "1"},
    {"metadata.resourceVersion": "text"},
    {"metadata.resourceVersion": None},
    {"metadata.resourceVersion": ""},
    {"metadata.resourceVersion": 5},
)
_OPERATIONS: Final[tuple[JSON, ...]] = (
    [],
    [{"op": "replace", "path": "/metadata/labels/absent", "value": "x"}],
    [{"op": "replace", "path": "/metadata/absent/deep", "value": "x"}],
    [{"op": "test", "path": "/metadata/absent", "value": None}],
    [{"op": "test", "path": "/metadata/absent/deep", "value": None}],
    [{"op": "test", "path": "/metadata/absent", "value": "x"}],
    [{"op": "test", "path": "/metadata/name", "value": "x"}],
    [{"op": "test", "path": "/metadata/name", "value": "y"}],
    [{"op": "test", "path": "/metadata/name"}],
    [{"op": "test", "path": "/metadata/resourceVersion", "value": VERSION}],
    [{"op": "test", "path": "/metadata/resourceVersion", "value": "1"}],
    [{"op": "copy", "from": "/metadata/absent", "path": "/metadata/labels"}],
    [{"op": "copy", "from": "/metadata/name", "path": "/metadata/labels/copied"}],
    [{"op": "copy", "from": "/metadata/labels", "path": "/metadata/annotations"}],
    [{"op": "copy", "path": "/metadata/annotations"}],
    [{"op": "move", "from": "/metadata/labels", "path": "/metadata/annotations"}],
    [{"op": "move", "from": "/metadata/absent", "path": "/metadata/annotations"}],
    [{"op": "move", "from": "/metadata", "path": "/metadata/deep"}],
    [{"op": "move", "from": "/metadata/name", "path": "/metadata/name"}],
    [{"op": "remove", "path": "/metadata/labels"}],
    [{"op": "remove", "path": "/metadata/absent"}],
    [{"op": "remove", "path": "/metadata/absent/deep"}],
    [{"op": "remove", "path": "/metadata"}],
    [{"op": "remove", "path": "/apiVersion"}],
    [{"op": "remove", "path": "/kind"}],
    [{"op": "remove", "path": ""}],
    [{"op": "add", "path": "", "value": {}}],
    [{"op": "replace", "path": "", "value": "text"}],
    [{"op": "replace", "path": "/", "value": 1}],
    [{"op": "add", "path": "/metadata/annotations", "value": {"a": "1"}}],
    [{"op": "add", "path": "/metadata/annotations/a", "value": "1"}],
    [{"op": "add", "path": "/metadata/labels/a~1b", "value": "1"}],
    [{"op": "add", "path": "/metadata/labels/a~2b", "value": "1"}],
    [{"op": "add", "path": "/metadata/labels/a"}],
    [{"op": "replace", "path": "/metadata/labels"}],
    [{"op": "add", "path": "metadata/labels/a", "value": "1"}],
    [{"op": "add", "value": "1"}],
    [{"op": "add", "path": None, "value": "1"}],
    [{"op": "add", "path": 5, "value": "1"}],
    [{"path": "/metadata/labels/a", "value": "1"}],
    [{"op": "bogus", "path": "/metadata/labels/a", "value": "1"}],
    [{"op": "ADD", "path": "/metadata/labels/a", "value": "1"}],
    [{"op": None, "path": "/metadata/labels/a", "value": "1"}],
    ["add"],
    [None],
    [{}],
    [{"op": "add", "path": "/metadata/labels/a", "value": "1", "extra": 1}],
    [{"op": "add", "path": "/metadata/finalizers", "value": ["example.com/a"]}],
    [
        {"op": "add", "path": "/metadata/finalizers", "value": ["example.com/a"]},
        {"op": "add", "path": "/metadata/finalizers/-", "value": "example.com/b"},
    ],
    [
        {"op": "add", "path": "/metadata/finalizers", "value": ["a.b/a", "a.b/b"]},
        {"op": "add", "path": "/metadata/finalizers/-1", "value": "a.b/c"},
    ],
    [
        {"op": "add", "path": "/metadata/finalizers", "value": ["a.b/a", "a.b/b"]},
        {"op": "remove", "path": "/metadata/finalizers/-1"},
    ],
    [
        {"op": "add", "path": "/metadata/finalizers", "value": ["a.b/a", "a.b/b"]},
        {"op": "replace", "path": "/metadata/finalizers/00", "value": "a.b/c"},
    ],
    [
        {"op": "add", "path": "/metadata/finalizers", "value": ["a.b/a", "a.b/b"]},
        {"op": "replace", "path": "/metadata/finalizers/2", "value": "a.b/c"},
    ],
    [
        {"op": "add", "path": "/metadata/finalizers", "value": ["a.b/a", "a.b/b"]},
        {"op": "add", "path": "/metadata/finalizers/2", "value": "a.b/c"},
    ],
    [
        {"op": "add", "path": "/metadata/finalizers", "value": ["a.b/a", "a.b/b"]},
        {"op": "add", "path": "/metadata/finalizers/3", "value": "a.b/c"},
    ],
    [
        {"op": "add", "path": "/metadata/finalizers", "value": ["a.b/a", "a.b/b"]},
        {"op": "remove", "path": "/metadata/finalizers/x"},
    ],
    [
        {"op": "add", "path": "/metadata/finalizers", "value": ["a.b/a", "a.b/b"]},
        {"op": "remove", "path": "/metadata/finalizers/-"},
    ],
    [
        {"op": "add", "path": "/metadata/finalizers", "value": ["a.b/a", "a.b/b"]},
        {
            "op": "move",
            "from": "/metadata/finalizers/0",
            "path": "/metadata/finalizers/-",
        },
    ],
    [
        {"op": "test", "path": "/metadata/labels", "value": None},
        {"op": "add", "path": "/metadata/labels", "value": {"a": "1"}},
    ],
)
_DIRECTIVES: Final[tuple[JSONObject, ...]] = (
    {"metadata": {"labels": {"$patch": "replace", "a": "1"}}},
    {"metadata": {"labels": {"$patch": "delete"}}},
    {"metadata": {"labels": {"$patch": "merge", "a": "1"}}},
    {"metadata": {"labels": {"$patch": "bogus"}}},
    {"metadata": {"labels": {"$retainKeys": ["a"], "a": "1"}}},
    {"metadata": {"labels": {"$retainKeys": ["b"], "a": "1"}}},
    {"metadata": {"labels": {"$retainKeys": "a"}}},
    {"metadata": {"finalizers": ["a.b/a", "a.b/b"]}},
    {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a.b/a"]}},
    {
        "metadata": {
            "$setElementOrder/finalizers": ["a.b/b", "a.b/a"],
            "finalizers": ["a.b/b", "a.b/a"],
        }
    },
    {
        "metadata": {
            "$setElementOrder/finalizers": ["a.b/b"],
            "finalizers": ["a.b/a"],
        }
    },
    {"metadata": {"$setElementOrder/finalizers": "text"}},
    {"$patch": "replace"},
    {"$patch": "delete"},
    {"$patch": 5},
    {"$retainKeys": ["metadata", "kind", "apiVersion"]},
    {"spec": {"$patch": "delete"}},
    {"spec": {"$patch": "replace"}},
    {"metadata": {"ownerReferences": [{"$patch": "replace"}]}},
    {"metadata": {"ownerReferences": [{"uid": "u", "$patch": "delete"}]}},
    {"metadata": {"ownerReferences": [{"name": "no key"}]}},
)
_MALFORMED: Final = (
    "",
    "null",
    "[]",
    "5",
    '"text"',
    "{",
    '{"metadata":',
    "{'metadata': {}}",
    '{"metadata": {}} trailing',
    '{"metadata": {"labels": {"a": "1", "a": "2"}}}',
    '{"metadata": {"labels": {"a": "1"}}, "metadata": {"labels": {"b": "2"}}}',
    '{"metadata": {"labels": {"a": NaN}}}',
    '{"metadata": {"annotations": {"a": "\\ud800"}}}',
    '{"metadata": {"annotations": {"a": "\\u0000"}}}',
    '{"metadata": {"annotations": {"a": "(byte 255)"}}}',
    '\ufeff{"metadata": {}}',
    "metadata: {labels: {a: b}}",
    '{"metadata": {"annotations": {"a": 1e999}}}',
    "[{}]",
    "text",
    "[" * 200 + "]" * 200,
)
_TYPES: Final = (
    _JSON,
    "",
    "text/plain",
    "application/yaml",
    "APPLICATION/MERGE-PATCH+JSON",
    "application/merge-patch+json; charset=utf-8",
    "application/vnd.example",
    "application/xml",
)
_LABEL_SELECTORS: Final = (
    "app=web",
    "app==web",
    "app!=web",
    "app",
    "!app",
    "app in (web,api)",
    "app notin (web)",
    "app=web,tier=front",
    "tier>1",
    "tier<5",
    "app=",
    "app in ()",
    "=web",
    "app=web x",
    "app in web",
    "-a=b",
    ",",
    "",
    "tier>x",
)
_FIELD_SELECTORS: Final = (
    "metadata.name=x",
    "metadata.name!=x",
    "metadata.name=x,metadata.namespace=space",
    "metadata.namespace=other",
    "metadata.name==y",
    "spec.replicas=2",
    "metadata.labels.app=web",
    "status.phase=Pending",
    "status.phase!=Pending",
    "spec.nodeName=",
    "spec.restartPolicy=Always",
    "type=Opaque",
    "spec.unschedulable=true",
    "metadata.name",
    "metadata.name>x",
    "=x",
    "spec.color=red",
    "spec.size=3",
    "status.successful=0",
    "spec.type=ClusterIP",
    "spec.clusterIP=None",
    "",
)


class RequestMaker:
    """Makes the requests of one sequence, from a seed."""

    def __init__(self, seed: str, subject: Subject) -> None:
        self.random = Random(seed)
        self.subject = subject
        self._draws = ManifestMaker(f"{seed}-drawn", subject.name, "n")
        self.is_collection = self.random.random() < 0.14
        self.length = self.random.randint(4, 6)

    def started(self) -> list[JSONObject]:
        """Return the objects to create first; a collection has three."""
        objects = [deepcopy(self.subject.manifest)]
        if self.is_collection and self.subject.plural != "customresourcedefinitions":
            for number, name in enumerate(("y", "z")):
                other = deepcopy(self.subject.manifest)
                as_object(other["metadata"])["name"] = name
                labels: JSONObject = {"app": "web" if number else "api", "tier": "3"}
                as_object(other["metadata"])["labels"] = labels
                objects.append(other)
        if self._chance(0.1):
            as_object(objects[0]["metadata"])["finalizers"] = ["example.com/hold"]
        return objects

    def next(self, live: JSONObject | None) -> Request:
        """Make a request, from what the object x is now."""
        kinds: dict[Callable[[JSONObject], Request], float]
        if live is None:
            live = deepcopy(self.subject.manifest)
            kinds = {self._created: 5, self._read: 1, self._changed: 2}
        elif self.is_collection:
            kinds = {
                self._listed: 10,
                self._watched: 4,
                self._collection_deleted: 2,
                self._changed: 3,
            }
        else:
            kinds = {
                self._changed: 34,
                self._mutated: 12,
                self._about_metadata: 9,
                self._about_identity: 5,
                self._status: 7 if self.subject.status else 2,
                self._scale: 2,
                self._malformed: 5,
                self._json_patch: 8,
                self._strategic: 5,
                self._deleted: 5,
                self._created: 7,
                self._read: 3,
                self._listed: 2,
                self._watched: 1,
            }
        [make] = self.random.choices([*kinds], [*kinds.values()])
        return make(live)

    def _chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def _path(self, below: str = "") -> str:
        path = f"{self.subject.collection}/{self.subject.object_name}"
        return f"{path}/{below}" if below else path

    def _with_options(self, path: str, **query: str) -> str:
        """Return a path with a query; now and then it has more options."""
        if self._chance(0.1):
            query["dryRun"] = self.random.choices(["All", "Bogus", ""], [8, 1, 1])[0]
        if self._chance(0.15):
            query["fieldValidation"] = self.random.choices(
                ["Strict", "Warn", "Ignore", "Bogus"], [6, 2, 2, 1]
            )[0]
        if self._chance(0.04):
            query["fieldManager"] = self.random.choice(["me", "x" * 200, "a\nb", ""])
        if self._chance(0.02):
            query["force"] = "true"
        if self._chance(0.02):
            query["pretty"] = "true"
        return f"{path}?{urlencode(query)}" if query else path

    # Writes of the object

    def _sent(self, live: JSONObject, change: JSONObject, below: str = "") -> Request:
        """Send a change in one of the ways there are."""
        ways = ["merge", "strategic", "json", "put", "apply"]
        weights = [6, 5 if not self.subject.custom else 1, 5, 5, 3]
        if not below:
            ways.append("post")
            weights.append(3)
        [way] = self.random.choices(ways, weights)
        path = self._path(below)
        if way == "merge":
            body: JSON = partial(live, change, strategic=False)
            return Request("PATCH", self._with_options(path), MERGE, body)
        if way == "strategic":
            body = partial(live, change, strategic=True)
            return Request("PATCH", self._with_options(path), STRATEGIC, body)
        if way == "json":
            body = operations(live, change, self.random)
            return Request("PATCH", self._with_options(path), JSON_PATCH, body)
        if way == "put":
            body = with_change(live, change)
            if self._chance(0.3) and not self.subject.custom:
                as_object(body["metadata"]).pop("resourceVersion", None)
            return Request("PUT", self._with_options(path), _JSON, body)
        if way == "apply":
            query = {"fieldManager": self.random.choice(["applier", "recorder"])}
            if self._chance(0.6):
                query["force"] = "true"
            body = with_change(self._configuration(live, below), change)
            return Request("PATCH", self._with_options(path, **query), APPLY, body)
        manifest = deepcopy(self.subject.manifest)
        as_object(manifest["metadata"])["name"] = self._new_name()
        body = with_change(manifest, change)
        return Request("POST", self._with_options(self.subject.collection), _JSON, body)

    def _new_name(self) -> str:
        if self.subject.plural == "customresourcedefinitions":
            return "others.requests.example.com"
        return "n"

    def _configuration(self, live: JSONObject, below: str) -> JSONObject:
        """Return what a client applies: its manifest, or only who the object is."""
        manifest = deepcopy(self.subject.manifest)
        if not below and self._chance(0.5):
            return manifest
        name = as_object(live["metadata"])["name"]
        return {
            "apiVersion": manifest["apiVersion"],
            "kind": manifest["kind"],
            "metadata": {"name": name},
        }

    def _changed(self, live: JSONObject) -> Request:
        known = self.subject.good if self._chance(0.55) else self.subject.bad
        if self.subject.name in DRAWN and self._chance(0.1):
            return self._drawn(live)
        return self._sent(live, self.random.choice(known))

    def _drawn(self, live: JSONObject) -> Request:
        """Send the object as another actor changed it, at any of its fields."""
        body = self._draws.interfered(live)
        return Request("PUT", self._with_options(self._path()), _JSON, body)

    def _mutated(self, live: JSONObject) -> Request:
        """Put any value at any place."""
        places = [
            path
            for path in _places(live)
            if not path.startswith(("metadata", "apiVersion", "kind", "status"))
            and "/" not in path
        ]
        if not places:
            return self._about_metadata(live)
        path = self.random.choice(places)
        return self._sent(live, {path: self.random.choice(_ANY)})

    def _about_metadata(self, live: JSONObject) -> Request:
        return self._sent(live, self.random.choice(_METADATA))

    def _about_identity(self, live: JSONObject) -> Request:
        return self._sent(live, self.random.choice(_IDENTITY))

    def _status(self, live: JSONObject) -> Request:
        """Write through the status subresource: the status, and what is not of it."""
        chance = self.random.random()
        if chance < 0.1:
            return Request("GET", self._path("status"))
        below = "status" if chance < 0.9 else self.random.choice(["spec", "bogus"])
        if chance < 0.65 and self.subject.status:
            change: JSONObject = {"status": self.random.choice(self.subject.status)}
        elif chance < 0.75:
            change = {"status": self.random.choice(_ANY)}
        elif self._chance(0.7):
            change = self.random.choice(_METADATA)
        else:
            change = self.random.choice(self.subject.good)
        return self._sent(live, change, below)

    def _scale(self, live: JSONObject) -> Request:
        if self._chance(0.2):
            return Request("GET", self._path("scale"))
        scale: JSONObject = {
            "apiVersion": "autoscaling/v1",
            "kind": "Scale",
            "metadata": {
                "name": as_object(live["metadata"])["name"],
                "namespace": NAMESPACE,
            },
            "spec": {"replicas": 1},
        }
        values: list[JSON] = [3, 0, -1, "3", None, 1.5]
        changes: list[JSONObject] = [
            {"spec.replicas": value} for value in (*values, 4, 4)
        ]
        changes += [
            {"spec": None},
            {"kind": "Other"},
            {"metadata.resourceVersion": "1"},
            {"metadata.labels": {"a": "b"}},
            {"spec.unknown": 1},
        ]
        request = self._sent(scale, self.random.choice(changes), "scale")
        if request.content_type == APPLY:
            return request._replace(body=scale)
        return request

    def _malformed(self, live: JSONObject) -> Request:
        path = self._with_options(self._path())
        chance = self.random.random()
        if chance < 0.25:
            body = partial(live, {"metadata.labels.a": "1"}, strategic=False)
            return Request("PATCH", path, self.random.choice(_TYPES), body)
        text = self.random.choice(_MALFORMED)
        if chance < 0.7:
            types = (MERGE, STRATEGIC, JSON_PATCH, APPLY)
            media_type = self.random.choice(types)
            if media_type == APPLY:
                path = f"{path}{'&' if '?' in path else '?'}fieldManager=applier"
            return Request("PATCH", path, media_type, text=text)
        if chance < 0.85:
            return Request("PUT", path, _JSON, text=text)
        collection = self._with_options(self.subject.collection)
        if chance < 0.9:
            media_type = self.random.choice(_TYPES)
            manifest = deepcopy(self.subject.manifest)
            as_object(manifest["metadata"])["name"] = self._new_name()
            return Request("POST", collection, media_type, manifest)
        return Request("POST", collection, _JSON, text=text)

    def _json_patch(self, _live: JSONObject) -> Request:
        path = self._with_options(self._path())
        return Request("PATCH", path, JSON_PATCH, self.random.choice(_OPERATIONS))

    def _strategic(self, live: JSONObject) -> Request:
        path = self._with_options(self._path())
        if self._chance(0.6):
            body: JSON = self.random.choice(_DIRECTIVES)
            return Request("PATCH", path, STRATEGIC, body)
        places: list[tuple[str, list[JSON]]] = [
            (place, as_list(value))
            for place, value in _lists(live)
            if not place.startswith("metadata")
        ]
        if not places:
            body = self.random.choice(_DIRECTIVES)
            return Request("PATCH", path, STRATEGIC, body)
        place, elements = self.random.choice(places)
        name = place.rpartition(".")[2]
        first = deepcopy(elements[0])
        drawn: list[JSON] = [
            [],
            [{"$patch": "replace"}],
            [{"$patch": "delete"}],
            [first, first],
            [None],
            ["text"],
            [{"name": "added"}],
        ]
        if isinstance(first, dict):
            drawn += [[{**first, "$patch": "delete"}], [{"$patch": "replace"}, first]]
        change: JSONObject = {place: self.random.choice(drawn)}
        if isinstance(first, dict) and self._chance(0.4):
            key = _MERGE_KEYS.get(name, "name")
            above = place.removesuffix(name)
            order: JSON = [{key: as_object(each).get(key)} for each in elements[::-1]]
            change = {f"{above}$setElementOrder/{name}": order}
        body = partial(live, change, strategic=False)
        return Request("PATCH", path, STRATEGIC, body)

    def _deleted(self, live: JSONObject) -> Request:
        options: list[JSONObject] = [
            {"propagationPolicy": "Foreground"},
            {"propagationPolicy": "Background"},
            {"propagationPolicy": "Orphan"},
            {"propagationPolicy": "Bogus"},
            {"orphanDependents": True},
            {"orphanDependents": True, "propagationPolicy": "Background"},
            {"gracePeriodSeconds": 0},
            {"gracePeriodSeconds": -1},
            {"gracePeriodSeconds": 5},
            {"gracePeriodSeconds": "5"},
            {"preconditions": {"uid": as_object(live["metadata"]).get("uid")}},
            {"preconditions": {"uid": "other"}},
            {"preconditions": {"resourceVersion": VERSION}},
            {"preconditions": {"resourceVersion": "1"}},
            {"dryRun": ["All"]},
            {"dryRun": ["Bogus"]},
            {"dryRun": "All"},
            {"unknown": 1},
            {"kind": "DeleteOptions", "apiVersion": "v1"},
            {"kind": "Other", "apiVersion": "v1"},
        ]
        chance = self.random.random()
        if chance < 0.2:
            return Request("DELETE", self._path())
        if chance < 0.7:
            body = self.random.choice(options)
            return Request("DELETE", self._path(), _JSON, body)
        if chance < 0.78:
            return Request("DELETE", f"{self.subject.collection}/absent")
        if chance < 0.86:
            text = self.random.choice(_MALFORMED)
            return Request("DELETE", self._path(), _JSON, text=text)
        query = self.random.choice(
            [
                {"propagationPolicy": "Background"},
                {"propagationPolicy": "Bogus"},
                {"gracePeriodSeconds": "0"},
                {"gracePeriodSeconds": "x"},
                {"dryRun": "All"},
                {"dryRun": "Bogus"},
                {"orphanDependents": "true"},
            ]
        )
        return Request("DELETE", f"{self._path()}?{urlencode(query)}")

    def _created(self, live: JSONObject) -> Request:
        manifest = deepcopy(self.subject.manifest)
        metadata = as_object(manifest["metadata"])
        path = self._with_options(self.subject.collection)
        chance = self.random.random()
        if chance < 0.15:
            # It exists.
            return Request("POST", path, _JSON, manifest)
        if chance < 0.25:
            del metadata["name"]
            metadata["generateName"] = self.random.choice(["gen-", "Gen ", "g" * 70])
            path = f"{self.subject.collection}?dryRun=All"
            return Request("POST", path, _JSON, manifest)
        metadata["name"] = self._new_name()
        if chance < 0.35:
            return Request("POST", path, _JSON, manifest)
        if chance < 0.5:
            change = self.random.choice((*_METADATA, *_IDENTITY))
            return Request("POST", path, _JSON, with_change(manifest, change))
        if chance < 0.6:
            # An update, or an apply, of what does not exist.
            path = f"{self.subject.collection}/{metadata['name']}"
            if self._chance(0.5):
                return Request("PUT", path, _JSON, manifest)
            return Request("PATCH", f"{path}?fieldManager=applier", APPLY, manifest)
        if chance < 0.7:
            path = f"{self.subject.collection}/{metadata['name']}"
            media_type = self.random.choice([MERGE, STRATEGIC, JSON_PATCH])
            body: JSON = [] if media_type == JSON_PATCH else {}
            return Request("PATCH", path, media_type, body)
        if self.subject.name in DRAWN and chance < 0.9:
            drawn = self._draws.manifest()
            as_object(drawn["metadata"]).pop("namespace", None)
            return Request("POST", path, _JSON, drawn)
        change = self.random.choice(self.subject.bad)
        del live
        return Request("POST", path, _JSON, with_change(manifest, change))

    # Reads

    def _read(self, _live: JSONObject) -> Request:
        chance = self.random.random()
        path = self._path()
        if chance < 0.4:
            return Request("GET", path)
        if chance < 0.55:
            return Request("GET", f"{self.subject.collection}/absent")
        if chance < 0.8:
            query = self.random.choice(
                ["resourceVersion=0", "resourceVersion=x", "pretty=1", "exact=true"]
            )
            return Request("GET", f"{path}?{query}")
        accept = self.random.choice(
            ["application/yaml", "application/vnd.example", "text/html", "*/*"]
        )
        return Request("GET", path, accept=accept)

    def _listed(self, _live: JSONObject) -> Request:
        query: dict[str, str] = {}
        chance = self.random.random()
        if chance < 0.4:
            query["labelSelector"] = self.random.choice(_LABEL_SELECTORS)
        elif chance < 0.8:
            query["fieldSelector"] = self.random.choice(_FIELD_SELECTORS)
        else:
            options: list[dict[str, str]] = [
                {"limit": "2"},
                {"limit": "x"},
                {"limit": "-1"},
                {"continue": "bogus"},
                {"resourceVersion": "0"},
                {"resourceVersion": "x"},
                {"resourceVersion": VERSION},
                {"resourceVersion": VERSION, "resourceVersionMatch": "Exact"},
                {"resourceVersion": VERSION, "resourceVersionMatch": "NotOlderThan"},
                {"resourceVersionMatch": "Exact"},
                {"resourceVersion": "0", "resourceVersionMatch": "Exact"},
                {"resourceVersionMatch": "Bogus", "resourceVersion": "5"},
                {"sendInitialEvents": "true"},
                {"timeoutSeconds": "x"},
                {},
            ]
            query = self.random.choice(options)
        # Of a cluster there are others of its own.
        if not self.subject.namespaced:
            query.setdefault("fieldSelector", "metadata.name=x")
        return Request("GET", f"{self.subject.collection}?{urlencode(query)}")

    def _watched(self, _live: JSONObject) -> Request:
        query = {"watch": "true", "timeoutSeconds": "1"}
        options: list[dict[str, str]] = [
            {},
            {"resourceVersion": "0"},
            {"resourceVersion": VERSION},
            {"labelSelector": "app=web"},
            {"labelSelector": "app in"},
            {"fieldSelector": "metadata.name=x"},
            {"fieldSelector": "spec.bogus=x"},
            {"resourceVersion": "x"},
            {"sendInitialEvents": "true"},
            {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"},
            {
                "sendInitialEvents": "true",
                "resourceVersionMatch": "NotOlderThan",
                "allowWatchBookmarks": "true",
            },
            {"resourceVersionMatch": "NotOlderThan"},
        ]
        query |= self.random.choice(options)
        if not self.subject.namespaced:
            query.setdefault("fieldSelector", "metadata.name=x")
        return Request("GET", f"{self.subject.collection}?{urlencode(query)}")

    def _collection_deleted(self, _live: JSONObject) -> Request:
        query = self.random.choice(
            [
                {"labelSelector": "app=web"},
                {"labelSelector": "app in"},
                {"fieldSelector": "metadata.name=y"},
                {"fieldSelector": "spec.bogus=y"},
                {"dryRun": "All"},
                {"limit": "1"},
                {},
            ]
        )
        if not self.subject.namespaced:
            query = {"fieldSelector": "metadata.name=y", **query}
        return Request("DELETE", f"{self.subject.collection}?{urlencode(query)}")


def _places(value: JSON, above: str = "") -> list[str]:
    """Return the paths of all values below an object."""
    found: list[str] = []
    members: list[tuple[str, JSON]] = []
    if isinstance(value, dict):
        members = [*value.items()]
    elif isinstance(value, list):
        members = [(str(at), element) for at, element in enumerate(value)]
    for name, member in members:
        if "." in name:
            continue
        path = f"{above}.{name}" if above else name
        found += [path, *_places(member, path)]
    return found


def _lists(value: JSON, above: str = "") -> list[tuple[str, JSON]]:
    """Return the lists that are not in another list, by path."""
    found: list[tuple[str, JSON]] = []
    for name, member in as_object(value).items():
        path = f"{above}.{name}" if above else name
        if "." in name:
            continue
        if isinstance(member, list) and member:
            found.append((path, member))
        elif isinstance(member, dict):
            found += _lists(member, path)
    return found
