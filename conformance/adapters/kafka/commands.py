"""Commands of a controller in Kafka's wire, in ZooKeeper mode: as mappings, and their answers.

A mapping has the fields of every version; `wire.message` leaves out what the used one lacks. So a
release before 2.2 is told no broker epoch: its commands have none.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from kio.schema.errors import ErrorCode as KafkaError

from fencepost.conformance.adapters.kafka import wire
from fencepost.fault_injection.workload.commands import (
    CommandedPartition,
    ControlAnswer,
    ControlCommand,
    ControlMethod,
)
from fencepost.spec.znodes import TopicPartition

KINDS: Mapping[ControlMethod, int] = {
    ControlMethod.LEADER_AND_ISR: wire.LEADER_AND_ISR,
    ControlMethod.STOP_REPLICA: wire.STOP_REPLICA,
    ControlMethod.UPDATE_METADATA: wire.UPDATE_METADATA,
    ControlMethod.CONTROLLED_SHUTDOWN: wire.CONTROLLED_SHUTDOWN,
}
LISTENER, PLAINTEXT = "PLAINTEXT", 0


def request_of(command: ControlCommand) -> dict[str, Any]:
    """The request, with the fields of all versions."""
    addresses = {one: where.rpartition(":") for one, where in command.addresses.items()}
    common = {
        "controller_id": command.controller_id,
        "controller_epoch": command.controller_epoch,
        "broker_id": command.broker_id,
        "broker_epoch": command.broker_epoch,
    }
    if command.method is ControlMethod.STOP_REPLICA:
        assert command.about is not None
        return common | _stop(command.about)
    of_partition = _state(command.about, command.controller_epoch) if command.about else {}
    leaders = [
        {"broker_id": one, "host_name": host, "port": int(port)}
        for one, (host, _, port) in addresses.items()
        if command.about and one == command.about.leader
    ]
    brokers = [
        {
            "id_": one,
            "endpoints": [
                {
                    "port": int(port),
                    "host": host,
                    "listener": LISTENER,
                    "security_protocol": PLAINTEXT,
                }
            ],
            "rack": None,
        }
        for one, (host, _, port) in addresses.items()
    ]
    empty: dict[str, Any] = {"ungrouped_partition_states": [], "topic_states": []}
    found = {"live_leaders": leaders, "live_brokers": brokers}
    return common | empty | of_partition | found


def _state(about: CommandedPartition, controller_epoch: int) -> dict[str, Any]:
    topic, number = about.partition
    state = {
        "topic_name": topic,
        "partition_index": number,
        "controller_epoch": controller_epoch,
        "leader": about.leader,
        "leader_epoch": about.leader_epoch,
        "isr": list(about.isr),
        "partition_epoch": about.znode_version,
        "zk_version": about.znode_version,
        "replicas": list(about.assigned_replicas),
        "is_new": False,
        "offline_replicas": [],
    }
    return {
        "ungrouped_partition_states": [state],
        "topic_states": [{"topic_name": topic, "partition_states": [state]}],
    }


def _stop(about: CommandedPartition) -> dict[str, Any]:
    topic, number = about.partition
    state = {
        "partition_index": number,
        "leader_epoch": about.leader_epoch,
        "delete_partition": about.is_deleted,
    }
    return {
        "delete_partitions": about.is_deleted,
        "ungrouped_partitions": [{"topic_name": topic, "partition_index": number}],
        "topics": [{"name": topic, "partition_indexes": [number]}],
        "topic_states": [{"topic_name": topic, "partition_states": [state]}],
    }


def answer_of(answer: Any) -> ControlAnswer:  # noqa: ANN401 - a message of kio
    """What the broker says of the command and of each partition."""
    return ControlAnswer(error_code=_error(answer.error_code), partitions=dict(_errors(answer)))


def _errors(answer: Any) -> Iterator[tuple[TopicPartition, str | None]]:  # noqa: ANN401
    for one in getattr(answer, "partition_errors", ()):
        key = TopicPartition(one.topic_name, one.partition_index)
        yield key, _error(one.error_code)


def _error(code: int) -> str | None:
    return None if code == KafkaError.none else KafkaError(code).name.upper()
