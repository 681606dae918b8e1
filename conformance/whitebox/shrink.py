"""Makes what violates something small: the run of a seed, or the actions of a story.

A small run still fails when it violates at least one of the properties that the whole one violated,
or the simulator fails in the same way.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import msgspec

from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.checks.registry import judge, run_checks
from fencepost.conformance.runs.run_end import run_end
from fencepost.conformance.whitebox.simulate import Subject, load
from fencepost.fault_injection.stories.ddmin import Minimizer
from fencepost.fault_injection.stories.story import At, Story, StoryAction, without
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Invariant

INVARIANTS = frozenset(one.value for one in Invariant)
SHORTEST_MS = 50
"""Nothing is made shorter than this."""
LENGTHS = ("for_ms", "restart_after_ms")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrunkSeed:
    """The smallest run that was found."""

    seed: int
    violated: tuple[str, ...]
    """What the seed violated, and the small run violates at least one of."""
    text: str
    """The story."""
    faults: int
    faults_before: int
    runs: int
    """How many runs it took."""


def shrink_seed(subject: Subject, seed: int) -> ShrunkSeed:
    """Shrink the run of a seed; raises `ChoiceError` when it violates nothing.

    Where invariants are violated the small run violates one, and not only what must hold at its
    end, which is what its last requests depend on.
    """
    subject.require_known()
    shrink = getattr(load(subject.target), "shrink", None)
    if shrink is None:
        raise ChoiceError(f"the simulator {subject.target} shrinks nothing: it has no shrink()")
    violated = failures(lambda: subject.simulate(seed))
    if not violated:
        raise ChoiceError(
            f"seed {seed} violates nothing at level {subject.level}: nothing to shrink"
        )
    sought = violated & INVARIANTS or violated
    done: dict[str, Any] = shrink(
        seed,
        level=subject.level,
        mutant=subject.mutant,
        fails=lambda play: not sought.isdisjoint(failures(play)),
        judge=judge,
        comment=f"{subject.reproduce(seed)} --shrink\nViolated: {', '.join(sorted(violated))}.",
    )
    return ShrunkSeed(
        seed=seed,
        violated=tuple(sorted(violated)),
        text=done["text"],
        faults=done["faults"],
        faults_before=done["faults_before"],
        runs=done["runs"],
    )


def failures(play: Callable[[], list[TraceEvent]]) -> frozenset[str]:
    """The names of what a run violates; of a simulator that fails, how it does."""
    try:
        events = play()
    except Exception as error:  # whatever a simulator does: that is what is looked for
        return frozenset({f"{type(error).__name__} of the simulator"})
    return failures_in(events)


def failures_in(events: Sequence[TraceEvent]) -> frozenset[str]:
    """The names of what the traces of a run violate, and of what had not come to hold at its end.

    A run that did not heal names the liveness properties of the specs that did not hold then.
    """
    found = {result.invariant.value for result in run_checks(events) if result.violations}
    end = run_end(events)
    ends = {bad.invariant.value for bad in end.bad}
    return frozenset({*found, *(name.value for name in end.unhealed), *ends})


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
    search.drop_parts(lambda one: one.actions, without)
    stages.append(search.best)
    search.simplify(_shorter)
    stages.append(search.best)
    search.simplify(_together)
    stages.append(search.best)
    *larger, smallest = (story for story, _ in groupby(stages))
    return ShrunkStory(story=smallest, runs=search.tries, larger=tuple(reversed(larger)))


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
