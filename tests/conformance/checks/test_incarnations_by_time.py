"""Lines that name no incarnation of a partition get it by the times of its creations."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from fencepost.conformance.checks.incarnations import lives_in, named
from fencepost.conformance.runs.run_folder import name_incarnations
from fencepost.spec.trace import Kind, TraceEvent, encode_all, read_trace
from fencepost.spec.vocabulary import Outcome

MS = 1_000_000
FIRST, SECOND = 11, 22
CREATED_MS = {FIRST: 1000, SECOND: 2000}


def line(kind: Kind, action: str, **fields: Any) -> TraceEvent:  # noqa: ANN401
    fields = {"run_id": "run", "node": "client-1", "seq": 0, "mono_ns": 0, **fields}
    return TraceEvent(kind=kind, action=action, **fields)


def zookeeper(*zxids: int) -> list[TraceEvent]:
    return [
        line(
            Kind.ZOOKEEPER,
            "Create",
            node="zookeeper",
            zxid=zxid,
            wall_ns=CREATED_MS[zxid] * MS,
            path="/brokers/topics/orders/0/leaderAndISR",
        )
        for zxid in zxids
    ]


def answer(begun_ms: int, ended_ms: int, **fields: Any) -> TraceEvent:  # noqa: ANN401
    times = {"inv_ns": begun_ms * MS, "mono_ns": ended_ms * MS}
    fields = {"topic": "orders", "partition": 0, "outcome": Outcome.OK, **times, **fields}
    return line(Kind.COMPLETE, "Produce", **fields)


def leads(broker_id: int, at_ms: int) -> TraceEvent:
    place: dict[str, Any] = {"topic": "orders", "partition": 0, "broker_id": broker_id}
    return line(Kind.ACTION, "BecomeLeader", **place, mono_ns=at_ms * MS)


def incarnations(*events: TraceEvent, told: Sequence[TraceEvent] = ()) -> list[int | None]:
    lives = lives_in(zookeeper(FIRST, SECOND), told, since_ns=0)
    return [event.partition_incarnation for event in named(events, lives)]


def test_an_answer_is_about_the_incarnation_that_there_was_meanwhile() -> None:
    assert incarnations(answer(1500, 1600), answer(2002, 2100)) == [FIRST, SECOND]


def test_what_was_under_way_at_the_creation_may_be_about_either() -> None:
    assert incarnations(answer(1990, 2010), answer(2000, 2010)) == [None, None]
    assert incarnations(answer(2001, 2010)) == [SECOND]


def test_what_is_named_or_about_something_else_stays_as_it_is() -> None:
    others: list[dict[str, Any]] = [
        {"partition_incarnation": 7},
        {"partition": 1},
        {"topic": None},
        {"partition": None},
    ]
    asked = line(Kind.INVOKE, "Produce", topic="orders", partition=0, mono_ns=1500 * MS)

    assert incarnations(*(answer(1500, 1600, **other) for other in others), asked) == [
        7,
        *[None] * 4,
    ]
    assert incarnations(answer(500, 600)) == [None]


def test_only_creations_of_a_state_begin_a_life() -> None:
    created, *_ = zookeeper(FIRST)
    others = [replace(created, action="SetData"), *[replace(created, path="/brokers/ids/1")] * 2]

    assert lives_in([created, *others], (), since_ns=0) == {}


def test_only_roles_in_it_tell_that_a_broker_knows_of_it() -> None:
    late = leads(1, 2100)
    told = [
        replace(leads(1, 2050), action="ServeFetch"),
        replace(leads(1, 2050), topic=None),
        replace(leads(1, 2050), partition=None),
        late,
    ]

    assert incarnations(answer(2060, 2070, broker_id=1), told=told) == [None]
    assert incarnations(answer(2110, 2120, broker_id=1), told=told) == [SECOND]


def test_a_line_of_a_broker_is_named_by_its_own_time() -> None:
    assert incarnations(leads(1, 2500)) == [SECOND]


def test_until_a_broker_has_a_role_in_the_new_one_its_answers_may_be_about_the_old() -> None:
    told = [leads(1, 1010), leads(2, 1020), leads(1, 2100), leads(2, 2200), leads(1, 2900)]

    answers = (answer(2110, 2120, broker_id=broker_id) for broker_id in (1, 2, None))
    assert incarnations(*answers, told=told) == [SECOND, None, None]
    assert incarnations(answer(2210, 2220), answer(2050, 2060, broker_id=1), told=told) == [
        SECOND,
        None,
    ]
    assert incarnations(answer(1500, 1600, broker_id=2), told=told) == [FIRST]


def test_traces_of_clients_are_rewritten_only_where_a_partition_came_again(tmp_path: Path) -> None:
    path = tmp_path / "trace-client-1.ndjson"
    path.write_bytes(b"".join(encode_all([answer(1500, 1600)])))

    name_incarnations(tmp_path, lives_in(zookeeper(FIRST), (), since_ns=0))
    assert read_trace(path).events[0].partition_incarnation is None

    name_incarnations(tmp_path, lives_in(zookeeper(FIRST, SECOND), (), since_ns=0))
    assert read_trace(path).events[0].partition_incarnation == FIRST
