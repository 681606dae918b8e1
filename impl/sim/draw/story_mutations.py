"""Draws variations of scenarios: a story that shows one hazard, with random changes.

A scenario (`script/language.py`) reaches its situation in several exact steps, which chance alone
seldom takes. A variation has the commands of one of its clusters, with changes: other times, a line
left out, done twice or early, faults and clients beside it. Commands that no longer make sense are
skipped when it is played (`engine/variation_run.py`); in the end all must heal.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

from fencepost.fault_injection.faults.fault_json import as_json
from fencepost.impl.sim.draw.fault_stories import About, FaultStoryDraw
from fencepost.impl.sim.script.language import Command, milliseconds, parse
from fencepost.impl.sim.script.play import fault_line
from fencepost.impl.sim.script.settings import DEFAULTS, read_options
from fencepost.spec.vocabulary import ProtocolLevel

LOOKS = frozenset({"show", "check", "read", "replay"})
"""Verbs that do nothing to a cluster, or come once, after the variation."""
ONCE = frozenset({"produce", "workload"})
"""Verbs that no story has twice: each record is another, and each client."""
CHANGES = (0, 1, 1, 2, 3)
"""How many a variation may have."""
STRETCH = (0.4, 2.5)
"""Times become so much shorter or longer."""
REPLICATION_FACTOR = 2
"""Most scenarios name two replicas, and the other brokers are controllers."""
HEALS_MS = 20_000
"""And three sessions more: so long healing may take."""
LATEST_MS = 1_500
"""A fault beside the story comes so long after the line before it, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseStory:
    """One cluster of a scenario, with the protocol as it should be."""

    name: str
    commands: tuple[Command, ...]
    """From `cluster` on."""
    mutants: frozenset[str]
    """The broken rules that the scenario was written for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variation:
    """What is played."""

    scenario: BaseStory
    commands: tuple[Command, ...]
    changes: tuple[str, ...]
    """What is different, in words."""

    @property
    def told(self) -> str:
        """What it is, for people."""
        return ", ".join((f"variation of {self.scenario.name}", *self.changes))


def scenario_of(text: str, name: str) -> BaseStory | None:
    """The last cluster without a mutant; None where there is none, or where only steps are led.

    Raises `ScriptError`.
    """
    clusters: list[list[Command]] = []
    for command in (one for block in parse(text, name) for one in block.commands):
        if command.verb == "cluster":
            clusters.append([])
        if clusters:
            clusters[-1].append(command)
    right = [one for one in clusters if "mutant" not in one[0].options]
    if not right or len(right[-1]) == 1:
        return None
    wrong = {one[0].options.get("mutant", "") for one in clusters} - {""}
    return BaseStory(
        name=name.removesuffix(".txt"), commands=tuple(right[-1]), mutants=frozenset(wrong)
    )


def deal(scenarios: Sequence[BaseStory], number: int, count: int) -> Iterator[Variation]:
    """The `count` variations of that number, from 1 on; no scenario comes again before all came.

    The number and the scenarios alone decide.
    """
    for place in range((number - 1) * count, number * count):
        deck, card = divmod(place, len(scenarios))
        order = Random(f"deck {deck}").sample(range(len(scenarios)), len(scenarios))
        yield vary(scenarios[order[card]], Random(f"variation {place}"))


def vary(scenario: BaseStory, random: Random) -> Variation:
    """The scenario with drawn changes, and another seed of the cluster.

    Where records are acknowledged before a disk has them, nothing else changes: a broker that comes
    back without them while there is no controller can lead, before level 3 (hazard H2b).
    """
    first, *rest = scenario.commands
    first = replace(first, options={**first.options, **_own_options(first, random)})
    rest = [*_distinct(one for one in rest if one.verb not in LOOKS)]
    drawn = _Changer(random, first)
    count = random.choice(CHANGES) if "flush_ms" not in first.options else 0
    changes = [random.choice(drawn.all) for _ in range(count)]
    told = tuple(change(rest) for change in changes if rest)
    return Variation(scenario=scenario, commands=(first, *rest), changes=told)


def _distinct(commands: Iterable[Command]) -> Iterator[Command]:
    """Give each record a value of its own; retries of a numbered producer keep theirs."""
    for number, one in enumerate(commands):
        if one.verb == "produce" and "producer" not in one.options:
            key, *values = one.words
            yield replace(one, words=(key, *(f"{value}.{number}" for value in values)))
        else:
            yield one


def _own_options(cluster: Command, random: Random) -> dict[str, str]:
    """Of every variation: time to heal is as long as in multi-round runs."""
    timeout_ms = int(cluster.options.get("session_timeout_ms", DEFAULTS.session_timeout_ms))
    brokers = int(cluster.options.get("brokers", DEFAULTS.brokers))
    return {
        "replication_factor": str(min(brokers, REPLICATION_FACTOR)),
        "seed": str(random.randrange(2**31)),
        "level": str(int(ProtocolLevel.LEADER_EPOCH)),
        "settle_ms": str(HEALS_MS + 3 * timeout_ms),
    }


class _Changer:
    """The changes; each is made in place, and returns what it did in words."""

    def __init__(self, random: Random, cluster: Command) -> None:
        self._random = random
        given = {name: text for name, text in cluster.options.items() if name != "controller"}
        self._options = read_options(given)
        self._cluster = cluster
        self.all: tuple[Callable[[list[Command]], str], ...] = (
            self._leave_out,
            self._twice,
            self._swap,
            *[self._stretch] * 2,
            *[self._fault] * 3,
            self._workload,
        )

    def _leave_out(self, rest: list[Command]) -> str:
        place = self._place(rest)
        return f"without {rest.pop(place).verb}"

    def _twice(self, rest: list[Command]) -> str:
        place = self._place(rest)
        if rest[place].verb in ONCE:
            return self._stretch(rest)
        rest.insert(place, rest[place])
        return f"{rest[place].verb} twice"

    def _swap(self, rest: list[Command]) -> str:
        place = self._place(rest)
        other = min(place + 1, len(rest) - 1)
        rest[place], rest[other] = rest[other], rest[place]
        return f"{rest[place].verb} before {rest[other].verb}"

    def _stretch(self, rest: list[Command]) -> str:
        factor = self._random.uniform(*STRETCH)
        for place, one in enumerate(rest):
            if one.verb == "run":
                rest[place] = replace(one, words=(_stretched(one.words[0], factor),))
            if "for" in one.options:
                longer = _stretched(one.options["for"], factor)
                rest[place] = replace(one, options={**one.options, "for": longer})
        return f"times x {factor:.1f}"

    def _fault(self, rest: list[Command]) -> str:
        """A situation of the multi-round runs begins somewhere in the story."""
        situations = FaultStoryDraw(
            self._random,
            self._options,
            session_timeout_ms=min(self._options.session_timeout_ms, 2_000),
            may_move=False,
            about=About.ALL,
        )
        place = self._place(rest)
        begins_ms = self._random.randint(0, LATEST_MS)
        lines = [fault_line(begins_ms + ms, as_json(fault)) for ms, fault in situations.draw()]
        (block,) = parse("\n".join([*lines, "----", ""]), "beside")
        rest[place:place] = block.commands
        kinds = ", ".join(one.words[0] for one in block.commands)
        return f"{kinds} before {rest[place + len(lines)].verb}"

    def _workload(self, rest: list[Command]) -> str:
        place = self._place(rest)
        if any(one.verb == "workload" for one in rest):
            return self._stretch(rest)
        rest.insert(place, replace(self._cluster, verb="workload", options={}))
        return "clients beside"

    def _place(self, rest: Sequence[Command]) -> int:
        """Somewhere after the first topic is there, if the story has more than that."""
        first = next((n for n, one in enumerate(rest) if one.verb == "create-topic"), -1) + 1
        return self._random.randrange(min(first, len(rest) - 1), len(rest))


def _stretched(time: str, factor: float) -> str:
    return f"{round(milliseconds(time) * factor)}ms"
