"""What is looked at when all has been asked for: what brokers tell, and that they are quiet."""

from collections import Counter

from fencepost.impl.core.types.messages import MetadataRequest, MetadataResponse, PartitionState
from fencepost.impl.sim.requests.asking import After, AskingClient, Step
from fencepost.impl.sim.world.admin_workload import remove_bad_topic, write_bad_topic
from fencepost.spec.znodes import TopicPartition

QUIET_AFTER_MS = 200
QUIET_MS = 600
FETCHES_MAX = 7
"""Of one follower in that time: one that waits for records asks seldom."""
LOOK_ASKS = 3
"""Of ZooKeeper by the one look at `/admin` that may fall into that time (REAS-006)."""
LOOKS_MAX = 20
"""At ZooKeeper in that time, where a znode cannot be read."""
BAD_TOPICS = 0.25
ZOOKEEPER = "ZooKeeper"


class LastLooks:
    """The part of the last requests that asks for nothing to be done."""

    def __init__(self, client: AskingClient) -> None:
        """The client asks, and notes what is wrong."""
        self._client = client
        self._cluster = client.cluster

    def script(self) -> Step:
        """First what is told, then the quiet."""
        yield from self._metadata_is_true()
        yield from self._cluster_is_quiet()

    def _metadata_is_true(self) -> Step:
        """What a client is told by any broker is what ZooKeeper holds (CLI-003)."""
        yield self._client.rest()
        controller, brokers = self._cluster.controller(), sorted(self._cluster.disks)
        published = {key: self._published(key) for key in self._cluster.assignments()}
        for to in brokers:
            told = yield to, MetadataRequest()
            if not isinstance(told, MetadataResponse) or controller is None:
                self._client.wrong.append(f"broker {to} tells no metadata")
                continue
            epoch = controller.node.controller.generation.controller_epoch
            by = told.broker_id, told.controller_id, told.controller_epoch
            if by != (to, controller.broker_id, epoch):
                self._client.wrong.append(f"the metadata are of broker, controller and epoch {by}")
            if {
                TopicPartition(one.topic, one.partition): _told(one) for one in told.partitions
            } != published:
                self._client.wrong.append(f"the metadata of broker {to} are not those of ZooKeeper")
            if sorted(one.broker_id for one in told.brokers) != brokers:
                self._client.wrong.append("the metadata name other brokers than ZooKeeper")

    def _published(self, key: TopicPartition) -> tuple[object, ...] | None:
        """Leader, epoch, ISR, version and replicas of the partition, as ZooKeeper has them."""
        known = self._cluster.state(key)
        if known is None:
            return None
        state, version = known
        replicas = self._cluster.assignments()[key]
        return state.leader, state.leader_epoch, state.isr, version, tuple(replicas)

    def _cluster_is_quiet(self) -> Step:
        """Where nothing is asked for, brokers ask for nothing but records, and not in a hurry."""
        yield self._client.rest()
        yield After(QUIET_AFTER_MS)
        followers = sum(len(replicas) - 1 for replicas in self._cluster.assignments().values())
        yield from self._is_calm({"Fetch": followers * FETCHES_MAX, ZOOKEEPER: LOOK_ASKS})
        if self._client.random.random() < BAD_TOPICS:
            write_bad_topic(self._cluster)
            yield from self._is_calm({"Fetch": followers * FETCHES_MAX, ZOOKEEPER: LOOKS_MAX})
            remove_bad_topic(self._cluster)
            yield self._client.rest()

    # What they are made of

    def _is_calm(self, most: dict[str, int]) -> Step:
        """In some time no more is asked than this."""
        before = self._work()
        yield After(QUIET_MS)
        for what, count in sorted((self._work() - before).items()):
            if count > most.get(what, 0):
                self._client.wrong.append(
                    f"at rest, {what} is asked {count} times in {QUIET_MS} ms"
                )

    def _work(self) -> Counter[str]:
        """How often brokers have asked for something, by what it is."""
        asked = sum(one.zookeeper.asked for one in self._cluster.processes.values())
        return self._cluster.sent + Counter({ZOOKEEPER: asked})


def _told(one: PartitionState) -> tuple[object, ...]:
    replicas = one.assigned_replicas
    return one.leader, one.leader_epoch, frozenset(one.isr), one.znode_version, replicas
