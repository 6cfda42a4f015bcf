"""How to install what an optional part of the package needs."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, requires

_DISTRIBUTION = "strategic-merge-patch"


def extra_hint(extra: str) -> str:
    """Word the command that installs the packages of an extra.

    They are named one by one: that works wherever this package came from, a clone, a
    wheel or an index.
    """
    try:
        requirements = requires(_DISTRIBUTION) or []
    except PackageNotFoundError:
        # It runs from its sources, which nothing installed.
        return f"pip install '.[{extra}]' in a clone of the repository"
    packages = []
    for requirement in requirements:
        package, _, marker = requirement.partition(";")
        if re.search(rf"extra *== *['\"]{extra}['\"]", marker):
            packages.append(f"'{package.strip()}'")
    return f"pip install {' '.join(packages)}"
