"""A node of the core in the simulator: what it asks for is performed, what it does is traced.

When an event reaches the node, and when a request leaves it, is up to the world: `process.py` has
brokers that run by themselves, `stepped/broker.py` has brokers with every effect held.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable

from msgspec.structs import replace

from fencepost.impl.core.config import Config
from fencepost.impl.core.node import Node
from fencepost.impl.core.types.asker import UNKNOWN_ASKER, Asker
from fencepost.impl.core.types.effects import (
    ActionTaken,
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
    WriteZnodes,
)
from fencepost.impl.core.types.events import (
    Event,
    RequestFailed,
    RequestReceived,
    ResponseReceived,
    ZooKeeperEvent,
)
from fencepost.impl.core.types.messages import Request, Response
from fencepost.impl.core.types.scripts import Ask
from fencepost.impl.sim.engine.clock import VirtualClock
from fencepost.impl.sim.engine.move_recorder import RequestOrigin
from fencepost.impl.sim.engine.recorder import NodeTrace
from fencepost.impl.sim.world.disk import SimulatedDisk
from fencepost.impl.sim.world.virtual_world import VirtualWorld
from fencepost.impl.trace_lines import (
    ZnodeTrace,
    action_taken,
    log_recovered,
    node_started,
    refused,
)
from fencepost.spec.vocabulary import Action, SessionId

Answer = Callable[[Response, int], None]
"""Takes a response and the Lamport clock of its sender."""


class SimulatedBroker(ABC):
    """One broker: the configuration and the disk, and the requests that it has not answered."""

    trace: NodeTrace
    """Of the incarnation that runs."""

    is_alive: bool
    """True while a process of the broker runs."""

    def __init__(self, world: VirtualWorld, config: Config, disk: SimulatedDisk) -> None:
        self.move_recorder = world.move_recorder
        self.clock = VirtualClock(world.scheduler)
        self._scheduler = world.scheduler
        self.config = config
        self.broker_id = config.broker_id
        self.disk = disk
        self._answers: dict[int, Answer] = {}
        self._tokens = 0
        self._znodes = ZnodeTrace(config.broker_id)

    def _boot(self, trace: NodeTrace) -> Node:
        """Trace the start and what the disk holds, and return a node that begins with that."""
        self.trace = trace
        self._znodes = ZnodeTrace(self.broker_id)
        trace.write(node_started(self.broker_id))
        found = self.disk.recover()
        for key, log in found.items():
            trace.write(log_recovered(self.broker_id, key, log))
        return Node(self.config, found)

    @abstractmethod
    def step(self, event: Event) -> None:
        """Let the core take the event, and perform what it asks."""

    def origin(self, send: Send) -> RequestOrigin:
        """This process, as the sender of the request."""
        return RequestOrigin(number=send.request_id, process=self)

    def receive(
        self,
        request: Request,
        lamport: int,
        answer: Answer,
        origin: RequestOrigin | None = None,
        asker: Asker = UNKNOWN_ASKER,
    ) -> None:
        """Let the core take a request; `answer` gets the response, now or later."""
        self.trace.clock.observe(lamport)
        self._tokens += 1
        self._answers[self._tokens] = answer
        if self.move_recorder is not None:
            self.move_recorder.arrived(self, self._tokens, origin)
        connection = asker.principal if asker is not UNKNOWN_ASKER else ""
        received = RequestReceived(
            token=self._tokens,
            request=request,
            asker=asker,
            connection=connection,
            wall_ms=self._scheduler.now_ms,
        )
        self.step(received)

    def respond(self, send: Send, response: Response | None, lamport: int) -> None:
        """Let the core take the response to its request; None: there was none in time."""
        number, to, request = send.request_id, send.to, send.request
        self.trace.clock.observe(lamport)
        self.step(
            RequestFailed(request_id=number, to=to, request=request)
            if response is None
            else ResponseReceived(request_id=number, sender=to, request=request, response=response)
        )

    def _take_zookeeper(self, event: ZooKeeperEvent) -> None:
        """Trace what the answer says of LeaderAndISR znodes, and let the core take it."""
        for line in self._znodes.completed(event):
            self.trace.write(line)
        self.step(event)

    # Effects

    def _perform(self, effect: Effect) -> None:
        match effect:
            case ActionTaken():
                if effect.action is Action.ADVANCE_HIGH_WATERMARK:
                    self._make_durable()
                self._take_action(effect)
            case RefusalTold():
                self.trace.write(refused(effect, self.broker_id))
            case Send():
                self._make_durable()
                self._send(effect)
            case Reply(token=token, response=response):
                self._make_durable()
                self._answers.pop(token)(response, self.trace.clock.now)
            case ReplyRecords(token=token, response=response, topic_partition=key):
                self._make_durable()
                records = self.disk.read(key, effect.start, effect.end)
                full = replace(response, records=records) if records else response
                self._answers.pop(token)(full, self.trace.clock.now)
            case ReadZnodes() | ListChildren() | WriteZnodes():
                self._ask(effect)
            case ReportWaiting() | ReportMalformed() | ShutDown():
                self._tell_operator(effect)
            case _:
                self.disk.perform(effect)

    @abstractmethod
    def _make_durable(self) -> None:
        """Flush what the next effect tells another process, where a loss of power is possible."""

    def _take_action(self, effect: ActionTaken) -> None:
        self.trace.write(action_taken(effect, self.broker_id))

    def _trace_ask(self, ask: Ask, session_id: SessionId) -> None:
        mono_ns = self.trace.now_ns()
        for line in self._znodes.invoked(ask, session_id, mono_ns):
            self.trace.write(line, mono_ns)

    @abstractmethod
    def _send(self, effect: Send) -> None:
        """Send the request to its peer, or hold it."""

    @abstractmethod
    def _ask(self, ask: Ask) -> None:
        """Send the question to ZooKeeper, or hold it."""

    @abstractmethod
    def _tell_operator(self, effect: ReportWaiting | ReportMalformed | ShutDown) -> None:
        """A znode is another session's, or could not be read; or the broker may end now."""
