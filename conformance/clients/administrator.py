"""The administrator of a fault run: asks once, and waits only until the request is granted."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from fencepost.conformance.clients.client import ClusterUnreachableError, Connections, RoutedClient
from fencepost.fault_injection.engine.rpc_rules import InjectionError
from fencepost.spec.vocabulary import ElectionKind
from fencepost.spec.znodes import TopicPartition


class AdminClient:
    """As `fault_injection.injectors.injection.Administrator`; its requests are not traced."""

    def __init__(self, addresses: Callable[[], Sequence[str]]) -> None:
        """`addresses` are those of the brokers of now."""
        self._addresses = addresses

    def reassign(self, partition: TopicPartition, replicas: Sequence[int]) -> None:
        """The partition is to move; raises `InjectionError`."""
        with self._client() as client:
            errors = client.alter_partition_reassignments({partition: replicas})
        _require(f"the move of {partition}", errors.get(partition, "no answer"))

    def set_partition_count(self, topic: str, count: int) -> None:
        """The topic is to have so many partitions; raises `InjectionError`."""
        with self._client() as client:
            error, message = client.create_partitions(topic, count)
        _require(f"the addition to {topic}", error, message)

    def create_topic(self, topic: str, assignment: Sequence[Sequence[int]]) -> None:
        """The topic is to exist, with these replicas; raises `InjectionError`."""
        with self._client() as client:
            error, message = client.create_topic(topic, assignment=assignment)
        _require(f"the creation of {topic}", error, message)

    def delete_topic(self, topic: str) -> None:
        """The topic is to go; raises `InjectionError`."""
        with self._client() as client:
            error, message = client.delete_topic(topic)
        _require(f"the deletion of {topic}", error, message)

    def elect_preferred(self, partition: TopicPartition) -> None:
        """Its first assigned replica is to lead; raises `InjectionError`."""
        with self._client() as client:
            errors = client.elect_leaders(ElectionKind.PREFERRED, [partition])
        _require(f"the election of {partition}", errors.get(partition, "no answer"))

    @contextmanager
    def _client(self) -> Iterator[RoutedClient]:
        connections = Connections()
        try:
            yield RoutedClient(self._addresses, connections=connections, node="harness")
        except ClusterUnreachableError as unreachable:
            raise InjectionError(str(unreachable)) from unreachable
        finally:
            connections.close()


def _require(what: str, error: str | None, message: str = "") -> None:
    if error is not None:
        raise InjectionError(f"{what} was refused: {error} {message}".rstrip())
