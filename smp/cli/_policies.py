"""The policies of ``--policies``, for the objects of a command."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final

import msgspec

from smp._storage.update import as_stored, predict_refusals
from smp._values.api_objects import metadata_of, set_metadata
from smp._values.values import JSONObject, as_object, as_text
from smp.cli._errors import CommandFailure, UsageError
from smp.cli._identity import identity_of
from smp.cli._inputs import Inputs
from smp.cli._live import connect, is_cluster
from smp.cli._object_outcomes import ObjectOutcome
from smp.cli._objects import ObjectRow
from smp.cli._options import WITHOUT_SCHEMA, CommandSettings, Schemas
from smp.cluster.plan.failures import NoKindMatchError
from smp.documents import Document
from smp.errors import ApplyWarning, ObjectError, SmpError
from smp.handler.admission import ManifestPolicies, ReviewedResource, Verdict
from smp.lint import lint
from smp.paths import Path
from smp.reports import Finding
from smp.schema.model import Schema
from smp.violations import Violation

_WHOLE: Final = Path()
_VERSION: Final = "admissionregistration.k8s.io/v1"
_KINDS: Final = (
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
)


class CommandPolicies:
    """The policies that a command was given, and how objects are shown to them."""

    def __init__(
        self, settings: CommandSettings, inputs: Inputs, schemas: Schemas
    ) -> None:
        """Raise UsageError for paths without a policy in force, and DocumentError."""
        self._settings = settings
        self._schemas = schemas
        objects: list[JSONObject] = []
        for path in settings.policies:
            if is_cluster(path):
                objects += _read_from_cluster(settings, path.partition(":")[2])
            else:
                found = inputs.documents(path)
                objects += self._find_valid(found, inputs)
        self._policies = ManifestPolicies(objects)
        # Of one that cannot be evaluated it is said why.
        if self._policies.is_empty and not inputs.problems:
            raise UsageError(
                "Invalid value for '--policies': there is no policy with a binding in"
                f" {', '.join(settings.policies)}"
            )

    def _find_valid(
        self, documents: Iterable[Document], inputs: Inputs
    ) -> Iterator[JSONObject]:
        """Yield what a server would store; a policy that it refuses is a problem.

        Go: k8s.io/kubernetes, pkg/apis/admissionregistration/validation.
        """
        for document in documents:
            value = as_object(document.value)
            if as_text(value.get("kind")) in _KINDS:
                identity = identity_of(value)
                try:
                    schema = self._schemas.of(value)
                    found = lint(value, schema, "manifest")
                    wrong = [str(each) for each in found if each.severity == "error"]
                    if wrong:
                        raise ObjectError("\n".join(wrong))
                except SmpError as error:
                    failure = CommandFailure(error, document, identity.label)
                    inputs.problems.append(failure)
                    continue
            yield value

    def review(
        self, new: JSONObject, old: JSONObject | None = None
    ) -> tuple[JSONObject, Verdict]:
        """Return an object as policies change it, and what they say of it.

        Raises UnknownKindError and ObjectError.
        """
        schema: Schema | None
        schema, _ = self._schemas.of_any(new)
        found = self._schemas.resource_of(new)
        resource = ReviewedResource(
            found.group, found.version, found.plural, found.kind, found.api_version
        )
        namespace = ""
        if found.namespaced:
            namespace = as_text(metadata_of(new).get("namespace"))
            namespace = namespace or self._settings.namespace or "default"
            new = set_metadata(new, namespace=namespace)
        complete: Callable[[JSONObject], JSONObject] = self._schemas.with_defaults
        if schema is WITHOUT_SCHEMA:
            schema = None
        elif not schema.is_custom:
            complete = partial(
                as_stored, old=old, schema=schema, profile="validate-only"
            )
        changed, verdict = self._policies.review(
            new, old, resource, namespace, schema, complete
        )
        if schema is not None and changed != new:
            refused = find_new_refusals(old, new, changed, schema)
            verdict.denials += [
                (f"as policies change it: {text}", "") for text in refused
            ]
        return complete(changed) if self._settings.defaults else changed, verdict


def find_new_refusals(
    old: JSONObject | None, new: JSONObject, changed: JSONObject, schema: Schema
) -> list[str]:
    """Say what a server refuses in an object as policies change it, and not before."""
    texts: list[list[str]] = []
    for obj in (new, changed):
        found = predict_refusals(old, obj, schema, profile="off")
        texts.append([str(each) for each in found if not each.warning])
    return [text for text in texts[1] if text not in texts[0]]


def _read_from_cluster(settings: CommandSettings, context: str) -> Iterator[JSONObject]:
    """Yield the policies of a cluster, with their parameters and all namespaces."""
    cluster = connect(settings, context)
    kinds = {"Namespace": "v1", **dict.fromkeys(_KINDS, _VERSION)}
    while kinds:
        places = {
            (version.rpartition("/")[0], kind, ""): version
            for kind, version in kinds.items()
        }
        kinds = {}
        for page in cluster.list_each(places):
            # A cluster may lack a kind: policies that mutate are of 1.36 and later.
            if isinstance(page.error, NoKindMatchError):
                continue
            if page.error is not None:
                raise page.error
            yield from page.objects
            for policy in page.objects if page.place[1] in _KINDS else ():
                of_parameters = as_object(
                    as_object(policy.get("spec")).get("paramKind")
                )
                if of_parameters and of_parameters.get("kind") != "Namespace":
                    version = as_text(of_parameters.get("apiVersion"))
                    kinds[as_text(of_parameters.get("kind"))] = version


def findings_of_policies(verdict: Verdict) -> Iterator[Finding]:
    """Yield what policies say of an object: a denial is a refusal."""
    for message, _ in verdict.denials:
        yield Violation("denied-by-policy", _WHOLE, "FieldValueForbidden", message)
    for message in verdict.warnings:
        yield ApplyWarning("warned-by-policy", _WHOLE, message)
    for message in verdict.unknown:
        yield ApplyWarning("unknown-to-policy", _WHOLE, message)


def apply_policies(
    row: ObjectRow,
    *,
    compute: Callable[[ObjectRow], ObjectOutcome | None],
    policies: CommandPolicies,
    settings: CommandSettings,
) -> ObjectOutcome | None:
    """Return the outcome of an object with what policies make of it."""
    outcome = compute(row)
    if outcome is None or outcome.after is None:
        return outcome
    new, old = as_object(outcome.after), outcome.before
    if new.get("kind") == "Secret" and settings.is_for_a_reader:
        text = "policies were not evaluated: the values of the Secret are masked"
        masked = ApplyWarning("unknown-to-policy", _WHOLE, text)
        return msgspec.structs.replace(outcome, warned=(*outcome.warned, masked))
    after, verdict = policies.review(new, None if old is None else as_object(old))
    warned = (*outcome.warned, *findings_of_policies(verdict))
    return msgspec.structs.replace(outcome, after=after, warned=warned)
