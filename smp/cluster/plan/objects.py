"""The objects of a run: what is to be applied, and what became of each."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from smp._values.api_objects import set_metadata
from smp._values.last_applied import last_applied_configuration, with_last_applied
from smp._values.values import ABSENT, JSON, JSONObject, as_object, as_text, type_name
from smp.cluster.plan.discovery import DiscoveredResource
from smp.errors import QUOTE_BOOLEANS, ApplyWarning, ObjectError, SmpError
from smp.explain import Cause, explain_apply
from smp.hazards import Hazard
from smp.managed_fields import PatchRequest
from smp.paths import Path
from smp.schema.model import Schema

Action: TypeAlias = Literal[
    "created", "configured", "unchanged", "pruned", "deleted", "failed", "not-applied"
]


class Item(msgspec.Struct, frozen=True):
    """An object that is to be applied, and where it comes from."""

    object: JSONObject
    source: str = ""

    @property
    def api_version(self) -> str:
        """Its apiVersion."""
        return as_text(self.object.get("apiVersion"))

    @property
    def kind(self) -> str:
        """Its kind."""
        return as_text(self.object.get("kind"))

    @property
    def name(self) -> str:
        """Its name."""
        return as_text(as_object(self.object.get("metadata")).get("name"))

    @property
    def namespace(self) -> str:
        """Its namespace; empty where it has none."""
        return as_text(as_object(self.object.get("metadata")).get("namespace"))

    def in_namespace(self, namespace: str) -> Item:
        """Return it in a namespace; in none where that is empty."""
        if self.namespace == namespace:
            return self
        obj = set_metadata(self.object, namespace=namespace or ABSENT)
        return Item(obj, self.source)


def require_identity(item: Item) -> None:
    """Raise ObjectError for an object that cannot be applied.

    It lacks apiVersion, kind or a name (Go: ApplyOptions.applyOneObject).
    """
    # Go: runtime.NewMissingKindErr, NewMissingVersionErr.
    for member in ("apiVersion", "kind"):
        if not as_text(item.object.get(member)):
            raise ObjectError(f"Object '{member}' is missing", code="missing-kind")
    metadata = as_object(item.object.get("metadata"))
    # Go: metav1.ObjectMeta, which kubectl decodes it as. A null is an empty text.
    for member in ("name", "generateName", "namespace"):
        _require_text(metadata.get(member), Path(("metadata", member)))
    for member in ("labels", "annotations"):
        for name, value in as_object(metadata.get(member)).items():
            _require_text(value, Path(("metadata", member, name)))
    # Go: k8s.io/apimachinery/pkg/api/validation/path, IsValidPathSegmentName.
    problems = [f"may not contain '{char}'" for char in "/%" if char in item.name]
    if item.name in (".", ".."):
        problems = [f"may not be '{item.name}'"]
    if problems:
        raise ObjectError(
            f'invalid resource name "{item.name}": [{", ".join(problems)}]',
            code="invalid-name",
        )
    if item.name:
        return
    # A name that the server generates is another one in each apply.
    generate_name = as_text(metadata.get("generateName"))
    if generate_name:
        raise ObjectError(
            f"from {generate_name}: cannot use generate name with apply",
            code="generate-name",
        )
    raise ObjectError("resource name may not be empty", code="missing-name")


def _require_text(value: JSON, path: Path) -> None:
    if value is not None and not isinstance(value, str):
        raise ObjectError(
            f"{path} has to be a string, not {type_name(value)}",
            code="not-a-string",
            hint=QUOTE_BOOLEANS if isinstance(value, bool) else "",
            path=path,
        )


def causes_of(
    item: Item, live: JSONObject | None, schema: Schema | None
) -> tuple[Cause, ...]:
    """Return why each field would, or would not, change by an apply.

    There are none for a new object, and for a kind without a schema.
    """
    if live is None or schema is None:
        return ()
    last_applied, modified = apply_configurations(item, live)
    return explain_apply(last_applied, modified, live, schema, unknown_fields="merge")


def apply_configurations(
    item: Item, live: JSONObject
) -> tuple[JSONObject | None, JSONObject]:
    """Return what was applied last and what is applied now, as an apply has them.

    Both have their annotation where the live object has one.
    """
    last_applied = last_applied_configuration(live)
    if last_applied is None:
        return None, item.object
    return with_last_applied(last_applied), with_last_applied(item.object)


class Applied(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one object.

    ``action`` is what was done; with a dry run, what would be. ``resource`` is that of
    its kind, None where the server does not serve it. ``object`` is the object
    as the server has it after that, or as it is predicted where no request was sent;
    ``before`` the live object that was there, or None. ``patch`` is what was sent, with
    its ``media_type``; None where nothing was. ``requests`` are those that were sent
    after a server had refused the patch alone, see ``predict_refusal``. ``hazards`` is
    what may do harm beside what is asked for. ``error`` is there where the action is
    failed.
    """

    item: Item
    action: Action
    namespace: str = ""
    resource: DiscoveredResource | None = None
    object: dict[str, Any] | None = None
    before: dict[str, Any] | None = None
    patch: Any = None
    media_type: str = ""
    schema: Schema | None = None
    requests: tuple[PatchRequest, ...] = ()
    warnings: tuple[ApplyWarning, ...] = ()
    hazards: tuple[Hazard, ...] = ()
    error: SmpError | None = None

    @property
    def api_version(self) -> str:
        """The apiVersion of the object."""
        return self.item.api_version

    @property
    def kind(self) -> str:
        """The kind of the object."""
        return self.item.kind

    @property
    def name(self) -> str:
        """The name of the object."""
        return self.item.name

    @property
    def source(self) -> str:
        """The file that the object is from; empty where it is from none."""
        return self.item.source

    @property
    def is_unknown(self) -> bool:
        """Whether a write was cut, so that it is not known if the server has done it.

        The object on the server tells; another apply writes what is missing.
        """
        return bool(getattr(self.error, "is_unknown", False))

    @property
    def causes(self) -> tuple[Cause, ...]:
        """Why each field did, or did not, change; computed on each use.

        There are none for a new object, and for a kind without a schema.
        """
        return causes_of(self.item, self.before, self.schema)

    def __str__(self) -> str:
        """Word it as kubectl prints it: ``deployment.apps/web configured``."""
        # Go: printers.NamePrinter.
        group, _, _ = self.api_version.rpartition("/")
        kind = self.kind.lower()
        resource = f"{kind}.{group}" if group else kind
        action: str = self.action
        if self.media_type == "application/apply-patch+yaml":
            action = "serverside-applied"
        text = f"{resource}/{self.name} {action}"
        return f"{text}: {self.error}" if self.error is not None else text
