import importlib
import os
import select
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.runs.run_folder import read_folder
from fencepost.conformance.verdict import Verdict
from fencepost.conformance.whitebox import simulate
from fencepost.conformance.whitebox.simulate import (
    REFERENCE_TARGET,
    SimulationOptions,
    hunt_mutants,
    load,
    run_seeds,
)
from fencepost.conformance.worker_pool import in_order
from fencepost.spec.vocabulary import Invariant

TARGET = "python:tests.conformance.fake_simulator"
FAKE = SimulationOptions(target=TARGET)
fake_simulator = importlib.import_module("tests.conformance.fake_simulator")


def test_quiet_seeds_pass_and_count_premises() -> None:
    result = run_seeds(range(5), level=2, jobs=1, options=FAKE)

    assert result.verdict is Verdict.PASS
    assert result.verdicts == {Verdict.PASS: 5}
    assert result.premises[Invariant.ACKNOWLEDGED_DURABLE] == 5
    assert result.premises[Invariant.LOG_MATCHING] == 0
    assert result.events == 30


def test_violating_seed_is_reported_with_the_command_that_runs_it_again() -> None:
    result = run_seeds(range(8), level=0, jobs=1, options=FAKE)

    (failing,) = result.failing
    assert result.verdict is Verdict.FAIL
    assert failing.seed == fake_simulator.LOSING_SEED
    assert Invariant.ACKNOWLEDGED_DURABLE in failing.violated
    assert failing.reproduce == "fencepost simulate --seed 7 --level 0"


def test_result_does_not_depend_on_the_number_of_processes() -> None:
    alone = run_seeds(range(23), level=0, jobs=1, options=FAKE)
    together = run_seeds(range(23), level=0, jobs=2, options=FAKE)

    assert together.verdicts == alone.verdicts
    assert together.premises == alone.premises
    assert together.failing == alone.failing


def test_trace_of_a_violating_seed_is_written(tmp_path: Path) -> None:
    options = SimulationOptions(target=TARGET, out=tmp_path)

    result = run_seeds([6, 7], level=0, jobs=1, options=options)

    events, doubts = read_folder(tmp_path / result.traces[0])
    assert result.traces == ("seed-7-level-0",)
    assert doubts == []
    assert sorted(events, key=lambda event: event.mono_ns) == fake_simulator.simulate(
        7, level=0, mutant=None
    )


def test_failing_simulator_is_an_error_of_that_seed_only() -> None:
    result = run_seeds([8, 9, 10], level=2, jobs=1, options=FAKE)

    (failing,) = result.failing
    assert result.verdict is Verdict.ERROR
    assert failing.error == "AssertionError: the log ends before it begins"
    assert result.verdicts == {Verdict.PASS: 2, Verdict.ERROR: 1}


@pytest.mark.parametrize(
    ("seed", "name", "message"),
    [
        (
            fake_simulator.SICK_SEED,
            "Converged",
            "The cluster had not healed in the time it had after the last fault.",
        ),
        (fake_simulator.UNREAD_SEED, "FinalRead", "The final read did not end in its time."),
    ],
)
def test_run_that_does_not_end_well_fails(
    seed: int, name: str, message: str, tmp_path: Path
) -> None:
    options = SimulationOptions(target=TARGET, out=tmp_path)

    result = run_seeds([seed], level=0, jobs=1, options=options)

    (failing,) = result.failing
    assert (result.verdict, result.seeds) == (Verdict.FAIL, 1)
    assert [(str(bad.invariant), bad.message) for bad in failing.bad_endings] == [(name, message)]
    assert failing.violations == ()
    assert result.traces == (f"seed-{seed}-level-0",)


@pytest.mark.parametrize(
    ("seed", "doubt"),
    [
        (fake_simulator.CUT_SEED, "The run has no RunEnded: it was cut short."),
        (fake_simulator.MUMBLING_SEED, "The detail of RunEnded cannot be read: "),
    ],
)
def test_run_whose_end_is_unknown_is_inconclusive(seed: int, doubt: str) -> None:
    result = run_seeds([seed], level=0, jobs=1, options=FAKE)

    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.doubts[0].startswith(f"seed {seed}: {doubt}")


def test_many_seeds_that_leave_a_check_idle_are_vacuous() -> None:
    seeds = [seed for seed in range(61) if seed != fake_simulator.BROKEN_SEED]

    result = run_seeds(seeds, level=2, jobs=1, options=FAKE)

    assert Invariant.LOG_MATCHING in result.idle
    assert result.verdict is Verdict.VACUOUS


def test_no_seed_is_no_pass() -> None:
    assert run_seeds([], level=2, options=FAKE).verdict is Verdict.NOT_RUN


def test_progress_names_each_seed() -> None:
    steps: list[tuple[int, int, str]] = []

    run_seeds([3, 1], level=2, jobs=1, options=FAKE, on_progress=lambda *step: steps.append(step))

    assert steps == [(1, 2, "seed 1"), (2, 2, "seed 3")]


def test_kill_table_tells_caught_from_escaped() -> None:
    caught, escaped, _ = hunt_mutants(6, target=TARGET, jobs=1)

    assert caught.is_caught
    assert caught.seeds == fake_simulator.MUTANT_SHOWS_FROM + 1
    assert "AcknowledgedDurable" in caught.caught_by
    assert caught.reproduce == "fencepost simulate --seed 3 --level 5 --mutant forgetful"
    assert not escaped.is_caught
    assert escaped.seeds == 6


def test_mutant_is_caught_by_what_its_record_says_does_not_heal() -> None:
    *_, caught = hunt_mutants(6, target=TARGET, jobs=1)

    assert caught.is_caught
    assert caught.seeds == fake_simulator.MUTANT_SHOWS_FROM + 1
    assert caught.caught_by == ("EventuallyIsrFull", "EventuallyLeader")
    assert caught.message == "After the last fault EventuallyLeader did not come to hold."


def test_the_seed_that_a_record_knows_is_tried_first(monkeypatch: pytest.MonkeyPatch) -> None:
    (record, *_) = fake_simulator.mutants()
    monkeypatch.setattr(fake_simulator, "mutants", lambda: [{**record, "seed": 40}])

    (caught,) = hunt_mutants(6, target=TARGET, jobs=1)

    assert (caught.seeds, caught.seed) == (1, 40)
    assert caught.reproduce == "fencepost simulate --seed 40 --level 5 --mutant forgetful"


def test_a_seed_that_shows_nothing_any_more_is_no_end_of_the_hunt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (record, *_) = fake_simulator.mutants()
    monkeypatch.setattr(fake_simulator, "mutants", lambda: [{**record, "seed": 2}])

    (caught,) = hunt_mutants(6, target=TARGET, jobs=1)

    assert (caught.seeds, caught.seed) == (4, fake_simulator.MUTANT_SHOWS_FROM)


def test_a_mutant_that_few_seeds_show_is_sought_by_all_jobs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (record, *_) = fake_simulator.mutants()
    monkeypatch.setattr(fake_simulator, "mutants", lambda: [record])
    monkeypatch.setattr(simulate, "SOUGHT_MAX", 2)

    (caught,) = hunt_mutants(60, target=TARGET, jobs=2)

    assert (caught.seeds, caught.seed) == (4, fake_simulator.MUTANT_SHOWS_FROM)
    assert caught.was_sought


def test_mutant_that_never_heals_is_not_caught_by_that() -> None:
    result = run_seeds([0], level=2, mutant="harmless", jobs=1, options=FAKE)
    _, escaped, _ = hunt_mutants(1, target=TARGET, jobs=1)

    assert result.verdict is Verdict.FAIL
    assert (escaped.is_caught, escaped.caught_by) == (False, ())


@pytest.mark.parametrize(
    ("target", "level", "mutant", "message"),
    [
        (TARGET, 7, None, r"level 7 is none; choose one of \(0, 1, 2, 3, 4, 5\)"),
        (TARGET, 2, "clumsy", r"unknown mutant 'clumsy'; fencepost mutants list names all"),
        (
            "fencepost.impl.sim",
            2,
            None,
            r"unknown simulator 'fencepost.impl.sim'; write python:<module>",
        ),
        ("python:no.such", 2, None, r"python:no\.such cannot be imported"),
        ("python:json", 2, None, r"json is no simulator"),
    ],
)
def test_unknown_names_are_refused_before_anything_runs(
    target: str, level: int, mutant: str | None, message: str
) -> None:
    with pytest.raises(ChoiceError, match=message):
        run_seeds([1], level=level, mutant=mutant, options=SimulationOptions(target=target))


def test_reference_simulator_is_reached_by_name() -> None:
    assert len(load(REFERENCE_TARGET).mutants()) >= 6


def test_order_of_results_is_that_of_the_arguments() -> None:
    assert list(in_order(partial(pow, 2), list(range(20)), jobs=2, chunk=3)) == [
        2**number for number in range(20)
    ]


ORPHANS = """
import sys
from fencepost.conformance.worker_pool import in_order
from tests.conformance.whitebox.test_simulate import announce_and_wait

if __name__ == "__main__":
    for _ in in_order(announce_and_wait, [0] * 4, jobs=2, chunk=1):
        pass
"""


def announce_and_wait(_: int) -> int:
    sys.stdout.write(f"{os.getpid()}\n")
    sys.stdout.flush()
    signal.pause()
    return 0


def test_workers_end_with_their_parent(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(ORPHANS)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, str(script)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    ) as parent:
        assert parent.stdout is not None
        workers = [int(parent.stdout.readline()) for _ in range(2)]
        pidfds = [os.pidfd_open(worker) for worker in workers]
        parent.kill()

    assert all(ended(pidfd, 10.0) for pidfd in pidfds)


def ended(pidfd: int, timeout_s: float) -> bool:
    deadline = time.monotonic() + timeout_s
    ready, _, _ = select.select([pidfd], [], [], max(0.0, deadline - time.monotonic()))
    os.close(pidfd)
    return bool(ready)
