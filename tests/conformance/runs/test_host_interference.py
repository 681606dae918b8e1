"""Noise: stalls of the host and sessions that ended by themselves."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from fencepost.conformance.clients.recorder import TraceWriter
from fencepost.conformance.runs.host_interference import (
    STALL_NS,
    Heartbeat,
    HostInterference,
    LostSession,
    Stall,
    lost_sessions,
    read_interference,
    read_pressure,
    write_lost,
    write_stall,
)
from fencepost.conformance.runs.run_folder import read_folder
from fencepost.conformance.runs.scenario import Problem, RunRecord
from fencepost.conformance.verdict import Verdict
from fencepost.spec.trace import Kind, LamportClock, Phase, TraceEvent

MS = 1_000_000
TIMEOUT_MS = 1500
LATE = Problem(verdict=Verdict.FAIL, sentence="it did not come", waited_ns=(0, 1000 * MS))


def beats(*times_ms: int) -> list[Stall]:
    """What a heartbeat tells that wakes up at these times."""
    told: list[Stall] = []
    clock, waited = iter(times_ms), count()
    heartbeat = Heartbeat(
        told.append, now_ns=lambda: next(clock) * MS, pressure=lambda: {"cpu": next(waited)}
    )
    for _ in times_ms[1:]:
        heartbeat.beat()
    return told


def test_beat_that_comes_late_is_told_with_the_pressure_meanwhile() -> None:
    (stall,) = beats(0, 50, 100, 700, 750)

    assert (stall.since_ns, stall.until_ns) == (100 * MS, 700 * MS)
    assert stall.pressure_ms == {"cpu": 1}


def test_beat_in_time_is_no_stall() -> None:
    assert beats(0, STALL_NS // MS - 1) == []


def test_what_the_trace_tells_of_noise_is_read_again(tmp_path: Path) -> None:
    stall = Stall(since_ns=5 * MS, until_ns=905 * MS, pressure_ms={"cpu": 7})
    lost = LostSession(broker_id=2, at_ns=11 * MS)
    with TraceWriter(tmp_path, run_id="r", node="harness", clock=LamportClock()) as harness:
        write_stall(harness, stall)
        write_lost(harness, lost)
        harness.write(Kind.RUN, "RunEnded")
    events, _ = read_folder(tmp_path)

    assert read_interference(events) == HostInterference(stalls=[stall], lost=[lost])


def test_kernel_that_tells_no_pressure_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fencepost.conformance.runs.host_interference.RESOURCES", ("nonesuch",))

    assert read_pressure() == {}


SCRIPT = """
import sys
from fencepost.conformance.runs.host_interference import Heartbeat

def tell(stall):
    print((stall.until_ns - stall.since_ns) // 1_000_000, flush=True)

with Heartbeat(tell):
    print("ready", flush=True)
    sys.stdin.read()
"""


def test_harness_that_stood_still_knows_it() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as harness:
        assert harness.stdout is not None
        assert harness.stdin is not None
        assert harness.stdout.readline() == "ready\n"
        harness.send_signal(signal.SIGSTOP)
        with pytest.raises(subprocess.TimeoutExpired):
            harness.wait(2 * STALL_NS / 1e9)
        harness.send_signal(signal.SIGCONT)
        stalled_ms = int(harness.stdout.readline())
        harness.stdin.close()

    assert stalled_ms >= STALL_NS // MS


@pytest.mark.parametrize(
    ("stalled_ms", "verdict"), [(0, Verdict.FAIL), (99, Verdict.FAIL), (100, Verdict.INCONCLUSIVE)]
)
def test_what_came_too_late_beside_a_stalled_host_decides_nothing(
    stalled_ms: int, verdict: Verdict
) -> None:
    noise = HostInterference(stalls=[Stall(since_ns=0, until_ns=stalled_ms * MS)])

    judged = LATE.beside(noise)

    assert judged.verdict is verdict
    assert judged.sentence.startswith("it did not come")
    assert ("the host stood still for 0.1 of these 1.0 s" in judged.sentence) == (
        verdict is Verdict.INCONCLUSIVE
    )


def test_stall_after_the_wait_excuses_nothing() -> None:
    assert (
        LATE.beside(HostInterference(stalls=[Stall(since_ns=1000 * MS, until_ns=9000 * MS)]))
        == LATE
    )


def test_session_that_was_lost_meanwhile_is_a_reason() -> None:
    record = RunRecord(problems=[LATE])
    record.interference.lost.append(LostSession(broker_id=2, at_ns=500 * MS))

    record.excuse()

    (problem,) = record.problems
    assert problem.verdict is Verdict.INCONCLUSIVE
    assert "broker 2 lost its session while no fault was on it" in problem.sentence


def test_failure_that_waited_for_nothing_has_no_excuse() -> None:
    found = Problem(verdict=Verdict.FAIL, sentence="a broker ended by itself")

    assert found.beside(HostInterference(stalls=[Stall(since_ns=0, until_ns=10**15)])) == found


def registered(broker_id: int, at_ms: int, incarnation: int = 1) -> TraceEvent:
    return TraceEvent(
        run_id="r",
        node=f"broker-{broker_id}",
        incarnation=incarnation,
        seq=at_ms,
        mono_ns=at_ms * MS,
        kind=Kind.ACTION,
        action="RegisterBroker",
        broker_id=broker_id,
    )


def fault(kind: str, broker_id: int | None, since_ms: int, until_ms: int) -> Iterator[TraceEvent]:
    for phase, at_ms in ((Phase.INJECTING, since_ms), (Phase.HEALED, until_ms)):
        yield TraceEvent(
            run_id="r",
            node="harness",
            seq=at_ms,
            mono_ns=at_ms * MS,
            kind=Kind.FAULT,
            action=kind,
            fault=kind,
            fault_id="f",
            phase=phase,
            broker_id=broker_id,
        )


TWICE = (registered(1, 0), registered(2, 0), registered(2, 9000))


@pytest.mark.parametrize(
    ("faults", "lost"),
    [
        ((), 1),
        (tuple(fault("proc.pause", 2, 5000, 8000)), 0),
        (tuple(fault("proc.pause", 1, 5000, 8000)), 1),
        (tuple(fault("proc.pause", 2, 1000, 2000)), 1),
        (tuple(fault("zk.expire", 1, 8900, 9100)), 1),
        (tuple(fault("zk.expire", 2, 8900, 9100)), 0),
        (tuple(fault("net.partition", 1, 5000, 8000)), 0),
        (tuple(fault("zk.kill_server", None, 5000, 8000)), 0),
    ],
)
def test_session_is_lost_by_itself_when_no_fault_was_on_its_broker(
    faults: tuple[TraceEvent, ...], lost: int
) -> None:
    found = lost_sessions(TWICE, faults, session_timeout_ms=TIMEOUT_MS)

    assert [one.broker_id for one in found] == [2] * lost


def test_broker_that_started_again_registers_anew() -> None:
    events = (registered(1, 0), registered(1, 9000, incarnation=2))

    assert lost_sessions(events, (), session_timeout_ms=TIMEOUT_MS) == []


def test_quiet_host_is_not_told() -> None:
    assert HostInterference().sentences == ()
    stalls = [Stall(since_ns=0, until_ns=400 * MS), Stall(since_ns=0, until_ns=900 * MS)]
    assert HostInterference(stalls=stalls).sentences == (
        "the host stood still 2 times, for 900 ms at most",
    )
