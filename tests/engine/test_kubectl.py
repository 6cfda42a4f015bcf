"""The engine beside the real kubectl: ``kubectl patch --local``, and the patches that
``kubectl apply`` sends.
"""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

import pytest
import yaml

from smp.errors import SmpError
from smp.schema.catalog import kubernetes
from smp.strategic import KUBECTL_PRECONDITIONS, apply_patch, three_way_patch
from smp.values import JSON, JSONObject, same
from tests.support.differential import composable, stored
from tests.support.kubectl import (
    KubectlError,
    capture_apply,
    needs_kubectl,
    patch_local,
    without_last_applied,
)
from tests.support.makers import PODS, Maker, Subject, subjects
from tests.support.reference import as_go_prints

pytestmark = pytest.mark.slow

API: Final = {
    subject.name: subject.schema.api_version
    for subject in subjects()
    if subject.schema.kind
}
TEMPLATE: Final = {"Pod": "spec", "CronJob": "spec.jobTemplate.spec.template.spec"}


class Situation(NamedTuple):
    """What was applied last, what is to be applied, and what is there."""

    last_applied: JSONObject | None
    modified: JSONObject
    live: JSONObject


def manifest(kind: str, place: str, fragment: JSON) -> JSONObject:
    """Make an object of a kind, with a fragment in its place (``spec.template.spec``)."""
    for name in reversed(place.split(".")) if place else ():
        fragment = {name: fragment}
    assert isinstance(fragment, dict)
    metadata = fragment.get("metadata", {})
    assert isinstance(metadata, dict)
    scope: JSONObject = (
        {} if kind in ("Node", "PersistentVolume") else {"namespace": "shop"}
    )
    return {
        "apiVersion": API[kind],
        "kind": kind,
        **fragment,
        "metadata": {"name": "web", **scope, **metadata},
    }


# kind: Deployment by default. at: where the fragments belong, the pod's spec by default
# where there is a pod, else the whole object. last: null means that nothing is
# recorded. live: as last applied by default.
SITUATIONS: Final = """
a changed image:
  last: {containers: [{name: app, image: a:1}, {name: log, image: l:1}, {name: proxy, image: p:1}]}
  modified: {containers: [{name: app, image: a:2}, {name: log, image: l:1}, {name: proxy, image: p:1}]}
a removed environment variable:
  last: {containers: [{name: app, env: [{name: A, value: a}, {name: B, value: b}, {name: C, value: c}]}]}
  modified: {containers: [{name: app, env: [{name: A, value: a}, {name: C, value: c}]}]}
an added environment variable in the middle:
  last: {containers: [{name: app, env: [{name: A, value: a}, {name: C, value: c}]}]}
  modified: {containers: [{name: app, env: [{name: A, value: a}, {name: B, value: b}, {name: C, value: c}]}]}
reordered containers:
  last: {containers: [{name: app}, {name: log}, {name: proxy}]}
  modified: {containers: [{name: proxy}, {name: log}, {name: app}]}
reordered containers of which one changes:
  last: {containers: [{name: app, image: a:1}, {name: log, image: l:1}]}
  modified: {containers: [{name: log, image: l:2}, {name: app, image: a:1}]}
emptyDir becomes hostPath:
  last: {volumes: [{name: data, emptyDir: {}}, {name: tmp, emptyDir: {}}]}
  modified: {volumes: [{name: data, hostPath: {path: /srv/data}}, {name: tmp, emptyDir: {}}]}
emptyDir becomes hostPath and the server defaulted the old one:
  last: {volumes: [{name: data}]}
  modified: {volumes: [{name: data, hostPath: {path: /srv/data}}]}
  live: {volumes: [{name: data, emptyDir: {}}]}
RollingUpdate becomes Recreate, with the parameters recorded:
  at: spec
  last: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}}
  modified: {strategy: {type: Recreate}}
RollingUpdate becomes Recreate, with the parameters only defaulted:
  at: spec
  last: {replicas: 1}
  modified: {replicas: 1, strategy: {type: Recreate}}
  live: {replicas: 1, strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%, maxUnavailable: 25%}}}
a strategy that is applied again unchanged over defaults:
  at: spec
  last: {strategy: {type: RollingUpdate}}
  modified: {strategy: {type: RollingUpdate}}
  live: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%}}}
a dropped strategy:
  at: spec
  last: {strategy: {type: Recreate}}
  modified: {}
a removed finalizer:
  at: metadata
  last: {finalizers: [example.com/a, example.com/b, example.com/c]}
  modified: {finalizers: [example.com/a, example.com/c]}
an added finalizer beside a foreign one:
  at: metadata
  last: {finalizers: [example.com/a]}
  modified: {finalizers: [example.com/a, example.com/b]}
  live: {finalizers: [foreign.example.com/x, example.com/a]}
the last finalizer removed:
  at: metadata
  last: {finalizers: [example.com/a]}
  modified: {}
  live: {finalizers: [example.com/a, foreign.example.com/x]}
a sidecar was injected in front:
  last: {containers: [{name: app, image: a:1}]}
  modified: {containers: [{name: app, image: a:2}]}
  live: {containers: [{name: proxy, image: p:1}, {name: app, image: a:1, imagePullPolicy: Always}]}
a container renamed beside a sidecar:
  last: {containers: [{name: app, image: a:1}]}
  modified: {containers: [{name: web, image: a:1}]}
  live: {containers: [{name: proxy, image: p:1}, {name: app, image: a:1}]}
an element that is already gone:
  last: {containers: [{name: app}, {name: log}]}
  modified: {containers: [{name: app}]}
  live: {containers: [{name: app}]}
an element deleted by somebody comes back:
  last: {containers: [{name: app}, {name: log, image: l:1}]}
  modified: {containers: [{name: app}, {name: log, image: l:1}]}
  live: {containers: [{name: app}]}
a renamed container:
  last: {containers: [{name: app, image: a:1}, {name: log}]}
  modified: {containers: [{name: web, image: a:1}, {name: log}]}
a moved mount path:
  last: {containers: [{name: app, volumeMounts: [{name: data, mountPath: /old}]}]}
  modified: {containers: [{name: app, volumeMounts: [{name: data, mountPath: /new}]}]}
a whole list dropped inside an element:
  last: {containers: [{name: app, env: [{name: A, value: a}]}]}
  modified: {containers: [{name: app}]}
a list emptied inside an element:
  last: {containers: [{name: app, env: [{name: A, value: a}]}]}
  modified: {containers: [{name: app, env: []}]}
a whole list dropped:
  last: {containers: [{name: app}], volumes: [{name: data, emptyDir: {}}]}
  modified: {containers: [{name: app}]}
a value becomes a reference:
  last: {containers: [{name: app, env: [{name: A, value: a}]}]}
  modified: {containers: [{name: app, env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]}]}
an atomic list of objects:
  last: {tolerations: [{key: a, operator: Exists}, {key: b, operator: Exists}]}
  modified: {tolerations: [{key: b, operator: Exists}]}
an atomic list of strings:
  last: {containers: [{name: app, args: [-a, -b]}]}
  modified: {containers: [{name: app, args: [-b]}]}
image pull secrets of a service account are atomic, its secrets are not:
  kind: ServiceAccount
  last: {secrets: [{name: a}, {name: b}], imagePullSecrets: [{name: a}, {name: b}]}
  modified: {secrets: [{name: b}], imagePullSecrets: [{name: b}]}
image pull secrets of a pod merge:
  last: {imagePullSecrets: [{name: a}, {name: b}]}
  modified: {imagePullSecrets: [{name: b}, {name: c}]}
one port by TCP and UDP:
  kind: Service
  at: spec
  last: {ports: [{port: 53, protocol: TCP, name: tcp}, {port: 53, protocol: UDP, name: udp}]}
  modified: {ports: [{port: 53, protocol: TCP, name: tcp, targetPort: 5353}, {port: 53, protocol: UDP, name: udp}]}
a changed service port:
  kind: Service
  at: spec
  last: {ports: [{port: 80, name: http, targetPort: 8080}], selector: {app: web}}
  modified: {ports: [{port: 81, name: http, targetPort: 8080}], selector: {app: web}}
  live:
    ports: [{port: 80, name: http, targetPort: 8080, protocol: TCP, nodePort: 30000}]
    clusterIP: 10.0.0.1
    selector: {app: web}
topology spread constraints have one merge key:
  last: {topologySpreadConstraints: [{topologyKey: zone, maxSkew: 1, whenUnsatisfiable: DoNotSchedule}]}
  modified: {topologySpreadConstraints: [{topologyKey: zone, maxSkew: 2, whenUnsatisfiable: DoNotSchedule}]}
nothing was recorded:
  last: null
  modified: {containers: [{name: app, image: a:2}], tolerations: []}
  live: {containers: [{name: app, image: a:1}, {name: old}], hostNetwork: true}
an owner reference changes:
  at: metadata
  last: {ownerReferences: [{uid: u1, name: a, kind: K, apiVersion: v1}]}
  modified: {ownerReferences: [{uid: u2, name: a, kind: K, apiVersion: v1}]}
  live: {ownerReferences: [{uid: u0, name: z, kind: K, apiVersion: v1}, {uid: u1, name: a, kind: K, apiVersion: v1}]}
host aliases:
  last: {hostAliases: [{ip: 10.0.0.1, hostnames: [a, b]}]}
  modified: {hostAliases: [{ip: 10.0.0.1, hostnames: [b]}, {ip: 10.0.0.2, hostnames: [c]}]}
resource claims keep their keys:
  last: {resourceClaims: [{name: gpu, resourceClaimName: a}]}
  modified: {resourceClaims: [{name: gpu, resourceClaimTemplateName: b}]}
a claim of a container's resources:
  last: {containers: [{name: app, resources: {claims: [{name: gpu}], limits: {cpu: "1"}}}]}
  modified: {containers: [{name: app, resources: {claims: [{name: gpu, request: r}], limits: {cpu: "2"}}}]}
a cron job's schedule and container:
  kind: CronJob
  at: spec
  last: {schedule: "0 * * * *", jobTemplate: {spec: {template: {spec: {containers: [{name: app, image: a:1}]}}}}}
  modified: {schedule: "5 * * * *", jobTemplate: {spec: {template: {spec: {containers: [{name: app, image: a:2}]}}}}}
volume claim templates are atomic:
  kind: StatefulSet
  at: spec
  last: {volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce]}}]}
  modified: {volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteMany]}}]}
an update strategy without retained keys:
  kind: StatefulSet
  at: spec
  last: {updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 1}}}
  modified: {updateStrategy: {type: OnDelete}}
the metrics of an autoscaler are atomic:
  kind: HorizontalPodAutoscaler
  at: spec
  last: {minReplicas: 1, maxReplicas: 3, metrics: [{type: Resource, resource: {name: cpu}}]}
  modified: {maxReplicas: 5, metrics: [{type: Resource, resource: {name: memory}}]}
a label, an annotation and data:
  kind: ConfigMap
  last: {metadata: {labels: {a: "1", b: "1"}, annotations: {x: "1"}}, data: {one: "1", two: "2"}}
  modified: {metadata: {labels: {a: "2"}, annotations: {y: "1"}}, data: {two: "2", three: "3"}}
  live:
    metadata: {labels: {a: "1", b: "1", c: "1"}, annotations: {x: "1"}}
    data: {one: "1", two: "changed", four: "4"}
binary data and immutability:
  kind: Secret
  last: {data: {a: YQ==}, immutable: false, type: Opaque}
  modified: {data: {b: Yg==}, immutable: true, type: Opaque}
the selector of a disruption budget is replaced whole:
  kind: PodDisruptionBudget
  at: spec
  last: {minAvailable: 1, selector: {matchLabels: {a: b}}}
  modified: {minAvailable: 25%, selector: {matchLabels: {c: d}}}
rules of an ingress are atomic:
  kind: Ingress
  at: spec
  last: {rules: [{host: a}, {host: b}], tls: [{hosts: [a]}]}
  modified: {rules: [{host: b}], defaultBackend: {service: {name: s, port: {number: 80}}}}
rules of a network policy are atomic:
  kind: NetworkPolicy
  at: spec
  last: {podSelector: {}, ingress: [{from: [{podSelector: {}}]}], policyTypes: [Ingress]}
  modified: {podSelector: {matchLabels: {a: b}}, policyTypes: [Ingress, Egress]}
taints of a node are atomic, its CIDRs merge:
  kind: Node
  at: spec
  last: {taints: [{key: a, effect: NoSchedule}], podCIDRs: [10.0.0.0/24]}
  modified: {taints: [{key: b, effect: NoSchedule}], podCIDRs: [10.0.0.0/24, 10.1.0.0/24]}
the source of a persistent volume changes:
  kind: PersistentVolume
  at: spec
  last: {capacity: {storage: 1Gi}, hostPath: {path: /a}, accessModes: [ReadWriteOnce]}
  modified: {capacity: {storage: 2Gi}, nfs: {server: s, path: /a}, accessModes: [ReadWriteOnce]}
an unchanged configuration over a live object full of defaults:
  last: {containers: [{name: app, ports: [{containerPort: 80}]}]}
  modified: {containers: [{name: app, ports: [{containerPort: 80, name: http}]}]}
  live:
    containers: [{name: app, ports: [{containerPort: 80, protocol: TCP}], terminationMessagePath: /dev}]
    dnsPolicy: Default
a probe changes its handler:
  last: {containers: [{name: app, livenessProbe: {httpGet: {path: /, port: 80}, periodSeconds: 5}}]}
  modified: {containers: [{name: app, livenessProbe: {tcpSocket: {port: 80}, periodSeconds: 5}}]}
ephemeral and init containers:
  last: {initContainers: [{name: i1}, {name: i2}], containers: [{name: app}]}
  modified: {initContainers: [{name: i2, image: x}], containers: [{name: app}]}
a new element without its merge key is sent all the same:
  last: {containers: [{name: app}]}
  modified: {containers: [{name: app}], volumes: [{emptyDir: {}}]}
an explicit null deletes:
  at: spec
  last: {replicas: 2, paused: true}
  modified: {replicas: null, paused: true}
"""


@cache
def situations() -> dict[str, Situation]:
    loaded = yaml.safe_load(SITUATIONS)
    return {name: situation(**fields) for name, fields in loaded.items()}


def situation(
    *,
    last: JSON,
    modified: JSON,
    live: JSON = None,
    kind: str = "Deployment",
    at: str | None = None,
) -> Situation:
    place = (
        at
        if at is not None
        else TEMPLATE.get(kind, "spec.template.spec")
        if kind in PODS
        else ""
    )
    there = manifest(kind, place, last if live is None else live)
    return Situation(
        None if last is None else manifest(kind, place, last),
        manifest(kind, place, modified),
        there,
    )


def ours(case: Situation) -> JSONObject:
    schema = kubernetes().schema_of(case.live)
    return three_way_patch(*case, schema, preconditions=KUBECTL_PRECONDITIONS)


@needs_kubectl
@pytest.mark.parametrize("name", situations())
def test_kubectl_sends_our_three_way_patch(name: str) -> None:
    case = situations()[name]
    patch = ours(case)
    sent = capture_apply(*case)
    assert same(patch, {} if sent is None else without_last_applied(sent))
    assert same(outcome(case.live, patch), kubectl_outcome(case.live, patch))


def outcome(live: JSONObject, patch: JSONObject) -> JSON:
    try:
        return as_go_prints(apply_patch(live, patch, kubernetes().schema_of(live)))
    except SmpError:
        return "refused"


def kubectl_outcome(live: JSONObject, patch: JSONObject) -> JSON:
    try:
        return stored(patch_local(live, patch))
    except KubectlError:
        return "refused"


WEB: Final = manifest(
    "Deployment",
    "spec",
    {
        "replicas": 2,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
        "template": {
            "metadata": {"labels": {"a": "b"}, "finalizers": ["p", "q"]},
            "spec": {
                "containers": [
                    {
                        "name": "app",
                        "image": "a:1",
                        "env": [{"name": "A", "value": "1"}],
                    },
                    {"name": "log"},
                ],
                "tolerations": [{"key": "k"}],
            },
        },
    },
)
# Fragments of spec.template, on WEB.
QUIRKS: Final = """
an element without an order directive goes first: {spec: {containers: [{name: new}]}}
an element with an order directive goes where it belongs:
  {spec: {$setElementOrder/containers: [{name: app}, {name: new}], containers: [{name: new}]}}
an order directive alone: {spec: {$setElementOrder/containers: [{name: log}, {name: app}]}}
an element that the order directive lacks:
  {spec: {$setElementOrder/containers: [{name: log}], containers: [{name: new}]}}
an absent parent loses its directives:
  {spec: {securityContext: {$retainKeys: [runAsUser], runAsUser: 1, fsGroup: null}}}
an absent parent with a marker is not made: {spec: {securityContext: {$patch: replace, runAsUser: 1}}}
an object that is deleted stays empty: {metadata: {$patch: delete}}
a marker that merges is refused: {metadata: {$patch: merge}}
a marker that replaces: {metadata: {$patch: replace, labels: {c: d}}}
an element that replaces empties the list: {spec: {containers: [{name: app, $patch: replace, image: x}]}}
a list that is replaced by nothing: {spec: {containers: [{$patch: replace}]}}
a list that is replaced: {spec: {containers: [{$patch: replace}, {name: new}]}}
an atomic list stores its marker as an element: {spec: {tolerations: [{$patch: replace}]}}
an empty merge list changes nothing: {spec: {containers: []}}
a null list goes: {spec: {containers: null}}
deleting what is not there: {spec: {containers: [{name: nobody, $patch: delete}]}}
deleting a finalizer: {metadata: {$deleteFromPrimitiveList/finalizers: [p, nobody]}}
adding finalizers once: {metadata: {finalizers: [q, q, s, s]}}
an element without its merge key: {spec: {containers: [{image: x}]}}
an unknown marker in a list: {spec: {containers: [{name: app, $patch: bogus}]}}
retained keys that are no list: {spec: {$retainKeys: containers, containers: []}}
retained keys that lack what the patch sets: {spec: {$retainKeys: [containers], hostNetwork: true}}
retained keys: {spec: {$retainKeys: [containers]}}
a string for a list: {spec: {containers: oops}}
an object for a list: {spec: {tolerations: {a: b}}}
an unknown scalar: {spec: {bogus: 1}}
an unknown object that is new: {spec: {bogus: {a: 1, b: null}}}
"""


@needs_kubectl
@pytest.mark.parametrize("name", yaml.safe_load(QUIRKS))
def test_kubectl_applies_a_designed_patch_as_we_do(name: str) -> None:
    patch: JSONObject = {"spec": {"template": yaml.safe_load(QUIRKS)[name]}}
    assert same(outcome(WEB, patch), kubectl_outcome(WEB, patch))


# Without them kubectl does not read an object; and two empty lists are an error there:
# docs/deviations.md.
KEPT: Final = ("apiVersion", "kind", "metadata", "$patch", "$retainKeys")
REAL: Final = [subject for subject in subjects() if subject.schema.kind]


def random_patch(subject: Subject, seed: int) -> tuple[JSONObject, JSONObject]:
    """Make an object and a patch for it, of which the reference's outcome is certain."""
    schema = subject.schema
    maker = Maker(seed)
    while True:
        # kubectl reads the metadata itself
        live: JSONObject = {**maker.object(schema), "metadata": {"name": "x"}}
        patch = composable(maker.patch(live, schema), schema.type)
        patch = {name: value for name, value in patch.items() if name not in KEPT}
        if patch and "[]" not in str(patch):
            return live, patch


@needs_kubectl
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("subject", REAL, ids=[subject.name for subject in REAL])
def test_kubectl_applies_a_random_patch_as_we_do(subject: Subject, seed: int) -> None:
    live, patch = random_patch(subject, seed)
    assert same(outcome(live, patch), kubectl_outcome(live, patch))
