"""A broker as a process: one thread, one inbox, effects performed in list order."""

import asyncio
import gc
import signal
import sys
import time
import traceback
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from msgspec import structs

from fencepost.impl.core.config import Config
from fencepost.impl.core.node import Node
from fencepost.impl.core.rules.replica import RecoveredLog
from fencepost.impl.core.types.broker_reports import (
    ControlledShutdownRequest,
    IsrChangedRequest,
    LogsFailedRequest,
)
from fencepost.impl.core.types.effects import (
    ActionTaken,
    AppendRecords,
    CheckpointHighWatermark,
    DeleteLog,
    DiskEffect,
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
    LogFailed,
    RequestFailed,
    RequestReceived,
    ResponseReceived,
    SessionEstablished,
    ShutdownAsked,
    Tick,
    ZnodesRead,
)
from fencepost.impl.core.types.messages import (
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from fencepost.impl.failed_steps import refusal, without_claims, without_failed
from fencepost.impl.mutants.mutant import MutantName
from fencepost.impl.shell import allocator
from fencepost.impl.shell.clock import NodeClock, wall_ms
from fencepost.impl.shell.crashes import ANSWERS_LEAVE_S, LEAVES_S, CrashPointReached, CrashPoints
from fencepost.impl.shell.fault_control import FaultControl
from fencepost.impl.shell.inbox import Inbox
from fencepost.impl.shell.options import NodeOptions
from fencepost.impl.shell.rpc.broker_gate import broker_gate
from fencepost.impl.shell.rpc.service import CannotListenError, RpcClient, RpcServer
from fencepost.impl.shell.storage.files import StorageError
from fencepost.impl.shell.storage.recovery import Recovery
from fencepost.impl.shell.storage.storage import Storage, notices, recovered_logs
from fencepost.impl.shell.storage.watched_files import WatchedFiles
from fencepost.impl.shell.tracer import TraceError, Tracer
from fencepost.impl.shell.zookeeper.addresses import AddressBook
from fencepost.impl.shell.zookeeper.notifications import (
    Answered,
    Connected,
    Disconnected,
    Expired,
    Triggered,
)
from fencepost.impl.shell.zookeeper.sessions import (
    AnswersReady,
    DeadlinePassed,
    Forgotten,
    SessionNotification,
    Sessions,
)
from fencepost.impl.trace_lines import (
    ZnodeTrace,
    action_taken,
    log_failed,
    log_recovered,
    mutant_awake,
    node_name,
    node_started,
    refused,
)
from fencepost.spec.vocabulary import BrokerId
from fencepost.spec.wire.tls import TlsError, read_broker_identity
from fencepost.spec.wire.tokens import TokenFileError
from fencepost.spec.znodes import TopicPartition, broker_path
from fencepost.spec.zookeeper import ZooKeeperCredentials, ZooKeeperError

UNSEEN = frozenset({Send, Reply, ReplyRecords, StartLog})
"""Effects that are invisible until the step ends: trace lines may be buffered before them."""
TICK_S = 0.02
GARBAGE = (50_000, 20, 100)
"""High thresholds of the cycle collector: partition state is large and has no cycles."""
SWITCH_S = 0.0005
"""How long the core runs on while the thread that talks to ZooKeeper waits for its turn."""
EXPECTED = (
    *(StorageError, TraceError, CannotListenError),
    *(TlsError, TokenFileError, ZooKeeperError),
)
"""What ends a node with one sentence."""
_DOUBTS = {
    True: "is it running there, by TLS, and is one CA that of both certificates?",
    False: "is it running there?",
}
"""By whether ZooKeeper is connected by TLS."""
EXIT_OK = 0
EXIT_STOPPED = 3
"""Exit code after an error that the node cannot continue from."""


@dataclass(frozen=True, slots=True)
class StopRequested:
    """Leave the event loop; `reason` is None when that was wanted, else the error."""

    reason: str | None = None


@dataclass(frozen=True, slots=True)
class SteppedEvent:
    """A move lets the core take this event now (`stepped_process.py`)."""

    event: Event
    done: asyncio.Future[None]


Item = Event | SessionNotification | StopRequested | SteppedEvent
Exchanged = RequestReceived | ResponseReceived | RequestFailed
URGENT = frozenset(
    {
        *(LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest),
        *(LogsFailedRequest, IsrChangedRequest, ControlledShutdownRequest),
    }
)
"""Requests from and to the controller."""


def is_urgent(item: Item) -> bool:
    """True for events of ZooKeeper and the controller.

    A tick is not urgent: it shrinks ISRs, and must not overtake fetches that arrived before it.
    """
    if isinstance(item, Exchanged):
        return type(item.request) in URGENT
    return not isinstance(item, Tick)


class NodeProcess:
    """Runs one core: passes it events and performs its effects."""

    def __init__(self, options: NodeOptions) -> None:
        """Lock the data folder, open the trace; raises `StorageError`, `TraceError`, `TlsError`."""
        self._options = options
        broker_id = options.config.broker_id
        watched = WatchedFiles(options.data) if options.fault_control else None
        self._watched = watched
        self._storage = Storage(options.data, options.log, watched)
        self._tracer = Tracer(options.trace, options.run_id, broker_id)
        self._znode_trace = ZnodeTrace(broker_id)
        self._inbox: Inbox[Item] = Inbox(is_urgent)
        self._tick_waits = False
        self._established = False
        self._serves = False
        self._ticker: asyncio.Task[None] | None = None
        self._addresses = AddressBook()
        name = node_name(broker_id)
        self._time = NodeClock()
        self._crashes = CrashPoints(name)
        clock = self._tracer.clock
        identity = read_broker_identity(options.tls, broker_id) if options.tls else None
        gate = broker_gate(options, identity, lambda: self._core.configs) if identity else None
        self._server = RpcServer(broker_id, name, clock, self._put, gate)
        self._client = RpcClient(name, clock, self._addresses, self._look_up, self._put, identity)
        timeout_ms = options.session_timeout_ms
        path = options.zookeeper_credentials
        credentials = ZooKeeperCredentials.read(path) if path else None
        tls = options.tls if options.zookeeper_tls else None
        self._sessions = Sessions(options.zookeeper, timeout_ms, self._put, credentials, tls)
        self._core: Node
        self._listens: tuple[str, int]
        """Host and port on which the broker listens."""

    async def run(self) -> str | None:
        """Serve until a signal (returns None) or an error (returns its text)."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._on_stray_exception)
        loop.add_signal_handler(signal.SIGTERM, self._ask_to_end)
        loop.add_signal_handler(signal.SIGINT, self._put, StopRequested())
        deadline = loop.call_later(self._options.start_timeout_ms / 1000, self._need_session)
        try:
            self._start()
            return await self._serve()
        finally:
            deadline.cancel()
            await self._close()

    def _ask_to_end(self) -> None:
        """Others lead first what this broker leads, if the core takes events yet (BEP-005)."""
        self._put(ShutdownAsked() if self._serves else StopRequested())

    def _start(self) -> None:
        config = self._options.config
        recoveries = self._recover()
        if self._watched:
            self._server.offer_fault_control(self._fault_control(self._watched))
        self._listens = config.host, self._server.bind(config.host, config.port)
        host, port = self._options.advertised or self._listens
        self._core = self._begin_node(replace(config, host=host, port=port), recoveries)
        if self._options.mutant:
            self._tell_mutant(self._options.mutant)
        for partition, error in dict(self._storage.failed).items():
            self._fail(partition, error)

    def _begin_node(
        self, config: Config, recoveries: Mapping[TopicPartition, RecoveredLog]
    ) -> Node:
        return Node(config, recoveries)

    def _fault_control(self, disk: WatchedFiles) -> FaultControl:
        return FaultControl(
            rules=self._client.rules,
            identity=lambda: self._sessions.identity,
            forget_session=self._sessions.forget,
            crashes=self._crashes,
            disk=disk,
            failed_logs=lambda: self._storage.failed,
            clock=self._time,
        )

    def _recover(self) -> Mapping[TopicPartition, RecoveredLog]:
        broker_id = self._options.config.broker_id
        self._tracer.write(node_started(broker_id))
        found = self._storage.recover()
        for notice in notices(found):
            self._say(notice)
        logs = self._found(found)
        for partition, log in logs.items():
            self._tracer.write(log_recovered(broker_id, partition, log))
        return logs

    def _found(
        self, recoveries: Mapping[TopicPartition, Recovery]
    ) -> Mapping[TopicPartition, RecoveredLog]:
        return recovered_logs(recoveries)

    async def _serve(self) -> str | None:
        while True:
            item = await self._inbox.take()
            if isinstance(item, StopRequested):
                return item.reason
            try:
                self._take(item)
            except CrashPointReached:
                await self._server.answers_leave(ANSWERS_LEAVE_S)
                await asyncio.sleep(LEAVES_S)
                self._crashes.die()
            if self._established and not self._serves:
                # The first event of the core is its session; requests and ticks come after it.
                self._serves = True
                self._begin_ticks()
                await self._server.start()

    def _take(self, item: Event | SessionNotification | SteppedEvent) -> None:
        """Step the core through the events of one inbox item."""
        for event in self._events(item):
            self._step(event)

    def _begin_ticks(self) -> None:
        self._ticker = asyncio.create_task(self._tick())

    def _events(self, item: Event | SessionNotification | SteppedEvent) -> Iterable[Event]:
        match item:
            case SteppedEvent(event=event):
                return (event,)
            case Answered() | Connected() | Disconnected() | Expired() | Triggered():
                return self._sessions.events(item)
            case AnswersReady() | DeadlinePassed() | Forgotten():
                return self._sessions.events(item)
            case _:
                return (item,)

    def _step(self, event: Event) -> None:
        match event:
            case Tick():
                self._tick_waits = False
            case SessionEstablished():
                self._established = True
            case ZnodesRead(znodes=znodes) if znodes:
                self._addresses.learn(znodes)
        self._tracer.write(*self._znode_trace.completed(event))
        now_ms = self._now_ms()
        failed: dict[TopicPartition, StorageError] = {}
        for effect in self._left(self._core.step(event, now_ms), failed):
            if isinstance(effect, ActionTaken):
                self._note(effect)
                continue
            if isinstance(effect, RefusalTold):
                self._tracer.note(refused(effect, self._options.config.broker_id))
                continue
            if self._crashes.is_planned or type(effect) not in UNSEEN:
                self._tracer.flush()
            self._crashes.pass_by("before", effect)
            failed.update(self._try_to_perform(effect))
            self._crashes.pass_by("after", effect)
        self._tracer.flush()
        if isinstance(event, Tick):
            failed.update(self._storage.tick(now_ms))
        for partition, error in failed.items():
            self._fail(partition, error)

    def _now_ms(self) -> int:
        return self._time.now_ms()

    def _note(self, taken: ActionTaken) -> None:
        self._tracer.note(action_taken(taken, self._options.config.broker_id))

    def _left(
        self, wanted: Iterable[Effect], failed: Collection[TopicPartition]
    ) -> Iterator[Effect]:
        """The effects without those for failed logs, which may fail while the list is performed."""
        for effect in wanted:
            left: Effect | None = effect
            if self._storage.failed:
                left = without_failed(effect, self._storage.failed)
            if left and failed:
                left = without_claims(left, failed)
            if left:
                yield left

    def _try_to_perform(self, effect: Effect) -> dict[TopicPartition, StorageError]:
        """Perform the effect; on `StorageError` mark its log as failed and return the error."""
        if not isinstance(effect, ReplyRecords | DiskEffect):
            self._perform(effect)
            return {}
        try:
            self._use_storage(effect)
        except StorageError as error:
            self._storage.fail(effect.topic_partition, error)
            if isinstance(effect, ReplyRecords):
                self._perform(refusal(effect))
            return {effect.topic_partition: error}
        return {}

    def _fail(self, partition: TopicPartition, error: StorageError) -> None:
        """Take the partition offline: report it on stderr, in the trace and to the core."""
        self._storage.fail(partition, error)
        self._say(f"{partition} is offline until the next start: {error}")
        self._tracer.write(log_failed(self._options.config.broker_id, partition, str(error)))
        incarnation = self._storage.incarnation_of(partition)
        self._step(LogFailed(topic_partition=partition, partition_incarnation=incarnation))

    def _perform(self, effect: Effect) -> None:
        match effect:
            case Send():
                self._send(effect)
            case Reply(token=token, response=response):
                self._server.reply(token, response)
            case ReadZnodes() | ListChildren() | WriteZnodes():
                self._ask_zookeeper(effect)
            case ReportWaiting(path=path, session_id=session_id):
                self._say(f"{path} belongs to session {session_id:#x}; waiting until that is over")
            case ReportMalformed(path=path, reason=reason):
                self._say(f"{path} is skipped: {reason}")
            case ShutDown(remaining_partitions=remaining):
                if remaining:
                    self._say(f"ends, and still leads {', '.join(map(str, remaining))}")
                self._put(StopRequested())
            case _:
                raise AssertionError(f"{effect} is no effect outside the disk")

    def _send(self, send: Send) -> None:
        self._client.send(send)

    def _use_storage(self, effect: ReplyRecords | DiskEffect) -> None:
        partition = effect.topic_partition
        match effect:
            case AppendRecords(base_offset=offset, records=records):
                self._storage.append(partition, offset, records)
            case ReplyRecords(token=token, response=response, start=start, end=end):
                found = self._storage.read(partition, start, end)
                if found:
                    response = structs.replace(response, records=tuple(found))
                self._server.reply(token, response)
            case TruncateRecords(offset=offset):
                self._storage.start(partition).truncate(offset)
            case CheckpointHighWatermark(high_watermark=offset):
                self._storage.checkpoint_high_watermark(partition, offset)
            case DeleteLog():
                self._storage.delete(partition)
            case StartLog(partition_incarnation=incarnation):
                self._storage.begin(partition, incarnation)

    def _ask_zookeeper(self, effect: ReadZnodes | ListChildren | WriteZnodes) -> None:
        mono_ns = time.monotonic_ns()
        session_id = self._sessions.session_id
        lines = self._znode_trace.invoked(effect, session_id, mono_ns)
        self._tracer.write(*lines, mono_ns=mono_ns)
        self._submit(effect)

    def _submit(self, effect: ReadZnodes | ListChildren | WriteZnodes) -> None:
        self._sessions.perform(effect)

    async def _look_up(self, broker_id: BrokerId) -> None:
        answer = await self._sessions.read(broker_path(broker_id))
        self._addresses.learn(answer.znodes or ())

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            if not self._tick_waits:
                self._tick_waits = True
                self._put(Tick(wall_ms=wall_ms()))

    def _need_session(self) -> None:
        if not self._established:
            options = self._options
            self._put(
                StopRequested(
                    f"ZooKeeper at {options.zookeeper.servers} gave no session within "
                    f"{options.start_timeout_ms} ms; {_DOUBTS[options.zookeeper_tls]}"
                )
            )

    def _put(self, item: Item) -> None:
        self._inbox.put(item)

    def _on_stray_exception(
        self, _loop: asyncio.AbstractEventLoop, context: dict[str, object]
    ) -> None:
        error = context.get("exception")
        message = describe(error) if isinstance(error, Exception) else str(context.get("message"))
        self._put(StopRequested(message))

    def _tell_mutant(self, mutant: MutantName) -> None:
        """Report an active mutant on stderr and in the trace."""
        self._say(f"MUTANT {mutant}: this broker breaks a rule on purpose")
        self._tracer.write(mutant_awake(self._options.config.broker_id, mutant))

    def _say(self, sentence: str) -> None:
        sys.stderr.write(f"{node_name(self._options.config.broker_id)}: {sentence}\n")

    async def _close(self) -> None:
        if self._ticker:
            self._ticker.cancel()
        await self._server.stop()
        await self._client.close()
        await self._sessions.close()
        for partition, error in self._storage.close().items():
            self._say(f"{partition}: {error}")
        self._tracer.close()


def run(options: NodeOptions, process: type[NodeProcess] = NodeProcess) -> int:
    """Run one broker until it is stopped; the exit code; a failure is one line on stderr."""
    name = node_name(options.config.broker_id)
    gc.set_threshold(*GARBAGE)
    sys.setswitchinterval(SWITCH_S)
    allocator.fix_large_size()
    try:
        reason = asyncio.run(_run(options, process))
    except EXPECTED as error:
        reason = str(error)
    except Exception as error:  # the one place that reports and stops the node
        reason = describe(error)
    if reason is None:
        return EXIT_OK
    sys.stderr.write(f"{name} stopped: {reason}\n")
    return EXIT_STOPPED


async def _run(options: NodeOptions, process: type[NodeProcess]) -> str | None:
    return await process(options).run()


def describe(error: Exception) -> str:
    """An unexpected error in one line: what, and where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}{where}: {text}" if text else f"{type(error).__name__}{where}"
