"""One pair of objects: whether the live one is what the manifest asks for.

Theory of operation
===================

The first of these that holds decides:

1. There is no live object ("missing"), or no manifest ("extra").
2. Both have the same bytes ("same"): nothing is decoded.
3. One of them cannot be read, or they cannot be compared ("unreadable").
4. A pair with the same content was judged before (_memory.py): the answer is the same,
   but for the managers, which have times. It is found with one pass over each object
   (_usual.py).
5. Live has all that the manifest asks for, as it is written or as a server stores it,
   and nothing is to be pruned ("same"). Of the live object only the members that the
   manifest has are decoded.
6. The apply is computed, without status and managed fields. Where its result and the
   live object differ only in what rules and normalizers set aside (smp.comparison), and
   the result has all that the manifest asks for, it is "same" as well.
7. All else is "drift"; a "hazard" where the apply would do harm beside what it is asked
   for (smp.hazards).

On request, what was added by hand is told as well (_additions.py): of an object that is
the same it makes "extra-fields".
"""

from __future__ import annotations

from functools import partial
from typing import Final, Literal, TypeAlias, get_args

import msgspec

from smp._storage.update import STOCK_PROFILE
from smp._values.api_objects import SHOWN_OF_SECRET
from smp._values.label_selectors import LabelSelector
from smp._values.values import JSON, JSONObject, as_object, as_text, same, sort_members
from smp.comparison import NO_RULES, Rules, compared, is_stored
from smp.errors import ObjectError, SmpError, UnknownKindError, too_deep
from smp.explain import codes_at
from smp.fleet._additions import EXTRA_FIELDS, additions_of
from smp.fleet._equality import Equality, covers
from smp.fleet._managers import Managers, by_index, find_owned_at, managers_at, named
from smp.fleet._memory import Content, Memory, content_of, heads_of, is_hidden
from smp.fleet._objects import ObjectText, bare
from smp.fleet._served import drop_ignored, serve_apply, serve_create
from smp.hazards import Hazard
from smp.managed_fields import Owner
from smp.paths import Path
from smp.schema.catalog import Catalog
from smp.schema.model import Schema
from smp.three_way import ApplyInputs, three_way_apply
from smp.violations import VIOLATIONS, Violation, refusal_of

Verdict: TypeAlias = Literal[
    "same", "drift", "missing", "extra", "hazard", "unreadable", "extra-fields"
]
VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)

# What every object without a last-applied configuration has, and what says that a
# later apply may do harm, is no harm of the next one.
_NO_HARM: Final = frozenset(
    {
        "no-last-applied",
        "stale-last-applied",
        "superseded-last-applied",
        "rewritten-last-applied",
        "ambiguous-key",
    }
)
_MASK: Final = "***"
# The bytes of the pairs whose answers are remembered.
_MOST: Final = 16 << 20
# What only matters where a manifest is about it, or a rule about managers.
_UNNEEDED: Final = frozenset({"status", "managedFields"})
_WITHOUT_SCHEMA: Final = Schema.inline("any").with_unknown_fields("merge")


class Outcome(msgspec.Struct, frozen=True):
    """What is known of a row.

    ``paths`` are those at which live is not what it should be; ``causes`` has the code
    of each (docs/causes.md), ``managers`` who owns what live has there: names with the
    operation and the time of the last change, joined by commas, "" where that is not
    known. For an "extra" object ``managers`` are all of them. ``patch`` is what the
    next apply would send, as JSON; None where it changes nothing. ``heals`` says if
    that makes live what the manifest asks for; None where there is nothing to heal, or
    that is not known. ``refusals`` are what a server would refuse of the next apply, or
    what is not known of that, each with its path. ``error`` says why the row is
    unreadable.
    """

    verdict: Verdict
    paths: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    patch: str | None = None
    heals: bool | None = None
    managers: tuple[str, ...] = ()
    error: str | None = None
    refusals: tuple[str, ...] = ()

    def repeats(self, names: tuple[bytes, bytes]) -> bool:
        """Tell whether the outcome has one of some names in it."""
        texts = (self.patch or "", self.error or "", *self.paths, *self.refusals)
        return any(name and name.decode() in text for name in names for text in texts)


SAME: Final = Outcome("same")


class _Judged(msgspec.Struct, frozen=True):
    """An outcome without its managers, and by which paths they own what live has."""

    outcome: Outcome
    owned: tuple[Path | None, ...] = ()


_JUDGED_SAME: Final = _Judged(SAME)
# It stands for other answers, which depend on the name.
_JUDGED_BY_NAME: Final = _Judged(SAME)


class Rows:
    """Judges pairs of objects by the schemas of a catalog, and by rules.

    Schemas are compiled once for each kind. With ``show_secrets`` the patches of
    Secrets have their values; with ``additions`` what was added by hand counts.
    """

    def __init__(
        self,
        catalog: Catalog,
        rules: Rules = NO_RULES,
        *,
        show_secrets: bool = False,
        additions: bool = False,
    ) -> None:
        self._catalog = catalog
        self._rules = rules
        self._compared = partial(compared, rules=rules, leaves_out_server_fields=False)
        self._additions = additions
        self._show_secrets = show_secrets
        self._equality = Equality()
        self._managers = Managers()
        self._judged: Memory[_Judged] = Memory(_MOST)
        self._selective = [
            rule
            for rule in rules.all
            if rule.names or rule.namespaces or rule.labels != LabelSelector()
        ]
        self._trusting = [rule for rule in rules.all if rule.managers]
        self._has_normalizers = any(rule.normalizers for rule in rules.all)
        self._schemas: dict[tuple[bytes, bytes], Schema] = {}

    def is_for(
        self, catalog: Catalog, rules: Rules, *, show_secrets: bool, additions: bool
    ) -> bool:
        """Tell whether this judges by a catalog and rules."""
        return (
            self._catalog is catalog
            and self._additions == additions
            and self._show_secrets == show_secrets
            and (self._rules is rules or self._rules == rules)
        )

    def outcome(
        self,
        desired: bytes | None,
        live: bytes | None,
        last_applied: bytes | None = None,
        *,
        cluster: str = "",
    ) -> Outcome:
        """Judge one pair of a cluster; what is wrong with it is an outcome, too."""
        # Broken JSON on both sides is the same as well: nothing would change it.
        if desired is not None and desired == live:
            return SAME
        try:
            if desired is None or live is None:
                return self.one_sided(desired, live)
            return self.pair(desired, live, last_applied, cluster)
        except SmpError as error:
            return Outcome("unreadable", error=str(error))
        except RecursionError:
            return Outcome("unreadable", error=str(too_deep("the object")))

    def one_sided(self, desired: bytes | None, live: bytes | None) -> Outcome:
        """Judge a manifest, or a live object, alone. Raises ObjectError."""
        if live is not None:
            owners = self._managers.of(ObjectText(live, "live").managed_fields, live)
            managers = tuple([named(owner) for owner in owners])
            return Outcome("extra", managers=managers)
        if desired is None:
            raise ObjectError("neither desired nor live", code="no-object")
        text = ObjectText(desired, "desired")
        schema = self._schema_of(text, "desired")
        # A new object is its own patch. The annotation of an exported one, which would
        # show the values of a Secret, is left out.
        manifest = text.decoded("desired")
        patch = self._patch_text(manifest, schema)
        served = serve_create(manifest, schema)
        return Outcome(
            "missing",
            patch=patch,
            heals=served.object is not None,
            refusals=self._refusal_texts(served.refusals, schema),
        )

    def pair(
        self, desired: bytes, live: bytes, last_applied: bytes | None, cluster: str = ""
    ) -> Outcome:
        """Judge two texts that differ. Raises SmpError and RecursionError."""
        content = content_of(desired, live, last_applied, cluster)
        if content is None:
            judged = self._judge(desired, live, last_applied)
            fields = ObjectText(live, "live").managed_fields
        else:
            judged = self._judge_once(content, desired, live, last_applied)
            fields = content.managed_fields
        if not judged.owned and not self._additions:
            return judged.outcome
        # What somebody has added is told by them alone.
        is_required = self._additions and judged.outcome.verdict == "same"
        owners = self._managers.of(fields, live, is_required=is_required)
        if self._additions:
            judged = self._add_additions(judged, desired, live, owners)
        managers = [managers_at(owners, path) for path in judged.owned]
        return msgspec.structs.replace(judged.outcome, managers=tuple(managers))

    def _add_additions(
        self, judged: _Judged, desired: bytes, live: bytes, owners: tuple[Owner, ...]
    ) -> _Judged:
        wanted = ObjectText(desired, "desired")
        schema = self._schema_of(wanted, "desired")
        manifest = wanted.decoded("desired")
        obj = self._convert_live(
            manifest, ObjectText(live, "live").decoded("live"), schema
        )
        paths = additions_of(manifest, obj, schema, owners, self._rules)
        known = {*judged.outcome.paths}
        paths = [path for path in paths if str(path) not in known]
        if not paths:
            return judged
        outcome = judged.outcome
        is_same = outcome.verdict == "same"
        return _Judged(
            msgspec.structs.replace(
                outcome,
                verdict=EXTRA_FIELDS if is_same else outcome.verdict,
                paths=(*outcome.paths, *map(str, paths)),
                causes=(*outcome.causes, *[EXTRA_FIELDS] * len(paths)),
            ),
            (*judged.owned, *[find_owned_at(obj, schema, path) for path in paths]),
        )

    def _judge_once(
        self, content: Content, desired: bytes, live: bytes, last_applied: bytes | None
    ) -> _Judged:
        """Return what was found out of a pair with this content, or find it out."""
        keys: list[object] = [*content.keys]
        size = len(content.text)
        if self._rules.all:
            ruled = self._apply_rules_to(content)
            keys = [(ruled, key) for key in keys]
        if self._has_normalizers:
            # Something is made of values that are only compared elsewhere.
            keys, hidden = keys[-1:], content.hidden[-1:]
        else:
            hidden = content.hidden
        judged: _Judged | None = None
        for key, names in zip(keys, hidden, strict=True):
            known = self._judged.get(key, size)
            if known is None:
                if judged is None:
                    judged = self._judge(desired, live, last_applied)
                is_last = key is keys[-1]
                holds = is_last or (
                    not judged.outcome.repeats(names) and is_hidden(content, names)
                )
                self._judged.keep(key, judged if holds else _JUDGED_BY_NAME, size)
                if not holds:
                    continue
                return judged
            if known is not _JUDGED_BY_NAME:
                return known
        raise AssertionError("the last key holds for all names")

    def _apply_rules_to(self, content: Content) -> tuple[object, ...]:
        """Return what the rules make of what a content does not have."""
        found: list[object] = [
            self._managers.trusted_by(rule, content.managed_fields)
            for rule in self._trusting
        ]
        if self._selective:
            try:
                heads = heads_of(content)
            except (msgspec.MsgspecError, UnicodeError):
                return (content.text, *content.identity, *found)
            found += [rule.concerns(head) for rule in self._selective for head in heads]
        return tuple(found)

    def _judge(
        self, desired: bytes, live: bytes, last_applied: bytes | None
    ) -> _Judged:
        there = ObjectText(live, "live")
        wanted = ObjectText(desired, "desired")
        base: ObjectText | None = None
        if last_applied is not None:
            base = ObjectText(last_applied, "last_applied")
        elif there.last_applied is not None:
            base = ObjectText(there.last_applied, "last-applied")
        schema = self._schema_of(wanted, "desired")
        if self._equality.is_equal(wanted, there, base, schema):
            return _JUDGED_SAME
        manifest = wanted.decoded("desired")
        former = None if base is None else bare(base.decoded("last-applied"))
        # Most of an object is often what servers and controllers write.
        unneeded = _UNNEEDED.difference(
            manifest,
            as_object(manifest.get("metadata")),
            former or (),
            as_object((former or {}).get("metadata")),
            ("managedFields",) if self._trusting else (),
        )
        obj = there.decoded("live", unneeded)
        obj = self._convert_live(manifest, obj, schema)
        # What is remembered of them holds for members in any order.
        return self._applied(
            _in_order(manifest),
            _in_order(obj),
            None if former is None else _in_order(former),
            schema,
        )

    def _schema_of(self, text: ObjectText, what: str) -> Schema:
        api_version, kind = text.member("apiVersion"), text.member("kind")
        # To make a schema takes longer than to compare an object by it.
        schema = self._schemas.get((api_version, kind))
        if schema is None:
            head = text.head(what)
            schema = self._schema_named(head.get("apiVersion"), head.get("kind"))
            self._schemas[api_version, kind] = schema
        return schema

    def _schema_named(self, api_version: JSON, kind: JSON) -> Schema:
        if not isinstance(api_version, str) or not isinstance(kind, str):
            raise ObjectError("an object has apiVersion and kind", code="missing-kind")
        try:
            # An unknown field is no reason to leave an object out of a report.
            schema = self._catalog.schema(api_version, kind)
            return schema.with_unknown_fields("merge")
        except UnknownKindError:
            return _WITHOUT_SCHEMA

    def _convert_live(
        self, manifest: JSONObject, live: JSONObject, schema: Schema
    ) -> JSONObject:
        """Return the live object as one of the version of the manifest.

        Raises ObjectError where the catalog does not say that both have the same form.
        """
        version, other = as_text(manifest["apiVersion"]), live.get("apiVersion")
        kind = manifest["kind"]
        if version == other and kind == live.get("kind"):
            return live
        group, other_group = (
            text.rpartition("/")[0] for text in (version, as_text(other))
        )
        # A server converts between the versions of a group, and never between groups.
        if kind == live.get("kind") and group == other_group:
            found = self._schema_named(other, kind)
            if are_alike(schema, found, self._catalog):
                return {**live, "apiVersion": version}
        raise ObjectError(
            f"the manifest is {version} {kind}, and live is {live.get('apiVersion')} "
            f"{live.get('kind')}, which has another form",
            code="another-version",
            hint="read the live object in the version of the manifest",
        )

    def _applied(
        self,
        desired: JSONObject,
        live: JSONObject,
        last_applied: JSONObject | None,
        schema: Schema,
    ) -> _Judged:
        manifest = desired
        desired = drop_ignored(manifest, manifest, live, schema)
        if last_applied is not None:
            last_applied = drop_ignored(last_applied, manifest, live, schema)
        # What a rule sets aside is in neither the patch nor the paths, as in smp diff.
        if self._rules.all:
            desired, last_applied = self._follow_rules(
                desired, live, last_applied, schema
            )
        result = three_way_apply(
            last_applied, desired, live, schema, unknown_fields="merge"
        )
        paths = self._find_differing(result.object, live, schema, result.unmet)
        # What is only written differently the patch sends, and it changes nothing.
        if not paths:
            return _JUDGED_SAME
        simulated = result
        if result.changes:
            # No server of today clears the members of unions.
            simulated = three_way_apply(
                last_applied,
                desired,
                live,
                schema,
                profile=STOCK_PROFILE,
                unknown_fields="merge",
                hazards="ignore",
            )
        served = serve_apply(simulated, live, schema)
        if served.object is not None:
            # A server may store less than what it is sent. What it fills in beside that
            # is no drift.
            stored = self._find_differing(served.object, live, schema, simulated.unmet)
            paths = [path for path in paths if _is_among(path, stored)]
            if not paths:
                return _JUDGED_SAME
        heals = self._heals(desired, served.object, schema)
        patch = None
        if result.kubectl_patch:
            patch = self._patch_text(result.kubectl_patch, schema)
        codes = codes_at(
            ApplyInputs(last_applied, desired, live), result, schema, paths
        )
        verdict: Verdict = "drift"
        if do_harm(result.hazards, [by_index(live, path) for path in paths]):
            verdict = "hazard"
        outcome = Outcome(
            verdict,
            tuple([str(path) for path in paths]),
            tuple(codes),
            patch,
            heals,
            refusals=self._refusal_texts(served.refusals, schema),
        )
        return _Judged(
            outcome, tuple([find_owned_at(live, schema, path) for path in paths])
        )

    def _find_differing(
        self,
        after: JSONObject,
        live: JSONObject,
        schema: Schema,
        unmet: tuple[Path, ...],
    ) -> list[Path]:
        comparison = self._compared(after, live, schema, live_is_stored=is_stored(live))
        paths = [difference.path for difference in comparison.differences]
        known = {str(path) for path in paths}
        # An element with a repeated key, for example.
        return paths + [path for path in unmet if str(path) not in known]

    def _heals(
        self, desired: JSONObject, stored: JSONObject | None, schema: Schema
    ) -> bool:
        """Tell whether all that is asked for is stored, or an apply changes nothing."""
        if stored is None:
            return False
        if covers(stored, desired, schema.type):
            return True
        result = three_way_apply(
            desired, desired, stored, schema, unknown_fields="merge", hazards="ignore"
        )
        after = serve_apply(result, stored, schema).object
        if after is None:
            return False
        return not self._find_differing(after, stored, schema, result.unmet)

    def _follow_rules(
        self,
        desired: JSONObject,
        live: JSONObject,
        last_applied: JSONObject | None,
        schema: Schema,
    ) -> tuple[JSONObject, JSONObject | None]:
        """Return the configurations with live's values where a rule sets them aside."""
        follow = partial(self._compared, reads=False, normalizes=False)
        followed = follow(desired, live, schema).aligned
        if last_applied is None:
            return followed, None
        return followed, follow(last_applied, live, schema).aligned

    def _refusal_texts(
        self, refusals: tuple[Violation, ...], schema: Schema
    ) -> tuple[str, ...]:
        if schema.kind == "Secret" and not self._show_secrets:
            # Their messages have values.
            refusals = tuple(
                msgspec.structs.replace(each, message=VIOLATIONS[each.code].sentence)
                for each in refusals
            )
        return tuple(str(refusal_of(each)) for each in refusals)

    def _patch_text(self, patch: JSONObject, schema: Schema) -> str:
        if schema.kind == "Secret" and not self._show_secrets:
            patch = {name: _mask(name, value) for name, value in patch.items()}
        return msgspec.json.encode(sort_members(patch)).decode()


def _is_among(path: Path, others: list[Path]) -> bool:
    """Tell whether one of some paths is in this one, or this one in it."""
    return any(
        path.steps[: len(other.steps)] == other.steps[: len(path.steps)]
        for other in others
    )


def _in_order(obj: JSONObject) -> JSONObject:
    """Return an object with its members, and those of its metadata, sorted."""
    found = {name: obj[name] for name in sorted(obj)}
    metadata = obj.get("metadata")
    if isinstance(metadata, dict):
        found["metadata"] = {name: metadata[name] for name in sorted(metadata)}
    return found


def _mask(name: str, value: JSON) -> JSON:
    """Mask the values of a section of a Secret; what is deleted stays null."""
    if name in SHOWN_OF_SECRET or value is None:
        return value
    if not isinstance(value, dict):
        return _MASK
    return {key: None if member is None else _MASK for key, member in value.items()}


def do_harm(hazards: tuple[Hazard, ...], paths: list[Path]) -> bool:
    """Tell whether the next apply does harm at one of some paths of live.

    What normalizers take for equal is sent all the same, and harms nothing.
    """
    return any(
        _is_among(hazard.path.by_index, paths)
        for hazard in hazards
        if hazard.severity != "note" and hazard.code not in _NO_HARM
    )


def are_alike(schema: Schema, other: Schema, catalog: Catalog) -> bool:
    """Tell whether objects of two versions of a kind have the same fields.

    A server converts between versions; where both have the same fields it changes
    nothing but the apiVersion.
    """
    # A kind without a schema may have any form.
    if not schema.kind or not other.kind:
        return False
    # Of custom resources, the definition says it.
    if schema.structural is not None or other.structural is not None:
        return schema.structural == other.structural
    seen: set[tuple[JSON, JSON]] = set()

    def are_same(left: JSON, right: JSON) -> bool:
        if same(left, right):
            return True
        if isinstance(left, str) and isinstance(right, str):
            # Only references to named types can differ and mean the same.
            if not left.startswith("#") or not right.startswith("#"):
                return False
            if (left, right) in seen:
                return True
            # A type may contain itself: JSONSchemaProps does.
            seen.add((left, right))
            return are_same(catalog.load(left[1:]), catalog.load(right[1:]))
        if isinstance(left, dict) and isinstance(right, dict):
            return left.keys() == right.keys() and all(
                are_same(value, right[name]) for name, value in left.items()
            )
        if isinstance(left, list) and isinstance(right, list):
            return len(left) == len(right) and all(map(are_same, left, right))
        return False

    return are_same(schema.document, other.document)
