"""Schemas generated from Go sources that a test writes."""

from __future__ import annotations

import pytest

from smp._values.values import JSONObject
from smp.errors import DocumentError
from smp.schema.sources.golang import generate

PROFILES = ["kep2019", "smd", "kep1027-draft", "kep1027", "validate-only", "off"]
META = 'import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"\n'
MODE = """
// +enum
type Mode string
const (
	ModeA Mode = "A"
	ModeB Mode = "B"
	ModeNone Mode = ""
)
"""


def schemas(
    source: str, profile: str = "kep1027", version: int = 3
) -> dict[str, JSONObject]:
    """Generate from one file of package p."""
    return schemas_of_files({"p.go": f"package p\n{source}"}, profile, version)


def schemas_of_files(
    sources: dict[str, str], profile: str = "kep1027", version: int = 3
) -> dict[str, JSONObject]:
    """Generate from several files, by path."""
    document = generate(sources, profile=profile, version=version)
    components = (
        document["components"] if version == 3 else {"schemas": document["definitions"]}
    )
    assert isinstance(components, dict)
    found = components["schemas"]
    assert isinstance(found, dict)
    return {name: schema for name, schema in found.items() if isinstance(schema, dict)}


def properties(source: str, profile: str = "kep1027", version: int = 3) -> JSONObject:
    """Generate from one file of package p; return the properties of its struct T."""
    found = schemas(source, profile, version)["p.T"].get("properties", {})
    assert isinstance(found, dict)
    return found


def problem(source: str, profile: str = "kep1027") -> DocumentError:
    """Return the error that one file of package p raises."""
    with pytest.raises(DocumentError) as caught:
        schemas(source, profile)
    return caught.value
