"""Every way to draw a simulated run: `draw(kind, seed)` gives what `engine/run.py` plays.

The kind and the seed decide the run; the level changes little of it, the mutant nothing. Variations
are drawn from a number and the stories that they vary.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum

from fencepost.impl.mutants.mutant import MutantName
from fencepost.impl.sim.draw.drawn_run import RunDraw
from fencepost.impl.sim.draw.mixes import DENSE, DENSE_CONTROL, DENSE_DATA, SWARM
from fencepost.impl.sim.draw.story_mutations import Variation, deal, story_of
from fencepost.impl.sim.engine.multi_round_run import FaultRound, prepare_rounds
from fencepost.impl.sim.engine.options import RunOptions
from fencepost.impl.sim.engine.run import RunDescription, RunPart, described, drawn_details
from fencepost.spec.vocabulary import ProtocolLevel


class DrawKind(StrEnum):
    """How runs are drawn."""

    SWARM = "swarm"
    """Short runs of one round that differ in kind, one of very many."""
    MULTI_ROUND = "dense"
    """Long runs of several rounds of faults, such as real processes can repeat."""


def draw(
    kind: DrawKind, seed: int, *, level: ProtocolLevel, mutant: MutantName | None = None
) -> RunDescription[RunPart]:
    """The run of that kind that belongs to `seed`."""
    if kind is DrawKind.SWARM:
        return described(swarm(seed, level=level, mutant=mutant))
    return multi_round(seed, level=level, mutant=mutant)


def swarm(
    seed: int,
    *,
    level: ProtocolLevel,
    mutant: MutantName | None = None,
    duration_ms: int | None = None,
) -> RunOptions:
    """The one round that belongs to `seed`; with a `duration_ms` it is as long as that."""
    drawn = RunDraw(SWARM, f"{seed}", seed, level, mutant)
    return drawn.round(1, duration_ms).options


def multi_round(
    number: int, *, level: ProtocolLevel, mutant: MutantName | None = None
) -> RunDescription[FaultRound]:
    """The run of that number, from 1 on.

    Of four numbers, two have everything in one run, one is about data and one about control.
    """
    mix = (DENSE_DATA, DENSE_CONTROL, DENSE, DENSE)[number % 4]
    drawn = RunDraw(mix, f"dense {number}", number, level, mutant)
    reproduce = f"the dense run {number} at level {level:d}"
    return RunDescription(
        options=drawn.options,
        begins=drawn_details(drawn.options, DrawKind.MULTI_ROUND, reproduce),
        prepare=prepare_rounds,
        parts=drawn.rounds(),
    )


def draw_variations(texts: Mapping[str, str], number: int, count: int) -> Iterator[Variation]:
    """The `count` variations of that number, from 1 on, of these stories (name -> text)."""
    found = [story_of(text, name) for name, text in sorted(texts.items())]
    return deal([one for one in found if one is not None], number, count)
