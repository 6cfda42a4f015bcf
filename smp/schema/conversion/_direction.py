"""What both directions of a conversion share: the words that both versions have,
references, paths.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import ClassVar, Final, TypeAlias

from smp.errors import SchemaError, SmpError
from smp.paths import Path
from smp.schema.rewrite import rewrite
from smp.values import JSON, JSONArray, JSONObject, type_name

Convert: TypeAlias = Callable[[JSONObject, Path], JSONObject | None]
Located: TypeAlias = tuple[JSONObject, Path]

DOCUMENT: Final = ("info", "tags", "externalDocs", "security")
_VERBS: Final = ("get", "put", "post", "delete", "options", "head", "patch")
OPERATION: Final = (
    "tags",
    "summary",
    "description",
    "externalDocs",
    "operationId",
    "deprecated",
    "security",
)
PARAMETER: Final = ("name", "in", "description", "required", "allowEmptyValue")
BODY: Final = ("description", "required")
PLAIN: Final = (  # what v2 says of a parameter itself, and v3 in the parameter's schema
    *(
        "type",
        "format",
        "items",
        "default",
        "maximum",
        "exclusiveMaximum",
        "minimum",
        "exclusiveMinimum",
    ),
    *(
        "maxLength",
        "minLength",
        "pattern",
        "maxItems",
        "minItems",
        "uniqueItems",
        "enum",
        "multipleOf",
    ),
)
STRUCTURE: Final = frozenset(
    {"properties", "additionalProperties", "items", "allOf", "anyOf", "oneOf", "not"}
)


class Direction(ABC):
    """What both directions share; ``lost`` grows as the conversion goes."""

    references: ClassVar[dict[str, str]]

    def __init__(self, source: JSONObject) -> None:
        self.source = source
        self.lost: list[Path] = []
        self._written_out: set[Path] = set()

    @abstractmethod
    def document(self) -> JSONObject:
        """Convert the whole document."""

    @abstractmethod
    def operation(self, node: JSONObject, path: Path) -> JSONObject:
        """Convert an operation."""

    @abstractmethod
    def parameter(self, node: JSONObject, path: Path) -> JSONObject | None:
        """Convert a parameter; None where it has no counterpart as a parameter."""

    @abstractmethod
    def schema_node(self, node: JSONObject) -> JSONObject:
        """Convert a schema, when the schemas inside it are done."""

    def kept(
        self,
        node: JSONObject,
        path: Path,
        words: Iterable[str],
        reworded: Iterable[str] = (),
    ) -> JSONObject:
        """Keep the words that both versions have, and extensions; what is not reworded
        either is lost.
        """
        kept = {
            word: value
            for word, value in node.items()
            if word in words or word.startswith("x-")
        }
        self.lost += [
            path / word for word in node if word not in kept and word not in reworded
        ]
        return kept

    def lose(self, path: Path) -> None:
        """Note what has no counterpart."""
        self.lost.append(path)

    def section(self, path: Path) -> JSONObject:
        """Return a section of the source; one that is not there is empty."""
        section = self.source
        for depth, step in enumerate(path.steps, start=1):
            section = as_object(section.get(str(step), {}), Path(path.steps[:depth]))
        return section

    def each(self, nodes: JSON, path: Path, convert: Convert) -> JSONObject:
        """Convert the members of an object."""
        converted = {
            name: convert(as_object(node, path / name), path / name)
            for name, node in as_object(nodes, path).items()
        }
        return {name: node for name, node in converted.items() if node is not None}

    def each_of_section(self, path: Path, convert: Convert) -> JSONObject:
        """Convert the members of a section of the source."""
        return self.each(self.section(path), path, convert)

    def each_but_extensions(
        self, nodes: JSON, path: Path, convert: Convert
    ) -> JSONObject:
        """Convert the members of an object that may have extensions."""
        members = as_object(nodes, path)
        extensions = {
            name: value for name, value in members.items() if name.startswith("x-")
        }
        others: JSONObject = {
            name: value for name, value in members.items() if name not in extensions
        }
        return extensions | self.each(others, path, convert)

    def resolved(self, node: JSONObject, path: Path, section: Path) -> Located:
        """Follow a reference into a section of the source; any other node is returned
        as it is.
        """
        reference, prefix = node.get("$ref"), f"#{section.pointer}/"
        if not isinstance(reference, str) or not reference.startswith(prefix):
            return node, path
        name = reference.removeprefix(prefix).replace("~1", "/").replace("~0", "~")
        shared = self.section(section)
        if name not in shared:
            raise SchemaError(
                f"{reference:.80} is nowhere defined",
                code="dangling-reference",
                path=path / "$ref",
            )
        self._written_out.add(section / name)
        return as_object(shared[name], section / name), section / name

    def lose_unused(self, section: Path, names: Iterable[str]) -> None:
        """Note shared parts that are to be written out where they are used, and that
        nothing uses.
        """
        self.lost += [
            section / name for name in names if section / name not in self._written_out
        ]

    def lose_beside_reference(self, node: JSONObject, path: Path) -> None:
        """Note what stands beside a reference that is no schema, where it means
        nothing.
        """
        self.lost += [path / word for word in node if word != "$ref" and "$ref" in node]

    def moved(self, reference: JSON) -> JSON:
        """Convert a reference. Raises SchemaError for one that leads out of the
        document.
        """
        for prefix, other in self.references.items():
            if isinstance(reference, str) and reference.startswith(prefix):
                return other + reference.removeprefix(prefix)
        shown = reference if isinstance(reference, str) else type_name(reference)
        problem = f"{shown:.80} is no reference to a part of this document"
        raise SchemaError(problem, code="invalid-reference", path=Path(("$ref",)))

    def schema(self, node: JSON, path: Path) -> JSON:
        """Convert a schema, wherever it stands."""
        try:
            return rewrite(node, self.schema_node)
        except SmpError as error:
            raise error.at(path) from None

    def schemas(self, path: Path) -> JSONObject:
        """Convert the schemas that the document names."""
        return {
            name: self.schema(node, path / name)
            for name, node in self.section(path).items()
        }

    def security_scheme(self, node: JSONObject, path: Path) -> JSONObject | None:
        """Convert a security scheme: a key, which both versions write alike and
        Kubernetes alone has.
        """
        if node.get("type") == "apiKey" and node.get("in") != "cookie":
            return node
        self.lose(path)
        return None

    def paths(self) -> JSONObject:
        """Convert the paths, where there are any."""
        paths = self.source.get("paths")
        return (
            {}
            if paths is None
            else {
                "paths": self.each_but_extensions(
                    paths, Path(("paths",)), self.path_item
                )
            }
        )

    def path_item(self, node: JSONObject, path: Path) -> JSONObject:
        """Convert a path: its verbs, and the parameters of them all."""
        item = self.kept(node, path, (), (*_VERBS, "parameters"))
        verbs: JSONObject = {verb: node[verb] for verb in _VERBS if verb in node}
        parameters: JSONObject = (
            {"parameters": self.parameters(node, path)} if "parameters" in node else {}
        )
        return item | self.each(verbs, path, self.operation) | parameters

    def parameters(self, node: JSONObject, path: Path) -> JSONArray:
        """Convert the parameters of a path or of an operation."""
        converted = [
            self.parameter_or_reference(*one) for one in parameters_of(node, path)
        ]
        return [one for one in converted if one is not None]

    def parameter_or_reference(self, node: JSONObject, path: Path) -> JSONObject | None:
        """Convert a parameter where it is used."""
        if "$ref" not in node:
            return self.parameter(node, path)
        self.lose_beside_reference(node, path)
        try:
            return {"$ref": self.moved(node["$ref"])}
        except SchemaError as error:
            raise error.at(path) from None


def parameters_of(node: JSONObject, path: Path) -> list[Located]:
    """Return the parameters of a path or of an operation, and where they are."""
    path /= "parameters"
    nodes = as_list(node.get("parameters", []), path)
    return [
        (as_object(one, path / index), path / index) for index, one in enumerate(nodes)
    ]


def filled(sections: JSONObject) -> JSONObject:
    """Return the sections that have something in them."""
    return {name: section for name, section in sections.items() if section}


def as_object(value: JSON, path: Path) -> JSONObject:
    """Return an object. Raises SchemaError for anything else."""
    if not isinstance(value, dict):
        raise SchemaError(f"an object is expected, not {type_name(value)}", path=path)
    return value


def as_list(value: JSON, path: Path) -> JSONArray:
    """Return a list. Raises SchemaError for anything else."""
    if not isinstance(value, list):
        raise SchemaError(f"a list is expected, not {type_name(value)}", path=path)
    return value
