"""A copy of the checkout in which one module is edited; what is not its package is linked."""

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from fencepost.ci.bench.mutation.edit import Edit
from fencepost.spec.scratch import scratch_folder

ROOT = Path(__file__).resolve().parents[4]
PACKAGE = "fencepost"
LEFT_OUT = frozenset({".git", ".venv", ".fencepost", ".pytest_cache", ".hypothesis", PACKAGE})


@contextmanager
def edited_tree(edit: Edit, package: str) -> Iterator[Path]:
    """A folder in which `import fencepost` finds the edited module of the package.

    `package` is a folder of a room, such as `impl/core`.
    """
    with scratch_folder("mutation") as folder:
        room, inner = package.split("/")
        for path in ROOT.iterdir():
            if path.name not in LEFT_OUT:
                (folder / path.name).symlink_to(path)
        rooms = folder / PACKAGE
        rooms.mkdir()
        _link_others(ROOT / PACKAGE, rooms, room)
        (rooms / room).mkdir()
        _link_others(ROOT / room, rooms / room, inner)
        shutil.copytree(ROOT / package, rooms / package)
        edited = rooms / edit.module
        edited.write_text(edit.applied_to(edited.read_text()))
        yield folder


def _link_others(source: Path, target: Path, left_out: str) -> None:
    for path in source.iterdir():
        if path.name != left_out:
            (target / path.name).symlink_to(path.resolve())


def environment() -> dict[str, str]:
    """For processes that run in an edited tree."""
    return {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}


def modules_of(package: str, named: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Path from the root and text of each module of a package with one of the words in its path."""
    for path in sorted((ROOT / package).rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if not named or any(word in name for word in named):
            yield name, path.read_text()


def sources_of(folders: Iterable[str]) -> Iterator[Path]:
    """The Python and YAML files of folders, in order."""
    for folder in folders:
        for suffix in ("*.py", "*.yaml"):
            yield from sorted((ROOT / folder).rglob(suffix))
