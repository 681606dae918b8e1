"""What a killed owner leaves in the temp directory goes; what is held or named stays."""

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from fencepost.ci.cli import run
from fencepost.spec.scratch import OWNER, scratch_folder, sweep

OWN_FOLDER = """
import sys, tempfile
tempfile.tempdir = sys.argv[1]
from fencepost.spec.scratch import scratch_folder
with scratch_folder("test") as folder:
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(name="temp")
def own_temp_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture(name="orphan")
def folder_of_a_killed_owner(temp: Path) -> Path:
    command = [sys.executable, "-c", OWN_FOLDER, str(temp)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        folder = Path(owner.stdout.readline().strip())
        assert sweep() == ()
        assert folder.is_dir()
        owner.send_signal(signal.SIGKILL)
    return folder


def test_a_folder_goes_with_its_owner(temp: Path) -> None:
    with scratch_folder("test") as folder:
        assert folder.parent == temp
        assert [path.name for path in folder.iterdir()] == [OWNER]
    assert not folder.exists()


def test_what_a_killed_owner_leaves_goes_with_the_next_folder(orphan: Path) -> None:
    assert orphan.is_dir()

    with scratch_folder("test"):
        assert not orphan.exists()


def test_a_folder_that_a_process_still_names_stays(orphan: Path) -> None:
    waits = "import sys; print(flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", waits, str(orphan / "ledger")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as user:
        assert user.stdout is not None
        user.stdout.readline()
        assert sweep() == ()
        assert orphan.is_dir()
        user.kill()
    assert sweep() == (orphan,)


def test_a_folder_of_somebody_else_stays(temp: Path) -> None:
    foreign = temp / "fencepost-test-x"
    foreign.mkdir()

    assert sweep() == ()
    assert foreign.is_dir()


def test_heal_says_what_it_removed(orphan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["heal", str(orphan.parent)]) == 0

    assert f"{orphan}: removed; the process that made it was killed" in capsys.readouterr().out
    assert not orphan.exists()
