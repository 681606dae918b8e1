"""Permutations of a case: one story for each combination of choices, named in brackets.

An axis changes all steps alike: `acks` those of every produce request, `replicas` how many replicas
each topic has.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Literal

from msgspec import structs

from fencepost.fault_injection.stories.steps.story_step import (
    CreateTopicStep,
    ProduceStep,
    StoryStep,
)
from fencepost.fault_injection.stories.story import Story

Axis = Literal["acks", "replicas"]
Choice = str | int
Axes = Mapping[Axis, tuple[Choice, ...]]


def permutations(story: Story, axes: Axes) -> Iterator[tuple[str, Story]]:
    """The end of the id, as `[acks=1,replicas=3]`, and the story; without axes the story itself."""
    for choices in product(*axes.values()):
        made = story
        for axis, choice in zip(axes, choices, strict=True):
            steps = tuple(_chosen(step, axis, choice) for step in made.steps)
            made = replace(made, steps=steps)
        named = ",".join(f"{axis}={one}" for axis, one in zip(axes, choices, strict=True))
        yield (f"[{named}]" if named else ""), made


def _chosen(step: StoryStep, axis: Axis, choice: Choice) -> StoryStep:
    if axis == "acks" and isinstance(step, ProduceStep):
        return structs.replace(step, acks=choice)
    if axis == "replicas" and isinstance(step, CreateTopicStep):
        return structs.replace(step, replicas=step.replicas[: int(choice)])
    return step
