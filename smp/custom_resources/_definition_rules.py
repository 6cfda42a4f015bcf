"""The rules for a definition beside those for its schemas.

Go: k8s.io/apiextensions-apiserver, pkg/apis/apiextensions/validation. Paths are those
of the type that a server validates, into which it converts a definition first: what all
versions have in common stands in the spec (pkg/apis/apiextensions/v1/conversion.go).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import urlsplit

from smp._values import names
from smp._values.values import (
    JSON,
    JSONArray,
    JSONObject,
    as_list,
    as_object,
    as_text,
)
from smp.custom_resources._field_paths import find_field, read_field_path
from smp.custom_resources._table import SchemaPlace
from smp.paths import Key, Path, Step
from smp.violations import (
    Violation,
    duplicate,
    invalid,
    require,
    too_many,
)

SPEC: Final = Path(("spec",))
_VERSIONS: Final = SPEC / "versions"
_CONVERSION: Final = SPEC / "conversion"
_STORED: Final = Path(("status", "storedVersions"))
_APPROVAL: Final = "api-approved.kubernetes.io"
_PROTECTED: Final = (".k8s.io", ".kubernetes.io")
_MIXED_CASE: Final = "may have mixed case, but should otherwise match: "
# The fields of a version by their names in the spec of what is validated.
SHARED: Final = {
    "schema": "validation",
    "subresources": "subresources",
    "additionalPrinterColumns": "additionalPrinterColumns",
    "selectableFields": "selectableFields",
}
# Where an author finds what a server names otherwise.
_WRITTEN: Final[dict[tuple[str, ...], tuple[Step, ...]]] = {
    **{
        ("spec", shared): ("spec", "versions", 0, field)
        for field, shared in SHARED.items()
    },
    ("spec", "version"): ("spec", "versions", 0, "name"),
    ("spec", "conversion", "webhookClientConfig"): (
        *("spec", "conversion", "webhook", "clientConfig"),
    ),
    ("spec", "conversion", "conversionReviewVersions"): (
        *("spec", "conversion", "webhook", "conversionReviewVersions"),
    ),
}
_SELECTABLE: Final = ("string", "boolean", "integer")
_MOST_SELECTABLE: Final = 8
_LONGEST_WARNING: Final = 256
# The versions of ConversionReview that an API server sends.
_REVIEWS: Final = ("v1", "v1beta1")
_CLIENT_FIELD: Final = "webhookClientConfig"
_REVIEW_FIELD: Final = "conversionReviewVersions"
_URL_FORM: Final = "; desired format: https://host[/path]"
_LAST_PORT: Final = 65535


def find_written_path(path: Path) -> Path:
    """Return where in a definition stands what a server names by a path."""
    for names_of_server, steps in _WRITTEN.items():
        if path.steps[: len(names_of_server)] == names_of_server:
            rest = path.steps[len(names_of_server) :]
            written = ["jsonPath" if step == "JSONPath" else step for step in rest]
            return Path((*steps, *written))
    return path


def find_spec_violations(
    spec: JSONObject, versions: list[JSONObject]
) -> Iterator[Violation]:
    """Yield what is wrong with a spec (Go: validateCustomResourceDefinitionSpec)."""
    group = as_text(spec.get("group"))
    if group and (problem := names.subdomain(group)):
        yield invalid(SPEC / "group", group, problem)
    elif group and "." not in group:
        detail = "should be a domain with at least one dot"
        yield invalid(SPEC / "group", group, detail)
    yield from SchemaPlace(spec, SPEC).refusals("spec")
    yield from _find_version_violations(versions)
    yield from _find_name_violations(as_object(spec.get("names")))
    conversion: JSONObject = {"strategy": "None"}
    if spec.get("conversion") is not None:
        conversion = as_object(spec["conversion"])
    yield from _find_conversion_violations(conversion)


def _find_label_violations(
    listed: Iterable[tuple[Path, str, str]],
) -> Iterator[Violation]:
    """Yield the names that are no labels; each with its path and the words before."""
    for path, name, words in listed:
        if problem := names.rfc1035_label(name):
            yield invalid(path, name, words + problem)


def _find_version_violations(versions: list[JSONObject]) -> Iterator[Violation]:
    labels = [as_text(version.get("name")) for version in versions]
    places = [(_VERSIONS / at / "name", name, "") for at, name in enumerate(labels)]
    if labels and labels[0]:
        # Go: a server has the name of the first version in a field of its own, too.
        places.append((SPEC / "version", labels[0], ""))
    yield from _find_label_violations(places)
    if len(set(labels)) < len(labels):
        yield invalid(_VERSIONS, [*labels], "must contain unique version names")
    stored = [
        name for name, each in zip(labels, versions, strict=True) if _stores(each)
    ]
    if len(stored) != 1:
        detail = "must have exactly one version marked as storage version"
        yield invalid(_VERSIONS, [*stored], detail)
    for at, version in enumerate(versions):
        if as_object(version.get("schema")).get("openAPIV3Schema") is None:
            yield require(_VERSIONS / at / "schema" / "openAPIV3Schema")
        path = _VERSIONS / at / "deprecationWarning"
        warning = version.get("deprecationWarning")
        for detail in _find_warning_problems(version) if warning is not None else ():
            yield invalid(path, warning, detail)


def _stores(version: JSONObject) -> bool:
    return version.get("storage") is True


def _find_warning_problems(version: JSONObject) -> Iterator[str]:
    """Go: validateDeprecationWarning."""
    text = as_text(version.get("deprecationWarning"))
    if version.get("deprecated") is not True:
        yield "can only be set for deprecated versions"
        return
    if len(text.encode(errors="surrogatepass")) > _LONGEST_WARNING:
        yield f"must be <= {_LONGEST_WARNING} characters long"
    if not text:
        yield "must not be an empty string"
    if not text.isprintable():
        yield "must only contain printable UTF-8 characters"


def find_storage_violations(
    stored: JSONArray, versions: list[JSONObject]
) -> Iterator[Violation]:
    """Go: ValidateCustomResourceDefinitionStoredVersions.

    ``stored`` are those of before; the storage version comes to them (Go: Prepare).
    Those that are missing now are a change that smp._storage.update_rules refuses.
    """
    marked: JSONArray = [each.get("name") for each in versions if _stores(each)]
    stored = [*stored, *[name for name in marked[:1] if name not in stored]]
    if not stored:
        yield invalid(_STORED, [], "must have at least one stored version")
        return
    # Go looks each up once, so a version that is there twice is not found again.
    left = [*stored]
    for version in versions:
        name = version.get("name")
        if name in left:
            left = [each for each in left if each != name]
        elif _stores(version):
            yield invalid(_STORED, stored, f"must have the storage version {name}")


def _find_name_violations(defined: JSONObject) -> Iterator[Violation]:
    """Go: ValidateCustomResourceDefinitionNames, and what a spec requires beside it."""
    path = SPEC / "names"
    kind = as_text(defined.get("kind"))
    singular = as_text(defined.get("singular")) or kind.lower()
    list_kind = as_text(defined.get("listKind")) or (f"{kind}List" if kind else "")
    stated = (
        ("plural", as_text(defined.get("plural")), ""),
        ("singular", singular, ""),
        ("kind", kind.lower(), _MIXED_CASE),
        ("listKind", list_kind.lower(), _MIXED_CASE),
    )
    for field, name, _words in stated:
        if not name:
            yield require(path / field)
    yield from _find_label_violations(
        (path / field, name, words) for field, name, words in stated if name
    )
    yield from _find_label_violations(
        (path / field / index, as_text(name), "")
        for field in ("shortNames", "categories")
        for index, name in enumerate(as_list(defined.get(field)))
    )
    if kind and kind == list_kind:
        detail = "kind and listKind may not be the same"
        yield invalid(path / "listKind", list_kind, detail)


def find_selectable_violations(
    fields: JSONArray, schema: JSONObject, path: Path
) -> Iterator[Violation]:
    """Go: ValidateCustomResourceSelectableFields."""
    seen: set[tuple[str, ...]] = set()
    for index, each in enumerate(fields):
        here = path / index / "jsonPath"
        text = as_text(as_object(each).get("jsonPath"))
        if not text:
            yield require(here)
            continue
        found = None if "[" in text else find_field(text, schema)
        if found is None:
            detail = "is an invalid path: does not refer to a valid field"
            yield invalid(here, text, detail)
            continue
        steps = read_field_path(text)
        if steps[0] == "metadata":
            yield invalid(here, text, "must not point to fields in metadata")
        if found.get("type") not in _SELECTABLE:
            detail = (
                "must point to a field of type string, boolean or integer. Enum string"
                " fields and strings with formats are allowed."
            )
            yield invalid(here, text, detail)
        if steps in seen:
            yield duplicate(here, text)
        seen.add(steps)
    if len(seen) > _MOST_SELECTABLE:
        yield too_many(path, len(seen), _MOST_SELECTABLE)


def _find_conversion_violations(conversion: JSONObject) -> Iterator[Violation]:
    """Go: validateCustomResourceConversion."""
    yield from SchemaPlace(conversion, _CONVERSION).refusals("conversion")
    if conversion.get("strategy") != "Webhook":
        return
    webhook = as_object(conversion.get("webhook"))
    client = as_object(webhook.get("clientConfig"))
    reviews = [as_text(version) for version in as_list(webhook.get(_REVIEW_FIELD))]
    if (client.get("url") is None) != (client.get("service") is None):
        yield from _find_client_violations(client)
    path = _CONVERSION / _REVIEW_FIELD
    for index, version in enumerate(reviews):
        if version in reviews[:index]:
            yield invalid(path / index, version, "duplicate version")
        else:
            yield from _find_label_violations([(path / index, version, "")])
    if reviews and not set(_REVIEWS) & set(reviews):
        detail = f"must include at least one of {', '.join(_REVIEWS)}"
        yield invalid(path, [*reviews], detail)


def _find_client_violations(client: JSONObject) -> Iterator[Violation]:
    path = _CONVERSION / _CLIENT_FIELD
    url, service = client.get("url"), client.get("service")
    if url is not None:
        yield from _find_url_violations(url, path / "url")
    else:
        yield from _find_service_violations(as_object(service), path / "service")


def _find_url_violations(url: JSON, path: Path) -> Iterator[Violation]:
    """Go: ValidateWebhookURL."""
    try:
        parts = urlsplit(as_text(url))
    except ValueError as error:
        yield require(path, f"url must be a valid URL: {error}{_URL_FORM}")
        return
    scheme = "'https' is the only allowed URL scheme"
    user = "user information is not permitted in the URL"
    for is_wrong, detail in (
        (parts.scheme != "https", scheme + _URL_FORM),
        (not parts.netloc.rpartition("@")[2], "host must be specified" + _URL_FORM),
        ("@" in parts.netloc, user),
        (parts.fragment, "fragments are not permitted in the URL"),
        (parts.query, "query parameters are not permitted in the URL"),
    ):
        if is_wrong:
            yield invalid(path, url, detail)


def _find_service_violations(service: JSONObject, path: Path) -> Iterator[Violation]:
    """Go: ValidateWebhookService.

    An API server calls it with the name in the place of the namespace, so of these the
    other one is named.
    """
    for field, other in (("name", "namespace"), ("namespace", "name")):
        if not service.get(other):
            yield require(path / field)
    port = service.get("port", 443)
    if isinstance(port, int) and not 1 <= port <= _LAST_PORT:
        yield invalid(path / "port", port, "port is not valid")
    route = as_text(service.get("path"))
    if route in ("", "/"):
        return
    if not route.startswith("/"):
        yield invalid(path / "path", route, "must start with a '/'")
    for index, step in enumerate(route[1:].removesuffix("/").split("/")):
        problem = names.subdomain(step) if step else "may not be empty"
        if problem:
            yield invalid(path / "path", route, f"segment[{index}]: {problem}")


def find_approval_violations(
    metadata: JSONObject, old: JSONObject | None, group: str
) -> Iterator[Violation]:
    """Yield what a group of Kubernetes lacks (Go: validateAPIApproval, KEP-2337)."""
    if not f".{group}".endswith(_PROTECTED):
        return
    approval = as_text(as_object(metadata.get("annotations")).get(_APPROVAL))
    former = as_object(as_object(old).get("annotations")).get(_APPROVAL)
    try:
        parts = urlsplit(approval)
    except ValueError:
        parts = urlsplit("")
    is_known = approval.startswith("unapproved") or (parts.scheme and parts.netloc)
    if is_known or (old is not None and as_text(former) == approval):
        return
    path = Path(("metadata", "annotations", Key(_APPROVAL)))
    detail = "protected groups must have an approval annotation"
    source = "see https://github.com/kubernetes/enhancements/pull/1111"
    if approval:
        yield invalid(path, approval, f"{detail} with a URL or unapproved, {source}")
    else:
        yield require(path, f"{detail}, {source}")
