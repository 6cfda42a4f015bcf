"""Random arguments for every public function, of JSON and of anything else.

An input is a number: the same number is the same call. ``attempt`` makes the call, and
returns what is wrong with its end: an exception that is no SmpError, or an error that
cannot be printed or pickled. A process that ends is found by who started it.
"""

from __future__ import annotations

import importlib
import inspect
import pickle
import pkgutil
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from functools import cache
from typing import Any, Final

import smp
from smp import handler, json_patch, lint, managed_fields, merge_patch, wire
from smp.managed_fields import FieldSet, Serving, Step
from smp.paths import KeyedElement, SetElement
from smp.schema.catalog import compile_openapi, read_compiled
from tests.support import hostile_edges
from tests.support.hostile_values import (
    BOTH,
    NAMES,
    PROFILES,
    SCHEMA_NAMES,
    SCHEMA_TEXTS,
    TEXTS,
    Hostile,
)
from tests.support.makers import subjects


def _engine(make: Hostile) -> object:
    schema = make.schema()
    first, second, third = make.objects(schema)
    overwriting = make.options(overwrite=BOTH)
    applying = make.options(
        profile=PROFILES,
        overwrite=BOTH,
        ratchet=BOTH,
        unknown_fields=("error", "merge"),
    )
    base = None if make.chance(0.1) else third
    normalizing = make.options(profile=PROFILES, on_conflict=("error", "clear"))
    validating = make.options(profile=PROFILES, ratchet=BOTH)
    calls: tuple[Callable[[], object], ...] = (
        lambda: smp.two_way_patch(first, second, schema),
        lambda: smp.apply_patch(first, second, schema),
        lambda: smp.three_way_patch(base, first, second, schema, **overwriting),
        lambda: smp.three_way_apply(base, first, second, schema, **applying),
        lambda: smp.compose_patches([first, second, third], schema),
        lambda: smp.compose_patches(first, schema),
        lambda: smp.find_conflicts(first, second, schema),
        lambda: smp.normalize_unions(base, first, schema, patch=second, **normalizing),
        lambda: smp.validate_unions(base, first, schema, **validating),
        lambda: smp.validate_enums(first, schema),
        lambda: smp.with_last_applied(first),
        lambda: smp.last_applied_configuration(first),
    )
    return make.random.choice(calls)()


def _values(make: Hostile) -> object:
    first, second = make.value(), make.value()
    operations = make.operations()
    calls: tuple[Callable[[], object], ...] = (
        lambda: merge_patch.apply(first, second),
        lambda: merge_patch.diff(first, second),
        lambda: json_patch.apply(first, operations),
        lambda: json_patch.diff(first, second),
        lambda: smp.with_last_applied(first),
        lambda: wire.encode(first),
    )
    return make.random.choice(calls)()


def _bytes(make: Hostile) -> object:
    schema = make.schema()
    first, second, third = [make.text(each) for each in make.objects(schema)]
    base = None if make.chance(0.1) else third
    applying = make.options(profile=PROFILES, overwrite=BOTH, ratchet=BOTH)
    calls: tuple[Callable[[], object], ...] = (
        lambda: wire.two_way_patch(first, second, schema),
        lambda: wire.apply_patch(first, second, schema),
        lambda: wire.three_way_patch(base, first, second, schema),
        lambda: wire.three_way_apply(base, first, second, schema, **applying),
        lambda: wire.decode(first),
    )
    return make.random.choice(calls)()


def _handler(make: Hostile) -> object:
    schema = None if make.chance(0.1) else make.schema()
    first, second, third = make.objects(schema or make.maker.subject().schema)
    options = handler.Options(
        **make.options(
            profile=PROFILES,
            field_validation=("Ignore", "Warn", "Strict"),
            dry_run=BOTH,
            prune=BOTH,
            custom=BOTH,
            strategic=BOTH,
            resource=("pods", ""),
            default=(lambda _: third,),
            admit=(lambda _: third,),
        )
    )
    stored = first if make.chance(0.5) else make.text(first)
    body = make.text(make.operations() if make.chance(0.3) else second)
    media_type = make.random.choice(
        (handler.STRATEGIC, handler.MERGE, handler.JSON_PATCH, handler.APPLY, "", None)
    )
    calls: tuple[Callable[[], object], ...] = (
        lambda: handler.patch(stored, body, media_type, schema, options),
        lambda: handler.patch(stored, body, media_type, schema, options),
        lambda: handler.replace(stored, body, schema, options),
        lambda: handler.create(body, schema, options),
    )
    outcome = make.random.choice(calls)()
    assert isinstance(outcome, handler.Accepted | handler.Refused)
    if isinstance(outcome, handler.Refused):
        wire.encode(outcome.status)
    return outcome


@cache
def _documents() -> tuple[Any, ...]:
    """Return whole documents, to be spoiled: an OpenAPI document and definitions."""
    openapi = {
        "definitions": {
            "a": {
                "type": "object",
                "properties": {
                    "b": {
                        "type": "array",
                        "items": {"$ref": "#/definitions/a"},
                        "x-kubernetes-patch-strategy": "merge",
                        "x-kubernetes-patch-merge-key": "name",
                    },
                    "name": {"type": "string", "enum": ["x"]},
                },
                "x-kubernetes-group-version-kind": [
                    {"group": "g", "version": "v1", "kind": "A"}
                ],
            }
        }
    }
    overlay = smp.bundled_overlay()
    return (openapi, overlay, *hostile_edges.definitions())


def _schemas(make: Hostile) -> object:
    document = make.random.choice(_documents())
    for _ in range(make.random.randrange(4)):
        document = make.spoiled(document)
    if make.chance(0.3):
        document = make.value(0, SCHEMA_NAMES, SCHEMA_TEXTS)
    if make.chance(0.1):
        document = [document, make.value(2, SCHEMA_NAMES, SCHEMA_TEXTS)]

    def used(catalog: smp.Catalog) -> None:
        for kind in catalog.kinds()[:2]:
            schema = catalog.schema(*kind)
            first, second, _ = make.objects(schema)
            smp.three_way_apply(None, first, second, schema)
            smp.validate_enums(first, schema)

    def inline() -> None:
        schema = smp.Schema.inline(document, make.value(0, SCHEMA_NAMES, SCHEMA_TEXTS))
        smp.two_way_patch({"a": {"a": 1}}, {"a": {"a": [1]}}, schema)

    def compiled() -> None:
        used(read_compiled(compile_openapi(document, source="x")))

    calls: tuple[Callable[[], object], ...] = (
        lambda: used(smp.Catalog.from_openapi(document)),
        lambda: used(smp.Catalog.from_crd(document)),
        lambda: used(smp.kubernetes().with_overlay(document)),
        lambda: smp.kubernetes(make.random.choice((None, "1.33", document))),
        lambda: smp.kubernetes().schema_of(document),
        lambda: smp.kubernetes().schema(document, "Pod"),
        lambda: smp.without_enums(document),
        inline,
        compiled,
        lambda: read_compiled(make.text(document)),
    )
    return make.random.choice(calls)()


# fmt: off
ELEMENTS: Final = (
    ".", "f:", "f:a", "f:name", "f:metadata", "f:labels", "f:spec", "f:containers",
    "f:finalizers", "f:ports", "f:data", "f:\ud800", 'k:{"name":"a"}', 'k:{"name":1}',
    'k:{"port":1.0}', 'k:{"name":"a","key":null}', "k:{}", "k:null", "k:[]", "k:{",
    'k:{"name":{"a":[1,null]}}', 'k:{"a":9007199254740993}', 'k:{"a":1e999}',
    f"k:{'[' * 2_000}", 'v:"a"', "v:1", "v:1.0", "v:true", "v:null", "v:{}", "v:",
    "v:9007199254740993", f"v:{'9' * 5_000}", 'v:"\\ud800"', f"v:{'[' * 2_000}",
    "i:0", "i:-1", "i:01", "i:9223372036854775808", "i:a", "x:a", "::", "a", "",
)
ENTRY_TEXTS: Final = (
    "alice", "bob", "kubectl", "unknown", "Apply", "Update", "v1", "apps/v1", "a/b/c",
    "status", "scale", "FieldsV1", "FieldsV2", "", "2024-05-01T10:00:00Z", "now",
    "0001-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59", "2024-05-01", "\ud800",
)
# fmt: on
# A time without a zone, one with a zone, and those that no other zone has.
TIMES: Final = (
    datetime(2024, 5, 1),  # noqa: DTZ001
    datetime(2024, 5, 1, tzinfo=UTC),
    datetime.min,  # noqa: DTZ901
    datetime.max.replace(tzinfo=timezone(-timedelta(hours=1))),
)
VERBS: Final = (
    "apply",
    "client-side apply",
    "kubectl apply",
    "update",
    "strategic merge patch",
    "merge patch",
    "JSON patch",
    "scale",
    "release",
)


def _field_set(make: Hostile, depth: int = 0) -> Any:
    if make.chance(0.03):
        return make.value()
    names = make.random.choices(ELEMENTS, k=make.random.choice((0, 1, 2, 3)))
    if depth > 4:
        return {}
    return {name: _field_set(make, depth + 1) for name in names}


def _entry(make: Hostile) -> Any:
    if make.chance(0.03):
        return make.value()
    entry: dict[str, Any] = {
        "manager": make.random.choice(("alice", "bob", "kubectl")),
        "operation": make.random.choice(("Apply", "Update")),
        "apiVersion": make.random.choice(("v1", "apps/v1", "example.com/v1")),
        "time": make.random.choice(ENTRY_TEXTS),
        "fieldsType": "FieldsV1",
        "fieldsV1": _field_set(make),
    }
    if make.chance(0.3):
        entry["subresource"] = make.random.choice(("status", "scale", ""))
    if make.chance(0.2):
        name = make.random.choice([*entry])
        entry[name] = make.value(3, texts=ENTRY_TEXTS)
    return entry


def _owned(make: Hostile, obj: Any, schema: smp.Schema) -> Any:
    """Give an object managed fields, mostly some that a server could have written."""
    if type(obj) is not dict or type(obj.get("metadata", {})) is not dict:
        return obj
    entries = [_entry(make) for _ in range(make.random.randrange(4))]
    if make.chance(0.6):
        with suppress(smp.SmpError):
            tracked: Any = managed_fields.track(None, obj, schema, manager="alice")
            entries += tracked.get("metadata", {}).get("managedFields", [])
    if make.chance(0.1):
        entries += entries
    sent = make.value() if make.chance(0.03) else entries
    return {**obj, "metadata": {**obj.get("metadata", {}), "managedFields": sent}}


def _path(make: Hostile) -> smp.Path:
    steps = (*NAMES, 0, -1)
    return smp.Path(tuple(make.random.choices(steps, k=make.random.randrange(3))))


def _managed(make: Hostile) -> object:
    schema = make.schema()
    first, second, third = make.objects(schema)
    live = _owned(make, first, schema)
    configuration = second
    if type(second) is dict and schema.kind and make.chance(0.8):
        identity = {"apiVersion": schema.api_version, "kind": schema.kind}
        configuration = {**second, **identity}
        if type(live) is dict:
            live = {**live, **identity}
    base = None if make.chance(0.2) else live
    names = ("alice", "bob", "kubectl", "", "\ud800")
    manager = make.random.choice(names)
    now = make.random.choice((None, *TIMES))
    serving = Serving(
        **make.options(
            has_status=BOTH,
            versions=({"v1": schema}, {}, None),
            custom=BOTH,
            kubernetes=("1.36.2", "1.37", "1.36.3"),
        )
    )
    options: dict[str, Any] = {"now": now, "serving": serving}
    options |= make.options(subresource=("", "status", "scale", "log"))
    forced = options | make.options(force=BOTH, profile=PROFILES)
    document = make.value() if make.chance(0.1) else _field_set(make)
    steps = [
        Step(
            make.random.choice(names),
            make.random.choice((configuration, third, make.value(), 3)),
            make.random.choice(VERBS),
            make.chance(0.5),
        )
        for _ in range(make.random.randrange(4))
    ]
    stepping: dict[str, Any] = {"now": now, "serving": serving} | make.options(
        profile=PROFILES
    )

    def field_sets() -> object:
        ours = FieldSet.from_v1(make.text(document) if make.chance(0.3) else document)
        theirs = FieldSet.from_v1(_field_set(make))
        assert FieldSet.from_v1(ours.to_v1()) == ours
        assert FieldSet.from_v1(ours.to_v1_text()) == ours
        for path in ours.paths():
            assert ours.has(path)
        assert ours.union(theirs) == theirs.union(ours)
        assert ours.difference(theirs).union(ours.intersection(theirs)) == ours
        ours.recursive_difference(theirs)
        return ours.has(_path(make))

    calls: tuple[Callable[[], object], ...] = (
        lambda: smp.server_side_apply(
            base, configuration, schema, manager=manager, **forced
        ),
        lambda: smp.server_side_apply(
            base, configuration, schema, manager=manager, **forced
        ),
        lambda: managed_fields.track(
            base, configuration, schema, manager=manager, **options
        ),
        lambda: managed_fields.simulate(base, steps, schema, **stepping),
        lambda: managed_fields.owners(live),
        lambda: managed_fields.owners_of(live, _path(make)),
        lambda: managed_fields.extract(live, schema, manager),
        lambda: managed_fields.upgrade(live, from_managers=names, to_manager=manager),
        lambda: managed_fields.upgrade_patch(
            live, from_managers=["alice"], to_manager=manager
        ),
        lambda: managed_fields.release(live, schema, manager),
        lambda: managed_fields.rename(live, manager, "bob"),
        lambda: managed_fields.blame(live),
        lambda: managed_fields.fieldset_of(first, schema),
        lambda: managed_fields.removed(
            first, schema, FieldSet.from_v1(_field_set(make))
        ),
        lambda: managed_fields.extracted(
            first, schema, FieldSet.from_v1(_field_set(make))
        ),
        lambda: smp.with_defaults(first, schema),
        field_sets,
    )
    return make.random.choice(calls)()


@cache
def public_functions() -> dict[str, Callable[..., Any]]:
    """Return every function that a public module has in its ``__all__``, by its name.

    These modules are those that lie in the package itself, or one level below it.
    """
    modules = {"smp": smp}
    for found in pkgutil.walk_packages(smp.__path__, "smp."):
        if found.name.count(".") == 1 and not found.name.startswith("smp._"):
            modules[found.name] = importlib.import_module(found.name)
    functions: dict[str, Callable[..., Any]] = {}
    for module_name, module in modules.items():
        for name in getattr(module, "__all__", ()):
            function = getattr(module, name)
            # Compiled functions are built in.
            if inspect.isroutine(function):
                functions[f"{module_name}.{name}"] = function
    return functions


def _public(make: Hostile) -> object:
    """Call a public function with JSON of any form, or anything, for what is JSON."""
    functions = public_functions()
    names = [name for name in functions if name not in OWN_CALLS]
    function = functions[make.random.choice(names)]
    result = function(**arguments_of(function, make))
    return [*result] if isinstance(result, Iterator) else result


def arguments_of(function: Callable[..., Any], make: Hostile) -> dict[str, Any]:
    """Make arguments by their annotations. Raises TypeError for unknown ones."""
    schema = make.schema()
    objects = [*make.objects(schema), make.deep()]
    arguments: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        annotation = str(parameter.annotation)
        if parameter.annotation is parameter.empty:
            # Compiled functions have no annotations.
            annotation = _BY_NAME.get(name, "Any")
        is_optional = parameter.default is not parameter.empty
        if is_optional and make.chance(0.5):
            continue
        if annotation.startswith("Schema"):
            wrong: tuple[Any, ...] = (None, "pod", {}, schema.type)
            arguments[name] = make.random.choice(wrong) if make.chance(0.1) else schema
        elif annotation in _CHOICES:
            arguments[name] = make.random.choice(_CHOICES[annotation])
        elif "Text" in annotation or "Stored" in annotation:
            arguments[name] = make.text(make.random.choice(objects))
        elif annotation.startswith("bytes"):
            arguments[name] = make.random.choice((b"", b"\xff", b"[" * 900, *TEXTS))
        elif annotation == "ReplicasPaths":
            arguments[name] = {"v1": None, "apps/v1": _path(make)}
        elif re.search("Mapping|JSON|Any|object|dict", annotation):
            arguments[name] = make.random.choice(objects)
        elif annotation == "Path":
            arguments[name] = _path(make)
        elif annotation == "FieldSet":
            arguments[name] = FieldSet.from_v1(_field_set(make))
        elif annotation == "Iterable[str]":
            arguments[name] = make.random.choices(TEXTS, k=2)
        elif not is_optional:
            raise TypeError(f"{function.__name__}: {name} is {annotation}")
    return arguments


_BY_NAME: Final = {
    "path": "Path",
    "schema": "Schema",
    "form": "Form",
    "lenient": "bool",
    "custom": "bool",
    "rules": "bool",
    "written": "bool",
}
_CHOICES: Final[dict[str, tuple[Any, ...]]] = {
    "bool": (False, True),
    "Form": lint.FORMS,
    "str": TEXTS,
    "str | None": (None, *TEXTS),
}
# They take what is made above, or functions.
OWN_CALLS: Final = (
    "smp.handler.aretry",
    "smp.handler.requested",
    "smp.handler.retry",
    "smp.handler.to_status",
    "smp.managed_fields.simulate",
    # What they take is what an apply raised: conflicts, and their paths.
    "smp.managed_fields.give_up",
    "smp.managed_fields.ways_out",
    *(name for names in hostile_edges.CALLS.values() for name in names),
)
_KINDS_OF_CALLS: Final = (
    _public,
    _public,
    _public,
    _managed,
    _managed,
    _managed,
    _engine,
    _engine,
    _engine,
    _values,
    _bytes,
    _handler,
    _schemas,
    *hostile_edges.CALLS,
)


def attempt(number: int) -> str:
    """Make the call of a number; return what is wrong, or the empty string."""
    make = Hostile(number)
    call = make.random.choice(_KINDS_OF_CALLS)
    try:
        repr_of = call(make)
    except smp.SmpError as error:
        return _wrong_error(error)
    except Exception as error:  # noqa: BLE001  # that is what is looked for
        return f"{call.__name__}: {type(error).__name__}: {error!s:.200}"
    del repr_of
    return ""


def _wrong_error(error: smp.SmpError) -> str:
    try:
        _ = (str(error), repr(error), error.hint)
        # No JSON Pointer leads to the elements in managed fields, which have no index.
        if not any(isinstance(s, (KeyedElement, SetElement)) for s in error.path.steps):
            _ = error.path.pointer
        assert error.code == error.code.lower()
        assert str(error.path.by_index) is not None
        handler.to_status(error)
    except Exception as problem:  # noqa: BLE001  # see attempt
        return f"{type(error).__name__} cannot be printed: {problem!r:.200}"
    return ""


def prepare() -> None:
    """Load what all calls share, so that the first one is not slow."""
    subjects()
    _documents()
    pickle.dumps(smp.kubernetes())


def answer(number: int) -> str:
    """Make a call with JSON of the engine or of managed fields; print its end."""
    make = Hostile(number)
    make.strange = False
    call = make.random.choice((_engine, _engine, _managed, _values, _public))
    try:
        return repr(call(make))
    except smp.SmpError as error:
        return f"{type(error).__name__} {error.code} {error}"
    except RecursionError:
        return "RecursionError"
