"""What a controller commands one broker to do, with any epochs, and what the broker answers."""

from enum import StrEnum
from typing import Any

from msgspec import Struct, field

from fencepost.spec.trace import BY_HAND, Kind
from fencepost.spec.vocabulary import ErrorCode
from fencepost.spec.znodes import TopicPartition

NO_ANSWER = "NO_ANSWER"
"""The error code of a command that left and was not answered."""
NOT_SENT = "NOT_SENT"
"""The error code of a command that did not leave."""


class ControlMethod(StrEnum):
    """A request of the control plane, as the wire names it."""

    LEADER_AND_ISR = "LeaderAndIsr"
    STOP_REPLICA = "StopReplica"
    UPDATE_METADATA = "UpdateMetadata"
    CONTROLLED_SHUTDOWN = "ControlledShutdown"


class CommandedPartition(Struct, frozen=True, kw_only=True):
    """What a command says of its partition."""

    partition: TopicPartition
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    assigned_replicas: tuple[int, ...]
    znode_version: int
    partition_incarnation: int
    topic_id: str = ""
    is_deleted: bool = False
    """True when StopReplica is to remove the data too."""


class ControlCommand(Struct, frozen=True, kw_only=True):
    """One command about at most one partition."""

    method: ControlMethod
    controller_id: int
    controller_epoch: int
    broker_id: int
    """Of the epoch that it names: the receiver, or of ControlledShutdown the broker that ends."""
    broker_epoch: int
    """-1: none is named."""
    addresses: dict[int, str] = field(default_factory=dict)
    """`HOST:PORT` of every registered broker."""
    about: CommandedPartition | None = None
    is_init: bool = False
    """True when LeaderAndIsr names all that the broker is to have; Kafka has no word for it."""

    def told(self, receiver: int) -> dict[str, Any]:
        """The trace line before it is sent: a controller's line about it, written by hand."""
        line: dict[str, Any] = {
            "kind": Kind.RUN,
            "action": BY_HAND,
            "peer": f"broker-{receiver}",
            "controller_id": self.controller_id,
            "controller_epoch": self.controller_epoch,
            "broker_epoch": self.broker_epoch,
        }
        if self.about is not None:
            line |= {
                "topic": self.about.partition.topic,
                "partition": self.about.partition.partition,
                "partition_incarnation": self.about.partition_incarnation,
                "leader": self.about.leader,
                "leader_epoch": self.about.leader_epoch,
                "isr": sorted(self.about.isr),
                "znode_version": self.about.znode_version,
            }
        return line


class ControlAnswer(Struct, frozen=True, kw_only=True):
    """What the broker answers."""

    error_code: str | None = None
    """Of the whole command; None: it was taken."""
    partitions: dict[TopicPartition, str | None] = field(default_factory=dict)
    """The error code of each partition that the answer names, or None."""

    @property
    def line(self) -> str:
        """As a step prints it: `ok`, the error, or the error of each partition that has one."""
        refused = [f"{key}: {error}" for key, error in sorted(self.partitions.items()) if error]
        return self.error_code or ", ".join(refused) or "ok"


def error_of(code: str) -> str | None:
    """An error code of an answer; None for success."""
    return None if code in ("", ErrorCode.NONE) else code
