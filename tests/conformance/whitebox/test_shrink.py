"""Runs of seeds and stories are made small: what is not needed goes, the rest gets shorter."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.clients.recorder import TraceWriter
from fencepost.conformance.whitebox.run_shrink import (
    RealTries,
    ShrunkRun,
    SimulatedTries,
    shrink_run,
    shrink_story,
    violations_of,
)
from fencepost.conformance.whitebox.shrink import shrink_actions, shrink_seed
from fencepost.conformance.whitebox.simulate import Subject
from fencepost.fault_injection.faults.fault_kind import Backend
from fencepost.fault_injection.faults.process_faults import PauseBroker
from fencepost.fault_injection.faults.targets import broker
from fencepost.fault_injection.stories.story import AfterAction, At, Story, StoryAction, Trigger
from fencepost.fault_injection.stories.story_file import story_from_text, to_yaml
from fencepost.fault_injection.stories.story_record import EXECUTED
from fencepost.spec.trace import Kind, LamportClock


def pause(name: str, when: Trigger, for_ms: int = 800, until: Trigger | None = None) -> StoryAction:
    fault = PauseBroker(target=broker(1), for_ms=for_ms)
    return StoryAction(action_id=name, fault=fault, when=when, until=until)


def shrunk(story: Story, fails: Callable[[Story], bool], runs_max: int = 100) -> Story:
    found = shrink_actions(story, fails, runs_max=runs_max)
    assert found.runs <= runs_max
    return found.story


def names(story: Story) -> list[str]:
    return [action.action_id for action in story.actions]


def test_what_is_not_needed_is_left_out_and_the_rest_is_shorter_and_sooner() -> None:
    story = Story(story_id="p", actions=tuple(pause(n, At(at_ms=500)) for n in "abcdef"))

    found = shrunk(story, lambda one: "d" in names(one))

    (left,) = found.actions
    assert left.action_id == "d"
    assert left.fault.active_ms == 50
    assert left.when == At(at_ms=0)


def test_an_action_that_waits_for_one_that_is_left_out_goes_with_it() -> None:
    ends = AfterAction(action_id="b")
    story = Story(
        story_id="p",
        actions=(
            pause("a", At(at_ms=0), until=ends),
            pause("b", At(at_ms=0)),
            pause("c", AfterAction(action_id="b")),
            pause("d", At(at_ms=0)),
        ),
    )

    seen: list[list[str]] = []

    def fails(one: Story) -> bool:
        seen.append(names(one))
        return "d" in names(one)

    assert names(shrunk(story, fails)) == ["d"]
    assert all("b" in one or not {"a", "c"} & set(one) for one in seen)


def test_what_was_larger_is_told_the_last_first() -> None:
    story = Story(story_id="p", actions=(pause("a", At(at_ms=0)), pause("b", At(at_ms=500))))

    found = shrink_actions(story, lambda one: "b" in names(one), runs_max=100)

    stages = [one.actions[0] for one in (found.story, *found.larger)]
    assert [one.fault.active_ms for one in stages] == [50, 50, 800]
    assert [one.when for one in stages] == [At(at_ms=0), At(at_ms=500), At(at_ms=500)]


@pytest.mark.long
def test_a_seed_becomes_a_story_that_shows_the_same() -> None:
    subject = Subject(level=3, mutant="leader_epoch_not_raised")

    small = shrink_seed(subject, 0)

    assert small.faults < small.faults_before
    assert "mutant: leader_epoch_not_raised" in small.text
    assert any(f"violated: {name}" in small.text for name in small.violated)
    assert small.text.startswith("# fencepost simulate --seed 0 --level 3 --mutant ")


def test_a_seed_that_violates_nothing_cannot_be_shrunk() -> None:
    with pytest.raises(ChoiceError, match="seed 3 violates nothing at level 2: nothing to"):
        shrink_seed(Subject(level=2), 3)


PLAN = """
schema: 1
id: lost
seed: 3
origin: {kind: executed, level: 2, mutant: ""}
actions:
  - {id: late, kind: rpc.delay, target: 2, params: {method: Fetch, delay_ms: 5}, for_ms: 200}
  - {id: first, kind: proc.kill, target: leader(orders/0), for_ms: 900, when: {at_ms: 300}}
"""

LOST = frozenset({"Lost"})
Violates = Callable[[list[str]], bool]
"""Whether actions of these ids lead to a loss."""


def in_simulator(monkeypatch: pytest.MonkeyPatch, violates: Violates) -> None:
    """A simulator in which schedules violate that."""

    def play_story(document: dict[str, Any], **_: object) -> list[str]:
        return [action["id"] for action in document.get("actions", ())]

    target = SimpleNamespace(play_story=play_story)
    monkeypatch.setattr("fencepost.conformance.whitebox.run_shrink.load", lambda: target)
    monkeypatch.setattr(
        "fencepost.conformance.whitebox.run_shrink.failures",
        lambda play: LOST if violates(play()) else frozenset(),
    )


def on_processes(monkeypatch: pytest.MonkeyPatch, violates: Violates) -> list[list[str]]:
    """Processes of which the same can be said; what they have played."""
    played: list[list[str]] = []

    def play(tries: RealTries, candidate: Story) -> Path:
        played.append(names(candidate))
        folder = tries.out / f"try-{len(played)}"
        folder.mkdir(parents=True)
        return folder

    def violations_of(_: Path) -> frozenset[str]:
        return LOST if violates(played[-1]) else frozenset()

    monkeypatch.setattr("fencepost.conformance.whitebox.run_shrink.RealTries.play", play)
    monkeypatch.setattr("fencepost.conformance.whitebox.run_shrink.violations_of", violations_of)
    return played


def shrink(out: Path, violated: frozenset[str] = LOST) -> ShrunkRun:
    return shrink_story(story_from_text(PLAN), violated, out=out, settings=ClusterSettings())


def test_a_simulated_plan_that_violates_nothing_runs_on_processes_and_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_simulator(monkeypatch, lambda _: False)
    played = on_processes(monkeypatch, lambda _: False)

    with pytest.raises(ChoiceError, match="lost did not violate it again"):
        shrink(tmp_path)
    assert played == [[], *[["late", "first"]] * 3]
    assert not list(tmp_path.iterdir())


def test_what_also_fails_in_the_simulator_is_made_small_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_simulator(monkeypatch, lambda ids: "first" in ids)
    played = on_processes(monkeypatch, lambda _: True)

    found = shrink(tmp_path)

    assert found.backend is Backend.SIM
    assert names(found.story) == ["first"]
    assert played == [["first"]], "what the simulator found is seen on real processes"
    assert (found.actions_before, found.violated) == (2, ("Lost",))
    assert (found.story.story_id, found.story.fails_at) == ("lost_small", (5,))
    assert found.story.origin["kind"] == "shrunk"
    assert story_from_text(to_yaml(found.story)) == found.story


def test_what_only_a_longer_fault_shows_on_processes_keeps_its_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_simulator(monkeypatch, lambda ids: "first" in ids)
    lengths: list[int | None] = []

    def is_long(tries: RealTries, candidate: Story) -> bool:
        (action,) = candidate.actions
        lengths.append(action.fault.active_ms)
        tries.evidence, tries.found = tmp_path, LOST
        return action.fault.active_ms == 900

    monkeypatch.setattr("fencepost.conformance.whitebox.run_shrink.RealTries.violates", is_long)

    found = shrink(tmp_path)

    assert found.backend is Backend.SIM
    assert (names(found.story), lengths[-1]) == (["first"], 900)
    assert set(lengths[:-1]) == {56}


def test_what_fails_in_the_simulator_alone_is_made_small_on_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There the delay matters; in the simulator it does not."""
    in_simulator(monkeypatch, lambda ids: "first" in ids)
    played = on_processes(monkeypatch, lambda ids: "late" in ids)

    found = shrink(tmp_path)

    assert found.backend is Backend.REAL
    assert names(found.story) == ["late"]
    assert played[:11] == [["first"]] * 9 + [[], ["late", "first"]]


def test_what_needs_no_fault_becomes_a_story_of_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_simulator(monkeypatch, lambda _: True)
    played = on_processes(monkeypatch, lambda _: True)

    found = shrink(tmp_path)

    assert (found.backend, found.story.actions, played) == (Backend.SIM, (), [[]])
    assert story_from_text(to_yaml(found.story)) == found.story


def test_what_is_violated_without_any_fault_is_left_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_simulator(monkeypatch, lambda _: False)
    played = on_processes(monkeypatch, lambda _: True)
    monkeypatch.setattr(
        "fencepost.conformance.whitebox.run_shrink.violations_of",
        lambda _: frozenset({"Always", *(LOST if "first" in played[-1] else ())}),
    )

    found = shrink(tmp_path, LOST | {"Always"})

    assert names(found.story) == ["first"]
    assert found.violated == ("Lost",)


def test_a_simulated_candidate_has_to_fail_at_every_pace_at_which_the_plan_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story = story_from_text(PLAN)
    played: list[tuple[int, str]] = []

    def play_story(document: dict[str, Any], *, host: str, **_: object) -> frozenset[str]:
        played.append((document["seed"], host))
        ids = [action["id"] for action in document.get("actions", ())]
        is_lost = "first" in ids and (host == "quick" or "late" in ids)
        return LOST if is_lost else frozenset()

    monkeypatch.setattr(
        "fencepost.conformance.whitebox.run_shrink.load",
        lambda: SimpleNamespace(play_story=play_story),
    )
    monkeypatch.setattr("fencepost.conformance.whitebox.run_shrink.failures", lambda play: play())
    tries = SimulatedTries(level=2, mutant="")

    assert tries.begin(story, LOST)
    assert {host for _, host in tries.timings} == {"quick", "busy"}
    assert not tries.violates(replace(story, actions=story.actions[1:]))
    assert tries.violates(story)


def test_a_run_that_did_not_heal_is_one_that_failed(tmp_path: Path) -> None:
    ended = {"converged": False, "final_read": True, "unhealed": ["EventuallyLeader"]}
    with TraceWriter(tmp_path, run_id="r", node="harness", clock=LamportClock()) as harness:
        harness.write(Kind.RUN, "RunEnded", detail=json.dumps(ended))

    assert violations_of(tmp_path) == {"Converged", "EventuallyLeader"}


BEGUN = {"level": 2}


def ran(folder: Path, executed: str) -> None:
    """A whole run with this schedule is in the folder."""
    (folder / EXECUTED).write_text(executed)
    with TraceWriter(folder, run_id="r", node="harness", clock=LamportClock()) as harness:
        harness.write(Kind.RUN, "RunStarted", detail=json.dumps(BEGUN))
        harness.write(Kind.RUN, "RunEnded", detail="{}")


def test_a_run_with_clients_of_its_own_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran(tmp_path, '{"schema": 1, "id": "a", "profile": "none", "actions": []}')
    monkeypatch.setattr(
        "fencepost.conformance.whitebox.run_shrink.violations_of", lambda _: frozenset({"Lost"})
    )

    with pytest.raises(ChoiceError, match="had clients of its own, which are in no story"):
        shrink_run(tmp_path, out=tmp_path)


def test_a_run_with_steps_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran(tmp_path, '{"schema": 1, "id": "a", "steps": [{"run_ms": 1}]}')
    monkeypatch.setattr(
        "fencepost.conformance.whitebox.run_shrink.violations_of", lambda _: frozenset({"Lost"})
    )

    with pytest.raises(
        ChoiceError, match="is a run of a, which has steps: it cannot be made smaller"
    ):
        shrink_run(tmp_path, out=tmp_path)


def test_a_run_that_violates_nothing_is_refused(tmp_path: Path) -> None:
    ran(tmp_path, '{"schema": 1, "id": "a", "actions": []}')

    with pytest.raises(ChoiceError, match="violates nothing: nothing to shrink"):
        shrink_run(tmp_path, out=tmp_path)
