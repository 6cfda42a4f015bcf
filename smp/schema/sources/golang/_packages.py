"""Go packages of many files, and what a name in one of them means."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from smp.errors import DocumentError
from smp.schema.sources.golang import _known
from smp.schema.sources.golang._markers import Markers, markers
from smp.schema.sources.golang._syntax import (
    Constant,
    Conversion,
    File,
    Interface,
    List,
    Map,
    Name,
    Other,
    Pointer,
    Position,
    Struct,
    Sum,
    Type,
    TypeDeclaration,
    Value,
)
from smp.values import JSONObject

Steps: TypeAlias = tuple[str, ...]
_VERSIONED: Final = re.compile(r"v\d+((alpha|beta)\d+)?")


@dataclass(slots=True)
class Package:
    """A directory of files with one package clause."""

    directory: Steps
    name: str
    markers: Markers = field(default_factory=dict)
    types: dict[str, Declaration] = field(default_factory=dict)
    constants: dict[str, Constant] = field(default_factory=dict)
    unmarshals: set[str] = field(default_factory=set)
    known: dict[str, JSONObject] = field(default_factory=dict)
    label: str = ""


@dataclass(frozen=True, slots=True)
class Declaration:
    """A declared type and the package that declares it."""

    package: Package
    syntax: TypeDeclaration
    markers: Markers

    @property
    def name(self) -> str:
        """The name of the type's schema."""
        return f"{self.package.label}.{self.syntax.name}"


@dataclass(frozen=True, slots=True)
class Basic:
    """A type that Go has without a declaration: string, int32, bool."""

    name: str


@dataclass(frozen=True, slots=True)
class Known:
    """A type of another package whose schema is known without its source."""

    schema: JSONObject


@dataclass(frozen=True, slots=True)
class Bundled:
    """A type of the Kubernetes API whose source is not given, by the name that
    published schemas give it.
    """

    name: str


Meaning: TypeAlias = Declaration | Basic | Known | Bundled
# What is left when no name is: a Declaration then is one of a struct.
Resolved: TypeAlias = Meaning | Pointer | List | Map | Struct | Interface | Other


class Packages:
    """All packages of the given files."""

    def __init__(self, files: list[File]) -> None:
        self._imports = {file.path: file.imports for file in files}
        self._of_file: dict[str, Package] = {}
        found: dict[tuple[Steps, str], Package] = {}
        for file in files:
            directory = _directory(file.path)
            package = found.setdefault(
                (directory, file.package), Package(directory, file.package)
            )
            self._of_file[file.path] = package
            _add(package, file)
        self._all = tuple(found.values())
        _label(self._all)
        for (path, name), schema in _known.TYPES.items():
            described = self._at(path)
            if described is not None:
                described.known[name] = schema

    def __iter__(self) -> Iterator[Package]:
        return iter(self._all)

    def meaning(self, name: Name) -> Meaning:
        """Say what a name of a type means where it stands. Raises DocumentError (code
        unresolvable-type).
        """
        if not name.package:
            return self._declared(self._of_file[name.at.source], name)
        path = self._imports[name.at.source].get(name.package)
        if path is None:
            raise _unresolvable(name, f"the file does not import {name.package}")
        return self._imported(path, name)

    def resolve(self, written: Type) -> Resolved:
        """Follow names to what they stand for: a declared struct, or a type of another
        form.
        """
        seen = set[str]()
        while isinstance(written, Name):
            meaning = self.meaning(written)
            if not isinstance(meaning, Declaration) or isinstance(
                meaning.syntax.type, Struct
            ):
                return meaning
            if meaning.name in seen:
                raise _unresolvable(written, "it stands for nothing but itself")
            seen.add(meaning.name)
            written = meaning.syntax.type
        return written

    def struct(self, declaration: Declaration) -> Struct | None:
        """Return the struct that a type is declared as, maybe by the name of another
        (``type A B``).
        """
        if declaration.syntax.alias:
            return None
        resolved = self.resolve(declaration.syntax.type)
        # What is resolved to a declaration is declared as a struct.
        struct = resolved.syntax.type if isinstance(resolved, Declaration) else resolved
        return struct if isinstance(struct, Struct) else None

    def value_type(self, written: Type) -> Resolved:
        """Follow names and pointers to the type of the value."""
        seen = set[Position]()
        resolved = self.resolve(written)
        while isinstance(resolved, Pointer):
            if isinstance(resolved.to, Name):
                if resolved.to.at in seen:
                    raise _unresolvable(resolved.to, "it points to nothing but itself")
                seen.add(resolved.to.at)
            resolved = self.resolve(resolved.to)
        return resolved

    def declared(self, written: Type) -> Declaration | None:
        """Follow aliases to the declared type that a name stands for; None for any
        other type.
        """
        seen = set[str]()
        while isinstance(written, Name):
            meaning = self.meaning(written)
            if not isinstance(meaning, Declaration) or meaning.name in seen:
                return None
            if not meaning.syntax.alias:
                return meaning
            seen.add(meaning.name)
            written = meaning.syntax.type
        return None

    def _declared(self, package: Package, name: Name) -> Meaning:
        if name.name in package.known:
            return Known(package.known[name.name])
        declared = package.types.get(name.name)
        if declared is None and name.name not in _known.BASIC:
            raise _unresolvable(name, "the package does not declare it")
        return declared or Basic(name.name)

    def _imported(self, path: str, name: Name) -> Meaning:
        key = (path, name.name)
        if key in _known.TYPES:
            return Known(_known.TYPES[key])
        package = self._at(path)
        if package and name.name in package.types:
            return package.types[name.name]
        if key in _known.NAMED:
            return Basic(_known.NAMED[key])
        if key in _known.MAPS:
            return Known(_known.MAPS[key])
        if path.startswith(_known.KUBERNETES):
            return Bundled(
                ".".join(("io", *path.replace(".io/", "/").split("/"), name.name))
            )
        raise _unresolvable(
            name,
            f"there is no source of {path}",
            "give the source of that package, too",
        )

    def _at(self, path: str) -> Package | None:
        """Find the package of an import path: the directory that ends like it, in two
        steps at least.
        """
        steps = tuple(path.split("/"))
        shared = [(_shared(package.directory, steps), package) for package in self._all]
        best, package = max(shared, key=lambda each: each[0])
        enough = best >= min(2, len(package.directory)) and best > 0
        return package if enough and not package.name.endswith("_test") else None

    def typed(self, constant: Constant) -> tuple[Type | None, Value]:
        """Evaluate a constant: its type where it has one, and its value; None for what
        is not told.
        """
        return self._typed(constant, frozenset())

    def _typed(
        self, constant: Constant, seen: frozenset[Position]
    ) -> tuple[Type | None, Value]:
        implied, value = self._value(constant.value, seen | {constant.at})
        return constant.type or implied, value

    def _value(
        self, value: Value, seen: frozenset[Position]
    ) -> tuple[Type | None, Value]:
        match value:
            case Conversion(to, inner):
                return to, self._value(inner, seen)[1]
            case Sum(left, right):
                return self._sum(self._value(left, seen), self._value(right, seen))
            case Name():
                constant = self._constant(value)
                return (
                    (None, None)
                    if constant is None or constant.at in seen
                    else self._typed(constant, seen)
                )
        return None, value

    def _sum(
        self, left: tuple[Type | None, Value], right: tuple[Type | None, Value]
    ) -> tuple[Type | None, Value]:
        if isinstance(left[1], str) and isinstance(right[1], str):
            return left[0] or right[0], left[1] + right[1]
        return None, None

    def constant(self, at: Position, path: str, name: str) -> Value:
        """Return the value of a constant of the package of a position or, with a path,
        of that package.
        """
        package = self._at(path) if path else self._of_file[at.source]
        constant = package.constants.get(name) if package else None
        return self.typed(constant)[1] if constant else None

    def _constant(self, name: Name) -> Constant | None:
        if not name.package:
            return self._of_file[name.at.source].constants.get(name.name)
        package = self._at(self._imports[name.at.source].get(name.package, ""))
        return package.constants.get(name.name) if package else None


def group_version(package: Package) -> tuple[str, str] | None:
    """Return the API group and version of a package, None where it is not said."""
    marked, constant = (
        package.markers.get("groupName"),
        package.constants.get("GroupName"),
    )
    group = marked[0].value if marked else constant.value if constant else None
    return (
        (group, package.name)
        if isinstance(group, str) and _VERSIONED.fullmatch(package.name)
        else None
    )


def _add(package: Package, file: File) -> None:
    package.markers = {**package.markers, **markers(file.comment)}
    for declared in file.types:
        package.types[declared.name] = Declaration(
            package, declared, markers(declared.comment)
        )
    for constant in file.constants:
        package.constants[constant.name] = constant
    package.unmarshals |= file.unmarshals


def _directory(path: str) -> Steps:
    """Split the directory of a file, without the versions that the module cache puts
    into names.
    """
    steps = path.replace("\\", "/").split("/")[:-1]
    return tuple(step.split("@")[0] for step in steps if step not in ("", "."))


def _label(packages: tuple[Package, ...]) -> None:
    """Label each package: as its marker says, else by its name, else by as many
    directories as tell it apart.
    """
    unmarked: dict[str, list[Package]] = {}
    for package in packages:
        marked = package.markers.get("k8s:openapi-model-package")
        package.label = marked[0].value if marked else package.name
        if not marked:
            unmarked.setdefault(package.name, []).append(package)
    for alike in unmarked.values():
        depth = 1
        while len({_qualified(package, depth) for package in alike}) < len(
            alike
        ) and depth < _deepest(alike):
            depth += 1
        for package in alike:
            package.label = _qualified(package, depth)


def _deepest(packages: list[Package]) -> int:
    return 1 + max(len(package.directory) for package in packages)


def _qualified(package: Package, depth: int) -> str:
    above = package.directory[:-1]
    return (
        ".".join((*above[len(above) - depth + 1 :], package.name))
        if depth > 1
        else package.name
    )


def _shared(left: Steps, right: Steps) -> int:
    count = 0
    for one, other in zip(reversed(left), reversed(right), strict=False):
        if one != other:
            break
        count += 1
    return count


def _unresolvable(name: Name, reason: str, hint: str = "") -> DocumentError:
    return name.at.error(
        f"unknown type {name}: {reason}", code="unresolvable-type", hint=hint
    )
