"""The state of an object that a configuration expects.

Go: k8s.io/apiserver, registry/generic/registry, Store.Update, after the object was
patched.
"""

from __future__ import annotations

from smp._values.values import JSONObject, as_object, same, show
from smp.errors import ObjectError
from smp.paths import Path

_METADATA = Path(("metadata",))


def require_preconditions(live: JSONObject | None, applied: JSONObject) -> None:
    """Raise ObjectError (code modified) for the state of another object.

    That is a resourceVersion other than that of the live object, where that has one,
    or a uid where there is no object.
    """
    expected = as_object(applied.get("metadata"))
    if live is None:
        uid = expected.get("uid")
        if uid not in (None, ""):
            raise ObjectError(
                f"uid mismatch: the provided object specified uid {_text(uid)}, and no"
                " existing object was found",
                code="modified",
                path=_METADATA / "uid",
            )
        return
    version = expected.get("resourceVersion")
    found = as_object(live.get("metadata")).get("resourceVersion")
    # 0 is no version.
    if version in (None, "", "0") or found in (None, ""):
        return
    if not same(version, found):
        raise ObjectError(
            "the object has been modified; please apply your changes to the latest"
            " version and try again",
            code="modified",
            path=_METADATA / "resourceVersion",
            hint="leave out the resourceVersion, or apply to the object as it is now",
        )


def _text(uid: object) -> str:
    return uid if isinstance(uid, str) else show(uid)
