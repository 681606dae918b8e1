"""Guided stories: each loses a record, and with the next level's rule does not.

A lab is a story file of this folder, which is played like any other; its steps `say` are where it
stops. `play_lab` gives the stops of its runs, with the state before and after each.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.whitebox.story_play import play_file
from fencepost.fault_injection.stories.steps.fields import Told
from fencepost.fault_injection.stories.steps.story_step import SayStep, StoryStep
from fencepost.fault_injection.stories.story import Story
from fencepost.fault_injection.stories.story_file import read_story, step_document
from fencepost.fault_injection.stories.story_refusal import instead
from fencepost.fault_injection.stories.story_text import step_text

LABS = Path(__file__).parent
ORDER = (
    "kip-101",
    "kip-279",
    "lost-tail",
    "zombie-controller",
    "late-stop-replica",
    "version-race",
)
"""The labs, the first one first."""


class SeenDecision(Struct, frozen=True, kw_only=True):
    """What ZooKeeper holds of a partition."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    znode_version: int


class SeenReplica(Struct, frozen=True, kw_only=True):
    """What a broker has of a partition; None is what it does not have, or cannot tell."""

    broker: int
    life: str
    broker_epoch: int | None
    """Of its registration."""
    role: str | None
    leader_epoch: int | None
    high_watermark: int | None
    log_end_offset: int | None
    log: str | None
    """Its records as value@epoch, `|` after the committed ones."""


class SeenPartition(Struct, frozen=True, kw_only=True):
    """A partition in ZooKeeper and at each of its replicas."""

    partition: str
    published: SeenDecision | None
    replicas: tuple[SeenReplica, ...]


class SeenState(Struct, frozen=True, kw_only=True):
    """The cluster, as if it stood still."""

    controller: int | None
    controller_epoch: int
    partitions: tuple[SeenPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabStop:
    """One step of a lab: what is done, what it prints, and what to look at."""

    says: str
    look: str
    orders: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Each step of the story as it is written, and the lines that it printed."""
    before: SeenState | None = None
    """None: there was nothing."""
    after: SeenState | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LabRun:
    """The stops on one cluster."""

    run_id: str
    says: str
    stops: tuple[LabStop, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedLab:
    """A lab that was played, and whether it printed what its file says."""

    name: str
    story: Story
    runs: tuple[LabRun, ...]
    difference: tuple[str, ...]


def lab_story(name: str) -> Story:
    """The story of a lab; raises `ChoiceError` when there is none of that name."""
    if name not in ORDER:
        raise ChoiceError(
            f"there is no lab {name!r}; {instead(name, ORDER, 'fencepost lab lists all')}"
        )
    return read_story(_file_of(name))


def play_lab(name: str) -> PlayedLab:
    """Play the lab of that name in the simulator; raises `ChoiceError`."""
    story = lab_story(name)
    file = play_file(_file_of(name), is_looked_at=True)
    played = iter(file.played)
    runs = tuple(
        LabRun(
            run_id=run.run_id,
            says=run.says,
            stops=tuple(_stops(run.run_id, run.steps, played)),
        )
        for run in story.played
    )
    return PlayedLab(name=name, story=story, runs=runs, difference=file.difference)


def _file_of(name: str) -> Path:
    return LABS / f"{name}.yaml"


def _stops(
    run_id: str, steps: Sequence[StoryStep], played: Iterator[Mapping[str, Any]]
) -> Iterator[LabStop]:
    """The steps of a run up to each next `say`; what stands before the first one has no words."""
    in_run = partial(_in_run, run_id)
    stop = LabStop(says="", look="")
    for step in steps:
        done = next(played)
        if isinstance(step, SayStep):
            if stop.orders:
                yield stop
            stop = LabStop(says=in_run(step.say), look=in_run(step.look), before=stop.after)
            continue
        order = (_written(step), tuple(done["printed"]))
        seen = msgspec.convert(done["seen"], SeenState)
        stop = replace(stop, orders=(*stop.orders, order), after=seen)
    yield stop


def _in_run(run_id: str, told: Told) -> str:
    return told if isinstance(told, str) else told.get(run_id, "")


def _written(step: StoryStep) -> str:
    """The step in one line, without what it prints."""
    document = step_document(step)
    document.pop("expected", None)
    numbers = {name: _number(value) for name, value in document.items()}
    return step_text(numbers).removeprefix("- ")


def _number(value: object) -> object:
    """A broker that is named by its id is a text, as any target."""
    return int(value) if isinstance(value, str) and value.isdecimal() else value
