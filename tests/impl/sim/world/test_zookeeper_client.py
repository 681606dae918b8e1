"""A broker's connection to the simulated ZooKeeper: order, unknown outcomes, late arrivals."""

from random import Random

import pytest

from fencepost.impl.core.types.effects import ListChildren, ReadZnodes, WriteZnodes
from fencepost.impl.core.types.events import (
    ChildrenListed,
    SessionEstablished,
    SessionLost,
    SessionReconnected,
    SessionSuspended,
    WatchFired,
    ZnodesRead,
    ZnodesWritten,
    ZooKeeperEvent,
)
from fencepost.impl.core.types.zookeeper import Create, SetData, Unknown, Written
from fencepost.impl.sim.engine.scheduler import Scheduler
from fencepost.impl.sim.world.zookeeper import SimulatedZooKeeper
from fencepost.impl.sim.world.zookeeper_client import SimulatedZooKeeperClient
from fencepost.impl.sim.world.zookeeper_link import ZooKeeperLinkFault
from fencepost.spec.vocabulary import ANY_VERSION
from fencepost.spec.znodes import BROKER_IDS, PERSISTENT_PATHS

TIMEOUT_MS = 600
SEEDS = 20
PATH = f"{BROKER_IDS}/1"


class Line:
    """One client, its server, and all that was delivered, in order."""

    def __init__(self, seed: int = 1) -> None:
        self.heard: list[ZooKeeperEvent] = []
        self.scheduler = Scheduler()
        self.server = SimulatedZooKeeper(
            now_ms=lambda: self.scheduler.now_ms,
            on_watch=lambda _, event: self.client.on_watch(event),
            on_session_end=lambda _: self.client.on_session_end(),
        )
        self.server.ensure(PERSISTENT_PATHS)
        self.client = SimulatedZooKeeperClient(
            scheduler=self.scheduler,
            server=self.server,
            random=Random(seed),
            timeout_ms=TIMEOUT_MS,
            gate=lambda callback: callback(),
            deliver=self.heard.append,
        )
        self.client.start()
        self.run(10)
        assert isinstance(self.heard.pop(), SessionEstablished)

    def run(self, milliseconds: int) -> None:
        self.scheduler.run_until(self.scheduler.now_ms + milliseconds)

    def run_until_created(self) -> None:
        self.scheduler.run_until(self.scheduler.now_ms + 20, lambda: self.is_created)

    def create(self, op_id: int = 1) -> None:
        op = Create(path=PATH, data=b"x", ephemeral=True)
        self.client.perform(WriteZnodes(op_id=op_id, ops=(op,)))

    @property
    def is_created(self) -> bool:
        return self.server.peek(PATH).stat is not None


def test_answers_come_in_the_order_of_the_questions() -> None:
    line = Line()
    line.create(1)
    for op_id in range(2, 30):
        line.client.perform(ReadZnodes(op_id=op_id, paths=(PATH,)))
    assert line.heard == []

    line.run(100)

    assert [e.op_id for e in line.heard if isinstance(e, ZnodesWritten | ZnodesRead)] == list(
        range(1, 30)
    )


def test_a_watch_comes_after_the_answers_before_it() -> None:
    line = Line()
    line.client.perform(ListChildren(op_id=1, paths=(BROKER_IDS,), watch=True))
    line.create(2)

    line.run(100)

    listed, watch, written = line.heard
    assert isinstance(listed, ChildrenListed)
    assert watch == WatchFired(path=BROKER_IDS, children=True)
    assert isinstance(written, ZnodesWritten)


@pytest.mark.parametrize("reads_before", [False, True])
def test_a_late_watch_comes_late_but_before_what_made_it_fire_is_read(reads_before: bool) -> None:
    line = Line()
    line.client.perform(ListChildren(op_id=1, paths=(BROKER_IDS,), watch=True))
    line.run(20)
    line.heard.clear()
    line.client.late.lateness_us = lambda path: 300_000 if path == BROKER_IDS else 0
    line.server.ensure((PATH,))
    line.client.perform(ReadZnodes(op_id=2, paths=(PATH,)))
    line.run(250)
    (of_another,) = line.heard
    if reads_before:
        line.client.perform(ListChildren(op_id=3, paths=(BROKER_IDS,)))
        line.run(20)
    before_its_time = list(line.heard[1:3])
    line.run(300)

    watch = WatchFired(path=BROKER_IDS, children=True)
    assert isinstance(of_another, ZnodesRead), "a read of another znode does not wait"
    assert before_its_time[:1] == ([watch] if reads_before else [])
    assert line.heard.count(watch) == 1


def hear_of_all(client: SimulatedZooKeeperClient) -> None:
    client.late.hear_of()


def test_a_late_watch_is_told_when_the_fault_is_over_or_the_connection_another() -> None:
    for end in (hear_of_all, SimulatedZooKeeperClient.break_connection):
        line = Line()
        line.client.perform(ListChildren(op_id=1, paths=(BROKER_IDS,), watch=True))
        line.run(20)
        line.client.late.lateness_us = lambda _: 60_000_000
        line.server.ensure((PATH,))
        line.run(20)
        end(line.client)
        line.run(500)

        assert line.heard.count(WatchFired(path=BROKER_IDS, children=True)) == 1


@pytest.mark.parametrize(("to_server", "to_broker"), [(True, True), (True, False), (False, True)])
def test_a_client_without_answers_reconnects_and_its_session_lasts_while_heartbeats_arrive(
    to_server: bool, to_broker: bool
) -> None:
    line = Line()
    session_id = line.client.session_id
    fault = ZooKeeperLinkFault(
        stalls_to_server=to_server, stalls_to_broker=to_broker, since_ms=line.scheduler.now_ms
    )
    line.client.link_faults.append(fault)
    line.create()
    line.run(300)
    in_time = (line.is_created, list(line.heard))
    line.run(700)
    line.server.end_silent_sessions()
    outlives = line.server.touch(session_id)

    assert in_time == (not to_server, [])
    assert outlives is not to_server
    assert [type(event) for event in line.heard] == [ZnodesWritten, SessionSuspended]
    line.client.link_faults.remove(fault)
    fault.release()
    line.run(3_000)
    assert isinstance(line.heard[-1], SessionReconnected if outlives else SessionEstablished)
    assert line.is_created is outlives
    assert fault.matched > 2


def test_what_waits_arrives_in_its_order_when_the_way_is_open_again() -> None:
    line = Line()
    fault = ZooKeeperLinkFault(stalls_to_server=True, since_ms=line.scheduler.now_ms)
    line.client.link_faults.append(fault)
    line.create(1)
    line.client.perform(ReadZnodes(op_id=2, paths=(PATH,)))
    line.run(100)
    line.client.link_faults.remove(fault)
    fault.release()
    line.run(100)

    written, read = line.heard
    assert isinstance(written, ZnodesWritten)
    assert isinstance(read, ZnodesRead)
    assert read.znodes
    assert read.znodes[0].stat is not None


@pytest.mark.parametrize("is_connected", [True, False])
def test_a_watch_that_fires_as_the_connection_breaks_is_told_on_the_next(
    is_connected: bool,
) -> None:
    line = Line()
    line.client.perform(ListChildren(op_id=1, paths=(BROKER_IDS,), watch=True))
    line.run(10)
    line.heard.clear()
    if not is_connected:
        line.client.break_connection()
    line.server.ensure((PATH,))
    if is_connected:
        line.client.break_connection()
    assert line.heard == [SessionSuspended()]

    line.run(200)

    assert line.heard[2:] == [WatchFired(path=BROKER_IDS, children=True)]


def test_a_watch_is_not_told_to_the_next_session() -> None:
    line = Line()
    line.client.perform(ListChildren(op_id=1, paths=(BROKER_IDS,), watch=True))
    line.run(10)
    line.heard.clear()
    line.server.ensure((PATH,))
    line.server.end_session(line.client.session_id)
    line.client.break_connection()

    line.run(2_000)

    assert [type(event) for event in line.heard] == [
        SessionSuspended,
        SessionLost,
        SessionEstablished,
    ]


def test_a_reply_that_is_lost_takes_the_connection_with_it_and_not_the_write() -> None:
    line = Line()
    line.client.loses_reply = lambda _: True
    line.create(1)

    line.run(5)

    assert line.heard == [ZnodesWritten(op_id=1, result=Unknown()), SessionSuspended()]
    assert line.is_created


def test_without_a_connection_every_answer_is_unknown() -> None:
    line = Line()
    line.client.break_connection()
    line.heard.clear()
    line.create(1)
    line.client.perform(ReadZnodes(op_id=2, paths=(PATH,)))
    line.client.perform(ListChildren(op_id=3, paths=(BROKER_IDS,)))

    line.run(5)

    assert line.heard == [
        ZnodesWritten(op_id=1, result=Unknown()),
        ZnodesRead(op_id=2, znodes=None),
        ChildrenListed(op_id=3, children=None),
    ]
    assert not line.is_created


def test_what_was_in_flight_is_answered_unknown_before_the_suspension() -> None:
    line = Line()
    line.create(1)
    line.client.perform(ReadZnodes(op_id=2, paths=(PATH,)))

    line.client.break_connection()

    assert line.heard == [
        ZnodesWritten(op_id=1, result=Unknown()),
        ZnodesRead(op_id=2, znodes=None),
        SessionSuspended(),
    ]


def break_in_flight(seed: int) -> Line:
    """A write is on its way when the connection breaks."""
    line = Line(seed)
    line.create(1)
    line.client.break_connection()
    assert not line.is_created
    line.run(400)
    return line


def test_a_lost_write_may_or_may_not_be_applied_afterwards() -> None:
    applied = {break_in_flight(seed).is_created for seed in range(SEEDS)}

    assert applied == {True, False}


@pytest.mark.parametrize("seed", range(4))
def test_an_unknown_write_is_never_answered_again(seed: int) -> None:
    line = break_in_flight(seed)

    written = [e for e in line.heard if isinstance(e, ZnodesWritten)]

    assert written == [ZnodesWritten(op_id=1, result=Unknown())]


def test_a_reply_that_was_lost_on_the_way_back_is_unknown_too() -> None:
    found = 0
    for seed in range(SEEDS):
        line = Line(seed)
        line.create(1)
        line.run_until_created()
        if not line.heard:
            line.client.break_connection()
            line.run(400)
            assert line.heard[0] == ZnodesWritten(op_id=1, result=Unknown())
            assert line.is_created
            found += 1
    assert found


def test_within_its_timeout_a_session_outlives_its_connection() -> None:
    line = Line()
    session_id = line.client.session_id
    line.create()
    line.run(20)
    line.heard.clear()

    line.client.break_connection()
    line.run(300)

    assert line.heard == [SessionSuspended(), SessionReconnected(session_id=session_id)]
    assert line.is_created


def test_a_session_that_the_server_ended_is_lost_and_another_one_opened() -> None:
    line = Line()
    old = line.client.session_id
    line.create()
    line.run(20)
    line.heard.clear()

    line.server.end_session(old)
    assert not line.is_created
    line.run(300)

    suspended, lost, established = line.heard
    assert (suspended, lost) == (SessionSuspended(), SessionLost())
    assert isinstance(established, SessionEstablished)
    assert established.session_id == line.client.session_id != old


def test_heartbeats_keep_an_idle_session() -> None:
    line = Line()
    for _ in range(40):
        line.run(100)
        line.server.end_silent_sessions()

    assert line.server.touch(line.client.session_id)


def test_a_closed_client_falls_silent() -> None:
    line = Line()
    session_id = line.client.session_id

    line.client.close()
    line.run(TIMEOUT_MS + 100)
    line.server.end_silent_sessions()

    assert not line.server.touch(session_id)
    assert line.heard == []


def test_an_answered_write_is_applied() -> None:
    line = Line()
    line.create()
    line.run(20)

    (written,) = line.heard
    assert isinstance(written, ZnodesWritten)
    assert isinstance(written.result, Written)
    assert line.is_created


@pytest.mark.parametrize("late", [BROKER_IDS, PATH])
def test_a_watch_that_is_late_holds_up_those_that_fire_after_it(late: str) -> None:
    line = Line()
    line.create()
    line.run(20)
    line.client.perform(ListChildren(op_id=2, paths=(BROKER_IDS,), watch=True))
    line.client.perform(ReadZnodes(op_id=3, paths=(PATH,), watch=True))
    line.run(20)
    line.client.late.lateness_us = lambda path: 200_000 if path == late else 0

    def fired() -> list[str]:
        return [event.path for event in line.heard if isinstance(event, WatchFired)]

    first, second = (BROKER_IDS, PATH) if late == BROKER_IDS else (PATH, BROKER_IDS)
    changes: dict[str, Create | SetData] = {
        BROKER_IDS: Create(path=f"{BROKER_IDS}/2", data=b""),
        PATH: SetData(path=PATH, data=b"y", expected_version=ANY_VERSION),
    }
    for path in (first, second):
        line.server.write(line.client.session_id, (changes[path],))
        line.run(5)
    line.run(180)
    assert fired() == []

    line.run(30)
    assert fired() == [first, second]
