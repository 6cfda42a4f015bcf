"""What an optional part of the package needs, and how to install that."""

from __future__ import annotations

import re
from typing import Final

DISTRIBUTION: Final = "strategic-merge-patch"


def extra_hint(extra: str) -> str:
    """Word the command that installs the packages of an extra.

    They are named one by one: that works wherever this package came from, a clone, a
    wheel or an index.
    """
    packages = [f"'{package}'" for package in _list_requirements(extra)]
    if not packages:
        # It runs from its sources, and nothing installed these.
        return f"pip install '.[{extra}]' in a clone of the repository"
    return f"pip install {' '.join(packages)}"


def requirements_of(extra: str) -> list[str]:
    """Return the names of the packages of an extra; of all users where it is empty.

    There are none where nothing installed this package.
    """
    # PEP 508: a name, then extras or versions.
    names = [
        re.match(r"[\w.-]+", requirement) for requirement in _list_requirements(extra)
    ]
    return [name[0] for name in names if name is not None]


def _list_requirements(extra: str) -> list[str]:
    """Return the requirements of an extra, without their markers."""
    # Only where a package is missing, as the import takes 10 ms.
    from importlib.metadata import (  # noqa: PLC0415  # see above
        PackageNotFoundError,
        requires,
    )

    try:
        requirements = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        return []
    found = []
    for requirement in requirements:
        package, _, marker = requirement.partition(";")
        named = re.search(r"extra *== *['\"]([\w-]+)['\"]", marker)
        if (named[1] if named else "") != extra:
            continue
        # An extra may have other extras: strategic-merge-patch[server].
        others = re.match(rf"{DISTRIBUTION}\[(.*)\]", package)
        if others is None:
            found.append(package.strip())
            continue
        for other in others[1].split(","):
            found += _list_requirements(other.strip())
    return found
