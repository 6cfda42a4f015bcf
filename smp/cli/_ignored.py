"""What a diff leaves out: the fields that a server sets, and paths that a user names.

Such a value is taken from the object before, so it is in neither the patch nor the
report, and the patch fits the object before as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from smp.cli._errors import UsageError
from smp.cli._inputs import Inputs, name_of
from smp.cli._options import Settings
from smp.cli._patterns import Pattern, aligned, pattern_of
from smp.errors import DocumentError
from smp.last_applied import LAST_APPLIED
from smp.schema.model import Type
from smp.values import JSONObject, as_object

# What a server, or kubectl apply, sets in each object that it stores.
_SERVER_FIELDS: Final = tuple(
    pattern_of(path)
    for path in (
        "metadata.uid",
        "metadata.resourceVersion",
        "metadata.generation",
        "metadata.creationTimestamp",
        "metadata.managedFields",
        "metadata.selfLink",
        f"metadata.annotations[{LAST_APPLIED}]",
        "status",
    )
)
_NAMESPACE: Final = pattern_of("metadata.namespace")
# What only a stored object has.
_STORED: Final = ("uid", "resourceVersion", "creationTimestamp")


class Ignored:
    """The values that a comparison of two objects leaves out."""

    def __init__(self, patterns: Iterable[Pattern], *, all_fields: bool) -> None:
        self._patterns = tuple(patterns)
        self._all_fields = all_fields

    @classmethod
    def of(cls, settings: Settings, inputs: Inputs) -> Ignored:
        """Read the paths of the options. Raises UsageError and DocumentError."""
        patterns: list[Pattern] = []
        for path in settings.ignore:
            try:
                patterns.append(pattern_of(path))
            except ValueError as error:
                raise UsageError(f"Invalid value for '--ignore': {error}") from None
        for file in settings.ignore_file:
            patterns += _patterns_in(file, inputs)
        return cls(patterns, all_fields=settings.all_fields)

    def is_dump_beside_manifest(self, before: JSONObject, after: JSONObject) -> bool:
        """Tell whether one of two objects, and not both, was stored by a server."""
        return not self._all_fields and is_stored(before) != is_stored(after)

    def left_out(
        self, before: JSONObject, after: JSONObject, type_: Type
    ) -> JSONObject:
        """Return the object after with what is left out as it was before."""
        patterns = self._patterns
        # A dump of a live object beside a manifest: only the server sets these.
        if self.is_dump_beside_manifest(before, after):
            patterns += _SERVER_FIELDS
            # kubectl gives an object without a namespace that of its context.
            if not _namespace(before) or not _namespace(after):
                patterns += (_NAMESPACE,)
        return aligned(before, after, patterns, type_) if patterns else after

    def left_out_of_configuration(
        self, live: JSONObject, configuration: JSONObject, type_: Type
    ) -> JSONObject:
        """Return a configuration with what is left out as it is in the live object."""
        # A configuration does not ask for fields that it does not have.
        return aligned(live, configuration, self._patterns, type_)


def _patterns_in(file: str, inputs: Inputs) -> list[Pattern]:
    """Read a file with a path on each line; ``#`` begins a comment."""
    patterns: list[Pattern] = []
    lines = inputs.data(file).decode(errors="replace").splitlines()
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        try:
            patterns.append(pattern_of(text))
        except ValueError as error:
            raise DocumentError(
                str(error), code="invalid-path", source=name_of(file), line=number
            ) from None
    return patterns


def is_stored(obj: JSONObject) -> bool:
    """Tell whether an object was stored by a server."""
    metadata = as_object(obj.get("metadata"))
    return any(metadata.get(name) is not None for name in _STORED)


def _namespace(obj: JSONObject) -> object:
    return as_object(obj.get("metadata")).get("namespace")
