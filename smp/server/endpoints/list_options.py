"""The options of lists, watches and deletions of collections, and what they select.

Go: metav1.ListOptions, and ValidateListOptions in
k8s.io/apimachinery/pkg/apis/meta/internalversion/validation. Unknown parameters of a
query are ignored.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Final, Self

import msgspec

from smp._values.codec import decode
from smp._values.field_selectors import FieldSelector, parse_field_selector
from smp._values.label_selectors import LabelSelector, parse_label_selector
from smp.handler import InvalidOptionsError
from smp.paths import Path
from smp.schema.resources import Resource, Strategy
from smp.server.errors import StatusError, forbidden
from smp.server.registry.target import Target
from smp.server.store import Stored
from smp.violations import unsupported

_DECODE: Final = 1e-8  # seconds for each byte of an object
_TERM: Final = 5e-7  # seconds for each term of a selector, and each object
_MATCHES: Final = ("Exact", "NotOlderThan")
_MATCH: Final = Path(("resourceVersionMatch",))
# What the options are called in a Status (Go: metav1.ListOptions).
_KIND: Final = "ListOptions"
_UNMATCHED: Final = (
    "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
)
_NOT_OLDER: Final = (
    "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
)
_UNPROVIDED: Final = (
    "resourceVersionMatch is forbidden unless resourceVersion is provided"
)
_CONTINUED: Final = "resourceVersionMatch is forbidden when continue is provided"
_ANY: Final = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
_MAX_DIGITS: Final = 18  # a number of 18 digits fits into 64 bits


class Continue(msgspec.Struct, frozen=True):
    """Where a list continues: after a key, in the snapshot of a revision."""

    revision: Annotated[int, msgspec.Meta(ge=1, le=(1 << 63) - 1)]
    after: str

    @property
    def token(self) -> str:
        """The text that clients send back; its content is ours."""
        return urlsafe_b64encode(msgspec.json.encode(self)).decode()

    @classmethod
    def parse(cls, token: str) -> Self:
        """Parse a token. Raises StatusError."""
        try:
            return msgspec.json.decode(urlsafe_b64decode(token), type=cls)
        except (ValueError, msgspec.MsgspecError):
            raise StatusError("continue key is not valid") from None


class ListOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What to list or watch, from which revision, and for how many seconds.

    A ``revision`` of None is the newest, and 0 is any; a ``limit`` or a ``timeout`` of
    0 means no limit.
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
    def has_selector(self) -> bool:
        """Whether there is a label or a field selector."""
        return bool(self.labels.requirements or self.fields.terms)

    def selects(self, value: bytes) -> bool:
        """Tell whether an object, as it is stored, is selected."""
        if not self.has_selector:
            return True
        obj = decode(value)
        if not isinstance(obj, dict):
            return False
        return self.labels.matches(obj) and self.fields.matches(obj)

    def select(
        self, items: Iterable[Stored], most: int | None
    ) -> tuple[list[Stored], int]:
        """Return the first objects that are selected, and how many were looked at."""
        selected: list[Stored] = []
        read = 0
        for item in items:
            read += 1
            if self.selects(item.value):
                selected.append(item)
            if len(selected) == most:
                break
        return selected, read

    def seconds_to_select(self, items: Sequence[Stored]) -> float:
        """Estimate how long ``select`` takes."""
        if not self.has_selector:
            return 0
        terms = len(self.fields.terms)
        for requirement in self.labels.requirements:
            terms += 1 + len(requirement.values)
        size = sum(len(item.value) for item in items)
        return size * _DECODE + len(items) * terms * _TERM

    @classmethod
    def parse(cls, query: Mapping[str, str], resource: Resource) -> Self:
        """Parse the query of a request for objects of a resource.

        Raises StatusError, InvalidOptionsError and SelectorError.
        """
        # An empty parameter counts as an absent one.
        after = query.get("continue")
        revision = query.get("resourceVersion")
        options = cls(
            labels=parse_label_selector(query.get("labelSelector", "")),
            fields=resolve_fields(
                parse_field_selector(query.get("fieldSelector", "")), resource
            ),
            # Go: a negative limit is none.
            limit=max(0, number(query, "limit", signed=True)),
            after=Continue.parse(after) if after else None,
            revision=number(query, "resourceVersion") if revision else None,
            exact=query.get("resourceVersionMatch") == "Exact",
            watch=read_flag(query, "watch"),
            bookmarks=read_flag(query, "allowWatchBookmarks"),
            initial_events=read_flag(query, "sendInitialEvents"),
            timeout=number(query, "timeoutSeconds"),
        )
        _check(options, query)
        return options


def _check(options: ListOptions, query: Mapping[str, str]) -> None:
    """Check which options may stand together. Raises InvalidOptionsError."""
    match = query.get("resourceVersionMatch", "")
    # Be it as false.
    has_initial_events = "sendInitialEvents" in query
    if match and match not in _MATCHES:
        raise InvalidOptionsError([unsupported(_MATCH, match, _MATCHES)], _KIND)
    revision, after = options.revision, options.after
    initial = Path(("sendInitialEvents",))
    # A watch matches a resourceVersion only in its initial events, which are never
    # older. The continue token has the revision of the first page: another one would
    # mix two snapshots. "0" is any version, which cannot be matched exactly.
    rules: tuple[tuple[object, Path, str], ...] = (
        (match and not has_initial_events, _MATCH, _UNMATCHED),
        (has_initial_events and match != "NotOlderThan", _MATCH, _NOT_OLDER),
    )
    if not options.watch:
        rules = (
            (has_initial_events, initial, "sendInitialEvents is forbidden for list"),
            (match and revision is None, _MATCH, _UNPROVIDED),
            (match and after, _MATCH, _CONTINUED),
            (options.exact and not revision, _MATCH, _ANY),
        )
    for is_broken, path, detail in rules:
        if is_broken:
            raise InvalidOptionsError([forbidden(path, detail)], _KIND)
    if after and revision and not options.watch:
        raise StatusError(
            "specifying resource version is not allowed when using continue"
        )


def number(query: Mapping[str, str], name: str, *, signed: bool = False) -> int:
    """Read a parameter of a query; 0 where it is absent. Raises StatusError."""
    text = query.get(name) or "0"
    digits = text.removeprefix("-") if signed else text
    # isdigit alone accepts digits of other scripts as well.
    is_number = digits.isascii() and digits.isdigit()
    if not is_number or len(text) > _MAX_DIGITS:
        raise StatusError(
            f'{name}: Invalid value: "{text:.40}": a non-negative integer is expected'
        )
    return int(text)


def read_flag(query: Mapping[str, str], name: str) -> bool:
    """Read a flag as Go does: any value but ``false`` and ``0`` is true."""
    return query.get(name, "false").lower() not in ("false", "0")


def key_prefix(target: Target, options: ListOptions) -> str:
    """Return a prefix of the keys of all objects that can be selected.

    A field selector for one name or one namespace makes it longer, so that fewer
    objects are read.
    """
    namespace = target.namespace
    if target.resource.namespaced and not namespace:
        namespace = options.fields.required_value("metadata.namespace") or ""
    prefix = msgspec.structs.replace(target, namespace=namespace).prefix
    if target.resource.namespaced and not namespace:
        return prefix  # the keys of all namespaces: the name is not next
    return prefix + (options.fields.required_value("metadata.name") or "")


_USUAL: Final = Strategy().selectable
_REFERENCE: Final = (
    *("kind", "namespace", "name", "uid"),
    *("apiVersion", "resourceVersion", "fieldPath"),
)
# Names of fields that stand elsewhere in the object. Go: AddFieldLabelConversionFunc in
# k8s.io/kubernetes, pkg/apis/*/v1/conversion.go; of all other kinds, and with the
# ``selectableFields`` of a definition (KEP-4358),
# runtime.DefaultMetaV1FieldSelectorConversion.
_PLACES: Final = {
    "spec.host": "spec.nodeName",
    "source": "source.component",
    # Of events as they are stored, in the core group.
    "reportingController": "reportingComponent",
    **{f"regarding.{name}": f"involvedObject.{name}" for name in _REFERENCE},
    "status.successful": "status.succeeded",
}
# What absent fields are compared as; all others are empty (Go: fmt.Sprint of the zero
# value).
_ABSENT: Final = {
    "spec.hostNetwork": "false",
    "spec.unschedulable": "false",
    "status.replicas": "0",
    "status.successful": "0",
}


def resolve_fields(selector: FieldSelector, resource: Resource) -> FieldSelector:
    """Return a selector with the places of its fields in objects of a resource.

    Raises StatusError for a field that cannot be selected.
    """
    strategy = resource.strategy
    known = (*strategy.selectable, *resource.selectable_fields)
    terms = []
    for term in selector.terms:
        if term.path not in known:
            text = strategy.unselectable or "field label not supported: {path}"
            problem = text.format(path=term.path, version=resource.api_version)
            if known == _USUAL and not resource.custom:
                problem = (
                    f'"{term.path}" is not a known field selector: only'
                    ' "metadata.name", "metadata.namespace"'
                )
            raise StatusError(problem)
        place = _PLACES.get(term.path, term.path)
        absent = _ABSENT.get(term.path, "")
        terms.append(msgspec.structs.replace(term, path=place, absent=absent))
    return FieldSelector(tuple(terms))
