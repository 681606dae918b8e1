import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fencepost.ci.gate.failures import HarnessError, UsageError
from fencepost.ci.gate.runs import MIB, existing_run, link_latest, make_run_folder, new_run_id

NOON = datetime(2026, 1, 2, 12, 0, 0, tzinfo=UTC)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_run_ids_sort_by_time_and_differ_within_a_second() -> None:
    ids = {new_run_id(NOON) for _ in range(20)}

    assert len(ids) > 1
    assert all(run_id.startswith("20260102T120000Z-") for run_id in ids)
    assert new_run_id(NOON.replace(hour=13)) > max(ids)


def test_the_default_folder_is_linked_as_latest() -> None:
    make_run_folder("first", None)
    folder = make_run_folder("second", None)

    latest = Path("reports/runs/latest")
    assert folder == Path("reports/runs/second")
    assert latest.resolve() == folder.resolve()
    assert not latest.readlink().is_absolute()
    assert sorted(path.name for path in latest.parent.iterdir()) == ["first", "latest", "second"]


def test_a_named_folder_is_not_linked(tmp_path: Path) -> None:
    assert make_run_folder("id", tmp_path / "here") == tmp_path / "here"
    assert not Path("reports").exists()


def test_a_folder_with_something_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "verdict.json").touch()

    with pytest.raises(UsageError, match="is not empty; name a new folder with --out"):
        make_run_folder("id", tmp_path)


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(UsageError, match="is not a folder"):
        make_run_folder("id", tmp_path / "file" / "below")


def test_a_folder_without_permission_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "mkdir", refuse)

    with pytest.raises(HarnessError, match=r"no permission to write .*; name another with --out"):
        make_run_folder("id", tmp_path / "closed")


def test_latest_moves_in_one_step(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        link_latest(tmp_path / name)

    assert (tmp_path / "latest").readlink() == Path("b")


@pytest.mark.parametrize(
    ("made", "complaint"), [(False, "there is no such folder"), (True, "holds no trace")]
)
def test_what_is_no_run_folder_is_refused(tmp_path: Path, made: bool, complaint: str) -> None:
    folder = tmp_path / "run"
    if made:
        folder.mkdir()

    with pytest.raises(UsageError, match=complaint):
        existing_run(folder)


def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = shutil.disk_usage(tmp_path)._replace(free=5 * MIB)
    monkeypatch.setattr("shutil.disk_usage", lambda _: left)

    said = f"the disk of {tmp_path}/new is full: 5 MiB are left, and a cluster needs 64; make room"
    with pytest.raises(HarnessError, match=said):
        make_run_folder("id", tmp_path / "new")
