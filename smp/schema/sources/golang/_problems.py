"""Problems of Go sources, gathered so that one run shows them all."""

from __future__ import annotations

from smp.errors import DocumentError
from smp.schema.sources.golang._markers import Marker
from smp.schema.sources.golang._syntax import Position


class Problems:
    """Gathers errors; the same problem found on two ways is one."""

    def __init__(self) -> None:
        self._found: dict[str, DocumentError] = {}

    def add(self, error: DocumentError) -> None:
        """Gather an error."""
        self._found.setdefault(str(error), error)

    def misuse(
        self, at: Position, marker: Marker | None, problem: str, hint: str = ""
    ) -> None:
        """Gather the misuse of a marker: it stands on its own line in the file of the
        position.
        """
        where = Position(at.source, marker.line) if marker else at
        self.add(where.error(problem, code="marker-misuse", hint=hint))

    def check(self) -> None:
        """Raise what was gathered: one error as it is, several as one whose text lists
        them all.
        """
        errors = sorted(
            self._found.values(),
            key=lambda error: (error.source, error.line or 0, error.column or 0),
        )
        if len(errors) < 2:
            for error in errors:
                raise error
            return
        listing = "".join(f"\n  {error}" for error in errors)
        first = errors[0]
        raise DocumentError(
            f"{len(errors)} problems{listing}",
            code=first.code,
            source=first.source,
            line=first.line,
            column=first.column,
        )
