"""Commands leave per broker, one request at a time, stops before starts, newest first."""

from fencepost.impl.core.config import Config
from fencepost.impl.core.controller.controller_channel import COMMANDS_MAX, ControllerChannel
from fencepost.impl.core.controller.controller_context import ControllerContext
from fencepost.impl.core.levels import LEVELS
from fencepost.impl.core.types.effects import Send
from fencepost.impl.core.types.messages import (
    CommandRequest,
    CommandResponse,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    PartitionStop,
    Request,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from fencepost.impl.core.types.scripts import Outbox
from fencepost.spec.vocabulary import (
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
    ErrorCode,
    PartitionIncarnation,
)
from fencepost.spec.znodes import BrokerDocument, TopicPartition
from tests.impl.core.build import ME, T0, T1, command

OTHER = BrokerId(2)
OLD, NEW = PartitionIncarnation(10), PartitionIncarnation(20)


class Queue:
    """Commands of broker 1, and what they sent."""

    def __init__(self) -> None:
        self.outbox = Outbox()
        self.channel = ControllerChannel(Config(broker_id=ME), self.outbox)

    def flush(self) -> list[Send]:
        """What leaves now."""
        self.channel.flush(ControllerEpoch(1), ControllerContext())
        return [effect for effect in self.outbox.drain() if isinstance(effect, Send)]

    def sent(self) -> tuple[Send, CommandRequest]:
        """The one request that leaves now."""
        (send,) = self.flush()
        assert isinstance(send.request, CommandRequest)
        return send, send.request

    def answer(self, send: Send, response: CommandResponse) -> None:
        """The broker has answered."""
        self.channel.on_answer(send.to, send.request_id, response)


def stop(incarnation: PartitionIncarnation, key: TopicPartition = T0) -> PartitionStop:
    return PartitionStop(
        topic=key.topic, partition=key.partition, partition_incarnation=incarnation
    )


def test_stops_go_first_and_what_begins_anew_follows() -> None:
    queue = Queue()
    queue.channel.stop(OTHER, stop(OLD))
    queue.channel.put(OTHER, command(1, 0, incarnation=NEW))

    send, request = queue.sent()
    assert isinstance(request, StopReplicaRequest)
    assert queue.flush() == []

    queue.answer(send, StopReplicaResponse())
    _, request = queue.sent()
    assert isinstance(request, LeaderAndIsrRequest)
    assert request.partitions == (command(1, 0, incarnation=NEW),)


def test_a_stop_replaces_what_was_still_to_be_told_about_the_incarnation() -> None:
    queue = Queue()
    queue.channel.put(OTHER, command(1, 0, incarnation=OLD))
    queue.channel.put(OTHER, command(1, 0, key=T1, incarnation=NEW))
    queue.channel.stop(OTHER, stop(OLD))
    queue.channel.stop(OTHER, stop(OLD, T1))

    send, request = queue.sent()
    assert request.partitions == (stop(OLD), stop(OLD, T1))
    queue.answer(send, StopReplicaResponse())
    _, request = queue.sent()
    assert request.partitions == (command(1, 0, key=T1, incarnation=NEW),)


def test_a_stop_without_answer_is_sent_again_with_what_came_since() -> None:
    queue = Queue()
    queue.channel.stop(OTHER, stop(OLD))
    send, _ = queue.sent()
    queue.channel.stop(OTHER, stop(OLD, T1))
    queue.channel.on_failure(OTHER, send.request_id)
    assert queue.flush() == []

    queue.outbox.now_ms = Config(broker_id=ME).retry_ms
    _, request = queue.sent()
    assert request.partitions == (stop(OLD), stop(OLD, T1))


def test_a_broker_that_is_not_ready_is_told_again() -> None:
    queue = Queue()
    queue.channel.stop(OTHER, stop(OLD))
    send, _ = queue.sent()
    queue.answer(send, StopReplicaResponse(error_code=ErrorCode.BROKER_NOT_AVAILABLE))

    queue.outbox.now_ms = Config(broker_id=ME).retry_ms
    _, request = queue.sent()
    assert request.partitions == (stop(OLD),)


def test_much_is_told_in_parts_the_oldest_first() -> None:
    queue = Queue()
    told = [command(1, 0, key=TopicPartition("t", n)) for n in reversed(range(COMMANDS_MAX + 2))]
    for one in told:
        queue.channel.put(OTHER, one)

    send, request = queue.sent()
    assert request.partitions == tuple(reversed(told[:COMMANDS_MAX]))

    queue.answer(send, LeaderAndIsrResponse())
    _, request = queue.sent()
    assert request.partitions == tuple(reversed(told[COMMANDS_MAX:]))


def test_what_changes_while_no_queue_is_free_is_told_in_one_body() -> None:
    context = ControllerContext()
    outbox = Outbox()
    channel = ControllerChannel(Config(broker_id=ME, rules=LEVELS[4]), outbox)

    def told() -> list[Request]:
        channel.flush(ControllerEpoch(1), context)
        return [effect.request for effect in outbox.drain() if isinstance(effect, Send)]

    def live(*brokers: BrokerId) -> None:
        endpoints = {one: BrokerDocument(host="host", port=9000 + one) for one in brokers}
        registered = {one: BrokerEpoch(one) for one in brokers}
        context.learn_brokers(registered, endpoints, frozenset(brokers))

    live(ME)
    channel.begin_init(ME)
    (first,) = told()
    live(ME, OTHER)
    assert told() == []

    channel.on_answer(ME, 1, UpdateMetadataResponse())
    (second,) = told()
    assert not context.is_touched
    bodies = [one for one in (first, second) if isinstance(one, UpdateMetadataRequest)]
    assert [[one.broker_id for one in body.brokers] for body in bodies] == [[ME], [ME, OTHER]]
