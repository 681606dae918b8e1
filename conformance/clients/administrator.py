"""Administrative requests of the harness: each waits only until it is granted, untraced."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from fencepost.conformance.clients.client import RoutedClient
from fencepost.conformance.clients.transport import ClusterUnreachableError, Transport
from fencepost.fault_injection.injectors.injector import InjectionError
from fencepost.spec.vocabulary import ElectionKind, ErrorCode
from fencepost.spec.znodes import TopicPartition


class AdminClient:
    """As `Administrator` of fault injection: each call raises `InjectionError` when refused."""

    def __init__(self, addresses: Callable[[], Sequence[str]], transport: Transport) -> None:
        """`addresses` gives those of the brokers at any time."""
        self._addresses = addresses
        self._transport = transport

    def reassign(self, partition: TopicPartition, replicas: Sequence[int]) -> None:
        """Ask to move the partition."""
        self.reassign_all({partition: replicas})

    def reassign_all(self, replicas: Mapping[TopicPartition, Sequence[int]]) -> None:
        """Ask for moves; raises for the first that is refused."""
        with self._client() as client:
            errors = client.alter_partition_reassignments(replicas)
        for partition in sorted(replicas):
            _require(f"the move of {partition}", errors.get(partition, "no answer"))

    def set_partition_count(self, topic: str, count: int) -> None:
        """Ask for so many partitions of the topic."""
        with self._client() as client:
            error, message = client.create_partitions(topic, count)
        _require(f"the addition to {topic}", error, message)

    def create_topic(self, topic: str, assignment: Sequence[Sequence[int]]) -> None:
        """Ask for the topic, with these replicas of each partition."""
        with self._client() as client:
            error, message = client.create_topic(topic, assignment)
        _require(f"the creation of {topic}", error, message)

    def delete_topic(self, topic: str) -> None:
        """Ask to delete the topic."""
        with self._client() as client:
            error, message = client.delete_topic(topic)
        _require(f"the deletion of {topic}", error, message)

    def elect_preferred(self, partition: TopicPartition) -> None:
        """Ask that its first assigned replica leads."""
        with self._client() as client:
            errors = client.elect_leaders(ElectionKind.PREFERRED, [partition])
        _require(f"the election of {partition}", errors.get(partition, "no answer"))

    def elect_all(self, partitions: Sequence[TopicPartition]) -> None:
        """As `elect_preferred`, of several; one that is led so already is no refusal."""
        with self._client() as client:
            errors = client.elect_leaders(ElectionKind.PREFERRED, partitions)
        for partition in sorted(partitions):
            error = errors.get(partition, "no answer")
            if error != ErrorCode.ELECTION_NOT_NEEDED:
                _require(f"the election of {partition}", error)

    @contextmanager
    def _client(self) -> Iterator[RoutedClient]:
        try:
            yield RoutedClient(self._addresses, transport=self._transport, node="harness")
        except ClusterUnreachableError as unreachable:
            raise InjectionError(str(unreachable)) from unreachable


def _require(what: str, error: str | None, message: str = "") -> None:
    if error is not None:
        raise InjectionError(f"{what} was refused: {error} {message}".rstrip())
