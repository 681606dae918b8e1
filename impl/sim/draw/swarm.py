"""Draws what a run is like from its seed, so that runs differ in kind (swarm testing).

Some runs have much loss and few faults, some the reverse; a bug that needs calm is found too. Each
concern draws from its own random source, so that a new one does not change the rest.
"""

from dataclasses import replace
from random import Random

from fencepost.fault_injection.faults.catalogue import DRAWN_FOR_REAL, DRAWN_FOR_SIMULATOR
from fencepost.fault_injection.faults.disk_faults import BreakDisk, FillDisk
from fencepost.fault_injection.stories.drawn_story import generate
from fencepost.fault_injection.stories.recipes import (
    deposed_controller,
    diverging_logs,
    lonely_leader,
)
from fencepost.fault_injection.stories.story import Story
from fencepost.impl.mutants.mutant import MutantName
from fencepost.impl.sim.draw.drawn_faults import FaultDraw
from fencepost.impl.sim.engine.options import BATCH_RECORDS_MAX, BROKERS, CALM, TOPIC, RunOptions
from fencepost.impl.sim.world.network import Weather
from fencepost.spec.vocabulary import ProtocolLevel

RECIPES = 0.1
"""Share of runs that follow a recipe."""
LONELY = 0.04
"""Share of runs that end with the leader alone."""
DIVERGING = 0.03
"""Share of runs in which logs part over two epochs."""
IDEMPOTENT = 0.4
"""Share of runs with idempotent producers; followers then often fetch a batch in part."""
WORLD = 0.5
"""Share of runs with faults that only the simulator can do."""
DISK_KINDS = frozenset({FillDisk.kind, BreakDisk.kind})
FAILING_DISKS = 0.08
"""Share of runs in which a disk refuses to work for a while."""
WORLD_KINDS = sorted(set(DRAWN_FOR_SIMULATOR) - DISK_KINDS)
MOVING = 0.12
"""Share of runs in which partitions move between brokers, come and go."""
FOUNDING = 0.08
"""Share of runs in which the topic is deleted and created again, and resized."""
UNCLEAN = 0.02
"""Share of runs in which a leader outside the ISR is better than none (FAIL-002)."""
CROWDED = 0.15
"""Share of runs with more than three brokers."""
MANY = 0.02
"""Share of runs with `MANY_PARTITIONS`."""
MANY_PARTITIONS = 50


def swarm(
    seed: int,
    *,
    level: ProtocolLevel,
    mutant: MutantName | None = None,
    duration_ms: int | None = None,
) -> RunOptions:
    """The run that belongs to `seed`; the level and the mutant change nothing else of it.

    With a `duration_ms` it is as long as that, and has faults all the time.
    """
    random = Random(f"{seed}/options")
    drawn_ms = random.choice((6_000, 9_000, 12_000))
    duration_ms = duration_ms or drawn_ms
    session_timeout_ms = random.choice((600, 1_200))
    options = RunOptions(
        seed=seed,
        level=level,
        mutant=mutant,
        partitions=random.choice((1, 1, 2)),
        producers=random.choice((1, 2, 3)),
        duration_ms=duration_ms,
        session_timeout_ms=session_timeout_ms,
        replica_lag_time_ms=random.choice((300, 900, 2_000)),
        checkpoint_ms=random.choice((100, 500, 5_000)),
        min_insync_replicas=random.choice((1, 1, 2)),
        think_ms=random.choice(((1, 20), (5, 100), (50, 400))),
        connection_breaks=random.choice((0.0, 0.0, 0.2)),
        weather=Weather(
            slow=random.choice((0.0, 0.01, 0.05)),
            loss=random.choice((0.0, 0.0, 0.01, 0.05)),
            duplication=random.choice((0.0, 0.0, 0.02)),
            reply_loss=Random(f"{seed}/reply_loss").choice((0.0, 0.0, 0.0, 0.2)),
        ),
        story=_schedule(random, duration_ms, session_timeout_ms),
    )
    if Random(f"{seed}/idempotent").random() < IDEMPOTENT:
        options = replace(options, idempotent=True, fetch_records_max=BATCH_RECORDS_MAX + 1)
    if Random(f"{seed}/lonely").random() < LONELY:
        return _lonely(options)
    if Random(f"{seed}/diverging").random() < DIVERGING:
        return _diverging(options)
    return _with_failing_disks(_with_world_faults(_founding(_moving(_sized(options)))))


def _sized(options: RunOptions) -> RunOptions:
    """Now and then more brokers, more partitions, or records with acks=1."""
    random = Random(f"{options.seed}/size")
    brokers = random.choice((4, 5)) if random.random() < CROWDED else options.brokers
    if random.random() < MANY:
        partitions, duration_ms = MANY_PARTITIONS, 6_000
    else:
        partitions, duration_ms = options.partitions, options.duration_ms
        partitions += random.choice((0, 0, 0, 0, 0, 3))
    return replace(
        options,
        brokers=brokers,
        replication_factor=random.choice((2, 3, 3, 3, min(brokers, 4))),
        partitions=partitions,
        duration_ms=duration_ms,
        unacknowledged=random.choice((0.0, 0.0, 0.0, 0.3)),
        late_topics=random.choice((0, 0, 0, 0, 1, 3)),
    )


def _moving(options: RunOptions) -> RunOptions:
    """Add brokers without replicas, so that partitions can move."""
    random = Random(f"{options.seed}/moves")
    if random.random() >= MOVING or options.partitions == MANY_PARTITIONS:
        return options
    return replace(
        options,
        moves=True,
        brokers=max(4, options.brokers),
        replication_factor=random.choice((2, 3)),
    )


def _founding(options: RunOptions) -> RunOptions:
    """The topic is deleted and created again; or unclean elections are allowed."""
    random = Random(f"{options.seed}/life")
    draw = random.random()
    if draw < FOUNDING and options.partitions != MANY_PARTITIONS:
        return replace(options, founds=True)
    return replace(options, unclean_leader_election=FOUNDING <= draw < FOUNDING + UNCLEAN)


def _with_world_faults(options: RunOptions) -> RunOptions:
    random = Random(f"{options.seed}/world")
    if random.random() >= WORLD:
        return options
    kinds = [kind for kind in WORLD_KINDS if random.random() < 0.3] or WORLD_KINDS
    draw = FaultDraw(random, range(1, options.brokers + 1), options.session_timeout_ms)
    schedule = draw.schedule(options.story, kinds, options.duration_ms, name="world")
    return replace(options, story=schedule)


def _with_failing_disks(options: RunOptions) -> RunOptions:
    """Disks fail, mostly beside other faults; how often is drawn."""
    random = Random(f"{options.seed}/disks")
    if random.random() >= FAILING_DISKS:
        return options
    draw = FaultDraw(random, range(1, options.brokers + 1), options.session_timeout_ms)
    schedule = draw.schedule(options.story, sorted(DISK_KINDS), options.duration_ms, name="disk")
    return replace(options, story=schedule)


def _lonely(options: RunOptions) -> RunOptions:
    """The same weather and clients; the followers of the one partition die for good."""
    schedule = lonely_leader(
        options.story.seed,
        topic=TOPIC,
        followers=options.brokers - 1,
        at_ms=options.duration_ms // 4,
    )
    return replace(options, partitions=1, story=schedule, survivors_first=True)


def _diverging(options: RunOptions) -> RunOptions:
    """In calm weather; there is always something to write, and no replica leaves the ISR early."""
    schedule = diverging_logs(
        options.story.seed,
        topic=TOPIC,
        session_timeout_ms=options.session_timeout_ms,
        at_ms=options.duration_ms // 4,
    )
    return replace(
        options,
        partitions=1,
        producers=3,
        think_ms=(1, 20),
        min_insync_replicas=1,
        replica_lag_time_ms=2_000,
        connection_breaks=0.0,
        weather=CALM,
        story=schedule,
    )


def _schedule(random: Random, duration_ms: int, session_timeout_ms: int) -> Story:
    """Mostly drawn fault by fault; now and then a recipe."""
    seed = random.randrange(2**31)
    if random.random() < RECIPES:
        receiver, bounced = random.sample(BROKERS, 2)
        return deposed_controller(
            seed,
            brokers=BROKERS,
            receiver=receiver,
            bounced=bounced,
            at_ms=random.randint(500, duration_ms // 2),
        )
    kinds = [kind for kind in sorted(DRAWN_FOR_REAL) if random.random() < 0.6]
    return generate(
        seed,
        brokers=BROKERS,
        duration_ms=duration_ms,
        session_timeout_ms=session_timeout_ms,
        kinds=kinds or DRAWN_FOR_REAL,
    )
