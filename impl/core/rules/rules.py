"""The rules of the protocol by name: what a level changes, and all that may be done in another way.

`Rules` holds functions of values, and tables; brokers and controllers ask `config.rules` and hold
none of them themselves. A level is `replace(rules of the level below, ...)` in `impl/core/levels`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass
from fractions import Fraction

from fencepost.impl.core.rules.commands import InitId, Stopped
from fencepost.impl.core.rules.configuration.mutation import ConfigOperation
from fencepost.impl.core.rules.configuration.redirection import ForwardedNumbers, Redirect
from fencepost.impl.core.rules.controller.controller_election import (
    Candidacy,
    Elected,
    Election,
    ElectionStep,
    NodeView,
    Operations,
    Result,
    WatchedReading,
)
from fencepost.impl.core.rules.controller.leadership import Decided, PartitionFacts
from fencepost.impl.core.rules.controller.partition_change_step import ChangeFacts, Step
from fencepost.impl.core.rules.controller.partition_requests import PartitionRequest
from fencepost.impl.core.rules.controller.partition_rules import View
from fencepost.impl.core.rules.controller.publication import (
    AfterReading,
    EndedPlaces,
    MultiLimits,
)
from fencepost.impl.core.rules.controller.reassignment import Advance, Assignment, Replicas
from fencepost.impl.core.rules.incarnations import BouncedMembers, Registrations, Stamping
from fencepost.impl.core.rules.isr import Settlement
from fencepost.impl.core.rules.metadata import MetadataVersion
from fencepost.impl.core.rules.producers import ProducerState, ProducerTable
from fencepost.impl.core.rules.produces import ProduceEnd
from fencepost.impl.core.rules.quota import Bucket, Client, Entity, Quota
from fencepost.impl.core.rules.replica import Acted, RecoveredLog, Replica
from fencepost.impl.core.rules.security.tokens import TokensToRemove
from fencepost.impl.core.rules.tables import CommandTable, PartitionTable, Permissions, Writer
from fencepost.impl.core.types.asker import Asker
from fencepost.impl.core.types.effects import DiskEffect
from fencepost.impl.core.types.messages import (
    CommandRequest,
    CreatePartitionsRequest,
    FetchRequest,
    FetchResponse,
    LeaderAndIsrRequest,
    PartitionState,
    PartitionStop,
    ProduceRequest,
    Record,
)
from fencepost.impl.core.types.refusals import Refusal
from fencepost.impl.core.types.request_header import RequestHeader
from fencepost.impl.core.types.topic_messages import CreateTopicRequest
from fencepost.impl.core.types.zookeeper import (
    Check,
    Create,
    Rejected,
    WriteOp,
    WriteResult,
    Znode,
)
from fencepost.spec.vocabulary import (
    Action,
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
    ElectionKind,
    ErrorCode,
    LeaderEpoch,
    Offset,
    PartitionIncarnation,
    ProducerId,
    ZnodeVersion,
)
from fencepost.spec.znodes import LeaderAndIsr, TopicDocument, TopicPartition

EpochJudgement = Callable[[ControllerEpoch, ControllerEpoch], bool]
"""Of the epoch that is known, and of a command's."""
ReplicaJudgement = Callable[[Replica, PartitionState], bool]
"""Of a replica, and of a command to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Named as the functions of level 0 or of the level that brings them; documented there."""

    # What happens when, and which node may write what: `tables.py`
    commands: CommandTable
    partitions: PartitionTable
    may_write: Mapping[Writer, Permissions]

    # Commands (CMD, CTL-006, CTL-007): `commands.py`, `replica.py`
    is_stale_controller: EpochJudgement
    deposes_controller: EpochJudgement
    adopt_controller_epoch: Callable[[ControllerEpoch, ControllerEpoch], ControllerEpoch]
    is_newer: ReplicaJudgement
    skips_epochs: ReplicaJudgement
    become_leader: Callable[[Replica, PartitionState, LeaderAndIsrRequest, int], Acted]
    become_follower: Callable[[Replica, PartitionState, LeaderAndIsrRequest], Acted]
    named_by_init: Callable[
        [Iterable[TopicPartition], Iterable[TopicPartition]], tuple[TopicPartition, ...]
    ]
    is_first_init: Callable[[InitId, InitId], bool]
    is_omitted: Callable[[Replica, int], bool]

    # Incarnations (TOP-003, CMD-008): `commands.py`
    is_over: Callable[[PartitionState, LeaderAndIsrRequest, Mapping[TopicPartition, Replica]], bool]
    is_overtaken: Callable[[PartitionState, Stopped | None, int], bool]
    is_of_other_incarnation: ReplicaJudgement
    begin_incarnation: Callable[
        [Replica, PartitionIncarnation], tuple[Replica, tuple[DiskEffect, ...]]
    ]
    is_newer_than_stop: Callable[[Replica, PartitionStop], bool]

    # Incarnations of brokers (BEP): `incarnations.py`
    named_broker_epoch: Callable[[BrokerEpoch], BrokerEpoch]
    heard_broker_epoch: Callable[[BrokerEpoch], BrokerEpoch]
    """Of a command that came: what the line about it tells."""
    is_stale_broker_epoch: Callable[[BrokerEpoch, BrokerEpoch], bool]
    """Of the broker's own epoch, and of a command's."""
    stamp: Stamping
    init_stamp: Stamping
    stamp_of: Callable[[CommandRequest], BrokerEpoch]
    reads_in_parts: Callable[[Sequence[str]], Sequence[tuple[str, ...]]]
    """Of the paths of the registrations: which are asked for together."""
    known_registrations: Callable[[Registrations, int], Registrations]
    """Of the registrations that were read, and of the zxid of the last one at their listing."""
    meet_follower: Callable[[Replica, BrokerId, BrokerEpoch], Replica]
    meet_registered: Callable[[Replica, Registrations], Replica]
    """Of a leader, and of the live brokers as its controller told them last."""
    bounced_members: BouncedMembers
    with_incarnations: Callable[[LeaderAndIsr, Registrations], LeaderAndIsr]
    """Of a decision that is not yet written, and the live brokers that it was made on."""
    tells_state: Callable[[LeaderAndIsr, Registrations], bool]
    tells_metadata: bool
    """Whether brokers are told the metadata of the cluster, and clients what their broker knows."""
    is_newer_metadata: Callable[[MetadataVersion, MetadataVersion], bool]
    """Of a body that was sent, and of the last one that was taken."""
    is_told_by: Callable[[MetadataVersion, ControllerEpoch], bool]
    """Of the last body that was taken, and of the controller that the broker obeys."""
    metadata_go_first: Callable[[bool, bool], bool]
    """Of a broker that has metadata to hear: whether of new brokers, and whether roles too."""
    reports_isr: bool
    """Whether a leader tells the controller of each ISR that it has changed."""
    sends_metadata_again: bool
    """Whether a body without an answer is due still."""
    has_controlled_shutdown: bool
    """Whether a broker that is to end lets others lead first."""
    shutdown_error: Callable[[BrokerEpoch | None, BrokerEpoch], ErrorCode]
    """Of the epoch of the broker's registration, None without one, and of its request."""
    follows_when_ending: Callable[[Replica], bool]
    """Of a broker that has asked to end, and is told to follow."""

    # Starts and failed logs (START): `startup.py`, `replica.py`
    recovered_high_watermark: Callable[[RecoveredLog], Offset]
    recovered_producers: Callable[[RecoveredLog], Mapping[ProducerId, ProducerState]]
    replicas_in: Callable[[Znode], Mapping[int, Sequence[BrokerId]]]
    is_kept: Callable[[Replica, Znode, LeaderAndIsr | None, bool], bool]
    floor_of: Callable[[Znode, LeaderAndIsr | None], tuple[LeaderEpoch, ZnodeVersion] | None]
    is_sound: Callable[[Replica], bool]
    go_offline: Callable[[Replica], Replica]
    tells_failure: Callable[[Replica], bool]

    # Followers (REPL, CMD-005): `fetches.py`, `replica.py`, `replication.py`
    truncate_follower: Callable[[Offset], Offset | None]
    """Of what a new follower knows to be committed: where it truncates at once."""
    fetch_epoch: Callable[[Replica], LeaderEpoch]
    is_awaited: Callable[[int | None, int], bool]
    """Of the request that is out, if any, and of the one that is answered."""
    is_current_fetch: Callable[[Replica, FetchResponse], bool]
    asks_again: Callable[[ErrorCode], bool]
    obey_shorter_leader: Callable[[Replica, FetchResponse], Replica]
    compare_logs: Callable[[Replica, LeaderEpoch, Offset], tuple[Offset, bool]]
    whole_batches: Callable[[tuple[Record, ...]], tuple[Record, ...]]
    follower_append: Callable[[Replica, tuple[Record, ...], Offset], Acted]

    # Leaders (REPL, CLI): `fetches.py`, `replication.py`, `produces.py`
    fetch_error: Callable[[Replica | None, FetchRequest], ErrorCode]
    serve_fetch: Callable[[Replica, BrokerId, Offset, int], Acted]
    committed_end: Callable[[Replica], Offset]
    advance_high_watermark: Callable[[Replica], Acted]
    answers_at_once: Callable[[ProduceRequest], bool]
    has_too_few_in_sync: Callable[[Replica, ProduceRequest, int], bool]
    """Of the leader, the request and `min_insync_replicas`; asked before the append."""
    known_of_producer: Callable[[Replica, ProducerTable, ProducerId], ProducerState]
    sequence_error: Callable[[ProducerState, ProduceRequest], ErrorCode]
    produce_error: Callable[[Replica], ErrorCode]
    batch_records: Callable[[ProduceRequest, LeaderEpoch], tuple[Record, ...]]
    acknowledged_offset: Callable[[Offset, Offset], Offset]
    """Of the offset of a batch's first record, and of the end of the batch."""
    produce_ends: Mapping[ProduceEnd, ErrorCode]

    # The ISR (ISR, ZK-003): `isr.py`
    shrink_isr: Callable[[Replica, int, int], Acted]
    """Of the replica, now and the lag time in ms; asked at every tick."""
    expand_isr: Callable[[Replica, int, int], Acted]
    """Of the same; asked at every fetch of a follower."""
    lags_at_ms: Callable[[Replica, int], int | None]
    isr_operations: Callable[[Replica, ZnodeVersion], tuple[WriteOp, ...]]
    """Of the replica, and of the version of the partition's folder."""
    settle_isr: Callable[
        [Replica, LeaderAndIsr, ZnodeVersion], tuple[Settlement, frozenset[BrokerId]]
    ]
    """Of the replica, and of the state that it read back and its version."""
    fence_leader: Callable[[Replica], Acted]

    # Registration and controller election (ZK-001, EL, CTL, ZK-005):
    # `controller/controller_election.py`
    watched: AbstractSet[WatchedReading]
    holds_controller: Callable[[NodeView, Znode], bool]
    election_step: Callable[[NodeView, BrokerId], ElectionStep]
    belongs_to_no_session: Callable[[Znode], bool]
    """Of `/controller`; so is the next."""
    is_overwritten: Callable[[Znode], bool]
    registration_znode: Callable[[str, bytes], Create]
    """Of its path and its document."""
    candidate_znode: Callable[[BrokerId, int], Create]
    win_controller: Callable[[Candidacy, Operations, Result, Permissions], Election]
    election_operations: Operations
    elected_of: Result
    accepts_election: Callable[[NodeView], bool]
    elected_by: Callable[[Znode, Znode, ControllerEpoch], Elected | None]
    """Of `/controller` that this node holds, `/controller_epoch`, and what that says."""
    epoch_stands: Callable[[ZnodeVersion, Znode], bool]
    learn_epoch: Callable[[ControllerEpoch], ControllerEpoch]
    controller_fence: Callable[[ControllerEpoch, ZnodeVersion], tuple[Check, ...]]
    """Of the epoch of the controller, and of the version of `/controller_epoch`."""

    # Brokers and topics that come and go (V3 A, B, D): `controller/discovery.py`
    reads_broker_change: Callable[[Mapping[TopicPartition, LeaderAndIsr]], bool]
    changed_brokers: Callable[
        [Mapping[BrokerId, BrokerEpoch], Mapping[BrokerId, BrokerEpoch]], frozenset[BrokerId]
    ]
    topics_to_learn: Callable[[AbstractSet[str], Sequence[Znode]], Sequence[Znode]]
    read_at_fail_over: Callable[[Sequence[TopicPartition]], Sequence[TopicPartition]]
    told_at_fail_over: Callable[[Sequence[TopicPartition]], Sequence[TopicPartition]]

    # Leader elections (FAIL, TOP-001): `controller/leadership.py`
    is_uninitialised: Callable[[LeaderAndIsr | None, ControllerEpoch], bool]
    init_leader: Callable[[PartitionFacts, ControllerEpoch], Decided | None]
    elect_leader: Callable[[PartitionFacts, ControllerEpoch], Decided | None]
    needs_newer_brokers: Callable[[PartitionFacts, Decided], bool]

    # Their writes (ZK-004, ZK-006, ZK-007): `controller/publication.py`
    multi_limits: MultiLimits
    after_reading: Callable[[LeaderAndIsr | None, LeaderAndIsr | None], AfterReading]
    first_state_operations: Callable[[PartitionFacts, LeaderAndIsr], tuple[WriteOp, ...]]
    published_as: Callable[[WriteOp, WriteResult], tuple[ZnodeVersion, int | None] | None]
    sort_out_refusal: Callable[
        [Sequence[tuple[WriteOp, ...]], Rejected], tuple[EndedPlaces, list[int]]
    ]

    # What failed at ZooKeeper or a peer (ZK-009): `pauses.py`
    retry_after_pause: Callable[[int, int], int]
    """Now, and the pause in milliseconds -> the time of the next try."""

    # Partition changes (REAS, PART): `controller/change_order.py`, `reassignment.py`
    is_look_due: Callable[[int, int], bool]
    changing_topics: Callable[[AbstractSet[str], AbstractSet[str], AbstractSet[str]], list[str]]
    followed_request: Callable[[TopicPartition, PartitionRequest], PartitionRequest]
    add_partitions: Callable[[ChangeFacts, PartitionRequest], Step | None]
    advance_reassignment: Callable[
        [Assignment, LeaderAndIsr, Replicas | None, AbstractSet[BrokerId]], Advance | None
    ]
    stopped_before: Callable[[Action, frozenset[BrokerId]], frozenset[BrokerId]]
    stop_stands: Callable[[BrokerId, frozenset[BrokerId]], bool]
    written_instead: Callable[[str, TopicDocument | None, WriteResult | None], tuple[WriteOp, ...]]

    # Changes of the configuration (FWD): `configuration/redirection.py`, `mutation.py`
    redirect: Redirect
    principal_of: Callable[[RequestHeader, Asker], str]
    forwarded_for: Callable[[str, BrokerId], str]
    """Of the principal that asks, and of the broker that forwards."""
    takes_forwarded: Callable[[ForwardedNumbers, RequestHeader], bool]
    forward_without_answer: ErrorCode
    topics_at_controller: bool
    """Whether the controller alone writes what is asked of topics; else any broker, unfenced."""
    asks_for_internal_topic: Callable[[Asker, Asker], Asker]
    """Of the client that looks for a coordinator, and of the broker that it has asked."""
    coordinating_partition: Callable[[str, int], int]
    """Of a group or transaction, and of the number of partitions of its internal topic."""
    config_operation: ConfigOperation
    watches_changes: Callable[[bool], bool]
    """Whether a reading of the changes sets a watch; given whether it is not the first one."""
    reads_configs: bool
    """Whether every broker reads the configuration from its start on (FWD-008)."""
    tokens_to_remove: TokensToRemove

    # Topics and partitions for clients (CLI-003, TOP, PART): `controller/partition_rules.py`
    routed_leader: Callable[[LeaderAndIsr, Sequence[BrokerId]], BrokerId]
    existing_topic: Callable[[str], Refusal]
    missing_topic: Callable[[str], Refusal]
    refuse_topic: Callable[[CreateTopicRequest, Sequence[BrokerId]], Refusal | None]
    refuse_election: Callable[[View, ElectionKind, TopicPartition], Refusal | None]
    refuse_reassignment: Callable[[View, TopicPartition, tuple[BrokerId, ...]], Refusal | None]
    refuse_creation: Callable[[View, CreatePartitionsRequest], Refusal | None]

    # The mutation quota (QUOTA): `quota.py`
    tokens_at: Callable[[Bucket, Quota, int], Fraction]
    """Of the bucket, the quota that fills it, and now."""
    is_admitting: Callable[[Fraction], bool]
    charge: Callable[[Fraction, int, Quota], Fraction]
    """Of the tokens, the partitions and the quota."""
    validation_cost: Callable[[int], int]
    throttle_ms: Callable[[Fraction, Fraction], int]
    """Of the tokens, and the rate in partitions per second."""
    larger_throttle: Callable[[int, int], int]
    """Of the request's throttle time and the controller's, in ms."""
    is_refusable: Callable[[str, int], bool]
    """Of the method, and the version of its request."""
    quota_order: Callable[[Client], Sequence[Entity]]
    bucket_of: Callable[[Client, Entity], Entity]
