"""One simulated broker process: the core's node, performed in virtual time.

A process can be paused (events wait), killed (also between two effects of one step) and started
again on its disk.
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from random import Random

from fencepost.impl.core.config import Config
from fencepost.impl.core.types.asker import UNKNOWN_ASKER, Asker, asker_of
from fencepost.impl.core.types.effects import (
    DeleteLog,
    DiskEffect,
    Effect,
    ReplyRecords,
    ReportMalformed,
    ReportWaiting,
    Send,
    ShutDown,
    WriteZnodes,
)
from fencepost.impl.core.types.events import (
    ChildrenListed,
    Event,
    LogFailed,
    ShutdownAsked,
    Tick,
    ZnodesRead,
    ZnodesWritten,
    ZooKeeperEvent,
)
from fencepost.impl.core.types.messages import Request, Response
from fencepost.impl.core.types.refusals import Refusal
from fencepost.impl.core.types.scripts import Ask
from fencepost.impl.crash_points import CrashPlan
from fencepost.impl.failed_steps import refusal, without_claims, without_failed
from fencepost.impl.sim.engine.failed_tries import FailedTries
from fencepost.impl.sim.engine.listener import CertifiedCaller, SimulatedListener, broker_caller
from fencepost.impl.sim.engine.move_recorder import RequestOrigin
from fencepost.impl.sim.engine.options import RunOptions
from fencepost.impl.sim.engine.recorder import NodeTrace
from fencepost.impl.sim.world.disk import SimulatedDisk
from fencepost.impl.sim.world.network import SimulatedNetwork
from fencepost.impl.sim.world.simulated_broker import Answer, SimulatedBroker
from fencepost.impl.sim.world.virtual_world import VirtualWorld
from fencepost.impl.sim.world.zookeeper_client import SimulatedZooKeeperClient
from fencepost.impl.sim.world.zookeeper_link import ZooKeeperLinkFault
from fencepost.impl.trace_lines import log_failed, node_name
from fencepost.spec.vocabulary import BrokerId
from fencepost.spec.znodes import TopicPartition

TICK_MS = 20
CRASH_WITHIN_MS = 60
"""A kill strikes inside the next step within this time, else between two steps."""

OnAnswer = Callable[[Response | None, int], None]
"""Takes the response, None if the connection was refused, and its sender's Lamport clock."""


class ProcessHost(VirtualWorld):
    """A world in which broker processes run by themselves."""

    options: RunOptions
    malformed: list[str]
    """Znodes that a broker could not read, with the reason."""
    link_faults: dict[BrokerId, list[ZooKeeperLinkFault]]
    """The faults on each broker's way to ZooKeeper."""
    network: SimulatedNetwork

    @abstractmethod
    def reaches_zookeeper(self, broker_id: BrokerId) -> bool:
        """True when a broker that connects now would be served."""

    @abstractmethod
    def send_request(
        self,
        *,
        asker: Asker | CertifiedCaller,
        receiver: BrokerId,
        request: Request,
        lamport: int,
        on_answer: OnAnswer,
        origin: RequestOrigin | None = None,
    ) -> None:
        """Carry the request to the receiver, and its answer back."""


class Process(SimulatedBroker):
    """One incarnation of one broker."""

    def __init__(
        self,
        cluster: ProcessHost,
        config: Config,
        disk: SimulatedDisk,
        trace: NodeTrace,
        random: Random,
    ) -> None:
        super().__init__(cluster, config, disk)
        self.cluster = cluster
        self.is_alive = True
        self._pauses = 0
        """How many faults pause it."""
        self._random = random
        self._deferred: list[Callable[[], None]] = []
        self._crashes: list[CrashPlan] = []
        self._on_death: list[Callable[[], object]] = []
        self.before: Callable[[Effect], None] | None = None
        """Called with each effect before it is performed; it may pause or end the process."""
        self.failed_logs: set[TopicPartition] = set()
        """Logs that are not used until the next start."""
        self._sent: dict[int, Send] = {}
        """Requests that are not answered, by number."""
        self._asked: dict[int, Ask] = {}
        """The same of what ZooKeeper was asked."""
        self.failed_tries = FailedTries()
        self.node = self._boot(trace)
        self._listener = SimulatedListener(self.broker_id, self.node, cluster.scheduler)
        self.zookeeper = SimulatedZooKeeperClient(
            scheduler=cluster.scheduler,
            server=cluster.zookeeper,
            random=random,
            timeout_ms=cluster.options.session_timeout_ms,
            gate=self.gate,
            deliver=self._hear_of_zookeeper,
        )
        self.zookeeper.loses_reply = self._loses_reply
        self.zookeeper.reaches_server = lambda: cluster.reaches_zookeeper(config.broker_id)
        self.zookeeper.link_faults = cluster.link_faults[config.broker_id]
        self.replies_to_lose = 0
        """How many of the next answers of ZooKeeper to writes are lost."""
        self.zookeeper.start()
        cluster.scheduler.after_us(random.randint(0, TICK_MS * 1000), self._tick)

    # Life

    def gate(self, callback: Callable[[], None]) -> None:
        """Run `callback` now, after the pause, or never if the process is dead by then."""
        if not self.is_alive:
            return
        if self.is_paused:
            self._deferred.append(callback)
            return
        callback()

    @property
    def is_paused(self) -> bool:
        """True while it is paused."""
        return self._pauses > 0

    def pause(self) -> None:
        """Pause the process; pauses add up."""
        self._pauses += 1

    def resume(self) -> None:
        """End one pause; after the last one, take all that came in the meantime."""
        self._pauses = max(0, self._pauses - 1)
        if self.is_paused:
            return
        deferred, self._deferred = self._deferred, []
        for callback in deferred:
            self.gate(callback)

    def kill(self) -> None:
        """Let the process die in the middle of its next step, or soon."""
        self.crash_at("before_effect", self._random.randint(0, 6) + 1)
        self.cluster.scheduler.after_ms(CRASH_WITHIN_MS, self.die)

    def crash_at(self, point: str, nth: int, *, holds: bool = False) -> CrashPlan:
        """Let the process die, or pause, at the `nth` passage of the point from now on."""
        plan = CrashPlan(point, nth, holds)
        self._crashes.append(plan)
        return plan

    def spare(self) -> None:
        """Cancel all crash points."""
        self._crashes.clear()

    def at_death(self, callback: Callable[[], object]) -> None:
        """Call back when the process dies."""
        self._on_death.append(callback)

    def die(self) -> None:
        """End the process; its disk stays."""
        if not self.is_alive:
            return
        for one in self._deferred:
            if isinstance(one, partial) and one.func == self._perform_all:
                self._write_cut_off(one.args[0])
        self.is_alive = False
        if self.move_recorder is not None:
            self.move_recorder.died(self)
        self.zookeeper.close()
        for callback in self._on_death:
            callback()

    def ask_to_end(self) -> None:
        """What SIGTERM does: it ends in good order once others lead, or at once (BEP-005).

        At once too where the run is recorded as moves: so do processes that are led by moves.
        """
        if self.node.registration.is_registered and self.move_recorder is None:
            self.gate(lambda: self.step(ShutdownAsked()))
        else:
            self._end()

    def _end(self) -> None:
        session_id = self.zookeeper.session_id
        self.disk.flush()
        self.die()
        if session_id:
            self.cluster.zookeeper.end_session(session_id)

    def _loses_reply(self, _: WriteZnodes) -> bool:
        if self.replies_to_lose:
            self.replies_to_lose -= 1
            return True
        return self.cluster.network.loses_reply()

    # Steps

    def _tick(self) -> None:
        if not self.is_alive:
            return
        if not self.is_paused:
            self._flush_in_time()
            self.step(Tick(wall_ms=self.cluster.scheduler.now_ms))
        self.cluster.scheduler.after_ms(TICK_MS, self._tick)

    def step(self, event: Event) -> None:
        """Let the core take the event, and perform what it asks."""
        effects = self.node.step(event, self.clock.now_ms)
        if self.move_recorder is not None:
            self.move_recorder.stepped(self, event, effects)
        self._perform_all(effects, [])

    def _perform_all(self, effects: Sequence[Effect], failed: list[TopicPartition]) -> None:
        """Perform the effects in order until the process stops; a pause defers the rest.

        `failed` are the logs that failed in this step.
        """
        for done, effect in enumerate(effects):
            if self._crashes and self._dies("before", effect, effects[done:]):
                return
            if self.before is not None:
                self.before(effect)
            if not self.is_alive:
                return
            if self._pauses:
                self._deferred.append(partial(self._perform_all, effects[done:], failed))
                return
            if self.disk.refused or self.failed_logs:
                self._try_to_perform(effect, failed)
            else:
                self._perform(effect)
            if self._crashes and self._dies("after", effect, effects[done + 1 :]):
                return
        for key in failed:
            self.trace.write(log_failed(self.broker_id, key, "the disk refuses"))
            incarnation = self.disk.incarnation_of(key)
            self.step(LogFailed(topic_partition=key, partition_incarnation=incarnation))

    def _try_to_perform(self, effect: Effect, failed: list[TopicPartition]) -> None:
        """Perform what failed logs leave of the effect; its own log may fail too."""
        allowed = without_failed(effect, self.failed_logs)
        left = without_claims(allowed, failed) if allowed else None
        if left is None:
            return
        if not isinstance(left, DiskEffect | ReplyRecords) or not self.disk.refuses(left):
            self._perform(left)
            if isinstance(left, DeleteLog):
                self.failed_logs.discard(left.topic_partition)
            return
        self.failed_logs.add(left.topic_partition)
        failed.append(left.topic_partition)
        if isinstance(left, ReplyRecords):
            self._perform(refusal(left))

    def _dies(self, when: str, effect: Effect, rest: Sequence[Effect]) -> bool:
        """True when a crash point ends the process here; `rest` is what that cuts off."""
        for plan in [plan for plan in self._crashes if plan.strikes(when, effect)]:
            if plan.holds:
                self.pause()
            else:
                self._write_cut_off(rest)
                self.die()
        return not self.is_alive

    def _write_cut_off(self, rest: Sequence[Effect]) -> None:
        """Processes that follow moves make whole steps: all that one writes is on the disk."""
        if self.move_recorder is None or not self.move_recorder.is_for_processes:
            return
        for effect in rest:
            if isinstance(effect, DiskEffect):
                self.disk.perform(effect)

    def _flush_in_time(self) -> None:
        """The operating system writes back what is older than `flush_ms`."""
        self.disk.flush_after(self.cluster.options.flush_ms, self.cluster.scheduler.now_ms)

    def _hear_of_zookeeper(self, event: ZooKeeperEvent) -> None:
        if isinstance(event, ZnodesRead | ChildrenListed | ZnodesWritten):
            ask = self._asked.pop(event.op_id)
            self.failed_tries.served(ask, event, self.cluster.scheduler.now_ms)
        self._take_zookeeper(event)

    def _make_durable(self) -> None:
        if not self.cluster.options.flush_ms:
            self.disk.flush()

    def _ask(self, ask: Ask) -> None:
        self._asked[ask.op_id] = ask
        self._trace_ask(ask, self.zookeeper.session_id)
        self.zookeeper.perform(ask)

    def _tell_operator(self, effect: ReportWaiting | ReportMalformed | ShutDown) -> None:
        if isinstance(effect, ReportMalformed):
            self.cluster.malformed.append(f"{effect.path}: {effect.reason}")
        elif isinstance(effect, ShutDown):
            self._end()

    # Requests

    def _send(self, effect: Send) -> None:
        self._sent[effect.request_id] = effect

        def on_answer(response: Response | None, lamport: int) -> None:
            self.gate(lambda: self._receive(effect.request_id, response, lamport))

        self.cluster.send_request(
            asker=self._own_asker,
            receiver=effect.to,
            request=effect.request,
            lamport=self.trace.clock.now,
            on_answer=on_answer,
            origin=self.origin(effect),
        )
        self.cluster.scheduler.after_ms(effect.timeout_ms, lambda: on_answer(None, 0))

    def _receive(self, request_id: int, response: Response | None, lamport: int) -> None:
        sent = self._sent.pop(request_id, None)
        if sent is not None:
            self.failed_tries.answered(sent, response, self.cluster.scheduler.now_ms)
            self.respond(sent, response, lamport)

    def receive(
        self,
        request: Request,
        lamport: int,
        answer: Answer,
        origin: RequestOrigin | None = None,
        asker: Asker | CertifiedCaller = UNKNOWN_ASKER,
    ) -> None:
        """Take a request that has reached the process, unless it is paused or dead.

        One of a caller that has proven its name must pass the gate.
        """
        if isinstance(asker, CertifiedCaller):
            self.gate(partial(self._admit, request, lamport, answer, origin, asker))
        else:
            self.gate(partial(super().receive, request, lamport, answer, origin, asker))

    def _admit(
        self,
        request: Request,
        lamport: int,
        answer: Answer,
        origin: RequestOrigin | None,
        caller: CertifiedCaller,
    ) -> None:
        admitted = self._listener.admit(request, caller)
        if isinstance(admitted, Refusal):
            answer(self._listener.refused(request, admitted), lamport)
            return

        def show(response: Response, answer_lamport: int) -> None:
            answer(self._listener.shown(response, admitted), answer_lamport)

        super().receive(request, lamport, show, origin, admitted.asker)

    @cached_property
    def _own_asker(self) -> Asker | CertifiedCaller:
        """As what it calls its peers."""
        is_secured = self.cluster.options.secured
        return broker_caller(self.broker_id) if is_secured else asker_of(node_name(self.broker_id))
