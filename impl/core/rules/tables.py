"""What happens when, and which node may write what: the tables that the core executes.

Read them first. Rows name their requirements; whatever is not in a table does not happen.
"""

from collections.abc import Mapping, Set as AbstractSet
from enum import Enum, IntEnum, StrEnum, auto

from fencepost.spec.vocabulary import Action, ErrorCode

# Replicas: role x command


class Role(StrEnum):
    """What a replica believes it is."""

    WAITING = "waiting"
    """Started, but not yet told by a controller what to be (START-002)."""
    LEADER = "leader"
    FOLLOWER = "follower"
    OFFLINE = "offline"
    """Its log failed: it serves no request and obeys no command until the broker starts again."""


class CommandKind(Enum):
    """What the controller says about a partition, as the broker's replica finds it."""

    LEAD = auto()
    FOLLOW = auto()
    LEAD_AGAIN = auto()
    """As the next two, not newer than what the replica knows: to lead,"""
    FOLLOW_AGAIN = auto()
    """to follow in the epoch that the replica knows,"""
    FOLLOW_OLDER = auto()
    """or in an older one."""
    STOP = auto()
    STOP_OLDER = auto()
    """The replica has obeyed a later decision than this stop."""


Reaction = Action | ErrorCode
"""The action that is taken, or the error that is answered; `NONE` takes a command as obeyed."""
CommandTable = Mapping[tuple[Role, CommandKind], Reaction]

COMMANDS: CommandTable = {
    # Nothing was obeyed since the start. A replica that may not do as told says so: no other
    # command would come, and it would wait for ever (START-002).
    (Role.WAITING, CommandKind.LEAD): Action.BECOME_LEADER,
    (Role.WAITING, CommandKind.FOLLOW): Action.BECOME_FOLLOWER,
    (Role.WAITING, CommandKind.LEAD_AGAIN): ErrorCode.REPLICA_NOT_AVAILABLE,
    (Role.WAITING, CommandKind.FOLLOW_AGAIN): ErrorCode.REPLICA_NOT_AVAILABLE,
    (Role.WAITING, CommandKind.FOLLOW_OLDER): ErrorCode.STALE_LEADER_EPOCH,
    # A newer command is obeyed, also by a replica that has the role already (CMD-002 to 005).
    (Role.LEADER, CommandKind.LEAD): Action.BECOME_LEADER,
    (Role.LEADER, CommandKind.FOLLOW): Action.BECOME_FOLLOWER,
    (Role.LEADER, CommandKind.LEAD_AGAIN): ErrorCode.STALE_LEADER_EPOCH,
    (Role.LEADER, CommandKind.FOLLOW_AGAIN): ErrorCode.STALE_LEADER_EPOCH,
    (Role.LEADER, CommandKind.FOLLOW_OLDER): ErrorCode.STALE_LEADER_EPOCH,
    (Role.FOLLOWER, CommandKind.LEAD): Action.BECOME_LEADER,
    (Role.FOLLOWER, CommandKind.FOLLOW): Action.BECOME_FOLLOWER,
    (Role.FOLLOWER, CommandKind.LEAD_AGAIN): ErrorCode.STALE_LEADER_EPOCH,
    (Role.FOLLOWER, CommandKind.FOLLOW_AGAIN): ErrorCode.STALE_LEADER_EPOCH,
    (Role.FOLLOWER, CommandKind.FOLLOW_OLDER): ErrorCode.STALE_LEADER_EPOCH,
    # After its log failed, a replica does nothing until the broker starts again (START-006).
    (Role.OFFLINE, CommandKind.LEAD): ErrorCode.STORAGE_ERROR,
    (Role.OFFLINE, CommandKind.FOLLOW): ErrorCode.STORAGE_ERROR,
    (Role.OFFLINE, CommandKind.LEAD_AGAIN): ErrorCode.STORAGE_ERROR,
    (Role.OFFLINE, CommandKind.FOLLOW_AGAIN): ErrorCode.STORAGE_ERROR,
    (Role.OFFLINE, CommandKind.FOLLOW_OLDER): ErrorCode.STORAGE_ERROR,
    # A replica is given up in any role, but not on the word of an older decision (CMD-008).
    (Role.WAITING, CommandKind.STOP): Action.STOP_REPLICA,
    (Role.WAITING, CommandKind.STOP_OLDER): ErrorCode.STALE_LEADER_EPOCH,
    (Role.LEADER, CommandKind.STOP): Action.STOP_REPLICA,
    (Role.LEADER, CommandKind.STOP_OLDER): ErrorCode.STALE_LEADER_EPOCH,
    (Role.FOLLOWER, CommandKind.STOP): Action.STOP_REPLICA,
    (Role.FOLLOWER, CommandKind.STOP_OLDER): ErrorCode.STALE_LEADER_EPOCH,
    (Role.OFFLINE, CommandKind.STOP): Action.STOP_REPLICA,
    (Role.OFFLINE, CommandKind.STOP_OLDER): ErrorCode.STALE_LEADER_EPOCH,
}

SERVING: Mapping[Role, ErrorCode] = {
    # role -> what a request that is meant for the leader is answered
    Role.LEADER: ErrorCode.NONE,
    Role.FOLLOWER: ErrorCode.NOT_LEADER_OR_FOLLOWER,  # CLI-003
    Role.WAITING: ErrorCode.NOT_LEADER_OR_FOLLOWER,  # START-002
    Role.OFFLINE: ErrorCode.STORAGE_ERROR,  # START-006
}


# Partitions: state x event, as the controller finds them


class PartitionStage(Enum):
    """How far a partition has come."""

    NO_TOPIC = "its topic does not exist"
    UNNAMED = "its topic does not name it"
    LEAVING = "its topic names it no more, and brokers are still to be stopped"
    NEW = "its topic names it, and it has no LeaderAndISR"
    UNSETTLED = "its leader is gone, or a replica was away: a decision is due"
    SETTLED = "its leader is alive, or it is known to have none"


class PartitionEvent(Enum):
    """What the controller has noticed; requests of administrators in the order of their turn."""

    BROKERS_CHANGED = "a broker failed or came back, or the state was read anew"
    REMOVAL = "it is to be removed, or was begun to be"
    ADDITION = "it is to be added"
    REASSIGNMENT = "it is to move, or was begun to"
    ELECTION = "another leader is asked for"
    LOOK = "nothing is asked any more"


class PartitionStep(Enum):
    """What the controller does."""

    INIT_LEADER = auto()
    ELECT_LEADER = auto()
    REMOVE = auto()
    ADD = auto()
    REASSIGN = auto()
    ELECT_AS_ASKED = auto()
    END_REQUESTS = auto()
    """They ask for something of what does not exist."""
    WAIT = auto()
    """Another event will come."""
    RETRY = auto()
    """No event may come: the controller looks again soon."""


PartitionTable = Mapping[tuple[PartitionStage, PartitionEvent], PartitionStep]

PARTITIONS: PartitionTable = {
    (PartitionStage.NO_TOPIC, PartitionEvent.REMOVAL): PartitionStep.END_REQUESTS,
    (PartitionStage.NO_TOPIC, PartitionEvent.ADDITION): PartitionStep.END_REQUESTS,
    (PartitionStage.NO_TOPIC, PartitionEvent.REASSIGNMENT): PartitionStep.END_REQUESTS,
    (PartitionStage.NO_TOPIC, PartitionEvent.ELECTION): PartitionStep.END_REQUESTS,
    (PartitionStage.NO_TOPIC, PartitionEvent.LOOK): PartitionStep.WAIT,
    (PartitionStage.UNNAMED, PartitionEvent.REMOVAL): PartitionStep.REMOVE,
    (PartitionStage.UNNAMED, PartitionEvent.ADDITION): PartitionStep.ADD,  # PART-001
    (PartitionStage.UNNAMED, PartitionEvent.REASSIGNMENT): PartitionStep.END_REQUESTS,
    (PartitionStage.UNNAMED, PartitionEvent.ELECTION): PartitionStep.END_REQUESTS,
    (PartitionStage.UNNAMED, PartitionEvent.LOOK): PartitionStep.WAIT,
    # What was begun is ended first, whatever else is asked (PART-002).
    (PartitionStage.LEAVING, PartitionEvent.REMOVAL): PartitionStep.REMOVE,
    # Only a partition without a LeaderAndISR is initialised (TOP-001, CTL-011).
    (PartitionStage.NEW, PartitionEvent.BROKERS_CHANGED): PartitionStep.INIT_LEADER,
    (PartitionStage.NEW, PartitionEvent.REMOVAL): PartitionStep.REMOVE,
    (PartitionStage.NEW, PartitionEvent.ADDITION): PartitionStep.ADD,
    (PartitionStage.NEW, PartitionEvent.REASSIGNMENT): PartitionStep.WAIT,
    (PartitionStage.NEW, PartitionEvent.ELECTION): PartitionStep.WAIT,
    (PartitionStage.NEW, PartitionEvent.LOOK): PartitionStep.WAIT,
    # A leader that died is replaced before anything else is changed (FAIL-001 to 005).
    (PartitionStage.UNSETTLED, PartitionEvent.BROKERS_CHANGED): PartitionStep.ELECT_LEADER,
    (PartitionStage.UNSETTLED, PartitionEvent.REMOVAL): PartitionStep.REMOVE,
    (PartitionStage.UNSETTLED, PartitionEvent.ADDITION): PartitionStep.ADD,
    (PartitionStage.UNSETTLED, PartitionEvent.REASSIGNMENT): PartitionStep.RETRY,
    (PartitionStage.UNSETTLED, PartitionEvent.ELECTION): PartitionStep.RETRY,
    (PartitionStage.UNSETTLED, PartitionEvent.LOOK): PartitionStep.RETRY,
    (PartitionStage.SETTLED, PartitionEvent.REMOVAL): PartitionStep.REMOVE,
    (PartitionStage.SETTLED, PartitionEvent.ADDITION): PartitionStep.ADD,
    (PartitionStage.SETTLED, PartitionEvent.REASSIGNMENT): PartitionStep.REASSIGN,  # REAS-001
    (PartitionStage.SETTLED, PartitionEvent.ELECTION): PartitionStep.ELECT_AS_ASKED,
    (PartitionStage.SETTLED, PartitionEvent.LOOK): PartitionStep.WAIT,
}


# Leaders: condition of the ISR x why a leader is chosen


class IsrCondition(Enum):
    """Which replicas of a partition could lead it."""

    STEADY = "leader and ISR are alive, and were not away"
    SHAKEN = "some of the ISR are alive, and were not away"
    RETURNED = "those of the ISR that are alive were all away"
    OUTSIDE_ONLY = "none of the ISR is alive, another assigned replica is"
    DEAD = "no assigned replica is alive"


class ElectionCause(Enum):
    """Why a leader is chosen."""

    BROKERS_CHANGED = "a broker failed or came back"
    UNCLEAN_ALLOWED = "the same, and a leader outside the ISR is allowed, or asked for"
    PREFERRED_ASKED = "the first of the assigned replicas is to lead"


class Choice(Enum):
    """What is decided about a partition that has a state."""

    KEEP = "leader and ISR stay"
    LEAD_IN_ISR = "the live members are the ISR, the leader is one of them"
    LEAD_RETURNED = "one member that was away is leader and ISR; records may be lost"
    LEAD_FROM_OUTSIDE = "one live replica is leader and ISR; records may be lost"
    LEAD_PREFERRED = "the first assigned replica leads the same ISR, if it is alive and in it"
    LEAVE_WITHOUT_LEADER = "no leader; the ISR stays, so that only one of it can lead next"


ChoiceTable = Mapping[tuple[IsrCondition, ElectionCause], Choice]

CHOICES: ChoiceTable = {
    (IsrCondition.STEADY, ElectionCause.BROKERS_CHANGED): Choice.KEEP,
    (IsrCondition.STEADY, ElectionCause.UNCLEAN_ALLOWED): Choice.KEEP,
    (IsrCondition.STEADY, ElectionCause.PREFERRED_ASKED): Choice.LEAD_PREFERRED,
    (IsrCondition.SHAKEN, ElectionCause.BROKERS_CHANGED): Choice.LEAD_IN_ISR,  # FAIL-001, 004
    (IsrCondition.SHAKEN, ElectionCause.UNCLEAN_ALLOWED): Choice.LEAD_IN_ISR,
    (IsrCondition.SHAKEN, ElectionCause.PREFERRED_ASKED): Choice.LEAD_PREFERRED,
    # Any of them may have lost the end of its log (H2c). Only one leads on what it has: a member
    # that lacks what the leader has would lose it later, in an election that looks clean.
    (IsrCondition.RETURNED, ElectionCause.BROKERS_CHANGED): Choice.LEAD_RETURNED,
    (IsrCondition.RETURNED, ElectionCause.UNCLEAN_ALLOWED): Choice.LEAD_RETURNED,
    (IsrCondition.RETURNED, ElectionCause.PREFERRED_ASKED): Choice.KEEP,
    # Without a live member the partition waits, or may lose records (FAIL-002, FAIL-003).
    (IsrCondition.OUTSIDE_ONLY, ElectionCause.BROKERS_CHANGED): Choice.LEAVE_WITHOUT_LEADER,
    (
        IsrCondition.OUTSIDE_ONLY,
        ElectionCause.UNCLEAN_ALLOWED,
    ): Choice.LEAD_FROM_OUTSIDE,
    (IsrCondition.OUTSIDE_ONLY, ElectionCause.PREFERRED_ASKED): Choice.KEEP,
    (IsrCondition.DEAD, ElectionCause.BROKERS_CHANGED): Choice.LEAVE_WITHOUT_LEADER,
    (IsrCondition.DEAD, ElectionCause.UNCLEAN_ALLOWED): Choice.LEAVE_WITHOUT_LEADER,
    (IsrCondition.DEAD, ElectionCause.PREFERRED_ASKED): Choice.KEEP,
}


# Znodes: writer x znode x operation


class Writer(Enum):
    """In which capacity a node writes."""

    BROKER = "for itself"
    CANDIDATE = "to become controller"
    CONTROLLER = "behind the fence of its generation (ZK-005)"
    LEADER = "of a partition"
    ADMINISTRATOR = "for one, as any broker may"


class ZnodeKind(IntEnum):
    """By its path; `spec/znodes.py` has what they hold."""

    CONTROLLER = auto()
    CONTROLLER_EPOCH = auto()
    CONTROLLER_TERM = auto()
    REGISTRATION = auto()
    PRODUCER_IDS = auto()
    TOPIC = auto()
    TOPIC_IDS = auto()
    TOPIC_ID = auto()
    PARTITION = auto()
    LEADER_AND_ISR = auto()
    REQUEST_FOLDER = auto()
    REQUEST = auto()
    CONFIG = auto()
    """Of an entity, or `/config/changes`."""
    TOKEN = auto()


class WriteKind(IntEnum):
    """What a write does; checks change nothing, and need no permission."""

    CREATE = auto()
    CREATE_EPHEMERAL = auto()
    SET = auto()
    """At whatever version the znode has by then."""
    SET_AS_READ = auto()
    """Only at the version that the writer knows."""
    DELETE = auto()
    DELETE_AS_READ = auto()


Permissions = Mapping[ZnodeKind, AbstractSet[WriteKind]]

MAY_WRITE: Mapping[Writer, Permissions] = {
    Writer.BROKER: {
        ZnodeKind.REGISTRATION: {WriteKind.CREATE_EPHEMERAL},  # BEP-001
        ZnodeKind.PRODUCER_IDS: {WriteKind.CREATE, WriteKind.SET_AS_READ},  # CLI-005
    },
    Writer.CANDIDATE: {
        ZnodeKind.CONTROLLER: {
            WriteKind.CREATE_EPHEMERAL,  # CTL-001, CTL-002
            WriteKind.SET_AS_READ,  # ZK-005: in the multi that creates it
            WriteKind.DELETE_AS_READ,  # CTL-009: what people left there
        },
        ZnodeKind.CONTROLLER_EPOCH: {WriteKind.CREATE, WriteKind.SET_AS_READ},  # CTL-005
        ZnodeKind.CONTROLLER_TERM: {WriteKind.CREATE_EPHEMERAL},  # ZK-005
    },
    Writer.CONTROLLER: {
        ZnodeKind.LEADER_AND_ISR: {
            WriteKind.CREATE,  # TOP-001: the one unconditional write (ZK-003)
            WriteKind.SET_AS_READ,  # ZK-004
            WriteKind.DELETE_AS_READ,  # PART-002
            WriteKind.DELETE,  # TOP-003: the end of a deletion that was begun, as the next three
        },
        ZnodeKind.TOPIC: {WriteKind.SET_AS_READ, WriteKind.DELETE},  # REAS-005, PART-001
        ZnodeKind.TOPIC_IDS: {WriteKind.DELETE},
        ZnodeKind.TOPIC_ID: {WriteKind.DELETE},
        # It is set when the partition is removed: its version counts that (ZK-003).
        ZnodeKind.PARTITION: {WriteKind.CREATE, WriteKind.SET, WriteKind.DELETE},
        ZnodeKind.REQUEST: {WriteKind.DELETE_AS_READ},  # REAS-001, PART-001, PART-002
        ZnodeKind.CONFIG: {WriteKind.CREATE, WriteKind.SET_AS_READ},  # FWD-001
        ZnodeKind.TOKEN: {WriteKind.CREATE, WriteKind.SET_AS_READ, WriteKind.DELETE_AS_READ},
    },
    Writer.LEADER: {ZnodeKind.LEADER_AND_ISR: {WriteKind.SET_AS_READ}},  # ZK-003
    Writer.ADMINISTRATOR: {
        # TOP-002, TOP-003: a topic is created, and deleted with all that is below it
        ZnodeKind.TOPIC: {WriteKind.CREATE, WriteKind.SET_AS_READ, WriteKind.DELETE},
        ZnodeKind.TOPIC_IDS: {WriteKind.CREATE, WriteKind.DELETE},
        ZnodeKind.TOPIC_ID: {WriteKind.CREATE, WriteKind.DELETE},
        ZnodeKind.PARTITION: {WriteKind.DELETE},
        ZnodeKind.LEADER_AND_ISR: {WriteKind.DELETE},
        # REAS-001, REAS-004: what is asked replaces what was, and may be taken back
        ZnodeKind.REQUEST_FOLDER: {WriteKind.CREATE},
        ZnodeKind.REQUEST: {WriteKind.CREATE, WriteKind.SET, WriteKind.DELETE},
        # FWD-007: below level 5
        ZnodeKind.CONFIG: {WriteKind.CREATE, WriteKind.SET_AS_READ},
        ZnodeKind.TOKEN: {WriteKind.CREATE, WriteKind.SET_AS_READ, WriteKind.DELETE_AS_READ},
    },
}
