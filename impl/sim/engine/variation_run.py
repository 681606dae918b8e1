"""A variation of a scenario (`draw/story_mutations.py`) as a run."""

from contextlib import suppress
from dataclasses import dataclass, replace

from fencepost.impl.mutants.mutant import MutantName
from fencepost.impl.sim.draw.story_mutations import Variation
from fencepost.impl.sim.engine.liveness_state import unhealed
from fencepost.impl.sim.engine.options import TOPIC
from fencepost.impl.sim.engine.run import RunDescription, SimulatedRun, run_details
from fencepost.impl.sim.script.language import Command
from fencepost.impl.sim.script.stage import Stage, unjudged
from fencepost.impl.sim.script.verbs import elect_controller, options_of, perform
from fencepost.impl.sim.world.workload import create_topic
from fencepost.spec.vocabulary import Liveness


@dataclass(frozen=True, slots=True)
class VariationPart:
    """The commands of a variation, without those that no longer make sense, and healing."""

    cluster: Command
    commands: tuple[Command, ...]

    def work(self, run: SimulatedRun, _: int) -> None:
        """Perform the commands, and heal as the verb `settle` does."""
        stage = Stage(self.cluster.verb, unjudged)
        stage.begin(run)
        elect_controller(stage, self.cluster)
        for command in self.commands:
            _try(stage, command)
        if not run.cluster.assignments():
            create_topic(run.cluster, TOPIC, 1)
        _try(stage, replace(self.cluster, verb="settle", options={}))

    def heal(self, run: SimulatedRun) -> set[Liveness]:
        """What does not hold in the end."""
        return {*unhealed(run.cluster)}


def described_variation(
    variation: Variation, mutant: MutantName | None, name: str
) -> RunDescription[VariationPart]:
    """The run of a variation, with a broken rule if there is a mutant."""
    first, *rest = variation.commands
    if mutant is not None:
        first = replace(first, options={**first.options, "mutant": mutant})
    options = options_of(first)
    return RunDescription(
        options=options,
        begins=run_details(options, name),
        prepare=lambda _: None,
        parts=(VariationPart(first, tuple(rest)),),
    )


def _try(stage: Stage, command: Command) -> None:
    """Perform the command, if it still makes sense."""
    with suppress(ValueError):
        perform(stage, command)
