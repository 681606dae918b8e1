"""Makes a story that violates something as small as it gets: fewer actions, shorter, together.

How a story is played, and what counts as failing, is the caller's.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby

import msgspec

from fencepost.fault_injection.stories.ddmin import Minimizer
from fencepost.fault_injection.stories.story import At, Story, StoryAction, referred

SHORTEST_MS = 50
"""Nothing is made shorter than this."""
LENGTHS = ("for_ms", "restart_after_ms")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrunkStory:
    """The smallest story that was found, and how many were played for it."""

    story: Story
    runs: int
    larger: tuple[Story, ...] = ()
    """What it was made of, the last first: it lasts longer, and then it also begins later."""


def shrink_actions(story: Story, fails: Callable[[Story], bool], *, runs_max: int) -> ShrunkStory:
    """Leave out, then shorten, then bring together; as long as there are runs left."""
    nothing = replace(story, actions=())
    search = Minimizer(best=story, fails=fails, tries_max=runs_max, passing=(nothing,))
    stages = []
    search.drop_parts(lambda one: one.actions, _without)
    stages.append(search.best)
    search.simplify(_shorter)
    stages.append(search.best)
    search.simplify(_together)
    stages.append(search.best)
    *larger, smallest = (story for story, _ in groupby(stages))
    return ShrunkStory(story=smallest, runs=search.tries, larger=tuple(reversed(larger)))


def _without(story: Story, dropped: tuple[StoryAction, ...]) -> Story:
    """The story without these actions, and without those that wait for them."""
    gone = {action.action_id for action in dropped}
    kept: list[StoryAction] = []
    for action in story.actions:
        if action.action_id in gone or not gone.isdisjoint(referred(action.when)):
            gone.add(action.action_id)
        else:
            kept.append(action)
    ended = [a for a in kept if a.until is None or gone.isdisjoint(referred(a.until))]
    if len(ended) < len(kept):
        lost = tuple(action for action in kept if action not in ended)
        return _without(replace(story, actions=tuple(kept)), lost)
    return replace(story, actions=tuple(kept))


def _shorter(story: Story) -> Iterator[Story]:
    """Each story in which one action lasts half as long."""
    for index, action in enumerate(story.actions):
        fault, lasts_ms = action.fault, action.fault.active_ms
        names = [name for name in fault.__struct_fields__ if name in LENGTHS]
        if not names or action.until is not None or not lasts_ms or lasts_ms // 2 < SHORTEST_MS:
            continue
        shorter = replace(action, fault=msgspec.structs.replace(fault, **{names[0]: lasts_ms // 2}))
        yield _with(story, index, shorter)


def _together(story: Story) -> Iterator[Story]:
    """Each story in which one action begins with the one before it, or at once."""
    earlier_ms = 0
    for index, action in enumerate(story.actions):
        if not isinstance(action.when, At):
            continue
        if action.when.at_ms > earlier_ms:
            yield _with(story, index, replace(action, when=At(at_ms=earlier_ms)))
        earlier_ms = action.when.at_ms


def _with(story: Story, index: int, action: StoryAction) -> Story:
    actions = (*story.actions[:index], action, *story.actions[index + 1 :])
    return replace(story, actions=actions)
