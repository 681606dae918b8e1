"""Draws variations of stories: one that shows a hazard, with random changes.

A story with steps reaches its situation in several exact ones, which chance alone seldom takes. A
variation has the steps of one of its runs, with changes: other times, a step left out, done twice
or early, faults and clients beside it. Steps that no longer make sense are skipped when it is
played (`engine/variation_run.py`); in the end all must heal.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

import msgspec

from fencepost.fault_injection.stories.situations import CONTROL, DATA, LEADERS, SituationDraw
from fencepost.fault_injection.stories.steps.story_step import (
    ControlStep,
    CreateTopicStep,
    CreateZnodeStep,
    DeleteZnodeStep,
    DisconnectStep,
    FaultStep,
    LoseReplyStep,
    ProduceStep,
    RunMsStep,
    SetZnodeStep,
    StoryStep,
    WorkloadStep,
    verb_of,
)
from fencepost.fault_injection.stories.story_file import story_from_text
from fencepost.impl.sim.engine.options import TOPIC, RunOptions, healing_ms
from fencepost.impl.sim.stories.play import fault_step
from fencepost.impl.sim.stories.settings import read_options
from fencepost.spec.config_store import CONFIG_CHANGES, entity_at
from fencepost.spec.vocabulary import NEWEST_LEVEL, NO_PRODUCER
from fencepost.spec.znodes import TOPICS

LOOKS = frozenset({"show", "check", "read", "replay"})
"""Verbs that do nothing to a cluster, or come once, after the variation."""
ONCE = frozenset(
    {
        *("produce", "workload", "alter_config", "alter_quota"),
        *("create_acls", "delete_acls", "create_token"),
    }
)
"""Verbs that no story has twice: each record and each entry is another, and each client."""
CHANGES = (0, 1, 1, 2, 3)
"""How many a variation may have."""
STRETCH = (0.4, 2.5)
"""Times become so much shorter or longer."""
REPLICATION_FACTOR = 2
"""Most stories name two replicas, and the other brokers are controllers."""
LATEST_MS = 1_500
"""A fault beside the story comes so long after the step before it, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseStory:
    """One run of a story, with the protocol as it should be."""

    name: str
    options: RunOptions
    first_controller: int
    """0: any."""
    steps: tuple[StoryStep, ...]
    mutants: frozenset[str]
    """The broken rules that the story was written for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variation:
    """What is played."""

    story: BaseStory
    options: RunOptions
    steps: tuple[StoryStep, ...]
    changes: tuple[str, ...]
    """What is different, in words."""

    @property
    def told(self) -> str:
        """What it is, for people."""
        return ", ".join((f"variation of {self.story.name}", *self.changes))


def story_of(text: str, name: str) -> BaseStory | None:
    """The last run without a mutant; None where there is none that has steps.

    Nor is there one where commands, states or numbers of producers are made up: nothing is promised
    after that. Raises `StoryError`.
    """
    story = story_from_text(text)
    right = [run for run in story.played if "mutant" not in run.cluster]
    if not right or not right[-1].steps or any(map(_makes_up, right[-1].steps)):
        return None
    if _numbers_twice(right[-1].steps):
        return None
    cluster = right[-1].cluster
    return BaseStory(
        name=name,
        options=read_options(story.seed, cluster),
        first_controller=cluster.get("first_controller", 0),
        steps=right[-1].steps,
        mutants=frozenset(run.cluster.get("mutant", "") for run in story.played) - {""},
    )


def _makes_up(step: StoryStep) -> bool:
    match step:
        case ControlStep():
            return True
        case (
            CreateZnodeStep(create_znode=path)
            | SetZnodeStep(set_znode=path)
            | DeleteZnodeStep(delete_znode=path)
        ):
            is_of_config = path == CONFIG_CHANGES or entity_at(path) is not None
            return path.startswith(TOPICS) or is_of_config
        case _:
            return False


def _numbers_twice(steps: Sequence[StoryStep]) -> bool:
    """A producer begins something anew under a number that it has used; `retry` does not."""
    numbers = [
        (one.produce, one.producer_id, one.producer_epoch, one.base_sequence)
        for one in steps
        if isinstance(one, ProduceStep) and one.producer_id != NO_PRODUCER
    ]
    return len({*numbers}) < len(numbers)


def deal(stories: Sequence[BaseStory], number: int, count: int) -> Iterator[Variation]:
    """The `count` variations of that number, from 1 on; no story comes again before all came.

    The number and the stories alone decide.
    """
    for place in range((number - 1) * count, number * count):
        deck, card = divmod(place, len(stories))
        order = Random(f"deck {deck}").sample(range(len(stories)), len(stories))
        yield vary(stories[order[card]], Random(f"variation {place}"))


def vary(story: BaseStory, random: Random) -> Variation:
    """The story with drawn changes, and another seed of the cluster.

    Where records are acknowledged before a disk has them, nothing else changes: a broker that comes
    back without them while there is no controller can lead, before level 3 (hazard H2b).
    """
    options = _own_options(story.options, random)
    steps = [*_distinct(one for one in story.steps if verb_of(one) not in LOOKS)]
    drawn = _Changer(random, options)
    count = random.choice(CHANGES) if not options.flush_ms else 0
    changes = [random.choice(drawn.all) for _ in range(count)]
    told = tuple(change(steps) for change in changes if steps)
    return Variation(story=story, options=options, steps=tuple(steps), changes=told)


def _distinct(steps: Iterable[StoryStep]) -> Iterator[StoryStep]:
    """Give each record a value of its own; retries of a numbered producer keep theirs."""
    for number, one in enumerate(steps):
        if isinstance(one, ProduceStep) and one.producer_id == NO_PRODUCER:
            records = tuple(f"{value}.{number}" for value in one.records)
            yield msgspec.structs.replace(one, records=records)
        else:
            yield one


def _own_options(options: RunOptions, random: Random) -> RunOptions:
    """Those of every variation: time to heal is as long as in multi-round runs."""
    return replace(
        options,
        replication_factor=min(options.brokers, REPLICATION_FACTOR),
        seed=random.randrange(2**31),
        level=NEWEST_LEVEL,
        settle_ms=healing_ms(options),
    )


class _Changer:
    """The changes; each is made in place, and returns what it did in words."""

    def __init__(self, random: Random, options: RunOptions) -> None:
        self._random = random
        self._options = options
        self.all: tuple[Callable[[list[StoryStep]], str], ...] = (
            self._leave_out,
            self._twice,
            self._swap,
            *[self._stretch] * 2,
            *[self._fault] * 3,
            self._workload,
        )

    def _leave_out(self, rest: list[StoryStep]) -> str:
        place = self._place(rest)
        return f"without {_named(rest.pop(place))}"

    def _twice(self, rest: list[StoryStep]) -> str:
        place = self._place(rest)
        if verb_of(rest[place]) in ONCE:
            return self._stretch(rest)
        rest.insert(place, rest[place])
        return f"{_named(rest[place])} twice"

    def _swap(self, rest: list[StoryStep]) -> str:
        place = self._place(rest)
        other = min(place + 1, len(rest) - 1)
        rest[place], rest[other] = rest[other], rest[place]
        return f"{_named(rest[place])} before {_named(rest[other])}"

    def _stretch(self, rest: list[StoryStep]) -> str:
        factor = self._random.uniform(*STRETCH)
        for place, one in enumerate(rest):
            if isinstance(one, RunMsStep):
                rest[place] = msgspec.structs.replace(one, run_ms=round(one.run_ms * factor))
            if isinstance(one, DisconnectStep | LoseReplyStep) and one.for_ms:
                rest[place] = msgspec.structs.replace(one, for_ms=round(one.for_ms * factor))
        return f"times x {factor:.1f}"

    def _fault(self, rest: list[StoryStep]) -> str:
        """A situation of the multi-round runs begins somewhere in the story."""
        draw = SituationDraw(
            random=self._random,
            brokers=tuple(range(1, self._options.brokers + 1)),
            session_timeout_ms=min(self._options.session_timeout_ms, 2_000),
            topic=TOPIC,
            partitions=self._options.partitions,
            replication_factor=self._options.replication_factor,
        )
        situation = self._random.choice((*CONTROL, *DATA, *LEADERS))
        place = self._place(rest)
        begins_ms = self._random.randint(0, LATEST_MS)
        steps = [fault_step(begins_ms + ms, fault) for ms, fault in situation(draw)]
        rest[place:place] = steps
        return f"{', '.join(map(_named, steps))} before {_named(rest[place + len(steps)])}"

    def _workload(self, rest: list[StoryStep]) -> str:
        place = self._place(rest)
        if any(isinstance(one, WorkloadStep) for one in rest):
            return self._stretch(rest)
        rest.insert(place, WorkloadStep(workload=None))
        return "clients beside"

    def _place(self, rest: Sequence[StoryStep]) -> int:
        """Somewhere after the first topic is there, if the story has more than that."""
        topics = (n for n, one in enumerate(rest) if isinstance(one, CreateTopicStep))
        first = next(topics, -1) + 1
        return self._random.randrange(min(first, len(rest) - 1), len(rest))


def _named(step: StoryStep) -> str:
    """What a step is, in a word."""
    return step.kind if isinstance(step, FaultStep) else verb_of(step)
