"""One broker of a stepped cluster: a node of the core, and its effects held until released."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fencepost.impl.core.config import Config
from fencepost.impl.core.node import Node
from fencepost.impl.core.rules.replica import Replica
from fencepost.impl.core.types.effects import (
    ActionTaken,
    ReportMalformed,
    ReportWaiting,
    Send,
    ShutDown,
    WriteZnodes,
)
from fencepost.impl.core.types.events import (
    Event,
    SessionEstablished,
    SessionLost,
    SessionReconnected,
    Tick,
    WatchFired,
)
from fencepost.impl.core.types.messages import LeaderAndIsrRequest, Record, Request, Response
from fencepost.impl.core.types.node_session import NO_SESSION
from fencepost.impl.core.types.scripts import Answer, Ask, unknown
from fencepost.impl.core.types.zookeeper import Create
from fencepost.impl.mutants.mutant import MutantName
from fencepost.impl.mutants.mutants import with_mutant
from fencepost.impl.paced import PacedPermissions, expand_now, paced, truncate_now
from fencepost.impl.sim.engine.move_recorder import MoveRecorder, RequestOrigin
from fencepost.impl.sim.stepped.spec_state import KEY
from fencepost.impl.sim.world.disk import SimulatedDisk
from fencepost.impl.sim.world.simulated_broker import SimulatedBroker
from fencepost.impl.sim.world.virtual_world import VirtualWorld
from fencepost.spec.pacing import Verb
from fencepost.spec.vocabulary import Offset
from fencepost.spec.znodes import CONTROLLER

SESSION_TIMEOUT_MS = 1_000_000

Answered = tuple[Response, int]
"""A response, and the Lamport clock of its sender."""


@dataclass(slots=True, eq=False)
class HeldAsk:
    """A question to ZooKeeper that is not answered yet."""

    ask: Ask
    answer: Answer | None = None
    """The answer, once ZooKeeper has given it."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The znodes that it is about."""
        if isinstance(self.ask, WriteZnodes):
            return tuple(op.path for op in self.ask.ops)
        return self.ask.paths


@dataclass(slots=True, eq=False)
class HeldRequest:
    """A follower's request to its leader that is not answered yet."""

    send: Send
    is_delivered: bool = False


class SteppedBroker(SimulatedBroker):
    """A node while it runs, its disk, and the messages that are held to and from it."""

    move_recorder: MoveRecorder

    def __init__(
        self,
        world: VirtualWorld,
        config: Config,
        hold_command: "Callable[[SteppedBroker, Send], None] | None",
    ) -> None:
        """`hold_command` keeps a LeaderAndIsr request until a step sends it.

        None for a broker that hosts replicas: the specs keep controllers apart.
        """
        super().__init__(world, config, SimulatedDisk())
        self.world = world
        self._hold_command = hold_command
        self.is_alive = False
        self.number = int(config.broker_id)
        self.node: Node | None = None
        self.session_id = NO_SESSION
        self.asks: list[HeldAsk] = []
        self.watches: list[WatchFired] = []
        self.question: HeldRequest | None = None
        self.is_reply_lost = False
        self.high_watermark = 0
        """As last observed, also while the broker is down."""
        self.taken: list[ActionTaken] = []
        """The actions since the last comparison."""
        self._checkpoint = -1

    # Life

    def awaken(self, mutants: list[MutantName]) -> None:
        """Give the broker, which may run already, this wrong rule.

        The first state is that of the right protocol, as in the specs with every switch.
        """
        assert len(mutants) <= 1, "the core knows one mutant at a time"
        for mutant in mutants:
            self.move_recorder.note(Verb.AWAKEN, broker=self.number, mutant=mutant)
            object.__setattr__(self.config, "rules", with_mutant(self.config.rules, mutant))

    def start(self) -> None:
        """Start the process, without a session."""
        self.is_alive = True
        self.node = self._boot(
            self.world.begin_process(self.broker_id, checkpoint=self._checkpoint)
        )
        self.pace: PacedPermissions = paced(self.node, self.config)

    def checkpoint(self, offset: int) -> None:
        """Set the high watermark on the disk of the broker, which is down."""
        self._checkpoint = offset
        self.disk.checkpoint(KEY, Offset(offset))

    def crash(self) -> None:
        """End the process, and drop all messages to it."""
        self.move_recorder.died(self)
        self.node, self.is_alive = None, False
        self.session_id = NO_SESSION
        self.asks, self.watches, self.question = [], [], None
        self._answers = {}
        self.is_reply_lost = False

    def join(self) -> None:
        """Open a new session; nothing of the old one is delivered any more."""
        if self.session_id:
            for held in list(self.asks):
                self.lose(held)
                self.deliver(held)
            self.watches.clear()
            self.move_recorder.session_ended(self.session_id)
            self.step(SessionLost())
            self.world.zookeeper.end_session(self.session_id)
        self.session_id = self.world.zookeeper.open_session(SESSION_TIMEOUT_MS)
        self.step(SessionEstablished(session_id=self.session_id))

    @property
    def running(self) -> Node:
        """The node, which runs."""
        assert self.node is not None, f"broker {self.number} is down"
        return self.node

    def replica(self) -> Replica | None:
        """The replica of the one partition."""
        return self.running.broker.replicas.get(KEY)

    def records(self) -> tuple[Record, ...]:
        """The log of the one partition, also while the broker is down."""
        log = self.disk.recover().get(KEY)
        return self.disk.read(KEY, Offset(0), log.log_end_offset) if log else ()

    # Steps

    def step(self, event: Event, **told: Any) -> None:  # noqa: ANN401 - fields of `Move`
        """Let the core take the event, and hold its effects."""
        effects = self.running.step(event, self.clock.now_ms)
        self.move_recorder.stepped(self, event, effects, **told)
        for effect in effects:
            self._perform(effect)
        self._lose_elections()

    def tick(self, after_ms: int = 0) -> None:
        """Let time pass for this broker."""
        self.clock.jump(after_ms)
        may = [
            *(["advance"] if self.pace.may_advance else []),
            *(["shrink"] if self.pace.may_shrink else []),
        ]
        self.step(Tick(), **({"may": may} if may else {}))

    def expand_now(self) -> None:
        """Let the leader ask ready followers into the ISR."""
        expand_now(self.running, self.pace, KEY)
        self._urged(Verb.EXPAND)

    def truncate_now(self) -> None:
        """Do the truncation that was held (below level 2)."""
        truncate_now(self.running, KEY)
        self._urged(Verb.TRUNCATE)

    def _urged(self, verb: Verb) -> None:
        """Perform what the core has asked for between two events."""
        event = SessionReconnected(session_id=self.session_id)
        self.step(event, verb=verb, topic=KEY.topic)

    def _make_durable(self) -> None:
        """No broker of the specs loses power."""

    def _take_action(self, effect: ActionTaken) -> None:
        super()._take_action(effect)
        self.taken.append(effect)

    def _send(self, effect: Send) -> None:
        if isinstance(effect.request, LeaderAndIsrRequest):
            assert self._hold_command is not None, f"broker {self.number} hosts replicas"
            self._hold_command(self, effect)
        else:
            self.question = HeldRequest(effect)

    def _ask(self, ask: Ask) -> None:
        self._trace_ask(ask, self.session_id)
        self.asks.append(HeldAsk(ask))

    def _tell_operator(self, effect: ReportWaiting | ReportMalformed | ShutDown) -> None:
        assert isinstance(effect, ReportWaiting), f"no move leads to {effect}"

    def _lose_elections(self) -> None:
        """Fail controller elections of brokers that host replicas."""
        if self._hold_command is not None:
            return
        for held in [h for h in self.asks if _is_election(h.ask)]:
            self.lose(held)
            self.deliver(held)

    # ZooKeeper

    def serve(self, held: HeldAsk) -> None:
        """Let ZooKeeper do what was asked, and hold the answer."""
        self.move_recorder.asked(self, held.ask)
        held.answer = self.world.zookeeper.answer(self.session_id, held.ask)

    def lose(self, held: HeldAsk) -> None:
        """Lose the answer: the outcome will be unknown, whatever ZooKeeper did."""
        held.answer = unknown(held.ask)

    def deliver(self, held: HeldAsk) -> None:
        """Deliver the answer; ZooKeeper is asked now unless it was before."""
        if held.answer is None:
            self.serve(held)
        assert held.answer is not None
        self.asks.remove(held)
        self._take_zookeeper(held.answer)

    def held(self, wanted: Callable[[HeldAsk], bool]) -> HeldAsk | None:
        """The first question of the wanted kind."""
        return next(filter(wanted, self.asks), None)

    def release(self, wanted: Callable[[HeldAsk], bool]) -> bool:
        """Deliver the answer to the first question of the wanted kind; false when there is none."""
        held = self.held(wanted)
        if held is not None:
            self.deliver(held)
        return held is not None

    def release_watch(self, *paths: str) -> bool:
        """Deliver the first watch of these that fired; false when none did."""
        fired = next((w for w in self.watches if w.path in paths), None)
        if fired is not None:
            self.watches.remove(fired)
            self.step(fired)
        return fired is not None

    # Requests

    def answers(self, request: Request, lamport: int, origin: RequestOrigin) -> list[Answered]:
        """Take a request; the list gets the response, now or later."""
        found: list[Answered] = []
        self.receive(request, lamport, lambda *answered: found.append(answered), origin)
        return found


def _is_election(ask: Ask) -> bool:
    if not isinstance(ask, WriteZnodes):
        return False
    return any(isinstance(op, Create) and op.path == CONTROLLER for op in ask.ops)
