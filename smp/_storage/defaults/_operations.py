"""The public operation. It is interpreted, so that wrong arguments get clear errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from smp._storage.defaults._filling import fill
from smp._values.plain import over_json, require_object, require_object_or_none
from smp._values.values import ABSENT
from smp.schema.model import Schema
from smp.schema.structural import add_schema_defaults


@over_json("the object", "obj", "old")
def with_defaults(
    obj: Mapping[str, Any], schema: Schema, *, old: Mapping[str, Any] | None = None
) -> dict[str, Any]:
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
    obj = require_object("obj", obj)
    old = require_object_or_none("old", old)
    if schema.structural is not None:
        return add_schema_defaults(obj, schema.structural)
    return fill(obj, schema, ABSENT if old is None else old)
