"""The library of situations: several faults that chance alone seldom brings together.

Roles, durations and what happens in between are drawn anew each time. The protocol must withstand
every situation, by whichever of its rules; without the simulator as well as in it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from fencepost.fault_injection.faults.admin_faults import (
    ElectPreferred,
    KickController,
    ReassignPartition,
    RecreateTopic,
)
from fencepost.fault_injection.faults.clock_faults import JumpClock
from fencepost.fault_injection.faults.disk_faults import LosePower
from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.network_faults import CutOneWay, IsolateBroker
from fencepost.fault_injection.faults.process_faults import (
    BounceBroker,
    CrashAt,
    KillBroker,
    PauseBroker,
    StopBroker,
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
from fencepost.fault_injection.stories.fault_draw import FaultDraw
from fencepost.spec.vocabulary import CrashPoint

Timed = list[tuple[int, Fault]]
"""Faults, and when each comes, in milliseconds from the beginning."""

COMMANDS: RpcMethod = "LeaderAndIsr"
FETCHES: tuple[RpcMethod, ...] = ("Fetch", "OffsetForLeaderEpoch")
LATE_REQUESTS: tuple[RpcMethod, ...] = ("Fetch", "Fetch", "OffsetForLeaderEpoch", "")
CUTS: tuple[CrashPoint, ...] = (
    "before_write",
    "before_write",
    "before_send",
    "after_write",
    "after_send",
    "before_reply",
)
HOLDS: tuple[CrashPoint, ...] = (
    "before_write",
    "before_write",
    "before_send",
    "before_reply",
    "before_append",
)
UNHEARD: tuple[type[Fault], ...] = (
    *[LoseZooKeeperReplies] * 2,
    FailZooKeeperRequests,
    DropConnection,
    CutZooKeeper,
)
DEPOSING: tuple[type[Fault], ...] = (
    *[ExpireSession] * 4,
    *[KickController] * 2,
    *[PauseBroker] * 2,
    CutZooKeeper,
    KillBroker,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SituationDraw(FaultDraw):
    """Draws situations on one cluster, each by the method of its name."""

    may_move: bool = False
    """False: topics and assignments stay as they are."""

    # Of controllers, what they write and send

    def deposed_controller(self) -> Timed:
        """Requests of a controller arrive late, when its successor was elected but not heard."""
        receiver = self.replica()
        held_ms = self.between(300, 3 * self.session_timeout_ms)
        deposed_ms = self.between(50, held_ms * 2 // 3)
        silent_ms = held_ms - deposed_ms + self.between(50, 1_000)
        method = self.random.choice((COMMANDS, COMMANDS, ""))
        hold = self._hold(method, CONTROLLER, receiver, held_ms, count=0)
        story: Timed = [(0, hold), (20, ExpireSession(target=self.any()))]
        story += [*self._decisions(20, deposed_ms), (deposed_ms, self._depose())]
        if self.random.random() < 0.8:
            story += [
                (deposed_ms, self._drop(COMMANDS, broker(one), receiver, silent_ms))
                for one in self.brokers
            ]
        if self.random.random() < 0.3:
            story.append((deposed_ms // 2, CutZooKeeper(target=receiver, for_ms=held_ms)))
        return story

    def late_first_command(self) -> Timed:
        """The first command to a broker, of a new controller or after its return, arrives late."""
        receiver, held_ms = self.replica(), self.between(300, 3_000)
        cause = self._depose() if self.random.random() < 0.6 else ExpireSession(target=receiver)
        story: Timed = [(0, cause)]
        for one in map(broker, self.brokers):
            hold = self._hold(COMMANDS, one, receiver, held_ms, count=1)
            story.append((self.between(0, 20), hold))
        if self.random.random() < 0.6:
            story.append((self.between(50, held_ms), self._recreate()))
        return story

    def controller_stands_still(self) -> Timed:
        """A controller is paused, perhaps within a step, while topics and brokers change."""
        for_ms = self.lasts_ms()
        story: Timed = [(0, self._stand(CONTROLLER, for_ms)), *self._decisions(0, for_ms)]
        if self.random.random() < 0.4:
            story.append((self.between(0, for_ms), KickController()))
        story += self._change_topic(20, for_ms)
        return story

    def controller_dies_half_way(self) -> Timed:
        """A controller dies between two effects of one step."""
        return [(0, self._dies_half_way()), *self._decisions(0, 600), *self._change_topic(0, 300)]

    def unheard_decision(self) -> Timed:
        """A write of a controller is done, or not, and its answer is lost."""
        for_ms = self.between(300, 2_000)
        fault_class = self.random.choice(UNHEARD)
        target = self.random.choice((CONTROLLER, CONTROLLER, self.leader(), self.any()))
        fault = self.make(fault_class, target=target, for_ms=for_ms)
        story = [(self.between(0, 60), fault), *self._decisions(0, 200)]
        story += self._decisions(0, for_ms)
        if self.random.random() < 0.5:
            story.append((self.between(50, for_ms), self._depose()))
        return story

    def late_watches(self) -> Timed:
        """A broker gets watches late, while the znodes change again."""
        for_ms = self.between(500, 3_000)
        target = self.random.choice((CONTROLLER, CONTROLLER, self.any()))
        delay_ms = self.between(50, 1_500)
        late = DelayWatches(target=target, for_ms=for_ms, delay_ms=delay_ms)
        return [(0, late), *self._decisions(10, for_ms), *self._decisions(10, for_ms)]

    def bounces(self) -> Timed:
        """Brokers restart before their sessions expire."""
        return [
            (self.between(0, 1_500), BounceBroker(target=self._somebody()))
            for _ in range(self.between(1, 3))
        ]

    def shutdowns(self) -> Timed:
        """Brokers end in good order, and what they ask for that may arrive at their next start."""
        story: Timed = []
        for _ in range(self.between(1, 3)):
            target, at_ms = self.any(), self.between(20, 2_000)
            down_ms = self.between(500, 4_000)
            story.append((at_ms, StopBroker(target=target, restart_after_ms=down_ms)))
            if self.random.random() < 0.6:
                held_ms = down_ms + self.between(200, 3_000)
                hold = self._hold("ControlledShutdown", target, ANY_BROKER, held_ms, count=1)
                story.append((at_ms - 20, hold))
        return story

    # Of leaders, followers and logs

    def isr_dies(self) -> Timed:
        """Leaders die in turn, and come back in any order."""
        partition = self.partition()
        story: Timed = []
        at_ms = 0
        for _ in range(self.between(2, self.replication_factor + 1)):
            down_ms = self.between(self.session_timeout_ms, 4 * self.session_timeout_ms)
            target = leader(self.topic, partition)
            if self.random.random() < 0.25:
                target = self.follower(partition)
            story.append((at_ms, KillBroker(target=target, restart_after_ms=down_ms)))
            at_ms += self.between(50, 2 * self.session_timeout_ms)
        return story

    def many_epochs(self) -> Timed:
        """Leaders change again and again while some followers hear only a part of it."""
        partition = self.partition()
        story: Timed = []
        at_ms = 0
        for _ in range(self.between(2, 4)):
            for _ in range(self.between(1, 2)):
                begun_ms = at_ms + self.between(0, 200)
                story += [(begun_ms, fault) for fault in self._cut_off(partition)]
            at_ms += self.between(150, 700)
            story.append((at_ms, self._change_leader(partition)))
            at_ms += self.between(50, 2 * self.session_timeout_ms)
        return story

    def leaders_alternate(self) -> Timed:
        """Followers get nothing, while leaders die in turn and come back to lead."""
        target = self.leader()
        timeout_ms = self.session_timeout_ms
        story: Timed = []
        at_ms = self.between(100, 400)
        for _ in range(self.between(2, 4)):
            down_ms = self.between(timeout_ms * 5 // 4, timeout_ms * 5 // 2)
            story.append((at_ms, KillBroker(target=target, restart_after_ms=down_ms)))
            at_ms += down_ms - self.between(0, timeout_ms // 4)
        silent = (self._drop("Fetch", broker(one), ANY_BROKER, at_ms) for one in self.brokers)
        return [*((0, one) for one in silent), *story]

    def diverging_logs(self) -> Timed:
        """The logs of two followers diverge over two epochs, each unknown to the other follower.

        A follower gets nothing while the leader goes on under a new epoch. Then it leads alone, and
        dies before another has what it took. Back again, it must give up all of its last epoch and
        not only what is beyond its leader's (CMD-005, KIP-279).
        """
        partition = self.partition()
        target = leader(self.topic, partition)
        first, second = (follower(self.topic, partition, position) for position in (0, 1))
        lags_ms = self.between(400, 1_800)
        leads_ms = self.session_timeout_ms + self.between(200, 1_500)
        dies = KillBroker(target=target, restart_after_ms=self.between(2_000, 5_000))
        return [
            *((0, one) for one in self._silence(first, lags_ms)),
            (self.between(10, 100), ExpireSession(target=second)),
            *((lags_ms, one) for one in self._silence(second, leads_ms)),
            (lags_ms, dies),
            (lags_ms + leads_ms, dies),
        ]

    def late_fetches(self) -> Timed:
        """What followers ask comes late, twice or not at all, across a change of the leader."""
        partition = self.partition()
        sender, for_ms = self.follower(partition), self.between(200, 2_500)
        method = self.random.choice(LATE_REQUESTS)
        story: Timed = [(0, self._hold(method, sender, ANY_BROKER, for_ms))]
        if self.random.random() < 0.5:
            story.append((for_ms // 2, self._drop("Fetch", sender, ANY_BROKER, for_ms)))
        if self.random.random() < 0.7:
            story.append((self.between(50, for_ms), self._change_leader(partition)))
        return story

    def leader_stands_still(self) -> Timed:
        """A leader stands still, perhaps before it writes, and finds another world."""
        partition = self.partition()
        lag_ms = self.between(300, 2_500)
        late = self._drop("Fetch", self.follower(partition), ANY_BROKER, lag_ms)
        stand = self._stand(leader(self.topic, partition), self.lasts_ms())
        story: Timed = [(0, late), (self.between(0, 600), stand)]
        chance = self.random.random()
        if chance < 0.3:
            story.append((self.between(300, 1_200), self._recreate()))
        elif chance < 0.8:
            story.append((self.between(100, 900), self._change_leader(partition)))
        return story

    def leader_alone(self) -> Timed:
        """A leader reaches its clients, and few brokers."""
        target = self.leader()
        for_ms = self.between(300, 4 * self.session_timeout_ms)
        alone: tuple[Fault, ...] = (
            CutZooKeeper(target=target, for_ms=for_ms),
            CutZooKeeper(target=target, for_ms=for_ms),
            IsolateBroker(target=target, for_ms=for_ms),
            CutOneWay(sender=target, for_ms=for_ms),
            ExpireSession(target=target, mode="local_only"),
            self._drop(COMMANDS, CONTROLLER, target, for_ms),
        )
        story: Timed = [(0, self.random.choice(alone))]
        if self.random.random() < 0.5:
            story.append((self.between(20, for_ms), ExpireSession(target=target)))
        if self.random.random() < 0.4:
            jump = JumpClock(target=target, by_ms=self.between(100, 5_000))
            story.append((self.between(20, for_ms), jump))
        return story

    # Of topics and assignments

    def topic_comes_again(self) -> Timed:
        """A topic is deleted and created again while a broker is away or gets commands late."""
        away_ms = self.between(300, 3 * self.session_timeout_ms)
        target = self.random.choice((self.replica(), self.replica(), CONTROLLER))
        held = target if target != CONTROLLER else self.replica()
        away: tuple[Fault, ...] = (
            *[KillBroker(target=target, restart_after_ms=away_ms)] * 2,
            PauseBroker(target=target, for_ms=away_ms),
            CutZooKeeper(target=target, for_ms=away_ms),
            *[self._hold("", CONTROLLER, held, away_ms)] * 2,
        )
        return [(0, self.random.choice(away)), (self.between(20, away_ms), self._recreate())]

    def move_interrupted(self) -> Timed:
        """A partition is reassigned twice, while the brokers that move it fail."""
        partition = self.partition()
        story: Timed = [(0, self._move(partition))]
        for _ in range(self.between(0, 2)):
            story.append((self.between(20, 1_500), self._move(partition)))
        for _ in range(self.between(1, 2)):
            story.append((self.between(0, 800), self._trouble_of_move()))
        return story

    def stop_unheard(self) -> Timed:
        """A broker restarts after it has given up a replica, and nothing hears that it has."""
        receiver, for_ms = self.replica(), self.between(200, 2_000)
        lost = DropResponse(
            method="StopReplica", sender=CONTROLLER, receiver=receiver, count=0, for_ms=for_ms
        )
        gone = self.random.choice((self._recreate, self._move))
        bounce_ms = self.between(20, for_ms)
        return [(0, lost), (10, gone()), (bounce_ms, BounceBroker(target=receiver))]

    def power_fails_during_a_write(self) -> Timed:
        """A broker asks ZooKeeper for a write, and is back from a loss of power before its end."""
        target, for_ms = self.random.choice((CONTROLLER, self.leader())), self.between(100, 900)
        late = self.make(self.random.choice(UNHEARD), target=target, for_ms=for_ms)
        dark = LosePower(target=target, for_ms=self.between(10, 200))
        return [(0, late), *self._decisions(0, for_ms), (self.between(20, for_ms), dark)]

    def late_write_of_the_isr(self) -> Timed:
        """A leader stands still before it writes its ISR, and its topic is another one then."""
        partition, for_ms = self.partition(), self.between(300, 2_500)
        target = leader(self.topic, partition)
        stands = CrashAt(target=target, for_ms=for_ms, point="before_write", nth=1, action="hold")
        story: Timed = [(0, one) for one in self._silence(self.follower(partition), for_ms)]
        story += [(self.between(0, 600), stands), (self.between(300, for_ms), self._recreate())]
        return story

    # What they are made of

    def _somebody(self) -> Target:
        return self.random.choice((self.any(), self.leader(), self.replica()))

    def _decisions(self, from_ms: int, to_ms: int) -> Timed:
        """Something about which a controller must decide, once or twice."""
        return [(self.between(from_ms, to_ms), self._occasion()) for _ in range(self.between(1, 2))]

    def _occasion(self) -> Fault:
        target, chance = self._somebody(), self.random.random()
        if chance < 0.45:
            return ExpireSession(target=target)
        if chance < 0.75:
            return self.make(KillBroker, target=target)
        if chance < 0.9:
            return BounceBroker(target=target)
        return self.make(ElectPreferred)

    def _depose(self) -> Fault:
        fault_class = self.random.choice(DEPOSING)
        if fault_class is KickController:
            return KickController()
        return self.make(fault_class, target=CONTROLLER)

    def _stand(self, target: Target, for_ms: int) -> Fault:
        if self.random.random() < 0.4:
            return PauseBroker(target=target, for_ms=for_ms)
        point, nth = self.random.choice(HOLDS), self.between(1, 3)
        return CrashAt(target=target, for_ms=for_ms, point=point, nth=nth, action="hold")

    def _dies_half_way(self) -> Fault:
        point, nth = self.random.choice(CUTS), self.between(1, 4)
        return self.make(CrashAt, target=CONTROLLER, point=point, nth=nth)

    def _change_leader(self, partition: int) -> Fault:
        target, chance = leader(self.topic, partition), self.random.random()
        if chance < 0.5:
            return ExpireSession(target=target)
        if chance < 0.85:
            return self.make(KillBroker, target=target)
        return ElectPreferred(topic=self.topic, partition=partition)

    def _cut_off(self, partition: int) -> list[Fault]:
        """A follower gets no records for a while, and perhaps no commands."""
        target, for_ms = self.follower(partition), self.between(300, 3_000)
        cut, chance = self._silence(target, for_ms), self.random.random()
        if chance < 0.25:
            return [*cut, self._hold(COMMANDS, CONTROLLER, target, for_ms)]
        if chance < 0.5:
            return [*cut, self._drop(COMMANDS, CONTROLLER, target, for_ms)]
        return cut

    def _silence(self, target: Target, for_ms: int) -> list[Fault]:
        return [self._drop(method, target, ANY_BROKER, for_ms) for method in FETCHES]

    def _trouble_of_move(self) -> Fault:
        chance = self.random.random()
        if chance < 0.35:
            return self._dies_half_way()
        if chance < 0.5:
            return self._stand(CONTROLLER, self.lasts_ms())
        if chance < 0.6:
            return self._recreate()
        if chance < 0.75:
            return self.make(KillBroker, target=self.any())
        if chance < 0.95:
            return self._hold("", CONTROLLER, self.any(), self.between(500, 4_000))
        return self._drop("Fetch", self.any(), ANY_BROKER, self.between(500, 3_000))

    def _change_topic(self, from_ms: int, to_ms: int) -> Timed:
        """Perhaps a topic comes again or a partition moves."""
        change = self.random.choice((self._recreate, self._move, None))
        return [(self.between(from_ms, to_ms), change())] if change else []

    def _move(self, partition: int | None = None) -> Fault:
        if not self.may_move:
            return self._occasion()
        one = self.partition() if partition is None else partition
        return self.make(ReassignPartition, partition=one)

    def _recreate(self) -> Fault:
        if not self.may_move:
            return self._occasion()
        return RecreateTopic(topic=self.topic, for_ms=self.between(10, 800))

    def _hold(
        self, method: RpcMethod, sender: Target, receiver: Target, for_ms: int, count: int = -1
    ) -> Fault:
        """Of so many requests; of up to two, or of all, when it is not said."""
        count = self.between(0, 2) if count < 0 else count
        return HoldRequest(
            method=method, sender=sender, receiver=receiver, count=count, for_ms=for_ms
        )

    def _drop(self, method: RpcMethod, sender: Target, receiver: Target, for_ms: int) -> Fault:
        dropped = DropResponse if self.random.random() < 0.15 else DropRequest
        return dropped(method=method, sender=sender, receiver=receiver, count=0, for_ms=for_ms)


Situation = Callable[[SituationDraw], Timed]

CONTROL: tuple[Situation, ...] = (
    *[SituationDraw.deposed_controller] * 2,
    *[SituationDraw.controller_stands_still] * 2,
    *[SituationDraw.controller_dies_half_way] * 2,
    *[SituationDraw.late_first_command] * 2,
    SituationDraw.unheard_decision,
    SituationDraw.late_watches,
    SituationDraw.bounces,
)
"""About controllers, what they write and send; those that stand here more often come more often."""
DATA: tuple[Situation, ...] = (
    *[SituationDraw.many_epochs] * 3,
    *[SituationDraw.diverging_logs] * 3,
    *[SituationDraw.leaders_alternate] * 2,
    SituationDraw.isr_dies,
    SituationDraw.late_fetches,
)
"""About logs, followers and leaders."""
LEADERS: tuple[Situation, ...] = (
    *[SituationDraw.leader_stands_still] * 2,
    SituationDraw.leader_alone,
)
"""About leaders that do not know that they lead no more: of data as well as of control."""
MOVES: tuple[Situation, ...] = (
    *[SituationDraw.topic_comes_again] * 3,
    *[SituationDraw.move_interrupted] * 4,
)
"""About topics and assignments; only where these may move."""
REMOVALS: tuple[Situation, ...] = (
    SituationDraw.stop_unheard,
    SituationDraw.power_fails_during_a_write,
    SituationDraw.late_write_of_the_isr,
)
"""The same, where disks may lose what was not flushed."""
