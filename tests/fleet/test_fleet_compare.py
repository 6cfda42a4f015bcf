"""The comparison of a batch of pairs: verdicts, columns, poison rows, and laws.

``SMP_FLEET_PAIRS`` sets the number of random pairs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from random import Random
from typing import Any, Final

import msgspec
import pyarrow as pa
import pytest

import smp
from benchmarks.fleets import Pair, Rates, pairs
from smp._values.values import JSON, JSONObject, as_object
from smp.comparison import Rules
from smp.errors import SmpError
from smp.explain import explain_apply
from smp.fleet import OUTPUT_SCHEMA, Outcome, by_bytes, compare
from smp.fleet._rows import Rows
from tests.support.makers.triples import Triple
from tests.support.server_definitions import definition_of

COUNT: Final = int(os.environ.get("SMP_FLEET_PAIRS", "40"))
CATALOG: Final = smp.kubernetes()
LABELLED: Final = {
    "Namespace": "v1",
    "NetworkPolicy": "networking.k8s.io/v1",
    "Job": "batch/v1",
    "ReplicationController": "v1",
    "Service": "v1",
    "Widget": "example.com/v1",
}
IDENTITY: Final = ("cluster", "group", "version", "kind", "namespace", "name")


def text(value: object) -> bytes:
    return json.dumps(value).encode()


def deployment(**spec: object) -> dict[str, Any]:
    app = {"name": "app", "image": "web:1", "resources": {"limits": {"cpu": "1000m"}}}
    labels = {"app": "web"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [app]}},
            **spec,
        },
    }


def live_of(manifest: dict[str, Any], **metadata: object) -> dict[str, Any]:
    live = smp.with_defaults(manifest, CATALOG.schema_of(manifest))
    own = {"uid": "6e0c", "resourceVersion": "7", **metadata}
    return {**live, "metadata": {**as_object(live["metadata"]), **own}, "status": {}}


def edited_by(manager: str, *fields: str) -> list[dict[str, Any]]:
    owned: dict[str, Any] = {}
    for field in reversed(fields):
        owned = {f"f:{field}": owned}
    return [
        {
            "manager": manager,
            "operation": "Update",
            "apiVersion": "apps/v1",
            "time": "2026-04-01T12:00:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": owned,
        }
    ]


def row(
    desired: object, live: object, last_applied: object = None, **options: Any
) -> Outcome:
    texts = [
        None if value is None else value if isinstance(value, bytes) else text(value)
        for value in (desired, live, last_applied)
    ]
    return Rows(CATALOG, **options).outcome(*texts)


def batch_of(found: list[Pair]) -> pa.RecordBatch:
    columns = {
        name: [getattr(pair, name) for pair in found]
        for name in (*IDENTITY, "desired", "live")
    }
    return pa.RecordBatch.from_pydict(columns)


def test_what_a_server_adds_is_no_drift() -> None:
    manifest = deployment()
    assert row(manifest, live_of(manifest)) == Outcome("same")


def test_another_spelling_is_no_drift() -> None:
    manifest = deployment()
    live = live_of(manifest)
    [container] = live["spec"]["template"]["spec"]["containers"]
    container["resources"] = {"limits": {"cpu": "1"}}
    assert row(manifest, live) == Outcome("same")


def test_drift_has_its_paths_causes_managers_and_what_mends_it() -> None:
    manifest = deployment(replicas=2)
    managers = edited_by("kubectl-scale", "spec", "replicas")
    live = live_of(deployment(replicas=5), managedFields=managers)
    outcome = row(manifest, live, manifest)
    assert outcome == Outcome(
        "drift",
        ("spec.replicas",),
        ("overwrites-controller",),
        '{"spec":{"replicas":2}}',
        heals=True,
        managers=("kubectl-scale Update 2026-04-01T12:00:00Z",),
    )


def test_the_annotation_of_kubectl_is_the_last_applied_configuration() -> None:
    manifest = deployment()
    applied = smp.with_last_applied(deployment(paused=True))
    live = live_of(applied)
    outcome = row(manifest, live)
    assert (outcome.paths, outcome.causes) == (("spec.paused",), ("pruned",))
    # The column wins over the annotation.
    assert row(manifest, live, manifest).verdict == "same"


def test_one_side_alone_is_missing_or_extra() -> None:
    manifest = deployment()
    patch = json.dumps(manifest, separators=(",", ":"), sort_keys=True)
    assert row(manifest, None) == Outcome("missing", patch=patch, heals=True)
    live = live_of(manifest, managedFields=edited_by("helm", "spec"))
    outcome = row(None, live)
    assert (outcome.verdict, outcome.patch, outcome.heals) == ("extra", None, None)
    assert outcome.managers == ("helm Update 2026-04-01T12:00:00Z",)


def test_an_apply_that_would_do_harm_is_a_hazard() -> None:
    def service(*protocols: str) -> dict[str, Any]:
        ports = [{"name": p.lower(), "port": 53, "protocol": p} for p in protocols]
        metadata = {"name": "dns", "namespace": "shop", "uid": "1"}
        spec = {"ports": ports, "selector": {"app": "dns"}}
        return {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata,
            "spec": spec,
        }

    # The user removes 53/TCP; a patch goes by the port alone, and removes 53/UDP.
    outcome = row(service("UDP"), service("TCP", "UDP"), service("TCP", "UDP"))
    assert outcome.verdict == "hazard"
    assert outcome.heals is False


def test_rules_set_aside_what_they_say_and_keep_it_out_of_the_patch() -> None:
    manifest = deployment(replicas=2)
    live = live_of(deployment(replicas=5))
    outcome = row(manifest, live, rules=Rules.ignoring("spec.replicas"))
    assert outcome.verdict == "same"
    assert "replicas" not in str(outcome.patch)


def test_the_values_of_secrets_are_masked() -> None:
    def secret(**data: str) -> dict[str, Any]:
        metadata = {"name": "a", "uid": "1"}
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": metadata,
            "data": data,
        }

    desired, live = secret(a="b3Bl"), secret(a="c2Vj", old="eA==")
    masked = row(desired, live, live)
    assert masked.patch == '{"data":{"a":"***","old":null}}'
    shown = row(desired, live, live, show_secrets=True)
    assert shown.patch == '{"data":{"a":"b3Bl","old":null}}'
    exported = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(desired)}
    desired["metadata"]["annotations"] = exported
    desired["stringdata"] = {"misspelled": "b3Bl"}
    new = row(desired, None)
    assert new.verdict == "missing"
    assert "b3Bl" not in str(new.patch)


def crd(*versions: tuple[str, str]) -> JSONObject:
    specs: JSONObject = {
        name: {"type": "object", "properties": {field: {"type": "integer"}}}
        for name, field in versions
    }
    return definition_of("Widget", specs)


def test_versions_of_one_form_are_compared_and_others_are_not() -> None:
    definition = crd(("v1", "size"), ("v1beta1", "size"), ("v1alpha1", "width"))
    rows = Rows(CATALOG | smp.Catalog.from_crd(definition))

    def widget(version: str, **spec: int) -> bytes:
        metadata = {"name": "w", "uid": "1"}
        return text(
            {
                "apiVersion": f"example.com/{version}",
                "kind": "Widget",
                "metadata": metadata,
                "spec": spec,
            }
        )

    live = widget("v1", size=1)
    assert rows.outcome(widget("v1beta1", size=1), live).verdict == "same"
    assert rows.outcome(widget("v1beta1", size=2), live).paths == ("spec.size",)
    other = rows.outcome(widget("v1alpha1", width=1), live)
    assert other.verdict == "unreadable"
    assert "another form" in str(other.error)
    # The versions of a built-in kind, too.
    autoscaler = {"kind": "HorizontalPodAutoscaler", "metadata": {"name": "a"}}
    v1 = {"apiVersion": "autoscaling/v1", **autoscaler, "spec": {}}
    v2 = {"apiVersion": "autoscaling/v2", **autoscaler, "spec": {"maxReplicas": 1}}
    assert row(v1, v2).verdict == "unreadable"


DEEP: Final = b'{"apiVersion":"v1","kind":"ConfigMap","data":%b%b}' % (
    b'{"a":' * 2000 + b"1",
    b"}" * 2000,
)
BIG: Final = text({**deployment(), "data": {"blob": "x" * 3_000_000}})
POISON: Final[dict[str, tuple[bytes | None, bytes | None]]] = {
    "truncated": (b'{"apiVersion": "v1"', BIG),
    "no JSON": (text(deployment()), b"\x00\xff"),
    "a list": (b"[]", text(deployment())),
    "no kind": (b'{"spec": 1}', text(deployment())),
    "kind of a wrong type": (b'{"apiVersion": [], "kind": {}}', text(deployment())),
    "half a surrogate pair": (b'{"apiVersion":"v1","kind":"\\ud800"}', b"{}"),
    "deep": (DEEP, b"{}"),
    "both absent": (None, None),
    "another kind": (
        b'{"apiVersion":"v1","kind":"A"}',
        b'{"apiVersion":"v1","kind":"B"}',
    ),
    "another name": (
        b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}',
        b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"b"}}',
    ),
}


def test_a_row_that_cannot_be_read_leaves_the_others_alone() -> None:
    good = text(deployment())
    sides = [(good, good), *POISON.values(), (good, text(live_of(deployment())))]
    columns: dict[str, list[Any]] = {name: ["x"] * len(sides) for name in IDENTITY}
    columns["desired"] = [desired for desired, _ in sides]
    columns["live"] = [live for _, live in sides]
    found = compare(pa.RecordBatch.from_pydict(columns)).to_pylist()
    assert [row["verdict"] for row in found] == [
        "same",
        *["unreadable"] * len(POISON),
        "same",
    ]
    assert all(bool(row["error"]) == (row["verdict"] == "unreadable") for row in found)


def test_large_objects_and_unknown_kinds_are_compared() -> None:
    big = text({**live_of(deployment()), "data": {"blob": "x" * 3_000_000}})
    assert row(BIG, big).verdict == "same"
    unknown = {"apiVersion": "x.io/v1", "kind": "Any", "metadata": {"name": "a"}}
    assert row({**unknown, "a": [1]}, {**unknown, "a": [1], "b": 2}).verdict == "same"
    drifted = row({**unknown, "a": [1]}, {**unknown, "a": [1, 2]})
    # The apply would take out what is not in the manifest.
    assert (drifted.verdict, drifted.paths) == ("hazard", ("a",))


def test_1_is_neither_true_nor_a_double() -> None:
    thing = {"apiVersion": "x.io/v1", "kind": "Any", "metadata": {"name": "a"}}
    assert row({**thing, "a": {"b": 1}}, {**thing, "a": {"b": True}}).verdict == "drift"
    assert row({**thing, "a": [1]}, {**thing, "a": [True]}).paths == ("a",)


COLUMN_TYPES: Final[dict[str, Callable[[pa.Array], pa.Array]]] = {
    "string": lambda column: column.cast(pa.string()),
    "large_string": lambda column: column.cast(pa.large_string()),
    "string_view": lambda column: column.cast(pa.string_view()),
    "binary": lambda column: column.cast(pa.binary()),
    "large_binary": lambda column: column.cast(pa.large_binary()),
    "binary_view": lambda column: column.cast(pa.binary()).cast(pa.binary_view()),
    "dictionary": lambda column: column.cast(pa.string()).dictionary_encode(),
    "json": lambda column: pa.ExtensionArray.from_storage(
        pa.json_(pa.string()), column.cast(pa.string())
    ),
}


@pytest.fixture(scope="module")
def fleet() -> pa.RecordBatch:
    rates = Rates(drifted=200, missing=50, extra=50, identical=50)
    return batch_of([*pairs(120, rates=rates)])


@pytest.mark.parametrize("name", COLUMN_TYPES)
def test_text_may_be_in_columns_of_all_types(fleet: pa.RecordBatch, name: str) -> None:
    expected = compare(fleet)
    columns = [COLUMN_TYPES[name](fleet.column(each)) for each in fleet.schema.names]
    other = pa.RecordBatch.from_arrays(columns, fleet.schema.names)
    assert compare(other).equals(expected)


def test_a_batch_keeps_its_order_and_has_the_schema(fleet: pa.RecordBatch) -> None:
    found = compare(fleet)
    assert found.schema == OUTPUT_SCHEMA
    assert found.select(IDENTITY).equals(
        fleet.select(IDENTITY).cast(found.select(IDENTITY).schema)
    )
    # Each row has the same answer in any other batch.
    halves = [compare(fleet.slice(0, 50)), compare(fleet.slice(50))]
    assert pa.Table.from_batches(halves).equals(pa.Table.from_batches([found]))
    assert compare(fleet.slice(0, 0)).num_rows == 0


def test_a_batch_without_a_column_or_with_numbers_is_an_error(
    fleet: pa.RecordBatch,
) -> None:
    with pytest.raises(SmpError, match="no column 'live'") as raised:
        compare(fleet.select([*IDENTITY, "desired"]))
    assert raised.value.code == "missing-column"
    numbers = pa.array(range(fleet.num_rows))
    with pytest.raises(SmpError, match="of type int64") as raised:
        compare(fleet.set_column(0, "cluster", numbers))
    assert raised.value.code == "invalid-column"
    garbage = pa.array([b"\xff"] * fleet.num_rows)
    with pytest.raises(SmpError, match="is not text"):
        compare(fleet.set_column(0, "cluster", garbage))


def test_batches_are_divided_by_their_bytes(fleet: pa.RecordBatch) -> None:
    parts = [*by_bytes([fleet, fleet.slice(0, 0)], fleet.nbytes // 5)]
    assert 4 <= len(parts) <= 8
    assert pa.Table.from_batches(parts).equals(pa.Table.from_batches([fleet]))
    assert len([*by_bytes([fleet], 1)]) == fleet.num_rows


def texts_of_pairs() -> list[tuple[bytes | None, bytes | None, bytes | None]]:
    """Return realistic pairs, and triples as they go wrong."""
    rates = Rates(drifted=300, missing=150, extra=150)
    found: list[tuple[bytes | None, bytes | None, bytes | None]] = [
        (pair.desired, pair.live, None) for pair in pairs(COUNT, rates=rates)
    ]
    for seed in range(COUNT):
        triple = Triple(seed)
        last = None if triple.last_applied is None else text(triple.last_applied)
        found.append((text(triple.manifest), text(triple.live), last))
        found.append((text(triple.manifest), text(triple.manifest) + b" ", None))
    return found


def forgetful(monkeypatch: pytest.MonkeyPatch) -> Rows:
    """Return rows that remember nothing of a pair."""
    monkeypatch.setattr("smp.fleet._rows.content_of", lambda *_: None)
    return Rows(CATALOG)


def test_the_fast_comparison_changes_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    class Never:
        def is_equal(self, *_: object) -> bool:
            return False

    rows = Rows(CATALOG)
    sides = texts_of_pairs()
    fast = [rows.outcome(*texts) for texts in sides]
    monkeypatch.setattr("smp.fleet._rows.Equality", Never)
    rows = forgetful(monkeypatch)
    slow = [rows.outcome(*texts) for texts in sides]
    verdicts = {outcome.verdict for outcome in slow}
    assert verdicts >= {"same", "drift", "missing", "extra"}
    for texts, one, other in zip(sides, fast, slow, strict=True):
        # What the engine refuses to apply is the same before it is applied.
        if one != other and one.verdict == "same":
            assert other.verdict in ("same", "unreadable"), texts
            assert other.paths == ()
        else:
            assert one == other


def test_what_is_remembered_of_another_object_changes_no_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def renamed(side: bytes | None) -> bytes | None:
        if side is None:
            return None
        obj = json.loads(side)
        metadata = obj.get("metadata")
        if isinstance(metadata, dict):
            metadata["name"] = "another"
            metadata["namespace"] = "elsewhere"
            if "uid" in metadata:
                metadata["uid"] = "other"
            for entry in metadata.get("managedFields") or []:
                entry["time"] = "2026-05-05T05:05:05Z"
            # Objects have no order.
            obj["metadata"] = dict(reversed(metadata.items()))
        return text(dict(reversed(obj.items())))

    sides = texts_of_pairs()
    sides += [(renamed(one), renamed(two), renamed(last)) for one, two, last in sides]
    rows = Rows(CATALOG)
    remembered = [rows.outcome(*texts) for texts in sides]
    rows = forgetful(monkeypatch)
    assert remembered == [rows.outcome(*texts) for texts in sides]


@pytest.mark.parametrize(
    ("side", "member", "value"),
    [
        ("live", "labels", {"team": "b"}),
        ("live", "annotations", {}),
        ("live", "annotations", {"a": "2"}),
        ("live", "ownerReferences", []),
        ("desired", "annotations", {"a": "1"}),
        ("desired", "annotations", None),
        ("desired", "uid", "7"),
        ("desired", "namespace", "other"),
        ("last_applied", "labels", {"team": "a", "old": ""}),
        ("last_applied", "finalizers", ["x"]),
    ],
)
def test_all_that_an_answer_depends_on_is_part_of_what_is_remembered(
    side: str, member: str, value: object
) -> None:
    manifest = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "namespace": "shop", "labels": {"team": "a"}},
        "data": {"key": "1"},
    }
    sides: dict[str, dict[str, Any]] = {
        "desired": manifest,
        "live": live_of({**manifest, "data": {"key": "2"}}),
        "last_applied": manifest,
    }
    rows = Rows(CATALOG)
    first = rows.outcome(*map(text, sides.values()))
    changed = {**sides[side], "metadata": {**sides[side]["metadata"], member: value}}
    sides[side] = changed
    texts = [*map(text, sides.values())]
    found = rows.outcome(*texts)
    assert found == Rows(CATALOG).outcome(*texts)
    if (side, member) in {("live", "labels"), ("desired", "uid")}:
        assert found != first


def test_the_label_with_the_name_of_a_namespace_is_part_of_what_is_remembered() -> None:
    label = "kubernetes.io/metadata.name"

    def pair(name: str, wanted: JSONObject, there: JSONObject) -> list[bytes]:
        namespace: JSONObject = {"apiVersion": "v1", "kind": "Namespace"}
        ours: JSONObject = {"name": name, "labels": {"team": "a", **wanted}}
        theirs: JSONObject = {"name": name, "uid": name, "labels": there}
        sides = ({**namespace, "metadata": own} for own in (ours, theirs))
        return [msgspec.json.encode(side) for side in sides]

    rows = Rows(CATALOG)
    texts = [
        pair("one", {}, {label: "one"}),
        pair("two", {}, {label: "two"}),
        pair("one", {}, {label: "two"}),
        pair("one", {}, {label: "two", "a": "one"}),
        pair("one", {label: "one"}, {label: "one"}),
        pair("two", {label: "one"}, {label: "two"}),
        pair("two", {}, {}),
    ]
    found = [rows.outcome(*sides) for sides in texts]
    assert found == [Rows(CATALOG).outcome(*sides) for sides in texts]
    assert found[0] == found[1]


def labelled_pair(random: Random) -> list[bytes | None]:
    """Return an object of few forms whose labels and selectors may have its name."""
    name = random.choice(["one", "two"])

    def value() -> str:
        # The last one is "one" as well.
        return random.choice([name, name, name, "one", "two", "\\u006fne"])

    def labels() -> JSONObject:
        return {"app": value()} if random.random() < 0.8 else {}

    def selector() -> JSONObject:
        if random.random() < 0.7:
            return {"matchLabels": labels()}
        values: list[JSON] = [value()]
        expression: JSONObject = {"key": "app", "operator": "In", "values": values}
        return {"matchExpressions": [expression]}

    kind = random.choice([*LABELLED])
    specs: list[JSONObject] = []
    for _ in range(2):
        template: JSONObject = {"metadata": {"labels": labels()}}
        by_kind: dict[str, JSONObject] = {
            "Namespace": {},
            "NetworkPolicy": {"podSelector": selector()},
            "Job": {"template": template},
            "ReplicationController": {"template": template},
            "Service": {"selector": labels()},
            "Widget": {"selector": labels()},
        }
        specs.append(by_kind[kind])
    sides: list[bytes | None] = []
    is_labelled = random.random() < 0.5
    own, other = labels(), labels()
    for spec in (specs[0], random.choice(specs), random.choice(specs)):
        metadata: JSONObject = {"name": name}
        if is_labelled or (sides and kind in ("Namespace", "Job")):
            metadata["labels"] = random.choice([own, own, other])
        if sides and kind == "Namespace":
            metadata["labels"] = {"kubernetes.io/metadata.name": value()}
        version = LABELLED[kind]
        side = {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}
        sides.append(msgspec.json.encode(side).replace(b"\\\\u", b"\\u"))
    return [sides[0], sides[1], random.choice([None, sides[0], sides[2]])]


def test_what_is_remembered_of_another_name_changes_no_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    random = Random(18)
    triples = [labelled_pair(random) for _ in range(COUNT * 20)]
    rows = Rows(CATALOG)
    remembered = [rows.outcome(*texts) for texts in triples]
    rows = forgetful(monkeypatch)
    assert remembered == [rows.outcome(*texts) for texts in triples]
    assert {outcome.verdict for outcome in remembered} >= {"same", "drift"}


def policies(name: str, *selectors: object) -> list[bytes]:
    sides = [
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": {"name": name},
            "spec": {"podSelector": selector, "policyTypes": ["Ingress"]},
        }
        for selector in selectors
    ]
    return [msgspec.json.encode(each).replace(b"\\\\u", b"\\u") for each in sides]


def test_a_label_with_the_name_may_have_another_spelling() -> None:
    expression = {"key": "app", "operator": "In", "values": ["one"]}
    # This is "one" as well.
    spelling = {"matchLabels": {"app": "\\u006fne"}}
    for names in (["one", "two"], ["two", "one"]):
        rows = Rows(CATALOG)
        for name in names:
            label = {"matchLabels": {"app": name}}
            verdict = "same" if name == "one" else "drift"
            other = {"matchExpressions": [expression]}
            for selectors in ([label, other, other], [spelling, label, spelling]):
                found = rows.outcome(*policies(name, *selectors))
                assert found.verdict == verdict


def test_labels_may_be_of_a_type_that_no_label_has() -> None:
    rows = Rows(CATALOG)
    for name in ("one", "two", "one"):
        selectors = [{"matchLabels": {"app": name, "n": n}} for n in (1, 2)]
        outcome = rows.outcome(*policies(name, *selectors))
        assert outcome.paths == ("spec.podSelector.matchLabels.n",)


@pytest.mark.parametrize("fields", [None, "x", [{"fieldsType": "FieldsV2"}], [{}]])
def test_managed_fields_that_cannot_be_read_have_no_managers(fields: object) -> None:
    live = live_of(deployment(replicas=3), managedFields=fields)
    outcome = row(deployment(replicas=2), live)
    assert (outcome.paths, outcome.managers) == (("spec.replicas",), ("",))
    assert row(None, live) == Outcome("extra")


def test_a_name_may_be_a_word_of_the_object() -> None:
    def sides(name: str) -> list[bytes]:
        found: list[dict[str, Any]] = []
        for scheduler in (None, name, "other"):
            manifest = deployment()
            manifest["metadata"]["name"] = name
            if scheduler:
                manifest["spec"]["template"]["spec"]["schedulerName"] = scheduler
            found.append(manifest)
        found[1] = live_of(found[1])
        return [*map(text, found)]

    rows = Rows(CATALOG)
    verdicts = [
        rows.outcome(*sides(name)).verdict for name in ("default-scheduler", "own")
    ]
    assert verdicts == ["same", "drift"]


def test_a_label_with_the_name_is_the_same_under_any_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def sides(name: str, replicas: int, image: str) -> list[bytes]:
        manifest = deployment(selector={"matchLabels": {"app": name}}, replicas=2)
        manifest["metadata"] = {"name": name, "labels": {"app": name}}
        template = manifest["spec"]["template"]
        template["metadata"] = {"labels": {"app": name}}
        live = live_of(manifest)
        live["spec"]["replicas"] = replicas
        template["spec"]["containers"][0]["image"] = image
        return [text(manifest), text(live)]

    rows = Rows(CATALOG)
    first = rows.outcome(*sides("one", 3, "web:1"))
    assert first.paths == ("spec.replicas",)
    named = rows.outcome(*sides("one", 3, "one"))
    assert named.patch is not None
    assert '"one"' in named.patch
    # What the name is not repeated in is not computed again.
    monkeypatch.setattr(Rows, "_judge", lambda *_: pytest.fail("computed"))
    assert rows.outcome(*sides("two", 3, "web:1")) == first


def test_the_causes_are_those_of_an_explanation() -> None:
    compared = 0
    for pair in pairs(COUNT // 2, rates=Rates(drifted=1000)):
        if pair.desired is None or pair.live is None or pair.kind == "PrometheusRule":
            continue
        desired, live = json.loads(pair.desired), json.loads(pair.live)
        outcome = row(pair.desired, pair.live)
        base = smp.last_applied_configuration(live)
        schema = CATALOG.schema_of(desired)
        causes = explain_apply(base, desired, live, schema, unknown_fields="merge")
        explained = {str(cause.path): cause.code for cause in causes}
        for path, code in zip(outcome.paths, outcome.causes, strict=True):
            if path in explained:
                compared += 1
                assert code == explained[path], (pair.kind, path)
    assert compared >= COUNT // 4
