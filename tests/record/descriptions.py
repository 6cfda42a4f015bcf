"""Compile the descriptions of the built-in types from the documents of Kubernetes.

``python -m tests.record.descriptions`` writes smp/schema/bundled/descriptions again
from the Go module k8s.io/kubernetes (tests.record.resources says how to get it), of
the newest bundled version.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from smp._values.values import JSONObject
from smp.schema.descriptions import FILE, compile_descriptions
from tests.record.resources import VERSION, module
from tests.support.paths import ROOT

BUNDLED: Final = ROOT / "smp" / "schema" / "bundled" / FILE


def published(sources: Path) -> JSONObject:
    """Return all schemas of the OpenAPI v3 documents, by name."""
    schemas: JSONObject = {}
    directory = sources / "api" / "openapi-spec" / "v3"
    for file in sorted(directory.glob("*_openapi.json")):
        document = json.loads(file.read_bytes())
        # /version and the like have no types.
        schemas |= document.get("components", {}).get("schemas", {})
    return schemas


if __name__ == "__main__":
    kubernetes = module()
    if kubernetes is None:
        raise SystemExit(f"go mod download k8s.io/kubernetes@{VERSION}")
    BUNDLED.write_bytes(compile_descriptions(published(kubernetes)))
