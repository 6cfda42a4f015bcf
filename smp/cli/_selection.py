"""Which objects of the inputs take part: by namespace, kind and labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TypeAlias

from smp._values.label_selectors import SelectorError, parse_label_selector
from smp._values.values import JSON, JSONObject
from smp.cli._errors import CommandFailure, UsageError
from smp.cli._inputs import Inputs
from smp.cli._objects import Entry, Listing, numbered
from smp.cli._options import CommandSettings, Schemas, Sources
from smp.errors import ObjectError, SchemaError
from smp.schema.resource_names import find_kind, guess, names_of_definitions
from smp.schema.resources import read_published_resources

GroupKind: TypeAlias = tuple[str, str]


def select_by(selector: str) -> Callable[[JSONObject], bool]:
    """Return what tells whether an object has labels. Raises UsageError."""
    if not selector:
        return lambda _obj: True
    try:
        return parse_label_selector(selector).matches
    except SelectorError as error:
        raise UsageError(
            f"Invalid value for '-l' / '--selector': {error.problem}"
        ) from None


class Selection:
    """The objects that --namespace, --include-kind and --selector leave.

    ``entries`` are the objects of all inputs, and ``schemas`` describe them: the names
    of their resources are published with their schemas. Raises UnknownKindError for a
    kind that neither a schema nor an object has.
    """

    def __init__(
        self, settings: CommandSettings, inputs: Inputs, entries: Iterable[Entry]
    ) -> None:
        self._inputs = inputs
        self._namespace = settings.namespace
        # Tells whether the labels of an object are selected.
        self.has_labels: Callable[[JSONObject], bool] = select_by(settings.selector)
        self._selects_by_name = settings.selects_by_name
        self._kinds: set[GroupKind] | None = None
        self._cluster_wide: set[GroupKind] = set()
        if not self._selects_by_name:
            self.schemas: Schemas = Schemas(settings, inputs)
            return

        sources = Sources()
        self.schemas = Schemas(settings, inputs, sources)
        self._read_names(settings.include_kind, sources.definitions, entries)

    def _read_names(
        self, names: Iterable[str], definitions: list[JSON], entries: Iterable[Entry]
    ) -> None:
        custom = [*names_of_definitions(definitions)]
        for document in self._inputs.loaded_definitions():
            # One that cannot be read names nothing.
            with suppress(SchemaError):
                custom += names_of_definitions(document.value)
        resources = [*read_published_resources(), *custom]
        for resource in resources:
            if not resource.namespaced:
                self._cluster_wide.add((resource.group, resource.kind))
        if not names:
            return
        # Of custom kinds without a definition, and of those that are not stored.
        known = {(resource.group, resource.kind) for resource in resources}
        identities = {entry.identity.group_kind: entry.identity for entry in entries}
        resources += [
            guess(identity.api_version, identity.kind)
            for group_kind, identity in identities.items()
            if group_kind not in known
        ]
        self._kinds = set()
        for name in names:
            named = [resource for resource in resources if resource.is_called(name)]
            if not named:
                # It raises the error for a name that no kind has.
                find_kind(name, self.schemas.catalog, custom)
            self._kinds |= {(resource.group, resource.kind) for resource in named}

    def of_configuration(self, entries: Listing) -> Listing:
        """Return the objects of manifests that take part.

        One of another namespace is a problem, as it is for kubectl.
        """
        if not self._selects_by_name:
            return entries
        selected: list[Entry] = []
        for entry in self._of_kinds(entries):
            namespace = entry.identity.namespace
            if self._is_elsewhere(entry):
                # Go: k8s.io/cli-runtime, pkg/resource, RequireNamespace.
                error = ObjectError(
                    f'the namespace from the provided object "{namespace}" does not '
                    f'match the namespace "{self._namespace}"; you must pass '
                    f"'--namespace={namespace}' to perform this operation",
                    code="other-namespace",
                )
                self._inputs.problems.append(CommandFailure(error, entry, entry.label))
            else:
                selected.append(self._with_namespace(entry))
        return Listing(numbered(selected))

    def of_states(self, entries: Listing) -> Listing:
        """Return the objects of another input, which may have those of a cluster."""
        if not self._selects_by_name:
            return entries
        return Listing(
            numbered(
                self._with_namespace(entry)
                for entry in self._of_kinds(entries)
                if not self._is_elsewhere(entry)
            )
        )

    def _of_kinds(self, entries: Iterable[Entry]) -> Iterable[Entry]:
        kinds = self._kinds
        if kinds is None:
            return entries
        return [entry for entry in entries if entry.identity.group_kind in kinds]

    def _is_elsewhere(self, entry: Entry) -> bool:
        identity = entry.identity
        if not self._namespace or identity.namespace in {"", self._namespace}:
            return False
        return identity.group_kind not in self._cluster_wide

    def _with_namespace(self, entry: Entry) -> Entry:
        identity = entry.identity
        # A custom kind without a definition here is taken for one in namespaces, as
        # most are.
        is_namespaced = identity.group_kind not in self._cluster_wide
        return entry.in_namespace(self._namespace or "") if is_namespaced else entry
