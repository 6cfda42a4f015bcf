"""Rules for the names of objects, labels, annotations and namespaces.

Each rule takes a string and returns what is wrong with it, or the empty string.
Sources: the Kubernetes documentation, "Object Names and IDs" and "Labels and
Selectors"; k8s.io/apimachinery, pkg/util/validation.

This module is compiled with mypyc (hatch_build.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeAlias

from smp._values.text_cache import TextCache
from smp._values.values import JSONObject, as_text

# Bytes. Go: k8s.io/apimachinery, pkg/api/validation, TotalAnnotationSizeLimitB.
MAX_ANNOTATIONS: Final = 256 * 1024

Rule: TypeAlias = Callable[[str], str]

_LONGEST_LABEL: Final = 63
_LABEL: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"


def _make_rule(
    pattern: str, longest: int, detail: str, *examples: str, unit: str = "characters"
) -> Rule:
    """Make the rule that a string matches a pattern and is not too long.

    The message ends with examples and the pattern (Go: validation.RegexError).
    """
    compiled = re.compile(pattern)
    if examples:
        listing = " or ".join([f"'{example}', " for example in examples])
        detail += f" (e.g. {listing}regex used for validation is '{pattern}')"

    def check(text: str) -> str:
        if len(text) > longest:
            return f"must be no more than {longest} {unit}"
        return "" if compiled.fullmatch(text) else detail

    return check


# Most objects, and the prefixes of label keys (Go: content.IsDNS1123Subdomain).
subdomain: Final[Rule] = _make_rule(
    rf"{_LABEL}(\.{_LABEL})*",
    253,
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "
    "characters, '-' or '.', and must start and end with an alphanumeric character",
    "example.com",
)
_plain_label: Final[Rule] = _make_rule(
    _LABEL,
    _LONGEST_LABEL,
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters "
    "or '-', and must start and end with an alphanumeric character",
    "my-name",
    "123-abc",
)


def label(text: str) -> str:
    """Check a name that is one part of a host name (Go: content.IsDNS1123Label)."""
    problem = _plain_label(text)
    if problem and len(text) <= _LONGEST_LABEL and not subdomain(text):
        return "must not contain dots"
    return problem


# The older rule, of DNS servers that refuse a digit first (Go: IsDNS1035Label).
rfc1035_label: Final[Rule] = _make_rule(
    r"[a-z]([-a-z0-9]*[a-z0-9])?",
    63,
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
    "start with an alphabetic character, and end with an alphanumeric character",
    "my-name",
    "abc-123",
)
# The first part of a host name is a star (Go: validation.IsWildcardDNS1123Subdomain).
wildcard_subdomain: Final[Rule] = _make_rule(
    rf"\*\.{_LABEL}(\.{_LABEL})*",
    253,
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS "
    "subdomain, which must consist of lower case alphanumeric characters, '-' or '.' "
    "and end with an alphanumeric character",
    "*.example.com",
)
# A part of a host name that may begin with an underscore (Go:
# validation.IsDNS1123SubdomainWithUnderscore).
subdomain_with_underscores: Final[Rule] = _make_rule(
    r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*",
    253,
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "
    "characters, '_', '-' or '.', and must start and end with an alphanumeric "
    "character",
    "example.com",
)
# The key of a ConfigMap or a Secret (Go: validation.IsConfigMapKey).
_config_key: Final[Rule] = _make_rule(
    "[-._a-zA-Z0-9]+",
    253,
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    "key.name",
    "KEY_NAME",
    "key-name",
)
# Go: content.IsLabelKey, the part after the slash.
_unprefixed_key: Final[Rule] = _make_rule(
    r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]",
    63,
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character",
    "MyName",
    "my.name",
    "123-abc",
    unit="bytes",
)
# The value of a label, which may be empty (Go: content.IsLabelValue).
label_value: Final[Rule] = _make_rule(
    r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?",
    63,
    "a valid label must be an empty string or consist of alphanumeric characters, "
    "'-', '_' or '.', and must start and end with an alphanumeric character",
    "MyValue",
    "my_value",
    "12345",
    unit="bytes",
)
_EMPTY: Final = "must be non-empty"
# Of a label: a subdomain, a slash and a name.
_LONGEST_KEY: Final = 253 + 1 + 63


def path_segment(text: str) -> str:
    """Check that a name can be a segment of a URL path.

    Go: k8s.io/apimachinery/pkg/api/validation/path.IsValidPathSegmentName.
    """
    if text in {".", ".."}:
        return f"may not be '{text}'"
    for character in "/%":
        if character in text:
            return f"may not contain '{character}'"
    return ""


def config_key(text: str) -> str:
    """Check the key of a ConfigMap or a Secret (Go: validation.IsConfigMapKey)."""
    if text == ".":
        return "must not be '.'"
    if text == "..":
        return "must not be '..'"
    if text.startswith(".."):
        return "must not start with '..'"
    return _config_key(text)


def label_key_problems(text: str) -> tuple[str, ...]:
    """Return all that is wrong with the key of a label (Go: content.IsLabelKey).

    It is a name, or a DNS subdomain, a slash and a name. Without a slash the key is
    private to its user; with one, the prefix is a domain.
    """
    return _PROBLEMS_OF_KEYS[text]


def _label_key_problems(text: str) -> tuple[str, ...]:
    parts = text.split("/")
    if len(parts) > 2:  # noqa: PLR2004  # a prefix and a name
        detail = _unprefixed_key("/")
        prefix = "with an optional DNS subdomain prefix and '/'"
        return (f"a valid label key {detail} {prefix} (e.g. 'example.com/MyName')",)
    problems: list[str] = []
    if len(parts) > 1:
        prefix = parts[0]
        problem = subdomain(prefix) if prefix else _EMPTY
        if problem:
            problems.append(f"prefix part {problem}")
    name = parts[-1]
    if not name:
        problems.append(f"name part {_EMPTY}")
    problem = _unprefixed_key(name)
    if problem:
        problems.append(f"name part {problem}")
    return tuple(problems)


# All objects have the same few keys.
_PROBLEMS_OF_KEYS: Final[TextCache[tuple[str, ...]]] = TextCache(
    _label_key_problems, longest=_LONGEST_KEY
)


def label_key(text: str) -> str:
    """Check the key of a label; see ``label_key_problems``."""
    problems = label_key_problems(text)
    return problems[0] if problems else ""


def annotation_key(text: str) -> str:
    """Check the key of an annotation: that of a label, but case does not matter.

    Go: k8s.io/apimachinery/pkg/api/validation.ValidateAnnotations lowers it first.
    """
    return label_key(text.lower())


def annotations_size(annotations: JSONObject) -> int:
    """Return how many bytes the keys and values of annotations are.

    Go: ValidateAnnotationsSize. More than MAX_ANNOTATIONS are not stored.
    """
    size = 0
    for key, value in annotations.items():
        for text in (key, as_text(value)):
            size += len(text.encode(errors="surrogatepass"))
    return size


# Rules of single kinds, by group and kind; any other name is a subdomain. Roles and
# their bindings have names such as "system:node", which only need to be path segments.
_RULES_OF_GROUP: Final[dict[str, Rule]] = {"rbac.authorization.k8s.io": path_segment}
_RULES: Final[dict[tuple[str, str], Rule]] = {
    # A namespace and a service are parts of the host name SERVICE.NAMESPACE.svc; that
    # of a service may begin with a digit since 1.36 (KEP-5311).
    # Go: legacyValidateEvent does not look at the metadata.
    ("", "Event"): path_segment,
    ("", "Namespace"): label,
    ("", "Service"): label,
    # The pods of a stateful set get host names that begin with its name.
    ("apps", "StatefulSet"): label,
    # Go: ValidateCertificateRequestName, which has no rule.
    ("certificates.k8s.io", "CertificateSigningRequest"): path_segment,
    # "SIGNER:NAME" and an IPv6 address have colons, so they are no subdomains.
    ("certificates.k8s.io", "ClusterTrustBundle"): path_segment,
    ("networking.k8s.io", "IPAddress"): path_segment,
    # Go: ValidatePodDisruptionBudget does not look at the metadata.
    ("policy", "PodDisruptionBudget"): path_segment,
}


def name_problem(name: str, group: str, kind: str) -> str:
    """Return what is wrong with the name of an object of a kind, or ""."""
    rule = _RULES_OF_GROUP.get(group) or _RULES.get((group, kind), subdomain)
    return rule(name)


def prefix_problem(prefix: str, group: str, kind: str) -> str:
    """Return what is wrong with a generateName, or "".

    It may end with a dash, for characters follow (Go: maskTrailingDash).
    """
    if len(prefix) > 1 and prefix.endswith("-"):
        prefix = f"{prefix[:-2]}a"
    return name_problem(prefix, group, kind)
