from collections.abc import Iterator
from pathlib import Path

import pytest

from fencepost.conformance.adapters.grpc_transport import GrpcTransport
from fencepost.conformance.clients.workload import (
    Floor,
    NotConvergedError,
    Session,
    Workload,
    read_everything,
)
from fencepost.fault_injection.injectors.injector import InjectionError
from fencepost.spec.trace import Kind, TraceEvent, read_trace
from tests.conformance.clients.test_client import PARTITION, cluster


@pytest.fixture
def run_folder(tmp_path: Path) -> Iterator[tuple[Session, Path, list[str]]]:
    with cluster() as fake:
        session = session_at(tmp_path, fake.address)
        yield session, tmp_path, fake.log
        session.transport.close()
        session.close()


def session_at(folder: Path, address: str) -> Session:
    return Session(
        folder=folder, run_id="r1", bootstrap=lambda: [address], transport=GrpcTransport()
    )


def trace(folder: Path, node: str) -> list[TraceEvent]:
    found = read_trace(folder / f"trace-{node}.ndjson")
    assert found.foreign_lines == []
    assert found.torn_lines == 0
    return found.events


def test_every_attempt_has_its_own_payload_and_every_invocation_its_end(
    run_folder: tuple[Session, Path, list[str]],
) -> None:
    session, folder, log = run_folder
    workload = Workload(session, [PARTITION], seed=3)
    workload.start()
    reached = workload.await_acknowledged(20, deadline_s=20)
    workload.stop()

    events = [event for node in ("client-1", "client-2") for event in trace(folder, node)]
    payloads = [v for e in events if e.kind is Kind.INVOKE for v in e.values or []]
    assert reached
    assert len(payloads) == len(set(payloads)) >= 20
    assert set(log) == set(payloads)
    assert all(value.count("/") == 2 for value in payloads)
    assert len(events) == 2 * len(payloads)


def test_consumers_read_on_from_where_they_were(
    run_folder: tuple[Session, Path, list[str]],
) -> None:
    session, folder, log = run_folder
    log.extend(f"client-9/{number}/1" for number in range(500))
    workload = Workload(session, [PARTITION], seed=3, producers=1, consumers=1)
    workload.start()
    workload.await_acknowledged(30, deadline_s=20)
    workload.stop()

    fetched = [e for e in trace(folder, "client-2") if e.kind is Kind.COMPLETE and e.values]
    next_offset = 0
    for event in fetched:
        assert event.offset is not None
        assert event.offset <= next_offset
        next_offset = max(next_offset, event.offset + len(event.values or []))
    assert next_offset >= 500


def test_floor_counts_around_the_fault(run_folder: tuple[Session, Path, list[str]]) -> None:
    session, _, _ = run_folder
    workload = Workload(session, [PARTITION], seed=1, producers=1, consumers=0)
    workload.start()
    workload.await_acknowledged(26, deadline_s=20)
    workload.stop()
    ends = workload.acknowledged_ns

    floor = workload.floor("f", ends[12], ends[15], during_min=3)

    assert (floor.before, floor.during) == (12, 3)
    assert floor.after == len(ends) - 15
    assert floor.is_met


@pytest.mark.parametrize(("before", "after"), [(0, 50), (50, 0)])
def test_fault_outside_of_a_working_run_does_not_count(before: int, after: int) -> None:
    assert not Floor(fault_id="f", before=before, during=9, after=after).is_met


def test_fault_that_nobody_was_served_under_does_not_count_where_a_quorum_was_left() -> None:
    floor = Floor(fault_id="f", before=50, during=4, after=50, during_min=5)

    assert not floor.is_met
    assert floor.sentence == (
        "f: 50 requests were acknowledged before it, 4 during it and 50 after it; "
        "it counts with 1 before it and 1 after it, and 5 while it lasts"
    )


def test_final_read_covers_the_log_in_one_pass(run_folder: tuple[Session, Path, list[str]]) -> None:
    session, folder, log = run_folder
    log.extend(f"client-9/{number}/1" for number in range(1200))

    values = read_everything(session.client("client-final"), [PARTITION], deadline_s=10)

    offsets = [e.offset for e in trace(folder, "client-final") if e.kind is Kind.COMPLETE]
    assert values[PARTITION] == tuple(log)
    assert offsets == [0, 500, 1000]


def test_final_read_of_a_silent_cluster_says_how_far_it_came(tmp_path: Path) -> None:
    session = session_at(tmp_path, "127.0.0.1:1")

    with pytest.raises(NotConvergedError, match=r"orders/0 was read to 0"):
        read_everything(session.client("client-final"), [PARTITION], deadline_s=0)

    session.transport.close()
    session.close()


def test_a_burst_is_more_producers_until_it_ends(
    run_folder: tuple[Session, Path, list[str]],
) -> None:
    session, folder, log = run_folder
    workload = Workload(session, [PARTITION], seed=3, producers=1, consumers=1)
    workload.start()
    workload.await_acknowledged(3, deadline_s=20)
    burst = workload.burst(2)
    workload.await_acknowledged(60, deadline_s=20)
    burst.end()
    by_then = burst.acknowledged
    workload.await_acknowledged(workload.acknowledged + 3, deadline_s=20)
    workload.stop()

    assert 0 < by_then == burst.acknowledged
    assert {value.split("/")[0] for value in log} == {"client-1", "client-3", "client-4"}
    assert trace(folder, "client-3")


def test_a_producer_that_crashes_leaves_a_request_open_and_an_heir(
    run_folder: tuple[Session, Path, list[str]],
) -> None:
    session, folder, log = run_folder
    workload = Workload(session, [PARTITION], seed=3, producers=1, consumers=1)
    workload.start()
    workload.await_acknowledged(3, deadline_s=20)
    fate = workload.crash_producer()
    workload.await_acknowledged(workload.acknowledged + 10, deadline_s=20)
    workload.stop()

    events = trace(folder, "client-1")
    assert fate() == "client-1 ended in the middle of a request; client-3 goes on"
    assert events[-1].kind is Kind.INVOKE
    assert sum(e.kind is Kind.INVOKE for e in events) == 1 + sum(
        e.kind is Kind.COMPLETE for e in events
    )
    assert any(value.startswith("client-3/") for value in log)


def test_without_a_producer_at_work_none_can_crash(
    run_folder: tuple[Session, Path, list[str]],
) -> None:
    idle = Workload(run_folder[0], [PARTITION], seed=3)

    with pytest.raises(InjectionError, match="no producer is at work"):
        idle.crash_producer()
