"""`DeleteOnlyIfUnassigned`: no broker gives up a replica that it is to have (CMD-008, REAS-005).

A stop names the leader epoch of the decision that removed the broker: in the transaction that wrote
this epoch it is not assigned. A stop without an epoch says that the incarnation is over: its state
is deleted some time. No broker obeys a stop older than what it has obeyed of that incarnation.
"""

from collections.abc import Sequence

from fencepost.conformance.checks.assignment_history import transactions
from fencepost.conformance.checks.evidence import Evidence
from fencepost.conformance.checks.incarnations import UNNAMED, incarnation_of
from fencepost.conformance.checks.log_history import known
from fencepost.conformance.checks.ordering import actions, split_by_partition
from fencepost.conformance.verdict import CheckResult
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import NO_EPOCH, Action, Invariant
from fencepost.spec.znodes import TopicPartition

_OBEYS = frozenset({Action.BECOME_LEADER, Action.BECOME_FOLLOWER})
_Epoch = tuple[TopicPartition, int, int]
"""Partition, incarnation and leader epoch."""


def check(events: Sequence[TraceEvent]) -> CheckResult:
    """Judge a whole run; the premise counts replicas that brokers held, to keep or to give up."""
    evidence = Evidence(invariant=Invariant.DELETE_ONLY_IF_UNASSIGNED)
    assigned, living = _assigned_at(events)
    told = split_by_partition(actions(events, *_OBEYS, Action.STOP_REPLICA))
    for key, lines in told.items():
        obeyed: dict[tuple[str, int], TraceEvent] = {}
        for event in lines:
            place = event.node, event.incarnation
            if event.action in _OBEYS:
                evidence.premise_count += place not in obeyed
                obeyed[place] = event
                continue
            last = obeyed.pop(place, None)
            if known(event.leader_epoch, NO_EPOCH) == NO_EPOCH:
                _check_deleted(event, key, living, evidence)
            elif not _is_of_later(event, key, assigned):
                _check_stop(event, key, last, evidence)
                _check_assignment(event, key, assigned, evidence)
    return evidence.result()


def _assigned_at(
    events: Sequence[TraceEvent],
) -> tuple[dict[_Epoch, tuple[frozenset[int], TraceEvent]], set[tuple[TopicPartition, int]]]:
    """The replicas in the transaction that first wrote an epoch; the states that are left."""
    assigned: dict[_Epoch, tuple[frozenset[int], TraceEvent]] = {}
    living: set[tuple[TopicPartition, int]] = set()
    for held in transactions(events):
        for key in held.changed & held.states.keys():
            state, event = held.states[key]
            incarnation = held.incarnations.get(key, 0)
            replicas = held.replicas(key)
            if replicas is not None:
                epoch = (key, incarnation, state.leader_epoch)
                assigned.setdefault(epoch, (replicas, event))
        living = set(held.incarnations.items())
    return assigned, living


def _check_deleted(
    stop: TraceEvent,
    key: TopicPartition,
    living: set[tuple[TopicPartition, int]],
    evidence: Evidence,
) -> None:
    if (key, incarnation_of(stop)) in living:
        message = f"Broker {stop.broker_id} gave up {key}, which was not deleted."
        evidence.violated(message, stop)


def _check_stop(
    stop: TraceEvent, key: TopicPartition, last: TraceEvent | None, evidence: Evidence
) -> None:
    """The broker has obeyed nothing newer than the stop."""
    if last is None or incarnation_of(last) not in (UNNAMED, incarnation_of(stop)):
        return
    if (last.leader_epoch or 0) > (stop.leader_epoch or 0):
        message = f"Broker {stop.broker_id} obeyed a stop of {key} under leader epoch"
        message = f"{message} {stop.leader_epoch} after it had obeyed epoch {last.leader_epoch}."
        evidence.violated(message, last, stop)


def _check_assignment(
    stop: TraceEvent,
    key: TopicPartition,
    assigned: dict[_Epoch, tuple[frozenset[int], TraceEvent]],
    evidence: Evidence,
) -> None:
    epoch = stop.leader_epoch or 0
    of_epoch = key, incarnation_of(stop), epoch
    replicas, write = assigned.get(of_epoch, (frozenset[int](), None))
    if stop.broker_id in replicas:
        message = f"Broker {stop.broker_id} gave up {key}, which leader epoch {epoch} assigns to"
        evidence.violated(f"{message} {sorted(replicas)}.", write, stop)


def _is_of_later(
    stop: TraceEvent,
    key: TopicPartition,
    assigned: dict[_Epoch, tuple[frozenset[int], TraceEvent]],
) -> bool:
    """The stop names an epoch of a later incarnation, which does not assign the broker.

    The line tells the incarnation that was given up: a stop takes with it what is older.
    """
    return any(
        other == key
        and incarnation > incarnation_of(stop)
        and epoch == stop.leader_epoch
        and stop.broker_id not in replicas
        for (other, incarnation, epoch), (replicas, _) in assigned.items()
    )
