"""PATCH, PUT and POST of Kubernetes objects as pure functions, for any API server.

``patch`` takes the stored object, the body of a request, its media type and a schema,
and says what to store or what to answer: ``Accepted`` or ``Refused``. Whatever a client
sends leads to one of them; nothing is read, written or changed in place.
``smp.handler.asgi`` has an endpoint for ASGI frameworks.
"""

from __future__ import annotations

from smp.handler._field_managers import manager_of
from smp.handler._identity import word_wrong_name as word_wrong_name
from smp.handler._options import (
    APPLY,
    JSON_PATCH,
    MERGE,
    NORMALIZING_SERVER,
    STOCK_SERVER,
    STRATEGIC,
    Admission,
    FieldValidation,
    Limits,
    Options,
    requested,
)
from smp.handler._retries import aretry, retry
from smp.handler._status import (
    Accepted,
    AlreadyExistsError,
    AnsweredError,
    ForbiddenError,
    InternalFailureError,
    InvalidError,
    InvalidOptionsError,
    MethodNotAllowedError,
    ModifiedError,
    NotFoundError,
    NotTypedError,
    Outcome,
    Refused,
    StatusError,
    TooLargeError,
    UnclassifiedError,
    UnsupportedMediaTypeError,
    to_status,
    warning_headers,
)
from smp.handler._verbs import create, patch, replace

__all__ = [
    "APPLY",
    "JSON_PATCH",
    "MERGE",
    "NORMALIZING_SERVER",
    "STOCK_SERVER",
    "STRATEGIC",
    "Accepted",
    "Admission",
    "AlreadyExistsError",
    "AnsweredError",
    "FieldValidation",
    "ForbiddenError",
    "InternalFailureError",
    "InvalidError",
    "InvalidOptionsError",
    "Limits",
    "MethodNotAllowedError",
    "ModifiedError",
    "NotFoundError",
    "NotTypedError",
    "Options",
    "Outcome",
    "Refused",
    "StatusError",
    "TooLargeError",
    "UnclassifiedError",
    "UnsupportedMediaTypeError",
    "aretry",
    "create",
    "manager_of",
    "patch",
    "replace",
    "requested",
    "retry",
    "to_status",
    "warning_headers",
]
