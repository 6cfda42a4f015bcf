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
    packages = [f"'{package}'" for package in _of_extra(extra)]
    if not packages:
        # It runs from its sources, and nothing installed these.
        return f"pip install '.[{extra}]' in a clone of the repository"
    return f"pip install {' '.join(packages)}"


def requirements_of(extra: str) -> list[str]:
    """Return the names of the packages of an extra; of all users where it is empty.

    There are none where nothing installed this package.
    """
    names = []
    for requirement in _of_extra(extra):
        # PEP 508: a name, then extras or versions.
        name = re.match(r"[\w.-]+", requirement)
        if name is not None and name[0] != DISTRIBUTION:
            names.append(name[0])
    return names


def _of_extra(extra: str) -> list[str]:
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
        if (named[1] if named else "") == extra:
            found.append(package.strip())
    return found
