"""What is read from ZooKeeper's own lines: documents, sessions, registrations and reigns."""

import sys

import pytest

from fencepost.conformance.checks.znode_history import (
    Reign,
    assignment_of,
    brokers_by_session,
    document_of,
    epoch_of,
    leader_and_isr_writes,
    registrations,
)
from fencepost.spec.trace import Kind, TraceEvent
from tests.conformance.checks.trace_builder import ZNODE, Trace, document

TOPIC = "/brokers/topics/orders"
STATE = document(1, 0, [1])
ASSIGNED = '{"version":1,"partitions":{"0":[1,2]}}'


def line(action: str, path: str, data: str) -> TraceEvent:
    return Trace().zookeeper(action, path, data, session=1, zxid=1)


@pytest.mark.parametrize(
    ("action", "path", "data", "told"),
    [
        ("Create", ZNODE, STATE, (True, False, False)),
        ("SetData", ZNODE, STATE, (True, False, False)),
        ("Delete", ZNODE, STATE, (False, False, False)),
        ("Create", TOPIC, STATE, (False, False, False)),
        ("Create", ZNODE, "?", (False, False, False)),
        ("SetData", TOPIC, ASSIGNED, (False, True, False)),
        ("Delete", TOPIC, ASSIGNED, (False, False, False)),
        ("Create", "/elsewhere/orders", ASSIGNED, (False, False, False)),
        ("Create", TOPIC, "?", (False, False, False)),
        ("SetData", "/controller_epoch", "2", (False, False, True)),
        ("Delete", "/controller_epoch", "2", (False, False, False)),
        ("SetData", "/elsewhere", "2", (False, False, False)),
        ("SetData", "/controller_epoch", "?", (False, False, False)),
    ],
)
def test_a_line_tells_a_document_where_it_stores_one(
    action: str, path: str, data: str, told: tuple[bool, bool, bool]
) -> None:
    stored = line(action, path, data)
    found = document_of(stored), assignment_of(stored), epoch_of(stored)

    assert tuple(one is not None for one in found) == told


def test_a_session_is_of_the_broker_that_tells_its_own() -> None:
    trace = Trace()
    trace.broker(1, "RegisterBroker", session_id=101)
    trace.broker(2, "RegisterBroker")
    trace.broker(3, "BecomeLeader", session_id=103)
    trace.add("harness", Kind.COMPLETE, "WriteLeaderAndIsr", {"session_id": 104})

    assert brokers_by_session(trace.events) == {101: 1}


def test_registrations_stand_from_their_creation_to_before_their_deletion() -> None:
    trace = Trace()
    for zxid, action, path in (
        (2, "Delete", "/brokers/ids/2"),
        (3, "Create", "/brokers/ids/1"),
        (4, "SetData", "/brokers/ids/1"),
        (5, "Create", "/elsewhere/1"),
        (6, "Create", "/brokers/ids/seqid"),
        (7, "Delete", "/brokers/ids/1"),
        (9, "Create", "/brokers/ids/1"),
        (10, "SetData", "/brokers/ids/1"),
    ):
        trace.zookeeper(action, path, "{}", session=1, zxid=zxid)

    assert registrations(trace.events) == {1: [(3, 6), (9, sys.maxsize)], 2: []}


OWNER = ("Create", "/controller", "", 3)
RAISED = ("Create", "/controller_epoch", "1", 3)


@pytest.mark.parametrize(
    ("lines", "reign"),
    [
        ([OWNER], (3, 0)),
        ([OWNER, ("Create", ZNODE, STATE, 4)], (3, 0)),
        ([OWNER, ("SetData", "/controller", "", 4)], (3, 0)),
        ([OWNER, ("Delete", ZNODE, "", 3)], (3, 0)),
        ([OWNER, ("Delete", "/controller", "", 4)], (None, 0)),
        ([OWNER, ("CloseSession", "", "", 4)], (3, 0)),
        ([OWNER, ("CloseSession", "", "", 3)], (None, 0)),
        ([OWNER, RAISED], (3, 1)),
        ([OWNER, RAISED, ("Delete", "/controller", "", 3)], (3, 1)),
        ([OWNER, RAISED, ("SetData", "/controller_epoch", "0", 4)], (3, 1)),
        ([OWNER, RAISED, ("SetData", "/controller_epoch", "2", 4)], (4, 2)),
    ],
)
def test_who_reigns_once_a_line_is_done(
    lines: list[tuple[str, str, str, int]], reign: tuple[int | None, int]
) -> None:
    trace, now = Trace(), Reign()
    for zxid, (action, path, data, session) in enumerate(lines):
        now = now.after(trace.zookeeper(action, path, data, session=session, zxid=zxid))

    assert (now.session_id, now.controller_epoch) == reign


def test_a_write_tells_what_it_replaces_and_what_could_lead_before() -> None:
    beside = document(-1, 1, []).removesuffix("}") + ',"eligible":[3]}'
    lines = [
        ("Create", document(1, 0, [1, 2])),
        ("SetData", document(-1, 1, [])),
        ("SetData", beside),
        ("SetData", "?"),
        ("SetData", document(2, 2, [2])),
        ("Delete", document(2, 2, [2])),
        ("Create", document(1, 0, [1])),
    ]
    trace = Trace()
    for zxid, (action, data) in enumerate(lines):
        trace.zookeeper(action, ZNODE, data, session=1, zxid=zxid)
    writes = leader_and_isr_writes(trace.events)
    replaced = [write.before_event.zxid if write.before_event else None for write in writes]

    assert replaced == [None, 0, 1, 2, 3, None]
    assert [write.before is None for write in writes] == [True, False, False, False, True, True]
    assert [sorted(write.eligible) for write in writes] == [[], [1, 2], [1, 2], [3], [1, 2], []]


def test_lines_about_no_state_are_no_writes() -> None:
    trace = Trace()
    trace.zookeeper("Create", TOPIC, ASSIGNED, session=1, zxid=1)
    trace.add("zookeeper", Kind.ZOOKEEPER, "CreateSession", {"session_id": 1, "zxid": 2})

    assert leader_and_isr_writes(trace.events) == []
