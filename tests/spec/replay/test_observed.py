"""The coarse replay takes what is seen of real runs, and nothing that no run could show."""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import msgspec
import pytest

from fencepost.impl.sim.adapter import simulate_modelled
from fencepost.spec.replay.recorded_run import as_lines, recorded_run
from fencepost.spec.replay.replay import ZOOKEEPER, Replayed, ReplayReport, ReplayResult, replay
from fencepost.spec.trace import Kind, TraceEvent, read_trace
from fencepost.spec.vocabulary import Action, ErrorCode, Outcome

RUNS = Path(__file__).with_name("observed")
"""What the case clean_elections_keep_records showed on two releases, and record_outlives_its_leader
on one in KRaft mode."""
CLEAN, KIP_101, KRAFT = "kafka-3.9.1", "kafka-0.10.2.2", "kafka-4.1.1"
SEEDS = (40, 43, 28, 50)
SEEN = {
    Action.REGISTER_BROKER,
    Action.ELECT_CONTROLLER,
    Action.BECOME_LEADER,
    Action.BECOME_FOLLOWER,
}
OBSERVES = {"clients": "exact", "state_writes": "exact", "elections": "exact", "roles": "log"}

Change = Callable[[TraceEvent], Mapping[str, object]]


def recorded(name: str) -> list[TraceEvent]:
    return list(read_trace(RUNS / f"{name}.ndjson").events)


def from_outside(events: Iterable[TraceEvent]) -> list[TraceEvent]:
    """What is seen of a run of the reference as it is seen of Kafka."""
    events = list(events)
    told = {
        "observes": OBSERVES,
        "unclean_leader_election": any(event.is_unclean for event in events),
    }
    numbers: dict[tuple[str, int], int] = {}
    seen = []
    for event in events:
        is_hidden = event.kind is Kind.ACTION and event.action not in SEEN
        is_own = event.node.startswith("broker-") and event.kind in (Kind.INVOKE, Kind.COMPLETE)
        if is_hidden or is_own or event.action == "LogRecovered":
            continue
        detail = event.detail
        if event.action == "RunStarted":
            detail = json.dumps(json.loads(detail or "{}") | told)
        place = event.node, event.incarnation
        numbers[place] = numbers.get(place, -1) + 1
        seen.append(msgspec.structs.replace(event, detail=detail, seq=numbers[place]))
    return seen


def replayed(runs: Mapping[str, list[TraceEvent]]) -> ReplayReport:
    return replay([recorded_run(name, as_lines(events)) for name, events in runs.items()])


def partitions(found: ReplayReport, run: str) -> list[ReplayResult]:
    """The results of what was replayed of partitions."""
    return [
        result
        for result in found.results
        if result.run == run and result.verdict is not Replayed.NOT_OBSERVABLE
        if result.partition != ZOOKEEPER
    ]


def is_state(version: int) -> Callable[[TraceEvent], bool]:
    return lambda event: (
        (event.path or "").endswith("leaderAndISR") and event.znode_version == version
    )


def is_role(node: str, epoch: int) -> Callable[[TraceEvent], bool]:
    return lambda event: event.node == node and event.leader_epoch == epoch


def is_answer(action: str, number: int) -> Callable[[TraceEvent], bool]:
    """The answer to the n-th operation of its client."""
    return lambda event: (event.kind, event.action, event.op_id) == (Kind.COMPLETE, action, number)


def holds(offset: int, node: str) -> Callable[[TraceEvent], bool]:
    return lambda event: (
        (event.action, event.node, event.offset)
        == (
            Action.FOLLOWER_APPEND,
            node,
            offset,
        )
    )


def state(**fields: object) -> Change:
    """Other fields in the document of a state."""
    return lambda event: {"data": json.dumps(json.loads(event.data or "") | fields)}


def to(**fields: object) -> Change:
    return lambda _: fields


CORRUPTIONS: dict[str, tuple[Callable[[TraceEvent], bool], Change]] = {
    "a leader that is not in the ISR": (is_state(1), state(leader=1)),
    "an election without a new epoch": (is_state(1), state(leader_epoch=0)),
    "an election that skips an epoch": (is_state(1), state(leader_epoch=2)),
    "an election that adds to the ISR": (is_state(2), state(isr=[1, 3])),
    "an ISR with a broker that is not assigned": (is_state(3), state(isr=[3, 4])),
    "an empty ISR": (is_state(2), state(leader=-1, isr=[])),
    "an epoch of no controller": (is_state(2), state(controller_epoch=2)),
    "a write on another version": (is_state(3), to(znode_version=7)),
    "a first leader in another epoch": (is_state(0), state(leader_epoch=1)),
    "a leader that was not elected": (is_role("broker-3", 2), to(leader_epoch=1)),
    "a command with another ISR than the state": (is_role("broker-3", 2), to(isr=[2, 3])),
    "a command of an older controller": (is_role("broker-3", 3), to(controller_epoch=0)),
    "an acknowledgement by a follower": (is_answer("Produce", 2), to(broker_id=2)),
    "an acknowledgement of no broker": (is_answer("Produce", 2), to(broker_id=4)),
    "an acknowledgement at a place that is taken": (is_answer("Produce", 2), to(offset=0)),
    "an acknowledgement behind another record": (is_answer("Produce", 2), to(offset=2)),
    "a refused record that is read": (
        is_answer("Produce", 2),
        to(outcome=Outcome.DEFINITE_ERROR, error_code=ErrorCode.NOT_ENOUGH_REPLICAS, offset=None),
    ),
    "a read by a broker that never led": (is_answer("Fetch", 1), to(broker_id=4)),
    "a read without the acknowledged record": (
        is_answer("Fetch", 1),
        to(values=["client-1/1/1", "client-1/3/1"]),
    ),
    "a read of a record that was never sent": (
        is_answer("Fetch", 1),
        to(values=["client-1/1/1", "client-1/2/1", "client-9/9/9"], record_epochs=[0, 0, 0]),
    ),
    "a read above the high watermark": (is_answer("Fetch", 1), to(high_watermark=1)),
    "a read with another leader epoch": (is_answer("Fetch", 1), to(record_epochs=[0, 9])),
    "a read with a smaller leader epoch": (is_answer("Fetch", 1), to(record_epochs=[1, 0])),
    "a leader whose log ends too early": (is_answer("ListOffsets", 2), to(log_end_offset=1)),
    "a member of the ISR without the record": (holds(1, "broker-3"), to(values=["client-1/3/1"])),
}
"""What no run shows: the line that is corrupted, and its new fields."""


IN_KRAFT: dict[str, tuple[Callable[[TraceEvent], bool], Change]] = {
    "two leaders of one epoch": (is_role("broker-3", 1), to(leader=3)),
    "another leader of a version": (is_role("broker-1", 1), to(leader=3)),
    "a leader told outside the ISR": (is_role("broker-3", 2), to(isr=[1, 3], leader=2)),
    "a later version of an earlier epoch": (is_role("broker-1", 2), to(leader_epoch=0)),
    "an acknowledgement by a broker that never led": (is_answer("Produce", 1), to(broker_id=4)),
    "a last leader without the record": (is_answer("ListOffsets", 2), to(log_end_offset=0)),
}
"""The same where no state is seen."""

TOLD_BY = {
    "an acknowledgement behind another record": "Fetch",
    "a read with another leader epoch": "Produce",
    "a read with a smaller leader epoch": "Produce",
    "a member of the ISR without the record": "LogRecovered",
    "another leader of a version": "BecomeFollower",
}
"""Where another line contradicts: the log of the run is known beforehand."""


LIMITS: dict[str, tuple[Callable[[TraceEvent], bool], Change]] = {
    "the disk of broker 1 may lose records": (
        lambda event: event.fault_id == "kill-leader",
        to(action="disk.lose_unsynced"),
    ),
    "an administrator asks for other replicas": (is_state(1), to(path="/brokers/topics/ledger")),
    "a client that is no broker wrote /brokers/topics/ledger/0": (is_state(1), to(session_id=1)),
}
"""Why a replay ends before the run does."""
UNCLEAN = "a leader outside the ISR was elected"
AGAIN = "outlives/0 was created again"


def corrupted(name: str, wrong: Callable[[TraceEvent], bool], change: Change) -> list[TraceEvent]:
    events = recorded(name)
    at = next(number for number, event in enumerate(events) if wrong(event))
    events[at] = msgspec.structs.replace(events[at], **change(events[at]))
    return events


def unclean() -> list[TraceEvent]:
    """The last member of the ISR is gone, in a cluster that then elects another broker."""
    first, *events = corrupted(CLEAN, is_state(2), state(leader=1, isr=[1]))
    started = next(event for event in events if event.action == "RunStarted")
    told = json.loads(started.detail or "") | {"unclean_leader_election": True}
    events[events.index(started)] = msgspec.structs.replace(started, detail=json.dumps(told))
    return [first, *events]


@pytest.fixture(scope="module")
def found() -> ReplayReport:
    """All in one run of TLC: a start of it costs more than any of them."""
    runs = {name: corrupted(CLEAN, *how) for name, how in CORRUPTIONS.items()}
    runs |= {name: corrupted(KRAFT, *how) for name, how in IN_KRAFT.items()}
    runs |= {name: corrupted(CLEAN, *how) for name, how in LIMITS.items()}
    runs[UNCLEAN] = unclean()
    runs[AGAIN] = corrupted(KRAFT, is_role("broker-2", 1), to(znode_version=0, leader_epoch=0))
    return replayed({name: recorded(name) for name in (CLEAN, KIP_101, KRAFT)} | runs)


@pytest.mark.tlc
@pytest.mark.parametrize("name", [CLEAN, KRAFT])
def test_a_clean_run_of_kafka_is_a_behaviour(found: ReplayReport, name: str) -> None:
    [result] = partitions(found, name)

    assert (result.verdict, result.why) == (Replayed.ACCEPTED, "")
    assert result.events > 20


def test_what_is_not_seen_is_told_beside_it(found: ReplayReport) -> None:
    whole = [result for result in found.results if result.run == CLEAN]
    hidden = next(result for result in whole if result.verdict is Replayed.NOT_OBSERVABLE)

    assert hidden.partition == "each partition"
    assert "roles, appends, high_watermarks, isr_changes" in hidden.why
    assert "`TraceObserved` replays what is seen of each from outside" in hidden.why


def test_a_record_that_clean_elections_lost_is_told_with_its_event(found: ReplayReport) -> None:
    [result] = partitions(found, KIP_101)

    assert result.verdict is Replayed.REJECTED
    assert result.why == "the spec does not allow ListOffsets (trace-client-final-1.ndjson, line 4)"
    assert result.explanation is not None
    assert result.explanation.event.line.event.log_end_offset == 1
    assert isinstance(result.explanation.state, dict)
    assert result.explanation.state["committed"] == 2


@pytest.mark.parametrize("name", [*CORRUPTIONS, *IN_KRAFT])
def test_what_no_run_shows_is_rejected_at_its_line(found: ReplayReport, name: str) -> None:
    wrong, change = (CORRUPTIONS | IN_KRAFT)[name]
    line = next(filter(wrong, recorded(CLEAN if name in CORRUPTIONS else KRAFT)))
    [result] = partitions(found, name)

    assert result.verdict is Replayed.REJECTED
    assert result.explanation is not None
    event = result.explanation.event.line.event
    if name in TOLD_BY:
        assert event.action == TOLD_BY[name]
    else:
        assert event == msgspec.structs.replace(line, **change(line))


@pytest.mark.parametrize("why", [*LIMITS, UNCLEAN, AGAIN])
def test_a_replay_ends_where_the_run_leaves_the_spec(found: ReplayReport, why: str) -> None:
    [result] = partitions(found, why)

    assert result.verdict is Replayed.ACCEPTED
    assert why in result.why


@pytest.mark.tlc
def test_what_the_reference_does_is_a_behaviour_from_outside_too() -> None:
    found = replayed(
        {str(seed): from_outside(simulate_modelled(seed, level=2, mutant=None)) for seed in SEEDS}
    )

    results = [result for seed in SEEDS for result in partitions(found, str(seed))]
    assert {result.verdict for result in results} == {Replayed.ACCEPTED}
    assert sum(result.events for result in results) > 1_000
