"""Reports on objects, for the tests of the printers."""

from __future__ import annotations

from smp import explain_apply, find_hazards, kubernetes, three_way_apply
from smp._values.values import JSON, JSONObject
from smp.explain import Cause, Edit, Evidence, Remedy
from smp.hazards import Hazard
from smp.paths import Path
from smp.reports import (
    Failure,
    Finding,
    ObjectReport,
    Place,
    finding_of_cause,
)
from smp.violations import Violation


def deployment(replicas: int, image: str, **spec: JSON) -> JSONObject:
    """Return a Deployment of one container."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "replicas": replicas,
            "template": {"spec": {"containers": [{"name": "app", "image": image}]}},
            **spec,
        },
    }


def applied_report(file: str = "web.yaml", line: int = 3) -> ObjectReport:
    """Return the report on an apply that overwrites what an autoscaler did."""
    schema = kubernetes().schema("apps/v1", "Deployment")
    last_applied = deployment(2, "web:1", paused=True)
    desired = deployment(2, "web:2")
    live = deployment(5, "web:1", paused=True)
    result = three_way_apply(last_applied, desired, live, schema)
    causes = explain_apply(last_applied, desired, live, schema)
    hazards = find_hazards(last_applied, desired, live, schema)
    findings: list[Finding] = [*hazards, *filter(None, map(finding_of_cause, causes))]
    findings.append(
        Violation(
            "not-supported",
            Path(("spec", "strategy", "type")),
            "FieldValueNotSupported",
            'unsupported value "Fast"',
            place=Place(file, line + 4, 5),
        )
    )
    return ObjectReport(
        "apps/v1",
        "Deployment",
        "shop",
        "web",
        Place(file, line),
        "changed",
        last_applied,
        live,
        desired,
        result.object,
        result.patch,
        causes,
        hazards,
        tuple(findings),
        ("last-applied: from the annotation of the live object",),
    )


def failed_report(error: str = "smp: error: not found\n  hint: look") -> ObjectReport:
    """Return the report on an object that could not be computed."""
    finding = Failure("not-found", Path(), "not found")
    return ObjectReport(
        "v1",
        "ConfigMap",
        "",
        "gone",
        Place("<stdin>", 1),
        "failed",
        findings=(finding,),
        error=error,
    )


def named_report(text: str) -> ObjectReport:
    """Return a report that has a text wherever a user's text can be."""
    value: JSONObject = {"kind": text, text: [text, {text: text}]}
    finding = Hazard(
        "ambiguous-key",
        Path((text, 0, text)),
        "live",
        "error",
        text,
        text,
        text,
        place=Place(text, 1, 1),
    )
    edit = Edit("manifest", finding.path, text)
    cause = Cause(
        finding.path,
        "set",
        text,
        value,
        text,
        text,
        (Evidence(text, text),),
        Remedy(text, (edit,), text),
    )
    return ObjectReport(
        text,
        text,
        text,
        text,
        Place(text, 1),
        "changed",
        value,
        value,
        value,
        {**value, "more": text},
        value,
        (cause,),
        (),
        (finding,),
        (text,),
        text,
    )
