"""Why a case failed, in words: of a lost record also when, and by which elections."""

from collections.abc import Iterator, Sequence

from fencepost.conformance.checks.ordering import partition_of_event
from fencepost.conformance.checks.znode_history import leader_and_isr_writes
from fencepost.conformance.runs.scenario import ScenarioResult
from fencepost.conformance.verdict import Violation
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Action, Invariant

_Election = tuple[int, int, str]
"""Leader epoch, leader, and whether it was in the ISR, as words."""


def sentence_of(result: ScenarioResult, events: Sequence[TraceEvent]) -> str:
    """The first lost record, or else the first thing that keeps the run from passing."""
    for check in result.checks:
        if check.invariant is Invariant.ACKNOWLEDGED_DURABLE and check.violations:
            return f"{check.invariant}: {loss_of(check.violations[0], events)}"
    return result.why


def loss_of(violation: Violation, events: Sequence[TraceEvent]) -> str:
    """What the check says, when the record was acknowledged, and the elections since then."""
    acknowledged, found = violation.witness[0], violation.witness[-1]
    start_ns = min((event.mono_ns for event in events if event.mono_ns > 0), default=0)
    where = partition_of_event(acknowledged)
    about = [event for event in events if partition_of_event(event) == where]
    led_ns = {
        event.leader_epoch: event.mono_ns
        for event in about
        if event.action == Action.BECOME_LEADER and event.leader_epoch is not None
    }
    told = []
    for epoch, leader, how in _elections(about):
        at_ns = led_ns.get(epoch)
        if at_ns is not None and at_ns > found.mono_ns:
            break
        is_earlier = at_ns is not None and at_ns <= acknowledged.mono_ns
        if not is_earlier and epoch > (acknowledged.leader_epoch or 0):
            when = f" at {_at(at_ns, start_ns)}" if at_ns is not None else ""
            told.append(f"broker {leader}{how} in epoch {epoch}{when}")
    elected = f"elected since then: {', '.join(told)}" if told else "no election was seen since"
    message = violation.message.rstrip(".")
    return (
        f"{message}; {where} acknowledged it at {_at(acknowledged.mono_ns, start_ns)}; {elected}."
    )


def _elections(about: Sequence[TraceEvent]) -> Iterator[_Election]:
    """By ZooKeeper's transactions; without them, by what leaders said of themselves."""
    writes = leader_and_isr_writes(about)
    for write in writes:
        before, after = write.before, write.after
        if before is None or after is None or after.leader < 0:
            continue
        if after.leader_epoch != before.leader_epoch:
            how = " from the ISR" if after.leader in before.isr else " from outside the ISR"
            yield after.leader_epoch, after.leader, how
    if not writes:
        led = [event for event in about if event.action == Action.BECOME_LEADER]
        leaders = {e.leader_epoch: e.leader for e in led if e.leader_epoch is not None}
        for epoch, leader in sorted(leaders.items()):
            if leader is not None:
                yield epoch, leader, ""


def _at(mono_ns: int, start_ns: int) -> str:
    return f"+{(mono_ns - start_ns) / 1e9:.2f} s"
