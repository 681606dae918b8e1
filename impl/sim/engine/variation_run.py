"""A variation of a story (`draw/story_mutations.py`) as a run."""

from contextlib import suppress
from dataclasses import dataclass, replace

from fencepost.fault_injection.stories.steps.story_step import HealAllStep, StoryStep
from fencepost.impl.mutants.mutant import MutantName
from fencepost.impl.sim.draw.story_mutations import Variation
from fencepost.impl.sim.engine.liveness_state import unhealed
from fencepost.impl.sim.engine.options import TOPIC
from fencepost.impl.sim.engine.run import RunDescription, SimulatedRun, run_details
from fencepost.impl.sim.stories.simulated_steps import story_player
from fencepost.impl.sim.stories.story_cluster import Player
from fencepost.impl.sim.world.workload import create_topic
from fencepost.spec.vocabulary import Liveness


@dataclass(frozen=True, slots=True)
class VariationPart:
    """The steps of a variation, without those that no longer make sense, and healing."""

    first_controller: int
    """0: any."""
    steps: tuple[StoryStep, ...]

    def work(self, run: SimulatedRun, _: int) -> None:
        """Perform the steps, and heal as the step `heal_all` does."""
        player = story_player(run)
        if self.first_controller:
            player.cluster.elect_controller(self.first_controller)
        for step in self.steps:
            _try(player, step)
        if not run.cluster.assignments():
            create_topic(run.cluster, TOPIC, 1)
        _try(player, HealAllStep(heal_all=None))

    def heal(self, run: SimulatedRun) -> set[Liveness]:
        """What does not hold in the end."""
        return {*unhealed(run.cluster)}


def described_variation(
    variation: Variation, mutant: MutantName | None, name: str
) -> RunDescription[VariationPart]:
    """The run of a variation, with a broken rule if there is a mutant."""
    options = replace(variation.options, mutant=mutant)
    return RunDescription(
        options=options,
        begins=run_details(options, name),
        prepare=lambda _: None,
        parts=(VariationPart(variation.story.first_controller, variation.steps),),
    )


def _try(player: Player, step: StoryStep) -> None:
    """Perform the step, if it still makes sense."""
    with suppress(ValueError):
        player.perform(step)
