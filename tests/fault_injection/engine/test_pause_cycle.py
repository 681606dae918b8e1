"""A real process that stands still and goes on, again and again."""

import pytest

from fencepost.fault_injection.faults.process_faults import StutterBroker
from fencepost.fault_injection.faults.targets import broker
from fencepost.fault_injection.processes.ledger import Ledger
from fencepost.fault_injection.processes.managed_process import ProcessError
from fencepost.fault_injection.processes.supervisor import LEDGER_FILE, Supervisor
from tests.fault_injection.conftest import Eventually, Sleeper
from tests.fault_injection.engine.test_engine import inject
from tests.fault_injection.fakes import FakeTarget

BUSY = "print('up', flush=True)\nwhile True: pass"


def test_a_stutter_is_seen_in_proc_and_ends(
    supervisor: Supervisor, sleeper: Sleeper, eventually: Eventually
) -> None:
    process = sleeper(code=BUSY)
    target = FakeTarget()
    target.processes[1] = process  # type: ignore[assignment]
    fault = StutterBroker(target=broker(1), for_ms=5_000, stands_ms=30, runs_ms=5)
    stutter = inject(target, fault)
    ledger = Ledger(supervisor.directory / LEDGER_FILE)
    while_it_lasts = [entry.kind for entry in ledger.open_entries()]

    assert eventually(lambda: stutter.evidence() is not None)
    assert "pause" in while_it_lasts, "whoever cleans up knows that it may stand still"
    stutter.heal()
    stutter.heal()
    assert not process.is_paused
    assert "pause" not in [entry.kind for entry in ledger.open_entries()]
    assert str(stutter.healed()).startswith("registered at zxid 1 by session 0x1; stood still ")


def test_a_process_that_dies_of_something_else_ends_the_stutter(
    sleeper: Sleeper, eventually: Eventually
) -> None:
    process = sleeper()
    target = FakeTarget()
    target.processes[1] = process  # type: ignore[assignment]
    stutter = inject(target, StutterBroker(target=broker(1), for_ms=900, stands_ms=20, runs_ms=1))
    assert eventually(lambda: stutter.evidence() is not None)
    process.kill()
    stutter.heal()

    assert not process.is_running
    with pytest.raises(ProcessError, match="cannot be paused: it is not running"):
        process.stand()  # as the thread would have, had it been in its turn of running
