"""Plays a variation of a scenario (`draw/story_mutations.py`) to its end."""

from contextlib import suppress
from dataclasses import replace
from functools import partial

from fencepost.impl.mutants.mutant import MutantName
from fencepost.impl.sim.draw.story_mutations import Variation
from fencepost.impl.sim.engine.liveness_state import unhealed
from fencepost.impl.sim.engine.move_recorder import MoveRecorder
from fencepost.impl.sim.engine.options import TOPIC, RunOptions
from fencepost.impl.sim.script.language import Command
from fencepost.impl.sim.script.stage import Stage, unjudged
from fencepost.impl.sim.script.verbs import perform
from fencepost.impl.sim.world.workload import create_topic
from fencepost.spec.trace import TraceEvent


def play_variation(
    variation: Variation, mutant: MutantName | None, run_id: str
) -> tuple[RunOptions, MoveRecorder, list[TraceEvent]]:
    """Play it, end all faults, and read all partitions; its options, moves and trace."""
    stage = Stage(run_id, unjudged, move_recorder=partial(MoveRecorder, is_for_processes=True))
    first, *rest = variation.commands
    if mutant is not None:
        first = replace(first, options={**first.options, "mutant": mutant})
    perform(stage, first)
    for command in rest:
        _try(stage, command)
    if not stage.cluster.assignments():
        create_topic(stage.cluster, TOPIC, 1)
    _try(stage, replace(first, verb="settle", options={}))
    events = stage.simulated.end(unhealed(stage.cluster))
    ((options, move_recorder),) = stage.noted
    return options, move_recorder, events


def _try(stage: Stage, command: Command) -> None:
    """Perform the command, if it still makes sense."""
    with suppress(ValueError):
        perform(stage, command)
