"""Draws a run from a mix: options of the cluster, and rounds of situations and single faults.

Each concern draws from its own random source, so that a new one does not change the rest.
"""

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

from fencepost.fault_injection.faults.admin_faults import KickController, ReassignPartition
from fencepost.fault_injection.faults.disk_faults import BreakDisk, FillDisk, LosePower, SlowDisk
from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.process_faults import KillBroker
from fencepost.fault_injection.faults.targets import Target, broker, follower, leader
from fencepost.fault_injection.stories.drawn_story import (
    in_order_of_time,
    overlapping,
    single_faults,
)
from fencepost.fault_injection.stories.situations import DATA, MOVES, REMOVALS, SituationDraw
from fencepost.fault_injection.stories.story import Story, StoryAction
from fencepost.impl.mutants.mutant import MutantName
from fencepost.impl.sim.draw.mixes import (
    DISK_KINDS,
    MANY_PARTITIONS,
    PATIENT_MS,
    Choices,
    RunMix,
)
from fencepost.impl.sim.engine.multi_round_run import FaultRound
from fencepost.impl.sim.engine.options import BATCH_RECORDS_MAX, CALM, TOPIC, RunOptions, healing_ms
from fencepost.spec.vocabulary import ProtocolLevel

SESSION_MAX_MS = 1_200
"""Times of faults go by a session of this length, where sessions outlast what happens."""
LASTS_MS = 60_000
"""Longer than a run and its healing."""
SITUATIONS_MS = 12_000
"""A run of this length has so many situations as its mix says, a longer one more."""


class RunDraw:
    """The drawing of one run: its mix and its random sources."""

    def __init__(
        self, mix: RunMix, name: str, seed: int, level: ProtocolLevel, mutant: MutantName | None
    ) -> None:
        """The mutant changes nothing of what is drawn.

        The level decides whether logs are flushed late, and whether brokers end in good order.
        """
        self._mix = mix
        self._name = name
        self.options = self._cluster(seed, level, mutant)
        self._is_patient = self.options.session_timeout_ms == PATIENT_MS

    def rounds(self) -> tuple[FaultRound, ...]:
        """All rounds of the run; the patient ones take longer to heal."""
        count = self._mix.rounds // 2 if self._is_patient else self._mix.rounds
        return tuple(self.round(number) for number in range(1, count + 1))

    def round(self, number: int, duration_ms: int | None = None) -> FaultRound:
        """The clients, the weather and the faults of a round, perhaps of another length."""
        mix, random = self._mix, self._source(f"round {number}")
        drawn = self._choices(mix.round, f"round {number}")
        weather = self._choices(mix.weather, f"weather {number}")
        options = replace(self.options, **drawn, weather=replace(CALM, **weather))
        options = _consistent(replace(options, duration_ms=duration_ms or options.duration_ms))
        is_calm, is_lonely = random.random() < mix.calm, random.random() < mix.deaths
        if is_calm:
            options, is_lonely = _calm(options), False
        if is_lonely and mix.rounds == 1:
            options = _unmoved(options)
        options = replace(options, survivors_first=is_lonely)
        found = [*self._faults(options, random, is_calm=is_calm)]
        if not (is_calm or is_lonely or options.asks or options.is_by_hand):
            lasting = [*self._lasting(options, self._source(f"lasting {number}"))]
            options, found = replace(options, hurt_last=bool(lasting)), [*found, *lasting]
        if not (is_calm or is_lonely):
            found += self._shutdowns(options, self._source(f"shutdowns {number}"))
        story = Story(
            seed=options.seed,
            actions=in_order_of_time(
                (one for one in found if one.at_ms < options.duration_ms), f"round-{number}"
            ),
        )
        has_administrator = random.random() < mix.administrator
        least_ms = random.choice((50, 200, 500))
        is_still = is_lonely or self._is_patient
        return FaultRound(
            options=replace(options, story=story),
            administrator_ms=(least_ms, 4 * least_ms)
            if has_administrator and not is_still
            else None,
            has_bad_topic=random.random() < mix.bad_topic,
        )

    def _cluster(self, seed: int, level: ProtocolLevel, mutant: MutantName | None) -> RunOptions:
        options = RunOptions(seed=seed, level=level, mutant=mutant, story=Story(seed=seed))
        return _consistent(replace(options, **self._choices(self._mix.cluster, "cluster")))

    def _choices(self, choices: Choices, concern: str) -> dict[str, Any]:
        return {
            name: self._source(f"{concern} {name}").choice(values)
            for name, values in choices.items()
        }

    def _source(self, concern: str) -> Random:
        return Random(f"{self._name}/{concern}")

    def _faults(
        self, options: RunOptions, random: Random, *, is_calm: bool
    ) -> Iterator[StoryAction]:
        """Situations, and single faults beside them."""
        mix, draw = self._mix, self._situation_draw(options, random)
        if options.survivors_first:
            yield from self._deaths(options, draw)
            if self._is_patient or mix.rounds == 1:
                return
        yield from self._situations(options, draw, is_calm=is_calm)
        if not is_calm:
            yield from self._single_faults(options, draw)
        if options.flush_ms:
            yield from overlapping(draw, (LosePower.kind,), options.duration_ms)

    def _situation_draw(self, options: RunOptions, random: Random) -> SituationDraw:
        may_move = options.asks or bool({*MOVES} & {*self._mix.situations})
        return SituationDraw(
            random=random,
            brokers=tuple(range(1, options.brokers + 1)),
            session_timeout_ms=SESSION_MAX_MS if self._is_patient else options.session_timeout_ms,
            topic=TOPIC,
            partitions=options.partitions,
            replication_factor=options.replication_factor,
            may_move=may_move and not options.survivors_first and not self._is_patient,
        )

    def _situations(
        self, options: RunOptions, draw: SituationDraw, *, is_calm: bool
    ) -> Iterator[StoryAction]:
        known = DATA if is_calm else self._mix.situations
        known += (*MOVES, *REMOVALS * 4) if options.asks else ()
        known = tuple(one for one in known if draw.may_move or one not in MOVES)
        latest_ms = int(options.duration_ms * self._mix.latest)
        for _ in range(max(1, options.duration_ms // SITUATIONS_MS)):
            for _ in range(1 if is_calm else draw.random.choice(self._mix.counts)):
                begins_ms = draw.between(0, latest_ms)
                for after_ms, fault in draw.random.choice(known)(draw):
                    if fault.kind not in self._mix.left_out:
                        yield _timed(begins_ms + after_ms, fault)

    def _single_faults(self, options: RunOptions, draw: SituationDraw) -> Iterator[StoryAction]:
        mix, random, duration_ms = self._mix, draw.random, options.duration_ms
        if random.random() < mix.singles:
            kinds = _some(random, mix.kinds_of_processes(), 0.6)
            yield from single_faults(draw, kinds, duration_ms)
        if random.random() < mix.world:
            kinds = _some(random, mix.kinds_of_world(), 0.3)
            yield from overlapping(draw, kinds, duration_ms)
        if random.random() < mix.disks:
            yield from overlapping(draw, DISK_KINDS, duration_ms)

    def _lasting(self, options: RunOptions, random: Random) -> Iterator[StoryAction]:
        """The disk of one broker is broken, full or slow from some time on, and stays so."""
        if random.random() >= self._mix.lasting:
            return
        target = random.choice((leader(TOPIC), broker(random.randint(1, options.brokers))))
        at_ms = random.randrange(options.duration_ms // 5, options.duration_ms)
        fault: Fault = random.choice(
            (
                BreakDisk(target=target, for_ms=LASTS_MS),
                FillDisk(target=target, for_ms=LASTS_MS),
                SlowDisk(target=target, delay_ms=random.choice((50, 500)), for_ms=LASTS_MS),
            )
        )
        yield _timed(at_ms, fault)

    def _shutdowns(self, options: RunOptions, random: Random) -> Iterator[StoryAction]:
        """Brokers end in good order; below level 3 nothing is asked for before (BEP-005)."""
        if options.level < ProtocolLevel.BROKER_EPOCH or random.random() >= self._mix.shutdowns:
            return
        draw = self._situation_draw(options, random)
        begins_ms = draw.between(0, int(options.duration_ms * self._mix.latest))
        for after_ms, fault in draw.shutdowns():
            yield _timed(begins_ms + after_ms, fault)

    def _deaths(self, options: RunOptions, draw: SituationDraw) -> Iterator[StoryAction]:
        """Brokers die for as long as the round lasts; of patient clusters only followers."""
        random, duration_ms = draw.random, options.duration_ms
        dead: list[Target]
        if self._is_patient or self._mix.rounds == 1:
            most = options.replication_factor - 1
            dead = [follower(TOPIC, 0, position) for position in range(draw.between(1, most))]
        else:
            dead = [*map(broker, draw.some())]
        for target in dead:
            yield _timed(
                draw.between(0, duration_ms), KillBroker(target=target, restart_after_ms=None)
            )
        if self._is_patient or self._mix.rounds == 1:
            return
        if len(dead) == 1:
            others = [one for one in draw.brokers if broker(one) != dead[0]]
            where = random.sample(others, min(options.replication_factor, len(others)))
            move = ReassignPartition(topic=TOPIC, replicas=tuple(where))
            yield _timed(duration_ms - draw.between(0, 1_500), move)
        if random.random() < 0.1:
            yield _timed(duration_ms - 1, KickController())


def _some(random: Random, kinds: list[str], share: float) -> list[str]:
    """About that share of the kinds, or all: a run of few kinds has each of them often."""
    return [kind for kind in kinds if random.random() < share] or kinds


def _consistent(options: RunOptions) -> RunOptions:
    """What depends on other options is as they say."""
    has_many = options.partitions == MANY_PARTITIONS
    has_quota = options.mutation_quota and not has_many
    asks = options.asks and not has_many and not has_quota
    moves = options.moves and not has_many and not asks and not has_quota
    brokers = max(4, options.brokers) if moves else options.brokers
    # What is acknowledged before a disk has it is safe from level 3 on (H2b), as long as one of the
    # ISR keeps it; an election that cannot know that says so, and is allowed to lose.
    flush_ms = options.flush_ms if options.level >= ProtocolLevel.BROKER_EPOCH else 0
    return replace(
        options,
        brokers=brokers,
        replication_factor=min(options.replication_factor, 3 if moves else brokers),
        partitions=1 if options.session_timeout_ms == PATIENT_MS else options.partitions,
        moves=moves,
        asks=asks,
        asks_last=options.asks_last and not has_many and not has_quota,
        founds=options.founds and not has_many and not asks and not has_quota,
        mutation_quota=has_quota,
        duration_ms=min(options.duration_ms, 6_000) if has_many else options.duration_ms,
        flush_ms=flush_ms,
        unclean_leader_election=options.unclean_leader_election or flush_ms > 0,
        settle_ms=healing_ms(options),
        in_flight=options.in_flight if options.idempotent else 1,
        fetch_records_max=BATCH_RECORDS_MAX + 1 if options.idempotent else 200,
        unacknowledged=0.0 if options.idempotent else options.unacknowledged,
    )


def _unmoved(options: RunOptions) -> RunOptions:
    """One partition that stays where it is."""
    return replace(
        options,
        partitions=1,
        moves=False,
        founds=False,
        asks=False,
        mutation_quota=False,
        bad_topic=False,
        by_hand=False,
        asks_by_hand=False,
        late_topics=0,
    )


def _calm(options: RunOptions) -> RunOptions:
    """There is always something to write, and no replica leaves the ISR early."""
    return replace(
        _unmoved(options),
        producers=3,
        think_ms=(1, 20),
        min_insync_replicas=1,
        replica_lag_time_ms=2_000,
        connection_breaks=0.0,
        weather=CALM,
    )


def _timed(at_ms: int, fault: Fault) -> StoryAction:
    return StoryAction.at(action_id="", at_ms=at_ms, fault=fault, must_take_effect=False)
