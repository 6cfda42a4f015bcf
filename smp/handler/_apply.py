"""What the configuration of a server-side apply makes of the stored object.

Go: k8s.io/apiserver, endpoints/handlers/patch.go, applyPatcher; and what is said there
about a configuration before it is merged: k8s.io/apimachinery, util/managedfields.
"""

from __future__ import annotations

from typing import Final

from smp._storage.typed_storage import rewriting_paths
from smp._values.api_objects import is_stated, metadata_of
from smp._values.values import JSONObject
from smp.documents import read_first
from smp.errors import DocumentError, ObjectError, bounded
from smp.handler._body import check_depth
from smp.handler._field_managers import manager_problems
from smp.handler._identity import VERSION_REQUIRED, word_wrong_name
from smp.handler._options import MANAGER, MANAGER_REQUIRED
from smp.handler._request import Draft, ObjectRequest
from smp.handler._status import (
    InvalidError,
    InvalidOptionsError,
    ModifiedError,
    NotTypedError,
    StatusError,
    TooLargeError,
    VersionRequiredError,
)
from smp.managed_fields import ServerSideApplyResult, server_side_apply

# Go: encoding/json, UnmarshalTypeError.
_GO_TYPES: Final = {bool: "bool", float: "number", int: "number", list: "array"}
# How a server answers a configuration that it does not apply (Go: versionCheckManager,
# structuredMergeManager.Apply).
_ANSWERS: Final[dict[str, type[StatusError]]] = {
    "invalid-applied": NotTypedError,
    "invalid-managed-fields": NotTypedError,
    "managed-fields-applied": StatusError,
    "not-convertible": NotTypedError,
    "other-kind-applied": StatusError,
}


@bounded("the object")
def read_configuration(request: ObjectRequest) -> tuple[JSONObject, tuple[str, ...]]:
    """Read a body, in YAML or JSON: the object, and the keys that it has twice.

    Raises InvalidOptionsError without a field manager, TooLargeError, DepthError and
    StatusError.
    """
    limits, manager = request.options.limits, request.options.manager or ""
    problems = [*manager_problems(manager, MANAGER)]
    if not manager:
        problems.append(MANAGER_REQUIRED)
    if problems:
        raise InvalidOptionsError(problems, "PatchOptions")
    if len(request.body) > limits.body:
        raise TooLargeError(f"limit is {limits.body}")
    try:
        document = read_first(request.body)
    except DocumentError as error:
        raise StatusError(
            f"error decoding YAML: error converting YAML to JSON: yaml: {error.problem}"
        ) from None
    value = document.value
    # In Go null leaves the empty object that is decoded into as it is.
    if value is None:
        value = {}
    if not isinstance(value, dict):
        type_ = _GO_TYPES.get(type(value), "string")
        raise StatusError(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json:"
            f" cannot unmarshal {type_} into Go value of type map[string]interface {{}}"
        )
    check_depth(value, limits)
    return value, document.duplicates


def _merge(
    request: ObjectRequest, stored: JSONObject | None, configuration: JSONObject
) -> ServerSideApplyResult:
    """Carry out the apply, with the errors that a server answers."""
    options = request.options
    try:
        return server_side_apply(
            stored,
            configuration,
            request.schema,
            manager=options.manager or "",
            force=bool(options.force),
            subresource=options.subresource,
            serving=options.serving,
            profile=options.profile,
        )
    except ObjectError as error:
        if error.code == "modified":
            raise ModifiedError(error.problem) from None
        answer = _ANSWERS.get(error.code)
        if answer is None:
            raise
        raise answer(error.problem, code=error.code) from None


@bounded("the object")
def apply(
    request: ObjectRequest,
    stored: JSONObject | None,
    configuration: JSONObject,
    duplicates: tuple[str, ...],
) -> Draft:
    """Apply a configuration to a stored object, or create one from it.

    Raises ApplyConflictError, NotTypedError, StatusError, ModifiedError, and what the
    engine raises.
    """
    options = request.options
    result = _merge(request, stored, configuration)
    # The merged object has a null there, and the one that is judged has not.
    emptied = [each for each in result.violations if each.code == "wrong-type"]
    if emptied:
        raise InvalidError(emptied)
    # Go: only after the apply, whose errors come first.
    if duplicates and options.field_validation == "Strict":
        lines = "".join([f"\n  {duplicate}" for duplicate in duplicates])
        raise StatusError(
            "error strict decoding YAML: error converting YAML to JSON: yaml:"
            f" unmarshal errors:{lines}",
            code="strict-decoding",
        )
    # An empty name is merged, and then it is not that of the URL; without a name the
    # stored one stays (Go: endpoints/handlers/rest.go, checkName).
    if stored is not None and metadata_of(configuration).get("name") == "":
        raise StatusError(word_wrong_name("", metadata_of(stored).get("name")))
    # A resourceVersion that is written, and is none, is merged as well.
    applied, name = metadata_of(configuration), "resourceVersion"
    is_reset = name in applied and not is_stated(applied, name)
    if stored is not None and not options.unconditional and is_reset:
        raise VersionRequiredError([VERSION_REQUIRED])
    # A server drops a status without a word.
    told = [each for each in result.warnings if each.code != "ignored-status"]
    return Draft(
        stored,
        result.object,
        duplicates,
        changes=result.changes,
        is_apply=True,
        remarks=tuple(map(str, told)),
        rewrites=(
            result.changed and bool(rewriting_paths(configuration, request.schema))
        ),
    )
