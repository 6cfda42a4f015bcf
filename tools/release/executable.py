"""Make the archive of an executable ``kubectl-smp``, which needs no Python.

``python tools/release/executable.py FOLDER PLATFORM`` writes an archive
kubectl-smp-PLATFORM.tar.gz, such as kubectl-smp-linux-amd64.tar.gz, with PyInstaller
and the smp that is installed. It tries the executable before it packs it.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
_NAME: Final = "kubectl-smp"
# Commands and formats are imported by name, and tables are read from files.
_COLLECTED: Final = ("smp", "tree_sitter_go", "uvicorn")


def build(folder: Path) -> Path:
    """Make a folder with the executable and what it loads; return the executable."""
    script = folder / "kubectl_smp.py"
    script.write_text(
        "import sys\nfrom strategic_merge_patch import main\nsys.exit(main())\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "PyInstaller", "--noconfirm", "--onedir"]
    command += ["--log-level", "WARN", "--name", _NAME]
    for package in _COLLECTED:
        command += ["--collect-all", package]
    command += ["--recursive-copy-metadata", "strategic-merge-patch"]
    command += ["--distpath", str(folder / "dist"), "--workpath", str(folder / "work")]
    command += ["--specpath", str(folder), str(script)]
    # In another folder: the smp that is packed is the one that is installed.
    subprocess.run(command, check=True, cwd=folder)  # noqa: S603  # as above
    ending = ".exe" if sys.platform == "win32" else ""
    return folder / "dist" / _NAME / f"{_NAME}{ending}"


def try_out(executable: Path) -> None:
    """Run what a user runs first."""
    examples = ROOT / "docs" / "examples"
    inputs = ("-f", str(examples / "new.yaml"), "--live", str(examples / "live.yaml"))
    page = ("apply", *inputs, "--format", "html")
    for arguments in (("--version",), page, ("doctor",)):
        subprocess.run(  # noqa: S603  # as above
            [executable, *arguments], check=True, stdout=subprocess.DEVNULL
        )


def main() -> int:
    """Write the archive."""
    target, platform = Path(sys.argv[1]), sys.argv[2]
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        executable = build(Path(name))
        try_out(executable)
        for text in ("LICENSE", "NOTICE"):
            (executable.parent / text).write_bytes((ROOT / text).read_bytes())
        archive = target / f"{_NAME}-{platform}.tar.gz"
        with tarfile.open(archive, "w:gz") as tar:
            tar.add(executable.parent, arcname=_NAME)
    return 0


if __name__ == "__main__":
    sys.exit(main())
