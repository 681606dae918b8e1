"""Draws multi-round runs: every kind of fault, many times over, in one long run per number.

`swarm.py` draws runs that differ in kind, and a million of them cover everything. A run here is one
of few, such as real processes can repeat: it goes through several rounds of faults, each with its
own weather, clients, administrator and situations (`fault_stories.py`). After each round all faults
are over, and the cluster must heal (`engine/multi_round_run.py`). The number alone decides.
"""

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from fencepost.fault_injection.faults.admin_faults import KickController, ReassignPartition
from fencepost.fault_injection.faults.catalogue import DRAWN_FOR_REAL, DRAWN_FOR_SIMULATOR
from fencepost.fault_injection.faults.disk_faults import (
    BreakDisk,
    FillDisk,
    LosePower,
    StaleCheckpoint,
)
from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.process_faults import KillBroker
from fencepost.fault_injection.faults.request_faults import DuplicateRequest
from fencepost.fault_injection.faults.targets import broker, follower
from fencepost.fault_injection.stories.drawn_story import generate
from fencepost.fault_injection.stories.story import Story, StoryAction
from fencepost.impl.mutants.mutant import MutantName
from fencepost.impl.sim.draw.drawn_faults import FaultDraw
from fencepost.impl.sim.draw.fault_stories import About, FaultStoryDraw
from fencepost.impl.sim.engine.multi_round_run import FaultRound, prepare_rounds
from fencepost.impl.sim.engine.options import BATCH_RECORDS_MAX, TOPIC, RunOptions
from fencepost.impl.sim.engine.run import RunDescription, drawn_details
from fencepost.spec.vocabulary import ProtocolLevel

PATIENT_MS = 30_000
"""A session that outlasts what happens: only leaders see that a follower is dead."""
PATIENT = 0.4
"""Share of the runs about data with such sessions."""
ROUNDS = 8
ROUND_MS = (4_000, 8_000)
SHORT_ROUNDS = 16
"""Of a run about control: what one situation leaves undone, the next one often mends."""
SHORT_ROUND_MS = (2_000, 4_500)
NOT_REPEATED = frozenset({BreakDisk.kind, FillDisk.kind, LosePower.kind, StaleCheckpoint.kind})
"""What no move does to a disk of a process, or not as it is simulated (`move_recorder.py`)."""
REQUEST_KINDS = sorted(set(DRAWN_FOR_REAL) - {DuplicateRequest.kind})
"""All but what a led broker cannot tell apart: the answers to one request that came twice."""
WORLD_KINDS = sorted(set(DRAWN_FOR_SIMULATOR) - NOT_REPEATED)
UNCLEAN = 0.25
"""Share of runs in which a leader outside the ISR is better than none (FAIL-002)."""
IDEMPOTENT = 0.5
"""Share of runs with idempotent producers."""
ADMINISTRATOR = 0.6
"""Share of rounds with an administrator."""
BAD_TOPIC = 0.3
"""Share of rounds in which a znode beside the topics holds no topic."""
LONELY = 0.3
"""Share of rounds that end with some brokers dead, and the rest must heal without them."""


def multi_round(
    number: int, *, level: ProtocolLevel, mutant: MutantName | None = None
) -> RunDescription[FaultRound]:
    """The run of that number, from 1 on; the level and the mutant change nothing else of it.

    Of four numbers, two have everything in one run, one is about data and one about control.
    """
    random = Random(f"dense {number}")
    about = (About.DATA, About.CONTROL, About.ALL, About.ALL)[number % 4]
    options = _cluster(random, number)
    if about is About.DATA:
        options = _about_data(random, options)
    if about is About.CONTROL:
        options = _about_control(random, options)
    options = replace(options, level=level, mutant=mutant)
    is_patient = options.session_timeout_ms == PATIENT_MS
    count = ROUNDS // 2 if is_patient else ROUNDS
    if about is About.CONTROL:
        count = SHORT_ROUNDS
    rounds = tuple(_round(random, options, n, about) for n in range(1, count + 1))
    return RunDescription(
        options=options,
        begins=drawn_details(
            options, "dense", f"the dense run {number} at level {options.level:d}"
        ),
        prepare=prepare_rounds,
        parts=rounds,
    )


def _cluster(random: Random, number: int) -> RunOptions:
    brokers = random.choice((3, 4, 4, 5))
    is_idempotent = random.random() < IDEMPOTENT
    partitions = random.choice((1, 1, 2, 3))
    timeout_ms = random.choice((600, 1_200, 1_200, 2_000, 2_000, PATIENT_MS))
    return RunOptions(
        seed=number,
        level=ProtocolLevel.LEADER_EPOCH,
        brokers=brokers,
        replication_factor=random.choice((2, 3)) if brokers > 3 else 2,
        partitions=partitions if timeout_ms != PATIENT_MS else 1,
        session_timeout_ms=timeout_ms,
        settle_ms=20_000 + 3 * timeout_ms,
        replica_lag_time_ms=random.choice((300, 500, 900, 2_000, 8_000)),
        checkpoint_ms=random.choice((100, 500, 5_000)),
        min_insync_replicas=random.choice((1, 1, 2)),
        unclean_leader_election=random.random() < UNCLEAN,
        idempotent=is_idempotent,
        fetch_records_max=BATCH_RECORDS_MAX + 1 if is_idempotent else 200,
        story=Story(seed=number),
    )


def _about_data(random: Random, options: RunOptions) -> RunOptions:
    """One partition that always grows; sessions expire soon, or outlast the round."""
    timeout_ms = random.choice((600, 1_200))
    if Random(f"patience {options.seed}").random() < PATIENT:
        timeout_ms = PATIENT_MS
    return replace(
        options,
        brokers=4,
        replication_factor=3,
        partitions=1,
        session_timeout_ms=timeout_ms,
        settle_ms=25_000 if timeout_ms != PATIENT_MS else 20_000 + 3 * timeout_ms,
        replica_lag_time_ms=random.choice((300, 500, 8_000)),
        min_insync_replicas=1,
        idempotent=False,
        fetch_records_max=200,
    )


def _about_control(random: Random, options: RunOptions) -> RunOptions:
    """Sessions outlast a controller's pauses, and there is much to decide."""
    timeout_ms = random.choice((2_000, 4_000))
    return replace(
        options,
        brokers=random.choice((4, 5)),
        replication_factor=2,
        partitions=random.choice((2, 3)),
        session_timeout_ms=timeout_ms,
        settle_ms=20_000 + 3 * timeout_ms,
    )


def _round(random: Random, options: RunOptions, number: int, about: About) -> FaultRound:
    is_short = about is About.CONTROL
    duration_ms = random.randint(*(SHORT_ROUND_MS if is_short else ROUND_MS))
    is_lonely = random.random() < LONELY
    is_patient = options.session_timeout_ms == PATIENT_MS
    drawn = replace(
        options,
        duration_ms=duration_ms,
        producers=random.choice((1, 2, 2)),
        think_ms=random.choice(((10, 80), (20, 150), (50, 300))),
        unacknowledged=0.0 if options.idempotent else random.choice((0.0, 0.3)),
        connection_breaks=random.choice((0.0, 0.0, 0.1)),
        weather=replace(
            options.weather,
            slow=random.choice((0.0, 0.0, 0.02)),
            loss=random.choice((0.0, 0.0, 0.0, 0.02)),
            reply_loss=random.choice((0.0, 0.0, 0.0, 0.1)),
        ),
        survivors_first=is_lonely,
    )
    if about is About.DATA:
        drawn = replace(drawn, producers=2, think_ms=(5, 60))
    if about is About.CONTROL:
        drawn = replace(drawn, producers=1, think_ms=(50, 300))
    found = _faults(random, drawn, about, is_lonely=is_lonely)
    faults = sorted(
        (one for one in found if one.at_ms < duration_ms),
        key=lambda timed: timed.at_ms,
    )
    numbered = tuple(
        replace(timed, action_id=f"round-{number}-{n}") for n, timed in enumerate(faults, start=1)
    )
    has_administrator = random.random() < ADMINISTRATOR and not is_lonely and not is_patient
    if about is not About.ALL:
        has_administrator = is_short and has_administrator and random.random() < 0.5
    least_ms = random.choice((50, 200, 500))
    return FaultRound(
        options=replace(drawn, story=Story(seed=options.seed, actions=numbered)),
        administrator_ms=(least_ms, 4 * least_ms) if has_administrator else None,
        has_bad_topic=random.random() < BAD_TOPIC,
    )


def _faults(
    random: Random, options: RunOptions, about: About, *, is_lonely: bool
) -> Iterator[StoryAction]:
    """Situations, and beside them faults as the swarm draws them."""
    brokers = range(1, options.brokers + 1)
    is_patient = options.session_timeout_ms == PATIENT_MS
    timeout_ms = min(options.session_timeout_ms, 1_200)
    if is_lonely:
        yield from _deaths(random, options, about, is_patient=is_patient)
        if is_patient:
            return
    situations = FaultStoryDraw(
        random,
        options,
        session_timeout_ms=options.session_timeout_ms if not is_patient else timeout_ms,
        may_move=not is_lonely and not is_patient and about is not About.DATA,
        about=about,
    )
    latest_ms = options.duration_ms * 2 // 3
    for _ in range(random.randint(1, 4) if about is not About.CONTROL else 1):
        begins_ms = random.randint(0, latest_ms if about is not About.CONTROL else 500)
        for after_ms, fault in situations.draw():
            yield _timed(begins_ms + after_ms, fault)
    if about is not About.ALL:
        return
    schedule = Story(seed=random.randrange(2**31))
    if random.random() < 0.4:
        schedule = generate(
            schedule.seed,
            brokers=brokers,
            duration_ms=options.duration_ms,
            session_timeout_ms=timeout_ms,
            kinds=random.sample(REQUEST_KINDS, 4),
        )
    if random.random() < 0.4:
        draw = FaultDraw(random, brokers, timeout_ms)
        kinds = random.sample(WORLD_KINDS, 5)
        schedule = draw.schedule(schedule, kinds, options.duration_ms, name="world")
    yield from schedule.actions


def _deaths(
    random: Random, options: RunOptions, about: About, *, is_patient: bool
) -> Iterator[StoryAction]:
    """Brokers die for as long as the round lasts; of patient clusters only followers."""
    ids = range(1, options.brokers + 1)
    if is_patient:
        count = random.randint(1, options.replication_factor - 1)
        targets = [follower(TOPIC, 0, position) for position in range(count)]
    else:
        targets = [broker(one) for one in random.sample(ids, random.randint(1, len(ids) - 1))]
    for target in targets:
        at_ms = random.randint(0, options.duration_ms)
        yield _timed(at_ms, KillBroker(target=target, restart_after_ms=None))
    if len(targets) == 1 and not is_patient:
        others = [one for one in ids if broker(one) != targets[0]]
        where = random.sample(others, min(options.replication_factor, len(others)))
        move = ReassignPartition(topic=TOPIC, replicas=tuple(where))
        yield _timed(options.duration_ms - random.randint(0, 1_500), move)
    if about is About.CONTROL and random.random() < 0.3:
        yield _timed(options.duration_ms - 1, KickController())


def _timed(at_ms: int, fault: Fault) -> StoryAction:
    return StoryAction.at(action_id=f"at-{at_ms}", at_ms=at_ms, fault=fault, must_take_effect=False)
