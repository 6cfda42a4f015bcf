"""Clients of Kubernetes by name, each imported when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from smp.testing._faults import KubernetesApiError


def client(name: str, url: str, kubeconfig: Path) -> Any:
    """Make a client.

    Raises KubernetesApiError for an unknown name, and where its package is missing.
    """
    make = _CLIENTS.get(name)
    if make is None:
        raise KubernetesApiError(
            f"unknown client {name!r}", hint="known are " + ", ".join(_CLIENTS)
        )
    package = name.partition(".")[0]
    try:
        import_module(package)
    except ImportError as error:
        raise KubernetesApiError(
            f"the client {name} cannot be imported: {error}",
            hint=f"pip install {package}",
            code="missing-package",
        ) from error
    return make(url, kubeconfig)


# Each without the proxies that the environment names: the server is on this machine.


def kubernetes(url: str, _kubeconfig: Path) -> Any:
    """Make the ApiClient of the official package."""
    module = import_module("kubernetes.client")
    configuration = module.Configuration(host=url)
    configuration.proxy = None
    return module.ApiClient(configuration)


def kubernetes_asyncio(url: str, _kubeconfig: Path) -> Any:
    """Make the ApiClient of its asynchronous form, within an event loop."""
    module = import_module("kubernetes_asyncio.client")
    configuration = module.Configuration(host=url)
    configuration.proxy = None
    return module.ApiClient(configuration)


def lightkube(_url: str, kubeconfig: Path) -> Any:
    """Make the Client of lightkube."""
    module = import_module("lightkube")
    config = module.KubeConfig.from_file(kubeconfig)
    return module.Client(config=config, trust_env=False)


def kr8s(_url: str, kubeconfig: Path) -> Any:
    """Make the Api of kr8s."""
    return import_module("kr8s").api(kubeconfig=str(kubeconfig))


def kr8s_asyncio(_url: str, kubeconfig: Path) -> Any:
    """Return a coroutine that makes the Api of kr8s."""
    return import_module("kr8s.asyncio").api(kubeconfig=str(kubeconfig))


def httpx(url: str, _kubeconfig: Path) -> Any:
    """Make the Client of httpx, with the URL as its base."""
    return import_module("httpx").Client(base_url=url, trust_env=False)


_CLIENTS: Final[Mapping[str, Callable[[str, Path], Any]]] = {
    "kubernetes": kubernetes,
    "kubernetes_asyncio": kubernetes_asyncio,
    "lightkube": lightkube,
    "kr8s": kr8s,
    "kr8s.asyncio": kr8s_asyncio,
    "httpx": httpx,
}
