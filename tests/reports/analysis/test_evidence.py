"""The surroundings of a violation tell what each replica held just before it."""

import pytest
from msgspec.structs import replace

from fencepost.conformance.checks.registry import CHECKS
from fencepost.fault_injection.faults.catalogue import KINDS
from fencepost.fault_injection.faults.fault import BrokerFault
from fencepost.fault_injection.faults.process_faults import PauseBroker, RollBrokers, StutterBroker
from fencepost.reports.analysis.evidence import STEPS_MAX, ViolationContext, gather
from fencepost.reports.analysis.replicas import DOWN_FAULTS, replica_states
from fencepost.reports.kernels.displayed import DisplayedEvents, display_order
from fencepost.spec.trace import Kind, Phase, TraceEvent
from fencepost.spec.vocabulary import Invariant
from tests.reports.stories import Story, failover_story, truncation_story


def evidence_of(invariant: Invariant) -> ViolationContext:
    events = truncation_story("r").events
    result = CHECKS[invariant].run([e for e in events if e.action in CHECKS[invariant].reads])
    (context,) = gather(result.violations[:1], DisplayedEvents(events), events[0].mono_ns)
    return context


def test_replicas_are_told_as_they_were_before_the_violation() -> None:
    before = evidence_of(Invariant.LEADER_COMPLETE)

    assert [(r.broker_id, r.process, r.log_end_offset) for r in before.replicas] == [
        (1, "killed", 2),
        (2, "running", 1),
        (3, "running", 2),
    ]
    assert [record.value for record in before.replicas[1].last_records] == ["client-1/0/1"]


@pytest.mark.parametrize(
    ("phases", "process"),
    [
        ([Phase.INJECTING], "paused"),
        ([Phase.INJECTING, Phase.ACTIVE, Phase.HEALING], "paused"),
        ([Phase.INJECTING, Phase.ACTIVE, Phase.HEALING, Phase.HEALED], "running"),
        ([Phase.INJECTING, Phase.INEFFECTIVE], "running"),
        ([Phase.INJECTING, Phase.FAILED], "running"),
    ],
)
def test_a_process_stands_still_from_the_injection_on(phases: list[Phase], process: str) -> None:
    story = Story("r")
    for phase in phases:
        story.fault(phase, 1, "proc.pause", "pause-1")

    (state,) = replica_states(event for event in story.events if event.kind is Kind.FAULT)

    assert state.process == process


@pytest.mark.parametrize("kind", DOWN_FAULTS)
def test_every_kind_that_stops_a_broker_is_seen_from_its_injection_on(kind: str) -> None:
    story = Story("r")
    story.fault(Phase.INJECTING, 1, kind, "fault-1")

    (state,) = replica_states(story.events)

    assert state.process == DOWN_FAULTS[kind] != "running"


def test_the_kinds_that_stop_a_broker_are_known() -> None:
    starts_anew = {
        kind
        for kind, known in KINDS.items()
        if known.fault_class.starts_anew and issubclass(known.fault_class, BrokerFault)
    }

    assert starts_anew
    assert set(DOWN_FAULTS) == starts_anew | {
        PauseBroker.kind,
        StutterBroker.kind,
        RollBrokers.kind,
    }


def test_brokers_that_are_restarted_in_turn_are_down_each_in_its_own() -> None:
    story = Story("r")
    for broker_id in (1, 2):
        story.fault(Phase.INJECTING, broker_id, RollBrokers.kind, "roll-1")
        if broker_id == 1:
            story.emit("broker-1", Kind.RUN, "NodeStarted", broker_id=1)

    first, second = replica_states(story.events)

    assert (first.process, second.process) == ("running", "ended")


def test_a_log_end_that_no_line_tells_any_more_is_unknown() -> None:
    story = truncation_story("r").events
    leads = next(event for event in story if event.action == "BecomeLeader")
    advance = replace(leads, action="AdvanceHighWatermark", high_watermark=9, log_end_offset=None)

    (before,) = replica_states([leads])
    (after,) = replica_states([leads, advance])

    assert before.log_end_offset >= 0
    assert (after.high_watermark, after.log_end_offset) == (9, -1)


def test_the_witnesses_are_among_the_steps_and_marked() -> None:
    evidence = evidence_of(Invariant.LEADER_COMPLETE)

    marked = [(step.node, step.action) for step in evidence.steps if step.is_witness]
    assert marked == [("broker-1", "AdvanceHighWatermark"), ("broker-2", "BecomeLeader")]
    assert len(evidence.steps) <= STEPS_MAX


def test_messages_run_from_the_sender_to_the_receiver() -> None:
    evidence = evidence_of(Invariant.LEADER_COMPLETE)

    ends = {
        (evidence.steps[m.sent].node, evidence.steps[m.received].node, m.label)
        for m in evidence.messages
    }
    assert ("broker-3", "broker-2", "LeaderAndIsr") in ends
    assert ("client-1", "broker-1", "produce") in ends
    assert ("broker-1", "broker-2", "fetched") in ends


def test_zookeepers_lines_stand_where_their_transaction_was_first_heard_of() -> None:
    events = failover_story("r").events

    ordered = display_order(reversed(events))

    decision = next(e for e in ordered if e.action == "PublishDecision" and e.leader == 2)
    written = next(e for e in ordered if e.kind is Kind.ZOOKEEPER and e.zxid == decision.zxid)
    assert written.mono_ns == min(
        e.mono_ns for e in events if e.zxid == decision.zxid and e.mono_ns > 0
    )
    assert ordered.index(written) < ordered.index(decision)


def test_a_truncated_record_is_no_longer_in_the_log() -> None:
    events = truncation_story("r").events
    cut = next(i for i, e in enumerate(events) if e.action == "TruncateLog" and e.broker_id == 2)

    held = {s.broker_id: len(s.last_records) for s in replica_states(events[: cut + 1])}

    assert held == {1: 2, 2: 1, 3: 2}


def test_events_of_one_instant_stand_as_their_clocks_and_numbers_say() -> None:
    events = [replace(event, mono_ns=event.seq // 3 + 1) for event in failover_story("r").events]

    ordered = display_order(reversed(events))

    def place(event: TraceEvent) -> tuple[object, ...]:
        is_ours = event.kind is not Kind.ZOOKEEPER
        return event.mono_ns, is_ours, event.lamport, event.node, event.incarnation, event.seq

    assert ordered == sorted(events, key=place)
