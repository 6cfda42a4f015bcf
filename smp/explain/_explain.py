"""The causes of all paths at which the objects of an apply differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from smp._values.last_applied import INPUTS, ApplyInputs
from smp._values.plain import over_json
from smp._values.sharing import share_object
from smp._values.values import check_depth
from smp.explain._causes import Cause
from smp.explain._explanation import Explanation
from smp.explain._ways import Ways
from smp.hazards import Policy
from smp.paths import Path, sort_by_path
from smp.schema.model import Schema, UnknownFields
from smp.three_way import ThreeWayOptions, apply_inputs


@over_json("the object", *INPUTS, deciding=INPUTS)
def explain_apply(  # noqa: PLR0913  # those of three_way_apply
    last_applied: Mapping[str, Any] | None,
    modified: Mapping[str, Any],
    live: Mapping[str, Any],
    schema: Schema,
    *,
    profile: str = "kep1027",
    overwrite: bool = True,
    unknown_fields: UnknownFields = "error",
    defaults: bool = False,
    hazards: Policy = "warn",
    shows: Callable[[Path, str], bool] | None = None,
) -> tuple[Cause, ...]:
    """Explain what a three-way apply does to each field, and what it does not.

    The arguments are those of three_way_apply: with ``hazards="repair"`` it is the
    repaired apply that is explained, and remedies are those of one. There is one cause
    for each path at which the last-applied configuration, the manifest (``modified``),
    the live object and the result differ, in the order of the paths; where only one of
    them has a value, the path is that of the whole value. ``shows`` tells of a path and
    a code whether the cause is wanted: what is not takes no time. Raises what
    three_way_apply raises.
    """
    inputs = ApplyInputs.of(last_applied, modified, live)
    base, manifest = inputs.last_applied, inputs.manifest
    for each in (base, manifest, inputs.live):
        check_depth(each)
    # What is equal becomes the same object, so that each proof of a remedy looks at
    # what differs only. (Not of live: what is the same there did not change, and is not
    # judged.)
    if base is not None:
        inputs = ApplyInputs(share_object(base, manifest), manifest, inputs.live)
    options = ThreeWayOptions(
        profile,
        overwrite,
        unknown_fields=unknown_fields,
        defaults=defaults,
        hazards=hazards,
    )
    result = apply_inputs(inputs, schema, options)
    is_clean = not result.unmet and not result.violations
    ways = Ways(inputs, schema, options, is_clean=is_clean)
    explanation = Explanation(ways, result, shows)
    explanation.explain()
    return sort_by_path(explanation.causes)
