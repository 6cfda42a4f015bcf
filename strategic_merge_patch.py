"""The commands ``smp``, ``smp-diff`` and ``kubectl-smp``, as their scripts call them.

The library is imported as ``smp``. Another distribution has a package of that name as
well, so the commands begin in this module, whose name is that of our distribution
alone, and look which ``smp`` there is before they run it. ``python -m
strategic_merge_patch`` is the command ``smp``.
"""

from __future__ import annotations

import sys

__all__ = ["main", "main_diff"]

_DISTRIBUTION = "strategic-merge-patch"
_ERROR = 2


def main() -> int:
    """Run ``smp`` with the arguments of the process, and return its exit code."""
    if _has_smp():
        from smp.cli import main as run  # noqa: PLC0415  # only if it is ours

        return run()
    return _ERROR


def main_diff() -> int:
    """Run ``smp diff`` as a command of its own, and return its exit code."""
    if _has_smp():
        from smp.cli import main_diff as run  # noqa: PLC0415  # only if it is ours

        return run()
    return _ERROR


def _has_smp() -> bool:
    """Tell whether ``smp`` is the package of this distribution, or report what it is.

    It is another one where a distribution that was installed later has overwritten
    files of it, where that was removed with them, and where a folder before it on the
    path has a module of the name.
    """
    try:
        import smp  # noqa: PLC0415  # see above
    except Exception as error:  # noqa: BLE001  # another package may need anything
        found = f"it cannot be imported: {type(error).__name__}: {error}"
    else:
        if getattr(smp, "__distribution__", None) == _DISTRIBUTION:
            return True
        # A folder without __init__.py is a package as well, which has no file.
        found = smp.__file__ or f"{list(smp.__path__)}, without __init__.py"
    sys.stderr.write(_message(found))
    return False


def _message(found: str) -> str:
    # Looking through all distributions takes a while, and is for this case alone.
    from importlib.metadata import distributions  # noqa: PLC0415  # see above

    owners = []
    for distribution in distributions():
        files = distribution.files or ()
        is_owner = any(file.parts[0] in ("smp", "smp.py") for file in files)
        if is_owner and distribution.name != _DISTRIBUTION:
            owners.append(f"{distribution.name} {distribution.version}")
    lines = [
        f"smp: error: the package smp that is imported is not that of {_DISTRIBUTION}",
        f"  found:  {found}",
    ]
    if owners:
        lines.append(f"  also installed with a package smp: {', '.join(owners)}")
        remedy = "use an environment for each, or uninstall the other and"
    else:
        remedy = "rename a file or folder smp that is on PYTHONPATH, or"
    lines.append(f"  hint:   {remedy} install {_DISTRIBUTION} again")
    return "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
