"""What an action waits for: counted events, phases of others, delays and deadlines."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fencepost.fault_injection.faults.targets import CONTROLLER, broker
from fencepost.fault_injection.faults.zookeeper_faults import ExpireSession
from fencepost.fault_injection.processes.trace_tail import TraceTail
from fencepost.fault_injection.stories.story import (
    AfterAction,
    AfterEvent,
    At,
    Condition,
    Operator,
    QuietTime,
    Story,
    StoryAction,
    Trigger,
)
from fencepost.fault_injection.stories.triggers import Watch
from fencepost.spec.trace import Kind, Phase, TraceEvent, encode
from tests.fault_injection.engine.test_engine import Bench, FakeInjection, pause


def event(action: str, node: str = "broker-1", partition: int | None = None) -> TraceEvent:
    return TraceEvent(
        run_id="r",
        node=node,
        seq=0,
        mono_ns=0,
        kind=Kind.ACTION,
        action=action,
        partition=partition,
    )


def watch() -> Watch:
    return Watch(resolve=lambda target: 3 if target == CONTROLLER else target.broker_id)


@pytest.mark.parametrize(
    ("operator", "value", "found", "expected"),
    [
        (Operator.EQ, (1, 2), [1, 2], True),
        (Operator.EQ, 3, None, False),
        (Operator.NE, 3, None, True),
        (Operator.LT, 3, 2, True),
        (Operator.LE, 3, 3, True),
        (Operator.GT, 3, 3, False),
        (Operator.GE, 3, None, False),
        (Operator.IN, (1, 3), 3, True),
        (Operator.GE, 3, "4", False),
    ],
)
def test_a_field_is_compared(
    operator: Operator, value: object, found: object, expected: bool
) -> None:
    assert Condition(name="x", operator=operator, value=value).holds(found) is expected


def test_the_nth_event_as_described_fires_after_its_delay() -> None:
    trigger = AfterEvent(
        event="BecomeLeader",
        by=CONTROLLER,
        match=(Condition(name="partition", operator=Operator.EQ, value=1),),
        nth=2,
        plus_ms=10,
    )
    found = watch()
    found.add(trigger)
    for one in (
        event("BecomeLeader", "broker-3", partition=1),
        event("BecomeLeader", "broker-3", partition=0),
        event("BecomeLeader", "broker-2", partition=1),
        event("WriteIsr", "broker-3", partition=1),
    ):
        found.observe(one, 5)
    assert not found.has_come(trigger, 100)

    found.observe(event("BecomeLeader", "broker-3", partition=1), 50)

    assert not found.has_come(trigger, 59)
    assert found.has_come(trigger, 60)
    assert not found.needs_events


def test_events_before_the_action_that_is_named_do_not_count() -> None:
    trigger = AfterEvent(event="ServeFetch", since="drop")
    found = watch()
    found.add(trigger)
    found.observe(event("ServeFetch"), 1)
    found.note("drop", Phase.INJECTING, 2)
    assert not found.has_come(trigger, 3)

    found.observe(event("ServeFetch"), 4)

    assert found.has_come(trigger, 4)


def test_an_action_that_ended_early_is_followed_by_none() -> None:
    active, since = AfterAction(action_id="a"), AfterEvent(event="x", since="a")
    found = watch()
    found.note("a", Phase.PLANNED, 0)
    assert not found.is_hopeless(active)

    found.note("a", Phase.INEFFECTIVE, 5)

    assert found.is_hopeless(active)
    assert found.is_hopeless(since)
    assert not found.is_hopeless(At(at_ms=9))


@dataclass
class Told:
    """Traces that a test writes: what is seen when the virtual time has come."""

    bench: Bench
    script: list[tuple[int, TraceEvent]] = field(default_factory=list)

    def skip(self) -> None:
        self.start_ns = self.bench.time.ns

    def events(self) -> list[TraceEvent]:
        now_ms = (self.bench.time.ns - self.start_ns) // 1_000_000
        due = [one for at_ms, one in self.script if at_ms <= now_ms]
        self.script = [(at_ms, one) for at_ms, one in self.script if at_ms > now_ms]
        return due


def play(
    bench: Bench,
    *actions: StoryAction,
    script: Sequence[tuple[int, TraceEvent]] = (),
    quiet: tuple[QuietTime, ...] = (),
) -> dict[str, tuple[int, int]]:
    """From when to when each action was active, in milliseconds; 0: not at all."""
    with bench.engine(Told(bench, list(script))) as engine:
        engine.run(Story(story_id="p", actions=actions, quiet=quiet))
    return {
        running.action.action_id: (running.injected_ms or 0, running.healing_ms or 0)
        for running in engine.running()
    }


def act(name: str, when: Trigger, until: Trigger | None = None) -> StoryAction:
    fault = pause(name, 0, 5_000 if until else 100).fault
    return StoryAction(action_id=name, fault=fault, when=when, until=until, deadline_ms=400)


def test_an_action_begins_when_the_trace_shows_what_it_waits_for() -> None:
    bench = Bench()
    found = play(bench, act("a", AfterEvent(event="x", plus_ms=50)), script=[(120, event("x"))])

    assert bench.phases("a")[-1] is Phase.HEALED
    assert 170 <= found["a"][0] <= 180


def test_an_action_lasts_until_another_one_is_healed() -> None:
    bench = Bench()
    hold = act("hold", At(at_ms=0), until=AfterAction(action_id="b", phase=Phase.HEALED))
    found = play(bench, hold, act("b", AfterAction(action_id="hold")))

    assert bench.phases("hold")[-1] is Phase.HEALED
    assert found["hold"][1] >= found["b"][0] + 100
    assert found["hold"][1] < 400


def test_what_never_comes_ends_an_action_at_its_deadline_without_credit() -> None:
    bench = Bench()
    endless = act("hold", At(at_ms=0), until=AfterEvent(event="never"))
    found = play(bench, endless, act("late", AfterEvent(event="never")))

    assert bench.phases("hold")[-2:] == [Phase.HEALING, Phase.INEFFECTIVE]
    assert bench.phases("late") == [Phase.PLANNED, Phase.INEFFECTIVE]
    assert found["hold"][1] <= 450
    details = [change["detail"] for change in bench.changes]
    assert any("what it waits for did not come" in detail for detail in details)
    assert any("what it lasts until did not come in 400 ms" in detail for detail in details)


def test_who_follows_an_action_without_effect_is_given_up_at_once() -> None:
    bench = Bench()
    bench.plans["a"] = FakeInjection("a", bench.log, proof=None)
    timed = act("a", At(at_ms=0))
    play(bench, timed, act("b", AfterAction(action_id="a", phase=Phase.ACTIVE)))

    assert bench.phases("a")[-1] is Phase.INEFFECTIVE
    assert bench.phases("b") == [Phase.PLANNED, Phase.INEFFECTIVE]


def test_nothing_begins_in_a_quiet_time() -> None:
    bench = Bench()
    found = play(
        bench,
        act("a", AfterEvent(event="x")),
        script=[(20, event("x"))],
        quiet=(QuietTime(at_ms=0, for_ms=200),),
    )

    assert found["a"][0] >= 200


def test_an_expiry_can_follow_a_kind_without_length() -> None:
    bench = Bench()
    expire = StoryAction(
        action_id="e", fault=ExpireSession(target=broker(1)), when=AfterAction(action_id="a")
    )
    play(bench, act("a", At(at_ms=0)), expire)

    assert bench.phases("e")[-1] is Phase.HEALED


def test_a_tail_tells_whole_lines_that_came_after_it_began(tmp_path: Path) -> None:
    path = tmp_path / "trace-broker-1-1.ndjson"
    path.write_bytes(encode(event("old")))
    tail = TraceTail(tmp_path)
    tail.skip()
    line = encode(event("new"))
    with path.open("ab") as file:
        file.write(line[:9])
    assert tail.events() == []

    with path.open("ab") as file:
        file.write(line[9:] + b"no event\n")
    (tmp_path / "trace-broker-2-1.ndjson").write_bytes(encode(event("other")))
    (tmp_path / "trace-harness.ndjson").write_bytes(encode(event("own")))

    assert [one.action for one in tail.events()] == ["new", "other"]
    assert tail.events() == []
