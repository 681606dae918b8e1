"""`OnlyAuthorisedWrites`: who may write LeaderAndISR, and what (ZK-003, 005; FAIL-001, 004).

Judged in the order of ZooKeeper's transactions. The author is the broker whose session wrote.

- The author is the controller of the current controller epoch (level 0: the owner of
  `/controller`), or the leader that the document before names.
- A leader that is not the controller changes the ISR and nothing else, and stays in it; it signs
  with the epoch of the controller that it obeys, which never falls.
- A decision of the controller raises the leader epoch by exactly 1 and carries its controller
  epoch; only the controller creates the znode.
- The leader that it names is from the ISR before, and so is the whole new ISR: an election outside
  it may lose records. The trace does not yet tell where that was allowed (FAIL-002).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from conformance.checks.evidence import Evidence
from conformance.checks.znode_history import (
    LeaderAndIsrWrite,
    brokers_by_session,
    leader_and_isr_writes,
)
from conformance.verdict import CheckResult
from spec.trace import Kind, TraceEvent
from spec.vocabulary import NO_BROKER, Invariant, Outcome
from spec.znodes import LeaderAndIsr


def check(events: Sequence[TraceEvent]) -> CheckResult:
    """Judge a whole run; the premise counts writes that took effect."""
    evidence = Evidence(invariant=Invariant.ONLY_AUTHORISED_WRITES)
    sessions = brokers_by_session(events)
    writes = leader_and_isr_writes(events)
    evidence.premise_count = len(writes)
    if not writes and any(_is_success(event) for event in events):
        evidence.doubt("ZooKeeper's own record of the run is missing: no author can be named.")
    for write in writes:
        fault = _fault(write, sessions)
        if fault is not None:
            where = f"{write.partition} at zxid {write.event.zxid}"
            evidence.violated(f"{where}: {fault}.", write.before_event, write.event)
    return evidence.result()


def _is_success(event: TraceEvent) -> bool:
    completed = event.kind is Kind.COMPLETE and event.action == "WriteLeaderAndIsr"
    return completed and event.outcome is Outcome.OK


def _fault(write: LeaderAndIsrWrite, sessions: Mapping[int, int]) -> str | None:
    """Why the write was not allowed, as the end of a sentence; None when it was."""
    session = write.event.session_id
    author = None if session is None else sessions.get(session)
    if write.after is None:
        return "the document is malformed"
    if author is None:
        return f"session {session} belongs to no broker"
    if write.after.leader != NO_BROKER and write.after.leader not in write.after.isr:
        return f"leader {write.after.leader} is not in ISR {sorted(write.after.isr)}"
    if _is_leaders_change(write.before, write.after, author):
        return None
    if session == write.reign.session_id:
        return _decision_fault(write, write.after)
    if write.before is not None and write.before.leader == author:
        return f"leader {author} changed more than the ISR"
    return f"broker {author} was neither the controller nor the leader"


def _is_leaders_change(before: LeaderAndIsr | None, after: LeaderAndIsr, author: int) -> bool:
    """True when the leader that `before` names changed its ISR and nothing else."""
    if before is None or before.leader != author:
        return False
    if after.controller_epoch < before.controller_epoch:
        return False
    return replace(before, isr=after.isr, controller_epoch=after.controller_epoch) == after


def _decision_fault(write: LeaderAndIsrWrite, after: LeaderAndIsr) -> str | None:
    before, epoch = write.before, write.reign.controller_epoch
    if after.controller_epoch != epoch:
        return f"controller epoch {epoch} signed as {after.controller_epoch}"
    if before is not None and after.leader_epoch != before.leader_epoch + 1:
        change = f"{before.leader_epoch} to {after.leader_epoch}"
        return f"a decision took the leader epoch from {change} instead of one up"
    if before is not None and not after.isr <= before.isr:
        return f"a decision made ISR {sorted(after.isr)} of ISR {sorted(before.isr)}"
    return None
