"""What policies say of a manifest, without a server."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from smp._values.values import JSONObject, as_object, as_text
from smp.handler.admission._matching import (
    ReviewedResource,
    ReviewRequest,
    UnknownInputError,
)
from smp.handler.admission._mutating import MutatingPolicies, mutate
from smp.handler.admission._policies import read_policies
from smp.handler.admission._validating import DeniedError, Verdict, judge
from smp.schema.model import Schema


class ManifestPolicies:
    """The policies among objects, with the parameters and namespaces beside them.

    What is not among the objects is not known: a namespace, parameters, the user.
    """

    def __init__(self, objects: Iterable[JSONObject]) -> None:
        self._objects = tuple(objects)
        self._policies = read_policies(self._objects)

    @property
    def is_empty(self) -> bool:
        """Whether there is no policy with a binding."""
        return not (self._policies.validating or self._policies.mutating)

    def review(
        self,
        new: JSONObject,
        old: JSONObject | None,
        resource: ReviewedResource,
        namespace: str,
        schema: Schema | None,
        complete: Callable[[JSONObject], JSONObject],
    ) -> tuple[JSONObject, Verdict]:
        """Return an object as mutating policies change it, and the verdict of all.

        ``namespace`` is that of the object, empty where it is in none; ``complete``
        fills in defaults before validating policies see the object.
        """
        request = ReviewRequest(
            "CREATE" if old is None else "UPDATE",
            resource,
            name=as_text(as_object(new.get("metadata")).get("name")),
            namespace=namespace,
            object=new,
            old=old,
            namespace_object=self._find_namespace(namespace),
        )
        mutated = Verdict()
        mutating = MutatingPolicies(request, schema, mutated)
        called = mutating.find(self._policies, self._find_objects)
        try:
            changed = mutate([called], new, mutating.finish)
        except DeniedError as error:
            mutated.denials.append((error.problem, "Invalid"))
            return new, mutated
        request = replace(request, object=complete(changed))
        verdict = judge(self._policies, request, self._find_objects)
        verdict.unknown[:0] = mutated.unknown
        return changed, verdict

    def _find_namespace(self, name: str) -> JSONObject | None:
        for obj in self._objects:
            metadata = as_object(obj.get("metadata"))
            if obj.get("kind") == "Namespace" and metadata.get("name") == name:
                return obj
        return None

    def _find_objects(
        self, api_version: str, kind: str, namespace: str
    ) -> list[JSONObject]:
        found = [
            obj
            for obj in self._objects
            if (obj.get("apiVersion"), obj.get("kind")) == (api_version, kind)
            and as_object(obj.get("metadata")).get("namespace") in {None, namespace}
        ]
        if not found:
            raise UnknownInputError(f"the objects of kind {kind} that are parameters")
        return found
