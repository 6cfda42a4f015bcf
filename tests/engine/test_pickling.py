"""Everything public pickles, and copies, also where the engine is compiled."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pkgutil import walk_packages
from types import ModuleType
from typing import Any, Final

import msgspec
import pytest

import smp
from smp import fleet, handler, managed_fields, wire
from smp._values.values import JSONObject
from smp.cases import CaseOutcome, Difference, SpecCase
from smp.cases import Failure as CaseFailure
from smp.cluster.plan.apply import Run
from smp.cluster.plan.exchange import PlannedRequest, Response
from smp.documents import Chunk, Document, Position, positions, read_first
from smp.errors import Conflict, Option
from smp.handler import Accepted, Admission, Limits, Options
from smp.reports import Failure
from smp.schema.model import ANY, ANY_FIELD, ObjectType, ScalarType
from tests.support.rows import each_row

PUBLIC_MODULES: Final = (
    *("smp", "smp.cases", "smp.documents", "smp.handler", "smp.managed_fields"),
    *("smp.wire", "smp.fleet"),
)
PATH: Final = smp.Path(("spec", 0))
POD: Final = smp.kubernetes().schema("v1", "Pod")
OBJECT: Final[JSONObject] = {"apiVersion": "v1", "kind": "Pod", "spec": {"x": [1]}}
CONFLICT: Final = Conflict(PATH, 1, smp.ABSENT)
VIOLATION: Final = smp.Violation("c", PATH, "FieldValueRequired", "m", {"a": 1})
WARNING: Final = smp.ApplyWarning("c", PATH, "m")
HAZARD: Final = smp.Hazard("c", PATH, "live", "warning", "s", "r", "g")
CHANGE: Final = smp.Change(PATH, "K2", "why", 1, smp.ABSENT)
CASE_FAILURE: Final = CaseFailure("c", "spec")
APPLY_CONFLICT: Final = smp.ApplyConflict("m", "Apply", "v1", "", "", PATH)
REQUEST: Final = managed_fields.apply_request("/api", OBJECT, "m")
REMEDY: Final = managed_fields.Remedy("drop", "m", OBJECT, OBJECT, "m")
APPLIED: Final = smp.server_side_apply(
    None,
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "labels": {"b": "c"}},
    },
    POD,
    manager="m",
)
STEP: Final = managed_fields.Step("m", {"apiVersion": "v1", "kind": "Pod"})


def undecoded() -> Accepted:
    """Return the outcome of a patch of a long object, which is decoded in part."""
    stored: JSONObject = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a"},
        "data": {"k": "v" * 10_000},
    }
    schema = smp.kubernetes().schema("v1", "ConfigMap")
    body = b'{"metadata":{"labels":{"a":"b"}}}'
    outcome = handler.patch(wire.encode(stored), body, handler.STRATEGIC, schema)
    assert isinstance(outcome, Accepted)
    return outcome


def spec_case() -> SpecCase:
    return SpecCase(index=0, document={"description": "n"}, source="s", line=1)


# A value of each public class that is not an error: a class without one fails.
VALUES: Final[dict[str, Callable[[], object]]] = {
    "AbsentField": lambda: managed_fields.AbsentField(PATH, ()),
    "Accepted": undecoded,
    "Admission": lambda: Admission("UPDATE", None, OBJECT, dry_run=True),
    "ApplyConflict": lambda: APPLY_CONFLICT,
    "ApplyResult": lambda: smp.three_way_apply(None, OBJECT, OBJECT, POD),
    "ApplyWarning": lambda: WARNING,
    "Blame": lambda: managed_fields.blame(APPLIED.object),
    "BlamedValue": lambda: managed_fields.blame(APPLIED.object).values[0],
    "CaseOutcome": lambda: CaseOutcome(spec_case(), ("result",), ()),
    "Catalog": smp.kubernetes,
    "Cause": lambda: smp.explain_apply(None, OBJECT, OBJECT, POD)[0],
    "Change": lambda: CHANGE,
    "Chunk": lambda: Chunk(b"{}", "source", offset=1, list_of=("v1", "PodList")),
    "Comparison": lambda: smp.compare(OBJECT, {**OBJECT, "spec": {}}, POD),
    "Conflict": lambda: CONFLICT,
    "Difference": lambda: Difference("result", CASE_FAILURE, OBJECT, "text"),
    "Document": lambda: Document(OBJECT, "source", 0),
    "Failure": lambda: CASE_FAILURE,
    "FieldSet": lambda: managed_fields.owners(APPLIED.object)[0].fields,
    "Fight": lambda: managed_fields.Fight("m", "n", PATH, PATH, "why", "how"),
    "FirstDocument": lambda: read_first(b"a: 1"),
    "Finding": lambda: Failure("c", PATH, "s"),
    "Hazard": lambda: HAZARD,
    "Limits": Limits,
    "Normalization": lambda: smp.Normalization(OBJECT, (CHANGE,), (WARNING,)),
    "Options": Options,
    "Orphan": lambda: managed_fields.Orphan(PATH, ()),
    "Outcome": lambda: fleet.Outcome("drift", ("a",), ("set",), "{}"),
    "LocalMerge": lambda: managed_fields.local_merge({}, OBJECT, OBJECT, POD),
    "Owner": lambda: managed_fields.owners(APPLIED.object)[0],
    "Ownership": lambda: managed_fields.Ownership.INNER,
    "Path": lambda: PATH,
    "Position": lambda: Position(1, 2),
    "PatchRequest": lambda: REQUEST,
    "Positions": lambda: positions(Chunk(b"a: 1", "source"))[0],
    "Refused": lambda: handler.to_status([VIOLATION]),
    "Remark": lambda: managed_fields.Remark(PATH, "answers", REMEDY),
    "Remedy": lambda: REMEDY,
    "Schema": lambda: POD,
    "ServerSideApplyResult": lambda: APPLIED,
    "Serving": managed_fields.Serving,
    "Simulation": lambda: managed_fields.simulate(None, [STEP], POD),
    "SpecCase": spec_case,
    "State": lambda: managed_fields.State(STEP, OBJECT, changed=True),
    "Step": lambda: STEP,
    "Violation": lambda: VIOLATION,
    "WayOut": lambda: managed_fields.WayOut(
        "give up", PATH, OBJECT, force=False, object=OBJECT, value=1, owners=()
    ),
}
# The arguments of errors that do not take a text; all others get PROBLEM.
PROBLEM: Final = "a problem"
ARGUMENTS: Final[dict[str, tuple[Any, ...]]] = {
    "AnsweredError": ({"message": PROBLEM, "code": 403},),
    "DeniedError": ({"message": PROBLEM, "code": 422},),
    "ApiError": (
        Response(404, (), b'{"kind": "Status", "reason": "NotFound"}'),
        PlannedRequest("GET", "/api"),
    ),
    "ApplyConflictError": ((APPLY_CONFLICT,),),
    "BrokenConnectionError": ("GET", "reset"),
    "ChangedError": (),
    "ClosedError": (),
    "ConflictError": ((CONFLICT,),),
    "Expired": (7,),
    "FutureRevisionError": (7, 6),
    "HazardError": ((HAZARD,),),
    "NoKindMatchError": ("v1", "Widget"),
    "NoResourceTypeError": ("widgets",),
    "NotRestoredError": (smp.SmpError("one"), smp.SmpError("two")),
    "RefusalError": (400, PROBLEM),
    "RunError": (Run(()),),
    "InvalidError": ([VIOLATION],),
    "InvalidOptionsError": ([VIOLATION], "PatchOptions"),
}


def public_names() -> Iterator[tuple[str, object]]:
    for module_name in PUBLIC_MODULES:
        module = importlib.import_module(module_name)
        for name in module.__all__:
            yield f"{module_name}.{name}", getattr(module, name)


def error_classes() -> list[type[smp.SmpError]]:
    """Return every error class of the package, those of the server included."""
    for module in walk_packages(smp.__path__, "smp."):
        importlib.import_module(module.name)
    found: list[type[smp.SmpError]] = [smp.SmpError]
    for error_class in found:
        found += [new for new in error_class.__subclasses__() if new not in found]
    return [error for error in found if error.__module__.startswith("smp.")]


def error_of(error_class: type[smp.SmpError]) -> smp.SmpError:
    arguments = ARGUMENTS.get(error_class.__name__, (PROBLEM,))
    error = error_class(*arguments)
    error.path = PATH
    error.advice = "advice"
    error.option = Option("overwrite", value=True, effect="helps")
    return error


def pickled(value: Any) -> Any:
    """Return what comes back from another process."""
    return pickle.loads(pickle.dumps(value))  # noqa: S301  # our own bytes


COPIES: Final[dict[str, Callable[[Any], Any]]] = {
    "pickle": pickled,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}
every_copy = pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES.keys())


def facts(error: smp.SmpError) -> dict[str, object]:
    """Return all that an error says; a UnionError is one of its own problems."""
    attributes = {**vars(error)}
    problems = attributes.pop("problems", ())
    return {
        **attributes,
        "problems": [str(problem) for problem in problems],
        "text": (str(error), repr(error), error.hint, error.args),
        "code": (error.code, error.status, error.path),
    }


@every_copy
@each_row("error_class", error_classes(), ids=lambda each: each.__name__)
def test_every_error_can_be_copied(
    copied: Callable[[Any], Any], error_class: type[smp.SmpError]
) -> None:
    if error_class.__name__ == "RelatedNotFoundError":
        # It is made of a request, and never leaves the process of the server.
        error: smp.SmpError = error_of(handler.NotFoundError)
    else:
        error = error_of(error_class)
    again = copied(error)
    assert type(again) is type(error)
    assert facts(again) == facts(error)


@every_copy
def test_the_problems_of_a_union_error_are_copied(copied: Callable[[Any], Any]) -> None:
    single = smp.UnionError("single")
    assert single.problems == (single,)
    # A copy is one of its own problems as well, where it is not shallow.
    again = copied(single)
    assert again.problems[0] is (single if copied is copy.copy else again)
    several = smp.UnionError("2 problems", problems=(single, smp.UnionError("other")))
    assert [each.problem for each in copied(several).problems] == ["single", "other"]


def test_every_public_class_has_a_value_here() -> None:
    for name, value in public_names():
        if inspect.isclass(value) and not issubclass(value, smp.SmpError):
            made = VALUES[value.__name__]()
            assert isinstance(made, value) or value is wire.ApplyResult, name


@every_copy
@each_row("name", VALUES)
def test_every_value_can_be_copied(copied: Callable[[Any], Any], name: str) -> None:
    value = VALUES[name]()
    again = copied(value)
    assert type(again) is type(value)
    assert repr(again) == repr(value)
    if isinstance(value, msgspec.Struct) and not isinstance(value, smp.Schema):
        assert again == value


@every_copy
def test_the_results_over_bytes_can_be_copied(copied: Callable[[Any], Any]) -> None:
    data = wire.encode(OBJECT)
    result = wire.three_way_apply(None, data, data, POD)
    assert copied(result) == result


def test_functions_and_constants_are_pickled() -> None:
    for _, value in public_names():
        if isinstance(value, ModuleType) or hasattr(value, "__origin__"):
            continue  # a module has a name instead, and so has a type alias
        if inspect.isroutine(value) or isinstance(value, str | int | tuple):
            assert pickled(value) == value
    assert pickled(smp.ABSENT) is smp.ABSENT
    assert copy.deepcopy(smp.ABSENT) is smp.ABSENT


SPREAD: Final[JSONObject] = {
    "fields": {"list": {"is": {"items": "#E"}, "strategy": "merge", "key": "k"}}
}
CRD: Final[JSONObject] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "as.x.io"},
    "spec": {
        "group": "x.io",
        "names": {"kind": "A", "plural": "as"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }
        ],
    },
}


def schemas() -> dict[str, smp.Schema]:
    """Return a schema of each source, linked in part."""
    bundled = smp.kubernetes("1.33")
    crd = smp.Catalog.from_crd(CRD)
    overlaid = bundled.with_overlay({"types": {"New": {"fields": {"a": "string"}}}})
    return {
        "bundled": bundled.schema("v1", "Pod"),
        "bundled, lenient": bundled.schema("v1", "Pod").with_unknown_fields("merge"),
        "published": smp.kubernetes("1.33", overlay=None).schema("v1", "Pod"),
        "overlaid": overlaid.schema("v1", "Pod"),
        "joined": (bundled | crd).schema("v1", "Pod"),
        "crd": crd.schema("x.io/v1", "A"),
        "inline": smp.Schema.inline(SPREAD, {"E": {"fields": {"k": "string"}}}),
    }


def patched(schema: smp.Schema) -> JSONObject:
    """Compute a patch along a schema: a worker calls it with its copy."""
    before: JSONObject = {"metadata": {"finalizers": ["a"]}, "list": [{"k": "a"}]}
    after: JSONObject = {"metadata": {"finalizers": ["b"]}, "list": [{"k": "b"}]}
    name = "metadata" if schema.kind else "list"
    return smp.two_way_patch({name: before[name]}, {name: after[name]}, schema)


@every_copy
@pytest.mark.parametrize("name", schemas())
def test_a_copied_schema_gives_the_same_patches(
    copied: Callable[[Any], Any], name: str
) -> None:
    schema = schemas()[name]
    expected = patched(schema)
    assert "$setElementOrder" in repr(expected)
    assert patched(copied(schema)) == expected


def test_a_bundled_schema_is_pickled_by_its_version() -> None:
    # Its types are in the installation at the other end: about a megabyte of text.
    assert len(pickle.dumps(smp.kubernetes("1.33").schema("v1", "Pod"))) < 20_000


def fail(schema: smp.Schema) -> None:
    """Raise a conflict: what a worker does with the error is to send it back."""
    smp.three_way_patch({}, {"kind": "a"}, {"kind": "b"}, schema, overwrite=False)


@pytest.mark.slow
def test_a_schema_goes_to_a_worker_process_and_results_and_errors_come_back() -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        made = list(pool.map(patched, schemas().values()))
        assert made == [patched(schema) for schema in schemas().values()]
        with pytest.raises(smp.ConflictError) as caught:
            pool.submit(fail, POD).result()
        # The pool still works: a worker ends where its error cannot be read.
        assert pool.submit(patched, POD).result() == patched(POD)
    (conflict,) = caught.value.conflicts
    assert (conflict.path, conflict.ours, conflict.theirs) == (
        smp.Path(("kind",)),
        "a",
        "b",
    )


@every_copy
def test_types_and_fields_mean_the_same_in_a_copy(copied: Callable[[Any], Any]) -> None:
    container = POD.descend("spec", "containers")
    for type_ in (POD.type, container.type, container.type.items):
        again = copied(type_)
        assert repr(again) == repr(type_)
    assert repr(copied(container)) == repr(container)
    element = container.type.items
    assert isinstance(element, ObjectType)
    again = copied(element)
    assert [field.name for field in again] == [field.name for field in element]
    assert again.unions == element.unions
    policy = element.field("imagePullPolicy")
    assert policy is not None
    assert isinstance(policy.type, ScalarType)
    assert copied(policy.type).enum == policy.type.enum != ()
    for only in (ANY, ANY_FIELD):
        assert copied(only) is only
