"""Requests of administrators in the simulated world.

A request goes to one broker after the other until one grants it, or until the fault ends. The
controller carries it out.
"""

from collections.abc import Sequence

from fencepost.fault_injection.injectors.injector import InjectionError
from fencepost.impl.core.types.messages import Request
from fencepost.impl.core.types.topic_messages import (
    CreateTopicRequest,
    DeleteTopicRequest,
    ReplicaList,
)
from fencepost.impl.sim.injectors.injector import FaultedWorld, nothing_to_act_on
from fencepost.impl.sim.world.admin_workload import addition, election, reassignment
from fencepost.impl.sim.world.clients import AdministrativeRequest
from fencepost.impl.sim.world.cluster import VirtualState
from fencepost.impl.trace_lines import Line
from fencepost.spec.vocabulary import BrokerId
from fencepost.spec.znodes import TopicPartition, topic_path


class SimulatedAdmin:
    """`AdminPort` in virtual time, and its own administrator."""

    def __init__(self, world: FaultedWorld) -> None:
        self._world = world
        self.state = VirtualState(world.cluster)
        self._asked: AdministrativeRequest | None = None

    @property
    def administrator(self) -> "SimulatedAdmin":
        """Asks in the background: no answer is waited for."""
        return self

    def reassign(self, partition: TopicPartition, replicas: Sequence[int]) -> None:
        """Ask for the move."""
        self._ask(reassignment(partition, replicas))

    def set_partition_count(self, topic: str, count: int) -> None:
        """Ask for so many partitions."""
        self._ask(addition(topic, count))

    def create_topic(self, topic: str, assignment: Sequence[Sequence[int]]) -> None:
        """Ask for the topic."""
        lists = tuple(ReplicaList(replicas=tuple(map(BrokerId, one))) for one in assignment)
        self._ask(CreateTopicRequest(topic=topic, assignment=lists))

    def delete_topic(self, topic: str) -> None:
        """Ask for its deletion."""
        self._ask(DeleteTopicRequest(topic=topic))

    def elect_preferred(self, partition: TopicPartition) -> None:
        """Ask for the election."""
        self._ask(election(partition))

    def stop_asking(self) -> None:
        """A request that is on its way may still be granted."""
        if self._asked is not None:
            self._asked.is_stopped = True
            self._asked = None

    def topic_zxid(self, topic: str) -> int | None:
        """Of the znode of the topic."""
        stat = self._world.cluster.zookeeper.peek(topic_path(topic)).stat
        return stat.czxid if stat else None

    def tell(self, _: str, /, **fields: object) -> Line:
        """The fields."""
        return fields

    def nothing_to_act_on(self, _: str, /) -> InjectionError:
        """It says what all simulated injectors say."""
        return nothing_to_act_on()

    def _ask(self, request: Request) -> None:
        asked = self._asked
        if asked is None or asked.is_granted or asked.request != request:
            self.stop_asking()
            self._asked = AdministrativeRequest(
                self._world.cluster, self._world.next_name(), request
            )
            self._asked.begin_asking()
