"""Which files of a directory are patches, as the kustomizations in it list them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

import msgspec

from smp.cli._inputs import Inputs, is_for_another_tool
from smp.documents import read
from smp.errors import SmpError
from smp.values import JSON, JSONObject, as_list, as_object, as_text


class PatchTarget(msgspec.Struct, frozen=True):
    """The kind of what a patch is applied to; each part may be empty."""

    group: str = ""
    version: str = ""
    kind: str = ""


def patch_files(inputs: Inputs, files: Iterable[str]) -> dict[str, PatchTarget]:
    """Return the patches that kustomizations among the files list, with their targets.

    A kustomization that cannot be read lists none: kustomize says what is wrong.
    """
    found: dict[str, PatchTarget] = {}
    for file in files:
        if not is_for_another_tool(file):
            continue
        try:
            documents = read(inputs.data(file), source=file)
        except SmpError:
            continue
        folder = os.path.dirname(file)  # noqa: PTH120  # without pathlib
        for document in documents:
            for path, target in _patches_of(as_object(document.value)):
                found[os.path.normpath(os.path.join(folder, path))] = target  # noqa: PTH118  # as above
    return found


def _patches_of(kustomization: JSONObject) -> Iterator[tuple[str, PatchTarget]]:
    """Yield the paths of patches in a kustomization, with their targets.

    Reference of kustomization.yaml: patches, patchesStrategicMerge, patchesJson6902. A
    path without a target is of a patch that names its object.
    """
    listed: list[JSON] = []
    for field in ("patches", "patchesJson6902", "patchesStrategicMerge"):
        listed += as_list(kustomization.get(field))
    for entry in listed:
        # A text of several lines is a patch itself.
        if isinstance(entry, str):
            if "\n" not in entry:
                yield entry, PatchTarget()
            continue
        members = as_object(entry)
        target = as_object(members.get("target"))
        path = as_text(members.get("path"))
        if path:
            yield (
                path,
                PatchTarget(
                    as_text(target.get("group")),
                    as_text(target.get("version")),
                    as_text(target.get("kind")),
                ),
            )
