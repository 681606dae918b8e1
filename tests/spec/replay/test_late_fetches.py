"""A fetch may reach its leader long after it was sent; one that was never sent is still refused."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from fencepost.impl.sim.stories.play import play
from fencepost.spec.replay.assignments import partitions_of_run
from fencepost.spec.replay.fields import Fields
from fencepost.spec.replay.ordering import total_order
from fencepost.spec.replay.projection import Projection, project
from fencepost.spec.replay.recorded_run import (
    RecordedRun,
    ReplayedRunDetail,
    TraceFileLine,
    as_lines,
)
from fencepost.spec.replay.tlc_run import run_tlc
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Action, ProtocolLevel

LEADER, FOLLOWER = 1, 2
UNSENT = 2
"""An offset of the leader's log at which the follower's never ended."""

LEVELS_THAT_DIFFER = (
    ProtocolLevel.DRAFT_V3,
    ProtocolLevel.CONTROLLER_EPOCH,
    ProtocolLevel.LEADER_EPOCH,
)
"""For the replay: those above follow the rules of the last one."""

BEFORE_A_COMMAND = """
schema: 1
id: before_a_command
cluster: {level: LEVEL, brokers: 4, first_controller: 4, replica_lag_ms: 20000}
steps:
  - {create_topic: t, replicas: [1, 2, 3]}
  - {run_ms: 100}
  - {drop_request: Fetch, sender: 3}
  - {hold_request: Fetch, sender: 2, receiver: 1, count: 1}
  - {produce: t/0, records: [x], wait: false}
  - {until: {held: 1, 'log_end_offset(t/0,2)': 1}}
  - {drop_request: Fetch, sender: 2}
  - {produce: t/0, records: [y], wait: false}
  - {until: {'log_end_offset(t/0,1)': 2}}
  - {hold_request: LeaderAndIsr, receiver: 1}
  - {kill: 3}
  - {until: {'replica_epoch(t/0,2)': 1}}
  - {show: log(t/0)}
  - {deliver: Fetch, sender: 2, receiver: 1}
  - {run_ms: 20}
"""
"""The leader is at epoch 0; its follower, which has x, obeys epoch 1. Then the leader gets a fetch
from behind x, which the follower sent before."""

BEHIND_A_LATER_ONE = """
schema: 1
id: behind_a_later_one
cluster: {brokers: 4, first_controller: 4, replica_lag_ms: 20000}
steps:
  - {create_topic: t, replicas: [1, 2, 3]}
  - {run_ms: 100}
  - {hold_request: Fetch, sender: 2, receiver: 1, count: 1}
  - {until: {held: 1}}
  - {run_ms: 5000}
  - {hold_response: Fetch, sender: 2, count: 1}
  - {hold_request: Fetch, sender: 3, count: 1}
  - {produce: t/0, records: [x], wait: false}
  - {produce: t/0, records: [y], wait: false}
  - {until: {held: 3}}
  - {deliver: Fetch, sender: 3}
  - {until: {'high_watermark(t/0,1)': 1}}
  - {deliver: Fetch, sender: 2, receiver: 1}
  - {run_ms: 20}
  - {deliver: Fetch, sender: 2}
  - {run_ms: 20}
"""
"""The follower gets y in an answer that is older than a high watermark of 1, and that one is older
than its first fetch when that arrives at last."""

FROM_A_DEAD_LEADER = """
schema: 1
id: from_a_dead_leader
cluster: {level: LEVEL, brokers: 4, first_controller: 4, replica_lag_ms: 20000}
steps:
  - {create_topic: t, replicas: [1, 2, 3]}
  - {run_ms: 100}
  - {produce: t/0, records: [x], wait: false}
  - {hold_response: Fetch, sender: 2, count: 1}
  - {until: {held: 1}}
  - {kill: 1}
  - {restart: 1}
  - {deliver: Fetch, sender: 2}
  - {run_ms: 20}
"""
"""A follower is answered by a process that has died since, and the next one began with an older
checkpoint of the high watermark than that answer tells."""


def traced(story: str, level: int = ProtocolLevel.LEADER_EPOCH) -> list[TraceEvent]:
    (trace,) = play(story.replace("LEVEL", str(int(level))), lambda _: ()).traces
    return list(trace)


def projected(events: list[TraceEvent], level: int) -> Projection:
    lines: list[TraceFileLine] = as_lines(events)
    run = RecordedRun(name="run", detail=ReplayedRunDetail(level=level), lines=tuple(lines))
    ordered = total_order(run)
    ((key, assigned),) = partitions_of_run(ordered).items()
    return project("run", level, ordered, key, assigned)


def index_of(events: list[TraceEvent], action: str, **wanted: object) -> int:
    """The last line of the action with these fields."""
    return max(
        index
        for index, event in enumerate(events)
        if event.action == action and all(getattr(event, n) == v for n, v in wanted.items())
    )


def with_slow_cut(events: list[TraceEvent]) -> list[TraceEvent]:
    """As on a disk that takes its time: the late fetch is served before the log is cut."""
    served = index_of(events, Action.SERVE_FETCH, broker_id=LEADER, offset=1)
    cut = index_of(events, Action.TRUNCATE_LOG, broker_id=FOLLOWER)
    assert index_of(events, Action.BECOME_FOLLOWER, broker_id=FOLLOWER) < cut < served
    mono_ns = events[served].mono_ns + 1
    late = msgspec.structs.replace(events[cut], mono_ns=mono_ns)
    return [*events[:cut], *events[cut + 1 : served + 1], late, *events[served + 1 :]]


def changed(
    projection: Projection, change: Callable[[Fields], Fields], action: Action
) -> Projection:
    """The run up to its last event of the action, which is changed."""
    last = max(i for i, e in enumerate(projection.events) if e.fields["action"] == action)
    event = projection.events[last]
    wrong = replace(event, fields=change(event.fields))
    return replace(projection, events=(*projection.events[:last], wrong))


def taking_y(projection: Projection, at: Action, leader_epoch: int) -> Projection:
    """The run up to the last such event, behind which the follower appends y to its x."""
    events = projection.events
    last = max(i for i, e in enumerate(events) if e.fields["action"] == at)
    appended = [e for e in events if e.fields["action"] == Action.LEADER_APPEND][-1]
    x, y = appended.fields["offset"], appended.fields["log_end_offset"]
    assert (x, y) == (1, 2)
    own: Fields = {
        "action": Action.FOLLOWER_APPEND,
        "broker_id": FOLLOWER,
        "leader_epoch": leader_epoch,
    }
    taken = replace(appended, fields=appended.fields | own)
    return replace(projection, events=(*events[: last + 1], taken))


def with_stranger(fields: Fields) -> Fields:
    """A record that its leader never had comes with it."""
    return fields | {"values": (9,), "record_epochs": (0,), "log_end_offset": 2}


def accepted(*runs: Projection) -> list[str]:
    return sorted(str(marker.values[0]) for marker in run_tlc(runs) if marker.name == "accepted")


@pytest.mark.tlc
def test_a_fetch_from_before_a_command_may_be_served_before_the_log_is_cut() -> None:
    level = ProtocolLevel.DRAFT_V3
    events = traced(BEFORE_A_COMMAND, level)
    run, slow = projected(events, level), projected(with_slow_cut(events), level)
    runs = [
        run,
        slow,
        changed(slow, lambda fields: fields | {"offset": UNSENT}, Action.SERVE_FETCH),
        taking_y(slow, Action.LEADER_APPEND, leader_epoch=0),
        taking_y(slow, Action.SERVE_FETCH, leader_epoch=1),
    ]

    # The fetch that was never sent is refused, and so is what a follower takes without a cut.
    assert accepted(*runs) == ["1", "2", "4"]


@pytest.mark.long
def test_an_answer_of_a_process_that_has_died_since_is_of_its_tenure() -> None:
    for level in LEVELS_THAT_DIFFER:
        events = traced(FROM_A_DEAD_LEADER, level)
        began = index_of(events, "LogRecovered", broker_id=LEADER)
        taken = index_of(events, Action.FOLLOWER_APPEND, broker_id=FOLLOWER)
        assert began < taken
        assert (events[began].high_watermark, events[taken].high_watermark) == (0, 1)
        run = projected(events, level)
        unsent = changed(run, with_stranger, Action.FOLLOWER_APPEND)

        assert accepted(run, unsent) == ["1"]


def test_at_the_newest_level_epochs_tell_late_fetches_from_wrong_ones() -> None:
    level = ProtocolLevel.LEADER_EPOCH
    late = projected(traced(BEFORE_A_COMMAND, level), level)
    behind = projected(traced(BEHIND_A_LATER_ONE), level)
    story = Path(__file__).parents[2] / "stories" / "h41_fetch_without_epoch.yaml"
    mutant, repaired = play(story.read_text(), lambda _: ()).traces

    runs = [late, behind, projected(list(repaired), level), projected(list(mutant), level)]

    assert accepted(*runs) == ["1", "2", "3"]
