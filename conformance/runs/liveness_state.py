"""What brokers still owe after their faults: the liveness properties of the specs, by name.

Judged on one moment, from what ZooKeeper holds then, what each broker has told in its trace, and
what it answers clients; the bound within which it must hold is the caller's. Whether a follower has
still to truncate (EventuallyTruncated) no trace tells: its log is then seen to differ.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fencepost.conformance.adapters.implementation import PublishedState
from fencepost.conformance.clients.transport import PartitionView, RoutingView
from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import NO_BROKER, Action, Liveness
from fencepost.spec.znodes import LeaderAndIsr, TopicPartition

Views = Mapping[int, RoutingView | None]
"""Broker -> what it answers clients that ask for metadata; None: nothing."""

CONTROLLER_CHANGES = (Action.ELECT_CONTROLLER, Action.RESIGN_CONTROLLER)


@dataclass(frozen=True, slots=True, kw_only=True)
class LivenessState:
    """What ZooKeeper holds at one moment."""

    registered: frozenset[int]
    controller: int | None
    assigned: Mapping[TopicPartition, tuple[int, ...]]
    states: Mapping[TopicPartition, LeaderAndIsr]
    asked: frozenset[Liveness]
    """The promises that open administrative requests stand for."""


@dataclass(slots=True, kw_only=True)
class _Replica:
    """What a broker's trace says of one of its replicas."""

    role: str = ""
    leader_epoch: int = -1
    is_fenced: bool = False
    high_watermark: int = 0
    log_end_offset: int = 0


@dataclass(slots=True)
class _Broker:
    """The same of all that it has, since its last start."""

    is_controller: bool = False
    replicas: dict[TopicPartition, _Replica] = field(default_factory=dict)


def read_liveness_state(state: PublishedState) -> LivenessState:
    """What is published now; a malformed topic is none. Raises `ZooKeeperError`."""
    assigned = state.assignments()
    states = {key: found for key in assigned if (found := state.state_of(key)) is not None}
    return LivenessState(
        registered=frozenset(state.live_brokers()),
        controller=state.controller(),
        assigned=assigned,
        states=states,
        asked=state.pending(),
    )


def owed(
    published: LivenessState,
    events: Sequence[TraceEvent],
    running: Collection[int],
    views: Views,
) -> tuple[Liveness, ...]:
    """The liveness properties that do not hold of the running brokers.

    Nothing is owed of a partition with a dead ISR. `events` are those of the brokers'
    traces, in the order of each; `views` are of those brokers that answer as they are told.
    """
    brokers = {broker_id: _broker(events, broker_id) for broker_id in running}
    found = set(published.asked)
    if not published.registered.issuperset(running):
        found.add(Liveness.BROKER_EVENTUALLY_LEARNS_ROLE)
    holder = brokers.get(published.controller) if published.controller is not None else None
    if holder is None or not holder.is_controller:
        found.add(Liveness.CONTROLLER_EVENTUALLY_EXISTS)
    for broker_id, broker in brokers.items():
        if any(broker_id not in published.assigned.get(key, ()) for key in broker.replicas):
            found.add(Liveness.DELETION_COMPLETES)
    if not published.assigned:
        found.add(Liveness.EVENTUALLY_LEADER)
    for key, assigned in published.assigned.items():
        found.update(_of_partition(published.states.get(key), key, assigned, brokers))
    if any(True for _ in differences(published, views)):
        found.add(Liveness.EVENTUALLY_METADATA_CONVERGES)
    return tuple(sorted(found))


def differences(published: LivenessState, views: Views) -> Iterator[str]:
    """In what brokers answer clients otherwise than ZooKeeper holds, one sentence each (UMD-002).

    What an answer does not tell is not compared.
    """
    for broker_id, view in sorted(views.items()):
        if view is None:
            yield f"broker {broker_id} tells clients no metadata"
            continue
        for what, told, held in _compared(published, view):
            if told != held:
                yield f"broker {broker_id} tells clients {what} {told}, and ZooKeeper holds {held}"


def _compared(published: LivenessState, view: RoutingView) -> Iterator[tuple[str, str, str]]:
    """What it is, as the broker has it, and as ZooKeeper has it."""
    if view.controller_id != NO_BROKER:
        yield "controller", str(view.controller_id), str(published.controller)
    yield "live brokers", _listed(view.addresses), _listed(published.registered)
    for key in sorted(published.states.keys() | view.partitions.keys()):
        told, held = view.partitions.get(key), published.states.get(key)
        tells_isr = told is None or told.isr is not None
        yield str(key), _shown(told, tells_isr=tells_isr), _shown(held, tells_isr=tells_isr)


def _shown(state: PartitionView | LeaderAndIsr | None, *, tells_isr: bool) -> str:
    """A partition without a leader may be left out of an answer."""
    if state is None or state.leader == NO_BROKER:
        return "no leader"
    isr = f" isr={_listed(state.isr or ())}" if tells_isr else ""
    return f"leader={state.leader} epoch={state.leader_epoch}{isr}"


def _listed(broker_ids: Iterable[int]) -> str:
    return ",".join(map(str, sorted(broker_ids))) or "none"


def _of_partition(
    state: LeaderAndIsr | None,
    key: TopicPartition,
    assigned: Sequence[int],
    brokers: Mapping[int, _Broker],
) -> Iterator[Liveness]:
    if state is None:
        yield Liveness.EVENTUALLY_LEADER
        return
    if state.isr and not state.isr & brokers.keys():
        return
    replicas = {b: brokers[b].replicas.get(key) for b in assigned if b in brokers}
    if state.isr != replicas.keys():
        yield Liveness.EVENTUALLY_ISR_FULL
    leader = replicas.get(state.leader)
    leads = leader is not None and leader.role == Action.BECOME_LEADER and not leader.is_fenced
    if not leads or leader is None or leader.leader_epoch != state.leader_epoch:
        yield Liveness.EVENTUALLY_LEADER
    if any(r is None or r.leader_epoch != state.leader_epoch for r in replicas.values()):
        yield Liveness.BROKER_EVENTUALLY_LEARNS_ROLE
    known = [replica for replica in replicas.values() if replica is not None]
    if any(r.role == Action.BECOME_LEADER and r.high_watermark != r.log_end_offset for r in known):
        yield Liveness.EVENTUALLY_ACKED_OR_FAILED
    if len({offset for r in known for offset in (r.log_end_offset, r.high_watermark)}) > 1:
        yield Liveness.EVENTUALLY_CONVERGED


def _broker(events: Sequence[TraceEvent], broker_id: int) -> _Broker:
    """What the last start of a broker has told."""
    own = [event for event in events if event.node == f"broker-{broker_id}"]
    last = max((event.incarnation for event in own), default=0)
    broker = _Broker()
    for event in sorted((e for e in own if e.incarnation == last), key=lambda e: e.seq):
        _hear(broker, event)
    return broker


def _hear(broker: _Broker, event: TraceEvent) -> None:
    """One line of its trace."""
    if event.action in CONTROLLER_CHANGES:
        broker.is_controller = event.action == Action.ELECT_CONTROLLER
    if event.topic is None or event.partition is None:
        return
    key = TopicPartition(event.topic, event.partition)
    match event.action:
        case Action.STOP_REPLICA | Action.RECOVER_REPLICAS | Action.OBEY_INIT:
            broker.replicas.pop(key, None)
        case Action.BECOME_LEADER | Action.BECOME_FOLLOWER:
            replica = broker.replicas.setdefault(key, _Replica())
            replica.role, replica.is_fenced = event.action, False
            replica.leader_epoch = -1 if event.leader_epoch is None else event.leader_epoch
            _measure(replica, event)
        case Action.FENCE_LEADER:
            broker.replicas.setdefault(key, _Replica()).is_fenced = True
        case _ if event.kind is Kind.ACTION and key in broker.replicas:
            _measure(broker.replicas[key], event)
        case "LogRecovered":
            _measure(broker.replicas.setdefault(key, _Replica()), event)
        case _:
            return


def _measure(replica: _Replica, event: TraceEvent) -> None:
    if event.high_watermark is not None:
        replica.high_watermark = event.high_watermark
    if event.log_end_offset is not None:
        replica.log_end_offset = event.log_end_offset
