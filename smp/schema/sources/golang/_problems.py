"""Problems of Go sources, gathered so that one run reports them all.

kube-openapi's generator only logs most of them and writes the schema anyway. What is
right, but has no form in OpenAPI, is told beside the schema.
"""

from __future__ import annotations

from smp.errors import DocumentError
from smp.schema.sources.golang._json_fields import JSONField
from smp.schema.sources.golang._markers import Marker
from smp.schema.sources.golang._syntax import SourcePosition


class Problems:
    """Gathers errors; a problem that is found twice is reported once."""

    def __init__(self) -> None:
        self._errors: dict[str, DocumentError] = {}
        self.unpublished: dict[str, None] = {}

    def add(self, error: DocumentError) -> None:
        """Gather an error."""
        self._errors.setdefault(str(error), error)

    def misuse(
        self, at: SourcePosition, marker: Marker | None, problem: str, hint: str = ""
    ) -> None:
        """Gather the misuse of a marker, which has its own line in the file."""
        place = SourcePosition(at.source, marker.line) if marker else at
        self.add(place.error(problem, code="marker-misuse", hint=hint))

    def leave_out(self, at: SourcePosition, marker: Marker) -> None:
        """Gather a marker that OpenAPI has no form for."""
        text = f"+{marker.name}" + (f"={marker.value}" if marker.value else "")
        self.unpublished[f"{at.source}:{marker.line}: {text}"] = None

    def misuse_on(
        self, field: JSONField, marker: str, problem: str, hint: str = ""
    ) -> None:
        """Gather the misuse of a marker of a field, by the marker's name.

        Where the field does not have that marker the problem is at the field itself.
        """
        self.misuse(field.at, field.marker(marker), problem, hint)

    def check(self) -> None:
        """Raise the gathered errors: a single one as it is, several as a list in one.

        The list is ordered by place and has the place and code of its first error.
        """
        errors = sorted(
            self._errors.values(),
            key=lambda error: (error.source, error.line or 0, error.column or 0),
        )
        if not errors:
            return
        first = errors[0]
        if len(errors) == 1:
            raise first
        listing = "".join(f"\n  {error}" for error in errors)
        raise DocumentError(
            f"{len(errors)} problems{listing}",
            code=first.code,
            source=first.source,
            line=first.line,
            column=first.column,
        )
