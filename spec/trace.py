"""The trace: one flat NDJSON line per action, client operation, fault phase and ZooKeeper write.

This module is the only definition of the line. Its readers are the checks, Spark, TLC's replay and
people with grep; `trace.schema.json` beside it is generated from `TraceEvent` and kept fresh by CI.

Order between nodes never comes from `wall_ns`. Events of one node are ordered by
`(incarnation, seq)`; across nodes by Lamport clock, request ids and zxids. `mono_ns` is the
CLOCK_MONOTONIC of one host (virtual time in the simulator) and gives client operations their
real-time order (research: Herlihy & Wing 1990, and DESIGN section 5).
"""

import inspect
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import msgspec

from fencepost.spec.vocabulary import Outcome

TRACE_VERSION = 1
"""Raised when a reader of older lines would misread newer ones; `RunStarted` carries it."""


NODE_LINES = (
    "NodeStarted",
    "MutantAwake",
    "LogRecovered",
    "LogFailed",
    "Produce",
    "Fetch",
    "ListOffsets",
    "WriteLeaderAndIsr",
    "ReadLeaderAndIsr",
    "ReadController",
)
"""Actions of the lines that brokers and clients write beside those of `spec.vocabulary.Action`."""


BY_HAND = "CommandByHand"
"""Action of the line before a command that no controller sends: a person does, or the harness."""


TRACES = "trace-*.ndjson"
"""The files of a run's folder that hold its lines."""


HARNESS_TRACE = "trace-harness.ndjson"
"""The one of them that tells how the run began: each run has it."""


FINAL_READER = "client-final"
"""The client that reads every partition in full at the end of a run."""


class LamportClock:
    """The logical clock behind the field `lamport` (Lamport 1978); threads may share one."""

    def __init__(self) -> None:
        self._now = 0
        self._lock = threading.Lock()

    def tick(self) -> int:
        """Advance by one for a local event, a line or a message, and return its time."""
        with self._lock:
            self._now += 1
            return self._now

    @property
    def now(self) -> int:
        """The time of the last event."""
        return self._now

    def observe(self, other: int) -> None:
        """Advance to the time of a message that arrived, so that later events get a larger one."""
        with self._lock:
            self._now = max(self._now, other)


class Kind(StrEnum):
    """Which family a line belongs to."""

    RUN = "run"
    ACTION = "action"
    INVOKE = "invoke"
    COMPLETE = "complete"
    ZOOKEEPER = "zookeeper"
    FAULT = "fault"
    REFUSAL = "refusal"


class Phase(StrEnum):
    """The life of a fault, in order; `INEFFECTIVE` and `FAILED` end it early."""

    PLANNED = "planned"
    INJECTING = "injecting"
    ACTIVE = "active"
    HEALING = "healing"
    HEALED = "healed"
    INEFFECTIVE = "ineffective"
    FAILED = "failed"


class TraceEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One line. A field that says nothing about the event is `None` and is left out of the line.

    `spec/docs/trace.md` tells which fields an event carries; every field's name is the one of the
    wire, the specs and the report.
    """

    run_id: str
    node: str
    """`broker-<id>`, `client-<n>`, `zookeeper` or `harness`."""
    incarnation: int = 1
    """Counts the starts of this node in this run, from 1."""
    seq: int
    """Dense from 0 per (node, incarnation): a gap is a lost line."""
    mono_ns: int
    lamport: int = 0
    wall_ns: int | None = None
    """For display only."""
    kind: Kind
    action: str
    """A value of `Action` or `EnvironmentAction`, a client operation (`Produce`, `Fetch`,
    `ListOffsets`), a ZooKeeper operation, or `RunStarted` / `RunEnded`."""

    topic: str | None = None
    partition: int | None = None
    broker_id: int | None = None
    """The broker that acted or answered; on a `DetectBrokerChange`, the controller."""
    leader: int | None = None
    leader_epoch: int | None = None
    controller_id: int | None = None
    controller_epoch: int | None = None
    isr: list[int] | None = None
    """Ascending."""
    maximal_isr: list[int] | None = None
    """Ascending; on a leader the ISR joined with the one of a write in flight (ISR-003)."""
    partitions: list[str] | None = None
    """On a `SendInit`: all that the request names, `topic/partition` each, in order."""
    assigned_replicas: list[int] | None = None
    """In order of preference; the first is the preferred replica."""
    live_brokers: list[int] | None = None
    broker_epochs: list[int] | None = None
    """The czxid of the registration of each of `live_brokers`, in the same order."""
    broker_epoch: int | None = None
    """Of a command that was sent or obeyed: the incarnation that it is for; of a `ServeFetch`, the
    one that asked (level 3)."""
    max_broker_epoch: int | None = None
    """Of a command, in place of `broker_epoch`: the largest one that its sender knew (level 4)."""
    metadata_version: int | None = None
    """Of metadata that were sent or taken: their number in the controller epoch (level 4)."""
    is_unclean: bool = False
    """On an `ElectLeader`: committed records may be lost, as the operator allows (FAIL-002).

    Once or as a policy; no member of the last ISR is live that was not away.
    """
    is_loss_possible: bool = False
    """On an `ElectLeader`: its leader is of the last ISR, but all live members of that were away.

    It leads alone, and may have lost the end of its log: allowed or not, nothing else is there.
    """
    znode_version: int | None = None
    expected_version: int | None = None
    high_watermark: int | None = None
    log_end_offset: int | None = None

    op_id: int | None = None
    """Pairs `invoke` with `complete`; unique per (node, incarnation)."""
    inv_ns: int | None = None
    """On a completion: `mono_ns` of its invocation."""
    outcome: Outcome | None = None
    error_code: str | None = None
    acks: int | None = None
    """-1 all, 1 leader only, 0 none."""
    producer_id: int | None = None
    """On a `Produce`: of an idempotent producer, which may send the request more than once."""
    producer_epoch: int | None = None
    base_sequence: int | None = None
    """Of that producer: the number of the first of `values` in its partition and epoch."""
    offset: int | None = None
    """First offset of `values`; of a truncation, the new log end offset; of a fetch, its start."""
    values: list[str] | None = None
    """Payload ids `<client>/<sequence>/<attempt>`, one per record, unique per attempt."""
    record_epochs: list[int] | None = None
    """The leader epoch of each record of `values`."""

    request_id: str | None = None
    """Links the two ends of an RPC."""
    peer: str | None = None
    """The node at the other end."""
    session_id: int | None = None
    zxid: int | None = None
    partition_incarnation: int | None = None
    """The czxid of the LeaderAndISR znode: another one after a deletion and a creation."""
    path: str | None = None
    principal: str | None = None
    """For which a change of the configuration was forwarded, made, or asked (FWD-005)."""
    forwarded_request: str | None = None
    """Of a change that came through another broker: the same on all lines about it."""
    data: str | None = None
    """The content that a ZooKeeper write stored, as text."""

    user: str | None = None
    """Of a mutation of topics, or of a quota: empty for the default, absent for none."""
    client_id: str | None = None
    """As `user`."""
    method: str | None = None
    """The request for a mutation of topics.

    On a `ForwardRequest` or `CreateTopic`: the one that a broker creates a topic for of its own
    accord, `FindCoordinator`; absent where the client asked for the topic itself (FWD-006).
    """
    api_version: int | None = None
    """Of a mutation, as Kafka counts: an older one has no word for a refusal."""
    partition_count: int | None = None
    """That a mutation of topics makes or removes."""
    mutation_rate: str | None = None
    """On an `AlterQuota`: partitions per second, in decimals; absent when the quota is gone."""
    mutation_burst: str | None = None
    """On an `AlterQuota`: the most partitions that a bucket holds, in decimals."""
    throttle_time_ms: int | None = None
    clock_ms: int | None = None
    """Of a mutation: the node's own clock when the tokens of its client were counted.

    On an `ApplyMutation` of a delegation token that was over: when, in milliseconds since 1970.
    """
    received_ms: int | None = None
    """Of a mutation: by the same clock, when its request was taken from the connection."""
    connection: str | None = None
    """Of a mutation: over which its request came."""
    request_number: int | None = None
    """Of a mutation: its request, among those of the process that took it."""

    min_insync_replicas: int | None = None
    """On a `RunStarted`: so many must be in the ISR when a leader appends for acks=all.

    Absent where the implementation does not take that setting.
    """

    fault_id: str | None = None
    fault: str | None = None
    """The fault's kind, for example `pause_broker`."""
    phase: Phase | None = None
    target: str | None = None
    detail: str | None = None
    """JSON for people and reports; no check reads it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceFile:
    """What was read from one file: the events in file order, and what could not be read."""

    events: list[TraceEvent] = field(default_factory=list)
    torn_lines: int = 0
    """Lines without an end, cut off by a kill: expected at most once per file."""
    foreign_lines: list[int] = field(default_factory=list)
    """Numbers, from 1, of complete lines that are no trace event."""


_encoder = msgspec.json.Encoder(order="deterministic")
_field_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(TraceEvent)


def encode(event: TraceEvent) -> bytes:
    """The line of `event`, newline included; the same event gives the same bytes."""
    return _encoder.encode(event) + b"\n"


def line_head(run_id: str, node: str, incarnation: int) -> bytes:
    """How each line of one start of a node begins, for `encode_fields`."""
    head: dict[str, object] = {"run_id": run_id, "node": node}
    if incarnation != 1:
        head["incarnation"] = incarnation
    return _field_encoder.encode(head)[:-1]


def encode_fields(
    head: bytes, seq: int, mono_ns: int, lamport: int, wall_ns: int, fields: Mapping[str, object]
) -> bytes:
    """As `encode`, for half the time: `fields` has the names of `TraceEvent`, and no None."""
    rest = _field_encoder.encode(fields)[1:]
    numbers = (head, seq, mono_ns, lamport, wall_ns, rest)
    return b'%b,"seq":%d,"mono_ns":%d,"lamport":%d,"wall_ns":%d,%b\n' % numbers


def decode(line: bytes) -> TraceEvent:
    """The event of one line; raises `msgspec.MsgspecError` when the line is none."""
    return _decoder.decode(line)


def event_of(line: bytes) -> TraceEvent | None:
    """The event of one line; None when the line is none."""
    try:
        return _decoder.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def run_folders(folder: Path) -> list[Path]:
    """The folders at or below `folder` that hold the traces of one run each, ascending.

    Traces below a run's own, without one of the harness, are what an implementation keeps there
    for itself: no run began with them.
    """
    found = sorted({path.parent for path in folder.rglob(TRACES) if path.is_file()})
    begun = {one for one in found if (one / HARNESS_TRACE).is_file()}
    return [one for one in found if one in begun or begun.isdisjoint(one.parents)]


def read_trace(path: Path) -> TraceFile:
    """Read one NDJSON file; unreadable lines are counted, never dropped silently."""
    return parse_trace(path.read_bytes())


def parse_trace(text: bytes) -> TraceFile:
    """As `read_trace`, of the bytes of a file."""
    events: list[TraceEvent] = []
    foreign: list[int] = []
    *complete, tail = text.split(b"\n")
    for number, line in enumerate(complete, start=1):
        event = event_of(line)
        if event is None:
            foreign.append(number)
        else:
            events.append(event)
    return TraceFile(events=events, torn_lines=1 if tail else 0, foreign_lines=foreign)


def encode_all(events: Iterable[TraceEvent]) -> Iterator[bytes]:
    """The lines of `events`, in order."""
    return map(encode, events)


def json_schema() -> dict[str, object]:
    """The JSON Schema (2020-12) of a line: what `trace.schema.json` holds."""
    schema = msgspec.json.schema(TraceEvent)
    for definition in schema["$defs"].values():
        if "description" in definition:  # Python >= 3.13 strips the indentation of docstrings
            definition["description"] = inspect.cleandoc(definition["description"])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
