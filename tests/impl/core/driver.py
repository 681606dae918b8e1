"""One node, driven event by event, with a ZooKeeper in memory and a disk: nothing else moves.

The node's questions to ZooKeeper are answered in order and at once, unless a test asks for a
`Fate`; what it sends to peers is kept for the test to answer.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from msgspec.structs import replace

from fencepost.impl.core.config import Config
from fencepost.impl.core.node import Node
from fencepost.impl.core.rules.replica import Replica
from fencepost.impl.core.types.asker import UNKNOWN_ASKER, Asker
from fencepost.impl.core.types.effects import (
    ActionTaken,
    AppendRecords,
    CheckpointHighWatermark,
    DeleteLog,
    Effect,
    ListChildren,
    ReadZnodes,
    RefusalTold,
    Reply,
    ReplyRecords,
    ReportMalformed,
    ReportWaiting,
    Send,
    ShutDown,
    StartLog,
    TruncateRecords,
    WriteZnodes,
)
from fencepost.impl.core.types.events import (
    Event,
    RequestFailed,
    RequestReceived,
    ResponseReceived,
    SessionEstablished,
    SessionLost,
    Tick,
    WatchFired,
)
from fencepost.impl.core.types.messages import (
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    Request,
    Response,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from fencepost.impl.core.types.scripts import Ask, unknown
from fencepost.impl.core.types.zookeeper import Create, SetData, WriteOp, WriteResult, Written
from fencepost.impl.sim.world.disk import SimulatedDisk
from fencepost.impl.sim.world.zookeeper import SimulatedZooKeeper
from fencepost.spec.vocabulary import Action, BrokerEpoch, BrokerId, SessionId, ZnodeVersion
from fencepost.spec.znodes import (
    CONTROLLER,
    CONTROLLER_EPOCH,
    PERSISTENT_PATHS,
    BrokerDocument,
    ControllerDocument,
    LeaderAndIsr,
    TopicDocument,
    TopicPartition,
    broker_path,
    document_bytes,
    leader_and_isr_path,
    parse_leader_and_isr,
    topic_path,
)

SESSION_TIMEOUT_MS = 60_000
STEPS_MAX = 500
"""A node that asks ZooKeeper more often than this without time passing is in a loop."""

Answer = TypeVar("Answer", bound=Response)


class Fate(Enum):
    """What becomes of one question to ZooKeeper that a test has singled out."""

    LOSE_REQUEST = "not applied, the answer is unknown"
    LOSE_REPLY = "applied, the answer is unknown"
    HOLD = "kept until `release`"


@dataclass(slots=True)
class Plan:
    """The next question that touches `path` meets `fate`, after `first` has run."""

    kind: type[Ask]
    path: str
    fate: Fate | None
    first: Callable[[], None]


class Driver:
    """The node, its ZooKeeper, its disk, and everything that it did."""

    def __init__(self, config: Config, *, takes_metadata: bool = True) -> None:
        """Peers take metadata at once, and `sent` does not have them, unless a test answers."""
        self.config = config
        self._takes_metadata = takes_metadata
        self.now_ms = 0
        self.disk = SimulatedDisk()
        self.effects: list[Effect] = []
        self.sent: list[Send] = []
        self.replies: dict[int, Response] = {}
        self.session_id = SessionId(0)
        self._events: deque[Event] = deque()
        self._is_busy = False
        self._held: list[Ask] = []
        self._plans: list[Plan] = []
        self._tokens = 0
        self._registrations: dict[int, SessionId] = {}
        self.zookeeper = SimulatedZooKeeper(
            now_ms=lambda: self.now_ms,
            on_watch=self._on_watch,
            on_session_end=lambda _: None,
        )
        self.zookeeper.ensure(PERSISTENT_PATHS)
        self.outsider = self.zookeeper.open_session(SESSION_TIMEOUT_MS)
        self.node = Node(config, {})

    # The node's life

    def start(self, recovered: bool = False) -> None:
        """A session is established, and the node has done all that follows from it."""
        if recovered:
            self.node = Node(self.config, self.disk.recover())
            self._events.clear()
        self.session_id = self.zookeeper.open_session(SESSION_TIMEOUT_MS)
        self.step(SessionEstablished(session_id=self.session_id))

    def lose_session(self) -> None:
        """ZooKeeper has ended the session, and the node knows."""
        self.zookeeper.end_session(self.session_id)
        self.session_id = SessionId(0)
        self.step(SessionLost())

    def tick(self, milliseconds: int = 0, wall_ms: int = 0) -> None:
        """So much time has passed, and the node has been told; `wall_ms` is that of the world."""
        self.now_ms += milliseconds
        self.step(Tick(wall_ms=wall_ms))

    def step(self, event: Event) -> list[Effect]:
        """The node has taken `event` and all answers of ZooKeeper to it; returns the effects."""
        begun = len(self.effects)
        self._take(event)
        self._settle()
        return self.effects[begun:]

    # Requests

    def deliver(self, request: Request, answer: type[Answer]) -> Answer:
        """The answer to `request`, which must come without time passing."""
        return self.reply(self.ask(request), answer)

    def ask(self, request: Request, asker: Asker = UNKNOWN_ASKER) -> int:
        """`request` has reached the node; returns its token."""
        self._tokens += 1
        self.step(RequestReceived(token=self._tokens, request=request, asker=asker))
        return self._tokens

    def reply(self, token: int, answer: type[Answer]) -> Answer:
        """What was answered to the request with `token`."""
        response = self.replies[token]
        assert isinstance(response, answer)
        return response

    def is_answered(self, token: int) -> bool:
        """True when the node has replied."""
        return token in self.replies

    # Peers

    def respond(self, send: Send, response: Response) -> None:
        """The peer has answered."""
        self.step(
            ResponseReceived(
                request_id=send.request_id, sender=send.to, request=send.request, response=response
            )
        )

    def fail(self, send: Send) -> None:
        """No answer came."""
        self.step(RequestFailed(request_id=send.request_id, to=send.to, request=send.request))

    def commands(self, broker_id: int) -> list[Send]:
        """LeaderAndIsr requests to a broker so far."""
        return [
            send
            for send in self.sent
            if send.to == broker_id and isinstance(send.request, LeaderAndIsrRequest)
        ]

    def acknowledge_commands(self) -> None:
        """Every command so far has been answered well, also our own to ourselves."""
        for send in self.sent:  # grows: an answer may set the next request free
            if isinstance(send.request, LeaderAndIsrRequest):
                self.respond(send, LeaderAndIsrResponse())
            elif isinstance(send.request, StopReplicaRequest):
                self.respond(send, StopReplicaResponse())

    # ZooKeeper, as others change it

    def register(self, broker_id: int) -> None:
        """Another broker is live, or live again."""
        self.unregister(broker_id)
        session = self.zookeeper.open_session(SESSION_TIMEOUT_MS)
        self._registrations[broker_id] = session
        data = document_bytes(BrokerDocument(host="127.0.0.1", port=9000 + broker_id))
        op = Create(path=broker_path(broker_id), data=data, ephemeral=True)
        assert isinstance(self.zookeeper.write(session, (op,)), Written)
        self._settle()

    def unregister(self, broker_id: int) -> None:
        """Another broker is gone."""
        if broker_id in self._registrations:
            self.zookeeper.end_session(self._registrations.pop(broker_id))
            self._settle()

    def broker_epoch(self, broker_id: int) -> BrokerEpoch:
        """The czxid of the broker's registration."""
        stat = self.zookeeper.peek(broker_path(broker_id)).stat
        assert stat is not None
        return BrokerEpoch(stat.czxid)

    def make_controller(self, broker_id: int) -> None:
        """A registered broker holds `/controller`, under the next controller epoch."""
        epoch = self.zookeeper.peek(CONTROLLER_EPOCH)
        document = ControllerDocument(brokerid=broker_id, timestamp="0")
        office = Create(path=CONTROLLER, data=document_bytes(document), ephemeral=True)
        raised: WriteOp = Create(path=CONTROLLER_EPOCH, data=b"1")
        if epoch.stat is not None:
            data = str(int(epoch.data) + 1).encode()
            raised = SetData(path=CONTROLLER_EPOCH, data=data, expected_version=epoch.stat.version)
        result = self.zookeeper.write(self._registrations[broker_id], (office, raised))
        assert isinstance(result, Written)
        self._settle()

    def write(self, *ops: WriteOp) -> WriteResult:
        """Another client has written."""
        result = self.zookeeper.write(self.outsider, ops)
        self._settle()
        return result

    def create_topic(self, topic: str, *partitions: tuple[int, ...]) -> None:
        """A topic znode with these replicas per partition stands."""
        listed = {str(number): list(replicas) for number, replicas in enumerate(partitions)}
        data = document_bytes(TopicDocument(partitions=listed))
        assert isinstance(self.write(Create(path=topic_path(topic), data=data)), Written)

    def put_state(self, key: TopicPartition, state: LeaderAndIsr | bytes) -> None:
        """LeaderAndISR holds `state`, written by another client."""
        path = leader_and_isr_path(key)
        data = state if isinstance(state, bytes) else state.document()
        if self.zookeeper.peek(path).stat is not None:
            op = SetData(path=path, data=data, expected_version=ZnodeVersion(-1))
            result = self.write(op)
        else:
            parent = Create(path=path.rpartition("/")[0], data=b"")
            result = self.write(parent, Create(path=path, data=data))
        assert isinstance(result, Written)

    def state(self, key: TopicPartition) -> LeaderAndIsr:
        """What ZooKeeper holds about a partition, but for the epochs of brokers."""
        return replace(self.named_state(key), isr_broker_epochs={})

    def named_state(self, key: TopicPartition) -> LeaderAndIsr:
        """What ZooKeeper holds about a partition."""
        path = leader_and_isr_path(key)
        return parse_leader_and_isr(path, self.zookeeper.peek(path).data)

    # What becomes of questions

    def plan_write(
        self, path: str, fate: Fate | None, first: Callable[[], None] = lambda: None
    ) -> None:
        """The next write to `path` meets `fate`; `first` runs before it."""
        self._plans.append(Plan(WriteZnodes, path, fate, first))

    def plan_read(
        self, path: str, fate: Fate | None, first: Callable[[], None] = lambda: None
    ) -> None:
        """The next read of `path` meets `fate`; `first` runs before it."""
        self._plans.append(Plan(ReadZnodes, path, fate, first))

    def plan_listing(
        self, path: str, fate: Fate | None, first: Callable[[], None] = lambda: None
    ) -> None:
        """The next listing of children of `path` meets `fate`; `first` runs before it."""
        self._plans.append(Plan(ListChildren, path, fate, first))

    def release(self) -> None:
        """Everything that was held reaches ZooKeeper now, in order."""
        held, self._held = self._held, []
        for ask in held:
            self._events.append(self._answer(ask))
        self._settle()

    # What was done

    @property
    def actions(self) -> list[ActionTaken]:
        """Every action, in order."""
        return [effect for effect in self.effects if isinstance(effect, ActionTaken)]

    def took(self, action: Action) -> list[ActionTaken]:
        """Every time that `action` was taken."""
        return [taken for taken in self.actions if taken.action is action]

    def live_seen(self) -> frozenset[BrokerId]:
        """The live brokers, as a controller told of them last."""
        return frozenset(self.took(Action.DETECT_BROKER_CHANGE)[-1].live_brokers or ())

    @property
    def malformed(self) -> list[str]:
        """Paths that were reported."""
        return [effect.path for effect in self.effects if isinstance(effect, ReportMalformed)]

    @property
    def writes(self) -> list[WriteZnodes]:
        """Every multi that was asked for."""
        return [effect for effect in self.effects if isinstance(effect, WriteZnodes)]

    def replica(self, key: TopicPartition) -> Replica:
        """The node's replica."""
        return self.node.broker.replicas[key]

    # Machinery

    def _settle(self) -> None:
        if self._is_busy:
            return
        for _ in range(STEPS_MAX):
            if not self._events:
                return
            self._take(self._events.popleft())
        raise AssertionError("the node asks ZooKeeper without end")

    def _take(self, event: Event) -> None:
        self._is_busy = True
        for effect in self.node.step(event, self.now_ms):
            self.effects.append(effect)
            self._perform(effect)
        self._is_busy = False

    def _perform(self, effect: Effect) -> None:
        match effect:
            case Send(request=UpdateMetadataRequest()) if self._takes_metadata:
                self._events.append(_metadata_taken(effect))
            case Send():
                self.sent.append(effect)
            case Reply(token=token, response=response):
                self._answered(token, response)
            case ReplyRecords(token=token, response=response, topic_partition=key):
                records = self.disk.read(key, effect.start, effect.end)
                self._answered(token, replace(response, records=records))
            case ReadZnodes() | ListChildren() | WriteZnodes():
                self._question(effect)
            case AppendRecords() | TruncateRecords() | CheckpointHighWatermark():
                self.disk.perform(effect)
            case StartLog() | DeleteLog():
                self.disk.perform(effect)
            case ActionTaken() | RefusalTold() | ReportMalformed() | ReportWaiting() | ShutDown():
                pass

    def _answered(self, token: int, response: Response) -> None:
        assert token not in self.replies, f"{response} is a second answer"
        self.replies[token] = response

    def _question(self, ask: Ask) -> None:
        paths = [op.path for op in ask.ops] if isinstance(ask, WriteZnodes) else list(ask.paths)
        plans = (p for p in self._plans if isinstance(ask, p.kind) and p.path in paths)
        plan = next(plans, None)
        if plan is None:
            self._events.append(self._answer(ask))
            return
        self._plans.remove(plan)
        if plan.fate is Fate.HOLD:
            self._held.append(ask)
            return
        plan.first()
        answer = self._answer(ask) if plan.fate is not Fate.LOSE_REQUEST else unknown(ask)
        self._events.append(answer if plan.fate is None else unknown(ask))

    def _answer(self, ask: Ask) -> Event:
        if not self.session_id and not isinstance(ask, WriteZnodes):
            return unknown(ask)
        return self.zookeeper.answer(self.session_id, ask)

    def _on_watch(self, session_id: SessionId, event: WatchFired) -> None:
        if session_id == self.session_id:
            self._events.append(event)


def _metadata_taken(send: Send) -> ResponseReceived:
    return ResponseReceived(
        request_id=send.request_id,
        sender=send.to,
        request=send.request,
        response=UpdateMetadataResponse(),
    )


def broker_ids(*numbers: int) -> frozenset[BrokerId]:
    """Numbers as a set of brokers."""
    return frozenset(map(BrokerId, numbers))
