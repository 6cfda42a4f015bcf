"""The layouts that outcomes are printed in, one object after the other."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from smp._values.values import JSON
from smp.cli._inputs import Inputs
from smp.cli._object_outcomes import ObjectOutcome, request_record
from smp.cli._options import CommandSettings
from smp.cli._outputs import YAML_SEPARATORS, yaml_text
from smp.cli._report import reader_layout
from smp.documents import dump_json
from smp.reports import Layout


def layout_of(
    settings: CommandSettings, inputs: Inputs, title: str, *, only_changed: bool = False
) -> Layout[ObjectOutcome] | None:
    """Return the layout that is the same for patches and for objects; None for others.

    It is for a reader, or a report with causes. ``only_changed`` leaves out the objects
    of which a reader is told nothing else than that they do not change.
    """
    if settings.quiet:
        return Layout(lambda _outcome: "")
    if settings.explains and settings.report_format is not None:
        from smp.cli import _reports  # noqa: PLC0415  # 20 ms of what smp patch needs not

        return _reports.layout_of_causes(settings.report_format, inputs, title)
    if settings.is_for_a_reader:
        return reader_layout(settings, only_changed=only_changed)
    return None


def patch_layout(
    settings: CommandSettings, inputs: Inputs, title: str
) -> Layout[ObjectOutcome]:
    """Return the layout for a command whose result are patches."""
    layout = layout_of(settings, inputs, title, only_changed=True)
    return layout or _patch_layout(settings.output)


def _patch_layout(output: str) -> Layout[ObjectOutcome]:
    """Return the layout of a patch: ``patch``, ``kyaml``, ``json``, ``jsonpatch``."""
    match output:
        case "patch" | "kyaml":
            form = "yaml" if output == "patch" else output
            return Layout(partial(_yaml_patch, form), separator=YAML_SEPARATORS[form])
        case "json":
            return Layout(lambda outcome: dump_json(outcome.patch) + "\n")
        case _:
            return Layout(lambda outcome: dump_json(outcome.operations) + "\n")


def object_layout(
    settings: CommandSettings, inputs: Inputs, title: str
) -> Layout[ObjectOutcome]:
    """Return the layout for a command whose result are objects."""
    layout = layout_of(settings, inputs, title)
    if layout is not None:
        return layout
    match settings.output:
        case "yaml" | "kyaml" as output:
            return Layout(
                _unless_removed(lambda value: yaml_text("", value, output)),
                separator=YAML_SEPARATORS[output],
            )
        case "json":
            return Layout(_unless_removed(lambda value: dump_json(value) + "\n"))
        case "requests":
            return _REQUESTS
        case output:
            return _patch_layout(output)


def _unless_removed(text_of: Callable[[JSON], str]) -> Callable[[ObjectOutcome], str]:
    """Make what prints the object of an outcome; none where there is none any more."""
    return lambda outcome: "" if outcome.removes else text_of(outcome.after)


def _yaml_patch(output: str, outcome: ObjectOutcome) -> str:
    # The text of an empty patch would be {}, with a comment that names the object.
    if not outcome.is_patched:
        return ""
    suffix = ""
    if outcome.creates:
        suffix = " (to be created)"
    elif outcome.removes:
        suffix = " (removed)"
    elif outcome.has_other_form:
        suffix = f" ({outcome.media_type}: {outcome.reason})"
    return yaml_text(f"{outcome.label}{suffix}", outcome.patch, output)


_REQUESTS: Final[Layout[ObjectOutcome]] = Layout(
    lambda outcome: ",\n".join(
        dump_json(request_record(each)) for each in outcome.requests
    ),
    "[\n",
    ",\n",
    "\n]\n",
    empty="[]\n",
)
