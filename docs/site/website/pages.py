"""The pages of the reference, in Markdown, from the tables of the code."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Final

from smp._values.findings import Meaning
from smp.errors import SmpError
from smp.explain import CAUSES
from smp.hazards import HAZARDS
from smp.lint import LINT
from smp.unions import MANY, PROFILES, Rule
from smp.violations import VIOLATIONS
from website.codes import error_classes, places_by_code

# The names of the library by what they are for. A test compares them with __all__.
PYTHON: Final[Mapping[str, tuple[str, ...]]] = {
    "Patches": (
        "smp.three_way_apply",
        "smp.ApplyResult",
        "smp.ApplyWarning",
        "smp.three_way_patch",
        "smp.two_way_patch",
        "smp.apply_patch",
        "smp.compose_patches",
        "smp.find_conflicts",
        "smp.Conflict",
    ),
    "Causes and hazards": (
        "smp.Finding",
        "smp.explain_apply",
        "smp.Cause",
        "smp.find_hazards",
        "smp.Hazard",
        "smp.compare",
        "smp.Comparison",
    ),
    "Schemas": (
        "smp.kubernetes",
        "smp.versions",
        "smp.Catalog",
        "smp.Schema",
        "smp.bundled_overlay",
        "smp.without_enums",
    ),
    "Unions, enums, defaults": (
        "smp.normalize_unions",
        "smp.Normalization",
        "smp.Change",
        "smp.validate_unions",
        "smp.validate_enums",
        "smp.Violation",
        "smp.with_defaults",
    ),
    "Server-side apply": (
        "smp.server_side_apply",
        "smp.ServerSideApplyResult",
        "smp.ApplyConflict",
    ),
    "Values": (
        "smp.as_object",
        "smp.Path",
        "smp.ABSENT",
        "smp.last_applied_configuration",
        "smp.with_last_applied",
    ),
    "Errors": (
        "smp.SmpError",
        "smp.ApplyConflictError",
        "smp.CompositionError",
        "smp.ConflictError",
        "smp.DepthError",
        "smp.DocumentError",
        "smp.HazardError",
        "smp.ObjectError",
        "smp.PatchError",
        "smp.PreconditionError",
        "smp.SchemaError",
        "smp.UnionConflictError",
        "smp.UnionError",
        "smp.UnknownFieldError",
        "smp.UnknownKindError",
    ),
}
# Modules with names of their own, and what a page of the guides says of each.
MODULES: Final[Mapping[str, str]] = {
    "smp.wire": "../performance.md",
    "smp.merge_patch": "../concepts.md",
    "smp.json_patch": "../concepts.md",
    "smp.comparison": "../comparison.md",
    "smp.custom_resources": "../accepted.md",
    "smp.documents": "../concepts.md",
    "smp.fleet": "../fleet.md",
    "smp.lint": "../lint.md",
    "smp.reports": "../reports.md",
    "smp.managed_fields": "../server_side_apply.md",
    "smp.handler": "../handler.md",
    "smp.cluster": "../cluster.md",
    "smp.testing": "../testing.md",
}


_PYTHON_HEAD: Final = """\
# Python

What `import smp` offers, and the modules with names of their own. Arguments are never
changed; every error is a `SmpError` ([Errors by code](errors.md)).
"""
_ERRORS_HEAD: Final = """\
# Errors by code

Every error of the library is a `SmpError` with a `code`, which is stable, a `path`, a
`hint` and the HTTP `status` that a server should answer. Below are the words of each
code as they stand in the source, with … for values. What an API server would refuse is
no error but data: [Violations](findings.md#violations).

## Classes

| class | its own code | status | is |
|---|---|---|---|
"""
_FINDINGS_HEAD: Final = """\
# Findings by code

What `smp lint`, `smp explain` and `smp.find_hazards` find in texts and objects, and
what an API server would refuse. Codes are stable. Braces stand for values.
"""
_VIOLATIONS_HEAD: Final = """
## Violations

What an API server would refuse: `violations` of the result of an apply, of
`smp.validate_unions` and `smp.validate_enums`, and the causes of a Status that
[the handler](../handler.md) and [the server](../serve.md) answer. The message of each
has the words of the server, and names the value and what may stand there.

| code | means | remedy | source |
|---|---|---|---|
"""
_HAZARDS_HEAD: Final = """
## Hazards

What may do harm in the inputs of an apply: [Hazards](../hazards.md).
"""
_LINT_HEAD: Final = """
## Lint

What is wrong with a manifest, a patch or a live object: [Lint](../lint.md). It finds
the hazards of one text as well.
"""
_CAUSES_HEAD: Final = """
## Causes

Why a field is what it is after an apply:
[Why did my field (not) change?](../causes.md)

| code | says | source |
|---|---|---|
"""
_PROFILES_HEAD: Final = """\
# Union profiles

A profile says what becomes of a union when an object is written. The first rule whose
conditions hold decides; where none holds nothing is done. Where the profiles come from:
[Unions](../unions.md#profiles).
"""
# What each condition of a rule says, where it has to hold and where it must not.
_FACTS: Final[Mapping[str, tuple[str, str]]] = {
    "discriminated": ("it has a discriminator", "it has no discriminator"),
    "required": ("the discriminator is required", "the discriminator is optional"),
    "fresh": ("the object is new", "the object is not new"),
    "changed": ("the discriminator changed", "the discriminator did not change"),
    "chosen": (
        "the discriminator changed, and is not empty",
        "the discriminator did not change, or is empty",
    ),
    "mismatch": (
        "the only added member is not the selected one",
        "the only added member is the selected one, or not one was added",
    ),
    "selected_is_set": (
        "the selected member is set",
        "the selected member is not set",
    ),
}


def all_pages() -> dict[str, str]:
    """Return all generated pages by their paths."""
    pages = {
        "reference/python.md": python_page(),
        "reference/errors.md": errors_page(),
        "reference/findings.md": findings_page(),
        "reference/profiles.md": profiles_page(),
    }
    for module in MODULES:
        name = module.removeprefix("smp.")
        pages[f"reference/{name}.md"] = module_page(module)
    return pages


def python_page() -> str:
    """Return the reference of the library; mkdocstrings puts the docstrings in."""
    lines = [_PYTHON_HEAD]
    for title, names in PYTHON.items():
        lines.append(f"## {title}\n")
        lines += [f"::: {name}\n" for name in names]
    lines.append("## Modules\n")
    for module in MODULES:
        lines.append(f"- [`{module}`]({module.removeprefix('smp.')}.md)")
    return _page(lines)


def module_page(module: str) -> str:
    """Return the reference of a module with names of its own."""
    imported = import_module(module)
    if hasattr(imported, "__all__"):
        names = list(imported.__all__)
    else:
        names = [
            name
            for name, value in vars(imported).items()
            if getattr(value, "__module__", "") == module and name[0] != "_"
        ]
    guide = MODULES[module]
    lines = [f"# {module}\n", f"A guide to it: [{Path(guide).name}]({guide}).\n"]
    lines += [f"::: {module}.{name}\n" for name in names]
    return _page(lines)


def errors_page() -> str:
    """Return all codes of errors: by which class, with which words and advice."""
    classes = error_classes()
    public = {name: classes[name] for name in sorted(classes) if name[0] != "_"}
    rows = []
    for name, found in public.items():
        rows.append(
            f"| `{name}`<br>`{found.__module__}` | `{found.default_code}` |"
            f" {found.status} | {_escaped(_summary(found))} |"
        )
    lines = [_ERRORS_HEAD + "\n".join(rows), "\n## Codes\n"]
    for code, places in places_by_code(classes).items():
        lines.append(f"### {code}\n")
        for name, found in public.items():
            if found.default_code == code:
                lines.append(f"- `{name}`: {_escaped(_summary(found))}")
        for place in places:
            words = f"- `{place.error}`"
            if place.problem:
                words += f": “{_escaped(place.problem)}”"
            if place.hint:
                words += f" ({_escaped(place.hint)})"
            lines.append(words)
        lines.append("")
    return _page(lines)


def findings_page() -> str:
    """Return the codes of hazards, of lint, of violations and of causes."""
    violations = []
    for code, meaning in VIOLATIONS.items():
        texts = (meaning.sentence, meaning.remedy, meaning.source)
        cells = " | ".join(_escaped(text) for text in texts)
        violations.append(f"| `{code}` | {cells} |")
    rows = []
    for code, reason in CAUSES.items():
        sentence = _escaped(reason.sentence)
        rows.append(f"| `{code}` | {sentence} | {_escaped(reason.source)} |")
    parts = [
        *(_FINDINGS_HEAD, _HAZARDS_HEAD, *_descriptions(HAZARDS)),
        *(_LINT_HEAD, *_descriptions(LINT)),
        _VIOLATIONS_HEAD + "\n".join(violations),
    ]
    return _page([*parts, _CAUSES_HEAD + "\n".join(rows)])


def profiles_page() -> str:
    """Return the decision tables of the union profiles."""
    lines = [_PROFILES_HEAD]
    for name, profile in PROFILES.items():
        lines.append(f"\n## {name}\n")
        if not profile.rules:
            lines.append("It clears and sets nothing.")
            continue
        lines += ["| rule | when | then |", "|---|---|---|"]
        for rule in profile.rules:
            then = rule.action.value
            if rule.reason:
                then += f": {rule.reason}"
            lines.append(f"| {rule.name} | {'<br>'.join(_conditions(rule))} | {then} |")
    return _page(lines)


def _page(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


def _summary(error_class: type[SmpError]) -> str:
    return (error_class.__doc__ or "").partition("\n\n")[0]


def _descriptions(table: Mapping[str, Meaning]) -> Iterator[str]:
    """Yield the lines of a table of codes, as hazards and lint have them."""
    yield "| code | severity | says | remedy | source |"
    yield "|---|---|---|---|---|"
    for code, found in table.items():
        texts = (found.sentence, found.remedy, found.source)
        cells = " | ".join(_escaped(text) for text in texts)
        yield f"| `{code}` | {found.severity} | {cells} |"


def _conditions(rule: Rule) -> list[str]:
    """Return the conditions of a rule as sentences; it always holds without any."""
    conditions = []
    for name, (holds, fails) in _FACTS.items():
        wanted = getattr(rule, name)
        if wanted is not None:
            conditions.append(holds if wanted else fails)
    if rule.selects is not None:
        choices = " or ".join(sorted(choice.value for choice in rule.selects))
        conditions.append(f"the discriminator selects: {choices}")
    for what, (fewest, most) in (("set", rule.members), ("added", rule.added)):
        if (fewest, most) == (0, MANY):
            continue
        count = f"{fewest} or more" if most == MANY else str(fewest)
        conditions.append(f"members that are {what}: {count}")
    return conditions or ["always"]


def _escaped(text: str) -> str:
    """Return a text that Markdown shows as it is, on one line."""
    shown = html.escape(" ".join(text.split()), quote=False)
    return re.sub(r"([\\\[\]|*_`{}])", r"\\\1", shown)
