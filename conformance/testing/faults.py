"""The fixture `faults`: the test says what goes wrong, and nothing counts that was not proved."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

from fencepost.conformance.adapters.capabilities import require_supported
from fencepost.conformance.adapters.choices import PROXY
from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.networks import require_possible
from fencepost.conformance.runs.running_cluster import RunningCluster
from fencepost.fault_injection.engine.progress import RunningFault
from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.injectors.injector import InjectionError
from fencepost.fault_injection.stories.story import At, Story, StoryAction
from fencepost.fault_injection.stories.story_file import read_story
from fencepost.fault_injection.stories.story_world import (
    StoryWorld,
    require_fault_there,
    require_there,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultEvidence:
    """What proves that a fault took effect."""

    fault_id: str
    broker_id: int | None
    """The broker that it hit; a role was resolved when it was injected."""
    says: str


@dataclass(slots=True, kw_only=True)
class Faults:
    """Injects, proves and heals; targets are brokers or roles."""

    stage: RunningCluster
    network: str = PROXY
    """One of `fencepost.conformance.adapters.networks`."""
    drawn: Story | None = None
    """What the profile of the marker drew from the seed."""
    recorded: Mapping[str, StoryAction] = field(default_factory=dict)
    """Of the run that is run again: by id, when and where each fault was injected.

    Schedules follow it. A fault that the test itself injects resolves its role anew: the test
    speaks of the brokers of this run.
    """
    has_run_drawn: bool = False
    _ids: set[str] = field(init=False, default_factory=set)

    @contextmanager
    def active(self, fault: Fault) -> Iterator[FaultEvidence]:
        """The fault has taken effect, and lasts as long as the block; then it is healed.

        The block decides how long: a time of the fault's own (`for_ms`) is not waited for.
        Raises `InjectionError` when it took no effect or could not be healed, and `ChoiceError`
        when the network cannot have it. `FaultError` names a broker that the cluster has not.
        Ctrl-C waits for no healing: the end of the run undoes what is active.
        """
        running = self._inject(fault)
        try:
            self.stage.engine.await_active(running)
            assert running.evidence is not None
            yield FaultEvidence(
                fault_id=running.action.action_id,
                broker_id=running.broker_id,
                says=running.evidence,
            )
        except KeyboardInterrupt:
            raise
        except BaseException:
            self.stage.engine.heal(running)
            raise
        self.stage.engine.heal(running)

    def run(self, story: Story | Path | None = None) -> None:
        """Every fault of a story was injected and healed; without one, of what was drawn.

        A path is that of a story file. Whether faults took effect is judged when the test is
        over. Raises `ChoiceError` when nothing was drawn or the network cannot have it, and
        `FaultError` for a bad story.
        """
        if story is None:
            story = self._drawn()
            self.has_run_drawn = True
        named = self._named(read_story(story) if isinstance(story, Path) else story)
        require_there(named, self._world())
        faults = [action.fault for action in named.actions]
        require_possible(self.network, faults)
        self._require_supported(faults)
        self.stage.engine.run(self._again(named))

    def _inject(self, fault: Fault) -> RunningFault[str]:
        require_fault_there(fault, self._world())
        require_possible(self.network, [fault])
        self._require_supported([fault])
        fault_id = self._next_id()
        self._recorded_as(fault_id, fault)
        return self.stage.engine.inject(fault_id, fault, is_held=True)

    def _require_supported(self, faults: Sequence[Fault]) -> None:
        implementation = self.stage.cluster.settings.implementation
        require_supported(implementation, faults)

    def _world(self) -> StoryWorld:
        """The brokers of the cluster; its topics are the test's matter."""
        return StoryWorld(brokers=self.stage.brokers, topics=None)

    def _drawn(self) -> Story:
        if self.drawn is None:
            raise ChoiceError(
                "nothing was drawn: give faults.run a story, or the test chaos(profile=...)"
            )
        if not self.drawn.actions:
            raise InjectionError(f"seed {self.drawn.seed} drew no fault; give a larger budget")
        return self.drawn

    def _named(self, story: Story) -> Story:
        """With ids that no other fault of the test has.

        What no trigger names gets another id where its own is taken; raises `ChoiceError` for what
        a trigger does name.
        """
        named = {name for action in story.actions for name in action.references}
        taken = self._ids & {action.action_id for action in story.actions}
        for used in sorted(taken & named):
            raise ChoiceError(f"the test has a fault {used!r} already; give the action another id")
        self._ids |= {action.action_id for action in story.actions}
        return replace(
            story,
            actions=tuple(
                replace(one, action_id=self._next_id()) if one.action_id in taken else one
                for one in story.actions
            ),
        )

    def _again(self, story: Story) -> Story:
        """As the recorded run executed it, or as it is when there is none.

        What was injected has its real time there, counted from the first story of that run.
        """
        executed = [self._recorded_as(one.action_id, one.fault) or one for one in story.actions]
        late = [_late_ms(now, then) for now, then in zip(story.actions, executed, strict=True)]
        begun_ms = min(filter(None, late), default=0)
        moved = (
            _earlier(then, begun_ms) if late_ms else then
            for then, late_ms in zip(executed, late, strict=True)
        )
        return replace(story, actions=tuple(moved))

    def _recorded_as(self, fault_id: str, fault: Fault) -> StoryAction | None:
        """What the recorded run did under this id; raises `ChoiceError` when that was another."""
        recorded = self.recorded.get(fault_id)
        if recorded is not None and recorded.fault.kind != fault.kind:
            raise ChoiceError(
                f"the recorded run injected {recorded.fault.kind} as {fault_id}, and the test now "
                f"injects {fault.kind}; it is not the same test any more"
            )
        return recorded

    def _next_id(self) -> str:
        numbers = (f"fault-{number}" for number in count(1))
        fault_id = next(name for name in numbers if name not in self._ids)
        self._ids.add(fault_id)
        return fault_id


def _late_ms(planned: StoryAction, executed: StoryAction) -> int:
    """How much later it was executed, on the clock of its run; 0 for what never was."""
    if isinstance(planned.when, At) and isinstance(executed.when, At):
        return executed.when.at_ms - planned.when.at_ms
    return 0


def _earlier(action: StoryAction, by_ms: int) -> StoryAction:
    assert isinstance(action.when, At)
    return replace(action, when=At(at_ms=max(0, action.when.at_ms - by_ms)))
