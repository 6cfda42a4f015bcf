"""Enum types: string types with ``+enum``, and their constants (KEP-2887).

``+k8s:enum`` of declarative validation makes one as well, without the constants that
``+k8s:enumExclude`` marks: a server refuses all other values.

The constants of a type may be declared in any package (Go: kube-openapi's parseEnums).
"""

from __future__ import annotations

import json
from collections.abc import Collection

from smp._values.values import JSON
from smp.errors import DocumentError
from smp.schema.enum_listing import listing, quote
from smp.schema.sources.golang._markers import (
    ENUM_EXCLUDE,
    ENUM_MARKERS,
    KUBEBUILDER_ENUM,
    KUBEBUILDER_ITEMS_ENUM,
    Markers,
    markers,
)
from smp.schema.sources.golang._packages import BasicType, DeclaredType, Packages
from smp.schema.sources.golang._problems import Problems
from smp.schema.sources.golang._syntax import (
    GoConstant,
    GoType,
    PointerType,
    SourcePosition,
)


class GoEnum:
    """The values of an enum type, each with the constant that describes it."""

    def __init__(self) -> None:
        self._constants: dict[str, tuple[str, str]] = {}

    def add(self, constant: str, value: str, comment: str) -> None:
        """Add the value of a constant.

        Of two constants with one value, the one with the longer comment describes it;
        of equally long comments, the smaller (Go: enumType.addIfNotPresent).
        """
        if value in self._constants:
            _, other = self._constants[value]
            if (-len(comment), comment) >= (-len(other), other):
                return
        self._constants[value] = (constant, comment)

    @property
    def values(self) -> list[str]:
        """The values, sorted as their quoted literals are."""
        # Go: enumType.ValueStrings. Quotes sort differently from the end of a string.
        return sorted(self._constants, key=quote)

    def description(self, values: Collection[JSON]) -> list[str]:
        """List values as lines for the description of a field (KEP-2887).

        ``values`` are those that the field may have. Go: enumType.DescriptionLines.
        """
        meanings: dict[str, str] = {}
        for value, (constant, comment) in self._constants.items():
            if value not in values:
                continue
            # By convention a comment opens with the name of its constant.
            meanings[value] = " ".join(comment.strip().removeprefix(constant).split())
        return ["", *listing(meanings)]


class Enums:
    """All enum types of the packages."""

    def __init__(self, packages: Packages, problems: Problems) -> None:
        self._packages = packages
        self._problems = problems
        self._by_type: dict[str, GoEnum] = {}
        # All types come before all constants: a constant may be declared in another
        # package than its type.
        marked: list[DeclaredType] = []
        for package in packages:
            for declared in package.types.values():
                self.check_listed(declared.markers, declared.syntax.at)
                if _marker_of(declared) and self._may_be_enum(declared):
                    self._by_type[declared.name] = GoEnum()
                    marked.append(declared)
        for package in packages:
            for constant in package.constants.values():
                type_, value = packages.evaluate(constant)
                try:
                    # An untyped constant belongs to no enum.
                    enum = self.of(type_) if type_ else None
                except DocumentError:
                    # Its type is declared nowhere, so it is not an enum.
                    enum = None
                excludes = type_ is not None and self._has_exclusions(type_)
                if self._is_excluded(constant, is_possible=excludes) or enum is None:
                    continue
                comment = " ".join(line.text for line in constant.comment)
                if not isinstance(value, str):
                    error = constant.at.error(
                        f"cannot evaluate the constant {constant.name}",
                        code="unknown-constant",
                        hint="use a string literal",
                    )
                    problems.add(error)
                    # Its value is unknown, but the enum is not without constants.
                    value = ""
                enum.add(constant.name, value, comment)
        for declared in marked:
            self._check(declared, self._by_type[declared.name])

    def of(self, type_: GoType) -> GoEnum | None:
        """Return the enum of a type, or of the type that it points to."""
        declared = self._packages.declared(_drop_pointer(type_))
        return self._by_type.get(declared.name) if declared else None

    def _is_excluded(self, constant: GoConstant, *, is_possible: bool) -> bool:
        """Tell whether a server refuses a constant (Go: enumTagValidator)."""
        texts = {line.number: line.text.strip() for line in constant.comment}
        is_excluded = False
        for marker in markers(constant.comment).get(ENUM_EXCLUDE, ()):
            if not is_possible:
                problem = f"+{ENUM_EXCLUDE} on a constant of no type with +k8s:enum"
                self._problems.misuse(constant.at, marker, problem)
            # It depends on a feature gate whether others are.
            elif texts[marker.line] == f"+{ENUM_EXCLUDE}":
                is_excluded = True
            else:
                self._problems.leave_out(constant.at, marker)
        return is_excluded

    def _has_exclusions(self, type_: GoType) -> bool:
        declared = self._packages.declared(type_)
        return declared is not None and "k8s:enum" in declared.markers

    def check_listed(self, markers: Markers, at: SourcePosition) -> None:
        """Check that a marker which lists values has some."""
        for name in (KUBEBUILDER_ENUM, KUBEBUILDER_ITEMS_ENUM):
            if name in markers and not list_values(markers, name):
                problem = f"+{name} lists no values"
                self._problems.misuse(at, markers[name][0], problem, f"+{name}=a;b")

    def values(self, type_: GoType, field_markers: Markers) -> list[JSON]:
        """List the values that a field of a type may have; none if it may have any.

        They are those of ``+kubebuilder:validation:Enum`` on the field or on its type
        (https://book.kubebuilder.io/reference/markers/crd-validation), else those of
        ``+enum``.
        """
        declared = self._packages.declared(_drop_pointer(type_))
        # The marker of the field is the more specific one.
        listed = list_values(field_markers)
        if not listed and declared:
            listed = list_values(declared.markers)
        if listed:
            return listed
        enum = self.of(type_)
        return [*enum.values] if enum else []

    def _may_be_enum(self, declared: DeclaredType) -> bool:
        """Check that ``+enum`` marks a string type that is not an alias (KEP-2887)."""
        syntax, name = declared.syntax, _marker_of(declared)
        marker = declared.markers[name][0]
        if syntax.alias:
            # The alias of an enum may repeat its marker.
            target = self._packages.declared(syntax.type)
            if target is None or not _marker_of(target):
                self._problems.misuse(
                    syntax.at,
                    marker,
                    f"+{name} on an alias",
                    "mark the type that it is an alias of (KEP-2887)",
                )
            return False
        if self._packages.resolve(syntax.type) != BasicType("string"):
            self._problems.misuse(
                syntax.at,
                marker,
                f"+{name} on {syntax.name}, which is not a string type",
                "see KEP-2887",
            )
            return False
        return True

    def _check(self, declared: DeclaredType, enum: GoEnum) -> None:
        """Check that an enum has values, and that two markers list the same ones."""
        syntax, name = declared.syntax, declared.syntax.name
        if not enum.values:
            marker = declared.markers[_marker_of(declared)][0]
            problem = f"+{marker.name} on {name}, which has no constants"
            hint = f'const {name}A {name} = "A"'
            self._problems.misuse(syntax.at, marker, problem, hint)
        listed = list_values(declared.markers)
        if listed and {*map(str, listed)} != {*enum.values}:
            marker = declared.markers[KUBEBUILDER_ENUM][0]
            problem = f"the values are not those of the constants of {name}"
            hint = ";".join(enum.values)
            self._problems.misuse(syntax.at, marker, problem, hint)


def _drop_pointer(type_: GoType) -> GoType:
    return type_.to if isinstance(type_, PointerType) else type_


def _marker_of(declared: DeclaredType) -> str:
    """Name the marker that makes an enum of a type; empty for none."""
    return next((name for name in ENUM_MARKERS if name in declared.markers), "")


def list_values(markers: Markers, name: str = KUBEBUILDER_ENUM) -> list[JSON]:
    """Read the values that ``+kubebuilder:validation:Enum`` lists, none without it.

    ``a;b``, ``"a b";c`` and ``{a,b}`` are read as controller-gen reads them.
    """
    if name not in markers:
        return []
    text = markers[name][0].value
    if text.startswith("{"):
        parts = text[1:-1].split(",")
    else:
        parts = text.removeprefix("=").split(";")
    values: list[JSON] = []
    for part in parts:
        item = part.strip()
        if not item:
            continue
        try:
            value: JSON = json.loads(item)
        except (ValueError, RecursionError):
            value = item
        # A scalar keeps its type; what is not JSON is a string without quotes.
        values.append(value if isinstance(value, str | int | float) else item)
    return values
