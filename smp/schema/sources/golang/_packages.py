"""Go packages of many files, and what a name in one of them refers to.

There is no Go toolchain and no module file: a package is known by its directory and its
package clause, and an import path refers to the package whose directory ends like it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, TypeAlias

import msgspec

from smp._values.values import JSONObject
from smp.errors import DocumentError
from smp.schema.sources.golang import _well_known
from smp.schema.sources.golang._markers import NO_MARKERS, Markers, markers
from smp.schema.sources.golang._syntax import (
    Expression,
    GoConstant,
    GoFile,
    GoName,
    GoType,
    InterfaceType,
    MapType,
    PointerType,
    SliceType,
    SourcePosition,
    StructType,
    Sum,
    TypeConversion,
    TypeDeclaration,
    UnsupportedType,
)

Directories: TypeAlias = tuple[str, ...]
_VERSION: Final = re.compile(r"v\d+((alpha|beta)\d+)?")


class GoPackage:
    """The files of one directory that have the same package clause.

    ``label`` is the first part of the names of its schemas; ``well_known`` has the
    schemas of its types that encode themselves, by name.
    """

    __slots__ = (
        "constants",
        "directory",
        "label",
        "markers",
        "name",
        "types",
        "unmarshalers",
        "well_known",
    )

    def __init__(self, directory: Directories, name: str) -> None:
        self.directory = directory
        self.name = name
        self.label = ""
        self.markers: Markers = NO_MARKERS
        self.types: dict[str, DeclaredType] = {}
        self.constants: dict[str, GoConstant] = {}
        self.unmarshalers: set[str] = set()
        self.well_known: dict[str, JSONObject] = {}

    def add(self, file: GoFile) -> None:
        """Add what a file declares."""
        # Markers of the package may be in any of its files; by convention in doc.go.
        self.markers = {**self.markers, **markers(file.comment)}
        for declaration in file.types:
            self.types[declaration.name] = DeclaredType(
                self, declaration, markers(declaration.comment)
            )
        for constant in file.constants:
            self.constants[constant.name] = constant
        self.unmarshalers |= file.unmarshalers

    def qualified_name(self, parents: int) -> str:
        """Return the name, after the names of that many parent directories."""
        above = self.directory[:-1]
        shown = above[max(len(above) - parents, 0) :]
        return ".".join((*shown, self.name))


class DeclaredType(msgspec.Struct, frozen=True):
    """A type declaration, and the package that it belongs to."""

    package: GoPackage
    syntax: TypeDeclaration
    markers: Markers

    @property
    def name(self) -> str:
        """The name of the type's schema."""
        return f"{self.package.label}.{self.syntax.name}"


class BasicType(msgspec.Struct, frozen=True):
    """A type that Go has without a declaration: string, int32, bool."""

    name: str


class WellKnownType(msgspec.Struct, frozen=True):
    """A type of another package whose schema is known without its source."""

    schema: JSONObject


class PublishedType(msgspec.Struct, frozen=True):
    """A type of the Kubernetes API whose source is not given.

    ``name`` is the one of its published schema.
    """

    name: str


# What the name of a type refers to.
NamedType: TypeAlias = DeclaredType | BasicType | WellKnownType | PublishedType
# What is left once all names are resolved: a DeclaredType then is a struct.
ResolvedType: TypeAlias = (
    NamedType
    | PointerType
    | SliceType
    | MapType
    | StructType
    | InterfaceType
    | UnsupportedType
)


class Packages:
    """All packages of the given files."""

    def __init__(self, files: list[GoFile]) -> None:
        self._imports = {file.path: file.imports for file in files}
        self._by_file: dict[str, GoPackage] = {}
        packages: dict[tuple[Directories, str], GoPackage] = {}
        for file in files:
            # Names in the module cache have versions, k8s.io/api@v0.31.0, which import
            # paths have not.
            steps = file.path.replace("\\", "/").split("/")[:-1]
            directory = tuple(
                step.split("@")[0] for step in steps if step not in ("", ".")
            )
            key = (directory, file.package)
            package = packages.setdefault(key, GoPackage(directory, file.package))
            package.add(file)
            self._by_file[file.path] = package
        self._all = tuple(packages.values())
        _set_labels(self._all)
        # Inside its own package a well-known type has no import path.
        for (path, name), schema in _well_known.TYPES.items():
            owner = self._find_package(path)
            if owner is not None:
                owner.well_known[name] = schema

    def __iter__(self) -> Iterator[GoPackage]:
        return iter(self._all)

    # --- types ---

    def named_type(self, name: GoName) -> NamedType:
        """Return what the name of a type refers to in its file.

        Raises DocumentError (code unresolvable-type).
        """
        if not name.package:
            here = self._by_file[name.at.source]
            if name.name in here.well_known:
                return WellKnownType(here.well_known[name.name])
            # A declaration of the package hides a type of Go's own with the same name.
            if name.name in here.types:
                return here.types[name.name]
            if name.name in _well_known.BASIC:
                return BasicType(name.name)
            raise _unresolvable(name, "the package does not declare it")
        path = self._imports[name.at.source].get(name.package)
        if path is None:
            raise _unresolvable(name, f"the file does not import {name.package}")
        key = (path, name.name)
        # The fields of a type that encodes itself say nothing about its JSON, so its
        # schema comes before its source. For all others the source comes first.
        if key in _well_known.TYPES:
            return WellKnownType(_well_known.TYPES[key])
        package = self._find_package(path)
        if package and name.name in package.types:
            return package.types[name.name]
        if key in _well_known.NAMED:
            return BasicType(_well_known.NAMED[key])
        if key in _well_known.MAPS:
            return WellKnownType(_well_known.MAPS[key])
        if path.startswith(_well_known.KUBERNETES):
            # k8s.io/api/core/v1 is published as io.k8s.api.core.v1.
            steps = path.replace(".io/", "/").split("/")
            return PublishedType(".".join(("io", *steps, name.name)))
        raise _unresolvable(
            name,
            f"the source of {path} is missing",
            "give the source of that package, too",
        )

    def resolve(self, type_: GoType) -> ResolvedType:
        """Follow names to a declared struct, or to a type of another form.

        Raises DocumentError (code unresolvable-type).
        """
        seen: set[str] = set()
        while isinstance(type_, GoName):
            named = self.named_type(type_)
            if not isinstance(named, DeclaredType):
                return named
            if isinstance(named.syntax.type, StructType):
                return named
            if named.name in seen:
                raise _unresolvable(type_, "its declaration refers to itself")
            seen.add(named.name)
            type_ = named.syntax.type
        return type_

    def value_type(self, type_: GoType) -> ResolvedType:
        """Follow names and pointers: JSON has the value that a pointer points to.

        Raises DocumentError (code unresolvable-type).
        """
        seen: set[SourcePosition] = set()
        resolved = self.resolve(type_)
        while isinstance(resolved, PointerType):
            if isinstance(resolved.to, GoName):
                if resolved.to.at in seen:
                    raise _unresolvable(resolved.to, "it is a pointer to itself")
                seen.add(resolved.to.at)
            resolved = self.resolve(resolved.to)
        return resolved

    def struct(self, declared: DeclaredType) -> StructType | None:
        """Return the struct of a declared type, None for a type of another form.

        ``type A B`` declares a struct if B is one; an alias declares no type.
        """
        if declared.syntax.alias:
            return None
        resolved = self.resolve(declared.syntax.type)
        type_ = resolved.syntax.type if isinstance(resolved, DeclaredType) else resolved
        return type_ if isinstance(type_, StructType) else None

    def declared(self, type_: GoType) -> DeclaredType | None:
        """Follow aliases to the declared type of a name; None for any other type."""
        seen: set[str] = set()
        while isinstance(type_, GoName):
            named = self.named_type(type_)
            if not isinstance(named, DeclaredType) or named.name in seen:
                return None
            if not named.syntax.alias:
                return named
            seen.add(named.name)
            type_ = named.syntax.type
        return None

    # --- constants ---

    def evaluate(self, constant: GoConstant) -> tuple[GoType | None, Expression]:
        """Return the type of a constant, None if it is untyped, and its value.

        The value is None where the expression is of a form that is not evaluated.
        """
        return self._evaluate(constant, frozenset())

    def constant_value(self, at: SourcePosition, path: str, name: str) -> Expression:
        """Return the value of a constant of the package with an import path.

        An empty path means the package of the position. None for an unknown constant.
        """
        package = self._find_package(path) if path else self._by_file[at.source]
        constant = package.constants.get(name) if package else None
        return self.evaluate(constant)[1] if constant else None

    def _evaluate(
        self, constant: GoConstant, seen: frozenset[SourcePosition]
    ) -> tuple[GoType | None, Expression]:
        """Evaluate a constant; ``seen`` are the constants whose values refer to it."""
        implied, value = self._evaluate_expression(constant.value, seen | {constant.at})
        # A declared type comes before the one that the expression implies.
        return constant.type or implied, value

    def _evaluate_expression(
        self, expression: Expression, seen: frozenset[SourcePosition]
    ) -> tuple[GoType | None, Expression]:
        match expression:
            case TypeConversion(to, inner):
                # T(x) has the type T.
                return to, self._evaluate_expression(inner, seen)[1]
            case Sum(left, right):
                left_type, left_value = self._evaluate_expression(left, seen)
                right_type, right_value = self._evaluate_expression(right, seen)
                # Only strings are concatenated: enums are types of strings.
                if isinstance(left_value, str) and isinstance(right_value, str):
                    return left_type or right_type, left_value + right_value
                return None, None
            case GoName():
                if expression.package:
                    imports = self._imports[expression.at.source]
                    package = self._find_package(imports.get(expression.package, ""))
                else:
                    package = self._by_file[expression.at.source]
                constant = package.constants.get(expression.name) if package else None
                # An unknown constant, or one that is declared by itself.
                if constant is None or constant.at in seen:
                    return None, None
                return self._evaluate(constant, seen)
        return None, expression

    def _find_package(self, path: str) -> GoPackage | None:
        """Find the package of an import path: the one whose directory ends like it.

        Two steps must be the same, or all of a shorter directory: the last step alone
        is often a version, such as v1.
        """
        steps = path.split("/")
        best, longest = None, -1
        for package in self._all:
            shared = 0
            for step, other in zip(
                reversed(package.directory), reversed(steps), strict=False
            ):
                if step != other:
                    break
                shared += 1
            if shared > longest:
                best, longest = package, shared
        if best is None or longest < 1 or longest < min(2, len(best.directory)):
            return None
        # An external test package is in the directory of the package that it tests.
        return None if best.name.endswith("_test") else best


def group_version(package: GoPackage) -> tuple[str, str] | None:
    """Return the API group and version of a package, None if it does not name them.

    The group is in the marker ``+groupName`` of the package, or in the constant
    GroupName that its register.go has by convention; the version is the package name.
    """
    group: Expression = None
    if "groupName" in package.markers:
        group = package.markers["groupName"][0].value
    elif "GroupName" in package.constants:
        group = package.constants["GroupName"].value
    if not isinstance(group, str) or not _VERSION.fullmatch(package.name):
        return None
    return group, package.name


def _set_labels(packages: tuple[GoPackage, ...]) -> None:
    """Label each package, so that types of one name have different schema names.

    The label is what ``+k8s:openapi-model-package`` says (Go: kube-openapi's
    model_names.go). Without the marker it is the package name, after the names of as
    many directories as packages of one name differ in.
    """
    unmarked: dict[str, list[GoPackage]] = {}
    for package in packages:
        model_package = package.markers.get("k8s:openapi-model-package")
        if model_package:
            package.label = model_package[0].value
        else:
            unmarked.setdefault(package.name, []).append(package)
    for namesakes in unmarked.values():
        deepest = max(len(package.directory) for package in namesakes)
        parents = 0
        while parents < deepest:
            names = {package.qualified_name(parents) for package in namesakes}
            if len(names) == len(namesakes):
                break
            parents += 1
        for package in namesakes:
            package.label = package.qualified_name(parents)


def _unresolvable(name: GoName, reason: str, hint: str = "") -> DocumentError:
    return name.at.error(
        f"unknown type {name}: {reason}", code="unresolvable-type", hint=hint
    )
