"""What a run does that the replay of a partition knows nothing of, and where it ends therefore."""

import json
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass

from fencepost.spec.replay.recorded_run import TraceFileLine
from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import Action, RefusalKind
from fencepost.spec.znodes import (
    CONTROLLER_EPOCH,
    TopicPartition,
    leader_and_isr_path,
)

BY_STRANGERS = frozenset({"admin.controller_kick", "zk.version_race"})
"""Faults by which a foreign client writes what only brokers write."""

BY_FORGETFUL_DISKS = frozenset({"disk.lose_unsynced", "disk.corrupt_tail"})
"""Faults by which a broker may have fewer records when it starts again; so may one that wipes."""
WIPES = "wipe"
"""The parameter of a fault that removes files, or "none"."""

LIFECYCLE = frozenset({Action.DELETE_TOPIC})
"""Told when the incarnation of the partition has ended: of the next one it says nothing."""

QUOTAS = frozenset(
    {
        Action.ALTER_QUOTA,
        Action.ADMIT_MUTATION,
        Action.REFUSE_MUTATION,
        Action.VALIDATE_MUTATION,
        RefusalKind.MUTE_CONNECTION,
    }
)
"""What a quota admits is a matter of time, which `MutationQuota` has and no replay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Finds where the replay of one partition ends, and why."""

    key: TopicPartition
    sessions: Container[int]
    """The brokers'."""
    has_strangers: bool

    def why_it_ends(self, event: TraceEvent) -> str:
        """Why the replay ends before this line; empty where it does not."""
        if self.has_strangers and is_by_stranger(event, self.key, self.sessions):
            return f"a client that is no broker wrote {event.path}"
        return ""


def up_to_the_limits(
    lines: list[TraceFileLine], key: TopicPartition, sessions: Container[int]
) -> tuple[list[TraceFileLine], str]:
    """The lines until something comes that the replay knows nothing of, and what that is."""
    events = [line.event for line in lines]
    limits = Limits(
        key=key,
        sessions=sessions,
        has_strangers=has_strangers(events),
    )
    for number, line in enumerate(lines):
        why = limits.why_it_ends(line.event)
        if why:
            return lines[:number], f"replayed up to {line.file}, line {line.number}: {why}"
    return lines, ""


def forgetful_faults(events: Iterable[TraceEvent]) -> Iterator[str]:
    """Ids of the faults by which a disk may lose records."""
    for event in events:
        if event.kind is not Kind.FAULT or event.fault_id is None:
            continue
        if event.action in BY_FORGETFUL_DISKS or (WIPES in (event.detail or "") and _wipes(event)):
            yield event.fault_id


def _wipes(event: TraceEvent) -> bool:
    told = json.loads(event.detail or "{}")
    parameters = told.get("parameters", told)
    return bool(parameters.get(WIPES, "none") != "none")


def has_strangers(events: Iterable[TraceEvent]) -> bool:
    """True when a fault of the run, or a client without a fault, writes what only brokers write."""
    return any(
        (event.kind is Kind.FAULT and event.action in BY_STRANGERS)
        or (event.action == "RunStarted" and _has_writes_by_hand(event))
        for event in events
    )


def _has_writes_by_hand(started: TraceEvent) -> bool:
    return bool(json.loads(started.detail or "{}").get("writes_by_hand"))


def is_by_stranger(event: TraceEvent, key: TopicPartition, sessions: Container[int]) -> bool:
    """True where a session that is none of `sessions`, the brokers', writes what is theirs."""
    is_theirs = event.path == leader_and_isr_path(key) or (
        event.path == CONTROLLER_EPOCH and event.action != "SetData"
    )
    return event.kind is Kind.ZOOKEEPER and is_theirs and (event.session_id or 0) not in sessions
