"""Clients from the configuration of kubectl, made by the official Python clients.

They read the files that ``$KUBECONFIG`` lists, run exec plugins, and know certificates,
tokens and proxies. Without a configuration, that of a Pod is taken.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from smp._values.extras import extra_hint
from smp.errors import SmpError

_DEFAULT_FILE = Path("~/.kube/config")
_SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


class ConfigurationError(SmpError):
    """No configuration of a cluster, or one that cannot be used."""

    default_code = "invalid-configuration"


class ConnectionOverrides(msgspec.Struct, frozen=True):
    """What takes the place of the configuration; "" and 0 of nothing.

    ``server`` is an address, ``as_user`` and ``as_group`` are whom to impersonate,
    ``request_timeout`` is in seconds (Go: k8s.io/cli-runtime/pkg/genericclioptions,
    ConfigFlags).
    """

    server: str = ""
    token: str = ""
    as_user: str = ""
    as_group: tuple[str, ...] = ()
    insecure: bool = False
    request_timeout: float = 0

    @classmethod
    def of_options(cls, options: Mapping[str, Any]) -> ConnectionOverrides:
        """Take from the options of a command those that have the names of members."""
        return cls(**{name: options[name] for name in cls.__struct_fields__})

    def _override(self, configuration: Any) -> None:
        if self.server:
            configuration.host = self.server
        if self.insecure:
            configuration.verify_ssl = False

    def client_of(self, configuration: Any) -> Any:
        """Return a client of the official package by a configuration of it."""
        renew = configuration.refresh_api_key_hook
        if self.token:
            configuration.refresh_api_key_hook = None
            configuration.api_key = {"authorization": f"Bearer {self.token}"}
        elif renew:

            def renew_token(renewed: Any) -> None:
                # It takes all else from the file again as well, and this hook.
                renew(renewed)
                renewed.refresh_api_key_hook = renew_token
                self._override(renewed)

            configuration.refresh_api_key_hook = renew_token
        self._override(configuration)
        client = _module("kubernetes.client").ApiClient(configuration)
        if self.as_user:
            # Go: transport.ImpersonateUserHeader and ImpersonateGroupHeader.
            client.set_default_header("Impersonate-User", self.as_user)
        if self.as_group:
            # Go: k8s.io/client-go/tools/clientcmd, validateAuthInfo.
            if not self.as_user:
                raise ConfigurationError(
                    "a group is impersonated with a user alone", hint="give --as, too"
                )
            if len(self.as_group) > 1:
                raise ConfigurationError(
                    "the client for Python sends one group to impersonate",
                    hint="give --as-group once",
                )
            client.set_default_header("Impersonate-Group", self.as_group[0])
        if self.request_timeout:
            pool = client.rest_client.pool_manager
            pool.connection_pool_kw["timeout"] = self.request_timeout
        return client


def client_of_context(
    context: str | None,
    kubeconfig: str | None = None,
    overrides: ConnectionOverrides | None = None,
) -> tuple[Any, str]:
    """Return a client of the official package, and the namespace of the context.

    ``context`` is the current one where it is None; ``kubeconfig`` is a file in place
    of those that are found. Raises ConfigurationError.
    """
    config = _module("kubernetes.config")
    kubeconfig = kubeconfig or _kubeconfig()
    overrides = overrides or ConnectionOverrides()
    # The server that is named needs no configuration (Go: ClientConfig, overrides).
    has_file = kubeconfig or context or _DEFAULT_FILE.expanduser().exists()
    if overrides.server and not has_file:
        configuration = _module("kubernetes.client").Configuration()
        return overrides.client_of(configuration), "default"
    with _reading(config, kubeconfig):
        if not kubeconfig and _is_in_cluster(context):
            config.load_incluster_config()
            return _module("kubernetes.client").ApiClient(), _namespace_of_pod()
        client = config.new_client_from_config(kubeconfig, context)
        contexts, current = config.list_kube_config_contexts(kubeconfig)
    if overrides != ConnectionOverrides():
        client = overrides.client_of(client.configuration)
    return client, _namespace_of(context, contexts, current)


async def async_client_of_context(
    context: str | None, kubeconfig: str | None = None
) -> tuple[Any, str]:
    """Return a client of kubernetes_asyncio; the same as above otherwise."""
    config = _module("kubernetes_asyncio.config")
    kubeconfig = kubeconfig or _kubeconfig()
    with _reading(config, kubeconfig):
        if not kubeconfig and _is_in_cluster(context):
            config.load_incluster_config()
            client = _module("kubernetes_asyncio.client").ApiClient()
            return client, _namespace_of_pod()
        client = await config.new_client_from_config(kubeconfig, context)
        contexts, current = config.list_kube_config_contexts(kubeconfig)
    return client, _namespace_of(context, contexts, current)


class Contexts:
    """The contexts of the configuration of kubectl, which is read once."""

    def __init__(
        self,
        kubeconfig: str | None = None,
        overrides: ConnectionOverrides | None = None,
    ) -> None:
        """Read a file in place of those that are found. Raises ConfigurationError."""
        self._overrides = overrides or ConnectionOverrides()
        self._config = _module("kubernetes.config.kube_config")
        path = kubeconfig or _kubeconfig() or "~/.kube/config"
        with _reading(_module("kubernetes.config"), path):
            self._merged = self._config.KubeConfigMerger(path).config
            # Without any file there is nothing merged.
            found = self._merged.value["contexts"] if self._merged else []
            contexts = [each.value for each in found]
            self._contexts = {str(each["name"]): each for each in contexts}

    @property
    def names(self) -> list[str]:
        """The names of all contexts, in order."""
        return [*self._contexts]

    def client(self, name: str) -> tuple[Any, str]:
        """Return a client of the official package, and the namespace of a context.

        Raises ConfigurationError.
        """
        if name not in self._contexts:
            raise ConfigurationError(f"there is no context {name!r}")
        with _reading(_module("kubernetes.config"), ""):
            client = self._config.new_client_from_config_dict(
                self._merged, name, persist_config=False
            )
        if self._overrides != ConnectionOverrides():
            client = self._overrides.client_of(client.configuration)
        return client, _namespace_of(name, [*self._contexts.values()], {})


@contextmanager
def _reading(config: Any, kubeconfig: str | None) -> Iterator[None]:
    """Raise ConfigurationError for what a client, by ``config``, cannot read."""
    try:
        yield
    except SmpError:
        raise
    except config.ConfigException as error:
        hint = "" if kubeconfig else "name the file in $KUBECONFIG"
        named = f"{kubeconfig}: " if kubeconfig else ""
        raise ConfigurationError(f"{named}{error}", hint=hint) from error
    # The clients raise what their parsers raise of a file that is no configuration.
    except Exception as error:
        reason = str(error) or type(error).__name__
        if isinstance(error, (AttributeError, TypeError)):
            # The client takes for granted what the file says of its own structure.
            reason = "it is no configuration of kubectl (kind: Config)"
        named = f" {kubeconfig}" if kubeconfig else ""
        raise ConfigurationError(
            f"cannot read the configuration of kubectl{named}: {reason}"
        ) from error


def _module(name: str) -> Any:
    """Import a module of a client, which is an extra. Raises ConfigurationError."""
    try:
        return import_module(name)
    except ImportError:
        package, _, _ = name.partition(".")
        raise ConfigurationError(
            f"{package} reads the configuration of clusters, and is not installed",
            code="missing-package",
            hint=extra_hint("cluster"),
        ) from None


def _kubeconfig() -> str | None:
    # The clients look at the environment only when they are imported.
    return os.environ.get("KUBECONFIG") or None


def _is_in_cluster(context: str | None) -> bool:
    """Tell whether only the configuration of a Pod is there (Go: InClusterConfig)."""
    # A context that is named is what the user wants.
    if context is not None:
        return False
    if _DEFAULT_FILE.expanduser().exists():
        return False
    return "KUBERNETES_SERVICE_HOST" in os.environ


def _namespace_of_pod() -> str:
    try:
        return _SERVICE_ACCOUNT.read_text(encoding="utf-8").strip() or "default"
    except OSError:
        return "default"


def _namespace_of(
    context: str | None, contexts: list[dict[str, Any]], current: dict[str, Any]
) -> str:
    # Without a name it is the current context.
    chosen = current
    for entry in contexts:
        if entry.get("name") == context:
            chosen = entry
    return (chosen.get("context") or {}).get("namespace") or "default"
