"""What administrators, clients and strangers do, in virtual time: asked for, seen, and ended."""

import json
from functools import cache

import pytest

from fencepost.conformance.whitebox.shrink import failures
from fencepost.fault_injection.stories.story_file import as_document, story_from_text
from fencepost.impl.sim.adapter import play_story
from fencepost.spec.replay.limits import has_strangers
from fencepost.spec.trace import Kind, Phase, TraceEvent
from fencepost.spec.vocabulary import Invariant
from tests.impl.sim.build import violated

HEALED = [Phase.PLANNED, Phase.INJECTING, Phase.ACTIVE, Phase.HEALING, Phase.HEALED]

ADMINISTRATION = """
schema: 1
id: administration
seed: 3
actions:
  - {id: move, kind: admin.reassign, params: {topic: orders, partition: 1, replicas: [3, 1]}}
  - {id: kick, kind: admin.controller_kick, when: {with: move}}
  - id: add
    kind: admin.add_partitions
    params: {topic: orders, count: 2}
    when: {after: {action: move, phase: healed}}
  - id: kill
    kind: proc.kill
    target: leader(orders/0)
    for_ms: 2500
    when: {after: {action: add, phase: healed}}
  - id: elect
    kind: admin.preferred_leader
    params: {topic: orders}
    when: {after: {action: kill, phase: healed, plus_ms: 1500}}
  - id: again
    kind: admin.delete_recreate_topic
    params: {topic: orders}
    for_ms: 100
    when: {after: {action: elect, phase: healed}}
"""
CLIENTS = """
schema: 1
id: clients
seed: 4
actions:
  - {id: crash, kind: client.crash}
  - id: burst
    kind: load.burst
    params: {producers: 4}
    for_ms: 300
    when: {after: {action: crash, phase: healed}}
  - id: race
    kind: zk.version_race
    params: {topic: orders, count: 2}
    when: {after: {action: burst, phase: healed}}
  - {id: lag, kind: proc.pause, target: "follower(orders/0,0)", for_ms: 2500, when: {with: race}}
"""
NOTHING_TO_DO = """
schema: 1
id: nothing_to_do
profile: none
actions:
  - {id: move, kind: admin.reassign, params: {topic: orders, replicas: [1, 2, 9]}}
  - {id: add, kind: admin.add_partitions, params: {topic: nobody}}
  - {id: again, kind: admin.delete_recreate_topic, params: {topic: nobody}, for_ms: 5}
  - {id: elect, kind: admin.preferred_leader, params: {topic: orders}}
  - {id: race, kind: zk.version_race, params: {topic: nobody}}
  - {id: crash, kind: client.crash}
  - {id: burst, kind: load.burst, params: {producers: 1}, for_ms: 5}
"""


@cache
def play(text: str) -> list[TraceEvent]:
    return play_story(as_document(story_from_text(text)), level=2)


def phases(events: list[TraceEvent], fault_id: str) -> list[Phase | None]:
    return [event.phase for event in events if event.fault_id == fault_id]


def told(events: list[TraceEvent], fault_id: str, phase: Phase) -> dict[str, object]:
    (line,) = [e for e in events if e.fault_id == fault_id and e.phase is phase]
    return dict(json.loads(line.detail or "{}"))


@pytest.mark.parametrize("text", [ADMINISTRATION, CLIENTS], ids=["administration", "clients"])
def test_each_takes_effect_and_heals_and_nothing_is_violated(text: str) -> None:
    events = play(text)

    for action in story_from_text(text).actions:
        assert phases(events, action.action_id) == HEALED, action.action_id
    assert failures(lambda: events) == frozenset()


def test_changes_are_seen_before_they_count() -> None:
    events = play(ADMINISTRATION)
    move = told(events, "move", Phase.ACTIVE)
    elect = told(events, "elect", Phase.ACTIVE)

    assert move["before"] != move["after"]
    assert told(events, "move", Phase.HEALED) == {"in_sync": [3, 1]}
    assert told(events, "add", Phase.ACTIVE) == {"partitions": 5}
    assert elect["before"] != elect["leader"]
    assert told(events, "again", Phase.HEALED) == {"in_sync": 5}
    deleted = [e for e in events if e.action == "Delete" and e.path == "/brokers/topics/orders"]
    assert len(deleted) == 1


def test_a_producer_that_ends_leaves_a_request_that_nobody_heard_answered() -> None:
    events = play(CLIENTS)
    fate = told(events, "crash", Phase.HEALED)
    lines = [e for e in events if e.node == fate["client"] and e.kind is not Kind.FAULT]

    assert lines[-1].kind is Kind.INVOKE
    assert [e.kind for e in events if e.node == fate["heir"]][:2] == [Kind.INVOKE, Kind.COMPLETE]


def test_more_producers_work_than_usual_and_stop() -> None:
    events = play(CLIENTS)
    healed = next(e for e in events if e.fault_id == "burst" and e.phase is Phase.HEALED)
    heir = told(events, "crash", Phase.HEALED)["heir"]
    more = [e for e in events if e.node.startswith("client-more-") and e.node != heir]

    assert told(events, "burst", Phase.HEALED)["matched"] == len(
        [
            e
            for e in more
            if e.kind is Kind.COMPLETE and e.offset is not None and e.mono_ns < healed.mono_ns
        ]
    )
    assert len({e.node for e in more}) == 4
    assert [e for e in more if e.kind is Kind.INVOKE and e.mono_ns > healed.mono_ns] == []


def test_a_stranger_owns_up_to_what_it_writes() -> None:
    """Else the run would be one in which somebody writes what only brokers may write."""
    events = play(CLIENTS)
    silent = [e for e in events if e.node != "harness" or e.kind is Kind.RUN]

    assert told(events, "race", Phase.HEALED)["matched"] == 2
    assert has_strangers(events)
    assert violated(silent) == {Invariant.LINEARIZABLE_ZNODE, Invariant.ONLY_AUTHORISED_WRITES}


def test_what_cannot_be_done_has_no_effect_and_says_why() -> None:
    events = play(NOTHING_TO_DO)
    ids = [action.action_id for action in story_from_text(NOTHING_TO_DO).actions]

    assert {phases(events, fault_id)[-1] for fault_id in ids} == {Phase.INEFFECTIVE}
    assert all(told(events, fault_id, Phase.INEFFECTIVE)["reason"] for fault_id in ids)
    assert failures(lambda: events) == frozenset()
