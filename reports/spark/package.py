"""This package as an archive that Spark hands to executors, so that they need no checkout."""

import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

import fencepost

ROOT = Path(fencepost.__file__).parent
_OF_RUNS = ROOT / "reports" / "runs"
"""What was made here and is not the package, as `pyproject.toml` has it for the wheel."""


def make_archive(path: Path) -> str:
    """Write the package to the new zip file `path`; returns what Spark is told to unpack.

    Executors unpack it beside the files that Spark sends, a folder in which Python looks for
    modules: there it has the name of the package.
    """
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for file in _files():
            archive.write(file, file.relative_to(ROOT))
    return f"{path}#{ROOT.name}"


def _files() -> Iterator[Path]:
    """All that the rooms are made of; in a checkout each room is a link."""
    for folder, subfolders, files in os.walk(ROOT, followlinks=True):
        subfolders[:] = sorted(
            name
            for name in subfolders
            if not name.startswith((".", "__")) and Path(folder, name) != _OF_RUNS
        )
        yield from (Path(folder, name) for name in sorted(files) if not name.startswith("."))
