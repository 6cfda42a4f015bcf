"""The public operation. It is interpreted, so that wrong arguments get clear errors."""

from __future__ import annotations

from smp.defaults._filling import filled
from smp.errors import ObjectError
from smp.plain import over_json
from smp.schema.model import Schema
from smp.schema.structural import with_schema_defaults
from smp.values import ABSENT, JSON, JSONObject, require_plain, type_name


@over_json("the object", "obj", "old")
def with_defaults(
    obj: JSONObject, schema: Schema, *, old: JSONObject | None = None
) -> JSONObject:
    """Return an object with the defaults that an API server fills in.

    What is there stays, and what does not change is shared with the object; null is
    absent. ``old`` is an object that has its defaults already, such as the stored one:
    what the object shares with it (the same Python objects) is not looked at. The
    defaults of a built-in kind are those of kube-apiserver 1.36.3, as far as they
    differ those of the schema's minor version (Go: the functions SetDefaults_* in
    pkg/apis/*/*/defaults.go of k8s.io/kubernetes, and the defaults in its OpenAPI
    schemas); those of a custom resource are in its definition, and a null that this
    does not allow is dropped where it has no default. Raises ObjectError and
    DepthError.
    """
    _require_object(obj)
    if schema.structural is not None:
        return with_schema_defaults(obj, schema.structural)
    return filled(obj, schema, ABSENT if old is None else old)


def _require_object(value: JSON) -> None:
    if not isinstance(value, dict):
        require_plain(value)
        raise ObjectError(f"expected an object, not {type_name(value)}")
