"""One simulated run of a story: actions that wait for events, by the clock of the simulator.

For directed use: a story file, or one that is made small. Random runs have schedules of times.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import partial

from fencepost.fault_injection.stories.story import ClientLoad, Story
from fencepost.fault_injection.stories.story_world import ASSIGNMENT, TOPIC, assignment_among
from fencepost.impl.core.types.topic_messages import ReplicaList
from fencepost.impl.mutants.mutant import MutantName
from fencepost.impl.sim.engine.liveness_state import is_converged
from fencepost.impl.sim.engine.options import BATCH_RECORDS_MAX, RunOptions
from fencepost.impl.sim.engine.run import RunDescription, SimulatedRun, drawn_details
from fencepost.impl.sim.stories.simulated_steps import story_player
from fencepost.impl.sim.world.clients import TopicCreator
from fencepost.impl.sim.world.cluster import VirtualState
from fencepost.impl.sim.world.network import Weather
from fencepost.impl.sim.world.workload import START_MS, start_clients
from fencepost.spec.vocabulary import BrokerId, Liveness, ProtocolLevel
from fencepost.spec.znodes import TopicPartition

THINK_MS = (10, 20)
"""Between two operations of a client: about as often as clients of real processes work."""
WARM_UP_MS = 500
COOL_DOWN_MS = 1_500
LONGEST_MS = 300_000
"""Every action has its deadlines; this is for a story that has very many."""


class Host(StrEnum):
    """How fast processes and messages are."""

    QUICK = "quick"
    BUSY = "busy"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSpeed:
    """What the host makes of a run; times in virtual time."""

    weather: Weather
    boot_ms: int
    """From the start of a process to its first step."""


HOST_SPEEDS = {
    Host.QUICK: HostSpeed(weather=Weather(delay_us=(200, 3_000)), boot_ms=300),
    Host.BUSY: HostSpeed(weather=Weather(delay_us=(3_000, 30_000)), boot_ms=1_500),
}
"""An idle machine, and one that several runs share."""


@dataclass(frozen=True, slots=True)
class StoryPart:
    """The steps and actions of a story, with clients at work before, during and after them."""

    story: Story

    def work(self, run: SimulatedRun, _: int) -> None:
        """Start the clients, and follow the story to its end."""
        run.clients += start_clients(run.cluster, _create_topic(run))
        run.pass_time(WARM_UP_MS)
        run.injector.follow(self.story)
        if self.story.steps:
            player = story_player(run)
            for step in self.story.steps:
                player.perform(step)
        run.pass_time(LONGEST_MS, lambda: run.injector.is_done)
        run.pass_time(COOL_DOWN_MS)

    def heal(self, run: SimulatedRun) -> set[Liveness]:
        """End all faults; returns what does not hold in the end."""
        return run.heal()


def options_of(
    story: Story, *, level: ProtocolLevel, mutant: MutantName | None, host: Host = Host.QUICK
) -> RunOptions:
    """The run of a story: the settings of its cluster, in weather that is only slow or quick."""
    cluster, is_idle = story.cluster, story.profile is ClientLoad.NONE
    return RunOptions(
        seed=story.seed,
        level=level,
        mutant=mutant,
        brokers=cluster.get("brokers", 3),
        partitions=len(ASSIGNMENT),
        producers=0 if is_idle else 2,
        consumers=0 if is_idle else 2,
        session_timeout_ms=cluster.get("session_timeout_ms", 1_500),
        replica_lag_time_ms=cluster.get("replica_lag_ms", 1_500),
        think_ms=THINK_MS,
        idempotent=story.profile.in_flight > 0,
        in_flight=story.profile.in_flight or 1,
        fetch_records_max=BATCH_RECORDS_MAX + 1 if story.profile.in_flight else 200,
        settle_ms=story.healthy_within_ms,
        weather=HOST_SPEEDS[host].weather,
        story=Story(seed=story.seed),
    )


def described_story(
    story: Story, *, level: ProtocolLevel, mutant: MutantName | None, host: Host = Host.QUICK
) -> RunDescription[StoryPart]:
    """The run of the story, which begins as one of real processes does.

    Raises `ValueError` with one sentence when the first controller is none of the brokers.
    """
    options = options_of(story, level=level, mutant=mutant, host=host)
    return RunDescription(
        options=options,
        begins=drawn_details(
            options, story.story_id, f"the schedule {story.story_id} at level {options.level:d}"
        ),
        prepare=start_all,
        parts=(StoryPart(story),),
        first=_first_of(story, options),
        boot_ms=HOST_SPEEDS[host].boot_ms,
    )


def start_all(run: SimulatedRun) -> None:
    """Start the other brokers once the first one is the controller, and wait for them."""
    cluster = run.cluster
    started = set(cluster.processes)
    if len(started) == 1:
        cluster.scheduler.run_until(START_MS, lambda: cluster.view().controller_id in started)
    for broker_id in sorted(cluster.disks.keys() - started):
        cluster.start(broker_id)
    state = VirtualState(cluster)
    cluster.scheduler.run_until(START_MS, lambda: {*cluster.disks} == {*state.live_brokers()})


def _create_topic(run: SimulatedRun) -> list[TopicPartition]:
    """Create the topic, all replicas in sync; of fewer brokers it has what they can hold."""
    cluster = run.cluster
    replicas = [tuple(map(BrokerId, one)) for one in assignment_among(cluster.disks)]
    assignment = tuple(ReplicaList(replicas=one) for one in replicas if one)
    creator = TopicCreator(cluster, TOPIC, len(replicas), assignment=assignment)
    creator.begin_asking()
    run.pass_time(START_MS, partial(is_converged, cluster))
    return creator.keys


def _first_of(story: Story, options: RunOptions) -> BrokerId | None:
    """The broker that starts first and is elected; None: any."""
    first = story.cluster.get("first_controller")
    if first is None:
        return None
    if first > options.brokers:
        raise ValueError(f"first_controller is {first}; choose one of 1 to {options.brokers}")
    return BrokerId(first)
