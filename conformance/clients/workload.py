"""Clients at work in threads while faults hit the cluster, and the read that ends a run.

What they do next is in `fault_injection/workload/scripts.py`, as for simulated clients.
"""

import threading
from bisect import bisect_left
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from time import monotonic, monotonic_ns
from typing import TypeVarTuple

from msgspec import structs

from fencepost.conformance.clients.client import ClientCrashedError, RoutedClient
from fencepost.conformance.clients.numbered_producers import NumberedProducer
from fencepost.conformance.clients.recorder import TraceWriter
from fencepost.conformance.clients.transport import ClusterUnreachableError, Transport
from fencepost.fault_injection.injectors.injector import InjectionError
from fencepost.fault_injection.workload.config_operations import (
    DESCRIBES,
    ENTRIES,
    ENTRIES_METHOD,
    IN_NEW_VERSION,
    ConfigChange,
)
from fencepost.fault_injection.workload.operations import Answer, Operation, Produce
from fencepost.fault_injection.workload.producer_window import ProducerWindow
from fencepost.fault_injection.workload.scripts import (
    ClientHabits,
    Pause,
    Result,
    Script,
    consume,
    produce,
    read_to_end,
)
from fencepost.spec.config_store import ConfigEntity, EntityKind
from fencepost.spec.trace import LamportClock
from fencepost.spec.vocabulary import ProducerId
from fencepost.spec.znodes import TopicPartition

MS = 1_000
HABITS = ClientHabits(
    think_ms=(10, 10),
    back_off_ms=(30, 30),
    attempts=5,
    rewinds=0.05,
    rewind_records=5,
    asks_offsets=0.05,
    max_wait_ms=20,
)
NUMBERED_HABITS = replace(HABITS, attempts=1, batch_records_max=3)
"""A batch is sent again by its producer; brokers must take it whole."""
PRODUCER_IDS_FROM = 900_000_000
"""No broker has given out so many ids by then."""
BURST_HABITS = replace(HABITS, think_ms=(0, 0))
CONSUMER_HABITS = replace(HABITS, think_ms=(3, 3))
"""A fetch waits for records by itself."""
POLL_MS = 50
CONFIG_CLIENT = "client-config"
CONFIG_PAUSE_S = 0.1
AROUND_MIN = 1
"""Acknowledged requests before a fault, and after it, without which it shows nothing."""


class NotConvergedError(Exception):
    """A partition could not be read to its end in time; says which and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What the clients of one run share."""

    folder: Path
    run_id: str
    bootstrap: Callable[[], Sequence[str]]
    transport: Transport
    workload_transport: Transport | None = None
    """Of the clients of the workload; None: the same."""
    clock: LamportClock = field(default_factory=LamportClock)
    recorders: list[TraceWriter] = field(default_factory=list)

    def client(self, node: str, *, sent: set[str] | None = None) -> RoutedClient:
        """A client that writes `trace-<node>.ndjson`; `sent` is as `RoutedClient` has it."""
        return self._client(node, self.transport, sent)

    def worker(self, node: str) -> RoutedClient:
        """The same, of the workload."""
        return self._client(node, self.workload_transport or self.transport, None)

    def _client(self, node: str, transport: Transport, sent: set[str] | None) -> RoutedClient:
        recorder = TraceWriter(self.folder, run_id=self.run_id, node=node, clock=self.clock)
        self.recorders.append(recorder)
        return RoutedClient(self.bootstrap, transport=transport, recorder=recorder, sent=sent)

    def close(self) -> None:
        """Close the trace files."""
        for recorder in self.recorders:
            recorder.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """How many requests were acknowledged around one fault; counts, not rates: hosts differ."""

    fault_id: str
    before: int
    during: int
    after: int
    during_min: int = 0
    """What a quorum that the fault leaves should at least have served."""

    @property
    def is_met(self) -> bool:
        """The cluster worked before the fault, as far as it could during it, and again after it."""
        worked = min(self.before, self.after) >= AROUND_MIN
        return worked and self.during >= self.during_min

    @property
    def sentence(self) -> str:
        """What was counted, and what a fault needs to count itself."""
        needs = f"{AROUND_MIN} before it and {AROUND_MIN} after it"
        if self.during_min:
            needs += f", and {self.during_min} while it lasts"
        return (
            f"{self.fault_id}: {self.before} requests were acknowledged before it, {self.during} "
            f"during it and {self.after} after it; it counts with {needs}"
        )


@dataclass(slots=True)
class ClientGroup:
    """Clients in threads, at work until the group ends."""

    threads: ThreadPoolExecutor
    running: list[Future[None]] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    acknowledged: int = 0
    """How many of their requests were acknowledged."""

    def end(self) -> None:
        """End the clients; raises what one of them raised."""
        self.over.set()
        self.threads.shutdown()
        for client in self.running:
            client.result()


Work = TypeVarTuple("Work")
"""The arguments of what a client does."""


class Workload:
    """Producers and consumers in threads; runs from `start` to `stop`."""

    def __init__(
        self,
        session: Session,
        partitions: Sequence[TopicPartition],
        *,
        seed: int,
        producers: int = 2,
        consumers: int = 2,
        first_client: int = 1,
    ) -> None:
        self.in_flight = 0
        """So many batches of each producer may be unanswered; 0: they are not idempotent."""
        self.configures = False
        """One more client changes the configuration of a topic, and describes it."""
        self._session = session
        self._partitions = tuple(partitions)
        self._seed = seed
        self._producers = producers
        self._consumers = consumers
        self._names = map("client-{}".format, count(first_client))
        self._producer_ids = count(PRODUCER_IDS_FROM)
        self._acknowledged_ns: list[int] = []
        self._changed = threading.Condition()
        self._groups: list[ClientGroup] = []
        """The usual clients, then the bursts."""
        self._at_work: dict[str, RoutedClient] = {}
        """Usual producers that were not told to end."""
        self._crashed: dict[str, str] = {}
        """The end of each producer that was told to end."""

    def start(self) -> None:
        """Start all clients."""
        clients = self._producers * max(1, self.in_flight) + self._consumers
        group = self._new_group(clients + self.configures)
        self._add_producers(group, self._producers, HABITS)
        for _ in range(self._consumers):
            self._add_client(group, self._consume, next(self._names), group)
        if self.configures:
            self._add_client(group, self._configure, CONFIG_CLIENT, group)

    def burst(self, producers: int) -> ClientGroup:
        """Start so many more producers, each without a pause."""
        group = self._new_group(producers * max(1, self.in_flight))
        self._add_producers(group, producers, BURST_HABITS)
        return group

    def _new_group(self, size: int) -> ClientGroup:
        self._groups.append(ClientGroup(ThreadPoolExecutor(size, "client")))
        return self._groups[-1]

    def _add_producers(self, group: ClientGroup, number: int, habits: ClientHabits) -> None:
        for _ in range(number):
            name = next(self._names)
            if not self.in_flight:
                self._add_client(group, self._produce, name, group, habits)
                continue
            window = ProducerWindow(self.in_flight, ProducerId(next(self._producer_ids)))
            producer = NumberedProducer(window=window, over=group.over)
            for sender in range(1, self.in_flight + 1):
                self._add_client(group, self._send_numbered, f"{name}-{sender}", group, producer)

    def _add_client(
        self, group: ClientGroup, work: Callable[[*Work], None], *arguments: *Work
    ) -> None:
        client = group.threads.submit(work, *arguments)
        client.add_done_callback(self._note_end)
        group.running.append(client)

    def _note_end(self, _client: Future[None]) -> None:
        with self._changed:
            self._changed.notify_all()

    def crash_producer(self) -> Callable[[], str | None]:
        """Let a producer end between a request and its answer; another one takes its place.

        What is returned tells, when it is called, how the producer ended; None: not yet.
        Raises `InjectionError` when all producers were told to end and none has a successor yet.
        """
        if not self._at_work:
            raise InjectionError("no producer is at work")
        node, client = next(iter(self._at_work.items()))
        del self._at_work[node]
        client.is_dying = True
        return lambda: self._crashed.get(node)

    def stop(self) -> None:
        """End all clients; raises what one of them raised."""
        for group in self._groups:
            group.end()

    @property
    def acknowledged(self) -> int:
        """How many requests with acks=all were acknowledged so far."""
        return len(self._acknowledged_ns)

    @property
    def acknowledged_ns(self) -> tuple[int, ...]:
        """When each of them was, ascending, on the clock of `mono_ns`."""
        return tuple(sorted(self._acknowledged_ns))

    def await_acknowledged(self, count: int, deadline_s: float) -> bool:
        """Wait until `count` requests are acknowledged in all; False at the deadline.

        Raises at once what one of the usual clients raised.
        """
        clients = self._groups[0].running
        with self._changed:
            self._changed.wait_for(
                lambda: self.acknowledged >= count or any(one.done() for one in clients), deadline_s
            )
        for client in clients:
            if client.done():
                client.result()
        return self.acknowledged >= count

    def floor(
        self, fault_id: str, injected_ns: int, healed_ns: int, *, during_min: int = 0
    ) -> Floor:
        """The acknowledgements before, during and after a fault."""
        acknowledged = self.acknowledged_ns
        before = bisect_left(acknowledged, injected_ns)
        until_end = bisect_left(acknowledged, healed_ns)
        return Floor(
            fault_id=fault_id,
            before=before,
            during=until_end - before,
            after=len(acknowledged) - until_end,
            during_min=during_min,
        )

    def _produce(self, node: str, group: ClientGroup, habits: ClientHabits) -> None:
        """Produce until the end; a producer that crashes is replaced by another one."""
        while not group.over.is_set():
            client = self._session.worker(node)
            if group is self._groups[0]:
                self._at_work[node] = client
            try:
                script = produce(node, self._partitions, self._random(node), habits)
                follow(script, partial(self._perform, client, group), group.over)
            except ClientCrashedError:
                heir = next(self._names)
                self._crashed[node] = f"{node} ended in the middle of a request; {heir} goes on"
                node = heir

    def _send_numbered(self, node: str, group: ClientGroup, producer: NumberedProducer) -> None:
        """One sender of an idempotent producer, until the end."""
        client = self._session.worker(node)
        script = produce(node, self._partitions, self._random(node), NUMBERED_HABITS)
        send = partial(producer.perform, client)
        follow(script, partial(self._note_answer, send, group), group.over)

    def _perform(self, client: RoutedClient, group: ClientGroup, operation: Operation) -> Answer:
        return self._note_answer(client.perform, group, operation)

    def _note_answer(
        self, perform: Callable[[Operation], Answer], group: ClientGroup, operation: Operation
    ) -> Answer:
        answer = perform(operation)
        if isinstance(operation, Produce) and answer.is_ok:
            with self._changed:
                self._acknowledged_ns.append(monotonic_ns())
                group.acknowledged += 1
                self._changed.notify_all()
        return answer

    def _consume(self, node: str, group: ClientGroup) -> None:
        script = consume(self._partitions, self._random(node), CONSUMER_HABITS)
        follow(script, self._session.worker(node).perform, group.over)

    def _configure(self, node: str, group: ClientGroup) -> None:
        """Any broker is asked, which forwards, or the controller in the version for it alone."""
        client, random = self._session.worker(node), self._random(node)
        entity = ConfigEntity(EntityKind.TOPIC, (self._partitions[0].topic,))
        for number in count(1):
            if group.over.wait(CONFIG_PAUSE_S):
                return
            with suppress(ClusterUnreachableError):
                view = client.refresh()
                broker_id = random.choice(sorted(view.addresses))
                if random.random() < DESCRIBES:
                    client.describe_config(broker_id, entity)
                    continue
                entries = {random.choice(ENTRIES): f"{node}/{number}"}
                is_new = random.random() < IN_NEW_VERSION and view.controller_id in view.addresses
                change = ConfigChange(ENTRIES_METHOD, entity, entries, is_for_controller=is_new)
                client.change_config(view.controller_id if is_new else broker_id, change)

    def _random(self, node: str) -> Random:
        return Random(f"{self._seed}/{node}")


def follow(
    script: Script[Result], perform: Callable[[Operation], Answer], over: threading.Event
) -> Result | None:
    """Do what the script says to its end, which it returns; None: `over` was set at a pause."""
    try:
        step = next(script)
        while True:
            if not isinstance(step, Pause):
                step = script.send(perform(step))
            elif over.wait(step.ms / MS):
                return None
            else:
                step = next(script)
    except StopIteration as end:
        result: Result = end.value
        return result


def read_everything(
    client: RoutedClient, partitions: Sequence[TopicPartition], *, deadline_s: float
) -> dict[TopicPartition, tuple[str, ...]]:
    """Each partition from 0 to its end, when everything in it is committed.

    Raises `NotConvergedError` when a partition does not come so far in time.
    """
    deadline = monotonic() + deadline_s
    return {partition: _read_to_end(client, partition, deadline) for partition in partitions}


def _read_to_end(
    client: RoutedClient, partition: TopicPartition, deadline: float
) -> tuple[str, ...]:
    def is_read(offset: int, answer: Answer) -> bool:
        if answer.is_ok and answer.log_end_offset is None:
            log_end_offset = client.list_offsets(partition).log_end_offset
            answer = structs.replace(answer, log_end_offset=log_end_offset)
        if answer.is_ok and offset == answer.high_watermark == answer.log_end_offset:
            return True
        if monotonic() > deadline:
            raise NotConvergedError(
                f"{partition} was read to {offset}; its high watermark is "
                f"{answer.high_watermark} and its log ends at {answer.log_end_offset} "
                f"({answer.error_code or 'ok'})"
            )
        return False

    script = read_to_end(partition, is_read, POLL_MS)
    values = follow(script, client.perform, threading.Event())
    assert values is not None, "nothing stops this read"
    return values
