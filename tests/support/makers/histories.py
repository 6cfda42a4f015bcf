"""Histories of objects: writes in two versions of a kind, what is given up, brought
back, emptied, moved to another version, deleted and made again.

tests/data/managed_fields/kinds.yaml has the kinds, and what their fields can be.
"""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from random import Random
from typing import Any, Final, NamedTuple

import yaml

from smp._values.values import JSON, JSONArray, JSONObject, as_list, as_object
from tests.support.makers.writes import Write, WriteMaker
from tests.support.paths import DATA

_FILE: Final = DATA / "managed_fields" / "kinds.yaml"
_MANAGERS: Final = ("kubectl", "helm", "flux", "operator")
_STYLES: Final = {
    "versions": 20,
    "releases": 15,
    "rollbacks": 14,
    "empties": 15,
    "migrations": 12,
    "lives": 10,
    "subresources": 12,
    "mixed": 10,
}
_EMPTY: Final[tuple[JSON, ...]] = ({}, [], None, "", 0, False)


class Subject(NamedTuple):
    """A kind of the table. ``versions`` are its tables by apiVersion: the first is the
    one in which the stored object is read."""

    kind: str
    versions: dict[str, dict[str, Any]]
    namespaced: bool
    statuses: tuple[JSONObject, ...]
    scaled: bool
    has_status: bool
    share: int

    @property
    def main_version(self) -> str:
        return next(iter(self.versions))

    @property
    def custom(self) -> bool:
        return self.main_version.startswith("example.org/")


@cache
def definitions() -> list[JSONObject]:
    """Return the definitions of the custom resources."""
    found: list[JSONObject] = yaml.safe_load(_FILE.read_text())["definitions"]
    return found


@cache
def subjects() -> dict[str, Subject]:
    """Return the kinds of the table."""
    found: dict[str, Subject] = {}
    for kind, row in yaml.safe_load(_FILE.read_text())["kinds"].items():
        found[kind] = Subject(
            kind,
            row["versions"],
            not row.get("cluster", False),
            tuple(row.get("status", ())),
            row.get("scaled", False),
            not row.get("statusless", False),
            row["share"],
        )
    return found


class TableMaker:
    """Makes manifests of a kind of the table, in any of its versions."""

    def __init__(self, seed: str, subject: Subject, name: str) -> None:
        self.random = Random(seed)
        self.api_version = subject.main_version
        self._subject = subject
        self._name = name

    @property
    def _fields(self) -> dict[str, list[JSON]]:
        fields: dict[str, list[JSON]] = self._table["fields"]
        return fields

    @property
    def _table(self) -> dict[str, Any]:
        return self._subject.versions[self.api_version]

    def manifest(self) -> JSONObject:
        """Make a manifest as a user would write it the first time."""
        metadata: JSONObject = {"name": self._name}
        if self._subject.namespaced:
            metadata["namespace"] = "default"
        if self.random.random() < 0.4:
            metadata["labels"] = {"app": self.random.choice(("web", "api"))}
        result: JSONObject = {
            "apiVersion": self.api_version,
            "kind": self._subject.kind,
            "metadata": metadata,
            **deepcopy(self._table["base"]),
        }
        for _ in range(self.random.randint(0, 4)):
            self._draw(result)
        return result

    def changed(self, manifest: JSONObject) -> JSONObject:
        """Change a manifest as its author would, a little."""
        result = deepcopy(manifest)
        for _ in range(self.random.randint(0, 3)):
            if self.random.random() < 0.3:
                path = self.random.choice([*self._fields])
                above, _, name = path.rpartition(".")
                if name not in as_object(_below(self._table["base"], above)):
                    _below(result, above).pop(name, None)
            else:
                self._draw(result)
        return result

    def interfered(self, live: JSONObject) -> JSONObject:
        """Change a live object as another actor would."""
        result = self.changed(live)
        if self.random.random() < 0.3:
            annotations = as_object(_below(result, "metadata").get("annotations"))
            injected: JSONObject = {**annotations, "injected": "true"}
            as_object(result["metadata"])["annotations"] = injected
        return result

    def _draw(self, obj: JSONObject) -> None:
        path = self.random.choice([*self._fields])
        above, _, name = path.rpartition(".")
        place: JSON = obj
        for step in above.split(".") if above else ():
            place = as_object(place).setdefault(step, {})
        if isinstance(place, dict):
            place[name] = deepcopy(self.random.choice(self._fields[path]))


class HistoryMaker(WriteMaker):
    """Makes the writes of one history, from a seed."""

    def __init__(self, seed: str, subject: Subject, name: str) -> None:
        self._table = TableMaker(seed, subject, name)
        super().__init__(seed, subject.kind, name, self._table)
        self._subject = subject
        self._is_custom = subject.custom
        self._is_scaled = subject.scaled
        self._statuses = subject.statuses
        self._past: list[JSONObject] = []
        styles = {**_STYLES}
        if not subject.statuses:
            del styles["subresources"]
        if len(subject.versions) == 1:
            del styles["versions"]
        self.style = self.random.choices([*styles], [*styles.values()])[0]
        self._style = "subresources" if self.style == "subresources" else "mixed"
        self.length = self.random.randint(5, 9)

    def choose_version(self) -> str:
        """Return the version of the next write."""
        versions = [*self._subject.versions]
        others = 0.55 if self.style in ("versions", "migrations") else 0.2
        version = self.random.choice(versions) if self._chance(others) else versions[0]
        self._api_version = self._table.api_version = version
        return version

    def next(self, live: JSONObject | None) -> Write:
        """Make the next write to an object, in the version that was chosen.

        ``live`` is the stored object in that version.
        """
        if live is None:
            self._tried = True
            self._manifest = self._table.manifest()
            write = self._first()
            if self._statuses and self._chance(0.04):
                write = self._apply("operator", self._manifest)
                write = write._replace(subresource="status")
        else:
            if str(self._manifest["apiVersion"]) != self._api_version:
                self._manifest = self._table.manifest()
            makers = {
                "releases": self._release,
                "rollbacks": self._roll_back,
                "empties": self._empty,
                "migrations": self._migrate,
                "lives": self._live,
            }
            make = makers.get(self.style, self._any)
            write = (make if self._chance(0.6) else self._any)(live)
            self._past.append(live)
        if self._chance(0.05):
            write = write._replace(dry_run=True)
        if self._chance(0.08):
            validation = self.random.choice(("Strict", "Ignore"))
            write = write._replace(field_validation=validation)
        return write

    # What a manager gave last is in the version that it wrote it in.
    def _apply_any(self) -> Write:
        usable = {
            manager: body
            for manager, body in self._applied.items()
            if body.get("apiVersion") == self._api_version
        }
        kept, self._applied = self._applied, usable
        write = super()._apply_any()
        self._applied = {**kept, **usable}
        return write

    def _names(self, live: JSONObject) -> JSONObject:
        metadata = as_object(live["metadata"])
        names = [name for name in ("name", "namespace") if name in metadata]
        return {
            "apiVersion": self._api_version,
            "kind": self._subject.kind,
            "metadata": {name: metadata[name] for name in names},
        }

    def _release(self, live: JSONObject) -> Write:
        """Apply nothing, or nearly nothing."""
        manager = self.random.choice([*self._applied, "helm"])
        body = self._names(live)
        chance = self.random.random()
        if chance < 0.15:
            body["spec"] = {}
        elif chance < 0.25:
            as_object(body["metadata"])["labels"] = {}
        elif chance < 0.4:
            # One field more is given up.
            body = self._part({**self._applied.get(manager, body)}, 0.6)
            body.update(self._names(live))
        write = self._apply(manager, body, oddly=False)
        if self._statuses and chance > 0.9:
            write = write._replace(subresource="status")
        return write

    def _roll_back(self, live: JSONObject) -> Write:
        """Bring back what was: an object with its owners, a configuration, or some."""
        past = [
            each for each in self._past if each.get("apiVersion") == self._api_version
        ]
        if not past or self._chance(0.3):
            return self._apply_any()
        former = deepcopy(self.random.choice(past))
        metadata = as_object(former["metadata"])
        chance = self.random.random()
        version = as_object(live["metadata"])["resourceVersion"]
        if chance < 0.35:
            metadata["resourceVersion"] = version
            return self._write("update", former, "rollback")
        if chance < 0.5:
            metadata.pop("managedFields", None)
            metadata.pop("resourceVersion", None)
            return self._write("update", former, "rollback")
        entries = metadata.get("managedFields", [])
        if chance < 0.7:
            metadata = {"managedFields": entries, "resourceVersion": version}
            rest = {name: former[name] for name in former if name in ("spec", "data")}
            return self._write("merge", {"metadata": metadata, **rest}, "rollback")
        if chance < 0.85:
            place = "/metadata/managedFields"
            patch: JSON = [{"op": "replace", "path": place, "value": entries}]
            return self._write("json", patch, "rollback")
        for name in ("managedFields", "uid", "resourceVersion", "creationTimestamp"):
            metadata.pop(name, None)
        former.pop("status", None)
        return self._apply("helm", former, oddly=False)._replace(force=True)

    def _empty(self, _live: JSONObject) -> Write:
        """Apply a configuration whose parts are empty, and the same again."""
        manager = self.random.choice(_MANAGERS[:2])
        last = self._applied.get(manager)
        is_usable = last is not None and last.get("apiVersion") == self._api_version
        if last is not None and is_usable and self._chance(0.3):
            return self._apply(manager, last, oddly=False)
        body = deepcopy(last) if last is not None and is_usable else self._manifest
        body = deepcopy(self._table.changed(body))
        places = [
            above
            for above in _objects(body)
            if above is not body and above is not body["metadata"]
        ]
        for _ in range(self.random.randint(1, 2)):
            above = self.random.choice([*places, body])
            names = [
                name
                for name in above
                if above is not body or name not in ("apiVersion", "kind", "metadata")
            ]
            if not names:
                continue
            name = self.random.choice(names)
            value = above[name]
            if self._chance(0.15):
                above[name] = deepcopy(self.random.choice(_EMPTY))
            elif isinstance(value, dict):
                above[name] = {} if self._chance(0.7) else None
            elif isinstance(value, list):
                above[name] = [] if self._chance(0.7) else None
        return self._apply(manager, body, oddly=False)

    def _migrate(self, live: JSONObject) -> Write:
        """Name what managers own in another version, or by another manager."""
        entries = [
            {**as_object(entry)}
            for entry in as_list(as_object(live["metadata"]).get("managedFields"))
        ]
        if not entries or self._chance(0.35):
            return self._apply_any()
        other = self.random.choice([*self._subject.versions, "example.org/v9"])
        if other == "example.org/v9" and self._chance(0.7):
            other = self._api_version
        chance = self.random.random()
        for entry in entries:
            if chance < 0.4 or self._chance(0.3):
                entry["apiVersion"] = other
            if chance > 0.7 and entry.get("operation") == "Update":
                entry["operation"] = "Apply"
                if self._chance(0.5):
                    entry["manager"] = self.random.choice(_MANAGERS)
        value: JSONArray = [*entries]
        version = as_object(live["metadata"])["resourceVersion"]
        if self._chance(0.5):
            patch: JSON = [
                {"op": "replace", "path": "/metadata/managedFields", "value": value},
                {
                    "op": "replace",
                    "path": "/metadata/resourceVersion",
                    "value": version,
                },
            ]
            return self._write("json", patch, "migrator")
        if self._chance(0.5):
            metadata: JSONObject = {"managedFields": value, "resourceVersion": version}
            return self._write("merge", {"metadata": metadata}, "migrator")
        changed = {**as_object(live["metadata"]), "managedFields": value}
        return self._write("update", {**live, "metadata": changed}, "migrator")

    def _live(self, live: JSONObject) -> Write:
        """Delete an object, or write to one on a condition."""
        metadata = as_object(live["metadata"])
        chance = self.random.random()
        if chance < 0.4:
            options: JSONObject = {}
            if self._chance(0.3):
                options["preconditions"] = {
                    "uid": metadata["uid"],
                    "resourceVersion": metadata["resourceVersion"],
                }
            if self._chance(0.2):
                options["preconditions"] = {"uid": "another"}
            return self._write("delete", options, "kubectl")
        write = self._apply_any()
        body = deepcopy(as_object(write.body))
        conditions = as_object(body.setdefault("metadata", {}))
        if chance < 0.55:
            conditions["uid"] = metadata["uid"]
        elif chance < 0.7:
            conditions["resourceVersion"] = metadata["resourceVersion"]
        elif chance < 0.8:
            conditions["resourceVersion"] = "1"
        elif chance < 0.9:
            conditions["finalizers"] = ["example.com/a"]
        else:
            conditions["deletionTimestamp"] = "2020-02-02T02:02:02Z"
        return write._replace(body=body)


def _below(obj: JSONObject, path: str) -> JSONObject:
    """Return the object at a path, an empty one where there is none."""
    place: JSON = obj
    for step in path.split(".") if path else ():
        place = as_object(place).get(step)
    return as_object(place)


def _objects(value: JSON) -> list[JSONObject]:
    """Return all objects in a value, but for those in managedFields."""
    found: list[JSONObject] = []
    if isinstance(value, dict):
        found.append(value)
        for name, below in value.items():
            if name != "managedFields":
                found += _objects(below)
    elif isinstance(value, list):
        for below in value:
            found += _objects(below)
    return found
