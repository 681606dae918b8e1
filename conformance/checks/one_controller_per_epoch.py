"""`OneControllerPerEpoch`: a controller epoch has one controller (CTL-002, CTL-005).

- No two `ElectController` name different brokers under one controller epoch, nor different sessions
  of one broker, and a broker resigns the epoch under which it was elected.
- In ZooKeeper, `/controller_epoch` rises by exactly 1 with each election, in the same transaction
  that creates `/controller`. What people create by hand, in a session of no broker, elects none;
  an epoch that they write counts from then on, and after a smaller one comes none that there was.
  Kafka up to 2.0 raises it in a transaction of its own, and a quorum that elects its leaders may
  skip epochs, for an election may fail (`TraceDialect`).
- At level 0 there is no epoch; then every `ElectController` rests on a creation of `/controller`
  by the session that it names, each on one of its own.
"""

from collections import Counter
from collections.abc import Sequence, Set as AbstractSet
from itertools import pairwise

from fencepost.conformance.checks.evidence import Evidence
from fencepost.conformance.checks.ordering import actions, by_zxid
from fencepost.conformance.checks.trace_dialect import SPEC, TraceDialect
from fencepost.conformance.checks.znode_history import brokers_by_session, epoch_of
from fencepost.conformance.verdict import CheckResult
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Action, Invariant
from fencepost.spec.znodes import CONTROLLER, CONTROLLER_EPOCH


def check(events: Sequence[TraceEvent], dialect: TraceDialect = SPEC) -> CheckResult:
    """Judge a whole run; the premise counts elections."""
    evidence = Evidence(invariant=Invariant.ONE_CONTROLLER_PER_EPOCH)
    elections = actions(events, Action.ELECT_CONTROLLER)
    lines = by_zxid(events)
    creations = [e for e in lines if e.path == CONTROLLER and e.action == "Create"]
    written = [e for e in lines if e.path == CONTROLLER_EPOCH and e.action != "Delete"]
    epochs = [(epoch_of(line) or 0, line) for line in written]
    _check_elections(elections, evidence)
    _check_resignations(events, evidence)
    own = brokers_by_session(events)
    by_hand = frozenset({line.session_id for _, line in epochs}.difference(own) if own else ())
    _check_epochs(epochs, evidence, by_hand, may_skip=dialect.epochs_may_skip)
    if epochs and dialect.raises_epoch_at_election:
        _check_creations([e for e in creations if e.session_id in own], epochs, evidence)
    elif creations and not epochs:
        _check_without_epoch(elections, creations, evidence)
    return evidence.result()


def _check_elections(elections: Sequence[TraceEvent], evidence: Evidence) -> None:
    controllers: dict[int, TraceEvent] = {}
    for event in elections:
        epoch = event.controller_epoch
        if not epoch:
            continue
        evidence.premise_count += 1
        first = controllers.setdefault(epoch, event)
        if first.controller_id != event.controller_id:
            message = f"Controller epoch {epoch} has two controllers, brokers {first.controller_id}"
            evidence.violated(f"{message} and {event.controller_id}.", first, event)
        elif _sessions_differ(first, event):
            message = f"Broker {event.controller_id} took office under two sessions"
            evidence.violated(f"{message} in controller epoch {epoch}.", first, event)


def _sessions_differ(first: TraceEvent, event: TraceEvent) -> bool:
    sessions = {first.session_id, event.session_id}
    return len(sessions - {None}) > 1


def _check_resignations(events: Sequence[TraceEvent], evidence: Evidence) -> None:
    last: dict[tuple[str, int], TraceEvent] = {}
    for event in actions(events, Action.ELECT_CONTROLLER, Action.RESIGN_CONTROLLER):
        node = event.node, event.incarnation
        if event.action == Action.ELECT_CONTROLLER:
            last[node] = event
        elif node in last and event.controller_epoch != last[node].controller_epoch:
            epochs = f"{event.controller_epoch} and was elected under {last[node].controller_epoch}"
            evidence.violated(
                f"Broker {event.broker_id} resigned epoch {epochs}.", last[node], event
            )


def _check_epochs(
    epochs: Sequence[tuple[int, TraceEvent]],
    evidence: Evidence,
    by_hand: AbstractSet[int | None],
    *,
    may_skip: bool,
) -> None:
    if epochs and epochs[0][0] > 1 and not may_skip:
        message = f"The first controller epoch is {epochs[0][0]} instead of 1."
        evidence.violated(message, epochs[0][1])
    elected = 0
    for (before, first), (after, second) in pairwise(epochs):
        if first.session_id not in by_hand:
            elected = max(elected, before)
        if second.session_id in by_hand:
            continue
        is_next = after == before + 1 or may_skip or first.session_id in by_hand
        if after <= max(elected, before) or not is_next:
            message = f"The controller epoch went from {max(elected, before)} to {after}."
            evidence.violated(message, first, second)


def _check_creations(
    creations: Sequence[TraceEvent],
    epochs: Sequence[tuple[int, TraceEvent]],
    evidence: Evidence,
) -> None:
    raised = {(line.zxid, line.session_id) for epoch, line in epochs if epoch}
    for creation in creations:
        if (creation.zxid, creation.session_id) not in raised:
            message = f"/controller was created at zxid {creation.zxid} without raising the epoch."
            evidence.violated(message, creation)


def _check_without_epoch(
    elections: Sequence[TraceEvent], creations: Sequence[TraceEvent], evidence: Evidence
) -> None:
    free = Counter(creation.session_id for creation in creations)
    for event in elections:
        evidence.premise_count += 1
        free[event.session_id] -= 1
        if free[event.session_id] < 0:
            message = f"Broker {event.controller_id} took itself for elected, but its session"
            evidence.violated(f"{message} did not create /controller.", event)
