"""The rules about the name and the namespace of an object."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from smp._values import names
from smp._values.values import JSONObject
from smp.paths import Path
from smp.violations import Violation, invalid, require

_METADATA: Final = Path(("metadata",))
_NOT_A_STRING: Final = "must be a string"
# In the place of five characters that are chosen by chance.
_SUFFIX: Final = "xxxxx"
# Reviews are answered and not stored; they have no names.
_WITHOUT_NAMES: Final = ("authentication.k8s.io", "authorization.k8s.io")


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
