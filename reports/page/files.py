"""The files of a run that lie beside its page: stories, traces and logs, as links to open."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import quote

from fencepost.reports.page.views import FileLink

OF_RUN = ("verdict.json", "junit.xml", "results.tap", "errors.txt")
PATTERNS = ("story.*", "*.yaml", "trace-*.ndjson", "processes/*.log", "*.log", "moves.json")
FILES_MAX = 60
"""Of one trace folder; the folder itself is linked too."""


def files_of(run: Path, folder: str) -> tuple[FileLink, ...]:
    """Links from the page of `run` to what lies in one of its trace folders; none if it is gone."""
    place = run / folder
    if not place.is_dir():
        return ()
    found = dict.fromkeys(
        path for pattern in PATTERNS for path in sorted(place.glob(pattern)) if path.is_file()
    )
    links = [_link(run, path, path.relative_to(place)) for path in list(found)[:FILES_MAX]]
    return (_link(run, place, Path("folder")), *links) if folder != "." else tuple(links)


def files_of_all(run: Path, folders: Iterable[str]) -> Mapping[str, tuple[FileLink, ...]]:
    """As `files_of`, of each folder."""
    return {folder: files_of(run, folder) for folder in folders}


def files_of_run(run: Path) -> tuple[FileLink, ...]:
    """Links to what machines read of the whole run."""
    return tuple(_link(run, run / name, Path(name)) for name in OF_RUN if (run / name).is_file())


def _link(run: Path, target: Path, name: Path) -> FileLink:
    """Relative to the page, so that it holds wherever the run is copied to."""
    return FileLink(name=name.as_posix(), address="./" + quote(target.relative_to(run).as_posix()))
