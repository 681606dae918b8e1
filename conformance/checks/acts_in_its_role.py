"""`ActsInItsRole`: a replica acts as it was told to, and in that leader epoch (CMD-003, CMD-004).

By the lines of one process in their own order: what it was told last of the partition,
`BecomeLeader` or `BecomeFollower`, is its role. A leader alone appends on its own, serves
followers, advances the high watermark and changes the ISR; a follower alone appends what it
fetched: a new leader has stopped fetching, and a new follower has stopped serving, before anything
else. A replica that is stopped, or has a log that failed, does neither, and a leader that found
another state in ZooKeeper than its own (`FenceLeader`) neither commits nor changes the ISR until it
is told again (ISR-004).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from fencepost.conformance.checks.evidence import Evidence
from fencepost.conformance.checks.ordering import order
from fencepost.conformance.verdict import CheckResult
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Action, Invariant

ROLES = frozenset({Action.BECOME_LEADER, Action.BECOME_FOLLOWER})
ENDS = frozenset({Action.STOP_REPLICA, Action.RECOVER_REPLICAS, Action.OBEY_INIT, "LogFailed"})
"""Lines after which a replica has no role."""
ONLY_UNFENCED = frozenset(
    {Action.ADVANCE_HIGH_WATERMARK, Action.SHRINK_ISR, Action.EXPAND_ISR, Action.ADOPT_ISR}
)
AS_LEADER = ONLY_UNFENCED | {Action.LEADER_APPEND, Action.SERVE_FETCH, Action.FENCE_LEADER}
JUDGED = ROLES | ENDS | AS_LEADER | {Action.FOLLOWER_APPEND}
"""Lines that give or end a role, and those that need one."""


@dataclass(slots=True)
class _Role:
    """What a process was told last, and whether it has fenced itself since."""

    told: TraceEvent | None = None
    fenced: TraceEvent | None = None


def check(events: Sequence[TraceEvent]) -> CheckResult:
    """Judge one partition; the premise counts what leaders and followers do."""
    evidence = Evidence(invariant=Invariant.ACTS_IN_ITS_ROLE)
    roles: dict[tuple[str, int], _Role] = {}
    for event in order(one for one in events if one.action in JUDGED):
        role = roles.setdefault((event.node, event.incarnation), _Role())
        if event.action in ROLES or event.action in ENDS:
            role.told, role.fenced = event, None
            continue
        evidence.premise_count += 1
        _judge(role, event, evidence)
        if event.action == Action.FENCE_LEADER:
            role.fenced = event
    return evidence.result()


def _judge(role: _Role, event: TraceEvent, evidence: Evidence) -> None:
    told = role.told
    needed = Action.BECOME_LEADER if event.action in AS_LEADER else Action.BECOME_FOLLOWER
    does = f"{event.action} of broker {event.broker_id} in leader epoch {event.leader_epoch}"
    if told is None or told.action != needed or told.leader_epoch != event.leader_epoch:
        last = "it was told nothing" if told is None else f"{told.action} came last"
        epoch = told.leader_epoch if told is not None else None
        where = f" in leader epoch {epoch}" if epoch is not None else ""
        evidence.violated(f"{does} needs {needed}, and {last}{where}.", told, event)
    elif role.fenced is not None and event.action in ONLY_UNFENCED:
        message = f"{does} comes after it found another state in ZooKeeper than its own."
        evidence.violated(message, told, role.fenced, event)
