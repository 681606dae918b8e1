"""A cluster in which nothing happens by itself: nodes of the core, one ZooKeeper, held messages.

Controllers are brokers that host no replica, as in the specs. Sessions are the worst case of the
specs: an expired one takes the ephemeral znode away, and its process is not notified and writes on.
Each broker has a clock that stands still unless a step needs time to pass.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from fencepost.fault_injection.workload.operations import Answer, Fetch, Produce
from fencepost.impl.core.config import Config
from fencepost.impl.core.types.effects import ListChildren, ReadZnodes, Send
from fencepost.impl.core.types.events import WatchFired
from fencepost.impl.core.types.messages import (
    FetchResponse,
    LeaderAndIsrRequest,
    ProduceResponse,
    Response,
)
from fencepost.impl.core.types.zookeeper import Create, Delete, Written
from fencepost.impl.mutants.mutants import mutant_name, rules_of
from fencepost.impl.sim.engine.move_recorder import NEVER_MS, MoveRecorder
from fencepost.impl.sim.stepped.broker import SESSION_TIMEOUT_MS, HeldAsk, SteppedBroker
from fencepost.impl.sim.stepped.schedule import SteppedSetting
from fencepost.impl.sim.stepped.spec_state import KEY, STATE
from fencepost.impl.sim.world.operations import TracedClient, TracedOperation, request_of
from fencepost.impl.sim.world.virtual_world import VirtualWorld
from fencepost.impl.sim.world.zookeeper import ZnodeChange
from fencepost.spec.trace import FINAL_READER
from fencepost.spec.vocabulary import (
    ANY_VERSION,
    NO_BROKER,
    NO_BROKER_EPOCH,
    BrokerEpoch,
    BrokerId,
    SessionId,
)
from fencepost.spec.znodes import (
    BROKER_IDS,
    CONTROLLER,
    CONTROLLER_EPOCH,
    LeaderAndIsr,
    TopicDocument,
    broker_path,
    document_bytes,
    parse_leader_and_isr,
    topic_path,
)

RETRY_MS = 100
LAG_MS = 1_000_000
READS_MAX = 20
READ_RECORDS = 100
SETTLES_MAX = 1_000
FLAGS = {
    "replica-lag-ms": LAG_MS,
    "fetch-wait-ms": 0,
    "fetch-records-max": 1,
    "request-timeout-ms": NEVER_MS,
    "retry-ms": RETRY_MS,
    "checkpoint-ms": NEVER_MS,
}
"""The options of a process that has the configuration of these nodes."""


@dataclass(slots=True, eq=False)
class HeldCommand:
    """A LeaderAndIsr request that its controller has sent, or is about to send."""

    sender: int
    send: Send
    lamport: int
    is_sent: bool = False
    copy: int = 1

    @property
    def request(self) -> LeaderAndIsrRequest:
        """What it says."""
        assert isinstance(self.send.request, LeaderAndIsrRequest)
        return self.send.request


@dataclass(slots=True, eq=False)
class FetchAnswer:
    """A leader's answer to a fetch, in flight."""

    leader: int
    follower: int
    send: Send
    response: Response
    leader_epoch: int
    """Of the follower, when it asked."""
    lamport: int
    copy: int = 1


@dataclass(slots=True)
class SpecHistory:
    """The history variables of the specs, rebuilt from what the core did."""

    committed: list[dict[str, object]] = field(default_factory=list)
    acknowledged: list[dict[str, object]] = field(default_factory=list)
    breaches: list[dict[str, object]] = field(default_factory=list)

    def breach(self, invariant: str, broker: int) -> None:
        """Record an act that no rule allows."""
        entry: dict[str, object] = {"actor": broker, "invariant": invariant}
        if entry not in self.breaches:
            self.breaches.append(entry)


class SteppedWorld(VirtualWorld):
    """Brokers, one ZooKeeper and the messages in flight, all moved by the stepper alone."""

    move_recorder: MoveRecorder

    def __init__(self, setting: SteppedSetting, assignment: tuple[int, ...], run_id: str) -> None:
        super().__init__(run_id, MoveRecorder())
        self.setting = setting
        self.assignment = assignment
        self.commands: list[HeldCommand] = []
        self.answers: list[FetchAnswer] = []
        self.outstanding: dict[int, dict[int, Send]] = {c: {} for c in setting.controllers}
        self.ledger = SpecHistory()
        self.producer = TracedClient(self, "client-1")
        self._owners: dict[SessionId, int] = {}
        self._last_state: LeaderAndIsr | None = None
        self._decided_needlessly: set[int] = set()
        """Controllers that decided while a member of the ISR was there."""
        self.is_state_a_leaders = False
        """True when the partition's state was last written by a leader."""
        self.operator = self.zookeeper.open_session(SESSION_TIMEOUT_MS)
        self._write(Create(path=CONTROLLER_EPOCH, data=b"0"))
        holds = dict.fromkeys(setting.controllers, self._hold_command)
        self.nodes = {
            number: SteppedBroker(self, self._config(number), holds.get(number))
            for number in (*setting.controllers, *setting.brokers)
        }

    def _config(self, number: int) -> Config:
        return Config(
            broker_id=BrokerId(number),
            rules=rules_of(self.setting.level),
            unclean_leader_election=self.setting.unclean_leader_election,
            replica_lag_time_ms=LAG_MS,
            fetch_wait_ms=0,
            fetch_records_max=1,
            request_timeout_ms=NEVER_MS,
            retry_ms=RETRY_MS,
            checkpoint_ms=NEVER_MS,
        )

    # Beginning

    def begin(self) -> None:
        """Reach the first state of the specs, then give the brokers their mutant."""
        if self.setting.start == "serving":
            self._begin_serving()
        else:
            self._begin_empty()
        for broker in self.nodes.values():
            broker.awaken([mutant_name(name) for name in self.setting.mutants])

    def _begin_empty(self) -> None:
        for number in self.setting.controllers:
            self._join(number, lambda held: CONTROLLER not in held.paths or is_read(held))
        for number in self.setting.brokers:
            self.nodes[number].start()

    def _begin_serving(self) -> None:
        for number in self.setting.controllers:
            self._join(number)
        for number in self.setting.initial_isr:
            self._join(number)
        self.create_topic()
        self.drain()
        for number in sorted(set(self.setting.brokers) - set(self.setting.initial_isr)):
            self._join(number)
        for broker in self.running():
            broker.truncate_now()

    def _join(self, number: int, wanted: Callable[[HeldAsk], bool] = lambda _: True) -> None:
        self.nodes[number].start()
        self.nodes[number].join()
        self.drain(wanted)

    def drain(self, wanted: Callable[[HeldAsk], bool] = lambda _: True) -> None:
        """Deliver everything that is held, except fetches and unwanted questions."""
        for _ in range(SETTLES_MAX):
            if not any(self._release_one(broker, wanted) for broker in self.nodes.values()):
                return
        raise AssertionError("the cluster does not come to rest")

    def _release_one(self, broker: SteppedBroker, wanted: Callable[[HeldAsk], bool]) -> bool:
        if broker.node is None:
            return False
        if broker.watches:
            broker.release_watch(broker.watches[0].path)
            return True
        if broker.release(wanted):
            return True
        mine = [command for command in self.commands if command.send.to == broker.number]
        for command in mine[:1]:
            self.commands.remove(command)
            self._deliver_command(broker, command)
        return bool(mine)

    def _deliver_command(self, broker: SteppedBroker, command: HeldCommand) -> None:
        """Deliver the command, and its answer at once."""
        controller = self.nodes[command.sender]

        def answer(response: Response, lamport: int) -> None:
            waiting = self.outstanding[command.sender]
            if waiting.get(int(command.send.to)) is command.send:
                del waiting[int(command.send.to)]
            controller.respond(command.send, response, lamport)

        broker.receive(command.request, command.lamport, answer, controller.origin(command.send))

    # Acts of the environment

    def create_topic(self) -> None:
        """Write the topic znode, as an administrator does."""
        document = TopicDocument(partitions={"0": list(self.assignment)})
        self._write(Create(path=topic_path(KEY.topic), data=document_bytes(document)))

    def expire(self, number: int) -> None:
        """Delete the ephemeral znode: a broker's registration, or `/controller`."""
        is_controller = number in self.setting.controllers
        path = CONTROLLER if is_controller else broker_path(number)
        self._write(Delete(path=path, expected_version=ANY_VERSION))

    def _write(self, op: Create | Delete) -> None:
        result = self.write_in(self.operator, op)
        assert isinstance(result, Written), f"{op} was refused: {result}"

    def produce(self, number: int, value: int) -> None:
        """Let a client append a record with acks=all."""
        operation = Produce(partition=KEY, values=(str(value),), timeout_ms=NEVER_MS)
        traced = self.producer.begin(operation)
        origin = self.move_recorder.asks(self.producer.name)

        def answer(response: Response, _: int) -> None:
            assert isinstance(response, ProduceResponse)
            self.move_recorder.hears(origin, response)
            if _end(traced, response):
                record = {"leader_epoch": response.leader_epoch, "value": value}
                self.ledger.acknowledged.append({"offset": response.base_offset, "record": record})

        lamport = self.producer.trace.clock.now
        self.nodes[number].receive(request_of(operation), lamport, answer, origin)

    def read(self, number: int) -> None:
        """Let a client read the committed records of this broker, from offset 0."""
        reader, found = TracedClient(self, FINAL_READER), 0
        for _ in range(READS_MAX):
            operation = Fetch(partition=KEY, offset=found, max_records=READ_RECORDS)
            traced = reader.begin(operation)
            origin = self.move_recorder.asks(reader.name)
            lamport = reader.trace.clock.now
            ((response, _),) = self.nodes[number].answers(request_of(operation), lamport, origin)
            assert isinstance(response, FetchResponse)
            self.move_recorder.hears(origin, response)
            found += len(response.records)
            if not _end(traced, response) or found >= response.high_watermark:
                return

    # Commands

    def _hold_command(self, broker: SteppedBroker, send: Send) -> None:
        """Hold a command until a step sends it."""
        self.outstanding[broker.number][int(send.to)] = send
        self.commands.append(HeldCommand(broker.number, send, broker.trace.clock.now))

    def unsent(self, controller: int) -> list[HeldCommand]:
        """What the controller is about to send."""
        return [c for c in self.commands if c.sender == controller and not c.is_sent]

    def free_channels(self, controller: int) -> None:
        """Expire the commands that were not answered, so that the controller sends again."""
        broker = self.nodes[controller]
        waiting, self.outstanding[controller] = self.outstanding[controller], {}
        for send in waiting.values():
            broker.respond(send, None, 0)
        broker.clock.jump(RETRY_MS)

    def drop_answers(self, follower: int, copies: tuple[int, ...] = (1, 2)) -> None:
        """Drop answers to the follower, which come too late to be used."""
        self.answers = [a for a in self.answers if a.follower != follower or a.copy not in copies]

    # ZooKeeper

    def owner(self, session_id: SessionId) -> int:
        """The broker of a session, 0 when there is none."""
        for broker in self.nodes.values():
            if broker.session_id and broker.session_id == session_id:
                self._owners[session_id] = broker.number
        return self._owners.get(session_id, 0)

    def controller(self) -> int:
        """The broker that holds `/controller`, 0 when there is none."""
        holder = self.zookeeper.peek(CONTROLLER).stat
        return self.owner(holder.ephemeral_owner) if holder is not None else 0

    def is_registered(self, number: int) -> bool:
        """True while the broker has a znode of its own."""
        return self.zookeeper.peek(broker_path(number)).stat is not None

    def broker_epoch(self, number: int) -> BrokerEpoch:
        """Of the registration that stands; 0 of a broker that has none."""
        stat = self.zookeeper.peek(broker_path(number)).stat
        return BrokerEpoch(stat.czxid) if stat is not None else NO_BROKER_EPOCH

    def _on_watch(self, session_id: SessionId, event: WatchFired) -> None:
        number = self.owner(session_id)
        if number and self.nodes[number].session_id == session_id:
            self.nodes[number].watches.append(event)

    def _on_session_end(self, session_id: SessionId) -> None:
        """Steps of the schedule notify the process."""

    def _on_transaction(self, transaction: ZnodeChange) -> None:
        super()._on_transaction(transaction)
        if transaction.path == STATE and transaction.data is not None:
            self._judge(self.owner(transaction.session_id), transaction.data)

    def _judge(self, author: int, data: bytes) -> None:
        """Record a breach when the author may not write this state of the partition."""
        before, self._last_state = self._last_state, parse_leader_and_isr(STATE, data)
        self.is_state_a_leaders = author in self.setting.brokers
        if author in self.setting.controllers:
            in_office = self.controller() == author
            if not in_office and self.zookeeper.peek(CONTROLLER).stat is not None:
                self.ledger.breach("StaleControllerHarmless", author)
            if before is not None:
                self._judge_election(author, before, self._last_state, in_office=in_office)
        elif before is not None:
            held = (before.leader, before.leader_epoch)
            if held != (self._last_state.leader, self._last_state.leader_epoch):
                self.ledger.breach("OnlyAuthorisedWrites", author)

    def _judge_election(
        self, author: int, before: LeaderAndIsr, now: LeaderAndIsr, *, in_office: bool
    ) -> None:
        """Record an unclean election, and whether it was needless.

        It was if the ISR was back when it was decided, or is by now and the controller is deposed.
        """
        if now.leader == NO_BROKER or now.leader in before.isr:
            return
        self.ledger.breach("UncleanElection", author)
        if author in self._decided_needlessly or (self._is_back(before) and not in_office):
            self.ledger.breach("UncleanOnlyIfIsrDead", author)

    def note_decision(self, author: int) -> None:
        """Remember whether a member of the ISR was alive when the author decided."""
        self._decided_needlessly.discard(author)
        if self._last_state is not None and self._is_back(self._last_state):
            self._decided_needlessly.add(author)

    def _is_back(self, state: LeaderAndIsr) -> bool:
        return any(map(self.is_registered, state.isr))

    def running(self) -> Iterator[SteppedBroker]:
        """The brokers with a node."""
        return (a for n, a in self.nodes.items() if n in self.setting.brokers and a.node)


def _end(traced: TracedOperation, response: Response) -> bool:
    """Record the completion, of a failure the error alone; returns whether it is a success."""
    answer = traced.answer(response)
    error = Answer(outcome=answer.outcome, error_code=answer.error_code)
    traced.end(answer if answer.is_ok else error)
    return answer.is_ok


def is_read(held: HeldAsk) -> bool:
    """True of a read of data."""
    return isinstance(held.ask, ReadZnodes)


def is_membership(held: HeldAsk) -> bool:
    """True of the read of `/controller`."""
    return is_read(held) and CONTROLLER in held.paths


def is_state_read(held: HeldAsk) -> bool:
    """True of a read of the partition's state."""
    return is_read(held) and STATE in held.paths


def is_answered_state_read(held: HeldAsk) -> bool:
    """True of such a read that ZooKeeper has answered."""
    return is_state_read(held) and held.answer is not None


def is_listing(path: str) -> Callable[[HeldAsk], bool]:
    """True of a listing of the children of `path`."""
    return lambda held: isinstance(held.ask, ListChildren) and path in held.paths


def is_registration_read(held: HeldAsk) -> bool:
    """True of a read of registrations."""
    return is_read(held) and any(path.startswith(BROKER_IDS) for path in held.paths)
