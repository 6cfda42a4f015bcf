"""The rules for the conversion between the versions of a custom resource.

The webhook of a conversion is checked as an API server checks it, although this server
does not call it. Go: validateCustomResourceConversion in
k8s.io/apiextensions-apiserver, pkg/apis/apiextensions/validation, and
k8s.io/apiserver, pkg/util/webhook.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from smp import names
from smp.paths import Path
from smp.server.errors import forbidden, invalid, required
from smp.server.objects.crds._spec import Conversion, WebhookConversion
from smp.violations import Violation, unsupported

# An API server names the fields of the type that it validates, in which what is in
# ``webhook`` is one level up.
_CONVERSION: Final = Path(("spec", "conversion"))
_CLIENT: Final = _CONVERSION / "webhookClientConfig"
_VERSIONS: Final = _CONVERSION / "conversionReviewVersions"

_STRATEGIES: Final = ("None", "Webhook")
# The versions of ConversionReview that an API server sends.
_REVIEW_VERSIONS: Final = frozenset({"v1", "v1beta1"})
_URL_FORM: Final = "https://host[/path]"


def conversion_problems(conversion: Conversion) -> Iterator[Violation]:
    """Yield what is wrong with a conversion."""
    webhook = conversion.webhook or WebhookConversion()
    if conversion.strategy not in _STRATEGIES:
        yield unsupported(_CONVERSION / "strategy", conversion.strategy, _STRATEGIES)
    if conversion.strategy != "Webhook":
        detail = "should not be set when strategy is not set to Webhook"
        if webhook.client_config is not None:
            yield forbidden(_CLIENT, detail)
        if webhook.conversion_review_versions:
            yield forbidden(_VERSIONS, detail)
        return

    yield from _client_problems(webhook)
    versions = webhook.conversion_review_versions
    for index, version in enumerate(versions):
        if version in versions[:index]:
            yield invalid(_VERSIONS / index, version, "duplicate version")
        elif problem := names.rfc1035_label(version):
            yield invalid(_VERSIONS / index, version, problem)
    if not versions:
        yield required(_VERSIONS)
    elif not _REVIEW_VERSIONS & set(versions):
        yield invalid(
            _VERSIONS, [*versions], "must include at least one of v1, v1beta1"
        )


def _client_problems(webhook: WebhookConversion) -> Iterator[Violation]:
    client = webhook.client_config
    if client is None:
        yield required(_CLIENT, "required when strategy is set to Webhook")
    elif (client.url is None) == (client.service is None):
        yield required(_CLIENT, "exactly one of url or service is required")
    elif client.url is not None:
        for detail in _url_problems(client.url):
            yield invalid(_CLIENT / "url", client.url, detail)
    elif client.service is not None:
        # An API server swaps the two: it calls ValidateWebhookService with the name
        # in the place of the namespace.
        if not client.service.name:
            yield required(_CLIENT / "service" / "name")
        if not client.service.namespace:
            yield required(_CLIENT / "service" / "namespace")


def _url_problems(url: str) -> Iterator[str]:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        yield f"url must be a valid URL: {error}; desired format: {_URL_FORM}"
        return
    if parts.scheme != "https":
        yield f"'https' is the only allowed URL scheme; desired format: {_URL_FORM}"
    if not parts.netloc:
        yield f"host must be specified; desired format: {_URL_FORM}"
    if "@" in parts.netloc:
        yield "user information is not permitted in the URL"
    if parts.fragment:
        yield "fragments are not permitted in the URL"
    if parts.query:
        yield "query parameters are not permitted in the URL"
