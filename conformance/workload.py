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

from conformance.client import Answer, Client, Connections
from conformance.recorder import LamportClock, Recorder
from spec.vocabulary import ErrorCode
from spec.znodes import TopicPartition

ATTEMPTS_MAX = 5
PACE_S = 0.01
BACK_OFF_S = 0.03
FETCH_RECORDS = 200
CURIOSITY = 0.1
"""How often a consumer asks something else than what comes next."""
POLL_S = 0.05


class NotConvergedError(Exception):
    """A partition could not be read to its end in time; says which and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What the clients of one run share."""

    folder: Path
    run_id: str
    bootstrap: Callable[[], Sequence[str]]
    clock: LamportClock = field(default_factory=LamportClock)
    connections: Connections = field(default_factory=Connections)
    recorders: list[Recorder] = field(default_factory=list)

    def client(self, node: str) -> Client:
        """A client that writes `trace-<node>.ndjson`."""
        recorder = Recorder(self.folder, run_id=self.run_id, node=node, clock=self.clock)
        self.recorders.append(recorder)
        return Client(self.bootstrap, connections=self.connections, recorder=recorder)

    def close(self) -> None:
        """Connections and trace files are closed."""
        self.connections.close()
        for recorder in self.recorders:
            recorder.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """How many records were acknowledged around one fault; counts, not rates."""

    fault_id: str
    before: int
    during: int
    after: int

    @property
    def is_met(self) -> bool:
        """The fault fell into a run that worked before it and worked again after it."""
        return self.before > 0 and self.after > 0


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
    ) -> None:
        self._session = session
        self._partitions = tuple(partitions)
        self._seed = seed
        self._producers = producers
        self._consumers = consumers
        self._stop = threading.Event()
        self._acknowledged_ns: list[int] = []
        self._changed = threading.Condition()
        self._threads: ThreadPoolExecutor | None = None
        self._running: list[Future[None]] = []

    def start(self) -> None:
        """All clients are at work."""
        self._threads = ThreadPoolExecutor(self._producers + self._consumers, "client")
        for number in range(1, self._producers + self._consumers + 1):
            work = self._produce if number <= self._producers else self._consume
            self._running.append(self._threads.submit(work, f"client-{number}"))

    def stop(self) -> None:
        """All clients have ended; raises what one of them raised."""
        self._stop.set()
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

    def floor(self, fault_id: str, injected_ns: int, healed_ns: int) -> Floor:
        """The acknowledgements before, during and after a fault."""
        acknowledged = self.acknowledged_ns
        before = bisect_left(acknowledged, injected_ns)
        until_end = bisect_left(acknowledged, healed_ns)
        return Floor(
            fault_id=fault_id,
            before=before,
            during=until_end - before,
            after=len(acknowledged) - until_end,
        )

    def _produce(self, node: str) -> None:
        client = self._session.client(node)
        chance = Random(f"{self._seed}/{node}")
        sequence = 0
        while not self._stop.is_set():
            sequence += 1
            self._produce_one(client, node, sequence, chance.choice(self._partitions))
            self._stop.wait(PACE_S)

    def _produce_one(
        self, client: Client, node: str, sequence: int, partition: TopicPartition
    ) -> None:
        for attempt in range(1, ATTEMPTS_MAX + 1):
            answer = client.produce(partition, [f"{node}/{sequence}/{attempt}"])
            if answer.is_ok:
                self._note_acknowledged()
                return
            if self._stop.wait(BACK_OFF_S):
                return

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
        self, client: Client, partition: TopicPartition, position: int, curiosity: float
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
    client: Client, partitions: Sequence[TopicPartition], *, deadline_s: float
) -> dict[TopicPartition, tuple[str, ...]]:
    """Each partition from 0 to its end, when everything in it is committed.

    Raises `NotConvergedError` when a partition does not come so far in time.
    """
    deadline = monotonic() + deadline_s
    return {partition: _read_to_end(client, partition, deadline) for partition in partitions}


def _read_to_end(client: Client, partition: TopicPartition, deadline: float) -> tuple[str, ...]:
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
