"""Rules from a file in YAML or JSON; rules.schema.json describes its form."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date
from io import BytesIO
from typing import TYPE_CHECKING, Final, Never

import msgspec

from smp._values.label_selectors import (
    LabelSelector,
    SelectorError,
    parse_label_selector,
)
from smp._values.path_patterns import Pattern, pattern_of
from smp._values.values import JSON, JSONArray, JSONObject, show, type_name
from smp.comparison._normalizers import NORMALIZERS
from smp.comparison._rules import Ownership, Rule, Rules
from smp.errors import DocumentError, did_you_mean, listing
from smp.paths import Path

if TYPE_CHECKING:
    from smp.documents import Positions

VERSION: Final = 1
# The JSON Schema of the files, beside this module.
SCHEMA_NAME: Final = "rules.schema.json"

_FILE: Final = ("version", "rules", "owners")
# Which objects something is about.
_CHOICE: Final = ("kinds", "namespaces", "names", "selector")
_OWNERSHIP: Final = ("owner", "label", *_CHOICE)
_RULE: Final = (
    "reason",
    "owner",
    "ticket",
    "expires",
    *_CHOICE,
    "paths",
    "managers",
    "normalizers",
)
# A rule without any of them would do nothing.
_EFFECTS: Final = ("paths", "managers", "normalizers")


def read_rules(data: bytes | str, *, source: str = "rules") -> Rules:
    """Read rules from a YAML or JSON text.

    Raises DocumentError with the line, the path and the code ``invalid-rules``; for
    what is neither YAML nor JSON, with the code of that.
    """
    # Only rules in a file need this; it is an eighth of what smp.compare would load.
    from smp.documents import (  # noqa: PLC0415  # see above
        MAX_BYTES,
        chunks,
        positions,
        read_one,
    )

    # What is not Unicode is found where the text is read.
    text = data.encode(errors="surrogatepass") if isinstance(data, str) else data
    value = read_one(text, source=source).value
    parts = chunks(BytesIO(text), source, MAX_BYTES)
    places = next(document for part in parts for document in positions(part))
    return _File(source, places).rules(value)


class _File:
    """The place of each value in a file with rules."""

    def __init__(self, source: str, places: Positions) -> None:
        self._source = source
        self._places = places

    def rules(self, value: JSON) -> Rules:
        """Return all rules that the value of the file has."""
        root = Path()
        document = self._object(value, root, _FILE)
        version = document.get("version")
        # True is an integer to Python.
        if type(version) is not int or version != VERSION:
            where = root / "version" if "version" in document else root
            self._refuse(f"version is {VERSION}", where, hint=f"version: {VERSION}")
        rules_path = root / "rules"
        if "rules" not in document:
            self._refuse("rules are missing", root, hint="rules: []")
        rules = self._list(document["rules"], rules_path)
        owners_path = root / "owners"
        owners = self._list(document.get("owners", []), owners_path)
        return Rules(
            tuple(
                self._rule(rule, rules_path / index) for index, rule in enumerate(rules)
            ),
            tuple(
                self._ownership(owner, owners_path / index)
                for index, owner in enumerate(owners)
            ),
        )

    def _ownership(self, value: JSON, path: Path) -> Ownership:
        ownership = self._object(value, path, _OWNERSHIP)
        if ("owner" in ownership) == ("label" in ownership):
            self._refuse("expected either owner or label", path)
        owner = self._text(ownership.get("owner", ""), path / "owner")
        label = self._text(ownership.get("label", ""), path / "label")
        if not owner and not label:
            self._refuse("expected a text that is not empty", path)
        return Ownership(self._choice(ownership, path), owner, label)

    def _choice(self, value: JSONObject, path: Path) -> Rule:
        """Read which objects something is about."""
        return Rule(
            kinds=self._texts(value, path, "kinds"),
            namespaces=self._texts(value, path, "namespaces"),
            names=self._texts(value, path, "names"),
            labels=self._selector(value, path),
            source=self._source,
            line=self._places.of(path).line,
        )

    def _date(self, value: JSONObject, path: Path, name: str) -> date | None:
        if name not in value:
            return None
        text = self._text(value[name], path / name)
        try:
            return date.fromisoformat(text)
        except ValueError:
            self._refuse(
                f"expected a day, not {show(text)}", path / name, hint="2026-12-31"
            )

    def _rule(self, value: JSON, path: Path) -> Rule:
        rule = self._object(value, path, _RULE)
        if not rule.keys() & set(_EFFECTS):
            hint = "paths, managers or normalizers; paths: ['*'] is the whole object"
            self._refuse("the rule says nothing", path, hint=hint)
        # What one manager owns is compared in the same way as all else.
        if "managers" in rule and "normalizers" in rule:
            self._refuse(
                "managers and normalizers are for rules of their own",
                path / "normalizers",
            )
        return msgspec.structs.replace(
            self._choice(rule, path),
            reason=self._text(rule.get("reason", ""), path / "reason"),
            owner=self._text(rule.get("owner", ""), path / "owner"),
            ticket=self._text(rule.get("ticket", ""), path / "ticket"),
            expires=self._date(rule, path, "expires"),
            paths=self._patterns(rule, path),
            managers=self._texts(rule, path, "managers"),
            normalizers=self._normalizers(rule, path),
        )

    def _patterns(self, rule: JSONObject, path: Path) -> tuple[Pattern, ...]:
        patterns: list[Pattern] = []
        for index, text in enumerate(self._texts(rule, path, "paths")):
            try:
                patterns.append(pattern_of(text))
            except ValueError as error:
                self._refuse(str(error), path / "paths" / index)
        return tuple(patterns)

    def _selector(self, rule: JSONObject, path: Path) -> LabelSelector:
        text = self._text(rule.get("selector", ""), path / "selector")
        try:
            return parse_label_selector(text)
        except SelectorError as error:
            self._refuse(error.problem, path / "selector")

    def _normalizers(self, rule: JSONObject, path: Path) -> dict[str, bool]:
        if "normalizers" not in rule:
            return {}
        here = path / "normalizers"
        switches: dict[str, bool] = {}
        for name, is_on in self._object(rule["normalizers"], here, NORMALIZERS).items():
            if not isinstance(is_on, bool):
                self._refuse(f"expected true or false, not {show(is_on)}", here / name)
            switches[name] = is_on
        if not switches:
            self._refuse("expected at least one normalizer", here)
        return switches

    def _texts(self, rule: JSONObject, path: Path, name: str) -> tuple[str, ...]:
        if name not in rule:
            return ()
        here = path / name
        elements = self._list(rule[name], here)
        # A list that a template left empty would mean everything.
        if not elements:
            self._refuse("expected at least one element", here)
        texts = [
            self._text(element, here / index) for index, element in enumerate(elements)
        ]
        for index, text in enumerate(texts):
            if not text:
                self._refuse("expected a text that is not empty", here / index)
        return tuple(texts)

    def _text(self, value: JSON, path: Path) -> str:
        if not isinstance(value, str):
            self._refuse(f"expected a string, not {type_name(value)}", path)
        return value

    def _list(self, value: JSON, path: Path) -> JSONArray:
        if not isinstance(value, list):
            self._refuse(f"expected a list, not {type_name(value)}", path)
        return value

    def _object(self, value: JSON, path: Path, names: Collection[str]) -> JSONObject:
        if not isinstance(value, dict):
            self._refuse(f"expected an object, not {type_name(value)}", path)
        for name in value:
            # A misspelled member would make a rule say something else.
            if name not in names:
                hint = did_you_mean(name, names) or listing("there are", names)
                self._refuse(f"unknown member {name!r}", path / name, hint=hint)
        return value

    def _refuse(self, problem: str, path: Path, *, hint: str = "") -> Never:
        raise DocumentError(
            problem,
            code="invalid-rules",
            path=path,
            hint=hint,
            source=self._source,
            line=self._places.of(path).line,
        )
