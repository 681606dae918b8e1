"""What a killed harness has left, when its reaper was killed as well."""

import os
import signal
from pathlib import Path

import pytest

from fencepost.ci.cli import run
from fencepost.fault_injection.engine.healing import heal, heal_below
from fencepost.fault_injection.processes.ledger import Ledger
from fencepost.fault_injection.processes.managed_process import ManagedProcess
from fencepost.fault_injection.processes.supervisor import LEDGER_FILE, Supervisor
from tests.fault_injection.conftest import Eventually, Sleeper
from tests.fault_injection.processes.test_reaper import (
    entry_of,
    first_line,
    lives,
    reapers_of,
    start_harness,
)


def test_what_a_harness_and_its_reaper_left_is_ended(
    tmp_path: Path, eventually: Eventually
) -> None:
    folder = tmp_path / "run" / "processes"
    harness = start_harness(folder, "time.sleep(600)")
    pids = [int(pid) for pid in first_line(harness).strip("[]\n").split(",")]
    assert heal_below(tmp_path)[0].is_at_work
    (reaper,) = reapers_of(folder)
    os.kill(reaper, signal.SIGKILL)
    assert eventually(lambda: not lives(reaper))
    harness.kill()
    harness.communicate()

    (healed,) = heal_below(tmp_path)

    # What a process had started is killed and not waited for: it is nobody's child here.
    assert eventually(lambda: not any(map(lives, pids)))
    assert healed.left == ()
    assert any(told.startswith("process of immortal") for told in healed.undone)
    assert any(told.startswith("pause of stopped") for told in healed.undone)
    assert heal_below(tmp_path) == []


def test_a_run_at_work_is_left_alone(tmp_path: Path) -> None:
    with Supervisor(tmp_path, "run-at-work") as supervisor:
        process = supervisor.start("sleeper", ["sleep", "60"])

        found = heal(tmp_path / LEDGER_FILE)

        assert found.is_at_work
        assert process.is_running


def test_a_fault_whose_brokers_are_gone_is_closed(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / LEDGER_FILE)
    ledger.open("fault", fault_id="hold", fault="rpc.hold", broker_id=2)

    found = heal(ledger.path)

    assert found.undone == ("fault hold (rpc.hold) at broker 2",)
    assert ledger.open_entries() == []


def test_a_process_that_is_meant_to_stay_stays(tmp_path: Path, sleeper: Sleeper) -> None:
    process: ManagedProcess = sleeper("stays")
    ledger = Ledger(tmp_path / LEDGER_FILE)
    ledger.open("process", **{**entry_of(process), "survives": True})

    found = heal(ledger.path)

    assert (found.survivors, found.left) == (1, ())
    assert process.is_running


def test_the_command_tells_what_it_undid(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Ledger(tmp_path / LEDGER_FILE).open("fault", fault_id="cut", fault="zk.cut")

    assert run(["heal", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert "undone: fault cut (zk.cut)" in told
    assert "1 undone, 0 still open" in told
    assert run(["heal", str(tmp_path), "--json"]) == 0
    assert '"runs": []' in capsys.readouterr().out
    assert run(["heal", str(tmp_path / "none")]) == 4
    assert "is not a folder" in capsys.readouterr().err


@pytest.mark.parametrize("fields", ['{"name": "broker-1"}', '{"name": "broker-1", "pid": "one"}'])
def test_process_without_a_pid_is_read_around(
    fields: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / LEDGER_FILE
    path.write_text(f'{{"open": 1, "kind": "process", "fields": {fields}}}\n', encoding="ascii")
    Ledger(path).open("fault", fault_id="cut", fault="zk.cut")

    assert run(["heal", str(tmp_path)]) == 0
    told = capsys.readouterr()
    assert told.err == ""
    assert told.out.splitlines() == [
        f"{path}: undone: fault cut (zk.cut)",
        f"{path}: passed over 1 line that are torn or of no run",
        "1 undone, 0 still open",
    ]
