"""The rules about Jobs: how they fail and succeed.

Go: k8s.io/kubernetes, pkg/apis/batch/validation/validation.go.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

import re
from typing import Final

from smp._values.values import JSON, as_list, as_object, as_text, same
from smp.paths import Key, Path
from smp.validation._formats import FORMATS
from smp.validation._judged import Checks, Judged, at, elements
from smp.validation._value_checks import repeated
from smp.violations import Reason, Violation

# Go: strconv.Atoi, of what may be an index.
_INDEX: Final = re.compile(r"\+?0*([0-9]{1,18})")


def exit_codes(judged: Judged) -> None:
    """Require ordered codes, and none that is success to fail by.

    Go: validatePodFailurePolicyRuleOnExitCodes.
    """
    codes = as_list(judged.value)
    numbers = [code for code in codes if isinstance(code, int)]
    if numbers != sorted(numbers):
        judged.invalid([*codes], "must be ordered")
    if judged.obj.get("operator") == "In" and 0 in numbers:
        index = codes.index(0)
        judged.invalid(0, "must not be 0 for the In operator", index)
    repeated(judged)


def failure_rules(judged: Judged) -> None:
    """Check the rules against the rest of a Job (Go: validatePodFailurePolicyRule)."""
    containers: list[JSON] = []
    for member in ("containers", "initContainers"):
        listed = as_list(at(judged.obj, ("template", "spec", member)))
        containers += [as_object(each).get("name") for each in listed]
    for index, rule in enumerate(elements(judged)):
        has_limit = judged.obj.get("backoffLimitPerIndex") is not None
        if rule.get("action") == "FailIndex" and not has_limit:
            message = "requires the backoffLimitPerIndex to be set"
            judged.invalid("FailIndex", message, index, "action")
        name = at(rule, ("onExitCodes", "containerName"))
        if isinstance(name, str) and name not in containers:
            message = (
                "must be one of the container or initContainer names in the pod"
                " template"
            )
            judged.invalid(name, message, index, "onExitCodes", "containerName")


def success_rules(judged: Judged) -> None:
    """Check the rules against the completions (Go: validateSuccessPolicyRule)."""
    completions = judged.obj.get("completions")
    if not isinstance(completions, int):
        return
    for index, rule in enumerate(elements(judged)):
        count, text = rule.get("succeededCount"), rule.get("succeededIndexes")
        if isinstance(count, int) and count > completions:
            message = (
                f"must be less than or equal to {completions} (the number of specified"
                " completions)"
            )
            judged.invalid(count, message, index, "succeededCount")
        total, problem = _read_indexes(as_text(text), completions)
        if isinstance(count, int) and text is not None and count > total:
            message = (
                f"must be less than or equal to {total} (the number of indexes in the"
                " specified succeededIndexes field)"
            )
            judged.invalid(count, message, index, "succeededCount")
        if problem:
            message = f"error parsing succeededIndexes: {problem}"
            judged.invalid(text, message, index, "succeededIndexes")


def generated_labels(judged: Judged) -> None:
    """Refuse other labels than those that a server adds to the Pods of a new Job.

    Go: batch validateGeneratedSelector.
    """
    metadata = as_object(judged.obj.get("metadata"))
    added = {"job-name": metadata.get("name"), "controller-uid": metadata.get("uid")}
    for name, text in as_object(judged.value).items():
        short = name.removeprefix("batch.kubernetes.io/")
        if short in added and not judged.old and not same(text, added[short]):
            message = f"must be '{as_text(added[short])}'"
            judged.invalid(as_object(judged.value), message, Key(name))


def indexed_name(judged: Judged) -> None:
    """Require a name that the last Pod can have as its host (Go: ValidateJob)."""
    completions = at(judged.obj, ("spec", "completions"))
    if isinstance(completions, int) and completions > 0:
        host = f"{as_text(judged.value)}-{completions - 1}"
        if FORMATS["dns-label"](host):
            message = f"will not able to create pod with invalid DNS label: {host}"
            judged.invalid(judged.value, message)


def _read_indexes(text: str, completions: int) -> tuple[int, str]:
    """Return how many indexes a text such as 1,3-5 has, and what is wrong with it.

    Go: batch validateIndexesFormat.
    """
    total, last = 0, -1
    for interval in text.split(",") if text else ():
        limits = interval.split("-")
        if len(limits) > 2:  # noqa: PLR2004  # a begin and an end
            return 0, (
                f'the fragment "{interval}" violates the requirement that an index'
                " interval can have at most two parts separated by '-'"
            )
        first = -1
        for limit in limits:
            match = _INDEX.fullmatch(limit)
            if match is None:
                return 0, f'cannot convert string to integer for index: "{limit}"'
            index = int(match[1])
            if index >= completions:
                return 0, f'too large index: "{limit}"'
            if index <= last:
                return 0, f"non-increasing order, previous: {last}, current: {index}"
            last = index
            first = index if first < 0 else first
        total += last - first + 1
    return total, ""


# Conditions that another one needs, or excludes.
_NEEDED: Final = {"Failed": "FailureTarget", "Complete": "SuccessCriteriaMet"}
_EXCLUDED: Final = {"Failed": "Failed=true", "FailureTarget": "FailureTarget=true"}


def check_indexes(judged: Judged) -> None:
    """Check the indexes of a Job that are done (Go: batch validateIndexesFormat)."""
    spec, text = as_object(judged.obj.get("spec")), as_text(judged.value)
    most = spec.get("completions")
    if not text or not isinstance(most, int):
        return
    if spec.get("completionMode") != "Indexed":
        judged.invalid(
            text,
            "cannot set non-empty completedIndexes when non-indexed completion mode",
        )
    _, problem = _read_indexes(text, most)
    if problem:
        name = judged.row.field.removeprefix("status.")
        judged.invalid(text, f"error parsing {name}: {problem}")


def check_finished(judged: Judged) -> None:
    """Check the conditions of a Job, and what one that has ended has besides.

    Go: batch validateJobStatus; registry job getStatusValidationOptions.
    """
    status, spec = as_object(judged.value), as_object(judged.obj.get("spec"))
    true: set[str] = set()
    for condition in as_list(status.get("conditions")):
        if as_object(condition).get("status") == "True":
            true.add(as_text(as_object(condition).get("type")))
    problems: list[str] = []
    is_complete, is_finished = "Complete" in true, bool(true & {"Complete", "Failed"})
    for name in ("Complete", "SuccessCriteriaMet"):
        for other, text in _EXCLUDED.items():
            if name in true and other in true:
                problems.append(f"cannot set {name}=True and {text} conditions")
    for name, needed in _NEEDED.items():
        if name in true and needed not in true:
            problems.append(
                f"cannot set {name}=True condition without the {needed}=true condition"
            )
    for problem in problems:
        path = Path((*judged.steps, "conditions"))
        message = f"Invalid value: {problem}"
        reason: Reason = "FieldValueInvalid"
        judged.found.append(Violation("invalid-value", path, reason, message))
    completed = status.get("completionTime")
    if completed is not None and not is_complete:
        problem = "cannot set completionTime when there is no Complete=True condition"
        judged.invalid(completed, problem, "completionTime")
    started = as_text(status.get("startTime"))
    if started and completed is not None and as_text(completed) < started:
        problem = "must be equal to or after `startTime`"
        judged.invalid(completed, problem, "completionTime")
    if completed is None and is_complete:
        judged.required(
            "completionTime is required for Complete jobs", "completionTime"
        )
    if is_finished and status.get("active"):
        problem = "active>0 is invalid for finished job"
        judged.invalid(status["active"], problem, "active")
    # A Job that has nothing to do may end while it is suspended.
    is_idle = spec.get("suspend") is True and same(spec.get("completions"), 0)
    if is_finished and status.get("startTime") is None and not is_idle:
        judged.required("startTime is required for finished job", "startTime")


CHECKS: Final[Checks] = {
    "exit-codes": exit_codes,
    "failure-rules": failure_rules,
    "finished": check_finished,
    "generated-labels": generated_labels,
    "indexed-name": indexed_name,
    "indexes": check_indexes,
    "success-rules": success_rules,
}
