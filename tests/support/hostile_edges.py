"""Calls of the edges with random arguments: texts, cases, reports, Arrow, a cluster."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any, Final

import httpx
import pyarrow as pa
import yaml

import smp
from smp import cases, cluster, custom_resources, documents, fleet, reports
from smp.cluster.plan.exchange import PlannedRequest, Response
from tests.record.definitions import bases
from tests.support.cluster_server import ScriptedServer
from tests.support.hostile_values import BOTH, TEXTS, Hostile
from tests.support.paths import ROOT

# Of a file of cases, in bytes.
_LARGE: Final = 40_000
_COLUMN_TYPES: Final = (pa.binary(), pa.large_binary(), pa.binary_view())
# What texts are made of that readers of YAML and JSON disagree about.
_PIECES: Final = (
    "---\n", "---", "\n", "\r", "\r\n", "\r\r\n", "\ufeff", "...\n", "- ", ": ",
    "a: 1\n", "? ", "&a ", "*a", "!!binary ", "!!int x\n", "<<: *a\n", "{", "}", "[",
    "]", ",", '"', "'", "|\n", ">-\n  x\n", "#", "\t", "%YAML 1.2\n", "0o17", "1e999",
    "9" * 5_000, "2001-01-01", "~", ".inf", "\x00", "\x85", "\u2028", "kind: List\n",
    "items:\n- a: 1\n", "apiVersion: v1\n", '{"a": 1}', "@", "`",
)  # fmt: skip


def _text(make: Hostile, value: Any = None) -> str:
    """Write a value as a text of either format, and break it sometimes."""
    if make.chance(0.3):
        return "".join(make.random.choices(_PIECES, k=make.random.randrange(12)))
    value = make.value() if value is None else value
    try:
        if make.chance(0.5):
            text = json.dumps(value, ensure_ascii=make.chance(0.5))
        else:
            text = yaml.safe_dump(value, allow_unicode=True)
    except (TypeError, ValueError, RecursionError, yaml.YAMLError):
        text = "{}"
    for _ in range(make.random.choice((0, 0, 1, 3))):
        at = make.random.randrange(len(text) + 1)
        text = text[:at] + make.random.choice(_PIECES) + text[at:]
    return text


def read_documents(make: Hostile) -> object:
    """Read a text, or write values."""
    text = _text(make)
    data: Any = text.encode(errors="surrogatepass")
    if make.chance(0.1):
        data = text.encode("utf-16", errors="surrogatepass")
    sources = make.random.choice(("<input>", "a.yaml", "\ud800"))
    most = make.random.choice((documents.MAX_BYTES, 0, 10))

    def parse() -> object:
        found: list[object] = []
        for chunk in documents.chunks(io.BytesIO(data), sources, most):
            found += documents.parse(chunk)
            found += documents.positions(chunk)
        return found

    given = make.random.choice((data, text))
    values = [make.value() for _ in range(make.random.randrange(3))]
    calls: tuple[Callable[[], object], ...] = (
        lambda: documents.read(given, source=sources, max_bytes=most),
        lambda: documents.read_one(
            given, source=sources, max_bytes=most, keep_floats=make.chance(0.5)
        ),
        parse,
        parse,
        lambda: documents.dump_yaml(values),
        lambda: documents.dump_kyaml(values),
        lambda: documents.dump_json(
            values, indent=make.random.choice((None, 2, 0, -1))
        ),
    )
    return make.random.choice(calls)()


@cache
def _case_files() -> tuple[Any, ...]:
    """Return the files of cases that are small, so that many of them are run."""
    found = []
    for file in sorted((ROOT / "spec_cases").rglob("*.yaml")):
        content = documents.read_one(file.read_bytes(), keep_floats=True).value
        # Cases of a server take longer, and smp.handler has calls of its own.
        if file.stat().st_size < _LARGE and content.get("cases"):
            found.append(content)
    return tuple(found)


def run_cases(make: Hostile) -> object:
    """Read a file of cases, run them, and write what they ended with into the file."""
    file = make.random.choice(_case_files())
    file = {**file, "cases": [make.random.choice(file["cases"])]}
    for _ in range(make.random.randrange(3)):
        file = make.spoiled(file)
    text = _text(make, file)
    outcomes = [cases.run(case) for case in cases.parse(text)]
    changes: dict[int, Any] = {
        outcome.case.index: cases.corrected(outcome) for outcome in outcomes
    }
    if make.chance(0.3):
        changes = {make.random.randrange(3): {"patch": make.value(4)}}
    for outcome in outcomes:
        _ = [str(each) for each in (outcome, *outcome.differences)]
    return cases.updated_text(text, changes)


@cache
def definitions() -> tuple[Any, ...]:
    """Return definitions of custom resources, as projects write them."""
    return tuple(bases().values())


def judge_custom_resources(make: Hostile) -> object:
    """Judge a definition, or an object by it."""
    given = make.random.choice(definitions())
    definition = given
    for _ in range(make.random.randrange(4)):
        definition = make.spoiled(definition)
    first, second = make.value(), make.value()

    def judge() -> object:
        catalog = smp.Catalog.from_crd(definition)
        schema = catalog.schema(*catalog.kinds()[0])
        custom_resources.form_of(first, second, schema)
        return custom_resources.validate(
            {"spec": first} if make.chance(0.5) else first,
            schema,
            make.random.choice((None, second)),
            subresource=make.random.choice(("", "status", "x")),
        )

    calls: tuple[Callable[[], object], ...] = (
        lambda: custom_resources.definition_violations(
            definition, given if make.chance(0.5) else None
        ),
        lambda: custom_resources.unchecked(definition),
        lambda: custom_resources.three_way_json_merge_patch(given, definition, first),
        judge,
        judge,
    )
    return make.random.choice(calls)()


def print_reports(make: Hostile) -> object:
    """Explain an apply, and print the report in one of the formats."""
    schema = make.schema()
    last_applied, modified, live = make.objects(schema)
    causes: tuple[smp.Cause, ...] = ()
    with suppress(smp.SmpError):
        causes = smp.explain_apply(last_applied, modified, live, schema)
    report = reports.ObjectReport(
        schema.api_version,
        schema.kind,
        make.random.choice(TEXTS),
        make.random.choice(TEXTS),
        reports.Place(make.random.choice(TEXTS), make.random.randrange(3)),
        make.random.choice(("changed", "new", "failed", "checked")),
        last_applied=last_applied,
        live=live,
        desired=modified,
        result=make.random.choice((live, modified, None)),
        patch=make.value(3),
        causes=causes,
        findings=tuple(filter(None, map(reports.finding_of_cause, causes))),
        notes=(make.random.choice(TEXTS),),
        error=make.random.choice(TEXTS),
        type_=schema.type,
    )
    form: Any = make.random.choice((*reports.FORMATS, "pdf", None, []))
    return "".join(reports.printed([report] * 2, form, title=make.random.choice(TEXTS)))


def compare_fleet(make: Hostile) -> object:
    """Compare a batch of pairs, in columns of several types."""
    schema = make.schema()
    columns: dict[str, Any] = {}
    rows = make.random.randrange(1, 3)
    names = ("a", "", None, "v1", "Pod", "apps", "Secret")
    for name in fleet.INPUT_COLUMNS:
        if name in ("desired", "live", "last_applied"):
            texts = [make.text(make.objects(schema)[0]) for _ in range(rows)]
            cells: list[Any] = [
                bytes(text) if isinstance(text, bytes | bytearray) else None
                for text in texts
            ]
            columns[name] = pa.array(cells, make.random.choice(_COLUMN_TYPES))
        else:
            cells = [make.random.choice(names) for _ in range(rows)]
            columns[name] = pa.array(cells, pa.string())
        if schema.kind and name in ("group", "version", "kind") and make.chance(0.8):
            group, _, version = f"/{schema.api_version}".rpartition("/")
            known = {"group": group.strip("/"), "version": version, "kind": schema.kind}
            columns[name] = pa.array([known[name]] * rows)
        if make.chance(0.01):
            del columns[name]
        elif make.chance(0.02):
            columns[name] = pa.array([1] * rows)
    batch = pa.RecordBatch.from_pydict(columns)
    return [
        fleet.compare(
            each, show_secrets=make.chance(0.5), additions=make.chance(0.5)
        ).to_pylist()
        for each in fleet.by_bytes([batch], make.random.choice((1, 100, 8 << 20)))
    ]


class _Answers(httpx.BaseTransport):
    """A server in memory, of which some answers are no answers."""

    def __init__(self, make: Hostile) -> None:
        self._make = make
        self._server = ScriptedServer()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        make = self._make
        planned = PlannedRequest(
            request.method,
            request.url.path,
            tuple(request.url.params.multi_items()),
            tuple(request.headers.multi_items()),
            request.read(),
        )
        answer = self._server(planned)
        assert isinstance(answer, Response)
        body = answer.body
        status = answer.status
        if make.chance(0.1):
            # No JSON with a probability of one half.
            body = _text(make).encode(errors="surrogatepass")
        if make.chance(0.02):
            # Not what is asked for again after a while.
            status = make.random.choice((200, 201, 400, 404, 409, 415, 422))
        return httpx.Response(status, headers=[*answer.headers], content=body)


def use_cluster(make: Hostile) -> object:
    """Apply, compare, read and delete anything on a cluster, and roll it back."""
    client = httpx.Client(base_url="http://server", transport=_Answers(make))
    on = cluster.Cluster(client, documents={}, namespace="default", parallel=1)
    objects: list[Any] = []
    for _ in range(make.random.randrange(1, 3)):
        kind = make.random.choice(("ConfigMap", "Secret", "Namespace", "Pod"))
        obj: Any = {
            "apiVersion": "v1",
            "kind": kind,
            "metadata": {"name": make.random.choice(("a", "b")), "labels": {"a": "b"}},
            "data": {"a": "b"},
        }
        objects.append(make.spoiled(make.spoiled(obj)))
    given = make.random.choice((objects, objects[0], objects[:1], make.value(2)))
    options = make.options(
        server_side=BOTH,
        force_conflicts=BOTH,
        overwrite=BOTH,
        force=BOTH,
        strict=BOTH,
        dry_run=("none", "client", "server"),
        validate=("strict", "warn", "ignore"),
        unions=("clear", "kubectl"),
        hazards=("warn", "error", "repair", "ignore"),
        prune=("a=b",),
        field_manager=("alice", None),
    )
    if make.chance(0.4):
        options = {}
    run = on.apply(given, **options)
    for result in run.results:
        _ = str(result.error)
    others = make.random.choice((given, make.value(2)))
    calls: tuple[Callable[[], object], ...] = (
        lambda: on.rollback(run),
        lambda: on.diff(others),
        lambda: on.drift(others),
        lambda: on.get(others),
        lambda: on.get_all(others),
        lambda: on.delete(others, wait_until_gone=False),
        lambda: on.list_objects(make.random.choice(("cm", "secrets", "x", ""))),
        on.applysets,
        lambda: cluster.apply_object(on, others),
        run.rollback_plan,
    )
    return make.random.choice(calls)()


# Of names of the public modules: who calls them here.
CALLS: Final[dict[Callable[[Hostile], object], tuple[str, ...]]] = {
    read_documents: (
        "smp.documents.chunks",
        "smp.documents.dump_json",
        "smp.documents.dump_kyaml",
        "smp.documents.dump_yaml",
        "smp.documents.parse",
        "smp.documents.positions",
        "smp.documents.read",
        "smp.documents.read_one",
    ),
    run_cases: (
        "smp.cases.corrected",
        "smp.cases.parse",
        "smp.cases.run",
        "smp.cases.updated_text",
    ),
    judge_custom_resources: (),
    print_reports: (
        "smp.reports.finding_of_cause",
        "smp.reports.printed",
        "smp.reports.printer_of",
    ),
    compare_fleet: ("smp.fleet.by_bytes", "smp.fleet.compare"),
    use_cluster: ("smp.cluster.apply_object",),
}
