"""The simulator executes story files: the same value as the engine of real processes."""

import pytest

from fencepost.conformance.scenarios import STORIES
from fencepost.conformance.whitebox.shrink import failures
from fencepost.fault_injection.stories.story_file import as_document, read_story, story_from_text
from fencepost.impl.sim.adapter import play_story
from fencepost.spec.trace import Phase, TraceEvent, encode
from fencepost.spec.vocabulary import Action

PLAN = """
schema: 1
id: barrier
seed: 5
actions:
  - id: hold
    kind: rpc.hold
    target: leader(orders/0)
    params: {method: "", count: 1}
    until: {after: {event: BecomeLeader, plus_ms: 40}}
    must_take_effect: false
  - {id: kill, kind: proc.kill, target: leader(orders/1), for_ms: 2000, when: {with: hold}}
  - id: pause
    kind: proc.pause
    target: 3
    for_ms: 90
    when: {after: {action: kill, phase: healed}}
  - id: never
    kind: proc.pause
    target: 3
    for_ms: 90
    when: {on: {event: LogFailed}}
    deadline_ms: 500
  - {id: after, kind: zk.expire, target: 1, when: {after: {action: never}}}
"""


def play(text: str) -> list[TraceEvent]:
    return play_story(as_document(story_from_text(text)), level=2)


def at_ms(events: list[TraceEvent], fault_id: str, phase: Phase) -> float:
    (found,) = [e for e in events if e.fault_id == fault_id and e.phase is phase]
    return found.mono_ns / 1e6


def test_actions_begin_and_end_as_the_traces_say() -> None:
    events = play(PLAN)

    killed = at_ms(events, "kill", Phase.ACTIVE)
    led = next(
        e.mono_ns / 1e6 for e in events if e.action == "BecomeLeader" and e.mono_ns / 1e6 > killed
    )
    assert 0 <= at_ms(events, "kill", Phase.INJECTING) - at_ms(events, "hold", Phase.INJECTING) <= 2
    assert 40 <= at_ms(events, "hold", Phase.HEALING) - led <= 43
    assert 0 <= at_ms(events, "pause", Phase.ACTIVE) - at_ms(events, "kill", Phase.HEALED) <= 2
    assert at_ms(events, "never", Phase.INEFFECTIVE) >= killed + 499
    assert at_ms(events, "after", Phase.INEFFECTIVE) >= killed + 499
    assert failures(lambda: events) == frozenset()


def test_the_same_plan_gives_the_same_bytes() -> None:
    assert list(map(encode, play(PLAN))) == list(map(encode, play(PLAN)))


@pytest.mark.parametrize("name", ["broken_disk", "disks", "requests"])
def test_a_file_that_comes_along_is_simulated_as_well(name: str) -> None:
    events = play_story(as_document(read_story(STORIES / f"{name}.yaml")), level=2)

    assert failures(lambda: events) == frozenset()
    assert {e.phase for e in events if e.fault_id} >= {Phase.ACTIVE, Phase.HEALED}


FIRST = """
schema: 1
id: first
cluster: {first_controller: 3}
actions: [{id: bounce, kind: proc.kill, target: 2, for_ms: 100}]
"""


@pytest.mark.parametrize(("host", "boot_ms"), [("quick", 300), ("busy", 1500)])
def test_a_cluster_begins_as_one_of_processes_does(host: str, boot_ms: int) -> None:
    events = play_story(as_document(story_from_text(FIRST)), level=2, host=host)

    elected = [event.node for event in events if event.action == Action.ELECT_CONTROLLER]
    leaders = {e.partition: e.broker_id for e in reversed(events) if e.action == "BecomeLeader"}
    restarted = [e for e in events if e.action == "NodeStarted" and e.incarnation == 2]
    assert elected == ["broker-3"]
    assert leaders == {0: 1, 1: 2, 2: 3}
    assert at_ms(events, "bounce", Phase.HEALING) + boot_ms == restarted[0].mono_ns / 1e6


def test_a_first_controller_that_is_no_broker_is_refused() -> None:
    with pytest.raises(ValueError, match="first_controller is 4; choose one of 1 to 3"):
        play(FIRST.replace("3}", "4}"))
