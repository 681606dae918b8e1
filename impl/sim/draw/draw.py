"""Every way to draw a simulated run: `draw(kind, seed)` gives what `engine/run.py` plays.

The kind and the seed decide the run; the level and the mutant change nothing else of it. Variations
are drawn from a number and the stories that they vary.
"""

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum

from fencepost.impl.mutants.mutant import MutantName
from fencepost.impl.sim.draw.multi_round_draw import multi_round
from fencepost.impl.sim.draw.story_mutations import Variation, deal, story_of
from fencepost.impl.sim.draw.swarm import swarm
from fencepost.impl.sim.engine.run import RunDescription, RunPart, described
from fencepost.spec.vocabulary import ProtocolLevel


class DrawKind(StrEnum):
    """How runs are drawn."""

    SWARM = "swarm"
    """Short runs that differ in kind, one of very many."""
    MULTI_ROUND = "dense"
    """Long runs of several rounds of faults, such as real processes can repeat."""


def draw(
    kind: DrawKind, seed: int, *, level: ProtocolLevel, mutant: MutantName | None = None
) -> RunDescription[RunPart]:
    """The run of that kind that belongs to `seed`."""
    return _KINDS[kind](seed, level, mutant)


def draw_variations(texts: Mapping[str, str], number: int, count: int) -> Iterator[Variation]:
    """The `count` variations of that number, from 1 on, of these stories (name -> text)."""
    found = [story_of(text, name) for name, text in sorted(texts.items())]
    return deal([one for one in found if one is not None], number, count)


def _swarm(seed: int, level: ProtocolLevel, mutant: MutantName | None) -> RunDescription[RunPart]:
    return described(swarm(seed, level=level, mutant=mutant))


def _multi_round(
    seed: int, level: ProtocolLevel, mutant: MutantName | None
) -> RunDescription[RunPart]:
    return multi_round(seed, level=level, mutant=mutant)


_KINDS: dict[
    DrawKind, Callable[[int, ProtocolLevel, MutantName | None], RunDescription[RunPart]]
] = {
    DrawKind.SWARM: _swarm,
    DrawKind.MULTI_ROUND: _multi_round,
}
