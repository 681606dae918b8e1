"""Faults that are drawn from the seed, of those that the implementation can have.

They are drawn when the cluster is known: its brokers, its sessions, and what may be done to it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from fencepost.conformance.adapters.capabilities import as_offered, offered
from fencepost.conformance.adapters.implementation import Capability, Implementation
from fencepost.conformance.adapters.networks import possible
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.runs.scenario import Scenario
from fencepost.fault_injection.faults.catalogue import DRAWN_FOR_REAL, DRAWN_FROM_OUTSIDE
from fencepost.fault_injection.faults.process_faults import BounceBroker
from fencepost.fault_injection.faults.request_faults import RpcFault
from fencepost.fault_injection.stories.drawn_story import draw_story
from fencepost.fault_injection.stories.story import AfterAction, Story, StoryAction
from fencepost.fault_injection.stories.story_record import DRAWN
from fencepost.spec.trace import Phase

RANDOM_MS = 12_000
"""Length of the drawn schedule, its quiet tail included."""
STORY = Story(
    story_id="random",
    says="Faults drawn from the seed hit brokers, sessions and requests.",
    covers=("CLI-004", "FAIL-008", "REPL-004", "REPL-009"),
)


def draw_for(
    settings: ClusterSettings, kinds: Sequence[str], *, seed: int, duration_ms: int
) -> Story:
    """Faults of those of these kinds that the cluster can have; of all, when it can have none.

    Brokers that are known from outside alone may take long to come back: each fault then waits
    until the one before has healed.
    """
    found = possible(_had_in_time(settings.implementation, kinds) or kinds, settings.network)
    drawn = draw_story(
        seed,
        brokers=settings.broker_ids,
        duration_ms=duration_ms,
        session_timeout_ms=settings.session_timeout_ms,
        kinds=found,
    )
    actions = (
        replace(one, fault=as_offered(settings.implementation, one.fault)) for one in drawn.actions
    )
    if _is_controlled(settings):
        return replace(drawn, actions=tuple(actions))
    return replace(drawn, actions=tuple(_in_turn(actions)), origin={"kind": DRAWN})


def _had_in_time(implementation: Implementation, kinds: Sequence[str]) -> list[str]:
    """What it offers; a process that is not ready to start comes after its session has ended."""
    found = offered(implementation, kinds)
    if Capability.PREPARED_START in implementation.capabilities:
        return found
    return [kind for kind in found if kind != BounceBroker.kind]


def _is_controlled(settings: ClusterSettings) -> bool:
    return Capability.FAULT_CONTROL in settings.implementation.capabilities


def _in_turn(actions: Iterable[StoryAction]) -> Iterator[StoryAction]:
    """With the calm between two faults that was drawn; those on requests come when they come.

    For a fault that may find nothing to hurt none waits: it need never heal.
    """
    before: StoryAction | None = None
    for action in actions:
        if isinstance(action.fault, RpcFault):
            yield action
            continue
        if before is None:
            yield action
        else:
            calm_ms = action.at_ms - before.at_ms - (before.fault.active_ms or 0)
            healed = AfterAction(action_id=before.action_id, phase=Phase.HEALED, plus_ms=calm_ms)
            yield replace(action, when=healed)
        if action.must_take_effect:
            before = action


def _draw(settings: ClusterSettings, seed: int) -> Story:
    kinds = DRAWN_FOR_REAL if _is_controlled(settings) else DRAWN_FROM_OUTSIDE
    drawn = draw_for(settings, kinds, seed=seed, duration_ms=RANDOM_MS)
    return replace(STORY, seed=seed, actions=drawn.actions, origin=drawn.origin)


SCENARIO = Scenario(story=STORY, draw=_draw)
