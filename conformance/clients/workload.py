"""Clients that produce and consume while faults hit the cluster, and the read that ends a run.

Every payload is unique, `<client>/<sequence>/<attempt>`, and a retry is a new attempt with a new
payload: whatever is later found in a log names the one request that put it there.
"""

import threading
from bisect import bisect_left
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from time import monotonic, monotonic_ns

from fencepost.conformance.clients.client import RoutedClient
from fencepost.conformance.clients.recorder import ClientCrashedError, MortalWriter, TraceWriter
from fencepost.conformance.clients.transport import Answer, Transport
from fencepost.spec.trace import LamportClock
from fencepost.spec.vocabulary import ErrorCode
from fencepost.spec.znodes import TopicPartition

ATTEMPTS_MAX = 5
PACE_S = 0.01
BACK_OFF_S = 0.03
FETCH_RECORDS = 200
CURIOSITY = 0.1
"""How often a consumer asks something else than what comes next."""
POLL_S = 0.05
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
    clock: LamportClock = field(default_factory=LamportClock)
    recorders: list[TraceWriter] = field(default_factory=list)

    def client(self, node: str, *, sent: set[str] | None = None) -> RoutedClient:
        """A client that writes `trace-<node>.ndjson`; `sent` is as `RoutedClient` has it."""
        recorder = TraceWriter(self.folder, run_id=self.run_id, node=node, clock=self.clock)
        return self.client_of(recorder, sent=sent)

    def mortal_recorder(self, node: str) -> MortalWriter:
        """Of a client that may end in the middle of a request."""
        return MortalWriter(self.folder, run_id=self.run_id, node=node, clock=self.clock)

    def client_of(self, recorder: TraceWriter, *, sent: set[str] | None = None) -> RoutedClient:
        """A client that writes there."""
        self.recorders.append(recorder)
        return RoutedClient(self.bootstrap, transport=self.transport, recorder=recorder, sent=sent)

    def close(self) -> None:
        """Trace files are closed."""
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


@dataclass(slots=True, kw_only=True)
class ProducerBurst:
    """Producers that work without a pause beside the others, until it ends."""

    threads: ThreadPoolExecutor
    running: list[Future[None]] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    acknowledged: int = 0
    """How many of their requests were."""

    def end(self) -> None:
        """They have ended; raises what one of them raised."""
        self.over.set()
        self.threads.shutdown()
        for client in self.running:
            client.result()


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
        self._session = session
        self._partitions = tuple(partitions)
        self._seed = seed
        self._producers = producers
        self._consumers = consumers
        self._first_client = first_client
        self._stop = threading.Event()
        self._acknowledged_ns: list[int] = []
        self._changed = threading.Condition()
        self._threads: ThreadPoolExecutor | None = None
        self._running: list[Future[None]] = []
        self._hired = producers + consumers
        """The number of the last client."""
        self._at_work: dict[str, MortalWriter] = {}
        """Producers that were not told to end."""
        self._crashed: dict[str, str] = {}
        """The end of each producer that was told to end."""
        self._bursts: list[ProducerBurst] = []

    def start(self) -> None:
        """All clients are at work."""
        self._threads = ThreadPoolExecutor(self._producers + self._consumers, "client")
        for number in range(self._producers + self._consumers):
            work = self._produce if number < self._producers else self._consume
            name = f"client-{self._first_client + number}"
            self._running.append(self._threads.submit(work, name))

    def burst(self, producers: int) -> ProducerBurst:
        """So many more producers are at work, each without a pause."""
        burst = ProducerBurst(threads=ThreadPoolExecutor(producers, "burst"))
        self._bursts.append(burst)
        burst.running += [
            burst.threads.submit(self._produce, self._next_name(), burst) for _ in range(producers)
        ]
        return burst

    def crash_producer(self) -> Callable[[], str | None]:
        """A producer will end between a request and its answer; another one takes its place.

        What is returned tells, when it is called, what has become of it; None: nothing yet.
        """
        node, recorder = next(iter(self._at_work.items()))
        del self._at_work[node]
        recorder.is_dying = True
        return lambda: self._crashed.get(node)

    def stop(self) -> None:
        """All clients have ended; raises what one of them raised."""
        self._stop.set()
        for burst in self._bursts:
            burst.end()
        if self._threads is not None:
            self._threads.shutdown()
        for client in self._running:
            client.result()

    @property
    def acknowledged(self) -> int:
        """How many requests with acks=all were acknowledged so far."""
        return len(self._acknowledged_ns)

    @property
    def acknowledged_ns(self) -> tuple[int, ...]:
        """When each of them was, ascending, on the clock of `mono_ns`."""
        return tuple(sorted(self._acknowledged_ns))

    def await_acknowledged(self, count: int, deadline_s: float) -> bool:
        """Wait until `count` requests are acknowledged in all; False at the deadline."""
        with self._changed:
            return self._changed.wait_for(lambda: self.acknowledged >= count, deadline_s)

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

    def _next_name(self) -> str:
        with self._changed:
            self._hired += 1
            return f"client-{self._hired}"

    def _produce(self, node: str, burst: ProducerBurst | None = None) -> None:
        """One producer after the other, if one has to end in the middle."""
        while not self._stop.is_set():
            recorder = self._session.mortal_recorder(node)
            if burst is None:
                self._at_work[node] = recorder
            try:
                self._produce_all(self._session.client_of(recorder), node, burst)
            except ClientCrashedError:
                heir = self._next_name()
                self._crashed[node] = f"{node} ended in the middle of a request; {heir} goes on"
                node = heir
            else:
                return

    def _produce_all(self, client: RoutedClient, node: str, burst: ProducerBurst | None) -> None:
        chance = Random(f"{self._seed}/{node}")
        over, pace_s = (self._stop, PACE_S) if burst is None else (burst.over, 0.0)
        sequence = 0
        while not over.is_set():
            sequence += 1
            partition = chance.choice(self._partitions)
            if self._produce_one(client, node, sequence, partition, over) and burst is not None:
                with self._changed:
                    burst.acknowledged += 1
            over.wait(pace_s)

    def _produce_one(
        self,
        client: RoutedClient,
        node: str,
        sequence: int,
        partition: TopicPartition,
        over: threading.Event,
    ) -> bool:
        for attempt in range(1, ATTEMPTS_MAX + 1):
            answer = client.produce(partition, [f"{node}/{sequence}/{attempt}"])
            if answer.is_ok:
                self._note_acknowledged()
                return True
            if over.wait(BACK_OFF_S):
                return False
        return False

    def _note_acknowledged(self) -> None:
        with self._changed:
            self._acknowledged_ns.append(monotonic_ns())
            self._changed.notify_all()

    def _consume(self, node: str) -> None:
        client = self._session.client(node)
        chance = Random(f"{self._seed}/{node}")
        positions = dict.fromkeys(self._partitions, 0)
        while not self._stop.is_set():
            for partition in self._partitions:
                positions[partition] = self._consume_one(
                    client, partition, positions[partition], chance.random()
                )
            self._stop.wait(PACE_S)

    def _consume_one(
        self, client: RoutedClient, partition: TopicPartition, position: int, curiosity: float
    ) -> int:
        if curiosity < CURIOSITY / 2:
            client.list_offsets(partition)
            return position
        if curiosity < CURIOSITY:
            client.fetch(partition, max(0, position - 5), max_records=5, max_wait_ms=0)
            return position
        answer = client.fetch(partition, position, max_records=FETCH_RECORDS, max_wait_ms=20)
        if answer.is_ok:
            return position + len(answer.values)
        self._stop.wait(BACK_OFF_S)
        if answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            return _inside(client.list_offsets(partition), position)
        return position


def _inside(answer: Answer, position: int) -> int:
    """A log that ends below what was read from it: go on from its end."""
    return position if answer.high_watermark is None else min(position, answer.high_watermark)


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
    values: list[str] = []
    wait = threading.Event()
    while True:
        answer = client.fetch(partition, len(values), max_records=1000, max_wait_ms=0)
        values.extend(answer.values)
        if answer.is_ok and len(values) == answer.high_watermark == answer.log_end_offset:
            return tuple(values)
        if monotonic() > deadline:
            raise NotConvergedError(
                f"{partition} was read to {len(values)}; its high watermark is "
                f"{answer.high_watermark} and its log ends at {answer.log_end_offset} "
                f"({answer.error_code or 'ok'})"
            )
        if not answer.values:
            wait.wait(POLL_S)
