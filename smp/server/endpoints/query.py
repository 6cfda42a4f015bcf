"""The query of a list or a watch as options (Go: metav1.ListOptions). Unknown
parameters mean nothing.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final, Self

import msgspec

from smp.server.errors import StatusError
from smp.server.objects.selectors import (
    FieldSelector,
    LabelSelector,
    parse_field_selector,
    parse_label_selector,
)

_MATCHES: Final = ("", "Exact", "NotOlderThan")
_DIGITS: Final = 18  # so that a number fits the 64 bits that stores count in


class Continue(msgspec.Struct, frozen=True):
    """Where a list goes on: after a key, in the snapshot of a revision."""

    revision: Annotated[int, msgspec.Meta(ge=1, le=(1 << 63) - 1)]
    after: str

    @property
    def token(self) -> str:
        """The text for clients, who are not to read it."""
        return urlsafe_b64encode(msgspec.json.encode(self)).decode()

    @classmethod
    def read(cls, token: str) -> Self:
        """Read a token. Raises StatusError."""
        try:
            return msgspec.json.decode(urlsafe_b64decode(token), type=cls)
        except (ValueError, msgspec.MsgspecError):
            raise StatusError("continue key is not valid") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions:
    """What to list or watch, from where, and for how long; a ``revision`` of None is
    the newest.
    """

    labels: LabelSelector
    fields: FieldSelector
    limit: int
    after: Continue | None
    revision: int | None
    exact: bool
    watch: bool
    bookmarks: bool
    initial_events: bool
    timeout: float

    @property
    def selects(self) -> bool:
        """Whether there is a selector."""
        return bool(self.labels.requirements or self.fields.terms)

    @classmethod
    def read(cls, query: Mapping[str, str]) -> Self:
        """Read a query. Raises StatusError and SelectorError."""
        options = cls(
            labels=parse_label_selector(query.get("labelSelector", "")),
            fields=parse_field_selector(query.get("fieldSelector", "")),
            limit=_number(query, "limit"),
            after=Continue.read(query["continue"]) if query.get("continue") else None,
            revision=_number(query, "resourceVersion")
            if query.get("resourceVersion")
            else None,
            exact=query.get("resourceVersionMatch") == "Exact",
            watch=_flag(query, "watch"),
            bookmarks=_flag(query, "allowWatchBookmarks"),
            initial_events=_flag(query, "sendInitialEvents"),
            timeout=_number(query, "timeoutSeconds"),
        )
        _check(options, query)
        return options


def _check(options: ListOptions, query: Mapping[str, str]) -> None:
    match = query.get("resourceVersionMatch", "")
    if match not in _MATCHES:
        raise StatusError(
            f'resourceVersionMatch: Unsupported value: "{match}": supported values: "Exact", "NotOlderThan"'
        )
    if options.watch:
        _check_watch(query, match)
    elif "sendInitialEvents" in query:
        raise StatusError("sendInitialEvents is forbidden for list")
    elif match and options.revision is None:
        raise StatusError(
            "resourceVersionMatch is forbidden unless resourceVersion is provided"
        )
    elif match and options.after:
        raise StatusError("resourceVersionMatch is forbidden when continue is provided")
    elif options.exact and not options.revision:
        raise StatusError(
            'resourceVersionMatch "Exact" is forbidden for resourceVersion "0"'
        )
    elif options.after and options.revision:
        raise StatusError(
            "specifying resource version is not allowed when using continue"
        )


def _check_watch(query: Mapping[str, str], match: str) -> None:
    if match and "sendInitialEvents" not in query:
        raise StatusError(
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        )
    if "sendInitialEvents" in query and match != "NotOlderThan":
        raise StatusError(
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        )


def _number(query: Mapping[str, str], name: str) -> int:
    text = query.get(name) or "0"
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
        raise StatusError(
            f'{name}: Invalid value: "{text:.40}": a non-negative integer is expected'
        )
    return int(text)


def _flag(query: Mapping[str, str], name: str) -> bool:
    """Read as Go does: there and neither false nor 0 is true."""
    return query.get(name, "false").lower() not in ("false", "0")
