"""Plays a story step by step, on one simulated cluster after the other, and writes failing runs.

Everything is virtual and drawn from the seed, so that a story prints the same every time.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.parameters import Json
from fencepost.fault_injection.stories.steps.printed import printed_in
from fencepost.fault_injection.stories.steps.story_step import (
    BreakConnectionsStep,
    CheckStep,
    CreateTopicStep,
    HealAllStep,
    ReadStep,
    RunMsStep,
    StoryStep,
    WorkloadStep,
)
from fencepost.fault_injection.stories.story import Story, StoryAction
from fencepost.fault_injection.stories.story_file import (
    action_document,
    read_step,
    story_from_text,
    to_yaml,
)
from fencepost.fault_injection.stories.story_refusal import Place, StoryError
from fencepost.fault_injection.stories.story_text import placed, rewritten
from fencepost.impl.sim.engine.move_recorder import MoveRecorder
from fencepost.impl.sim.engine.options import TOPIC, RunOptions
from fencepost.impl.sim.engine.run import SimulatedRun, run_details
from fencepost.impl.sim.stories.look import seen_state
from fencepost.impl.sim.stories.settings import read_options, write_options
from fencepost.impl.sim.stories.simulated_steps import story_player
from fencepost.impl.sim.stories.story_cluster import Judge, Player
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.spec.trace import TraceEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedStep:
    """What one step printed in one run."""

    run_id: str
    place: Place
    """Where the step stands in the story."""
    expected: tuple[str, ...]
    printed: tuple[str, ...]
    seen: Json | None
    """The state after it, if the story was to be looked at (`look.py`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedStory:
    """What a story printed, step by step, run after run."""

    story: Story
    steps: tuple[PlayedStep, ...]
    text: str
    """The story with what it printed."""
    traces: tuple[Sequence[TraceEvent], ...]
    """One per run."""
    noted: tuple[tuple[RunOptions, MoveRecorder], ...]
    """The same, when it was to be noted."""


def play(
    text: str, judge: Judge, *, is_noted: bool = False, is_looked_at: bool = False
) -> PlayedStory:
    """Play the story of a text; raises `StoryError`, one sentence with the line of the step."""
    story = story_from_text(text)
    if not any(run.steps for run in story.played):
        raise StoryError("it has no steps; give some, or play it with fencepost chaos")
    steps: list[PlayedStep] = []
    worlds: list[VirtualCluster] = []
    try:
        for number, run in enumerate(story.played):
            recorder = MoveRecorder() if is_noted else None
            options = read_options(story.seed, run.cluster)
            worlds.append(VirtualCluster(options, f"{story.story_id}-{number + 1}", recorder))
            begins = run_details(options, story.story_id)
            player = story_player(SimulatedRun(worlds[-1], begins), judge)
            steps += _play(player, story, number, is_looked_at=is_looked_at)
    except StoryError as error:
        raise placed(text, error) from error
    return PlayedStory(
        story=story,
        steps=tuple(steps),
        text=rewritten(text, _differences(steps)),
        traces=tuple(world.recorder.events for world in worlds),
        noted=tuple(
            (one.options, one.move_recorder) for one in worlds if one.move_recorder is not None
        ),
    )


def _play(player: Player, story: Story, number: int, *, is_looked_at: bool) -> Iterator[PlayedStep]:
    run = story.played[number]
    if first := run.cluster.get("first_controller"):
        player.cluster.elect_controller(first)
    if story.actions:
        player.cluster.simulated.injector.follow(story)
    for index, step in enumerate(run.steps):
        place = (*story.place_of_steps(number), index)
        try:
            printed = tuple(player.perform(step))
        except ValueError as error:
            raise StoryError(str(error), place) from error
        yield PlayedStep(
            run_id=run.run_id,
            place=place,
            expected=printed_in(step, run.run_id, printed),
            printed=printed,
            seen=seen_state(player.cluster.world) if is_looked_at else None,
        )


def _differences(steps: Sequence[PlayedStep]) -> dict[Place, Mapping[str, str] | str]:
    """What each step prints that does not print what the story says."""
    wrong = {one.place for one in steps if one.printed != one.expected}
    found: dict[Place, dict[str, str]] = {place: {} for place in wrong}
    for one in steps:
        if one.place in wrong:
            lines = "\n".join(one.printed)
            found[one.place][one.run_id] = f"{lines}\n" if len(one.printed) > 1 else lines
    return {place: _merged(texts) for place, texts in found.items()}


def _merged(texts: Mapping[str, str]) -> Mapping[str, str] | str:
    """By run, where runs differ."""
    first, *others = texts.values()
    if all(text == first for text in others):
        return first
    return {run_id: text for run_id, text in texts.items() if text}


def story_text(options: RunOptions, *, story_id: str, comment: str = "") -> str:
    """The story that plays the same run as `run(options)`, event for event.

    `comment` says what the run shows, one line or several. No step says what it prints: play the
    text once, and take the text with what it printed. Every setting that is not the usual one is
    said by its name: what is added to `RunOptions` or `Weather` needs no change here.
    """
    faults = (fault_step(timed.at_ms, timed.fault) for timed in options.story.actions)
    steps = (
        CreateTopicStep(create_topic=TOPIC),
        WorkloadStep(workload=None),
        *faults,
        *([BreakConnectionsStep(break_connections=None)] if options.connection_breaks else []),
        RunMsStep(run_ms=options.duration_ms),
        HealAllStep(heal_all=None),
        ReadStep(read=None),
        CheckStep(check=None),
    )
    story = Story(story_id=story_id, seed=options.seed, cluster=write_options(options), steps=steps)
    return to_yaml(story, comment)


def fault_step(after_ms: int, fault: Fault) -> StoryStep:
    """The step that begins a fault so much later."""
    document = action_document(StoryAction.at(action_id="-", at_ms=0, fault=fault))
    given = {name: value for name, value in document.items() if name not in ("id", "when")}
    return read_step({**given, "after_ms": after_ms})
