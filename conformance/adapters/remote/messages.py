"""The messages between the harness and an adapter program: one JSON object in each line.

A call has a `verb`, an `id` and a `deadline_ms`. Its answer has the same `id` and a `status`: `ok`
with the fields of that verb, `error` with an `error_code`, or `unsupported`. Answers may come in
any order. `adapter.schema.json` says the same to other programs.
"""

import inspect
import json
import re
from pathlib import Path
from typing import Any, ClassVar, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from fencepost.conformance.checks.observations import Fidelity
from fencepost.fault_injection.workload.commands import ControlMethod
from fencepost.fault_injection.workload.operations import ACKS_ALL
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import ElectionKind

PROTOCOL = 1
"""The version of these messages; `hello` names it on both sides."""
LINE_BYTES_MAX = 1 << 20
ADMIN_MS = 5_000
READ_MS = 2_000
START_MS = 15_000
EVENTS_MAX = 1_000
"""Lines of a trace in one answer, which has at most `LINE_BYTES_MAX` bytes."""
SCHEMA = Path("conformance/adapters/remote/adapter.schema.json")


DeclaredCapability = Literal[
    "processes",
    "zookeeper",
    "links",
    "unclean_leader_election",
    "min_insync_replicas",
    "trace",
    "control",
    "controlled_shutdown",
]
BrokerEvents = Literal["elections", "roles", "appends", "high_watermarks", "isr_changes"]


def _verb(class_name: str) -> str:
    """`NodeStartCall` is the call of `node_start`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", class_name.removesuffix("Call")).lower()


class Done(
    Struct, frozen=True, kw_only=True, tag_field="status", tag="ok", forbid_unknown_fields=True
):
    """It is done."""

    id: int
    """Of the call."""


class Refused(Done, frozen=True, kw_only=True, tag="error"):
    """It is not done, or of a produce with `definite` false: perhaps not."""

    error_code: str
    """A name of `spec.vocabulary.ErrorCode` where one fits."""
    message: str = ""
    definite: bool | None = None
    """True when a produce surely appended nothing; without it, the error code decides."""


class Unsupported(Done, frozen=True, kw_only=True, tag="unsupported"):
    """The adapter does not know the verb, or the feature that a probe names."""


class Call(Struct, frozen=True, kw_only=True, tag_field="verb", tag=_verb):
    """What the harness asks."""

    answer: ClassVar[type[Done]] = Done
    id: int = 0
    deadline_ms: int = ADMIN_MS
    """How long the harness waits for the answer."""

    @property
    def verb(self) -> str:
        """As it is written."""
        return _verb(type(self).__name__)


class HelloAnswer(Done, frozen=True, kw_only=True):
    """What the adapter puts under test; what is not declared here is never tried."""

    protocol: Literal[1]
    name: str
    """Of the implementation, as reports name it."""
    version: str = ""
    levels: tuple[Literal[0, 1, 2, 3, 4, 5], ...] = (2,)
    """The protocol levels that it can run at."""
    capabilities: tuple[DeclaredCapability, ...] = ()
    """`processes`: each broker is a process, with its logs in `broker-<id>` below the folder.

    `zookeeper`: its state is in the ZooKeeper of the harness, as `spec/znodes.py` has it, and is
    read there instead of with `observe`.

    `links`: with `processes`, brokers register the address that `node_start` names.

    `unclean_leader_election`: brokers obey that setting of `cluster_create`.

    `min_insync_replicas`: brokers obey that setting too.

    `trace`: it answers `trace_read`.

    `control`: brokers take commands of a controller from `control`, with any epochs.

    `controlled_shutdown`: with `control`, the controller takes ControlledShutdown from there.
    """
    observes: dict[BrokerEvents, Fidelity] = {}
    """How faithful its brokers' lines are, by kind of event; what is left out has none.

    They are in `trace-broker-<id>.ndjson` in the folder, as `spec/docs/trace.md` has them, or are
    asked for with `trace_read`.
    """


class HelloCall(Call, frozen=True, kw_only=True):
    """The first call of every run of the adapter."""

    answer = HelloAnswer
    deadline_ms: int = START_MS
    """The program has to start first."""
    protocol: int = PROTOCOL


class ProbeCall(Call, frozen=True, kw_only=True):
    """Asks for a feature that does not exist; the answer must be `unsupported`."""

    feature: str


class ClusterCreateCall(Call, frozen=True, kw_only=True):
    """A cluster of which no broker runs yet; an adapter has one in its life."""

    run_id: str
    folder: str
    """An absolute path; what the adapter keeps is below it."""
    broker_ids: tuple[int, ...]
    level: int
    zookeeper: str | None
    """`HOST:PORT/CHROOT` for this cluster alone; an adapter with `zookeeper` gets one."""
    session_timeout_ms: int
    replica_lag_ms: int
    unclean_leader_election: bool = False
    """A replica outside the ISR may be elected when no member of it lives.

    Only an adapter that declares this setting gets true.
    """
    min_insync_replicas: int | UnsetType = UNSET
    """So many must be in the ISR when a leader appends for acks=all.

    Only an adapter that declares this setting gets the field.
    """


class ClusterDestroyCall(Call, frozen=True, kw_only=True):
    """No broker runs any more."""


class NodeStarted(Done, frozen=True, kw_only=True):
    """The broker is starting."""

    pid: int | None = None
    """Of its process, a descendant of the adapter; an adapter with `processes` gives it."""


class NodeStartCall(Call, frozen=True, kw_only=True):
    """Start a broker that does not run, on the data that it has."""

    answer = NodeStarted
    deadline_ms: int = START_MS
    broker_id: int
    zookeeper: str | None = None
    """The address at which this broker finds it: faults can cut this connection alone."""
    advertised: str | None = None
    """`HOST:PORT` to register instead of its own; an adapter with `links` gets one."""


class NodeKillCall(Call, frozen=True, kw_only=True):
    """End a broker at once, without cleaning up; one that is a process gets signals instead."""

    broker_id: int


class NodeStopCall(Call, frozen=True, kw_only=True):
    """Ask a broker to end, as above; the answer comes when it has ended."""

    broker_id: int


class TopicCreateCall(Call, frozen=True, kw_only=True):
    """Ask for a topic, through a broker."""

    broker_id: int
    topic: str
    assignment: tuple[tuple[int, ...], ...]
    """The replicas of each partition, the preferred one first."""


class TopicDeleteCall(Call, frozen=True, kw_only=True):
    """Ask for the deletion of a topic, through a broker; it is begun, and done later."""

    broker_id: int
    topic: str


class PartitionsAddCall(Call, frozen=True, kw_only=True):
    """Ask for so many partitions in all."""

    broker_id: int
    topic: str
    count: int


class ReassignCall(Call, frozen=True, kw_only=True):
    """Ask for a move of a partition to these replicas; it is begun, and done later."""

    broker_id: int
    topic: str
    partition: int
    replicas: tuple[int, ...]


class ElectLeaderCall(Call, frozen=True, kw_only=True):
    """Ask for an election."""

    broker_id: int
    topic: str
    partition: int
    kind: ElectionKind


class LeaderAnswered(Done, frozen=True, kw_only=True):
    """What every answer of a leader may tell."""

    leader_epoch: int | None = None
    partition_incarnation: int | None = None
    """Another number for a topic that was deleted and created again."""


class Produced(LeaderAnswered, frozen=True, kw_only=True):
    """The values are appended; with acks -1 also committed."""

    offset: int
    """Of the first value."""
    high_watermark: int | None = None


class ProduceCall(Call, frozen=True, kw_only=True):
    """Append values in one batch, on this broker and no other."""

    answer = Produced
    broker_id: int
    topic: str
    partition: int
    values: tuple[str, ...]
    acks: int = ACKS_ALL
    timeout_ms: int


class Fetched(LeaderAnswered, frozen=True, kw_only=True):
    """Committed values from the offset on; none at the high watermark."""

    values: tuple[str, ...]
    high_watermark: int
    """The first offset that is not committed."""
    log_end_offset: int | None = None
    record_epochs: tuple[int, ...] = ()
    """The leader epoch of each value, or of none."""


class FetchCall(Call, frozen=True, kw_only=True):
    """Read as a client, from this broker and no other."""

    answer = Fetched
    broker_id: int
    topic: str
    partition: int
    offset: int
    max_records: int
    max_wait_ms: int


class OffsetsListed(LeaderAnswered, frozen=True, kw_only=True):
    """The ends of the leader's log."""

    high_watermark: int
    log_end_offset: int


class ListOffsetsCall(Call, frozen=True, kw_only=True):
    """Ask this broker, as the leader, how far the log goes."""

    answer = OffsetsListed
    deadline_ms: int = READ_MS
    broker_id: int
    topic: str
    partition: int


class PartitionRoute(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which broker leads a partition."""

    topic: str
    partition: int
    leader: int
    leader_epoch: int


class MetadataAnswer(Done, frozen=True, kw_only=True):
    """The routing view of one broker, which may be stale."""

    broker_ids: tuple[int, ...]
    """The brokers that clients may ask."""
    controller_id: int | None = None
    partitions: tuple[PartitionRoute, ...]
    """Those that have a leader."""


class MetadataCall(Call, frozen=True, kw_only=True):
    """Ask a broker for its routing view."""

    answer = MetadataAnswer
    deadline_ms: int = READ_MS
    broker_id: int


class LiveBroker(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A broker that is registered."""

    broker_id: int
    broker_epoch: int
    """Another number, above 0, in each of its runs."""


class ObservedPartition(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The published state of a partition."""

    topic: str
    partition: int
    assigned_replicas: tuple[int, ...]
    """The preferred one first."""
    leader: int
    """-1 without one."""
    leader_epoch: int
    isr: tuple[int, ...]
    znode_version: int | None = None
    """Rises with each change of the state; an adapter with `control` tells it."""
    partition_incarnation: int = 0
    """Another number for a topic that was deleted and created again."""


class Observed(Done, frozen=True, kw_only=True):
    """The published state of the whole cluster now."""

    brokers: tuple[LiveBroker, ...]
    controller_id: int | None = None
    controller_epoch: int | None = None
    """Of the last controller; an adapter with `control` tells it."""
    partitions: tuple[ObservedPartition, ...]


class ObserveCall(Call, frozen=True, kw_only=True):
    """Ask for the published state, wherever the implementation publishes it."""

    answer = Observed


class CommandedState(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a command says of its partition."""

    topic: str
    partition: int
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    assigned_replicas: tuple[int, ...]
    znode_version: int
    partition_incarnation: int
    topic_id: str = ""
    is_deleted: bool = False
    """True when StopReplica is to remove the data too."""


class RefusedPartition(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why a command was not obeyed for a partition."""

    topic: str
    partition: int
    error_code: str


class Controlled(Done, frozen=True, kw_only=True):
    """The broker has obeyed, except for these partitions."""

    partitions: tuple[RefusedPartition, ...] = ()


class ControlCall(Call, frozen=True, kw_only=True):
    """Send one command to this broker as it is; an adapter with `control`."""

    answer = Controlled
    broker_id: int
    """The receiver."""
    method: ControlMethod
    controller_id: int
    controller_epoch: int
    about_broker_id: int
    """Of the broker epoch: the receiver, or of ControlledShutdown the broker that ends."""
    broker_epoch: int
    """-1: none is named."""
    about: CommandedState | None = None


class TraceRead(Done, frozen=True, kw_only=True):
    """Lines of brokers in the order of each broker; none when there are no more now."""

    events: tuple[TraceEvent, ...]
    cursor: int
    """Of the next call."""


class TraceReadCall(Call, frozen=True, kw_only=True):
    """Ask for what brokers did since the cursor, which is 0 at first; an adapter with `trace`."""

    answer = TraceRead
    cursor: int
    max_events: int = EVENTS_MAX


class ByeCall(Call, frozen=True, kw_only=True):
    """The last call; the adapter ends after its answer."""

    deadline_ms: int = READ_MS


CALLS = tuple(Call.__subclasses__())


def schema_text() -> str:
    """What `adapter.schema.json` holds."""
    answers = tuple(dict.fromkeys([*(call.answer for call in CALLS), Refused, Unsupported]))
    found, definitions = msgspec.json.schema_components(
        [*CALLS, *answers], ref_template="#/$defs/{name}"
    )
    for definition in definitions.values():
        definition["description"] = inspect.cleandoc(definition.get("description", ""))
    references = dict(zip([*CALLS, *answers], found, strict=True))
    schema: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Fencepost: one line between the harness and an adapter",
        "oneOf": [
            {"title": "a call", "oneOf": [references[call] for call in CALLS]},
            {"title": "an answer", "anyOf": [references[answer] for answer in answers]},
        ],
        "$defs": {
            **definitions,
            **{
                f"answer to {_verb(call.__name__)}": {
                    "anyOf": [references[one] for one in (call.answer, Refused, Unsupported)]
                }
                for call in CALLS
            },
        },
    }
    return json.dumps(schema, indent=2) + "\n"
