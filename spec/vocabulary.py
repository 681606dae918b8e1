"""The names of the protocol, spelled once for all rooms.

A TLA+ action `BecomeLeader` is the function `become_leader` of the core and the trace value
`"BecomeLeader"`; a TLA+ field, a Python attribute, a proto field, a JSON key and a Spark column
share one snake_case name. Nothing here has behaviour beyond the mapping between the two spellings.
"""

import re
from collections.abc import Mapping
from enum import IntEnum, StrEnum
from typing import Literal, NamedTuple, NewType, get_args

BrokerId = NewType("BrokerId", int)
BrokerEpoch = NewType("BrokerEpoch", int)
ControllerEpoch = NewType("ControllerEpoch", int)
LeaderEpoch = NewType("LeaderEpoch", int)
Offset = NewType("Offset", int)
ProducerId = NewType("ProducerId", int)
SessionId = NewType("SessionId", int)
ZnodeVersion = NewType("ZnodeVersion", int)
PartitionIncarnation = NewType("PartitionIncarnation", int)
"""The czxid of a LeaderAndISR znode: another one after a deletion and a creation (H10)."""

NO_BROKER = BrokerId(-1)
"""The `leader` of a partition that has none (V3 A.3.2), and the broker id of a consumer."""

NO_EPOCH = LeaderEpoch(-1)
"""The `leader_epoch` of a replica that has not yet obeyed any command."""

NO_BROKER_EPOCH = BrokerEpoch(0)
"""Of a broker that is not registered yet."""

NO_INCARNATION = PartitionIncarnation(0)
"""Of a partition with a state of unknown age."""

NO_CONTROLLER_EPOCH = ControllerEpoch(0)
"""What commands carry at level 0; the first controller's epoch is 1 (CTL-005)."""

NO_OFFSET = Offset(-1)
"""An answer without an offset: an error, or one that was not asked for."""

NO_PRODUCER = ProducerId(0)
"""The `producer_id` of a record that no idempotent producer wrote; Kafka says -1."""

ANY_VERSION = ZnodeVersion(-1)
"""ZooKeeper's unconditional version. Only the mutant that forgets the check writes with it."""


class ProtocolLevel(IntEnum):
    """`inter_broker_protocol`: each level keeps the rules of the one below and adds one."""

    DRAFT_V3 = 0
    """V3 as written: truncation to the high watermark, no controller epoch."""
    CONTROLLER_EPOCH = 1
    """Elections bump `/controller_epoch` in one multi; commands and writes are fenced by it."""
    LEADER_EPOCH = 2
    """Truncation and fetches are fenced by leader epoch (KIP-101, KIP-279, KIP-320)."""
    BROKER_EPOCH = 3
    """Commands, fetches and members of the ISR name incarnations of brokers (KIP-380, KIP-903)."""
    MAX_BROKER_EPOCH = 4
    """Commands name the largest broker epoch known, and metadata come from the controller."""
    CONTROLLER_MUTATIONS = 5
    """The controller alone changes the configuration; others forward to it (KIP-590)."""


class BrokerVersion(NamedTuple):
    """A broker between the two passes of an upgrade understands more than it speaks (UMD-003)."""

    code_level: int
    inter_broker_protocol: int

    @property
    def is_possible(self) -> bool:
        """Code speaks no level that it does not understand; upgrades begin at level 2."""
        code, protocol = self
        return protocol == code or ProtocolLevel.LEADER_EPOCH <= protocol < code

    def __str__(self) -> str:
        return f"code of level {self.code_level:d} that speaks {self.inter_broker_protocol:d}"


NEWEST_LEVEL = ProtocolLevel.CONTROLLER_MUTATIONS
"""What runs play that say nothing of it, and the gate; a later one can be chosen by its number."""


class Action(StrEnum):
    """What a node can do: each value is a TLA+ action and, in snake_case, a core function."""

    REGISTER_BROKER = "RegisterBroker"
    READ_ASSIGNMENT = "ReadAssignment"
    RECOVER_REPLICAS = "RecoverReplicas"
    CREATE_TOPIC = "CreateTopic"
    DELETE_TOPIC = "DeleteTopic"
    ELECT_CONTROLLER = "ElectController"
    RESIGN_CONTROLLER = "ResignController"
    LEARN_CONTROLLER = "LearnController"
    DETECT_BROKER_CHANGE = "DetectBrokerChange"
    DETECT_TOPIC_CHANGE = "DetectTopicChange"
    OBEY_SHUTDOWN = "ObeyShutdown"
    INIT_LEADER = "InitLeader"
    ELECT_LEADER = "ElectLeader"
    PUBLISH_DECISION = "PublishDecision"
    SEND_LEADER_AND_ISR = "SendLeaderAndIsr"
    SEND_STOP_REPLICA = "SendStopReplica"
    SEND_UPDATE_METADATA = "SendUpdateMetadata"
    UPDATE_METADATA = "UpdateMetadata"
    BECOME_LEADER = "BecomeLeader"
    BECOME_FOLLOWER = "BecomeFollower"
    STOP_REPLICA = "StopReplica"
    SEND_INIT = "SendInit"
    OBEY_INIT = "ObeyInit"
    TRUNCATE_LOG = "TruncateLog"
    LEADER_APPEND = "LeaderAppend"
    SERVE_FETCH = "ServeFetch"
    FOLLOWER_APPEND = "FollowerAppend"
    ADVANCE_HIGH_WATERMARK = "AdvanceHighWatermark"
    SHRINK_ISR = "ShrinkIsr"
    EXPAND_ISR = "ExpandIsr"
    ADOPT_ISR = "AdoptIsr"
    FENCE_LEADER = "FenceLeader"
    REQUEST_PARTITIONS = "RequestPartitions"
    ADD_PARTITIONS = "AddPartitions"
    REMOVE_PARTITIONS = "RemovePartitions"
    START_REASSIGNMENT = "StartReassignment"
    CANCEL_REASSIGNMENT = "CancelReassignment"
    ADVANCE_REASSIGNMENT = "AdvanceReassignment"
    COMPLETE_REASSIGNMENT = "CompleteReassignment"
    FORWARD_REQUEST = "ForwardRequest"
    APPLY_MUTATION = "ApplyMutation"
    ALTER_QUOTA = "AlterQuota"
    ADMIT_MUTATION = "AdmitMutation"
    REFUSE_MUTATION = "RefuseMutation"
    VALIDATE_MUTATION = "ValidateMutation"


class RefusalKind(StrEnum):
    """What a process was told or asked and did not act upon: it changes nothing."""

    REFUSE_COMMAND = "RefuseCommand"
    REFUSE_FETCH = "RefuseFetch"
    REFUSE_STOP = "RefuseStop"
    DISCARD_READING = "DiscardReading"
    MUTE_CONNECTION = "MuteConnection"


class ModelledAction(StrEnum):
    """Actions of the specs that the core does not perform yet.

    A member moves to `Action` in the commit that brings its function, so the core has no action
    without a model.
    """

    # MetadataPropagation
    FETCH_METADATA = "FetchMetadata"
    ROUTE_PRODUCE = "RouteProduce"

    # Forwarding
    SEND_REQUEST = "SendRequest"
    REJECT_FORWARD = "RejectForward"
    READ_CONFIG = "ReadConfig"

    # DelegationTokens
    READ_TOKEN = "ReadToken"  # noqa: S105  the name of an action, not a password

    # Zk
    SETTLE_WRITE = "SettleWrite"

    # ZkWatches
    LIST_CHILDREN = "ListChildren"
    SYNC_SERVER = "SyncServer"


class EnvironmentAction(StrEnum):
    """What the world does to nodes: actions of the specs that no function of the core performs."""

    CRASH_BROKER = "CrashBroker"
    CRASH_CONTROLLER = "CrashController"
    RESTART_BROKER = "RestartBroker"
    ABANDON_SESSION = "AbandonSession"
    EXPIRE_SESSION = "ExpireSession"
    LOSE_MESSAGE = "LoseMessage"
    DUPLICATE_MESSAGE = "DuplicateMessage"
    LOSE_REPLY = "LoseReply"
    LOSE_REQUEST = "LoseRequest"
    APPLY_REQUEST = "ApplyRequest"
    DELETE_CONTROLLER = "DeleteController"
    OVERWRITE_CONTROLLER = "OverwriteController"
    WRITE_EPOCH = "WriteEpoch"
    CATCH_UP = "CatchUp"
    FIRE_WATCH = "FireWatch"
    SUSPEND_SESSION = "SuspendSession"
    RESUME_SESSION = "ResumeSession"
    UPGRADE_BROKER = "UpgradeBroker"
    DOWNGRADE_BROKER = "DowngradeBroker"
    UPGRADE_CODE = "UpgradeCode"
    DOWNGRADE_CODE = "DowngradeCode"
    RAISE_INTER_BROKER_PROTOCOL = "RaiseInterBrokerProtocol"
    PASS_TIME = "PassTime"  # noqa: S105  the name of an action, not a password
    STEP_CLOCK = "StepClock"


class Invariant(StrEnum):
    """What must hold. Each value is a TLA+ operator or a check of `conformance.checks`, or both."""

    LINEARIZABLE_LOG = "LinearizableLog"
    ACKNOWLEDGED_DURABLE = "AcknowledgedDurable"
    COMMITTED_DURABLE = "CommittedDurable"
    LOG_MATCHING = "LogMatching"
    HIGH_WATERMARK_MONOTONIC = "HighWatermarkMonotonic"
    ONE_LEADER_PER_EPOCH = "OneLeaderPerEpoch"
    ONE_COMMITTER_PER_EPOCH = "OneCommitterPerEpoch"
    LINEARIZABLE_ZNODE = "LinearizableZnode"
    ONLY_AUTHORISED_WRITES = "OnlyAuthorisedWrites"
    STALE_CONTROLLER_HARMLESS = "StaleControllerHarmless"
    STALE_INCARNATION_HARMLESS = "StaleIncarnationHarmless"
    ONLY_ASKERS_SHUT_DOWN = "OnlyAskersShutDown"
    INIT_NAMES_ALL = "InitNamesAll"
    METADATA_IN_ORDER = "MetadataInOrder"
    OBEYED_AS_SENT = "ObeyedAsSent"
    ONE_CONTROLLER_PER_EPOCH = "OneControllerPerEpoch"
    CONTROLLER_IN_ORDER = "ControllerInOrder"
    DECIDED_AS_REGISTERED = "DecidedAsRegistered"
    LEADER_IN_ISR = "LeaderInIsr"
    LEADER_COMPLETE = "LeaderComplete"
    ISR_SUBSET_ASSIGNED = "IsrSubsetAssigned"
    DELETE_ONLY_IF_UNASSIGNED = "DeleteOnlyIfUnassigned"
    ACTS_IN_ITS_ROLE = "ActsInItsRole"
    MIN_INSYNC_REPLICAS = "MinInsyncReplicas"
    SEQUENCES_IN_ORDER = "SequencesInOrder"
    LINEARIZABLE_CONFIG = "LinearizableConfig"
    FORWARDED_ONCE = "ForwardedOnce"
    PRINCIPAL_KEPT = "PrincipalKept"
    ONLY_CONTROLLER_WRITES = "OnlyControllerWrites"
    MUTATION_QUOTA_KEPT = "MutationQuotaKept"


class Liveness(StrEnum):
    """What must hold some day once the faults are over. Each value is a TLA+ operator."""

    CONTROLLER_EVENTUALLY_EXISTS = "ControllerEventuallyExists"
    EVENTUALLY_LEADER = "EventuallyLeader"
    EVENTUALLY_ISR_FULL = "EventuallyIsrFull"
    BROKER_EVENTUALLY_LEARNS_ROLE = "BrokerEventuallyLearnsRole"
    EVENTUALLY_TRUNCATED = "EventuallyTruncated"
    EVENTUALLY_ACKED_OR_FAILED = "EventuallyAckedOrFailed"
    EVENTUALLY_CONVERGED = "EventuallyConverged"
    EVENTUALLY_METADATA_CONVERGES = "EventuallyMetadataConverges"
    DELETION_COMPLETES = "DeletionCompletes"
    REASSIGNMENT_COMPLETES = "ReassignmentCompletes"
    ADDITION_COMPLETES = "AdditionCompletes"
    REMOVAL_COMPLETES = "RemovalCompletes"
    EVENTUALLY_PROPAGATED = "EventuallyPropagated"


class Ending(StrEnum):
    """What must hold at the end of a run, named as the report names it."""

    CONVERGED = "Converged"
    FINAL_READ = "FinalRead"
    DEMANDS = "DemandsMet"
    ANSWERS = "AnswersRight"
    RETRIES = "RetriesPaused"


class ErrorCode(StrEnum):
    """What a node answers to a peer or a client; Kafka's names where Kafka has one."""

    NONE = "NONE"
    UNKNOWN_TOPIC_OR_PARTITION = "UNKNOWN_TOPIC_OR_PARTITION"
    NOT_LEADER_OR_FOLLOWER = "NOT_LEADER_OR_FOLLOWER"
    OFFSET_OUT_OF_RANGE = "OFFSET_OUT_OF_RANGE"
    FENCED_LEADER_EPOCH = "FENCED_LEADER_EPOCH"
    UNKNOWN_LEADER_EPOCH = "UNKNOWN_LEADER_EPOCH"
    STALE_CONTROLLER_EPOCH = "STALE_CONTROLLER_EPOCH"
    STALE_LEADER_EPOCH = "STALE_LEADER_EPOCH"
    STALE_BROKER_EPOCH = "STALE_BROKER_EPOCH"
    NOT_ENOUGH_REPLICAS = "NOT_ENOUGH_REPLICAS"
    REPLICA_NOT_AVAILABLE = "REPLICA_NOT_AVAILABLE"
    UNKNOWN_TOPIC_ID = "UNKNOWN_TOPIC_ID"
    TOPIC_ALREADY_EXISTS = "TOPIC_ALREADY_EXISTS"
    INVALID_TOPIC = "INVALID_TOPIC"
    INVALID_REPLICA_ASSIGNMENT = "INVALID_REPLICA_ASSIGNMENT"
    INVALID_REQUEST = "INVALID_REQUEST"
    INVALID_CONFIG = "INVALID_CONFIG"
    BROKER_NOT_AVAILABLE = "BROKER_NOT_AVAILABLE"
    OUT_OF_ORDER_SEQUENCE_NUMBER = "OUT_OF_ORDER_SEQUENCE_NUMBER"
    INVALID_PRODUCER_EPOCH = "INVALID_PRODUCER_EPOCH"
    RECORD_LIST_TOO_LARGE = "RECORD_LIST_TOO_LARGE"
    DUPLICATE_SEQUENCE_NUMBER = "DUPLICATE_SEQUENCE_NUMBER"
    NOT_LEADER_AFTER_APPEND = "NOT_LEADER_AFTER_APPEND"
    REQUEST_TIMED_OUT = "REQUEST_TIMED_OUT"
    ELECTION_NOT_NEEDED = "ELECTION_NOT_NEEDED"
    PREFERRED_LEADER_NOT_AVAILABLE = "PREFERRED_LEADER_NOT_AVAILABLE"
    ELIGIBLE_LEADERS_NOT_AVAILABLE = "ELIGIBLE_LEADERS_NOT_AVAILABLE"
    REASSIGNMENT_IN_PROGRESS = "REASSIGNMENT_IN_PROGRESS"
    NO_REASSIGNMENT_IN_PROGRESS = "NO_REASSIGNMENT_IN_PROGRESS"
    INVALID_PARTITIONS = "INVALID_PARTITIONS"
    STORAGE_ERROR = "STORAGE_ERROR"
    NOT_CONTROLLER = "NOT_CONTROLLER"
    CLUSTER_AUTHORIZATION_FAILED = "CLUSTER_AUTHORIZATION_FAILED"
    TOPIC_AUTHORIZATION_FAILED = "TOPIC_AUTHORIZATION_FAILED"
    DELEGATION_TOKEN_OWNER_MISMATCH = "DELEGATION_TOKEN_OWNER_MISMATCH"  # noqa: S105  an error code
    DELEGATION_TOKEN_EXPIRED = "DELEGATION_TOKEN_EXPIRED"  # noqa: S105  an error code
    DELEGATION_TOKEN_NOT_FOUND = "DELEGATION_TOKEN_NOT_FOUND"  # noqa: S105  an error code
    DELEGATION_TOKEN_AUTH_DISABLED = "DELEGATION_TOKEN_AUTH_DISABLED"  # noqa: S105  an error code
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED"  # noqa: S105  an error code
    SASL_AUTHENTICATION_FAILED = "SASL_AUTHENTICATION_FAILED"
    THROTTLING_QUOTA_EXCEEDED = "THROTTLING_QUOTA_EXCEEDED"
    COORDINATOR_NOT_AVAILABLE = "COORDINATOR_NOT_AVAILABLE"

    @property
    def is_indefinite(self) -> bool:
        """True when the operation may have taken effect all the same (CLI-005)."""
        return self in _INDEFINITE


_INDEFINITE = frozenset(
    {
        ErrorCode.DUPLICATE_SEQUENCE_NUMBER,
        ErrorCode.NOT_LEADER_AFTER_APPEND,
        ErrorCode.REQUEST_TIMED_OUT,
    }
)


class ElectionKind(StrEnum):
    """What an administrator may ask for, as Kafka names it."""

    PREFERRED = "preferred"
    """The first assigned replica, if it is in the ISR."""
    UNCLEAN = "unclean"
    """Any assigned replica, if no member of the ISR is live; records may be lost (FAIL-002)."""


class CoordinatorKind(StrEnum):
    """What a coordinator is for: each kind has an internal topic."""

    GROUP = "group"
    TRANSACTION = "transaction"


INTERNAL_TOPICS: Mapping[CoordinatorKind, str] = {
    CoordinatorKind.GROUP: "__consumer_offsets",
    CoordinatorKind.TRANSACTION: "__transaction_state",
}
"""Created by the first request for a coordinator (FWD-006)."""

FIND_COORDINATOR = "FindCoordinator"
"""That request, as lines about the creation name it: clients may create such a topic themselves."""


class Outcome(StrEnum):
    """How an operation ended, as its caller may know it."""

    OK = "ok"
    DEFINITE_ERROR = "definite_error"
    INDEFINITE = "indefinite"


CrashPoint = Literal[
    "before_append",
    "after_append",
    "before_checkpoint",
    "after_checkpoint",
    "before_reply",
    "after_reply",
    "before_send",
    "after_send",
    "before_truncate",
    "after_truncate",
    "before_write",
    "after_write",
]
"""Where a step of the core can be cut in two: around each kind of effect."""
CRASH_POINTS: tuple[CrashPoint, ...] = get_args(CrashPoint)
HOLD_POINTS = tuple(
    point for point in CRASH_POINTS if point not in ("after_reply", "after_send", "after_write")
)
"""Where a process can stand still; what it has sent leaves it a moment later."""


def snake_case(name: str) -> str:
    """The Python spelling of a CamelCase TLA+ operator: `BecomeLeader` -> `become_leader`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
