"""What the site serves to a browser beside its pages: the engine, and a library.

The page docs/try.md runs the engine in Pyodide, a CPython compiled to WebAssembly. What
is not ours comes from the npm registry and PyPI, in one version each, and is checked by
its hash; it is kept in build/browser. Nothing is loaded from elsewhere by a page.

Several processes may make these files at the same time, and serve them meanwhile. So
each file is written elsewhere, and takes its place as a whole.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec

# With this variable set to 0 nothing is downloaded: the diagrams are text then, and the
# page says that the engine is missing.
VARIABLE: Final = "SMP_SITE_DOWNLOADS"
MERMAID_URL: Final = "assets/browser/mermaid.min.js"
_FOLDER: Final = "assets/browser"


class Tarball(msgspec.Struct, frozen=True):
    """A package of the npm registry, and the files of it that are served."""

    name: str
    version: str
    sha512: str
    members: tuple[str, ...]


PYODIDE: Final = Tarball(
    "pyodide",
    "314.0.7",
    "d18bd7c4485f11da4b7dbfd790cd8114078c44eab488c517d9bcf31fda4eb6dc"
    "8c716930abe1db139bb2b860fcd8b37bcb6abe48dbe2ffa579244b0e943d91d4",
    (
        "pyodide.mjs",
        "pyodide.asm.mjs",
        "pyodide.asm.wasm",
        "pyodide-lock.json",
        "python_stdlib.zip",
    ),
)
MERMAID: Final = Tarball(
    "mermaid",
    "11.17.2",
    "57a2b70bc101744b0f1595d228c25eea9a50384371b87011afd1af1d7e21878e"
    "e501b84c443f6a7f8a042bb2e869143150b31af34feab798073bbdda0a578106",
    ("dist/mermaid.min.js",),
)
# Compiled to WebAssembly for that Pyodide. The other requirements are pure Python.
_MSGSPEC: Final = (
    "msgspec==0.22.0 --hash="
    "sha256:a66b1766311e42371e509c996c3933b161c7ae0eabdf361af5316dec197e1022"
)
_PLATFORM: Final = (
    "--platform=pyemscripten_2026_0_wasm32",
    "--python-version=3.14",
    "--implementation=cp",
    "--abi=cp314",
)
_PURE: Final = ("jsonpatch", "jsonpointer", "yaml")
# Parts of the package that need sockets, files or a terminal.
_NOT_IN_A_BROWSER: Final = ("cli", "cluster", "pytest_plugin.py", "server", "testing")


def has_downloads() -> bool:
    """Tell whether something is downloaded for the site."""
    return os.environ.get(VARIABLE) != "0"


def files(root: Path) -> dict[str, Path]:
    """Return the files to serve by their paths on the site; none without downloads."""
    if not has_downloads():
        return {}
    served = [*engine_files(root), *_members(MERMAID, _cache(root))]
    return {f"{_FOLDER}/{path.name}": path for path in served}


def engine_files(root: Path) -> list[Path]:
    """Return the files that the engine needs in a browser.

    Raises FileNotFoundError without npm.
    """
    if shutil.which("npm") is None:
        raise FileNotFoundError(
            f"npm is not installed; {VARIABLE}=0 builds the site without the engine,"
            " and with diagrams as text"
        )
    cache = _cache(root)
    return [*_members(PYODIDE, cache), _bundle(root, cache, _msgspec(cache))]


def _cache(root: Path) -> Path:
    cache = root / "build" / "browser"
    cache.mkdir(parents=True, exist_ok=True)
    return cache


def _members(tarball: Tarball, cache: Path) -> list[Path]:
    """Return the served files of a package, which is downloaded where it is missing."""
    archive = cache / f"{tarball.name}-{tarball.version}.tgz"
    if not archive.exists():
        package = f"{tarball.name}@{tarball.version}"
        with TemporaryDirectory(dir=cache) as elsewhere:
            _run(["npm", "pack", "--silent", package], Path(elsewhere))
            Path(elsewhere, archive.name).replace(archive)
    found = hashlib.sha512(archive.read_bytes()).hexdigest()
    if found != tarball.sha512:
        archive.unlink()
        raise ValueError(f"{archive.name} has another hash than the recorded one")
    folder = cache / tarball.name
    with tarfile.open(archive) as packed:
        for name in tarball.members:
            member = packed.extractfile(f"package/{name}")
            if member is None:
                raise ValueError(f"{name} of {archive.name} is not a file")
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(dir=cache) as elsewhere:
                written = Path(elsewhere, path.name)
                written.write_bytes(member.read())
                written.replace(path)
    return [folder / name for name in tarball.members]


def _msgspec(cache: Path) -> Path:
    """Return msgspec compiled to WebAssembly; pip checks its hash."""
    folder = cache / "msgspec"
    folder.mkdir(exist_ok=True)
    if not list(folder.glob("*.whl")):
        with TemporaryDirectory(dir=cache) as elsewhere:
            requirements = Path(elsewhere, "requirements.txt")
            requirements.write_text(f"{_MSGSPEC}\n", encoding="utf-8")
            pip = [sys.executable, "-m", "pip", "--quiet", "download", "--no-deps"]
            options = ["--only-binary=:all:", "--require-hashes", *_PLATFORM]
            command = [*pip, *options, "-d", elsewhere, "-r", str(requirements)]
            _run(command, cache)
            (downloaded,) = Path(elsewhere).glob("*.whl")
            downloaded.replace(folder / downloaded.name)
    (wheel,) = folder.glob("*.whl")
    return wheel


def _bundle(root: Path, cache: Path, wheel: Path) -> Path:
    """Put the engine and what it needs into one archive: sources, never compiled."""
    target = cache / "engine.zip"
    folders = [root / "smp"]
    for name in _PURE:
        spec = find_spec(name)
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError(f"{name} is not installed")
        origin = Path(spec.origin)
        folders.append(origin.parent if origin.name == "__init__.py" else origin)
    with TemporaryDirectory(dir=cache) as elsewhere:
        written = Path(elsewhere, target.name)
        with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as bundle:
            for folder in folders:
                paths = [folder] if folder.is_file() else sorted(folder.rglob("*"))
                for path in paths:
                    inside = path.relative_to(folder.parent)
                    if _is_served(path, inside):
                        bundle.write(path, str(inside))
            with zipfile.ZipFile(wheel) as compiled:
                for name in compiled.namelist():
                    bundle.writestr(name, compiled.read(name))
            bundle.write(Path(__file__).with_name("engine.py"), "engine.py")
        written.replace(target)
    return target


def _is_served(path: Path, inside: Path) -> bool:
    if not path.is_file() or path.suffix in (".pyc", ".so", ".pyd", ".pyi"):
        return False
    return inside.parts[0] != "smp" or inside.parts[1] not in _NOT_IN_A_BROWSER


def _run(command: list[str], folder: Path) -> None:
    # S603: the commands are above.
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)  # noqa: S603
