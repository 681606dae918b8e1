"""`OneLeaderPerEpoch`: a leader epoch of a partition has one leader (FAIL-004, CMD-010).

Two brokers that become leader in one epoch violate it, and so do two LeaderAndISR documents in
ZooKeeper that name different leaders under one epoch: brokers refuse the second command, so the
document may be the only trace of it. A document without a leader names none. Another incarnation of
the partition counts its epochs from the start.
"""

from collections.abc import Sequence

from fencepost.conformance.checks.evidence import Evidence
from fencepost.conformance.checks.incarnations import split_by_incarnation
from fencepost.conformance.checks.log_history import known
from fencepost.conformance.checks.ordering import actions, by_zxid
from fencepost.conformance.checks.znode_history import document_of
from fencepost.conformance.verdict import CheckResult
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import NO_BROKER, Action, Invariant


def check(events: Sequence[TraceEvent]) -> CheckResult:
    """Judge one partition; the premise counts leaders that took office."""
    evidence = Evidence(invariant=Invariant.ONE_LEADER_PER_EPOCH)
    for _, part in split_by_incarnation(events):
        _check_incarnation(part, evidence)
    return evidence.result()


def _check_incarnation(events: Sequence[TraceEvent], evidence: Evidence) -> None:
    leaders: dict[int, tuple[int | None, TraceEvent]] = {}
    for event in by_zxid(events):
        document = document_of(event)
        if document is not None and document.leader != NO_BROKER:
            _claim(document.leader_epoch, document.leader, event, leaders, evidence)
    for event in actions(events, Action.BECOME_LEADER):
        evidence.premise_count += 1
        _claim(known(event.leader_epoch, -1), event.broker_id, event, leaders, evidence)


def _claim(
    leader_epoch: int,
    leader: int | None,
    event: TraceEvent,
    leaders: dict[int, tuple[int | None, TraceEvent]],
    evidence: Evidence,
) -> None:
    first, witness = leaders.setdefault(leader_epoch, (leader, event))
    if first != leader:
        message = f"Leader epoch {leader_epoch} has two leaders, brokers {first} and {leader}."
        evidence.violated(message, witness, event)
