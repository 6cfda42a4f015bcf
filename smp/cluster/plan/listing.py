"""Lists of a resource, page by page, and how one goes on where it was interrupted.

Go: k8s.io/client-go/tools/pager, and API concepts, "Retrieving large results sets in
chunks". A server keeps what a list began with for some minutes. Then it answers 410,
likely with what the rest is asked for by as it is now; without that, the list begins
again.
"""

from __future__ import annotations

from types import NoneType
from typing import Any, Final

import msgspec

from smp._values.values import ABSENT, JSONObject, as_list, as_object, as_text
from smp.cluster.plan.discovery import DiscoveredResource
from smp.cluster.plan.exchange import Plan
from smp.cluster.plan.failures import ApiError
from smp.cluster.plan.sending import get_request, send_for_object
from smp.errors import DocumentError, SmpError

# Objects of one answer of a list; kubectl asks for so many as well.
_LIMIT: Final = 500
# Too old, and of another server or another list (Go: storage.DecodeContinue).
_TOO_OLD: Final = frozenset({410, 400})
# So often a list begins again.
_MOST_STARTS: Final = 3


class Page(msgspec.Struct, frozen=True):
    """Some objects of a list, and what the rest is asked for by, "" at the end.

    ``is_first`` says that the list begins with it: nothing read before counts.
    """

    objects: list[JSONObject]
    more: str
    is_first: bool


class ListedPage(msgspec.Struct, frozen=True):
    """Some objects of a list of a cluster: of a group, kind and namespace.

    ``error`` says why what follows cannot be read. With ``more`` the list may go on
    later, for the minutes that the server keeps it. ``is_first`` says that the list
    begins, or begins again: what was read of it before may be older.
    """

    place: tuple[str, str, str]
    objects: list[dict[str, Any]]
    more: str = ""
    is_first: bool = True
    error: SmpError | None = None


def page_of(
    resource: DiscoveredResource, namespace: str, selector: str, more: str
) -> Plan[Page]:
    """Return the page of a list that is asked for by a text, the first one for "".

    Raises ApiError, and DocumentError for an answer that is no list.
    """
    path = resource.path(namespace)
    query = [("labelSelector", selector), ("limit", str(_LIMIT))]
    if more:
        query.append(("continue", more))
    answer = yield from send_for_object(get_request(path, tuple(query)))
    # A proxy may answer for a server. Go prints a list without items as null.
    if not isinstance(answer.get("items", ABSENT), list | NoneType):
        raise DocumentError(
            "the answer of the server is no list of objects",
            code="unreadable",
            source=path,
        )
    # The items of a list leave out what the list says of all of them.
    kind: JSONObject = {"apiVersion": resource.api_version, "kind": resource.kind}
    items = [{**kind, **as_object(item)} for item in as_list(answer.get("items"))]
    following = as_text(as_object(answer.get("metadata")).get("continue"))
    return Page(items, following, not more)


class ListedResource:
    """A list that is read page by page, on from ``more``, which is of an earlier one.

    Where the server does not keep what that one began with, it begins again.
    """

    def __init__(
        self, resource: DiscoveredResource, namespace: str, more: str = ""
    ) -> None:
        self._resource = resource
        self._namespace = namespace
        self.more: str = more
        self._is_resumed = bool(more)
        self._starts = 0

    def next_page(self, selector: str = "") -> Plan[Page]:
        """Return the next page. Raises what ``page_of`` raises."""
        place = self._resource, self._namespace, selector
        try:
            page = yield from page_of(*place, self.more)
        except ApiError as error:
            if error.status not in _TOO_OLD or not self.more:
                raise
            # The page is too old, and the rest is listed as it is now.
            page = yield from page_of(*place, "" if self._is_resumed else error.resume)
        self._is_resumed = False
        self._starts += page.is_first
        if self._starts > _MOST_STARTS:
            raise DocumentError(
                "the list has become too old each time before its end",
                code="expired",
                source=self._resource.path(self._namespace),
            )
        self.more = page.more
        return page


def listed(
    resource: DiscoveredResource, namespace: str, selector: str
) -> Plan[list[JSONObject]]:
    """Return the objects of a resource with labels. Raises what ``page_of`` raises."""
    found: list[JSONObject] = []
    pages = ListedResource(resource, namespace)
    while True:
        page = yield from pages.next_page(selector)
        if page.is_first:
            found.clear()
        found += page.objects
        if not page.more:
            return found
