"""What is no whole run is refused with one sentence; the order of lines is one that can be."""

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from fencepost.impl.sim.adapter import simulate_modelled
from fencepost.spec.replay.ordering import total_order
from fencepost.spec.replay.recorded_run import (
    RecordedRun,
    ReplayError,
    TraceFileLine,
    as_lines,
    find_runs,
    read_run,
    recorded_run,
)
from fencepost.spec.trace import Kind, TraceEvent, encode

SEED = 40


@pytest.fixture(name="events", scope="module")
def simulated_events() -> list[TraceEvent]:
    return simulate_modelled(SEED, level=2, mutant=None)


def save(events: list[TraceEvent], folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for line in as_lines(events):
        with (folder / line.file).open("ab") as file:
            file.write(encode(line.event))


def test_a_run_is_read_as_it_was_written(events: list[TraceEvent], tmp_path: Path) -> None:
    save(events, tmp_path / "run")

    (folder,) = find_runs(tmp_path)
    run = read_run(folder)

    assert run.detail.level == 2
    assert run.detail.backend == "sim"
    assert sorted(map(encode, events)) == sorted(encode(line.event) for line in run.lines)
    assert {(line.file, line.number) for line in as_lines(events)} == {
        (line.file, line.number) for line in run.lines
    }


def test_no_folder_and_no_trace_are_told(tmp_path: Path) -> None:
    with pytest.raises(ReplayError, match="it is not there"):
        find_runs(tmp_path / "none")
    with pytest.raises(ReplayError, match="holds no trace-"):
        find_runs(tmp_path)


def test_a_torn_a_foreign_and_an_empty_trace_are_refused(
    events: list[TraceEvent], tmp_path: Path
) -> None:
    save(events, tmp_path)
    file = tmp_path / "trace-broker-1-1.ndjson"
    whole = file.read_bytes()

    file.write_bytes(whole[:-10])
    with pytest.raises(ReplayError, match=r"broker-1-1.ndjson ends in the middle of a line"):
        read_run(tmp_path)
    file.write_bytes(b"hello\n" + whole)
    with pytest.raises(ReplayError, match=r"broker-1-1.ndjson, line 1 is no line of a trace"):
        read_run(tmp_path)
    for path in tmp_path.iterdir():
        path.write_bytes(b"")
    with pytest.raises(ReplayError, match="is empty"):
        read_run(tmp_path)


def test_an_unfinished_run_a_gap_and_two_runs_are_refused(events: list[TraceEvent]) -> None:
    lines = as_lines(events)

    with pytest.raises(ReplayError, match="has no RunEnded: the run was cut short"):
        recorded_run("r", [line for line in lines if line.event.action != "RunEnded"])
    with pytest.raises(ReplayError, match="broker-2, incarnation 1, are not numbered"):
        recorded_run("r", [line for line in lines if not _is_third_of_broker_2(line.event)])
    other = replace(lines[-1], event=msgspec.structs.replace(lines[-1].event, run_id="other"))
    with pytest.raises(ReplayError, match="holds the lines of 2 runs"):
        recorded_run("r", [*lines, other])


def test_a_silent_broker_another_version_and_a_wrong_level_are_refused(
    events: list[TraceEvent],
) -> None:
    lines = as_lines(events)

    with pytest.raises(ReplayError, match="r has no trace of broker-2: its file is empty or gone"):
        recorded_run("r", [line for line in lines if line.event.node != "broker-2"])
    with pytest.raises(ReplayError, match="as trace version 9; this Fencepost reads version 1"):
        recorded_run("r", [_told(line, trace_version=9) for line in lines])
    with pytest.raises(ReplayError, match=r"detail of RunStarted cannot be read: .*level"):
        recorded_run("r", [_told(line, level=-1) for line in lines])


def _told(line: TraceFileLine, **told: object) -> TraceFileLine:
    """With another description of the run, if this is the line that has one."""
    if line.event.action != "RunStarted":
        return line
    detail = json.dumps({**json.loads(line.event.detail or ""), **told})
    return replace(line, event=msgspec.structs.replace(line.event, detail=detail))


def _is_third_of_broker_2(event: TraceEvent) -> bool:
    return event.node == "broker-2" and event.seq == 2


def test_the_simulator_already_writes_in_order(events: list[TraceEvent]) -> None:
    ordered = total_order(recorded_run("r", as_lines(events)))

    assert [line.event for line in ordered] == events


def test_zookeeper_without_a_clock_is_placed_by_its_zxids(events: list[TraceEvent]) -> None:
    """A real ZooKeeper's log has wall clocks only, and not even those must be right."""
    lines = [
        replace(line, event=msgspec.structs.replace(line.event, mono_ns=0, wall_ns=None))
        if line.event.kind is Kind.ZOOKEEPER
        else line
        for line in as_lines(events)
    ]

    ordered = [line.event for line in total_order(recorded_run("r", lines))]

    zxids = [event.zxid for event in ordered if event.kind is Kind.ZOOKEEPER]
    assert zxids == sorted(zxids, key=lambda zxid: zxid or 0)
    for index, event in enumerate(ordered):
        if event.kind is Kind.COMPLETE and event.action == "WriteLeaderAndIsr" and event.zxid:
            before = ordered[:index]
            assert any(one.kind is Kind.ZOOKEEPER and one.zxid == event.zxid for one in before)


def test_the_same_isr_written_again_follows_its_own_request(events: list[TraceEvent]) -> None:
    """A leader's ISR may go back and forth; ZooKeeper's clock is coarse."""
    start = TraceEvent(run_id="r", node="broker-1", seq=1, mono_ns=1, kind=Kind.RUN, action="s")
    path, written = "/brokers/topics/t/0/leaderAndISR", "WriteLeaderAndIsr"
    asked = [
        msgspec.structs.replace(
            start,
            kind=Kind.INVOKE,
            action=written,
            seq=seq,
            mono_ns=seq * 100,
            path=path,
            data=data,
            session_id=1,
            expected_version=seq - 2,
        )
        for seq, data in ((2, "a"), (3, "b"), (4, "a"))
    ]
    done = [
        msgspec.structs.replace(
            one,
            node="zookeeper",
            kind=Kind.ZOOKEEPER,
            action="SetData",
            mono_ns=250,
            znode_version=(one.expected_version or 0) + 1,
            zxid=one.seq,
            seq=one.seq - 1,
            expected_version=None,
        )
        for one in asked
    ]

    run, lines = recorded_run("r", as_lines(events)), as_lines([start, *asked, *done])
    ordered = [line.event for line in total_order(replace(run, lines=tuple(lines)))]

    for before, after in zip(asked, done, strict=True):
        assert ordered.index(before) < ordered.index(after)


def test_a_write_asked_for_twice_follows_the_request_that_was_answered(
    events: list[TraceEvent],
) -> None:
    """The first one was refused, and ZooKeeper's clock is coarse."""
    start = TraceEvent(run_id="r", node="broker-1", seq=1, mono_ns=1, kind=Kind.RUN, action="s")
    first = msgspec.structs.replace(
        start,
        kind=Kind.INVOKE,
        action="WriteLeaderAndIsr",
        seq=2,
        mono_ns=100,
        op_id=1,
        path="/brokers/topics/t/0/leaderAndISR",
        data="a",
        session_id=1,
        expected_version=0,
    )
    again = msgspec.structs.replace(first, seq=3, mono_ns=500, op_id=2)
    answer = msgspec.structs.replace(
        again, seq=4, mono_ns=900, kind=Kind.COMPLETE, zxid=9, znode_version=1
    )
    written = msgspec.structs.replace(
        first,
        node="zookeeper",
        kind=Kind.ZOOKEEPER,
        action="SetData",
        seq=1,
        mono_ns=400,
        znode_version=1,
        zxid=9,
        op_id=None,
        expected_version=None,
    )

    run, lines = (
        recorded_run("r", as_lines(events)),
        as_lines([written, start, first, again, answer]),
    )
    ordered = [line.event for line in total_order(replace(run, lines=tuple(lines)))]

    assert ordered == [start, first, again, written, answer]


def test_orders_that_contradict_each_other_are_refused(events: list[TraceEvent]) -> None:
    """A broker that hears of a transaction which ZooKeeper made after a later one."""
    zookeeper = [event for event in events if event.kind is Kind.ZOOKEEPER and event.path]
    sets = (event for event in zookeeper if event.action == "SetData")
    written = next(event for event in sets if "leaderAndISR" in (event.path or ""))
    late = 10**6
    lines = [
        replace(line, event=msgspec.structs.replace(line.event, zxid=late))
        if line.event.zxid == written.zxid
        else line
        for line in as_lines(events)
    ]

    run: RecordedRun = recorded_run("r", lines)

    with pytest.raises(ReplayError, match=r"r has no order: what .* must follow comes after it"):
        total_order(run)


def test_a_line_knows_where_it_stands(events: list[TraceEvent]) -> None:
    line: TraceFileLine = next(line for line in as_lines(events) if line.event.node == "zookeeper")

    assert (line.file, line.number) == ("trace-zookeeper-1.ndjson", 1)
