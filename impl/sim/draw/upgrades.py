"""Runs of the swarm in which all brokers are upgraded, one after the other (UMD-003, FWD-007)."""

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from fencepost.fault_injection.faults.process_faults import RollBrokers
from fencepost.fault_injection.stories.drawn_story import in_order_of_time
from fencepost.fault_injection.stories.story import StoryAction
from fencepost.impl.mutants.mutant import MutantName
from fencepost.impl.sim.draw.drawn_run import RunDraw
from fencepost.impl.sim.draw.mixes import SWARM
from fencepost.impl.sim.engine.options import RunOptions
from fencepost.spec.vocabulary import ProtocolLevel

PASS_MS = 3_000
"""Of this each pass over the brokers has the most part: what it has not done then stays undone."""
REST_MS = 200
BACK = 0.3
"""Share of the upgrades that go back to the older code after a first pass, and begin again."""


def upgrading(
    seed: int,
    *,
    upgrade_from: ProtocolLevel,
    level: ProtocolLevel,
    mutant: MutantName | None = None,
) -> RunOptions:
    """The run of the swarm that belongs to `seed`, as long as an upgrade through all levels takes.

    Faults and clients are those of the lower level; nothing is asked for after the last pass.
    """
    random = Random(f"{seed}/upgrade")
    passes = [*_passes(random, upgrade_from, level)]
    drawn = RunDraw(SWARM, f"{seed}", seed, upgrade_from, mutant)
    options = drawn.round(1, (len(passes) + 1) * PASS_MS).options
    rolls = (
        StoryAction.at(action_id="", at_ms=number * PASS_MS, fault=fault, must_take_effect=False)
        for number, fault in enumerate(passes)
    )
    actions = in_order_of_time([*options.story.actions, *rolls], "round-1")
    return replace(options, asks_last=False, story=replace(options.story, actions=actions))


def _passes(random: Random, first: ProtocolLevel, last: ProtocolLevel) -> Iterator[RollBrokers]:
    for level in range(first + 1, last + 1):
        yield _roll(random, code_level=level)
        if random.random() < BACK:
            yield _roll(random, code_level=level - 1)
            yield _roll(random, code_level=level)
        yield _roll(random, inter_broker_protocol=level)


def _roll(
    random: Random, *, code_level: int | None = None, inter_broker_protocol: int | None = None
) -> RollBrokers:
    return RollBrokers(
        how=random.choice(("term", "term", "kill")),
        wait=random.choice(("isr_full", "registered", "none")),
        gap_ms=random.choice((0, 100, 400)),
        for_ms=PASS_MS - REST_MS,
        code_level=code_level,
        inter_broker_protocol=inter_broker_protocol,
    )
