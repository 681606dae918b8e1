"""The fixture `faults` over an engine that only listens."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from fencepost.conformance.adapters.capabilities import UnsupportedFaultError
from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.runs.running_cluster import RunningCluster
from fencepost.conformance.testing.faults import Faults
from fencepost.fault_injection.engine.progress import RunningFault
from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.process_faults import KillBroker, PauseBroker
from fencepost.fault_injection.faults.targets import CONTROLLER, FaultError, broker
from fencepost.fault_injection.injectors.injector import InjectionError
from fencepost.fault_injection.stories.story import AfterAction, At, Story, StoryAction, Trigger
from fencepost.fault_injection.stories.story_file import to_yaml
from tests.conformance.toy import Toy

PAUSE = PauseBroker(target=CONTROLLER, for_ms=9)


@dataclass
class ListeningEngine:
    said: list[str] = field(default_factory=list)
    has_effect: bool = True
    stories: list[Story] = field(default_factory=list)

    def inject(self, fault_id: str, fault: Fault, *, is_held: bool) -> RunningFault[str]:
        assert is_held
        self.said.append(f"inject {fault_id} {fault.victim}")
        action = StoryAction(action_id=fault_id, fault=fault, when=At(at_ms=0))
        return RunningFault(action=action, since_ms=0, broker_id=3)

    def await_active(self, running: RunningFault[str]) -> None:
        if not self.has_effect:
            raise InjectionError(f"{running.action.action_id} had no effect")
        running.evidence = "seen"

    def heal(self, running: RunningFault[str]) -> None:
        self.said.append(f"heal {running.action.action_id}")

    def run(self, story: Story) -> None:
        self.stories.append(story)


@dataclass
class SettingsOnly:
    settings: ClusterSettings = field(default_factory=ClusterSettings)


@dataclass
class EngineOnly:
    engine: ListeningEngine
    cluster: SettingsOnly = field(default_factory=SettingsOnly)

    @property
    def brokers(self) -> tuple[int, ...]:
        return self.cluster.settings.broker_ids


def faults_of(
    engine: ListeningEngine,
    recorded: Mapping[str, StoryAction] | None = None,
    drawn: Story | None = None,
) -> Faults:
    stage = cast(RunningCluster, EngineOnly(engine))
    return Faults(stage=stage, recorded=recorded or {}, drawn=drawn)


def timed(fault_id: str, at_ms: int, fault: Fault = PAUSE) -> StoryAction:
    return StoryAction.at(action_id=fault_id, at_ms=at_ms, fault=fault)


def at(action_id: str, when: int | Trigger, fault: Fault = PAUSE) -> StoryAction:
    trigger = At(at_ms=when) if isinstance(when, int) else when
    return StoryAction(action_id=action_id, fault=fault, when=trigger)


def test_fault_is_active_in_its_block_and_healed_after_it() -> None:
    engine = ListeningEngine()

    with faults_of(engine).active(PAUSE) as evidence:
        engine.said.append("the body")

    assert engine.said == ["inject fault-1 controller", "the body", "heal fault-1"]
    assert (evidence.broker_id, evidence.says) == (3, "seen")


def test_fault_is_healed_when_the_body_fails() -> None:
    engine = ListeningEngine()

    with pytest.raises(ZeroDivisionError), faults_of(engine).active(PAUSE):
        _ = 1 // 0

    assert engine.said[-1] == "heal fault-1"


def test_interrupted_body_waits_for_nobody_to_be_well_again() -> None:
    engine = ListeningEngine()

    with pytest.raises(KeyboardInterrupt), faults_of(engine).active(PAUSE):
        raise KeyboardInterrupt

    assert engine.said == ["inject fault-1 controller"]


def test_fault_that_the_implementation_does_not_declare_is_not_injected() -> None:
    engine = ListeningEngine()
    stage = EngineOnly(engine, SettingsOnly(ClusterSettings(implementation=Toy())))
    faults = Faults(stage=cast(RunningCluster, stage))

    with (
        pytest.raises(UnsupportedFaultError, match=r"toy does not declare what proc\.pause needs"),
        faults.active(PAUSE),
    ):
        pytest.fail("it is not injected")

    assert engine.said == []


def test_broker_that_the_cluster_has_not_is_told_before_anything_is_injected() -> None:
    engine = ListeningEngine()
    missing = PauseBroker(target=broker(7), for_ms=9)

    with (
        pytest.raises(FaultError, match="target is 7: there is no broker 7; choose among 1, 2, 3"),
        faults_of(engine).active(missing),
    ):
        engine.said.append("the body")
    with pytest.raises(FaultError, match=r"\(mine\): target is 7: there is no broker 7"):
        faults_of(engine).run(Story(story_id="a", actions=(at("mine", 0, missing),)))

    assert engine.said == []
    assert engine.stories == []


def test_fault_without_effect_is_healed_and_its_body_not_run() -> None:
    engine = ListeningEngine(has_effect=False)

    with (
        pytest.raises(InjectionError, match="fault-1 had no effect"),
        faults_of(engine).active(PAUSE),
    ):
        engine.said.append("the body")

    assert engine.said == ["inject fault-1 controller", "heal fault-1"]


def ids(story: Story) -> list[str]:
    return [action.action_id for action in story.actions]


def test_schedules_of_one_test_share_no_fault_id() -> None:
    engine = ListeningEngine()
    faults = faults_of(engine)

    faults.run(Story(seed=1, actions=(timed("mine", 0), timed("other", 5))))
    faults.run(Story(seed=1, actions=(timed("mine", 0),)))

    assert [ids(story) for story in engine.stories] == [["mine", "other"], ["fault-1"]]


def test_story_keeps_the_ids_that_its_triggers_name() -> None:
    engine = ListeningEngine()
    faults = faults_of(engine)
    after = AfterAction(action_id="fault-1")
    story = Story(story_id="p", actions=(at("fault-1", 0), at("then", after)))

    faults.run(story)
    with faults.active(PAUSE) as evidence:
        pass

    assert ids(engine.stories[0]) == ["fault-1", "then"]
    assert evidence.fault_id == "fault-2"
    with pytest.raises(ChoiceError, match="has a fault 'fault-1' already"):
        faults.run(story)


def test_schedule_file_is_read(tmp_path: Path) -> None:
    engine = ListeningEngine()
    file = tmp_path / "own.yaml"
    file.write_text(to_yaml(Story(story_id="own", actions=(at("mine", 7),))))

    faults_of(engine).run(file)

    assert ids(engine.stories[0]) == ["mine"]


def test_replayed_schedule_hits_the_recorded_brokers_at_the_recorded_distance() -> None:
    engine = ListeningEngine()
    hit = PauseBroker(target=broker(2), for_ms=9)
    recorded = {"fault-1": at("fault-1", 7_010, hit), "fault-2": at("fault-2", 7_950, hit)}
    faults = faults_of(engine, recorded)

    faults.run(Story(seed=1, actions=(timed("fault-1", 100), timed("fault-2", 1_000))))

    again = [(one.when, str(one.fault.victim)) for one in engine.stories[0].actions]
    assert again == [(At(at_ms=100), "2"), (At(at_ms=1_040), "2")]


def test_replayed_fault_that_was_never_injected_keeps_its_time() -> None:
    engine = ListeningEngine()
    faults = faults_of(engine, {"fault-1": at("fault-1", 100), "fault-2": at("fault-2", 5_020)})

    faults.run(Story(seed=1, actions=(timed("fault-1", 100), timed("fault-2", 1_000))))

    assert [one.when for one in engine.stories[0].actions] == [At(at_ms=100), At(at_ms=1_000)]


def test_replay_of_a_test_that_does_something_else_is_refused() -> None:
    kill = KillBroker(target=broker(2), restart_after_ms=None)
    faults = faults_of(ListeningEngine(), {"fault-1": at("fault-1", 0, kill)})

    with (
        pytest.raises(ChoiceError, match=r"recorded run injected proc.kill .* injects proc.pause"),
        faults.active(PAUSE),
    ):
        pass


def test_nothing_drawn_cannot_be_run() -> None:
    with pytest.raises(ChoiceError, match="nothing was drawn"):
        faults_of(ListeningEngine()).run()


def test_too_small_a_budget_is_told() -> None:
    faults = faults_of(ListeningEngine(), drawn=Story(seed=4))

    with pytest.raises(InjectionError, match="seed 4 drew no fault; give a larger budget"):
        faults.run()
