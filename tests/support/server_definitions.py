"""CustomResourceDefinitions for tests: the CronTab of the Kubernetes documentation,
with a few fields more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import yaml

from smp._values.values import JSON, JSONObject

# "Extend the Kubernetes API with CustomResourceDefinitions": its examples of
# validation, defaulting, subresources, printer columns and categories in one.
CRON_TABS: Final[JSONObject] = yaml.safe_load(r"""
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: crontabs.stable.example.com
spec:
  group: stable.example.com
  scope: Namespaced
  names:
    plural: crontabs
    singular: crontab
    kind: CronTab
    shortNames: [ct]
    categories: [all]
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              cronSpec:
                type: string
                pattern: '^(\d+|\*)(/\d+)?(\s+(\d+|\*)(/\d+)?){4}$'
                default: "5 0 * * *"
              image:
                type: string
              replicas:
                type: integer
                minimum: 1
                maximum: 10
                default: 1
                description: How many pods it runs.
              tags:
                type: array
                items: {type: string}
          status:
            type: object
            properties:
              replicas: {type: integer}
              labelSelector: {type: string}
    subresources:
      status: {}
      scale:
        specReplicasPath: .spec.replicas
        statusReplicasPath: .status.replicas
        labelSelectorPath: .status.labelSelector
    additionalPrinterColumns:
    - name: Spec
      type: string
      description: When a job is run
      jsonPath: .spec.cronSpec
    - name: Replicas
      type: integer
      description: How many pods are wanted
      jsonPath: .spec.replicas
    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
""")


def cron_tab(spec: JSON, **metadata: JSON) -> JSONObject:
    """Make a CronTab."""
    identity: JSONObject = {"name": "my-new-cron-object", **metadata}
    return {
        "apiVersion": "stable.example.com/v1",
        "kind": "CronTab",
        "metadata": identity,
        "spec": spec,
    }


def definition_of(
    kind: str,
    specs: Mapping[str, JSON],
    *,
    stored: str = "v1",
    scope: str = "Namespaced",
) -> JSONObject:
    """Return a definition of a kind, with the schema of its spec for each version."""
    plural = f"{kind.lower()}s"
    versions: list[JSON] = []
    for name, spec in specs.items():
        root: JSONObject = {"type": "object", "properties": {"spec": spec}}
        version: JSONObject = {"name": name, "served": True, "storage": name == stored}
        versions.append({**version, "schema": {"openAPIV3Schema": root}})
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": scope,
            "names": {"plural": plural, "kind": kind},
            "versions": versions,
        },
    }


def with_schema(schema: JSON) -> JSONObject:
    """Return the definition of a cluster-wide Thing whose spec has a schema."""
    return definition_of("Thing", {"v1": schema}, scope="Cluster")


# Of an Order whose spec has a rule in CEL beside its structure.
COUNTED_SPEC: Final[JSONObject] = {
    "type": "object",
    "properties": {"count": {"type": "integer", "maximum": 9}},
    "x-kubernetes-validations": [{"rule": "self.count != 7", "message": "seven"}],
}


# Where Kubernetes reports errors a definition with one version has its schema,
# subresources and columns in the spec: it is converted to an internal version.
_INTERNAL_FIELDS: Final = {
    "spec.versions[0].schema.": "spec.validation.",
    "spec.versions[0].subresources": "spec.subresources",
    "spec.versions[0].additionalPrinterColumns": "spec.additionalPrinterColumns",
    ".JSONPath": ".jsonPath",
}


def uniform_field(field: str) -> str:
    """Return the field of an error in the notation that the tests compare.

    Kubernetes names fields of its internal version, and puts some names into brackets.
    """
    for external, internal in _INTERNAL_FIELDS.items():
        field = field.replace(external, internal)
    return re.sub(r"\[([^\d\]][^\]]*)\]", r".\1", field)
