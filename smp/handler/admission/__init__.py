"""Admission: which requests policies and webhooks concern, and what policies say.

``find_match`` is what rules and selectors mean, for both. ``read_policies`` takes the
ValidatingAdmissionPolicies and MutatingAdmissionPolicies of any objects with their
bindings. ``judge`` evaluates the first; ``MutatingPolicies`` has the second as
mutators, which ``mutate`` calls in the order of a server, with webhooks beside them.
Expressions need the extra ``cel``. What cannot be known, because it takes an authorizer
or a namespace that is not at hand, is said in ``Verdict.unknown``: it is neither passed
nor refused. ``ManifestPolicies`` is all of it for a manifest.

Nothing is read or called here: ``smp.server.admission`` does that for a server.
"""

from __future__ import annotations

from smp.handler.admission._manifests import ManifestPolicies
from smp.handler.admission._matching import (
    Criteria,
    ReviewedResource,
    ReviewRequest,
    UnknownInputError,
    find_match,
)
from smp.handler.admission._mutating import MutatingPolicies, Mutator, mutate
from smp.handler.admission._policies import (
    Evaluation,
    Policies,
    Policy,
    find_condition_problem,
    read_policies,
)
from smp.handler.admission._validating import DeniedError, Verdict, deny, judge

__all__ = [
    "Criteria",
    "DeniedError",
    "Evaluation",
    "ManifestPolicies",
    "MutatingPolicies",
    "Mutator",
    "Policies",
    "Policy",
    "ReviewRequest",
    "ReviewedResource",
    "UnknownInputError",
    "Verdict",
    "deny",
    "find_condition_problem",
    "find_match",
    "judge",
    "mutate",
    "read_policies",
]
