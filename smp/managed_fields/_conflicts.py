"""Conflicts of an apply, and their words (Go: managedfields, internal/conflict.go)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from smp._values.api_objects import is_stated
from smp._values.findings import Finding
from smp._values.values import JSONObject, as_object, same, show
from smp.errors import ObjectError, Option, SmpError
from smp.managed_fields._entries import UPDATE, Owner
from smp.managed_fields._go_text import path_text, value_text
from smp.paths import Path


class ApplyConflict(Finding, frozen=True):
    """A field that an apply would change, and that another field manager owns.

    ``remark`` tells what the words of a server do not: that the applied configuration
    does not have the field, but that a union is normalized by writing it.
    """

    manager: str
    operation: str
    api_version: str
    subresource: str
    time: str
    path: Path
    remark: str = ""
    code: str = "conflict"

    @property
    def sentence(self) -> str:
        """Whose the field is."""
        return f"conflict with {self.owner}"

    @property
    def owner(self) -> str:
        """The other manager, in the words of a server, which leave out the time."""
        text = value_text(self.manager)
        if self.subresource:
            text += f" with subresource {value_text(self.subresource)}"
        if self.operation == UPDATE:
            # Go prints a time, too, where there is one: the identity has none.
            text += f" using {self.api_version}"
        return text

    @property
    def cause(self) -> dict[str, Any]:
        """The conflict as a cause of a Status."""
        return {
            "reason": "FieldManagerConflict",
            "message": self.sentence,
            "field": path_text(self.path),
        }

    def __str__(self) -> str:
        return f"{self.sentence}: {path_text(self.path)}"


class ApplyConflictError(SmpError):
    """A server-side apply that would change what other field managers own.

    ``conflicts`` are in the order of their managers and paths.
    """

    default_code = "apply-conflict"
    depend_on_order = False
    status: int = 409

    def __init__(self, conflicts: tuple[ApplyConflict, ...]) -> None:
        # Go: internal.getConflictMessage.
        if len(conflicts) == 1:
            text = f"Apply failed with 1 conflict: {conflicts[0]}"
        else:
            lines: list[str] = []
            owner = ""
            for conflict in conflicts:
                if conflict.owner != owner:
                    owner = conflict.owner
                    lines.append(f"conflicts with {owner}:")
                lines.append(f"- {path_text(conflict.path)}")
            listing = "\n".join(lines)
            text = f"Apply failed with {len(conflicts)} conflicts: {listing}"
        for conflict in conflicts:
            if conflict.remark:
                text += f"\n{conflict.remark}"
        super().__init__(
            text,
            path=conflicts[0].path if len(conflicts) == 1 else None,
            option=Option(name="force", value=True, effect="takes these fields over"),
        )
        self.conflicts = conflicts

    @classmethod
    def of(cls, owners: Iterable[Owner]) -> ApplyConflictError:
        """Make the error for what other entries own of an apply."""
        listed = [
            ApplyConflict(
                manager=owner.manager,
                operation=owner.operation,
                api_version=owner.api_version,
                subresource=owner.subresource,
                time=owner.time,
                path=path,
            )
            for owner in sorted(owners, key=lambda owner: owner.identity.text)
            for path in owner.fields.paths()
        ]
        return cls(tuple(listed))

    def __str__(self) -> str:
        # The text of a server names the paths itself.
        return f"{self.problem} ({self.hint})"


_METADATA = Path(("metadata",))


def require_preconditions(live: JSONObject | None, applied: JSONObject) -> None:
    """Raise ObjectError (code modified) for the state of another object.

    That is a resourceVersion other than that of the live object, where that has one,
    or a uid where there is no object (Go: k8s.io/apiserver, Store.Update, after the
    object was patched).
    """
    expected = as_object(applied.get("metadata"))
    if live is None:
        if is_stated(expected, "uid"):
            uid = _text(expected["uid"])
            raise ObjectError(
                f"uid mismatch: the provided object specified uid {uid}, and no"
                " existing object was found",
                code="modified",
                path=_METADATA / "uid",
            )
        return
    version = as_object(live.get("metadata")).get("resourceVersion")
    # That of a stored object counts whatever it is: 0 is none in a request only.
    if version in (None, "") or not is_stated(expected, "resourceVersion"):
        return
    if not same(expected["resourceVersion"], version):
        raise ObjectError(
            "the object has been modified; please apply your changes to the latest"
            " version and try again",
            code="modified",
            path=_METADATA / "resourceVersion",
            hint="leave out the resourceVersion, or apply to the object as it is now",
        )


def _text(uid: object) -> str:
    return uid if isinstance(uid, str) else show(uid)
