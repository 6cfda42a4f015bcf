"""What objects may be called: the rules for names, labels and namespaces.

Source: the Kubernetes documentation, "Object Names and IDs" and "Labels and Selectors".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeAlias

Rule: TypeAlias = Callable[[str], str]

_LABEL: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_WORD: Final = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"


def name_problem(name: str, group: str, plural: str) -> str:
    """Say what is wrong with the name of an object of a resource; nothing is the empty
    string.
    """
    rule = _RULES_OF_GROUP.get(group) or _RULES.get((group, plural), subdomain)
    return rule(name)


def _matching(pattern: str, longest: int, detail: str) -> Rule:
    compiled = re.compile(pattern)

    def check(text: str) -> str:
        if len(text) > longest:
            return f"must be no more than {longest} characters"
        return "" if compiled.fullmatch(text) else detail

    return check


def path_segment(text: str) -> str:
    """Check that a name can stand in a path."""
    return (
        "may not be '.' or '..', nor contain '/' or '%'"
        if text in {".", ".."} or {*text} & {*"/%"}
        else ""
    )


subdomain: Final = _matching(
    rf"{_LABEL}(\.{_LABEL})*",
    253,
    "must be lower case letters, digits, '-' and '.', and begin and end with a letter or a digit (RFC 1123 subdomain)",
)
label: Final = _matching(
    _LABEL,
    63,
    "must be lower case letters, digits and '-', and begin and end with a letter or a digit (RFC 1123 label)",
)
rfc1035_label: Final = _matching(
    r"[a-z]([-a-z0-9]*[a-z0-9])?",
    63,
    "must be lower case letters, digits and '-', begin with a letter and end with no '-' (RFC 1035 label)",
)
_word: Final = _matching(
    _WORD,
    63,
    "must be letters, digits, '-', '_' and '.', and begin and end with a letter or a digit",
)


def label_value(text: str) -> str:
    """Check the value of a label, which may be empty."""
    return _word(text) if text else ""


def label_key(text: str) -> str:
    """Check the key of a label: a name, or a DNS subdomain, a slash and a name."""
    prefix, slash, name = text.rpartition("/")
    return (subdomain(prefix) if slash else "") or _word(name)


def annotation_key(text: str) -> str:
    """Check the key of an annotation: that of a label, in upper or lower case."""
    return label_key(text.lower())


def anything(text: str) -> str:
    """Check nothing."""
    return ""


_RULES_OF_GROUP: Final[dict[str, Rule]] = {"rbac.authorization.k8s.io": path_segment}
_RULES: Final[dict[tuple[str, str], Rule]] = {
    ("", "namespaces"): label,
    ("", "services"): rfc1035_label,
    ("apps", "statefulsets"): label,
    ("certificates.k8s.io", "clustertrustbundles"): path_segment,
    ("networking.k8s.io", "ipaddresses"): path_segment,
}
