"""Simulated runs as lists of moves that brokers as processes can repeat."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from fencepost.impl.mutants.mutant import MutantName
from fencepost.impl.sim.draw.story_mutations import Variation
from fencepost.impl.sim.engine.move_recorder import NEVER_MS, MoveRecorder
from fencepost.impl.sim.engine.options import RunOptions
from fencepost.impl.sim.engine.run import IsEnough, RunDescription, RunPart, run
from fencepost.impl.sim.engine.variation_run import described_variation
from fencepost.impl.sim.stories.play import play
from fencepost.impl.sim.stories.story_cluster import unjudged
from fencepost.impl.sim.world.cluster import QUOTA_WINDOWS
from fencepost.spec.pacing import MoveList, Verb
from fencepost.spec.trace import TraceEvent


def moves_of(path: Path, *, is_repaired: bool) -> MoveList:
    """The moves of the first run of a story that has a mutant, or of the first without.

    Raises `ValueError` with one sentence when there is no such run, or when no processes can make
    its moves.
    """
    played = play(path.read_text(encoding="utf-8"), unjudged, is_noted=True)
    found = [one for one in played.noted if is_repaired != bool(one[0].mutant)]
    if not found:
        raise ValueError(f"{path.name} has no run {'without' if is_repaired else 'with'} mutant")
    return _listed(path.stem, *found[0])


def moves_of_run(
    description: RunDescription[RunPart], name: str, is_enough: IsEnough
) -> tuple[MoveList, list[TraceEvent]]:
    """The moves of a run up to its end, and its trace; raises `ValueError` as `moves_of`."""
    recorder = MoveRecorder(is_for_processes=True)
    events = run(description, name, recorder, is_enough)
    return _listed(name, description.options, recorder), events


def moves_of_variation(
    variation: Variation, mutant: MutantName | None, name: str
) -> tuple[Callable[[], MoveList], list[TraceEvent]]:
    """A function that makes the moves, which raises `ValueError` as `moves_of`, and the trace."""
    recorder = MoveRecorder(is_for_processes=True)
    description = described_variation(variation, mutant, name)
    events = run(description, f"{name}-1", recorder)
    return partial(_listed, name, description.options, recorder), events


def _listed(name: str, options: RunOptions, move_recorder: MoveRecorder) -> MoveList:
    if move_recorder.obstacle:
        raise ValueError(f"no processes make the moves of {name}: {move_recorder.obstacle}")
    return MoveList(
        name=name,
        level=int(options.level),
        brokers=tuple(range(1, options.brokers + 1)),
        controllers=(),
        unclean_leader_election=options.unclean_leader_election,
        mutation_quota=options.mutation_quota,
        is_secured=options.secured,
        flags=_flags(
            options, loses_power=any(m.verb is Verb.LOSE_POWER for m in move_recorder.moves)
        ),
        mutant=options.mutant or "",
        steps=(),
        taken=0,
        is_free=True,
        settles=move_recorder.settles,
        moves=move_recorder.moves,
    )


def _flags(options: RunOptions, *, loses_power: bool) -> dict[str, int]:
    """As `VirtualCluster.start` configures its brokers; timeouts of real time never expire."""
    return {
        "replica-lag-ms": options.replica_lag_time_ms,
        "checkpoint-ms": options.checkpoint_ms,
        "min-insync-replicas": options.min_insync_replicas,
        "fetch-records-max": options.fetch_records_max,
        "request-timeout-ms": NEVER_MS,
        "flush-ms": options.flush_ms,
        "flush-records": int(loses_power and not options.flush_ms),
        "start-timeout-ms": NEVER_MS,
        "quota-window-num": QUOTA_WINDOWS,
        "token-check-ms": options.token_check_ms,
    }
