"""`StaleControllerHarmless`: an old controller epoch has no effect (CTL-006, CTL-013, CMD-002).

- A broker, until it restarts, never obeys a command of a smaller controller epoch than one that
  it has obeyed or read in ZooKeeper, over all its partitions, and takes no metadata of one; nor
  does it send one (CTL-007).
- For each partition `(incarnation, leader_epoch, znode_version)` of the commands that it obeys
  rises strictly, until it has given up that incarnation of the partition.
- Once ZooKeeper holds controller epoch n + 1, no leadership decision of an epoch up to n is
  written: neither one signed so, nor one by a session with an epoch that has passed. ISR changes of
  a leader that used to be controller are no decisions.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fencepost.conformance.checks.evidence import Evidence
from fencepost.conformance.checks.incarnations import incarnation_of
from fencepost.conformance.checks.log_history import known
from fencepost.conformance.checks.ordering import actions, by_zxid
from fencepost.conformance.checks.znode_history import (
    LeaderAndIsrWrite,
    epoch_of,
    leader_and_isr_writes,
)
from fencepost.conformance.verdict import CheckResult
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import NO_EPOCH, Action, Invariant
from fencepost.spec.znodes import LeaderAndIsr

_COMMANDS = frozenset({Action.BECOME_LEADER, Action.BECOME_FOLLOWER})
_TEACH_EPOCHS = _COMMANDS | {Action.LEARN_CONTROLLER, Action.UPDATE_METADATA}
_SENT = frozenset({Action.SEND_LEADER_AND_ISR, Action.SEND_INIT})
JUDGED = _TEACH_EPOCHS | _SENT | {Action.STOP_REPLICA}
"""Lines of brokers and controllers that are compared."""


class _Version(NamedTuple):
    partition_incarnation: int
    leader_epoch: int
    znode_version: int

    def __str__(self) -> str:
        version = f"leader epoch {self.leader_epoch} (znode version {self.znode_version})"
        number = self.partition_incarnation
        return f"{version} of incarnation {number}" if number else version


def check(events: Sequence[TraceEvent]) -> CheckResult:
    """Judge a whole run; the premise counts commands obeyed and decisions written."""
    evidence = Evidence(invariant=Invariant.STALE_CONTROLLER_HARMLESS)
    evidence.premise_count = len(actions(events, *_COMMANDS))
    _check_controller_epochs(events, evidence)
    _check_versions(actions(events), evidence)
    _check_decisions(events, evidence)
    return evidence.result()


def _check_controller_epochs(events: Iterable[TraceEvent], evidence: Evidence) -> None:
    newest: dict[tuple[str, int], TraceEvent] = {}
    for event in actions(events, *_TEACH_EPOCHS, *_SENT):
        process = event.node, event.incarnation
        before = newest.get(process, event)
        if (event.controller_epoch or 0) < (before.controller_epoch or 0):
            acted = "sent a command of" if event.action in _SENT else "obeyed"
            message = (
                f"Broker {event.broker_id} {acted} controller epoch {event.controller_epoch}"
                f" when it knew epoch {before.controller_epoch}."
            )
            evidence.violated(message, before, event)
        elif event.action in _TEACH_EPOCHS:
            newest[process] = event


def _check_versions(lines: Iterable[TraceEvent], evidence: Evidence) -> None:
    newest: dict[tuple[str, int, str | None, int | None], TraceEvent] = {}
    for event in lines:
        key = event.node, event.incarnation, event.topic, event.partition
        if event.action == Action.STOP_REPLICA and event.leader_epoch == NO_EPOCH:
            newest.pop(key, None)
        if event.action not in _COMMANDS:
            continue
        before = newest.get(key)
        if before is not None and _version(event) <= _version(before):
            message = f"Broker {event.broker_id} obeyed {_version(event)} after {_version(before)}."
            evidence.violated(message, before, event)
            continue
        newest[key] = event


def _version(event: TraceEvent) -> _Version:
    epoch, version = known(event.leader_epoch, -1), known(event.znode_version, -1)
    return _Version(incarnation_of(event), epoch, version)


def _check_decisions(events: Sequence[TraceEvent], evidence: Evidence) -> None:
    elections = [(epoch, line) for line in by_zxid(events) if (epoch := epoch_of(line))]
    for write in leader_and_isr_writes(events):
        current = write.reign.controller_epoch
        if not current or write.after is None or not _is_decision(write.before, write.after):
            continue
        evidence.premise_count += 1
        epoch = min(write.after.controller_epoch, _epoch_of_author(write, elections, current))
        if epoch < current:
            election = next(line for raised, line in elections if raised == current)
            message = (
                f"A decision of controller epoch {epoch} about {write.partition} was written"
                f" when ZooKeeper already held epoch {current}."
            )
            evidence.violated(message, election, write.event)


def _is_decision(before: LeaderAndIsr | None, after: LeaderAndIsr) -> bool:
    decided = after.leader, after.leader_epoch
    return before is None or (before.leader, before.leader_epoch) != decided


def _epoch_of_author(
    write: LeaderAndIsrWrite, elections: Sequence[tuple[int, TraceEvent]], otherwise: int
) -> int:
    """The last epoch that the author's session raised up to the write."""
    session, zxid = write.event.session_id, write.event.zxid or 0
    raised = [e for e, line in elections if line.session_id == session and (line.zxid or 0) <= zxid]
    return raised[-1] if raised else otherwise
