"""A whole cluster in one thread: brokers, ZooKeeper, network and disks under one seed."""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from random import Random

from fencepost.fault_injection.faults.targets import ClusterView, StateVersion
from fencepost.impl.core.config import Config
from fencepost.impl.core.types.asker import Asker
from fencepost.impl.core.types.events import WatchFired
from fencepost.impl.core.types.messages import Request, Response
from fencepost.impl.core.types.zookeeper import Create, Delete, SetData, WriteResult
from fencepost.impl.mutants.mutants import version_rules
from fencepost.impl.sim.engine.listener import CertifiedCaller
from fencepost.impl.sim.engine.move_recorder import MoveRecorder, RequestOrigin
from fencepost.impl.sim.engine.options import RunOptions
from fencepost.impl.sim.world.disk import SimulatedDisk
from fencepost.impl.sim.world.network import RequestRule, SimulatedNetwork, method_of
from fencepost.impl.sim.world.process import OnAnswer, Process, ProcessHost
from fencepost.spec.vocabulary import BrokerId, BrokerVersion, SessionId
from fencepost.spec.znodes import (
    CONTROLLER,
    CONTROLLER_EPOCH,
    TOPICS,
    LeaderAndIsr,
    TopicPartition,
    broker_path,
    leader_and_isr_path,
    parse_controller_epoch,
)

ZOOKEEPER_TICK_MS = 100
QUOTA_WINDOWS = 2
"""Of a second each: a burst is soon spent, and soon there again."""
INTERNAL_PARTITIONS = 2
"""Of the topic that the first request for a coordinator creates."""
CLIENT = -2
"""The sender of requests that are no broker's."""


class VirtualCluster(ProcessHost):
    """Brokers that run by themselves, and the network, the disks and the faults between them."""

    def __init__(
        self,
        options: RunOptions,
        run_id: str,
        move_recorder: MoveRecorder | None = None,
        *,
        first: BrokerId | None = None,
        boot_ms: int = 0,
    ) -> None:
        """With a `first`, only that broker starts, and the caller starts the rest.

        A process that is restarted takes `boot_ms` to come up.
        """
        super().__init__(run_id, move_recorder)
        self.options = options
        self.malformed = []
        self.network = SimulatedNetwork(
            self.random("network"), options.weather, self.random("network of clients")
        )
        self.zookeeper.request_bytes_max = options.request_bytes_max
        self.disks = {BrokerId(i + 1): SimulatedDisk() for i in range(options.brokers)}
        self._first_version = BrokerVersion(options.level, options.level)
        self.versions = dict.fromkeys(self.disks, self._first_version)
        """Of which each broker starts next."""
        self._running: dict[BrokerId, BrokerVersion] = {}
        self.processes: dict[BrokerId, Process] = {}
        self.absent: frozenset[BrokerId] = frozenset()
        """Brokers that are dead for now, of which no liveness property is expected."""
        self.cut_from_zookeeper: Counter[BrokerId] = Counter()
        """How many faults keep each broker from ZooKeeper."""
        self.sent: Counter[str] = Counter()
        """Method -> how many requests have left their senders."""
        self.link_faults = {b: [] for b in self.disks}
        self._boot_ms = boot_ms
        self._former: list[Process] = []
        """Processes that others have replaced."""
        for broker_id in sorted(self.disks) if first is None else [first]:
            self.start(broker_id)
        self._tick_zookeeper()

    def random(self, purpose: str) -> Random:
        """A source of chance of its own for each purpose, so that one does not disturb another."""
        return Random(f"{self.options.seed}/{purpose}")

    # Processes

    def start(self, broker_id: BrokerId) -> None:
        """Start a process of the broker on its disk."""
        options, version = self.options, self.versions[broker_id]
        is_first = version == self._first_version
        trace = self.begin_process(broker_id, None if is_first else version)
        self._running[broker_id] = version
        config = Config(
            broker_id=broker_id,
            port=9000 + broker_id,
            replica_lag_time_ms=options.replica_lag_time_ms,
            checkpoint_ms=options.checkpoint_ms,
            min_insync_replicas=options.min_insync_replicas,
            unclean_leader_election=options.unclean_leader_election,
            fetch_records_max=options.fetch_records_max,
            reads_max=options.reads_max,
            internal_topic_partitions=INTERNAL_PARTITIONS,
            internal_topic_replicas=options.replication_factor,
            token_check_ms=options.token_check_ms,
            has_mutation_quota=options.mutation_quota,
            quota_window_num=QUOTA_WINDOWS,
            inter_broker_protocol=version.inter_broker_protocol,
            rules=version_rules(version, options.mutant),
        )
        if broker_id in self.processes:
            self._former.append(self.processes[broker_id])
        self.processes[broker_id] = Process(
            self,
            config,
            self.disks[broker_id],
            trace,
            self.random(f"broker-{broker_id}-{trace.incarnation}"),
        )
        if self.move_recorder is not None:
            process = self.processes[broker_id]
            process.zookeeper.on_done = partial(self.move_recorder.asked, process)

    def hasty_retries(self) -> list[str]:
        """What a broker asked for again and again without a pause, one phrase each."""
        return sorted(
            {
                f"broker {process.broker_id}: {what}"
                for process in (*self._former, *self.processes.values())
                for what in process.failed_tries.hasty
            }
        )

    def version_of(self, broker_id: BrokerId) -> BrokerVersion:
        """Of the process that runs, else of the next one."""
        process = self.processes.get(broker_id)
        is_alive = process is not None and process.is_alive
        return self._running[broker_id] if is_alive else self.versions[broker_id]

    def break_connection(self, broker_id: BrokerId) -> None:
        """Close the connection of the broker to ZooKeeper; its session goes on."""
        self.processes[broker_id].zookeeper.break_connection()

    def restart(self, dead: Process) -> bool:
        """Start the broker of that process again, unless that has been done before."""
        dead.die()
        is_last = self.processes[dead.broker_id] is dead
        if is_last and self._boot_ms:
            self.scheduler.after_ms(self._boot_ms, partial(self._boot, dead))
        elif is_last:
            self.start(dead.broker_id)
        return is_last

    def _boot(self, dead: Process) -> None:
        """Start the broker, unless it was started in the meantime."""
        if self.processes[dead.broker_id] is dead:
            self.start(dead.broker_id)

    # ZooKeeper

    def controller(self) -> Process | None:
        """The process that holds `/controller`, alive, and acts as controller."""
        stat = self.zookeeper.peek(CONTROLLER).stat
        if stat is None:
            return None
        acting = (p for p in self._owners(stat.ephemeral_owner) if p.node.controller.is_active)
        return next((process for process in acting if process.is_alive), None)

    def reaches_zookeeper(self, broker_id: BrokerId) -> bool:
        """True when a broker that connects now would be served."""
        return self.zookeeper.is_serving and not self.cut_from_zookeeper[broker_id]

    def write_by_hand(self, op: Create | Delete | SetData) -> WriteResult:
        """Write one znode in a session that lasts no longer than that."""
        session_id = self.zookeeper.open_session(self.options.session_timeout_ms)
        result = self.write_in(session_id, op)
        self.zookeeper.end_session(session_id)
        return result

    def _tick_zookeeper(self) -> None:
        self.zookeeper.end_silent_sessions()
        self.scheduler.after_ms(ZOOKEEPER_TICK_MS, self._tick_zookeeper)

    def _owners(self, session_id: SessionId) -> Iterator[Process]:
        return (p for p in self.processes.values() if p.zookeeper.session_id == session_id)

    def _on_watch(self, session_id: SessionId, event: WatchFired) -> None:
        owner = next(self._owners(session_id), None)
        if owner is not None:
            owner.zookeeper.on_watch(event)

    def _on_session_end(self, session_id: SessionId) -> None:
        if self.move_recorder is not None:
            self.move_recorder.session_ended(session_id)
        owner = next(self._owners(session_id), None)
        if owner is not None:
            owner.zookeeper.on_session_end()

    # Network

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
        """Carry the request to the receiver, and its answer back, through the network."""
        sender = asker.peer if asker.is_broker else CLIENT
        self.sent[method_of(request)] += 1

        def deliver() -> None:
            process = self.processes.get(receiver)
            if process is None or not process.is_alive:
                back_us = self.network.carries(receiver, sender)
                if back_us is not None:
                    self.scheduler.after_us(back_us, lambda: on_answer(None, 0))
                return
            if self.move_recorder is None or not self.move_recorder.is_lost(receiver, origin):
                process.receive(request, lamport, answer, origin, asker)

        def answer(response: Response, answer_lamport: int) -> None:
            back_us = None if drops_response else self.network.passes(receiver, sender)
            if back_us is None:
                return
            if rule is not None and rule.verb == "hold_response":
                rule.held.append(lambda: on_answer(response, answer_lamport))
                return
            self.scheduler.after_us(back_us, lambda: on_answer(response, answer_lamport))

        rule = self.network.rule_for(sender, receiver, request)
        drops_response = rule is not None and rule.verb == "drop_response"
        if rule is not None and rule.verb == "drop_request":
            return
        if rule is not None and self._keeps(rule, deliver, lambda: on_answer(None, 0)):
            return
        doubled = rule is not None and rule.verb == "duplicate"
        if sender == CLIENT:
            doubled = doubled or self.network.doubles(request)
        else:
            doubled = doubled or self.network.duplicates()
        for _ in range(2 if doubled else 1):
            delay_us = self.network.passes(sender, receiver)
            if delay_us is not None:
                self.scheduler.after_us(delay_us, deliver)

    def _keeps(
        self, rule: RequestRule, deliver: Callable[[], None], refuse: Callable[[], None]
    ) -> bool:
        """True when the request does not leave now: it is held, or its sender is refused."""
        match rule.verb:
            case "hold":
                rule.held.append(deliver)
            case "delay":
                self.scheduler.after_ms(rule.delay_ms, deliver)
            case "error":
                self.scheduler.after_us(1, refuse)
            case "reorder":
                rule.held.append(deliver)
                if len(rule.held) == rule.window:
                    for number, leave in enumerate(reversed(rule.held)):
                        self.scheduler.after_us(number, leave)
                    rule.held = []
            case _:
                return False
        return True


class VirtualState:
    """What the simulated ZooKeeper publishes."""

    def __init__(self, world: VirtualCluster) -> None:
        self._world = world

    def controller(self) -> int | None:
        """The broker that acts as controller."""
        process = self._world.controller()
        return process.broker_id if process else None

    def controller_epoch(self) -> int | None:
        """Of the last controller."""
        znode = self._world.zookeeper.peek(CONTROLLER_EPOCH)
        return parse_controller_epoch(znode.data) if znode.stat else None

    def live_brokers(self) -> list[int]:
        """The registered brokers."""
        peek = self._world.zookeeper.peek
        return [b for b in self._world.disks if peek(broker_path(b)).stat is not None]

    def topics(self) -> list[str]:
        """All topics, ascending; malformed ones too."""
        return [*self._world.zookeeper.children(TOPICS)]

    def assignment(self, topic: str) -> dict[int, tuple[BrokerId, ...]]:
        """The assigned replicas of each partition; empty for an unknown topic."""
        assigned = self._world.assignments()
        return {key.partition: replicas for key, replicas in assigned.items() if key.topic == topic}

    def state_of(self, partition: TopicPartition) -> LeaderAndIsr | None:
        """The published leader, epoch and ISR of a partition."""
        known = self._world.state(partition)
        return known[0] if known else None

    def version_of(self, partition: TopicPartition) -> StateVersion | None:
        """The version of that, and the incarnation of its znode."""
        stat = self._world.zookeeper.peek(leader_and_isr_path(partition)).stat
        return StateVersion(stat.version, stat.czxid) if stat else None

    def view(self) -> ClusterView:
        """The roles of all brokers now."""
        return self._world.view()
