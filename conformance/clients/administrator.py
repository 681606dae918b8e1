"""Administrative requests of the harness: each waits only until it is granted, untraced."""

import threading
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import TypeVar

from fencepost.conformance.clients.client import RoutedClient
from fencepost.conformance.clients.transport import (
    REQUEST_UNKNOWN,
    BrokerConnection,
    ClusterUnreachableError,
    RequestUnknownError,
    Transport,
)
from fencepost.fault_injection.injectors.injector import InjectionError
from fencepost.spec.vocabulary import ElectionKind, ErrorCode
from fencepost.spec.znodes import TopicPartition

CONTROLLER_S = 5.0
"""So long a request waits for a controller that the broker which is asked knows."""
AGAIN_S = 0.1
Answer = TypeVar("Answer", bound=tuple[str | None, str] | dict[TopicPartition, str | None])
"""The error code of the whole and a message, or the error code of each partition."""


class RefusedError(InjectionError):
    """A broker refuses the request."""

    def __init__(self, what: str, error_code: str, message: str) -> None:
        """`error_code` is a name of `ErrorCode`, or one of the implementation's own."""
        super().__init__(f"{what} was refused: {error_code} {message}".rstrip())
        self.error_code = error_code


class AdminClient:
    """`TargetAdministrator`: each call raises `InjectionError` when refused or not answered."""

    def __init__(self, addresses: Callable[[], Sequence[str]], transport: Transport) -> None:
        """`addresses` gives those of the brokers at any time."""
        self._client = RoutedClient(addresses, transport=transport, node="harness")

    def reassign(self, partition: TopicPartition, replicas: Sequence[int]) -> None:
        """Ask to move the partition."""
        self.reassign_all({partition: replicas})

    def reassign_all(self, replicas: Mapping[TopicPartition, Sequence[int]]) -> None:
        """Ask for moves; raises for the first that is refused."""
        errors = self._ask(lambda broker: broker.alter_partition_reassignments(replicas))
        for partition in sorted(replicas):
            _require(f"the move of {partition}", errors.get(partition, "no answer"))

    def set_partition_count(self, topic: str, count: int) -> None:
        """Ask for so many partitions of the topic."""
        answer = self._ask(lambda broker: broker.create_partitions(topic, count))
        _require(f"the addition to {topic}", *answer)

    def create_topic(self, topic: str, assignment: Sequence[Sequence[int]]) -> None:
        """Ask for the topic, with these replicas of each partition."""
        answer = self._ask(lambda broker: broker.create_topic(topic, assignment))
        _require(f"the creation of {topic}", *answer)

    def delete_topic(self, topic: str) -> None:
        """Ask to delete the topic."""
        answer = self._ask(lambda broker: broker.delete_topic(topic))
        _require(f"the deletion of {topic}", *answer)

    def elect_preferred(self, partition: TopicPartition) -> None:
        """Ask that its first assigned replica leads."""
        self._elect([partition], fine=())

    def elect_all(self, partitions: Sequence[TopicPartition]) -> None:
        """As `elect_preferred`, of several; one that is led so already is no refusal."""
        self._elect(partitions, fine=(ErrorCode.ELECTION_NOT_NEEDED,))

    def _elect(self, partitions: Sequence[TopicPartition], *, fine: Sequence[str]) -> None:
        errors = self._ask(lambda broker: broker.elect_leaders(ElectionKind.PREFERRED, partitions))
        for partition in sorted(partitions):
            error = errors.get(partition, "no answer")
            _require(f"the election of {partition}", None if error in fine else error)

    def _ask(self, request: Callable[[BrokerConnection], Answer]) -> Answer:
        """What is answered; asked again while no controller is known: nothing was done then."""
        deadline, pause = monotonic() + CONTROLLER_S, threading.Event()
        while _is_elsewhere(answer := self._ask_once(request)) and monotonic() < deadline:
            pause.wait(AGAIN_S)
        return answer

    def _ask_once(self, request: Callable[[BrokerConnection], Answer]) -> Answer:
        try:
            return self._client.ask(request)
        except ClusterUnreachableError as unreachable:
            raise InjectionError(str(unreachable)) from unreachable
        except RequestUnknownError as unknown:
            raise RefusedError("the request", REQUEST_UNKNOWN, str(unknown)) from unknown


def _is_elsewhere(answer: tuple[str | None, str] | dict[TopicPartition, str | None]) -> bool:
    codes = answer.values() if isinstance(answer, dict) else answer[:1]
    return ErrorCode.NOT_CONTROLLER in codes


def _require(what: str, error: str | None, message: str = "") -> None:
    if error is not None:
        raise RefusedError(what, error, message)
