"""Requests of field managers as data, ready for any client."""

from __future__ import annotations

from typing import Any, Final

import msgspec

APPLY_PATCH_TYPE: Final = "application/apply-patch+yaml"
JSON_PATCH_TYPE: Final = "application/json-patch+json"
MERGE_PATCH_TYPE: Final = "application/merge-patch+json"


class PatchRequest(msgspec.Struct, frozen=True):
    """A request that patches an object: ``body`` is JSON of the ``media_type``.

    ``path`` is that of the object on its server, ``query`` has pairs, in order.
    """

    method: str
    path: str
    query: tuple[tuple[str, str], ...]
    media_type: str
    body: Any

    def __str__(self) -> str:
        query = "&".join(f"{name}={value}" for name, value in self.query)
        return f"{self.method} {self.path}?{query} ({self.media_type})"


def apply_request(
    path: str, configuration: dict[str, Any], manager: str, *, force: bool = False
) -> PatchRequest:
    """Return the request of a server-side apply."""
    query = (("fieldManager", manager), ("force", "true" if force else "false"))
    return PatchRequest("PATCH", path, query, APPLY_PATCH_TYPE, configuration)
