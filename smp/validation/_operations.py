"""Validating an object, alone or as an update of another one, and its names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from smp._values import names
from smp._values.plain import over_json
from smp._values.values import ABSENT, JSONObject, require_plain
from smp.paths import Path
from smp.schema.model import Schema
from smp.schema.plan import plan_of
from smp.schema.walk import Walk
from smp.validation._rule import INTERESTS, ValidationRule, in_order
from smp.violations import Violation, invalid, require

_METADATA: Final = Path(("metadata",))
_NOT_A_STRING: Final = "must be a string"
# In the place of five characters that are chosen by chance.
_SUFFIX: Final = "xxxxx"
# Reviews are answered and not stored; they have no names.
_WITHOUT_NAMES: Final = ("authentication.k8s.io", "authorization.k8s.io")


@over_json("the object", "obj", "old")
def validate_object(
    obj: Any, schema: Schema, *, old: Any = None
) -> tuple[Violation, ...]:
    """Return what a kube-apiserver refuses in an object of a built-in kind.

    The object is as a server has it before it validates: with its defaults. With
    ``old``, the object before an update, only what changed is judged, and what the
    update may not change is another question (smp._storage.immutable). The violations
    have the reasons, messages and order of the causes of a Status. Not all that a
    server refuses is found: docs/server.md. Raises SchemaError where the object reaches
    a type that the schema refers to and lacks, and DepthError. Go: k8s.io/kubernetes,
    pkg/apis/*/validation; the table names the function of each rule.
    """
    if not isinstance(obj, dict):
        require_plain(obj)
        return ()
    before = old if isinstance(old, dict) else None
    return in_order(violations_of(before, obj, schema, ratchet=True), schema.type)


def violations_of(
    old: JSONObject | None, new: JSONObject, schema: Schema, *, ratchet: bool
) -> tuple[Violation, ...]:
    """Return what a server refuses in what an update changes, in no order.

    Of a custom resource it is what it refuses in the metadata. Without ``ratchet`` all
    of the object is judged. Raises RecursionError.
    """
    rule = ValidationRule(ratchet=ratchet, custom=schema.is_custom)
    walk = Walk(plan_of(schema.types, INTERESTS), [rule], whole=not ratchet)
    walk.run(ABSENT if old is None else old, new, schema.type)
    return tuple(rule.violations)


def judge_names(metadata: JSONObject, group: str, kind: str) -> Iterator[Violation]:
    """Yield what is wrong with the name, generateName and namespace of an object.

    A namespace that is left out is that of the request. Go: k8s.io/apimachinery,
    api/validation, ValidateObjectMeta.
    """
    if group in _WITHOUT_NAMES:
        return
    prefix = metadata.get("generateName")
    name = metadata.get("name")
    if isinstance(prefix, str) and prefix:
        problem = names.prefix_problem(prefix, group, kind)
        if problem:
            yield invalid(_METADATA / "generateName", prefix, problem)
            # Go: rest.BeforeCreate has made a name of it by then.
            name = name or prefix + _SUFFIX
    if not name:
        if not prefix:
            yield require(_METADATA / "name", "name or generateName is required")
    elif not isinstance(name, str):
        yield invalid(_METADATA / "name", name, _NOT_A_STRING)
    elif problem := names.name_problem(name, group, kind):
        yield invalid(_METADATA / "name", name, problem)
    namespace = metadata.get("namespace")
    if isinstance(namespace, str) and namespace:
        problem = names.label(namespace)
        if problem:
            yield invalid(_METADATA / "namespace", namespace, problem)
