"""Go fields as encoding/json sees them: name, options, whether they are inlined."""

from __future__ import annotations

import msgspec

from smp.schema.sources.golang._markers import OPTIONALITY, Marker, Markers, struct_tag
from smp.schema.sources.golang._syntax import GoField, SourcePosition


class JSONTag(msgspec.Struct, frozen=True):
    """How encoding/json treats a field, by its tag and its name.

    ``misplaced_inline`` marks a field that has the option ``inline`` but a name of its
    own, so that it is not inlined.
    """

    name: str
    skipped: bool
    omitempty: bool
    as_string: bool
    inline: bool
    misplaced_inline: bool

    @classmethod
    def of(cls, field: GoField) -> JSONTag:
        """Read the tag of a field (Go: the documentation of encoding/json, Marshal)."""
        tag = struct_tag(field.tag, "json") or ""
        name, *options = tag.split(",")
        # An embedded struct is looked into even if its type is not exported.
        unexported = not field.name[:1].isupper() and not field.embedded
        return cls(
            name=name or field.name,
            # "if the field tag is "-", the field is always omitted"; "-," names it "-".
            skipped=tag == "-" or unexported,
            omitempty="omitempty" in options,
            as_string="string" in options,
            # "An anonymous struct field with a name given in its JSON tag is treated as
            # having that name, rather than being anonymous."
            inline=field.embedded and not name,
            # encoding/json knows no option "inline": Kubernetes writes it on
            # embedded fields, for readers.
            misplaced_inline="inline" in options and not field.embedded,
        )


class JSONField(msgspec.Struct, frozen=True):
    """A field of a struct under its JSON name."""

    field: GoField
    json: JSONTag
    markers: Markers

    @property
    def name(self) -> str:
        """The name in JSON."""
        return self.json.name

    @property
    def at(self) -> SourcePosition:
        """The place in the source."""
        return self.field.at

    @property
    def optional(self) -> bool:
        """Whether the field may be left out.

        The markers ``+optional`` and ``+required`` decide (Go: kube-openapi's
        isOptional), else those of declarative validation and controller-gen; without
        them, whether it has ``omitempty``. k8s.io/api has ``+optional`` and
        ``+k8s:required`` on one field.
        """
        for optional, required in OPTIONALITY:
            if required in self.markers or optional in self.markers:
                return required not in self.markers
        return self.json.omitempty

    def marker(self, name: str) -> Marker | None:
        """Return the first marker of a name."""
        return self.markers[name][0] if name in self.markers else None
