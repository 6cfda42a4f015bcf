"""An overlay (smp.schema.overlay) on schemas that come and go while a server runs.

Whether a row fits its type is known once the type exists: for a built-in kind at the
start, which fails if it does not fit, and for a custom resource when its definition is
created. There a row that does not fit is left out, with a warning; requests for the
objects go on without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from smp._values.values import JSONObject, as_list, as_object
from smp.errors import SchemaError
from smp.paths import Path
from smp.schema.catalog import Catalog
from smp.schema.model import ListType, ObjectType, Type, TypeDocument
from smp.unions import VALIDATION_INTERESTS

# A definition has a kind for each version; Kubernetes has hundreds, checked once.
_FEW: Final = 20
_VALIDATION: Final = VALIDATION_INTERESTS["kep1027"]


def check_types(*starts: Type) -> None:
    """Link all types that some types reach, and read their unions.

    Requests would do that when they reach a type. Raises SchemaError, with the path.
    """
    seen: set[Type] = set()
    pending: list[tuple[Type, Path, tuple[str, ...]]] = [
        (start, Path(), ()) for start in starts
    ]
    while pending:
        type_, path, keys = pending.pop()
        # Types refer to each other in circles.
        if type_ in seen:
            continue
        seen.add(type_)
        try:
            # Reads the unions of an object, and compares the keys of a list with those
            # of its elements.
            _VALIDATION.facts(type_, keys)
            if isinstance(type_, ListType):
                pending.append((type_.items, path, ()))
            if isinstance(type_, ObjectType):
                for field in type_:
                    inner = field.type
                    keys = (field.merge_key,) if field.merge_key else ()
                    if isinstance(inner, ListType) and not keys:
                        keys = inner.map_keys
                    pending.append((inner, path / field.name, keys))
                if type_.others is not None:
                    pending.append((type_.others.type, path, ()))
        except SchemaError as error:
            raise error.at(path) from None


def add_fitting_rows(
    catalog: Catalog, overlay: JSONObject, version: str
) -> tuple[Catalog, tuple[SchemaError, ...]]:
    """Return a catalog corrected by the rows that fit, and what is wrong with others.

    The rows are those for a Kubernetes version. Those for types and kinds that the
    catalog lacks are for other catalogs.
    """
    # Joined to a catalog of the types that only the overlay has, a catalog of custom
    # resources has a version.
    added: dict[str, TypeDocument] = {
        name: document
        for name, document in as_object(overlay.get("types")).items()
        if isinstance(document, str | dict)
    }
    corrected = Catalog({}, added.get, source="Kubernetes", version=version) | catalog
    misfits: list[SchemaError] = []
    for path, row, name in _rows(overlay, catalog):
        candidate = corrected.with_overlay(row)
        # All schemas of a catalog have the same types.
        types = candidate.schema(*catalog.kinds()[0]).types
        try:
            check_types(types.named(name))
            # A definition has few kinds; a type may fit, and not where it is used.
            if len(catalog.kinds()) <= _FEW:
                check_kinds(candidate)
        except SchemaError as error:
            steps = error.path.steps
            if error.code == "invalid-overlay":
                # Overlay.load begins with the section and the name of the type.
                steps = steps[2:]
            misfit = SchemaError(error.problem, code=error.code)
            misfits.append(misfit.at(Path((*path.steps, *steps))))
        else:
            corrected = candidate
    return corrected, tuple(misfits)


def check_kinds(catalog: Catalog) -> None:
    """Check the types of all kinds of a catalog. Raises SchemaError, with the path."""
    check_types(*[catalog.schema(*kind).type for kind in catalog.kinds()])


def _rows(
    overlay: JSONObject, catalog: Catalog
) -> Iterator[tuple[Path, JSONObject, str]]:
    """Yield the parts of an overlay that concern a catalog, in the order of effect.

    Each is an overlay, with its path and the name of the type that it is about
    (smp.schema.overlay.Overlay.load corrects a type before it adds unions).
    """
    kinds = set(catalog.kinds())
    for api_version, by_kind in as_object(overlay.get("kinds")).items():
        for kind, name in as_object(by_kind).items():
            if (api_version, kind) in kinds:
                row: JSONObject = {"kinds": {api_version: {kind: name}}}
                yield Path(("kinds", api_version, kind)), row, str(name)
    for name, correction in as_object(overlay.get("types")).items():
        if catalog.load(name) is not None:
            yield Path(("types", name)), {"types": {name: correction}}, name
    for index, union in enumerate(as_list(overlay.get("unions"))):
        for name, versions in as_object(as_object(union).get("types")).items():
            if catalog.load(name) is not None:
                row = {"unions": [{**as_object(union), "types": {name: versions}}]}
                yield Path(("unions", index, "types", name)), row, name
