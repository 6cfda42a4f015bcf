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
    return make(name, url, kubeconfig)


# Each without the proxies that the environment names: the server is on this machine.


def api_client(name: str, url: str, _kubeconfig: Path) -> Any:
    """Make the ApiClient of the official package, or its asynchronous form.

    That is made within an event loop.
    """
    module = import_module(f"{name}.client")
    configuration = module.Configuration(host=url)
    configuration.proxy = None
    return module.ApiClient(configuration)


def lightkube(name: str, _url: str, kubeconfig: Path) -> Any:
    """Make the Client of lightkube."""
    module = import_module(name)
    config = module.KubeConfig.from_file(kubeconfig)
    return module.Client(config=config, trust_env=False)


def kr8s(name: str, _url: str, kubeconfig: Path) -> Any:
    """Make the Api of kr8s, or return a coroutine that does."""
    return import_module(name).api(kubeconfig=str(kubeconfig))


def httpx(name: str, url: str, _kubeconfig: Path) -> Any:
    """Make the Client of httpx, with the URL as its base."""
    return import_module(name).Client(base_url=url, trust_env=False)


_CLIENTS: Final[Mapping[str, Callable[[str, str, Path], Any]]] = {
    "kubernetes": api_client,
    "kubernetes_asyncio": api_client,
    "lightkube": lightkube,
    "kr8s": kr8s,
    "kr8s.asyncio": kr8s,
    "httpx": httpx,
}
