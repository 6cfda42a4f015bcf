"""Paths and values as structured-merge-diff prints them in its messages."""

from __future__ import annotations

from smp._values import codec
from smp._values.values import JSON, NotPlainError, number_text
from smp.paths import Element, Path, SetElement, Step


def path_text(path: Path) -> str:
    """Print a path: ``.spec.containers[name="app"].image`` (Go: fieldpath.Path)."""
    return "".join([step_text(step) for step in path.steps])


def step_text(step: Step) -> str:
    """Print a step of a path (Go: fieldpath.PathElement.String)."""
    if isinstance(step, str):
        return f".{step}"
    if isinstance(step, int):
        return f"[{step}]"
    if isinstance(step, SetElement):
        return f"[={value_text(step.value)}]"
    if isinstance(step, Element):
        return f"[{step.merge_key}={value_text(step.value)}]"
    keys = [f"{name}={value_text(value)}" for name, value in step.keys]
    return f"[{','.join(keys)}]"


def value_text(value: JSON) -> str:
    """Print a value in a path (Go: value.ToString)."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return codec.encode(value).decode()
    if isinstance(value, list):
        return f"[{','.join([value_text(element) for element in value])}]"
    if isinstance(value, dict):
        return "".join([f"{n}={value_text(value[n])}" for n in sorted(value)])
    return _number(value)


def kind_text(api_version: str, kind: str) -> str:
    """Print a kind: ``/v1, Kind=Pod`` (Go: schema.GroupVersionKind.String)."""
    group, _, version = api_version.rpartition("/")
    # Go: FromAPIVersionAndKind, where a second slash leaves all of them empty.
    if "/" in group:
        group, version, kind = "", "", ""
    return f"{group}/{version}, Kind={kind}"


def plain_text(value: JSON) -> str:
    """Print a value as Go's ``%v`` does: ``map[a:1 b:[x y]]``."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return f"[{' '.join([plain_text(element) for element in value])}]"
    if isinstance(value, dict):
        members = [f"{name}:{plain_text(value[name])}" for name in sorted(value)]
        return f"map[{' '.join(members)}]"
    return _number(value)


def syntax_text(value: JSON) -> str:
    """Print a value as Go's ``%#v`` does, as it is written in a Go program."""
    if value is None:
        return "interface {}(nil)"
    if isinstance(value, list):
        elements = [syntax_text(element) for element in value]
        return f"[]interface {{}}{{{', '.join(elements)}}}"
    if isinstance(value, dict):
        members = [
            f"{value_text(name)}:{syntax_text(value[name])}" for name in sorted(value)
        ]
        return f"map[string]interface {{}}{{{', '.join(members)}}}"
    return value_text(value)


def type_text(value: JSON) -> str:
    """Print the type of a value as Go's ``%T`` does."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, int):
        return "int64"
    if isinstance(value, float):
        return "float64"
    if isinstance(value, list):
        return "[]interface {}"
    return "map[string]interface {}"


def _number(value: JSON) -> str:
    if isinstance(value, int):
        return number_text(value)
    if not isinstance(value, float):
        raise NotPlainError
    # Go: %v prints a double as %g does, with the shortest digits.
    return repr(value).removesuffix(".0")
