"""`StaleIncarnationHarmless`: a broker that was restarted is another one (BEP-002, BEP-006).

Judged where epochs of brokers are named, which is from level 3 on. An epoch is the czxid of the
broker's registration (BEP-001), as ZooKeeper's own record has it.

- A broker never takes a role or gives up a replica by a command for an earlier incarnation, and
  refuses as stale (STALE_BROKER_EPOCH) no other (KAFKA-9839). From level 4 on a command is for the
  incarnations up to the largest epoch that its sender knew (BEP-003). A controller names no epoch
  under which no broker has registered.
- A member stays in the ISR as the incarnation that joined: no write names another one for it. The
  leader of an election alone may be another, if the election says that records may be lost.
- A broker joins the ISR, or is elected from outside it, under an epoch that it was given; where
  the members have epochs, none joins without.
- A broker leads as the incarnation that the decision names, or as an earlier one that has yet to
  hear of that registration, never as a later one.
- A leader lets none join as an incarnation before the one that its controller told it of (level 4).
- An election that loses nothing names a leader that was registered as the incarnation that joined
  at some time since the leader epoch before began: not later, for a leader that has registered anew
  goes on writing the ISR while its controller has yet to look.

While brokers are upgraded to level 3, two of these do not hold yet: a member may join without an
epoch where it, or the author of the write, speaks a level below; and a controller that does elects
by ids alone, so that what its elections say of incarnations is nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from fencepost.conformance.checks.evidence import Evidence
from fencepost.conformance.checks.ordering import actions, order, partition_of_event
from fencepost.conformance.checks.spoken_protocols import SpokenProtocols, spoken_protocols
from fencepost.conformance.checks.znode_history import (
    LeaderAndIsrWrite,
    leader_and_isr_writes,
    registrations,
)
from fencepost.conformance.verdict import CheckResult
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import (
    NO_BROKER,
    NO_EPOCH,
    Action,
    ErrorCode,
    Invariant,
    ProtocolLevel,
    RefusalKind,
)
from fencepost.spec.znodes import LeaderAndIsr, TopicPartition

OBEYED = frozenset({Action.BECOME_LEADER, Action.BECOME_FOLLOWER, Action.STOP_REPLICA})
"""Lines of a broker that tell for which incarnation the command was."""
REFUSED = frozenset({RefusalKind.REFUSE_COMMAND, RefusalKind.REFUSE_STOP})
"""Lines of a broker that does not obey a command, and tells why."""
SENT = frozenset(
    {Action.SEND_LEADER_AND_ISR, Action.SEND_STOP_REPLICA, Action.SEND_UPDATE_METADATA}
)
"""Lines of a controller that tell for which incarnations a request is."""
JUDGED = OBEYED | REFUSED | {Action.REGISTER_BROKER}
"""Those, and what they are compared with."""
JOINS = frozenset({Action.UPDATE_METADATA, Action.EXPAND_ISR})
"""What a leader was told of the other brokers, and when it lets some of them join."""
STALE = ErrorCode.STALE_BROKER_EPOCH.value
Stays = Mapping[int, Sequence[tuple[int, int]]]
"""Broker -> the first and the last zxid of each of its registrations."""
Begun = dict[tuple[TopicPartition, int], int]
"""Partition and leader epoch -> the zxid with which it began."""
_Join = tuple[TopicPartition | None, int, int | None, int | None, int | None]
"""Partition and its incarnation, leader, leader epoch, the version that the larger ISR replaces."""
_NOTHING = LeaderAndIsr(leader=NO_BROKER, leader_epoch=NO_EPOCH, isr=frozenset())
"""The state before the first one."""
_Registered = tuple[TraceEvent, TraceEvent]
"""A broker's last registration, and a line of it about a command."""


def check(events: Sequence[TraceEvent]) -> CheckResult:
    """Judge a whole run; the premise counts commands and writes that name incarnations."""
    evidence = Evidence(invariant=Invariant.STALE_INCARNATION_HARMLESS)
    writes = leader_and_isr_writes(events)
    told = [*_registered(events)]
    protocols = spoken_protocols(events)
    _check_commands(told, evidence)
    _check_leaders(told, writes, protocols, evidence)
    lossy = {
        (partition_of_event(event), event.controller_epoch, event.leader_epoch)
        for event in actions(events, Action.ELECT_LEADER)
        if event.is_unclean or event.is_loss_possible
    }
    stays = registrations(events)
    _check_sent(events, stays, evidence)
    joins = _told_at_joins(events)
    begun: Begun = {}
    for write in writes:
        after = write.after
        if after is None:
            continue
        begun.setdefault((write.partition, after.leader_epoch), write.event.zxid or 0)
        if not after.isr_broker_epochs:
            continue
        evidence.premise_count += 1
        is_lossy = (write.partition, after.controller_epoch, after.leader_epoch) in lossy
        fault = _fault(write, after, stays, begun, protocols, is_lossy=is_lossy)
        fault = fault or _joined_as_earlier(write, after, joins)
        if fault is not None:
            where = f"{write.partition} at zxid {write.event.zxid}"
            evidence.violated(f"{where}: {fault}.", write.before_event, write.event)
    return evidence.result()


def _told_at_joins(events: Iterable[TraceEvent]) -> Mapping[_Join, Mapping[int, int]]:
    """What each leader was told of registrations when it first asked for a larger ISR.

    What it asks for again, as a write without an answer, may be done as it was asked for before.
    """
    told: dict[tuple[str, int], Mapping[int, int]] = {}
    found: dict[_Join, Mapping[int, int]] = {}
    for event in actions(events, *JOINS):
        start = event.node, event.incarnation
        if event.action == Action.EXPAND_ISR:
            place = partition_of_event(event), event.partition_incarnation or 0
            asked = event.broker_id, event.leader_epoch, event.expected_version
            found.setdefault((*place, *asked), told.get(start, {}))
        elif event.partition is None:
            live = zip(event.live_brokers or (), event.broker_epochs or (), strict=False)
            told[start] = dict(live)
    return found


def _joined_as_earlier(
    write: LeaderAndIsrWrite, after: LeaderAndIsr, joins: Mapping[_Join, Mapping[int, int]]
) -> str | None:
    """Which member joined as an incarnation that was over, as its leader was told."""
    place = write.partition, write.incarnation, after.leader, after.leader_epoch
    told = joins.get((*place, (write.event.znode_version or 0) - 1), {})
    for member in sorted(after.isr - (write.before or _NOTHING).isr):
        epoch, registered = after.isr_broker_epochs.get(member), told.get(member, 0)
        if epoch is not None and epoch < registered:
            return f"broker {member} joined as {epoch}, and its leader knew it as {registered}"
    return None


def _check_sent(events: Iterable[TraceEvent], stays: Stays, evidence: Evidence) -> None:
    given = {first for of_broker in stays.values() for first, _ in of_broker}
    for event in actions(events, *SENT):
        named = _named(event)
        if named and given:
            evidence.premise_count += 1
            if named not in given:
                message = f"{event.action} names {named}, under which no broker has registered."
                evidence.violated(message, event)


def _named(event: TraceEvent) -> int | None:
    """The incarnation that a request is for; from level 4 on the last one."""
    return event.broker_epoch or event.max_broker_epoch


def _check_commands(told: Iterable[_Registered], evidence: Evidence) -> None:
    for own, event in told:
        is_refused = event.action in REFUSED
        named = _named(event)
        if not named or (is_refused and event.error_code != STALE):
            continue
        evidence.premise_count += 1
        if is_refused is not (named < (own.zxid or 0)):
            did = "refused as stale" if is_refused else "obeyed"
            message = (
                f"Broker {event.broker_id} {did} a command for its incarnation"
                f" {named} when it was registered as {own.zxid}."
            )
            evidence.violated(message, own, event)


def _registered(events: Iterable[TraceEvent]) -> Iterator[_Registered]:
    """All of them, in order; a start that has told no registration is left out."""
    registered: dict[tuple[str, int], TraceEvent] = {}
    for event in order(event for event in events if event.action in JUDGED):
        start = event.node, event.incarnation
        if event.action == Action.REGISTER_BROKER:
            registered[start] = event
        elif start in registered:
            yield registered[start], event


def _check_leaders(
    told: Iterable[_Registered],
    writes: Iterable[LeaderAndIsrWrite],
    protocols: SpokenProtocols,
    evidence: Evidence,
) -> None:
    """Of topics of one name that follow each other, any may be the one that is meant."""
    named: dict[tuple[TopicPartition | None, int | None, int | None], set[int]] = {}
    for write in writes:
        if write.after is not None and write.after.leader in write.after.isr_broker_epochs:
            key = write.partition, write.after.leader_epoch, write.after.leader
            named.setdefault(key, set()).add(write.after.isr_broker_epochs[write.after.leader])
    for own, event in told:
        if event.action != Action.BECOME_LEADER:
            continue
        if protocols.of_controller(event.controller_epoch) < ProtocolLevel.BROKER_EPOCH:
            continue
        decided = named.get((partition_of_event(event), event.leader_epoch, event.broker_id))
        if decided and max(decided) < (own.zxid or 0):
            message = (
                f"Broker {event.broker_id} leads as {own.zxid}, and leader epoch"
                f" {event.leader_epoch} was decided for its incarnation {max(decided)}."
            )
            evidence.violated(message, own, event)


def _fault(
    write: LeaderAndIsrWrite,
    after: LeaderAndIsr,
    stays: Stays,
    begun: Begun,
    protocols: SpokenProtocols,
    *,
    is_lossy: bool,
) -> str | None:
    """Why the write takes one incarnation for another, as the end of a sentence."""
    before, zxid = write.before or _NOTHING, write.event.zxid or 0
    author = protocols.of_session(write.event.session_id)
    for member in sorted(after.isr):
        epoch = after.isr_broker_epochs.get(member)
        joined = before.isr_broker_epochs.get(member)
        may_change = is_lossy and member == after.leader
        if joined is not None and epoch != joined and not may_change:
            return f"broker {member} joined the ISR as {joined} and is named as {epoch}"
        given = {first for first, _ in stays.get(member, ()) if first <= zxid}
        if joined is not None or not given or epoch in given:
            continue
        if epoch is not None:
            return f"broker {member} joined as {epoch}, and was registered as {sorted(given)}"
        speaks = min(author, protocols.of_registration(max(given)))
        names = speaks >= ProtocolLevel.BROKER_EPOCH
        if names and before.isr_broker_epochs and member not in before.isr:
            return f"broker {member} joined the ISR without a broker epoch"
    leader, named = after.leader, after.isr_broker_epochs.get(after.leader)
    if write.before is None or before.leader_epoch == after.leader_epoch or is_lossy:
        return None
    if author < ProtocolLevel.BROKER_EPOCH:
        return None
    since = begun[write.partition, before.leader_epoch]
    stood = [first for first, last in stays.get(leader, ()) if last >= since and first <= zxid]
    if stood and named is not None and named not in stood:
        return f"leader {leader} is named as {named}, and was registered as {stood}"
    return None
