"""The rules that the table names, by name."""

from __future__ import annotations

from typing import Final

from smp.validation import (
    _content_checks,
    _job_checks,
    _metadata_checks,
    _network_checks,
    _pod_checks,
    _quantity_checks,
    _selector_checks,
    _value_checks,
)
from smp.validation._judged import Checks

CHECKS: Final[Checks] = {
    **_content_checks.CHECKS,
    **_job_checks.CHECKS,
    **_metadata_checks.CHECKS,
    **_network_checks.CHECKS,
    **_pod_checks.CHECKS,
    **_quantity_checks.CHECKS,
    **_selector_checks.CHECKS,
    **_value_checks.CHECKS,
}
# The rules that judge a value that is absent; the others find nothing wrong with it.
JUDGE_ABSENT: Final = frozenset(
    {
        "any-of",
        "api-group",
        "cluster-ips",
        "expression-values",
        "ingress-path",
        "missing",
        "operator",
        "pem",
        "required",
        "required-any",
        "required-capacity",
        "required-quantity",
        "selects",
        "wrong",
    }
)
