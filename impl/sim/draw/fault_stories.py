"""Draws situations that single faults seldom add up to: several faults with a common story.

Roles, durations and what happens in between are drawn anew each time. The protocol must withstand
every situation, by whichever of its rules.
"""

from collections.abc import Callable
from enum import StrEnum
from random import Random

from fencepost.fault_injection.faults.admin_faults import (
    ElectPreferred,
    KickController,
    ReassignPartition,
    RecreateTopic,
)
from fencepost.fault_injection.faults.clock_faults import JumpClock
from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.network_faults import CutOneWay, IsolateBroker
from fencepost.fault_injection.faults.process_faults import (
    BounceBroker,
    CrashAt,
    KillBroker,
    PauseBroker,
)
from fencepost.fault_injection.faults.request_faults import (
    DropRequest,
    DropResponse,
    HoldRequest,
    RpcMethod,
)
from fencepost.fault_injection.faults.targets import (
    ANY_BROKER,
    CONTROLLER,
    Target,
    broker,
    follower,
    leader,
)
from fencepost.fault_injection.faults.zookeeper_faults import (
    CutZooKeeper,
    DelayWatches,
    DropConnection,
    ExpireSession,
    FailZooKeeperRequests,
    LoseZooKeeperReplies,
)
from fencepost.impl.sim.draw.drawn_faults import COMMANDS, CUTS, FETCHES, HOLDS, LATE_REQUESTS
from fencepost.impl.sim.engine.options import TOPIC, RunOptions

Story = list[tuple[int, Fault]]
"""Faults, and when each comes, in milliseconds from the beginning."""


class About(StrEnum):
    """What the situations of a run are about."""

    ALL = "all"
    DATA = "data"
    """Logs, followers and leaders; topics and assignments stay as they are."""
    CONTROL = "control"
    """Controllers, what they write and send, topics and moves."""


class FaultStoryDraw:
    """One drawing: its chance and what it must know of the cluster."""

    def __init__(
        self,
        random: Random,
        options: RunOptions,
        *,
        session_timeout_ms: int,
        may_move: bool,
        about: About,
    ) -> None:
        """Times go by `session_timeout_ms`; without `may_move` assignments stay as they are."""
        self._random = random
        self._topic = TOPIC
        self._partitions = options.partitions
        self._brokers = tuple(range(1, options.brokers + 1))
        self._replication_factor = options.replication_factor
        self._session_timeout_ms = session_timeout_ms
        self._may_move = may_move
        self._stories = self._stories_of(about)

    def _stories_of(self, about: About) -> tuple[Callable[[], Story], ...]:
        """The situations that may be drawn; those named more often come more often."""
        of_control = (
            *[self.deposed_controller] * 2,
            *[self.controller_stands_still] * 2,
            *[self.controller_dies_half_way] * 2,
            self.unheard_decision,
            self.bounces,
        )
        of_data = (self.isr_dies, *[self.many_epochs] * 3, self.late_fetches)
        of_both = (*[self.leader_stands_still] * 2, self.leader_alone, self.late_watches)
        more_of_data = (self.leaders_alternate, *[self.diverging_logs] * 2)
        of_first_words = (*[self.late_first_command] * 2,)
        of_topics = (*[self.topic_comes_again] * 3, *[self.move_interrupted] * 4)
        if about is About.DATA:
            return (*of_data, *of_both[:3], *more_of_data * 2)
        control = (*of_control, *of_first_words, *of_both)
        if about is About.CONTROL:
            return (*control, self.unheard_decision, *(of_topics if self._may_move else ()))
        mixed = (*of_control, *of_data, *of_both, *more_of_data, *of_first_words)
        return (*mixed, *of_topics) if self._may_move else mixed

    def draw(self) -> Story:
        """One of the situations."""
        return self._random.choice(self._stories)()

    # Situations

    def deposed_controller(self) -> Story:
        """Requests of a controller arrive late, when its successor was elected but not heard."""
        receiver = self._replica()
        held_ms = self._between(300, 3 * self._session_timeout_ms)
        deposed_ms = self._between(50, held_ms)
        hold = self._hold(self._random.choice((COMMANDS, COMMANDS, "")), CONTROLLER, receiver)
        story: Story = [(0, hold(held_ms)), *self._decisions(20, deposed_ms)]
        story.append((deposed_ms, self._depose()))
        if self._random.random() < 0.7:
            silent_ms = held_ms - deposed_ms + self._between(50, 1_000)
            story += [
                (deposed_ms, self._drop(COMMANDS, broker(one), receiver)(silent_ms))
                for one in self._brokers
            ]
        if self._random.random() < 0.3:
            story.append((deposed_ms // 2, CutZooKeeper(target=receiver, for_ms=held_ms)))
        return story

    def late_first_command(self) -> Story:
        """The first command to a broker, of a new controller or after its return, arrives late."""
        receiver = self._replica()
        held_ms = self._between(300, 3_000)
        holds = [
            HoldRequest(
                method=COMMANDS, sender=broker(one), receiver=receiver, count=1, for_ms=held_ms
            )
            for one in self._brokers
        ]
        cause = self._depose() if self._random.random() < 0.6 else ExpireSession(target=receiver)
        story: Story = [(0, cause), *((self._between(0, 20), hold) for hold in holds)]
        if self._random.random() < 0.6:
            story.append((self._between(50, held_ms), self._recreate()))
        return story

    def controller_stands_still(self) -> Story:
        """A controller is paused, perhaps within a step, while topics and brokers change."""
        for_ms = self._absence()
        story: Story = [(0, self._stand(CONTROLLER, for_ms)), *self._decisions(0, for_ms)]
        if self._random.random() < 0.4:
            story.append((self._between(0, for_ms), KickController()))
        draw = self._random.random()
        if draw < 0.3:
            story.append((self._between(20, for_ms), self._recreate()))
        elif draw < 0.6:
            story.append((self._between(20, for_ms), self._move()))
        return story

    def controller_dies_half_way(self) -> Story:
        """A controller dies between two effects of one step."""
        crash = CrashAt(
            target=CONTROLLER,
            for_ms=self._down_ms(),
            point=self._random.choice(CUTS),
            nth=self._between(1, 4),
        )
        story: Story = [(0, crash), *self._decisions(0, 600)]
        draw = self._random.random()
        if draw < 0.3:
            story.append((self._between(0, 300), self._move()))
        elif draw < 0.5:
            story.append((self._between(0, 300), self._recreate()))
        return story

    def unheard_decision(self) -> Story:
        """A write of a controller is done, or not, and its answer is lost."""
        for_ms = self._between(300, 2_000)
        count = self._between(1, 3)
        target = self._random.choice((CONTROLLER, CONTROLLER, self._leader(), self._any()))
        fault: Fault = self._random.choice(
            (
                LoseZooKeeperReplies(target=target, for_ms=for_ms, count=count),
                LoseZooKeeperReplies(target=target, for_ms=for_ms, count=1),
                FailZooKeeperRequests(target=target, for_ms=for_ms, count=count),
                DropConnection(target=target, for_ms=for_ms, every_ms=self._between(30, 500)),
                CutZooKeeper(target=target, for_ms=for_ms),
            )
        )
        story: Story = [(self._between(0, 60), fault), *self._decisions(0, 200)]
        story += self._decisions(0, for_ms)
        if self._random.random() < 0.5:
            story.append((self._between(50, for_ms), self._depose()))
        return story

    def bounces(self) -> Story:
        """Brokers restart before their sessions expire."""
        return [
            (self._between(0, 1_500), BounceBroker(target=self._somebody()))
            for _ in range(self._between(1, 3))
        ]

    def isr_dies(self) -> Story:
        """Leaders die in turn, and come back in any order."""
        partition = self._partition()
        story: Story = []
        at_ms = 0
        for _ in range(self._between(2, self._replication_factor + 1)):
            down_ms = self._between(self._session_timeout_ms, 4 * self._session_timeout_ms)
            target = leader(self._topic, partition)
            if self._random.random() < 0.25:
                target = self._follower(partition)
            story.append((at_ms, KillBroker(target=target, restart_after_ms=down_ms)))
            at_ms += self._between(50, 2 * self._session_timeout_ms)
        return story

    def many_epochs(self) -> Story:
        """Leaders change again and again while some followers hear only a part of it."""
        partition = self._partition()
        story: Story = []
        at_ms = 0
        for _ in range(self._between(2, 4)):
            for _ in range(self._between(1, 2)):
                begun_ms = at_ms + self._between(0, 200)
                story += [(begun_ms, fault) for fault in self._cut_off(partition)]
            at_ms += self._between(150, 700)
            story.append((at_ms, self._change_leader(partition)))
            at_ms += self._between(50, 2 * self._session_timeout_ms)
        return story

    def leaders_alternate(self) -> Story:
        """Followers get nothing, while leaders die in turn and come back to lead."""
        partition = self._partition()
        target = leader(self._topic, partition)
        timeout_ms = self._session_timeout_ms
        story: Story = []
        at_ms = self._between(100, 400)
        for _ in range(self._between(2, 4)):
            down_ms = self._between(timeout_ms * 5 // 4, timeout_ms * 5 // 2)
            story.append((at_ms, KillBroker(target=target, restart_after_ms=down_ms)))
            at_ms += down_ms - self._between(0, timeout_ms // 4)
        silent = (self._drop("Fetch", broker(one), ANY_BROKER)(at_ms) for one in self._brokers)
        return [*((0, one) for one in silent), *story]

    def diverging_logs(self) -> Story:
        """The logs of two followers diverge over two epochs, each unknown to the other follower.

        As the recipe of that name, with drawn times: a follower gets nothing while the leader goes
        on under a new epoch, then it leads alone, and dies before another has what it took.
        """
        partition = self._partition()
        target = leader(self._topic, partition)
        first = follower(self._topic, partition, 0)
        second = follower(self._topic, partition, 1)
        lags_ms = self._between(400, 1_800)
        leads_ms = self._session_timeout_ms + self._between(200, 1_500)
        dies = KillBroker(target=target, restart_after_ms=self._between(2_000, 5_000))
        return [
            *((0, one) for one in self._silence(first, lags_ms)),
            (self._between(10, 100), ExpireSession(target=second)),
            *((lags_ms, one) for one in self._silence(second, leads_ms)),
            (lags_ms, dies),
            (lags_ms + leads_ms, dies),
        ]

    def late_fetches(self) -> Story:
        """What followers ask comes late, twice or not at all, across a change of the leader."""
        partition = self._partition()
        sender = self._follower(partition)
        for_ms = self._between(200, 2_500)
        method = self._random.choice(LATE_REQUESTS)
        story: Story = [(0, self._hold(method, sender, ANY_BROKER)(for_ms))]
        if self._random.random() < 0.5:
            story.append((for_ms // 2, self._drop("Fetch", sender, ANY_BROKER)(for_ms)))
        if self._random.random() < 0.7:
            story.append((self._between(50, for_ms), self._change_leader(partition)))
        return story

    def topic_comes_again(self) -> Story:
        """A topic is deleted and created again while a broker is away or gets commands late."""
        away_ms = self._between(300, 3 * self._session_timeout_ms)
        who = self._random.choice((self._replica(), self._replica(), CONTROLLER))
        held = who if who != CONTROLLER else self._replica()
        away: tuple[Fault, ...] = (
            KillBroker(target=who, restart_after_ms=away_ms),
            KillBroker(target=who, restart_after_ms=away_ms),
            PauseBroker(target=who, for_ms=away_ms),
            CutZooKeeper(target=who, for_ms=away_ms),
            self._hold("", CONTROLLER, held)(away_ms),
            self._hold("", CONTROLLER, held)(away_ms),
        )
        gap_ms = self._between(20, away_ms)
        return [(0, self._random.choice(away)), (gap_ms, self._recreate())]

    def leader_stands_still(self) -> Story:
        """A leader stands still, perhaps before it writes, and finds another world."""
        partition = self._partition()
        target = leader(self._topic, partition)
        for_ms = self._absence()
        lag_ms = self._between(300, 2_500)
        late = self._drop("Fetch", self._follower(partition), ANY_BROKER)(lag_ms)
        story: Story = [(0, late), (self._between(0, 600), self._stand(target, for_ms))]
        draw = self._random.random()
        if draw < 0.3:
            story.append((self._between(300, 1_200), self._recreate()))
        elif draw < 0.8:
            story.append((self._between(100, 900), self._change_leader(partition)))
        return story

    def move_interrupted(self) -> Story:
        """A partition is reassigned twice, while the brokers that move it fail."""
        partition = self._partition()
        story: Story = [(0, self._move(partition))]
        for _ in range(self._between(0, 2)):
            story.append((self._between(20, 1_500), self._move(partition)))
        for _ in range(self._between(1, 2)):
            story.append((self._between(0, 800), self._trouble_of_move()))
        return story

    def leader_alone(self) -> Story:
        """A leader reaches its clients, and few brokers."""
        partition = self._partition()
        target = leader(self._topic, partition)
        for_ms = self._between(300, 4 * self._session_timeout_ms)
        alone: tuple[Fault, ...] = (
            CutZooKeeper(target=target, for_ms=for_ms),
            CutZooKeeper(target=target, for_ms=for_ms),
            IsolateBroker(target=target, for_ms=for_ms),
            CutOneWay(sender=target, for_ms=for_ms),
            ExpireSession(target=target, mode="local_only"),
            self._drop(COMMANDS, CONTROLLER, target)(for_ms),
        )
        story: Story = [(0, self._random.choice(alone))]
        if self._random.random() < 0.5:
            story.append((self._between(20, for_ms), ExpireSession(target=target)))
        if self._random.random() < 0.4:
            jump = JumpClock(target=target, by_ms=self._between(100, 5_000))
            story.append((self._between(20, for_ms), jump))
        return story

    def late_watches(self) -> Story:
        """A broker gets watches late, while the znodes change again."""
        for_ms = self._between(500, 3_000)
        late = DelayWatches(
            target=self._random.choice((CONTROLLER, CONTROLLER, self._any())),
            for_ms=for_ms,
            delay_ms=self._between(50, 1_500),
        )
        return [(0, late), *self._decisions(10, for_ms), *self._decisions(10, for_ms)]

    # What they are made of

    def _decisions(self, from_ms: int, to_ms: int) -> Story:
        """Something about which a controller must decide, once or twice."""
        return [
            (self._between(from_ms, to_ms), self._occasion()) for _ in range(self._between(1, 2))
        ]

    def _occasion(self) -> Fault:
        somebody = self._somebody()
        draw = self._random.random()
        if draw < 0.45:
            return ExpireSession(target=somebody)
        if draw < 0.75:
            return KillBroker(target=somebody, restart_after_ms=self._down_ms())
        if draw < 0.9:
            return BounceBroker(target=somebody)
        return ElectPreferred(topic=self._topic, partition=self._partition())

    def _depose(self) -> Fault:
        draw = self._random.random()
        if draw < 0.4:
            return ExpireSession(target=CONTROLLER)
        if draw < 0.6:
            return KickController()
        if draw < 0.8:
            return PauseBroker(target=CONTROLLER, for_ms=self._absence())
        if draw < 0.9:
            return CutZooKeeper(target=CONTROLLER, for_ms=self._absence())
        return KillBroker(target=CONTROLLER, restart_after_ms=self._down_ms())

    def _stand(self, target: Target, for_ms: int) -> Fault:
        if self._random.random() < 0.4:
            return PauseBroker(target=target, for_ms=for_ms)
        point = self._random.choice(HOLDS)
        nth = self._between(1, 3)
        return CrashAt(target=target, for_ms=for_ms, point=point, nth=nth, action="hold")

    def _change_leader(self, partition: int) -> Fault:
        target = leader(self._topic, partition)
        draw = self._random.random()
        if draw < 0.5:
            return ExpireSession(target=target)
        if draw < 0.85:
            return KillBroker(target=target, restart_after_ms=self._down_ms())
        return ElectPreferred(topic=self._topic, partition=partition)

    def _cut_off(self, partition: int) -> list[Fault]:
        """A follower gets no records for a while, and perhaps no commands."""
        who = self._follower(partition)
        for_ms = self._between(300, 3_000)
        cut = self._silence(who, for_ms)
        draw = self._random.random()
        if draw < 0.25:
            return [*cut, self._hold(COMMANDS, CONTROLLER, who)(for_ms)]
        if draw < 0.5:
            return [*cut, self._drop(COMMANDS, CONTROLLER, who)(for_ms)]
        return cut

    def _silence(self, who: Target, for_ms: int) -> list[Fault]:
        return [self._drop(method, who, ANY_BROKER)(for_ms) for method in FETCHES]

    def _trouble_of_move(self) -> Fault:
        draw = self._random.random()
        if draw < 0.35:
            point, nth = self._random.choice(CUTS), self._between(1, 4)
            return CrashAt(target=CONTROLLER, for_ms=self._down_ms(), point=point, nth=nth)
        if draw < 0.5:
            return self._stand(CONTROLLER, self._absence())
        if draw < 0.6:
            return self._recreate()
        if draw < 0.75:
            return KillBroker(target=self._any(), restart_after_ms=self._down_ms())
        if draw < 0.95:
            return self._hold("", CONTROLLER, self._any())(self._between(500, 4_000))
        return self._drop("Fetch", self._any(), ANY_BROKER)(self._between(500, 3_000))

    def _move(self, partition: int | None = None) -> Fault:
        if not self._may_move:
            return self._occasion()
        where = self._random.sample(self._brokers, self._replication_factor)
        one = self._partition() if partition is None else partition
        return ReassignPartition(topic=self._topic, partition=one, replicas=tuple(where))

    def _recreate(self) -> Fault:
        if not self._may_move:
            return self._occasion()
        return RecreateTopic(topic=self._topic, for_ms=self._between(10, 800))

    def _hold(self, method: RpcMethod, sender: Target, receiver: Target) -> Callable[[int], Fault]:
        count = self._between(0, 2)
        return lambda for_ms: HoldRequest(
            method=method, sender=sender, receiver=receiver, count=count, for_ms=for_ms
        )

    def _drop(self, method: RpcMethod, sender: Target, receiver: Target) -> Callable[[int], Fault]:
        is_answer = self._random.random() < 0.15
        dropped = DropResponse if is_answer else DropRequest
        return lambda for_ms: dropped(
            method=method, sender=sender, receiver=receiver, count=0, for_ms=for_ms
        )

    # Targets

    def _any(self) -> Target:
        return broker(self._random.choice(self._brokers))

    def _partition(self) -> int:
        return self._random.randrange(self._partitions)

    def _leader(self) -> Target:
        return leader(self._topic, self._partition())

    def _follower(self, partition: int) -> Target:
        position = self._random.randrange(max(1, self._replication_factor - 1))
        return follower(self._topic, partition, position)

    def _replica(self) -> Target:
        partition = self._partition()
        one = self._random.choice((leader(self._topic, partition), self._follower(partition)))
        return self._random.choice((one, self._any()))

    def _somebody(self) -> Target:
        return self._random.choice((self._any(), self._leader(), self._replica()))

    # How long

    def _absence(self) -> int:
        """Either shorter than a session lasts, or longer."""
        timeout_ms = self._session_timeout_ms
        if self._random.random() < 0.5:
            return self._between(timeout_ms // 8, timeout_ms * 3 // 5)
        return self._between(timeout_ms * 5 // 4, timeout_ms * 3)

    def _down_ms(self) -> int:
        return self._between(self._session_timeout_ms // 4, 3 * self._session_timeout_ms)

    def _between(self, low: int, high: int) -> int:
        return self._random.randint(low, max(low, high))
