"""One suite of an operator through each client, on this server and on a kube-apiserver.

The operator keeps a ConfigMap for each Shop: it adds a finalizer, owns the ConfigMap,
reports in the status, and cleans up. A rule in CEL and a webhook judge the Shops.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest
import urllib3
import yaml
from kubernetes.dynamic.exceptions import ResourceNotFoundError

from smp.testing import KubernetesApi
from tests.support import admission
from tests.support.apiserver import needs_apiserver, running

pytestmark = [
    pytest.mark.filterwarnings("ignore:Kubernetes version:UserWarning"),
    pytest.mark.filterwarnings("ignore:Unverified HTTPS request"),
    # The clients leave sockets to the end of the process.
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
Object: TypeAlias = dict[str, Any]
SHOP: Final = "example.com/v1"
FINALIZER: Final = "example.com/clean"
_SPEC: Final[Object] = {
    "type": "object",
    "properties": {
        "least": {"type": "integer", "default": 1},
        "most": {"type": "integer"},
    },
    "x-kubernetes-validations": [
        {"rule": "self.least <= self.most", "message": "least is above most"}
    ],
}
DEFINITION: Final[Object] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "shops.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "shops", "kind": "Shop"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": _SPEC,
                            "status": {
                                "type": "object",
                                "x-kubernetes-preserve-unknown-fields": True,
                            },
                        },
                    }
                },
            }
        ],
    },
}


def shop(name: str, **spec: int) -> Object:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": SHOP, "kind": "Shop", "metadata": metadata, "spec": spec}


class Kubernetes:
    """The official client, by its dynamic part; ``code`` is that of a refusal."""

    def __init__(self, config: Path) -> None:
        kubernetes = pytest.importorskip("kubernetes")
        dynamic = import_module("kubernetes.dynamic")
        client = kubernetes.config.new_client_from_config(str(config))
        self.refused: Any = kubernetes.client.ApiException
        self._resources = dynamic.DynamicClient(client).resources

    def code(self, error: Any) -> int:
        return int(error.status)

    def _of(self, obj: Object) -> Any:
        return self._resources.get(api_version=obj["apiVersion"], kind=obj["kind"])

    def create(self, obj: Object) -> Object:
        made = self._of(obj).create(body=obj, namespace="default").to_dict()
        return dict(made)

    def get(self, obj: Object) -> Object:
        found = self._of(obj).get(name=obj["metadata"]["name"], namespace="default")
        return dict(found.to_dict())

    def patch(self, obj: Object, patch: Object, *, status: bool = False) -> None:
        resource = self._of(obj)
        (resource.status if status else resource).patch(
            body=patch,
            name=obj["metadata"]["name"],
            namespace="default",
            content_type="application/merge-patch+json",
        )

    def delete(self, obj: Object) -> None:
        self._of(obj).delete(name=obj["metadata"]["name"], namespace="default")


class KubernetesAsyncio:
    """The asynchronous one, a loop for each call."""

    def __init__(self, config: Path) -> None:
        self._package = pytest.importorskip("kubernetes_asyncio")
        self._dynamic = import_module("kubernetes_asyncio.dynamic")
        self.refused: Any = self._package.client.ApiException
        self._config = str(config)

    def code(self, error: Any) -> int:
        return int(error.status)

    def _call(self, obj: Object, call: Callable[[Any], Any]) -> Object:
        async def run() -> Any:
            package = self._package
            client = await package.config.new_client_from_config(self._config)
            async with client:
                dynamic = await self._dynamic.DynamicClient(client)
                names = {"api_version": obj["apiVersion"], "kind": obj["kind"]}
                answer = await call(await dynamic.resources.get(**names))
                return answer.to_dict()

        answer = dict(asyncio.run(run()))
        # It answers a Status that is a failure like any other object.
        if answer["kind"] == "Status" and answer["status"] == "Failure":
            raise self.refused(status=answer["code"])
        return answer

    def create(self, obj: Object) -> Object:
        return self._call(obj, lambda each: each.create(body=obj, namespace="default"))

    def get(self, obj: Object) -> Object:
        name = obj["metadata"]["name"]
        return self._call(obj, lambda each: each.get(name=name, namespace="default"))

    def patch(self, obj: Object, patch: Object, *, status: bool = False) -> None:
        arguments = {
            "body": patch,
            "name": obj["metadata"]["name"],
            "namespace": "default",
            "content_type": "application/merge-patch+json",
        }
        self._call(
            obj, lambda each: (each.status if status else each).patch(**arguments)
        )

    def delete(self, obj: Object) -> None:
        name = obj["metadata"]["name"]
        self._call(obj, lambda each: each.delete(name=name, namespace="default"))


class Lightkube:
    """lightkube, with a resource that is made of the definition's names."""

    def __init__(self, config: Path) -> None:
        lightkube = pytest.importorskip("lightkube")
        generic = import_module("lightkube.generic_resource")
        core = import_module("lightkube.resources.core_v1")
        self._types = import_module("lightkube.types")
        self._codecs = import_module("lightkube.codecs")
        self.refused: Any = import_module("lightkube.core.exceptions").ApiError
        self._shop = generic.create_namespaced_resource(
            "example.com", "v1", "Shop", "shops"
        )
        self._config_map = core.ConfigMap
        loaded = lightkube.KubeConfig.from_file(config)
        self._client = lightkube.Client(config=loaded, namespace="default")

    def code(self, error: Any) -> int:
        return int(error.status.code)

    def _of(self, obj: Object) -> Any:
        return self._shop if obj["kind"] == "Shop" else self._config_map

    def create(self, obj: Object) -> Object:
        made = self._client.create(self._of(obj).from_dict(obj))
        return dict(made.to_dict())

    def get(self, obj: Object) -> Object:
        found = self._client.get(self._of(obj), obj["metadata"]["name"])
        return dict(found.to_dict())

    def patch(self, obj: Object, patch: Object, *, status: bool = False) -> None:
        resource = self._of(obj).Status if status else self._of(obj)
        kind = self._types.PatchType.MERGE
        name = obj["metadata"]["name"]
        self._client.patch(resource, name, patch, patch_type=kind)

    def delete(self, obj: Object) -> None:
        self._client.delete(self._of(obj), obj["metadata"]["name"])


class Kr8s:
    """kr8s, by its synchronous part."""

    def __init__(self, config: Path) -> None:
        kr8s = pytest.importorskip("kr8s")
        self._objects = import_module("kr8s.objects")
        self.refused: Any = (kr8s.ServerError, kr8s.NotFoundError)
        self._api = kr8s.api(kubeconfig=str(config))
        self._shop = self._objects.new_class(
            "Shop", "example.com/v1", namespaced=True, plural="shops", asyncio=False
        )

    def code(self, error: Any) -> int:
        response = getattr(error, "response", None)
        return int(response.status_code) if response is not None else 404

    def _of(self, obj: Object) -> Any:
        class_ = self._shop if obj["kind"] == "Shop" else self._objects.ConfigMap
        return class_(obj, api=self._api)

    def create(self, obj: Object) -> Object:
        made = self._of(obj)
        made.create()
        return dict(made.raw)

    def get(self, obj: Object) -> Object:
        found = self._of(obj)
        found.refresh()
        return dict(found.raw)

    def patch(self, obj: Object, patch: Object, *, status: bool = False) -> None:
        self._of(obj).patch(patch, subresource="status" if status else None)

    def delete(self, obj: Object) -> None:
        self._of(obj).delete()


CLIENTS: Final = (Kubernetes, KubernetesAsyncio, Lightkube, Kr8s)


@contextmanager
def on_this_server(directory: Path) -> Iterator[Path]:
    with KubernetesApi() as api:
        path = directory / "kubeconfig"
        path.write_text(yaml.safe_dump(kubeconfig(api.url)))
        yield path


@contextmanager
def on_kube_apiserver(directory: Path) -> Iterator[Path]:
    # Its certificate is its own, and it listens on loopback only.
    urllib3.disable_warnings()
    with running() as server:
        token = server.headers["Authorization"].removeprefix("Bearer ")
        path = directory / "kubeconfig"
        path.write_text(yaml.safe_dump(kubeconfig(server.url, token)))
        yield path


def kubeconfig(url: str, token: str = "") -> Object:
    cluster: Object = {"server": url}
    if token:
        cluster = {**cluster, "insecure-skip-tls-verify": True}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {"token": token} if token else {}}],
        "contexts": [
            {
                "name": "x",
                "context": {"cluster": "c", "user": "u", "namespace": "default"},
            }
        ],
        "current-context": "x",
    }


SERVERS: Final = [
    on_this_server,
    pytest.param(on_kube_apiserver, marks=[needs_apiserver, pytest.mark.exhaustive]),
]


@pytest.fixture(scope="module", params=SERVERS)
def config(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """A kubeconfig, with the definition and the webhook of the operator."""
    pytest.importorskip("cel_expr_python")
    directory = tmp_path_factory.mktemp("operator")
    with request.param(directory) as path, admission.serving(directory) as webhooks:
        client = Kubernetes(path)
        client.create(DEFINITION)
        rules = {
            "operations": ["CREATE"],
            "apiGroups": ["example.com"],
            "apiVersions": ["v1"],
            "resources": ["shops"],
        }
        closed = {"allowed": False, "status": {"message": "closed", "code": 403}}
        webhooks.answers["/closed"] = {"response": closed}
        hook = {
            "name": "closed.example.com",
            "rules": [rules],
            "objectSelector": {"matchLabels": {"closed": "true"}},
            "clientConfig": {
                "url": f"{webhooks.url}/closed",
                "caBundle": webhooks.bundle,
            },
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        client.create(
            {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": "ValidatingWebhookConfiguration",
                "metadata": {"name": "closed"},
                "webhooks": [hook],
            }
        )
        # A kube-apiserver serves a definition, and calls a webhook, a while later.
        probe = shop("probe", most=5)
        probe["metadata"]["labels"] = {"closed": "true"}
        for _ in range(100):
            if _refusal(Kubernetes(path), probe) == 403:
                break
            time.sleep(0.1)
        yield path


def _refusal(client: Any, obj: Object) -> int:
    """Return the code with which a new object is refused; 0 where it is taken."""
    try:
        client.create(obj)
    except client.refused as error:
        return int(client.code(error))
    except ResourceNotFoundError:
        # The dynamic client does not know the kind yet.
        return 0
    else:
        client.delete(obj)
    return 0


def reconcile(client: Any, asked: Object) -> None:
    """Do what the operator does for a Shop."""
    found = client.get(asked)
    metadata = found["metadata"]
    child = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": metadata["name"],
            "namespace": "default",
            "ownerReferences": [
                {
                    "apiVersion": SHOP,
                    "kind": "Shop",
                    "name": metadata["name"],
                    "uid": metadata["uid"],
                    "controller": True,
                }
            ],
        },
        "data": {"least": str(found["spec"]["least"])},
    }
    if metadata.get("deletionTimestamp"):
        client.delete(child)
        client.patch(asked, {"metadata": {"finalizers": None}})
        return
    client.patch(asked, {"metadata": {"finalizers": [FINALIZER]}})
    client.create(child)
    client.patch(asked, {"status": {"phase": "Open"}}, status=True)


@pytest.mark.parametrize("make", CLIENTS, ids=lambda each: each.__name__)
def test_an_operator_works_through_each_client(
    config: Path, make: Callable[[Path], Any]
) -> None:
    client: Any = make(config)
    name = make.__name__.lower()
    assert _refusal(client, shop(name, least=7, most=3)) == 422
    closed = shop(name, most=3)
    closed["metadata"]["labels"] = {"closed": "true"}
    assert _refusal(client, closed) == 403

    asked = shop(name, most=3)
    assert client.create(asked)["spec"] == {"least": 1, "most": 3}
    reconcile(client, asked)
    opened = client.get(asked)
    assert opened["status"] == {"phase": "Open"}
    assert opened["metadata"]["generation"] == 1
    metadata = {"name": name, "namespace": "default"}
    child = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    (owner,) = client.get(child)["metadata"]["ownerReferences"]
    assert owner["uid"] == opened["metadata"]["uid"]

    client.delete(asked)
    assert client.get(asked)["metadata"]["deletionTimestamp"]
    reconcile(client, asked)
    for gone in (asked, child):
        with pytest.raises(client.refused) as refused:
            client.get(gone)
        assert client.code(refused.value) == 404


def test_kopf_works(config: Path) -> None:
    """It has finalizers of its own, and adopts what it makes."""
    kopf = pytest.importorskip("kopf")
    client = Kubernetes(config)
    registry = kopf.OperatorRegistry()
    document = yaml.safe_load(config.read_text())
    token = document["users"][0]["user"].get("token")

    @kopf.on.login(registry=registry)  # type: ignore[untyped-decorator, unused-ignore]
    def login(**_: Any) -> Any:
        server = document["clusters"][0]["cluster"]["server"]
        return kopf.ConnectionInfo(server=server, token=token, insecure=bool(token))

    @kopf.on.create("example.com", "v1", "shops", registry=registry)  # type: ignore[untyped-decorator, unused-ignore]
    def on_create(patch: Any, name: str, **_: Any) -> None:
        child = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
        kopf.adopt(child)
        client.create(child)
        patch.status["phase"] = "Open"

    @kopf.on.delete("example.com", "v1", "shops", registry=registry)  # type: ignore[untyped-decorator, unused-ignore]
    def on_delete(name: str, **_: Any) -> None:
        metadata = {"name": name}
        client.delete({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})

    stop, ready = threading.Event(), threading.Event()
    arguments = {"registry": registry, "namespaces": ["default"], "standalone": True}
    thread = threading.Thread(
        target=lambda: asyncio.run(
            kopf.operator(stop_flag=stop, ready_flag=ready, **arguments)
        )
    )
    thread.start()
    try:
        assert ready.wait(30)
        asked = shop("kopf", most=3)
        client.create(asked)
        _wait(lambda: client.get(asked).get("status", {}).get("phase") == "Open")
        child = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kopf"}}
        (owner,) = client.get(child)["metadata"]["ownerReferences"]
        assert owner["kind"] == "Shop"
        client.delete(asked)
        _wait(lambda: _is_gone(client, asked) and _is_gone(client, child))
    finally:
        stop.set()
        thread.join(30)


def _wait(holds: Callable[[], bool]) -> None:
    for _ in range(300):
        if holds():
            return
        time.sleep(0.1)
    assert holds()


def _is_gone(client: Any, obj: Object) -> bool:
    try:
        client.get(obj)
    except client.refused as error:
        return bool(client.code(error) == 404)
    return False
