"""What ``--version`` prints: the engine, the interpreter, the bundled types.

It imports next to nothing, as it runs before the commands are loaded.
"""

import os
import sys
from _imp import extension_suffixes

import smp


def version_line() -> str:
    """Return the version, and what an answer depends on beside it."""
    package = smp.__path__[0]
    # The library that mypyc makes of a module is beside it, and is imported instead.
    libraries = {f"values{suffix}" for suffix in extension_suffixes()}
    names = {entry.name for entry in os.scandir(f"{package}/_values")}
    engine = "interpreted" if names.isdisjoint(libraries) else "compiled"
    bundled = [entry.name for entry in os.scandir(f"{package}/schema/bundled")]
    versions = [name.removesuffix(".types") for name in bundled if ".types" in name]
    # 1.9 comes before 1.10.
    versions.sort(key=lambda version: [int(number) for number in version.split(".")])
    python = ".".join(str(number) for number in sys.version_info[:3])
    return (
        f"smp {smp.__version__} ({engine} engine, Python {python},"
        f" Kubernetes {versions[0]} to {versions[-1]})"
    )
