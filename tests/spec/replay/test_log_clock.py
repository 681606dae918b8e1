"""ZooKeeper's log tells milliseconds: a broker decides before it asks in the same one."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from msgspec.structs import replace as changed

from fencepost.impl.sim.adapter import simulate_modelled
from fencepost.spec.replay.ordering import LOG_CLOCK_NS, total_order
from fencepost.spec.replay.recorded_run import RecordedRun, as_lines, recorded_run
from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import Action, BrokerId
from fencepost.spec.znodes import CONTROLLER, CONTROLLER_EPOCH, topic_path

SEED = 40
MS = LOG_CLOCK_NS
WALL_NS = 1_000_000 * MS
"""How far the clock of the log is ahead of that of the host."""
SESSION = 7
LINE = TraceEvent(
    run_id="r",
    node="broker-1",
    seq=1,
    mono_ns=1,
    kind=Kind.ACTION,
    action="",
    broker_id=BrokerId(1),
)
OF_PARTITION = changed(LINE, topic="t", partition=1)


def at(event: TraceEvent, seq: int, mono_ns: int, action: str) -> TraceEvent:
    """A broker's line, with both clocks."""
    return changed(event, seq=seq, mono_ns=mono_ns, wall_ns=mono_ns + WALL_NS, action=action)


def logged(zxid: int, seq: int, mono_ns: int, path: str, data: str, action: str) -> TraceEvent:
    """A line of ZooKeeper's log, dated to the beginning of its millisecond."""
    return changed(
        LINE,
        node="zookeeper",
        seq=seq,
        mono_ns=0,
        wall_ns=(mono_ns + WALL_NS) // MS * MS,
        kind=Kind.ZOOKEEPER,
        action=action,
        broker_id=None,
        session_id=SESSION,
        zxid=zxid,
        path=path,
        data=data,
    )


def topic(zxid: int, mono_ns: int, partitions: str) -> TraceEvent:
    data = f'{{"version":1,"partitions":{{{partitions}}}}}'
    return logged(zxid, zxid, mono_ns, topic_path("t"), data, "SetData")


def elected_again(resigned_ns: int, elected_ns: int) -> Iterator[TraceEvent]:
    yield at(LINE, 1, resigned_ns, Action.RESIGN_CONTROLLER)
    yield logged(9, 1, elected_ns, CONTROLLER, "{}", "Create")
    yield logged(9, 2, elected_ns, CONTROLLER_EPOCH, "4", "SetData")
    heard = changed(LINE, session_id=SESSION, controller_epoch=4)
    yield at(heard, 2, max(resigned_ns, elected_ns) + MS, Action.ELECT_CONTROLLER)


def added(planned_ns: int, written_ns: int) -> Iterator[TraceEvent]:
    yield topic(3, written_ns - 5 * MS, '"0":[1,2]')
    yield at(changed(OF_PARTITION, assigned_replicas=[1, 2]), 1, planned_ns, Action.ADD_PARTITIONS)
    yield topic(9, written_ns, '"0":[1,2],"1":[1,2]')


def completed(planned_ns: int, written_ns: int) -> Iterator[TraceEvent]:
    """The write of before names the same replicas."""
    yield topic(3, written_ns - 5 * MS, '"1":[1,2]')
    own = changed(OF_PARTITION, assigned_replicas=[1, 2])
    yield at(own, 1, planned_ns, Action.COMPLETE_REASSIGNMENT)
    yield topic(9, written_ns, '"1":[1,2]')


def removed(planned_ns: int, written_ns: int) -> Iterator[TraceEvent]:
    yield topic(3, written_ns - 5 * MS, '"0":[1,2],"1":[1,2]')
    yield at(OF_PARTITION, 1, planned_ns, Action.REMOVE_PARTITIONS)
    yield topic(9, written_ns, '"0":[1,2]')


Asking = Callable[[int, int], Iterator[TraceEvent]]
ASKING = [elected_again, added, completed, removed]


@pytest.fixture(scope="module")
def run() -> RecordedRun:
    return recorded_run("r", as_lines(simulate_modelled(SEED, level=2, mutant=None)))


def ordered(run: RecordedRun, events: list[TraceEvent]) -> list[TraceEvent]:
    lines = tuple(as_lines(events))
    return [line.event for line in total_order(replace(run, lines=lines))]


@pytest.mark.parametrize("asking", ASKING)
def test_a_broker_asks_in_the_millisecond_in_which_it_decided(
    run: RecordedRun, asking: Asking
) -> None:
    events = [*asking(100 * MS + 700, 100 * MS + 900)]

    assert ordered(run, events) == events


@pytest.mark.parametrize("asking", ASKING)
def test_what_was_done_in_a_later_millisecond_stays_behind(
    run: RecordedRun, asking: Asking
) -> None:
    events = [*asking(102 * MS + 700, 100 * MS + 900)]
    (asked,) = (event for event in events if event.seq == 1 and event.node == "broker-1")

    found = ordered(run, events)

    written = [event for event in found if event.zxid == 9]
    assert found.index(written[-1]) < found.index(asked)
